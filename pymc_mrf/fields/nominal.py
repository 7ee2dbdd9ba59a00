"""Nominal fields: a table of parameters for each edge, in sum-to-zero coding, and a bias for each state."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.fields.state_numbers import states_of_nodes
from pymc_mrf.graph.structure import as_graph


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
        blocks_asked="pymc_mrf.fields.table_sizes(graph, n_states)",
    )


def table_sizes(graph: Any, n_states: Any) -> np.ndarray:
    """Count the parameters (K_u - 1) (K_v - 1) of the table of each edge of a `NominalMRF`.

    Parameters
    ----------
    graph : networkx.Graph or PairwiseGraph
    n_states : int, or sequence of d of them
        Number of states of every node, or of each.

    Returns
    -------
    (r,) int64 array
        In graph order: the `blocks` of a `SpikeAndSlab`.

    Raises
    ------
    TypeError, ValueError
        If `n_states` are not those of the nodes.

    Examples
    --------
    >>> pymc_mrf.fields.table_sizes(pymc_mrf.graphs.complete(3), [3, 4, 2])
    array([6, 2, 3])
    """
    graph, family = as_graph(graph), nominal(n_states)
    family.check_nodes(graph.n_nodes)
    return family.block_sizes(graph.edges)
