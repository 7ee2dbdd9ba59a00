"""`LaggedGraph`: which node of an earlier row changes which node of the present one.

Nodes are the columns of a table whose rows are in an order. An *arrow* leads from a node, some rows earlier,
to a node of the present row, maybe the same one; a *link* joins two nodes of the present row.
"""

import itertools
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import repeated, whole_number
from pymc_mrf.graph.frozen import LabelledGraph, read_only
from pymc_mrf.graph.structure import PairwiseGraph, as_graph, positions_of_pairs


class ArrowArrays(NamedTuple):
    """Who depends on whom, in the form in which kernels take it; a link is two arrows within the row.

    `in_ptr` (d + 1,) int64: arrows to node i are those from ``in_ptr[i]`` to ``in_ptr[i + 1]`` of the
    next three. `source`, `in_lag` and `in_edge` (n,) int64: node from which each arrow leads, position
    of its lag as in `LaggedGraph.lag_of`, and its edge. `out_ptr`, `target`, `out_lag` and `out_edge` (d
    + 1,), (n,), (n,), (n,) int64: likewise of the arrows from each node.
    """

    in_ptr: np.ndarray
    source: np.ndarray
    in_lag: np.ndarray
    in_edge: np.ndarray
    out_ptr: np.ndarray
    target: np.ndarray
    out_lag: np.ndarray
    out_edge: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


