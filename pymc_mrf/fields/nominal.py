"""Nominal fields: a table of parameters for each edge, in sum-to-zero coding, and a bias for each state."""

from collections.abc import Sequence
from typing import Any

from pymc_mrf.fields.family import Family
from pymc_mrf.fields.state_numbers import states_of_nodes


def nominal(n_states: Any, nodes: Sequence | None = None) -> Family:
    """Nominal field over states 0..K-1, one number of states for all `nodes` or one for each (d,)."""
    states, cards = states_of_nodes(n_states, nodes)
    return Family(
        "nominal",
        states,
        "weight",
        "bias",
        node_axes=1,
        cards=cards,
        title="NominalMRF",
        has_blocks=True,
        blocks_asked="pymc_mrf.table_sizes(graph, n_states)",
    )
