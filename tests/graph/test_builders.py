"""Ready-made graphs: against networkx and against their definitions, and what they refuse."""

import itertools
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import as_graph


def pairs(graph):
    """Edges as sets of labels; fails if one is there twice."""
    edges = [frozenset((graph.nodes[u], graph.nodes[v])) for u, v in graph.edges.tolist()]
    assert len(set(edges)) == len(edges)
    return set(edges)


@pytest.mark.parametrize(
    ("graph", "n_nodes", "n_edges"),
    [
        (builders.grid(4, 4), 16, 24),
        (builders.grid(30, 30), 900, 1740),
        (builders.chain(5), 5, 4),
        (builders.binary_tree(12), 8191, 8190),
        (builders.complete(5), 5, 10),
        (builders.random(10, 1.0, rng=np.random.default_rng(0)), 10, 45),
        (builders.block_model([3, 2], 1.0, 0.0, rng=np.random.default_rng(0)), 5, 4),
    ],
)
def test_builders(graph, n_nodes, n_edges):
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, n_edges)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: builders.grid(0, 3), "rows must be a positive integer, not 0"),
        (lambda: builders.chain(2.5), "n_nodes must be a positive integer, not 2.5"),
        (lambda: builders.random(5, 1.5, rng=None), "density must be a probability"),
        (lambda: builders.block_model([], 0.5, 0.5, rng=None), "sizes is empty"),
        (lambda: builders.block_model([2], 0.5, -0.1, rng=None), "between must be a probability"),
    ],
)
def test_builders_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (5, 1), (1, 1)])
def test_grid_has_the_order_of_networkx(shape):
    assert builders.grid(*shape) == as_graph(nx.grid_2d_graph(*shape))


@pytest.mark.parametrize("shape", [(3, 4), (4, 3, 3), (1, 2, 5)])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_grids_join_cells_at_distance_one(shape, periodic, diagonal):
    if periodic and min(shape) < 3:
        shape = tuple(max(n, 3) for n in shape)
    graph = builders.grid(*shape, periodic=periodic, diagonal=diagonal)
    assert graph.nodes == tuple(np.ndindex(*shape))
    expected = set()
    for a, b in itertools.combinations(graph.nodes, 2):
        gaps = [abs(i - j) for i, j in zip(a, b, strict=True)]
        if periodic:
            gaps = [min(gap, n - gap) for gap, n in zip(gaps, shape, strict=True)]
        if max(gaps) == 1 and (diagonal or sum(gaps) == 1):
            expected.add(frozenset((a, b)))
    assert pairs(graph) == expected
    if not diagonal:
        net = nx.grid_graph(shape[::-1], periodic=periodic)
        assert pairs(graph) == set(map(frozenset, net.edges))


def test_hexagonal_is_the_triangular_lattice():
    # networkx names the nodes (column, row)
    net = nx.triangular_lattice_graph(4, 6, with_positions=False)
    graph = builders.hexagonal(5, 4)
    assert set(graph.nodes) == {(j, i) for i, j in net.nodes}
    assert pairs(graph) == {frozenset((u[::-1], v[::-1])) for u, v in net.edges}
    assert pairs(builders.hexagonal(1, 3)) == {frozenset({(0, 0), (0, 1)}), frozenset({(0, 1), (0, 2)})}


def test_nearest_neighbors_of_either(rng):
    xy = rng.normal(size=(25, 3))
    xy[[3, 7, 11, 20]] = 9.0  # more points at one place than each has neighbours, far from the others
    distance = np.linalg.norm(xy[:, None] - xy, axis=2)
    np.fill_diagonal(distance, np.inf)
    graph = builders.nearest_neighbors(xy, 2, nodes=[f"p{i}" for i in range(25)])
    found = {frozenset(int(label[1:]) for label in pair) for pair in pairs(graph)}
    degree = np.bincount([i for pair in found for i in pair])
    assert degree.min() >= 2
    there = {3, 7, 11, 20}
    expected = {
        frozenset((i, int(j))) for i in set(range(25)) - there for j in distance[i].argsort()[:2]
    }
    assert expected <= found
    assert all(pair <= there for pair in found - expected)


def test_delaunay_circles_are_empty(rng):
    xy = rng.normal(size=(15, 2))
    expected = set()
    for triple in itertools.combinations(range(15), 3):
        a, b, c = xy[list(triple)]
        center = np.linalg.solve(2 * np.array([b - a, c - a]), [b @ b - a @ a, c @ c - a @ a])
        if np.all(np.delete(np.linalg.norm(xy - center, axis=1), triple) > np.linalg.norm(a - center)):
            expected |= set(map(frozenset, itertools.combinations(triple, 2)))
    assert pairs(builders.delaunay(xy)) == expected
    assert builders.delaunay(xy, nodes="abcdefghijklmno".__iter__()).nodes[:2] == ("a", "b")


def test_regions_touch():
    image = np.array([[5, 5, 2], [5, 9, 2], [7, 7, 9]])
    graph = builders.regions(image)
    assert graph.nodes == (2, 5, 7, 9)
    assert pairs(graph) == set(map(frozenset, [(2, 5), (5, 9), (2, 9), (5, 7), (7, 9)]))
    assert pairs(builders.regions([[1, 2], [3, 4]])) < pairs(
        builders.regions([[1, 2], [3, 4]], diagonal=True)
    )
    masked = np.ma.masked_equal(image, 9)
    assert pairs(builders.regions(masked)) == set(map(frozenset, [(2, 5), (5, 7)]))
    pixels = np.arange(60).reshape(3, 4, 5)  # every voxel a region
    for diagonal in (False, True):
        voxels = pairs(builders.grid(3, 4, 5, diagonal=diagonal))
        expected = {frozenset(int(pixels[i]) for i in pair) for pair in voxels}
        assert pairs(builders.regions(pixels, diagonal=diagonal)) == expected


