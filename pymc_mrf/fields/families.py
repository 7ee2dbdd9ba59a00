"""Families of pairwise fields: which statistic a parameter multiplies.

log p(x) = sum_e f_e(x_u, x_v) + sum_i g_i(x_i) - A, where the log tables are

| family    | states   | f_e(a, b)          | g_i(a)  | edge parameter       | node parameter |
|-----------|----------|--------------------|---------|----------------------|----------------|
| agreement | 0..K-1   | eta_e 1[a = b]     | 0       | theta, eta = logit   | none           |
| ising     | -1, +1   | eta_e a b          | b_i a   | coupling, eta = J    | field          |
| boltzmann | 0, 1     | eta_e a b          | b_i a   | weight, eta = w      | bias           |
| potts (0) | 0..K-1   | eta_e 1[a = b]     | b_i[a]  | coupling (r,)        | field (d, K)   |
| potts (1) | 0..K-1   | eta_e[a] 1[a = b]  | b_i[a]  | coupling (r, K)      | field (d, K)   |
| potts (2) | 0..K-1   | eta_e[a, b]        | b_i[a]  | coupling (r, K, K)   | field (d, K)   |
| ordinal   | 0..K_i-1 | eta_e s_u[a]s_v[b] | b_i[a]  | weight, eta = w      | threshold (*)  |
| nominal   | 0..K_i-1 | (U' eta_e V)[a, b] | b_i[a]  | weight (P,) (+)      | bias (d, K)    |

(*) (d, K - 1): b_i[0] = 0, the first threshold is that of state 1. K is the largest K_i; what lies beyond
the states of a node is impossible, its threshold without meaning.

(+) eta_e (K_u - 1, K_v - 1), those of all edges one after the other; U and V are orthonormal contrasts.

A new family is a function that returns a `Family`, and an entry of `FAMILIES`; nothing asks for its name.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, check_option, is_integer, numeric_array
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import as_graph

ISING = Family("ising", (-1, 1), "coupling", "field", title="Ising")
BOLTZMANN = Family(
    "boltzmann",
    (0, 1),
    "weight",
    "bias",
    title="BoltzmannMachine",
    extremes=("are both 1 in every row", "are never both 1"),
)


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


def agreement(n_states: int = 2) -> Family:
    """Agreement field of Liu & Page (2013, eq. 1) over `n_states` >= 2 states."""
    return Family(
        "agreement",
        states_of(n_states),
        "theta",
        None,
        title="AgreementMRF",
        is_log_odds=True,
        is_categorical=True,
    )


def potts(n_states: int, edge_axes: int = 0) -> Family:
    """Potts model (Potts, 1952) over `n_states` >= 2 states.

    `edge_axes` tells how much an edge parameter holds: one number (0), one per state in which both ends
    agree (1), or a full table (2).
    """
    if edge_axes not in (0, 1, 2):
        raise ValueError(f"edge_axes must be 0, 1 or 2, not {edge_axes!r}")
    return Family(
        "potts",
        states_of(n_states),
        "coupling",
        "field",
        edge_axes,
        1,
        title="Potts",
        is_categorical=True,
    )


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


def _of_two_states(family: Family) -> Callable[[Any], Family]:
    def make(n_states: Any) -> Family:
        if n_states != 2:
            raise ValueError(
                f"the {family.name} family has two states; n_states={n_states!r} does not apply"
            )
        return family

    return make


FAMILIES: dict[str, Callable[[Any], Family]] = {
    "agreement": agreement,
    "ising": _of_two_states(ISING),
    "boltzmann": _of_two_states(BOLTZMANN),
    "ordinal": ordinal,
}
"""Families that functions know by name, from their number of states."""


def get_family(
    name: str, n_states: Any = 2, scores: Any = None, nodes: Sequence | None = None
) -> Family:
    """Look a family up by its name in `FAMILIES`; `scores`, of `nodes`, as of `ordinal`."""
    remedies = {
        "gaussian": f": {MEASUREMENTS}",
        "mixed": ": for answers and measurements, declare a pymc_mrf.MixedMRF",
        "nominal": ": for answers without an order, declare a pymc_mrf.NominalMRF",
    }
    check_option(name, "family", FAMILIES, remedies.get(str(name), ""))
    if FAMILIES[name] is ordinal:
        return ordinal(n_states, scores, nodes)
    if scores is not None:
        raise ValueError(
            f'scores={scores!r} are those of ordered states: say family="ordinal", or leave them out'
        )
    return FAMILIES[name](n_states)
