"""Ordinal fields: products of scores, and a threshold for each state but the first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import numeric_array
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.state_numbers import names_of_entries, states_of_nodes


def ordinal(n_states: Any, scores: Any = None, nodes: Sequence | None = None) -> Family:
    """Ordinal field over states 0..K-1, one number of states for all nodes or one for each (d,).

    `scores` (K,) increase; by default they are the states. There may be a vector (K_i,) for each of the
    `nodes`, whose labels errors name.
    """
    states, cards = states_of_nodes(n_states, nodes)
    given: tuple[Any, ...] = ()
    if scores is None:
        pass
    elif isinstance(scores, np.ndarray | Sequence) and any(np.ndim(s) for s in scores):
        given = _scores_of_nodes(scores, len(states), cards, nodes)
    else:
        given = _increasing(scores, "scores", len(states))
    return Family(
        "ordinal",
        states,
        "weight",
        "threshold",
        node_axes=1,
        scores=() if given == states else given,
        cards=cards,
        title="OrdinalMRF",
        has_reference_state=True,
        extremes=("have their largest product in every row", "have their least in every row"),
    )


def _increasing(scores: Any, name: str, n_states: int) -> tuple[float, ...]:
    values = numeric_array(scores, name, "iuf").astype(np.float64)
    if values.shape != (n_states,) or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ValueError(
            f"{name} must be {n_states} increasing numbers, one for each state, not {scores!r}"
        )
    return tuple(values.tolist())


def _scores_of_nodes(
    scores: Any, n_states: int, cards: tuple[int, ...], nodes: Sequence | None
) -> tuple[Any, ...]:
    """Return the scores of each node, filled up to `n_states`, or those that all nodes have in common."""
    cards = cards or (n_states,) * (len(scores) if nodes is None else len(nodes))
    if len(scores) != len(cards):
        raise ValueError(
            f"scores has {len(scores)} vectors but there are {len(cards)} nodes; give one vector of scores "
            "for all nodes, or one for each in node order"
        )
    rows = [
        _increasing(*own)
        for own in zip(scores, names_of_entries("scores", len(cards), nodes), cards, strict=True)
    ]
    longest = max(rows, key=len)
    if all(row == longest[: len(row)] for row in rows):
        return longest
    return tuple(row + row[-1:] * (n_states - len(row)) for row in rows)
