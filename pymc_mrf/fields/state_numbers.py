"""How many states the nodes of a field have: one number for all of them, or one for each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import is_integer


def states_of(n_states: int, name: str = "n_states") -> tuple[int, ...]:
    """Return the states 0..K-1 of fields in which a node may have any number of them, K from 2 to 127."""
    if not is_integer(n_states):
        raise TypeError(f"{name} must be an integer, not {n_states!r}")
    if not 2 <= n_states <= 127:
        remedy = "; leave nodes with one state out of the graph and the data" if n_states == 1 else ""
        raise ValueError(f"{name} must be between 2 and 127, not {n_states}{remedy}")
    return tuple(range(int(n_states)))


def one_or_each(n_states: list[int]) -> int | list[int]:
    """Return the number of states that all nodes have, or those of each where they differ."""
    return n_states[0] if len(set(n_states)) == 1 else n_states


def names_of_entries(name: str, n: int, nodes: Sequence | None) -> list[str]:
    """Tell what errors call the entries of a vector `name`, with their nodes if there are as many."""
    if nodes is None or len(nodes) != n:
        return [f"{name}[{i}]" for i in range(n)]
    return [f"{name}[{i}], of node {node!r}," for i, node in enumerate(nodes)]


def states_of_nodes(
    n_states: Any, nodes: Sequence | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the states of a field, and how many each node has, () for one number given for all of them.

    Errors name the labels of the `nodes`.
    """
    if not (isinstance(n_states, np.ndarray | Sequence) and np.ndim(n_states)):
        return states_of(n_states), ()
    if any(np.ndim(k) for k in n_states):
        raise ValueError(
            f"n_states must be one number, or a vector with one for each node, not {n_states!r}"
        )
    names = names_of_entries("n_states", len(n_states), nodes)
    cards = tuple(len(states_of(*own)) for own in zip(n_states, names, strict=True))
    return states_of(max(cards, default=0)), cards
