"""Node colourings: nodes of one class are conditionally independent and may be updated at once."""

import numpy as np


def color_classes(n_nodes: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Colour the nodes greedily, smallest-degree-last, so that no edge joins equal colours.

    Parameters
    ----------
    n_nodes : int
    edges : (r, 2) int array

    Returns
    -------
    order : (n_nodes,) int64 array
        Nodes sorted by colour, then by index.
    color_ptr : (n_colors + 1,) int64 array
        Class k is ``order[color_ptr[k] : color_ptr[k + 1]]``.
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
