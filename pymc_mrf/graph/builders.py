"""Ready-made graphs. networkx builds the common families; these fix node and edge order."""

import itertools
from collections.abc import Hashable, Iterable

import numpy as np

from pymc_mrf.checks import is_number, sequence, whole_number
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


def grid(rows: int, columns: int) -> PairwiseGraph:
    """Rectangular lattice with nodes (row, column), first-order neighbours."""
    import networkx as nx

    return as_graph(nx.grid_2d_graph(whole_number(rows, "rows", 1), whole_number(columns, "columns", 1)))


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
    if is_number(nodes):
        labels = list(range(whole_number(nodes, "nodes", 1)))
    else:
        labels = sequence(nodes, "nodes", "labels, or their number")
    return PairwiseGraph(labels, list(itertools.combinations(labels, 2)))


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
