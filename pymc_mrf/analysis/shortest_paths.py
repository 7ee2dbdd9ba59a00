"""Closeness and betweenness of the nodes of weighted networks, one for each draw."""

import numpy as np

TIE = 1e-9  # relative difference of lengths that count as equal


def path_measures(sizes: np.ndarray, edges: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute closeness and betweenness of nodes, both (n, d), in networks whose edges are 1 / size long.

    Distances are those of Dijkstra (1959), betweenness follows from them as in Brandes (2001).

    Parameters
    ----------
    sizes : (n, r) array
        At least 0; an edge of size 0 is absent.
    edges : (r, 2) array
        Nodes of each edge.
    d : int
        Number of nodes.
    """
    from scipy.sparse.csgraph import dijkstra

    closeness, betweenness = np.zeros((2, len(sizes), d))
    for s in range(len(sizes)):
        present = sizes[s] > 0.0
        u, v = edges[present].T
        lengths = np.full((d, d), np.inf)
        lengths[u, v] = lengths[v, u] = 1.0 / sizes[s, present]
        distances = dijkstra(np.where(np.isfinite(lengths), lengths, 0.0), directed=False)
        closeness[s] = _closeness(distances)
        betweenness[s] = _betweenness(distances, lengths)
    return closeness, betweenness


def _closeness(distances: np.ndarray) -> np.ndarray:
    """Wasserman & Faust's (1994) closeness (d,), from distances (d, d), infinite between components."""
    d = len(distances)
    reached = np.isfinite(distances)
    total = np.where(reached, distances, 0.0).sum(axis=1)
    n_reached = reached.sum(axis=1) - 1
    with np.errstate(invalid="ignore"):
        return np.where(n_reached > 0, n_reached**2 / (total * max(d - 1, 1)), 0.0)


def _betweenness(distances: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Betweenness (d,), a share of pairs, from distances and lengths of edges (d, d), infinite if absent."""
    d = len(distances)
    result = np.zeros(d)
    if d < 3:
        return result
    order = np.argsort(distances, axis=1)
    n_paths, passing = (
        np.zeros((d, d)),
        np.zeros((d, d)),
    )  # from each source (row) to, and beyond, each node
    sources = np.arange(d)
    n_paths[sources, sources] = 1.0
    with np.errstate(invalid="ignore"):
        # before[s, i, j]: a shortest path from s to j ends in the edge from i
        before = np.isclose(
            distances[:, :, None] + lengths[None], distances[:, None, :], rtol=TIE, atol=0.0
        )
    before &= np.isfinite(lengths)[None] & np.isfinite(distances)[:, None, :]
    before &= distances[:, :, None] < distances[:, None, :]  # also where an edge is shorter than a tie
    for k in range(1, d):  # all sources at once, the nodes of each from near to far
        j = order[:, k]
        n_paths[sources, j] = (n_paths * before[sources, :, j]).sum(axis=1)
    for k in range(d - 1, 0, -1):
        j = order[:, k]
        paths = n_paths[sources, j]
        share = np.divide(1.0 + passing[sources, j], paths, out=np.zeros(d), where=paths > 0.0)
        passing += n_paths * before[sources, :, j] * share[:, None]
    passing[sources, sources] = 0.0
    return passing.sum(axis=0) / ((d - 1) * (d - 2))