class LaggedGraph(LabelledGraph):
    """Directed graph from earlier rows of a table to the present row, with ordered nodes and edges, frozen.

    Its edges are the links, then all arrows of the first lag, then those of the next.

    Parameters
    ----------
    nodes : sequence of hashable
        Node labels, all different, in column order.
    arrows : iterable of pairs of labels
        (from, to), without repetitions; from a node to itself is what it keeps of an earlier state.
    lag : int, or increasing sequence of int
        How many rows earlier the arrows start; each arrow is there once for every lag.
    links : iterable of pairs of labels
        Undirected edges within a row.

    Attributes
    ----------
    lags : tuple of int
    edges : (r, 2) int64 array
        Positions in `nodes` of the two nodes of each edge, of arrows (from, to).
    lag_of : (r,) int64 array
        Position of the lag of each arrow in `lags`, from 1; 0 for links.

    Raises
    ------
    ValueError
        If there is no node, a label, an arrow or a link is repeated or names an unknown node, or lags are not
        increasing positive integers.

    Examples
    --------
    >>> LaggedGraph("ab", [("a", "a"), ("a", "b")], links=[("a", "b")]).edge_labels
    ('a--b', 'a->a', 'a->b')
    """

    lags: tuple[int, ...]
    lag_of: np.ndarray

    def __init__(
        self,
        nodes: Sequence[Hashable],
        arrows: Iterable[tuple[Hashable, Hashable]],
        lag: int | Sequence[int] = 1,
        links: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        within, lags = PairwiseGraph(nodes, links), _lags(lag)
        index = {label: i for i, label in enumerate(within.nodes)}
        found = list(positions_of_pairs(arrows, "arrow", index))
        if twice := repeated(found):
            u, v = (within.nodes[i] for i in twice[0])
            raise ValueError(f"graph: the arrow {u!r}->{v!r} occurs twice; keep one of them")
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        edges = np.concatenate([within.edges, *[pairs] * len(lags)])
        lag_of = np.repeat(np.arange(len(lags) + 1), [within.n_edges, *[len(pairs)] * len(lags)])
        self._hold(nodes=within.nodes, lags=lags, edges=edges, lag_of=lag_of)

    @property
    def n_links(self) -> int:
        """Number of the edges, the first ones, that are links."""
        return int(np.count_nonzero(self.lag_of == 0))

    @cached_property
    def edge_labels(self) -> tuple[str, ...]:
        """Labels "u->v", or "u->v @2" of lag 2 where there are several; "u--v" of links."""
        names = [f"{label}" for label in self.nodes]
        ends = [f" @{lag}" if len(self.lags) > 1 else "" for lag in self.lags]
        return tuple(
            f"{names[u]}->{names[v]}{ends[k - 1]}" if k else f"{names[u]}--{names[v]}"
            for (u, v), k in zip(self.edges.tolist(), self.lag_of.tolist(), strict=True)
        )

    def _content(self) -> bytes:
        arrays = self.edges.tobytes() + self.lag_of.tobytes()
        return repr((self.nodes, self.lags)).encode() + b"|" + arrays

    @cached_property
    def arrays(self) -> ArrowArrays:
        """Flat read-only arrays for the kernels."""
        links = np.flatnonzero(self.lag_of == 0)
        ids = np.concatenate([np.arange(self.n_edges), links])
        ends = np.concatenate([self.edges, self.edges[links, ::-1]])
        found = []
        for end in (1, 0):  # by target, then by source
            order = np.argsort(ends[:, end], kind="stable")
            counts = np.bincount(ends[:, end], minlength=self.n_nodes)
            found += [
                np.r_[0, np.cumsum(counts)],
                ends[order, 1 - end],
                self.lag_of[ids[order]],
                ids[order],
            ]
        return read_only(ArrowArrays, *map(np.ascontiguousarray, found))

    @classmethod
    def side_by_side(cls, graphs: Sequence["LaggedGraph"]) -> "LaggedGraph":
        """Graphs with the same lags as one, whose nodes are numbers: all edges of each, then of the next."""
        starts = np.cumsum([0, *(graph.n_nodes for graph in graphs)])
        edges = [graph.edges + start for graph, start in zip(graphs, starts[:-1], strict=True)]
        lag_of = [graph.lag_of for graph in graphs]
        nodes = tuple(range(starts[-1]))
        return _restored(nodes, graphs[0].lags, np.concatenate(edges), np.concatenate(lag_of))

    def __repr__(self) -> str:
        return (
            f"LaggedGraph({self.n_nodes} nodes, {self.n_edges} edges, lags {self.lags}, "
            f"sha256={self.digest[:16]})"
        )

    def __reduce__(self):
        return _restored, (self.nodes, self.lags, self.edges.copy(), self.lag_of.copy())


def _restored(nodes: tuple, lags: tuple, edges: np.ndarray, lag_of: np.ndarray) -> LaggedGraph:
    graph = LaggedGraph.__new__(LaggedGraph)
    graph._hold(nodes=nodes, lags=lags, edges=edges, lag_of=lag_of)
    return graph


def _lags(lag: Any) -> tuple[int, ...]:
    if isinstance(lag, Sequence | np.ndarray) and not isinstance(lag, str):
        lags = tuple(whole_number(one, f"lag[{k}]", 1) for k, one in enumerate(lag))
    else:
        lags = (whole_number(lag, "lag", 1),)
    if not lags or any(b <= a for a, b in itertools.pairwise(lags)):
        raise ValueError(f"lag must be a positive integer, or increasing ones, not {lag!r}")
    return lags


def as_lagged(graph: Any, lag: Any = None, links: Any = None) -> LaggedGraph:
    """Coerce a `networkx.DiGraph` or a `LaggedGraph` to a `LaggedGraph`.

    `lag`: 1 by default; of a `LaggedGraph` its own. `links`: links within a row, between the nodes of
    `graph`; of a `LaggedGraph` its own. Raises a TypeError if `graph` is of another type. Raises a
    ValueError if it is undirected or a multigraph, `links` has other nodes, or a `LaggedGraph` comes
    with further lags or links.
    """
    if isinstance(graph, LaggedGraph):
        if lag is not None and _lags(lag) != graph.lags:
            raise ValueError(
                f"lag={lag!r} contradicts graph, whose lags are {graph.lags}: leave lag out, or build the "
                "graph with it"
            )
        if links is not None:
            raise ValueError("links belong to a LaggedGraph: build graph with them, and leave links out")
        return graph
    import networkx as nx

    directed = (
        "arrows lead from a node of an earlier row to one of the present row: give a networkx.DiGraph, "
        "pymc_mrf.LaggedGraph(nodes, arrows), or all arrows by pymc_mrf.graphs.lagged(nodes)"
    )
    if isinstance(graph, PairwiseGraph) or (isinstance(graph, nx.Graph) and not graph.is_directed()):
        raise ValueError(f"graph is undirected, but {directed}")
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"graph must be directed, not {type(graph).__name__}: {directed}")
    if graph.is_multigraph():
        raise ValueError("graph is a multigraph; merge parallel arrows first (use nx.DiGraph(graph))")
    within: list = []
    if links is not None:
        pairs = as_graph(links)
        within = [(pairs.nodes[u], pairs.nodes[v]) for u, v in pairs.edges.tolist()]
        if set(pairs.nodes) != set(graph.nodes):
            raise ValueError("links has other nodes than graph: both must have those of the columns")
    return LaggedGraph(tuple(graph.nodes), list(graph.edges), 1 if lag is None else lag, within)


def as_undirected(graph: Any, instead: str) -> PairwiseGraph:
    """Coerce a graph as `as_graph`; arrows are refused with the advice to use something else `instead`.

    Raises a TypeError or ValueError if the graph is directed, or as of `as_graph`.
    """
    if isinstance(graph, LaggedGraph):
        raise TypeError(f"graph has arrows from row to row, but must be undirected: use {instead}")
    return as_graph(graph)


def as_directed_or_not(graph: Any) -> PairwiseGraph | LaggedGraph:
    """Coerce a directed graph as `as_lagged`, and any other as `as_graph`."""
    is_directed = isinstance(graph, LaggedGraph) or getattr(graph, "is_directed", bool)()
    return as_lagged(graph) if is_directed else as_graph(graph)
