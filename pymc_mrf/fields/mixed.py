"""Mixed fields: answers and measurements, tied by products of their features.

A node has *features*: an ordinal answer its number about the middle, a nominal one contrasts of its states, a
measurement its deviation from the mean, in units of its scale. z (Q + c,) are those of all answers, one after
the other, and then the deviations of the measurements. Every parameter multiplies one product z_p z_q.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.mixed import Layout


@dataclass(frozen=True)
class MixedFamily(Family):
    """What the parameters of a mixed field are called, and how many there are of each edge.

    `columns`: of the nodes.
    """

    columns: ColumnKinds = field(kw_only=True)

    def block_sizes(self, edges: np.ndarray) -> np.ndarray:
        """Numbers of parameters (r,) of `edges` (r, 2)."""
        return np.prod(self.columns.n_features[edges], axis=1)

    def node_shape(self, n_nodes: int) -> tuple[int, ...]:
        """Shape (a, K) of the biases."""
        return len(self.columns.answers), self.n_states

    def node_shapes(self, n_nodes: int) -> list[tuple[int, ...]]:
        c = len(self.columns.measurements)
        return [self.node_shape(n_nodes), *([(c,)] if c else [])]

    def entry_labels(self, graph: Any) -> list[str]:
        return self.columns.entry_labels(graph)


def mixed(columns: ColumnKinds) -> MixedFamily:
    """Family of mixed fields with these columns."""
    states = tuple(range(max(columns.n_states)))
    return MixedFamily(
        "mixed",
        states,
        "weight",
        "bias",
        cards=columns.n_states,
        title="MixedMRF",
        has_blocks=True,
        blocks_asked="kinds.block_sizes(graph)",
        columns=columns,
    )


def layout_of(graph: PairwiseGraph, columns: ColumnKinds) -> Layout:
    """Arrange the features and the parameters of a field on `graph` for the kernels."""
    features = columns.features()
    counts = [len(F) for F in features]
    K = max(columns.n_states)
    first = np.cumsum([0, *counts])
    F = np.zeros((int(first[-1]), K))
    for rows, own in zip(np.split(F, first[1:-1]), features, strict=True):
        rows[:, : own.shape[1]] = own
    start = np.empty(len(columns.names), dtype=np.int64)  # first feature of each node
    start[columns.answers] = first[:-1]
    start[columns.measurements] = first[-1] + np.arange(len(columns.measurements))
    node = np.empty(
        len(columns.names), dtype=np.int64
    )  # number of a node among answers, then measurements
    order = np.concatenate([columns.answers, columns.measurements])
    node[order] = np.arange(len(order))
    pairs, edge = [], []
    for e, (u, v) in enumerate(graph.edges.tolist()):
        for k in range(columns.n_features[u]):
            for l in range(columns.n_features[v]):
                pairs.append((start[u] + k, start[v] + l))
                edge.append(e)
    of_edge = np.array(edge, dtype=np.int64)
    return Layout(
        cards=np.array([columns.n_states[i] for i in columns.answers], dtype=np.int64),
        first=first.astype(np.int64),
        features=F,
        owner=np.repeat(np.arange(len(counts)), counts),
        n_measured=len(columns.measurements),
        pairs=_answers_first(np.array(pairs, dtype=np.int64).reshape(-1, 2)),
        edge=of_edge,
        ends=_answers_first(node[graph.edges])[of_edge],
        kind=columns.is_measured[graph.edges].sum(axis=1)[of_edge],
    )


def _answers_first(pairs: np.ndarray) -> np.ndarray:
    """Order both of each pair (r, 2), so that an answer comes before a measurement."""
    return np.sort(pairs, axis=1)


def features_of_rows(layout: Layout, states: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Features z (n, Q + c) of rows with these `states` (n, a) and `deviations` (n, c)."""
    of_answers = [
        layout.features[layout.first[i] : layout.first[i + 1]].T[states[:, i]]
        for i in range(len(layout.cards))
    ]
    return np.concatenate([*of_answers, deviations], axis=1)
