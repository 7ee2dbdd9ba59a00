"""Evidence: what a field becomes when some of its variables are known."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import few, is_integer, quoted, sequence
from pymc_mrf.fields.exact import ImpossibleFieldError
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import check_tree_partition


class Given[F](NamedTuple):
    """What evidence leaves of a field.

    `rest`: field of the free variables; None if there is none. `free` (n,) int: those variables. `kept`:
    factors of `rest`; empty for pairwise fields. `known`: sum of the log potentials of which all
    variables are known.
    """

    rest: F | None
    free: np.ndarray
    kept: list[int]
    known: float


@contextmanager
def impossible_given(evidence: Mapping[Any, int] | None) -> Iterator[None]:
    """Blame the evidence, if there is any, where no configuration of the field is possible."""
    try:
        yield
    except ImpossibleFieldError:
        if not evidence:
            raise
        given = few(f"{label!r}: {state}" for label, state in evidence.items())
        raise ValueError(
            f"evidence has probability zero: no possible configuration agrees with {{{given}}}; drop or "
            "change one of its entries"
        ) from None


def evidence_states(
    evidence: Mapping[Any, Any] | None, labels: Sequence[Hashable], cards: Sequence[int]
) -> np.ndarray:
    """State of each variable, (d,) int8, -1 where free.

    Raises a TypeError if `evidence` is not a mapping or a state is not an integer. Raises a ValueError
    if it names an unknown variable or a state out of range.
    """
    states = np.full(len(labels), -1, dtype=np.int8)
    if evidence is None:
        return states
    if not isinstance(evidence, Mapping):
        raise TypeError(
            f"evidence must be a dictionary of nodes and their states, not {type(evidence).__name__}"
        )
    index = {label: i for i, label in enumerate(labels)}
    for label, state in evidence.items():
        if label not in index:
            raise ValueError(
                f"evidence names {label!r}, which is not a node of the field; its nodes are "
                f"{quoted(labels, 5)}"
            )
        if not is_integer(state):
            raise TypeError(f"evidence[{label!r}] must be an integer state index, not {state!r}")
        i = index[label]
        if not 0 <= state < cards[i]:
            raise ValueError(
                f"evidence[{label!r}] is {state}, but the states of this node are 0..{cards[i] - 1}"
            )
        states[i] = state
    return states


def absorb_pairs(
    edges: np.ndarray, edge_tables: np.ndarray, node_tables: np.ndarray, states: np.ndarray,
    labels: Sequence[Hashable],
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Node tables (d, K) with the known neighbours' potentials added (Rivasseau, 2005, eq. 4.11).

    Next to them, the sum of the potentials of which all nodes are known.

    Raises a ValueError if the evidence is impossible, or leaves a node without a possible state.
    """
    tables = node_tables.copy()
    known = np.flatnonzero(states >= 0)
    total = float(node_tables[known, states[known]].sum())
    for i in known.tolist():
        if tables[i, states[i]] == -np.inf:
            raise ValueError(
                f"evidence is impossible: the node table of {labels[i]!r} is -inf at state {states[i]}"
            )
    for (u, v), table in zip(edges, edge_tables, strict=True):
        if states[u] >= 0 and states[v] >= 0:
            if table[states[u], states[v]] == -np.inf:
                raise ValueError(
                    f"evidence is contradictory: {labels[u]!r} = {states[u]} and {labels[v]!r} = "
                    f"{states[v]} exclude each other (-inf in their edge table)"
                )
            total += float(table[states[u], states[v]])
        elif states[u] >= 0:
            tables[v] += table[states[u]]
        elif states[v] >= 0:
            tables[u] += table[:, states[v]]
    _check_possible(tables, states, labels)
    return tables, total


def _check_possible(tables: np.ndarray, states: np.ndarray, labels: Sequence[Hashable]) -> None:
    for i in np.flatnonzero(states < 0).tolist():
        if np.max(tables[i]) == -np.inf:
            if (states >= 0).any():
                raise ValueError(
                    "evidence has probability zero: with it, -inf entries exclude all states of node "
                    f"{labels[i]!r}; drop or change one of its entries"
                )
            raise ValueError(
                "no configuration of the field is possible: its -inf entries exclude all states of node "
                f"{labels[i]!r}"
            )


def absorb_factors(
    scopes: Sequence[Sequence[int]], tables: Sequence[np.ndarray], states: np.ndarray
) -> tuple[list[int], list[tuple[int, ...]], list[np.ndarray], float]:
    """Factors that are left once the known variables are fixed: their indices, scopes and tables.

    Next to them, the sum of the entries of the factors of which all variables are known.

    Raises a ValueError if the evidence makes a factor -inf throughout.
    """
    kept: list[int] = []
    left_scopes: list[tuple[int, ...]] = []
    left_tables: list[np.ndarray] = []
    total = 0.0
    for f, (scope, table) in enumerate(zip(scopes, tables, strict=True)):
        part = table[tuple(slice(None) if states[v] < 0 else int(states[v]) for v in scope)]
        if np.max(part) == -np.inf:
            known = ", ".join(f"{v} = {states[v]}" for v in scope if states[v] >= 0)
            if known:
                raise ValueError(
                    f"evidence has probability zero: factor {f} is -inf throughout given {known}; drop or "
                    "change one of these"
                )
            raise ValueError(f"no configuration of the field is possible: factor {f} is -inf throughout")
        left = tuple(v for v in scope if states[v] < 0)
        if left:
            kept.append(f)
            left_scopes.append(left)
            left_tables.append(part)
        else:
            total += float(part)
    return kept, left_scopes, left_tables, total


def free_blocks(
    graph: PairwiseGraph | FactorGraph,
    labels: Sequence[Hashable],
    partition: Sequence[Collection[Hashable]],
    states: np.ndarray,
) -> list[list[int]]:
    """Blocks of a partition by label as indices among the free variables, the known ones left out.

    Raises a ValueError if the blocks, and a block for each known variable that they leave out, are not a
    partition into forests.
    """
    blocks = [
        sequence(block, f"partition[{k}]", "nodes")
        for k, block in enumerate(sequence(partition, "partition", "sequences of nodes"))
    ]
    known = {label for label, state in zip(labels, states, strict=True) if state >= 0}
    alone = [[label] for label in known.difference(*blocks)]
    check_tree_partition(graph, blocks + alone, forests=True)
    position = dict(zip(labels, (np.cumsum(states < 0) - 1).tolist(), strict=True))
    free = [[position[label] for label in block if label not in known] for block in blocks]
    return [block for block in free if block]