def test_weights_by_their_neighbors():
    near = {"b": ["a", "c"], "a": ("b",), "c": ["b"], "island": []}
    expected = {frozenset("ab"), frozenset("bc")}
    for w in (near, SimpleNamespace(neighbors=near)):
        graph = builders.from_weights(w)
        assert graph.nodes == ("b", "a", "c", "island")
        assert pairs(graph) == expected
    ordered = SimpleNamespace(neighbors=near, id_order=["a", "b", "c", "island"])
    assert builders.from_weights(ordered).nodes == ("a", "b", "c", "island")


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok"])
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_weights_in_a_sparse_matrix(form, kind):
    entries = [0.5, 2.0, 1.0, 1.0, 0.0, -1.0, -1.0], ([0, 2, 1, 3, 1, 0, 3], [2, 0, 3, 1, 2, 3, 0])
    w = kind(entries, shape=(5, 5)).asformat(form)  # the zero is no neighbour, node 4 an island
    graph = builders.from_weights(w)
    assert graph.nodes == (0, 1, 2, 3, 4)
    assert graph.edges.tolist() == [[0, 2], [0, 3], [1, 3]]


def test_sparse_neighbours_are_those_of_a_lattice():
    expected = builders.grid(4, 5)
    w = nx.to_scipy_sparse_array(expected.to_networkx())
    assert builders.from_weights(w).edges.tolist() == sorted(map(sorted, expected.edges.tolist()))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: builders.grid(3, 3, 0), ValueError, "layers must be a positive integer, not 0"),
        (
            lambda: builders.grid(3, 2, periodic=True),
            ValueError,
            "columns of a periodic grid .* at least 3",
        ),
        (lambda: builders.grid(3, 2, diagonal=8), TypeError, "diagonal must be True or False, not 8"),
        (lambda: builders.grid(3, 2, periodic="rows"), TypeError, "periodic must be True or False"),
        (lambda: builders.hexagonal(3, 0), ValueError, "columns must be a positive integer, not 0"),
        (
            lambda: builders.nearest_neighbors([1.0, 2.0], 1),
            ValueError,
            r"points must have shape \(n, p\)",
        ),
        (lambda: builders.nearest_neighbors([[0.0], [np.nan]], 1), ValueError, r"points\[1, 0\] is nan"),
        (
            lambda: builders.nearest_neighbors([[0], [1]], 2),
            ValueError,
            "k=2 neighbours need at least 3",
        ),
        (
            lambda: builders.nearest_neighbors([[0], [1]], 1, nodes="abc"),
            TypeError,
            "nodes must be a seq",
        ),
        (lambda: builders.nearest_neighbors([[0], [1]], 1, nodes=[1]), ValueError, "nodes has 1 labels"),
        (lambda: builders.delaunay([[0], [1]]), ValueError, "at least 2 coordinates"),
        (
            lambda: builders.delaunay([[0, 0], [1, 1]]),
            ValueError,
            "no Delaunay triangulation.*at least 3",
        ),
        (lambda: builders.delaunay(np.ones((5, 1)) * [1, 2]), ValueError, "not all on one line"),
        (
            lambda: builders.delaunay([[0, 0], [1, 0], [0, 1], [0, 0]], nodes=list("abcd")),
            ValueError,
            "points '.' and '.' are at .* the same place",
        ),
        (lambda: builders.regions([[0.5]]), ValueError, "image must be numeric, not of dtype float64"),
        (
            lambda: builders.regions(3),
            ValueError,
            "image must be an array with the region of each pixel",
        ),
        (
            lambda: builders.regions(np.ma.masked_equal([[1]], 1)),
            ValueError,
            "any pixel that is not masked",
        ),
        (
            lambda: builders.from_weights(np.eye(2)),
            TypeError,
            "w must be a libpysal W or Graph, .* ndarray",
        ),
        (lambda: builders.from_weights({0: 1, 1: 0}), TypeError, r"w.neighbors\[0\] must be a sequence"),
        (lambda: builders.from_weights({0: [1], 1: []}), ValueError, "not symmetric: 1 .*symmetrize"),
        (lambda: builders.from_weights({0: [2]}), ValueError, "not symmetric: 2 is a neighbour of 0"),
        (lambda: builders.from_weights({0: [0]}), ValueError, "self-loop at node 0"),
        (
            lambda: builders.from_weights(sparse.csr_array([[0, 1], [0, 0]])),
            ValueError,
            r"not symmetric: w\[0, 1\] is not zero, but w\[1, 0\] is; use w \+ w.T",
        ),
        (
            lambda: builders.from_weights(sparse.eye_array(3)),
            ValueError,
            r"w\[0, 0\] is not zero, and no node",
        ),
        (
            lambda: builders.from_weights(sparse.csr_array(np.ones((2, 3)))),
            ValueError,
            r"w must be a square matrix .*\(2, 3\)",
        ),
        (
            lambda: builders.from_weights(sparse.csr_array([[0, np.nan], [np.nan, 0]])),
            ValueError,
            "w has NaN",
        ),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
