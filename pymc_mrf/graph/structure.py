"""`PairwiseGraph`: the immutable structure of a pairwise Markov random field.

Node and edge order are part of the structure: column i of a data array belongs to node i and
entry e of a parameter vector belongs to edge e, in the order in which the graph lists them.
"""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pymc_mrf.checks import sequence
from pymc_mrf.graph.coloring import color_classes
from pymc_mrf.graph.frozen import Frozen
from pymc_mrf.graph.read_only import read_only

if TYPE_CHECKING:
    import networkx as nx


class GraphArrays(NamedTuple):
    """The graph as flat arrays, in the form in which kernels take it.

    Attributes
    ----------
    edges : (r, 2) int64 array
        Node indices of each edge, in the orientation in which the edge was given.
    indptr : (d + 1,) int64 array
        Neighbours of node i are ``neighbors[indptr[i] : indptr[i + 1]]``.
    neighbors : (2 r,) int64 array
    edge_ids : (2 r,) int64 array
        Edge that leads to the neighbour at the same position.
    order : (d,) int64 array
        Nodes sorted by colour class: no two adjacent nodes share a class.
    color_ptr : (n_colors + 1,) int64 array
        Colour class k is ``order[color_ptr[k] : color_ptr[k + 1]]``.
    """

    edges: np.ndarray
    indptr: np.ndarray
    neighbors: np.ndarray
    edge_ids: np.ndarray
    order: np.ndarray
    color_ptr: np.ndarray

    def __reduce__(self):
        return read_only, (type(self), *self)


class PairwiseGraph(Frozen):
    """Undirected simple graph with ordered nodes and ordered edges, frozen.

    Its attribute `nodes` holds labels; its attribute `edges`, (r, 2), holds no labels but the positions in
    `nodes` of the two nodes of each edge.

    Parameters
    ----------
    nodes : sequence of hashable
        Node labels, all different, in column order. Isolated nodes are allowed.
    edges : iterable of pairs of labels
        Edges in parameter order, without self-loops and without repetitions (in either direction).

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

    _nodes: tuple[Hashable, ...]
    _edges: np.ndarray

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
        for edge in sequence(edges, "edges", "pairs of node labels"):
            if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
                raise ValueError(
                    f"edges holds {edge!r}, which is no pair of node labels; give a list such as "
                    "[(u, v), ...], of a data frame frame[[first, second]].to_numpy()"
                )
            u, v = edge
            try:
                i, j = index[u], index[v]
            except (KeyError, TypeError):
                label = v if isinstance(u, Hashable) and u in index else u
                raise ValueError(
                    f"graph: edge {edge!r} names the node {label!r}, which is not in `nodes`; "
                    "add it there, or leave the edge out"
                ) from None
            if i == j:
                raise ValueError(
                    f"graph has a self-loop at node {u!r}; remove it "
                    "(for networkx: graph.remove_edges_from(nx.selfloop_edges(graph)))"
                )
            key = i * len(nodes) + j if i < j else j * len(nodes) + i
            if key in seen:
                raise ValueError(f"graph: the edge {u!r}--{v!r} occurs twice; keep one of them")
            seen.add(key)
            ends += (i, j)
        array = np.array(ends, dtype=np.int64).reshape(-1, 2)
        array.setflags(write=False)
        self.__dict__.update(_nodes=nodes, _edges=array)

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """Node labels in column order."""
        return self._nodes

    @property
    def edges(self) -> np.ndarray:
        """Node indices of the edges, (r, 2) int64, read-only."""
        return self._edges

    @property
    def n_nodes(self) -> int:
        """Number of nodes d."""
        return len(self._nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges r."""
        return len(self._edges)

    @cached_property
    def edge_labels(self) -> tuple[str, ...]:
        """Labels "u--v" in parameter order."""
        names = [f"{label}" for label in self._nodes]
        return tuple(f"{names[u]}--{names[v]}" for u, v in self._edges.tolist())

    @cached_property
    def arrays(self) -> GraphArrays:
        """Flat read-only arrays for the kernels."""
        d, r = self.n_nodes, self.n_edges
        ends = self._edges.T.reshape(-1)  # (2 r,)
        others = self._edges[:, ::-1].T.reshape(-1)
        ids = np.tile(np.arange(r, dtype=np.int64), 2)
        by_node = np.lexsort((others, ends))
        indptr = np.zeros(d + 1, dtype=np.int64)
        np.cumsum(np.bincount(ends, minlength=d), out=indptr[1:])
        neighbors, edge_ids = others[by_node], ids[by_node]
        order, color_ptr = color_classes(d, self._edges)
        arrays = GraphArrays(
            self._edges,
            indptr,
            np.ascontiguousarray(neighbors),
            np.ascontiguousarray(edge_ids),
            order,
            color_ptr,
        )
        for array in arrays:
            array.setflags(write=False)
        return arrays

    @cached_property
    def digest(self) -> str:
        """SHA-256 of node labels and edges: equal exactly for equal graphs."""
        content = repr(self._nodes).encode() + b"|" + self._edges.tobytes()
        return hashlib.sha256(content).hexdigest()

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
        graph.add_nodes_from(self._nodes)
        graph.add_edges_from((self._nodes[u], self._nodes[v]) for u, v in self._edges)
        return graph

    def __repr__(self) -> str:
        return f"PairwiseGraph({self.n_nodes} nodes, {self.n_edges} edges, sha256={self.digest[:16]})"

    def __reduce__(self):
        labels = self._nodes
        return (PairwiseGraph, (labels, [(labels[u], labels[v]) for u, v in self._edges]))


def as_graph(graph: Any) -> PairwiseGraph:
    """Coerce a `networkx.Graph` or a `PairwiseGraph` to a `PairwiseGraph`.

    Raises
    ------
    TypeError
        If `graph` is of another type.
    ValueError
        If the graph is directed, a multigraph, empty or has self-loops.
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
