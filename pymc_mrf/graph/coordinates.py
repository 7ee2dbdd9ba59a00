"""Coordinates of a graph, by which parameters are named."""

from typing import Any

import numpy as np

from pymc_mrf.checks import repeated
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph


def coords(graph: Any) -> dict[str, list]:
    """Coordinates "node" and "edge" for `pymc.Model(coords=...)`, in graph order.

    Parameters
    ----------
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph

    Returns
    -------
    dict
        ``{"node": labels, "edge": ["u--v", ...]}``; of directed graphs ``["u->v", ...]``.

    Raises
    ------
    ValueError
        If two nodes are equal as text, or two edges have the same label "u--v".
    """
    graph = as_directed_or_not(graph)
    labels = list(graph.edge_labels)
    names = [str(u) for u in graph.nodes]
    if twice := repeated(names):
        raise ValueError(
            f"graph: two nodes are {twice[0]!r} as text; relabel the nodes (networkx.relabel_nodes) so that "
            "str(node) is unique"
        )
    if twice := repeated(labels):
        pairs = [(names[u], names[v]) for u, v in graph.edges.tolist()]
        first, second, *_ = [
            pair for pair, label in zip(pairs, labels, strict=True) if label == twice[0]
        ]
        raise ValueError(
            f"graph: the edges {first!r} and {second!r} have the same label {twice[0]!r}; relabel the nodes "
            "(networkx.relabel_nodes) so that no name has two dashes"
        )
    return {"node": node_names(graph), "edge": labels}


def node_names(graph: PairwiseGraph | LaggedGraph) -> list:
    """Names of the nodes in results: texts and integers as they are, other labels as text."""
    return [u if isinstance(u, str | int | np.integer) else str(u) for u in graph.nodes]
