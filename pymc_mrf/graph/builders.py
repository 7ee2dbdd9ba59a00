"""Ready-made graphs. networkx and scipy build the common families; these fix node and edge order."""

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import (
    check_labels,
    first_cell,
    flag,
    is_number,
    numeric_array,
    sequence,
    whole_number,
)
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph, as_graph


def _probability(name: str, value: float) -> float:
    if not is_number(value) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be a probability in [0, 1], not {value!r}")
    return float(value)


def _check_generator(rng: np.random.Generator) -> None:
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator, not {rng!r}; use numpy.random.default_rng(seed)"
        )


def _steps(n_axes: int, diagonal: bool) -> Iterator[tuple[int, ...]]:
    """Yield the steps from a cell of a lattice to its neighbours, one of each two opposite ones."""
    for step in itertools.product((1, 0, -1), repeat=n_axes):
        if step > (0,) * n_axes and (diagonal or sum(map(abs, step)) == 1):
            yield step


def _shifted(cells: np.ndarray, step: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Cells of a lattice that have a neighbour at this step, and those neighbours."""
    here = tuple(slice(max(-s, 0), n - max(s, 0)) for s, n in zip(step, cells.shape, strict=True))
    there = tuple(slice(max(s, 0), n - max(-s, 0)) for s, n in zip(step, cells.shape, strict=True))
    return cells[here].ravel(), cells[there].ravel()


def _by_number(labels: Sequence[Hashable], u: np.ndarray, v: np.ndarray) -> PairwiseGraph:
    """Graph with edges from the u-th to the v-th label."""
    ends = zip(u.tolist(), v.tolist(), strict=True)
    return PairwiseGraph(labels, [(labels[i], labels[j]) for i, j in ends])


def _pairs(n_nodes: int, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give every pair u, v once, the smaller first and in lexicographic order; none with itself."""
    key = np.unique(np.minimum(u, v) * n_nodes + np.maximum(u, v))
    first, second = np.divmod(key, n_nodes)
    return first[first != second], second[first != second]


def grid(
    rows: int, columns: int, layers: int | None = None, *, diagonal: bool = False, periodic: bool = False
) -> PairwiseGraph:
    """Rectangular lattice with nodes (row, column), or (row, column, layer) in three dimensions.

    Nodes are in the order of ``array.ravel()`` for an array of shape (rows, columns) or
    (rows, columns, layers); edges are in the order of their first node.

    Parameters
    ----------
    rows, columns : int
    layers : int, optional
        For a lattice in three dimensions.
    diagonal : bool
        Join cells that touch at a corner, too: 8 neighbours in place of 4, in three dimensions 26 in
        place of 6.
    periodic : bool
        Join the last cell of each row, column and layer to the first, as on a torus. Needs at least 3
        cells along each axis, as otherwise two edges would join the same nodes.

    Raises
    ------
    ValueError
        If a number of cells is not a positive integer, or too small for a periodic lattice.
    """
    names = ("rows", "columns") if layers is None else ("rows", "columns", "layers")
    smallest = 3 if flag(periodic, "periodic") else 1
    shape = tuple(
        whole_number(n, f"{name} of a periodic grid" if periodic else name, smallest)
        for n, name in zip((rows, columns, layers), names, strict=False)
    )
    cells = np.arange(np.prod(shape)).reshape(shape)
    ends = []
    for step in _steps(len(shape), flag(diagonal, "diagonal")):
        if periodic:
            ends.append((cells.ravel(), np.roll(cells, [-s for s in step], range(len(shape))).ravel()))
        else:
            ends.append(_shifted(cells, step))
    return _lattice(shape, ends)


def _lattice(shape: tuple[int, ...], ends: list[tuple[np.ndarray, np.ndarray]]) -> PairwiseGraph:
    u, v = np.concatenate(ends, axis=1)
    by_first = np.argsort(u, kind="stable")
    return _by_number(list(itertools.product(*map(range, shape))), u[by_first], v[by_first])


def hexagonal(rows: int, columns: int) -> PairwiseGraph:
    """Cells of a hexagonal tiling: nodes (row, column) with up to six neighbours.

    Odd rows are shifted by half a cell to the right. This is the triangular lattice; the honeycomb with
    three neighbours is ``networkx.hexagonal_lattice_graph``.

    Parameters
    ----------
    rows, columns : int
    """
    shape = whole_number(rows, "rows", 1), whole_number(columns, "columns", 1)
    cells = np.arange(np.prod(shape)).reshape(shape)
    ends = [_shifted(cells, (0, 1)), _shifted(cells, (1, 0))]
    for step, is_odd in (((1, 1), True), ((1, -1), False)):  # odd rows are shifted
        u, v = _shifted(cells, step)
        own = u // shape[1] % 2 == is_odd
        ends.append((u[own], v[own]))
    return _lattice(shape, ends)


def chain(n_nodes: int) -> PairwiseGraph:
    """Path 0 - 1 - ... - (n_nodes - 1)."""
    import networkx as nx

    return as_graph(nx.path_graph(whole_number(n_nodes, "n_nodes", 1)))


def binary_tree(height: int) -> PairwiseGraph:
    """Perfect binary tree of `height` edges from root to leaf: 2 ** (height + 1) - 1 nodes.

    Liu & Page (2013) count levels: their tree "of height 12", 8,191 nodes, is ``binary_tree(12)``.
    """
    import networkx as nx

    return as_graph(nx.balanced_tree(2, whole_number(height, "height", 1)))


def complete(nodes: int | Iterable[Hashable]) -> PairwiseGraph:
    """Every pair of nodes is an edge, in lexicographic order.

    `nodes` is their number, or their labels, such as the columns of a data frame.
    """
    labels = _given_nodes(nodes)
    return PairwiseGraph(labels, list(itertools.combinations(labels, 2)))


def lagged(
    nodes: int | Iterable[Hashable],
    lag: int | Sequence[int] = 1,
    *,
    loops: bool = True,
    links: bool = False,
) -> LaggedGraph:
    """Arrows from every node of an earlier row to every node of the present one, for `KineticMRF`.

    Parameters
    ----------
    nodes : int, or labels
        Their number, or their labels, such as the columns of a data frame.
    lag : int, or increasing sequence of int
        How many rows earlier the arrows start.
    loops : bool
        Whether there are arrows from a node to itself.
    links : bool
        Whether every pair of nodes of the present row is an edge, too.
    """
    labels, loops = _given_nodes(nodes), flag(loops, "loops")
    arrows = [(u, v) for u in labels for v in labels if loops or u != v]
    within = list(itertools.combinations(labels, 2)) if flag(links, "links") else []
    return LaggedGraph(labels, arrows, lag, within)


def _given_nodes(nodes: int | Iterable[Hashable]) -> list:
    if is_number(nodes):
        return list(range(whole_number(nodes, "nodes", 1)))
    return sequence(nodes, "nodes", "labels, or their number")


def random(n_nodes: int, density: float, *, rng: np.random.Generator) -> PairwiseGraph:
    """Erdős–Rényi graph: every pair is an edge with probability `density`."""
    import networkx as nx

    n_nodes = whole_number(n_nodes, "n_nodes", 1)
    density = _probability("density", density)
    _check_generator(rng)
    return as_graph(nx.fast_gnp_random_graph(n_nodes, density, seed=int(rng.integers(2**32))))


def block_model(
    sizes: list[int], within: float, between: float, *, rng: np.random.Generator
) -> PairwiseGraph:
    """Stochastic block model: edge probability `within` blocks and `between` blocks.

    Parameters
    ----------
    sizes : list of int
        Number of nodes of each block; nodes of one block are consecutive.
    within, between : float
        Edge probabilities in [0, 1].
    rng : numpy.random.Generator
    """
    sizes = [
        whole_number(size, f"sizes[{k}]", 1)
        for k, size in enumerate(sequence(sizes, "sizes", "integers"))
    ]
    if not sizes:
        raise ValueError("sizes is empty; give the number of nodes of each block")
    within, between = _probability("within", within), _probability("between", between)
    _check_generator(rng)
    block = np.repeat(np.arange(len(sizes)), sizes)
    u, v = np.triu_indices(len(block), 1)
    keep = rng.random(len(u)) < np.where(block[u] == block[v], within, between)
    return PairwiseGraph(range(len(block)), zip(u[keep].tolist(), v[keep].tolist(), strict=True))


def _points(points: Any, nodes: Iterable[Hashable] | None) -> tuple[np.ndarray, list[Hashable]]:
    """Return coordinates (n, p) and labels of the points."""
    xy = numeric_array(points, "points", "iuf").astype(np.float64)
    if xy.ndim != 2 or not len(xy):
        raise ValueError(
            f"points must have shape (n, p), a row with p coordinates for each node, not {xy.shape}"
        )
    if not np.isfinite(xy).all():
        cell = first_cell(~np.isfinite(xy))
        raise ValueError(f"points{list(cell)} is {xy[cell]}; leave out points without coordinates")
    labels = list(range(len(xy))) if nodes is None else sequence(nodes, "nodes", "labels")
    if nodes is not None:
        check_labels(points, labels, "points", "node", axis=-2)
    if len(labels) != len(xy):
        raise ValueError(
            f"nodes has {len(labels)} labels, but there are {len(xy)} points; give one for each"
        )
    return xy, labels


def nearest_neighbors(points: Any, k: int, *, nodes: Iterable[Hashable] | None = None) -> PairwiseGraph:
    """Join each point to its `k` nearest in Euclidean distance.

    To be one of the nearest is not mutual: two points are neighbours if at least one of them is among the
    `k` nearest of the other, so that some points have more than `k` neighbours. Coordinates should be in
    units of distance; project longitudes and latitudes first.

    Parameters
    ----------
    points : (n, p) array_like
        Coordinates.
    k : int
        At least 1 and below n.
    nodes : iterable of hashable, optional
        Labels of the points; 0..n-1 by default.

    Raises
    ------
    ValueError
        If a coordinate is not finite, `k` is out of range, or there are not as many labels as points.
    """
    from scipy.spatial import KDTree

    xy, labels = _points(points, nodes)
    n = len(labels)
    if whole_number(k, "k", 1) >= n:
        raise ValueError(f"k={k} neighbours need at least {k + 1} points, but there are {n}; use fewer")
    near = KDTree(xy).query(xy, k + 1)[1]
    is_other = near != np.arange(n)[:, None]
    is_other[is_other.all(axis=1), -1] = False  # a point that others hide, at the same place
    return _by_number(labels, *_pairs(n, np.repeat(np.arange(n), k), near[is_other]))


def delaunay(points: Any, *, nodes: Iterable[Hashable] | None = None) -> PairwiseGraph:
    """Delaunay triangulation: points are neighbours if their Voronoi cells share a side.

    Parameters
    ----------
    points : (n, p) array_like
        Coordinates, in the plane (p = 2) or in more dimensions; no two points at the same place.
    nodes : iterable of hashable, optional
        Labels of the points; 0..n-1 by default.

    Raises
    ------
    ValueError
        If a coordinate is not finite, there are not as many labels as points, points coincide, or all
        are on one line (plane), so that there is no triangulation.
    """
    from scipy.spatial import Delaunay, QhullError

    xy, labels = _points(points, nodes)
    n, p = xy.shape
    if p < 2:
        raise ValueError(f"points must have at least 2 coordinates each, not {p}; use graphs.chain")
    try:
        triangulation = Delaunay(xy)
    except (QhullError, ValueError) as error:
        raise ValueError(
            f"the {n} points have no Delaunay triangulation: it needs at least {p + 1} points that are not "
            "all on one line (plane); use graphs.nearest_neighbors"
        ) from error
    if len(triangulation.coplanar):
        i, _, near = triangulation.coplanar[0].tolist()
        raise ValueError(
            f"points {labels[i]!r} and {labels[near]!r} are at (nearly) the same place, and have no "
            "triangle of their own; merge them, or use graphs.nearest_neighbors"
        )
    sides = itertools.combinations(triangulation.simplices.T.astype(np.int64), 2)
    u, v = np.concatenate([*sides], axis=1)
    return _by_number(labels, *_pairs(n, u, v))


def regions(image: Any, *, diagonal: bool = False) -> PairwiseGraph:
    """Adjacency of the regions of a label image, such as superpixels.

    Parameters
    ----------
    image : (...) integer array_like
        Region of each pixel (voxel), as of ``skimage.segmentation.slic``. Masked pixels belong to none.
    diagonal : bool
        Whether regions that touch at a corner only are neighbours.

    Returns
    -------
    PairwiseGraph
        Nodes are the labels in `image`, in ascending order: means by region in this order are
        ``scipy.ndimage.mean(picture, image, graph.nodes)``.

    Raises
    ------
    ValueError
        If `image` has no pixels or no integers.
    """
    mask = np.ma.getmaskarray(image)
    array = numeric_array(np.ma.getdata(image), "image", "iu")
    if array.ndim == 0 or mask.all():
        raise ValueError(
            f"image must be an array with the region of each pixel, not one of shape {array.shape}"
            + (" without any pixel that is not masked" if array.size else "")
        )
    labels, at = np.unique(array[~mask], return_inverse=True)
    index = np.full(array.shape, -1)
    index[~mask] = at
    ends = [_shifted(index, step) for step in _steps(array.ndim, flag(diagonal, "diagonal"))]
    u, v = np.concatenate(ends, axis=1)
    inside = (u >= 0) & (v >= 0)
    return _by_number(labels.tolist(), *_pairs(len(labels), u[inside], v[inside]))


def _from_sparse(w: Any) -> PairwiseGraph:
    """Graph of the entries of a sparse matrix that are not zero."""
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(f"w must be a square matrix of nodes by nodes, not of shape {w.shape}")
    if np.isnan(w.tocoo().data).any():
        raise ValueError(
            "w has NaN, which does not say whether nodes are neighbours; use 0 where they are not"
        )
    n, (u, v) = w.shape[0], (ends.astype(np.int64) for ends in w.nonzero())
    one_way = np.flatnonzero(np.isin(u * n + v, v * n + u, invert=True))
    if one_way.size:
        a, b = u[one_way[0]], v[one_way[0]]
        raise ValueError(
            f"w is not symmetric: w[{a}, {b}] is not zero, but w[{b}, {a}] is; use w + w.T for neighbours in "
            "either direction"
        )
    if (u == v).any():
        raise ValueError(
            f"w[{u[u == v][0]}, {u[u == v][0]}] is not zero, and no node is its own neighbour; use "
            "w - scipy.sparse.diags_array(w.diagonal())"
        )
    return _by_number(range(n), *_pairs(n, u, v))


def from_weights(w: Any) -> PairwiseGraph:
    """Neighbours that geopandas, libpysal or scikit-learn have found.

    Parameters
    ----------
    w : libpysal.weights.W, libpysal.graph.Graph, mapping or sparse matrix
        Anything whose `neighbors`, or which itself, gives the neighbours of each node; of a data frame
        of polygons ``libpysal.graph.Graph.build_contiguity(frame)``. Of a square matrix or array of
        `scipy.sparse` the entries that are not zero. The numbers (weights) are not used: parameters of the
        field take their place.

    Returns
    -------
    PairwiseGraph
        Nodes are the identifiers, in the order of the rows of the data frame; of a sparse matrix the numbers
        of its rows.

    Raises
    ------
    TypeError
        If `w` has no neighbours.
    ValueError
        If the neighbours are not mutual, as those of the k nearest are not, or a node is its own. If a sparse
        matrix is not square.
    """
    from scipy.sparse import issparse

    if issparse(w):
        return _from_sparse(w)
    neighbors = w if isinstance(w, Mapping) else getattr(w, "neighbors", None)
    if not isinstance(neighbors, Mapping):
        raise TypeError(
            "w must be a libpysal W or Graph, a dictionary of the neighbours of each node, or a sparse "
            f"matrix, not {type(w).__name__}; of a data frame of polygons use "
            "libpysal.graph.Graph.build_contiguity, of a dense matrix scipy.sparse.coo_array"
        )
    order = getattr(w, "id_order", None)
    labels = list(neighbors) if order is None else list(order)
    near = {
        label: dict.fromkeys(sequence(neighbors[label], f"w.neighbors[{label!r}]", "nodes"))
        for label in labels
    }
    edges = []
    seen = set()
    for u in labels:
        for v in near[u]:
            if u not in near.get(v, ()):
                raise ValueError(
                    f"w is not symmetric: {v!r} is a neighbour of {u!r}, but not the reverse; use "
                    "w.symmetrize(), of a Graph w.to_W().symmetrize()"
                )
            if v not in seen:
                edges.append((u, v))
        seen.add(u)
    return PairwiseGraph(labels, edges)
