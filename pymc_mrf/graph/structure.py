"""`PairwiseGraph`: the immutable structure of a pairwise Markov random field.

Node and edge order are part of the structure: column i of a data array belongs to node i and
entry e of a parameter vector belongs to edge e, in the order in which the graph lists them.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pymc_mrf.checks import sequence
from pymc_mrf.graph.frozen import LabelledGraph, read_only

if TYPE_CHECKING:
    import networkx as nx


class GraphArrays(NamedTuple):
    """The graph as flat arrays, in the form in which kernels take it.

    `edges` (r, 2) int64: node indices of each edge, in the orientation in which the edge was given.
    `indptr` (d + 1,) int64: neighbours of node i are ``neighbors[indptr[i] : indptr[i + 1]]``.
    `neighbors` (2 r,) int64. `edge_ids` (2 r,) int64: edge that leads to the neighbour at the same
    position. `order` (d,) int64: nodes sorted by colour class: no two adjacent nodes share a class.
    `color_ptr` (n_colors + 1,) int64: colour class k is ``order[color_ptr[k] : color_ptr[k + 1]]``.
    """

    edges: np.ndarray
    indptr: np.ndarray
    neighbors: np.ndarray
    edge_ids: np.ndarray
    order: np.ndarray
    color_ptr: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


class PairwiseGraph(LabelledGraph):
    """Undirected simple graph with ordered nodes and ordered edges, frozen.

    Parameters
    ----------
    nodes : sequence of hashable
        Node labels, all different, in column order. Isolated nodes are allowed.
    edges : iterable of pairs of labels
        Edges in parameter order, without self-loops and without repetitions (in either direction).

    Attributes
    ----------
    nodes : tuple of d hashables
        Labels in column order.
    edges : (r, 2) int64 array
        No labels but the positions in `nodes` of the two nodes of each edge, read-only.

    Raises
    ------
    ValueError
        If there is no node, a label or an edge is repeated, an edge is a self-loop or names an
        unknown node.

    Examples
    --------
    >>> PairwiseGraph(["a", "b", "c"], [("a", "b"), ("b", "c")]).edge_labels
    ('a--b', 'b--c')
    """

    def __init__(self, nodes: Sequence[Hashable], edges: Iterable[tuple[Hashable, Hashable]]) -> None:
        # the letters of a text are labels
        nodes = tuple(nodes if isinstance(nodes, str) else sequence(nodes, "nodes", "node labels"))
        if not nodes:
            raise ValueError("graph has no nodes; a Markov random field needs at least one")
        index = {}
        for i, label in enumerate(nodes):
            try:
                index[label] = i
            except TypeError:
                raise TypeError(
                    f"nodes holds {label!r}, which cannot be a label; use strings, numbers or tuples"
                ) from None
            if label != label:
                raise ValueError(
                    f"nodes holds {label!r}, which does not equal itself; relabel that node"
                )
        if len(index) != len(nodes):
            repeated = next(label for i, label in enumerate(nodes) if index[label] != i)
            raise ValueError(f"graph: the node label {repeated!r} occurs twice; labels must differ")
        ends: list[int] = []
        seen = set()
        for i, j in positions_of_pairs(edges, "edge", index):
            if i == j:
                raise ValueError(
                    f"graph has a self-loop at node {nodes[i]!r}; remove it "
                    "(for networkx: graph.remove_edges_from(nx.selfloop_edges(graph)))"
                )
            key = i * len(nodes) + j if i < j else j * len(nodes) + i
            if key in seen:
                raise ValueError(
                    f"graph: the edge {nodes[i]!r}--{nodes[j]!r} occurs twice; keep one of them"
                )
            seen.add(key)
            ends += (i, j)
        self._hold(nodes=nodes, edges=np.array(ends, dtype=np.int64).reshape(-1, 2))

    @cached_property
    def edge_labels(self) -> tuple[str, ...]:
        """Labels "u--v" in parameter order."""
        names = [f"{label}" for label in self.nodes]
        return tuple(f"{names[u]}--{names[v]}" for u, v in self.edges.tolist())

    @cached_property
    def arrays(self) -> GraphArrays:
        """Flat read-only arrays for the kernels."""
        d, r = self.n_nodes, self.n_edges
        ends = self.edges.T.reshape(-1)  # (2 r,)
        others = self.edges[:, ::-1].T.reshape(-1)
        ids = np.tile(np.arange(r, dtype=np.int64), 2)
        by_node = np.lexsort((others, ends))
        indptr = np.zeros(d + 1, dtype=np.int64)
        np.cumsum(np.bincount(ends, minlength=d), out=indptr[1:])
        colors = color_classes(d, self.edges)
        return read_only(GraphArrays, self.edges, indptr, others[by_node], ids[by_node], *colors)

    def _content(self) -> bytes:
        return repr(self.nodes).encode() + b"|" + self.edges.tobytes()

    @classmethod
    def from_networkx(cls, graph: "nx.Graph") -> "PairwiseGraph":
        """Take over nodes, edges and their order from an undirected simple networkx graph."""
        _check_networkx(graph)
        if graph.is_directed():
            raise ValueError(
                "graph is directed; a Markov random field is undirected (use graph.to_undirected())"
            )
        if graph.is_multigraph():
            raise ValueError("graph is a multigraph; merge parallel edges first (use nx.Graph(graph))")
        return cls(tuple(graph.nodes), graph.edges)

    def to_networkx(self) -> "nx.Graph":
        """Return a networkx graph with the same labels and the same node and edge order.

        An edge may be listed as (v, u) instead of (u, v): networkx lists edges node by node.
        """
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from((self.nodes[u], self.nodes[v]) for u, v in self.edges)
        return graph

    def __repr__(self) -> str:
        return f"PairwiseGraph({self.n_nodes} nodes, {self.n_edges} edges, sha256={self.digest[:16]})"

    def __reduce__(self):
        labels = self.nodes
        return (PairwiseGraph, (labels, [(labels[u], labels[v]) for u, v in self.edges]))


def positions_of_pairs(
    pairs: Any, kind: str, index: Mapping[Hashable, int]
) -> Iterator[tuple[int, int]]:
    """Yield the positions of both labels of each pair, an "edge" or an "arrow"; refuse what is no pair."""
    for pair in sequence(pairs, f"{kind}s", "pairs of node labels"):
        if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(
                f"{kind}s holds {pair!r}, which is no pair of node labels; give a list such as "
                "[(u, v), ...], of a data frame frame[[first, second]].to_numpy()"
            )
        u, v = pair
        try:
            positions = index[u], index[v]
        except (KeyError, TypeError):
            label = v if isinstance(u, Hashable) and u in index else u
            raise ValueError(
                f"graph: {kind} {pair!r} names the node {label!r}, which is not in `nodes`; "
                f"add it there, or leave the {kind} out"
            ) from None
        yield positions


def as_graph(graph: Any) -> PairwiseGraph:
    """Coerce a `networkx.Graph` or a `PairwiseGraph` to a `PairwiseGraph`.

    Raises a TypeError if `graph` is of another type. Raises a ValueError if the graph is directed, a
    multigraph, empty or has self-loops.
    """
    return graph if isinstance(graph, PairwiseGraph) else PairwiseGraph.from_networkx(graph)


def _check_networkx(graph: Any) -> None:
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise TypeError(
            f"graph must be a networkx.Graph or a pymc_mrf.PairwiseGraph, not {type(graph).__name__}; "
            "from pairs of nodes use networkx.Graph(pairs), from an adjacency matrix "
            "networkx.from_numpy_array"
        )


def color_classes(n_nodes: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Colour the nodes greedily, smallest-degree-last, so that no edge joins equal colours.

    `edges` (r, 2) int. Returns `order` (n_nodes,) int64: nodes sorted by colour, then by index;
    `color_ptr` (n_colors + 1,) int64: class k is ``order[color_ptr[k] : color_ptr[k + 1]]``.
    """
    import networkx as nx

    graph = nx.empty_graph(n_nodes)
    graph.add_edges_from(edges.tolist())
    coloring = nx.greedy_color(graph, strategy="smallest_last")
    colors = np.array([coloring[i] for i in range(n_nodes)], dtype=np.int64)
    order = np.argsort(colors, kind="stable").astype(np.int64)
    color_ptr = np.zeros(colors.max() + 2, dtype=np.int64)
    np.cumsum(np.bincount(colors), out=color_ptr[1:])
    return order, color_ptr
