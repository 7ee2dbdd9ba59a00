"""Auxiliary data sets: draws of as many rows as were observed, from one pairwise field.

Exchange and auxiliary-variable Metropolis (Murray, Ghahramani & MacKay, 2006; Møller et al., 2006) are
exact exactly when these draws are. The best sampler that the field allows is chosen and named.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import TreeSimulator
from pymc_mrf.graph.junction_tree import JunctionTree, is_cheap, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import tree_partition
from pymc_mrf.kernels import gibbs
from pymc_mrf.kernels import junction_tree as tree_kernels

METHODS = ("auto", "exact", "perfect", "gibbs")
DEFAULT_SWEEPS = 20

FEW = 16
"""Rows, and neighbours per node, up to which a sweep draws trees: see `AuxiliarySampler`."""


@lru_cache(maxsize=16)
def _plan(graph: PairwiseGraph, n_states: int) -> JunctionTree:
    return junction_tree(graph, n_states)


@lru_cache(maxsize=16)
def _tree_simulator(graph: PairwiseGraph) -> TreeSimulator:
    # one partition for all chains and runs, so that a seed decides alone
    found: list[Any] = tree_partition(graph, rng=np.random.default_rng(0))
    index = {label: i for i, label in enumerate(graph.nodes)}
    return TreeSimulator(graph, [[[index[label] for label in tree] for tree in found]])


def check_options(method: str, n: int, n_sweeps: int) -> None:
    """Refuse an unknown method and numbers that are not positive integers."""
    if method not in METHODS:
        options = ", ".join(f'"{option}"' for option in METHODS)
        raise ValueError(f"method must be one of {options}, not {method!r}")
    for label, value in (("n", n), ("n_sweeps", n_sweeps)):
        integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (integer and value > 0):
            raise ValueError(f"{label} must be a positive integer, not {value!r}")


class AuxiliarySampler:
    """Draws of whole data sets from a field whose parameters change from draw to draw.

    Parameters
    ----------
    graph : PairwiseGraph
    n_states : int
        States per node, K.
    n : int
        Rows per draw.
    method : {"auto", "exact", "perfect", "gibbs"}
        "exact": independent draws by the junction tree. "perfect": independent draws by coupling from the
        past (see `pymc_mrf.fields.perfect.perfect_sample`), exact as well, for binary fields that can be
        made attractive; never chosen unasked, because a draw costs 3 to 600 times the 20 sweeps of
        "gibbs". "gibbs": `n_sweeps` Gibbs sweeps from a given start, exact only in the limit; of up to 16
        rows and, on average, up to 16 neighbours per node over the trees of a tree partition (Rivasseau,
        2005, figure 4.11), else over single nodes in chromatic order.
        "auto": "exact" if the tables of the junction tree have at most
        `pymc_mrf.graph.junction_tree.AUTO_CELLS` cells, else "gibbs".
    n_sweeps : int
        Gibbs sweeps behind each draw.
    trees : bool
        Whether they may draw trees.

    Attributes
    ----------
    method : str
        The method used: "exact", "perfect" or "gibbs".
    n_sweeps : int
        Sweeps behind each draw; 0 if draws are exact.
    trees : bool
        Whether these sweeps draw trees.

    Raises
    ------
    ValueError
        If a number or the method is not valid, "exact" is asked for and the junction tree is too wide, or
        "perfect" is asked for and the field is not binary.

    Notes
    -----
    Near a critical coupling sweeps over trees forget the start in about half as many sweeps. They are
    cheaper than single nodes of few rows, and dearer than those of many, which machine words hold together.
    As CPU time to the same error (``docs/results.md``, "Speed of tree sampling"), near the critical
    coupling of grids and of graphs with four random neighbours per node, trees were 2 to 4 times as fast
    for one row, 1.3 to 2.3 times for 16 rows, and 0.7 to 1 times for 64. For one row and a weak coupling,
    where one to five sweeps are enough, they were 0.4 to 1.8 times as fast: their tables take longer to
    prepare, but 20 sweeps of two or three states cost less all the same. In dense graphs trees are small
    and gain nothing.
    """

    def __init__(
        self,
        graph: PairwiseGraph,
        n_states: int,
        n: int,
        *,
        method: str = "auto",
        n_sweeps: int = DEFAULT_SWEEPS,
        trees: bool = True,
    ) -> None:
        check_options(method, n, n_sweeps)
        self.graph = graph
        self.n_states = n_states
        self.n = int(n)
        if method == "perfect" and n_states != 2:
            raise ValueError(
                f'method="perfect" is for binary fields, not for {n_states} states; use "gibbs" or "exact"'
            )
        if method in ("auto", "exact"):
            tree = _plan(graph, n_states)
            exact = method == "exact" or is_cheap(tree)
            method = "exact" if exact else "gibbs"
        self.method = method
        self.n_sweeps = int(n_sweeps) if method == "gibbs" else 0
        few = max(self.n, 2 * graph.n_edges / graph.n_nodes) <= FEW
        self.trees = trees and method == "gibbs" and few
        if method == "exact":
            self._tree = tree.arrays
            self._work = tree_kernels.allocate(self._tree)
        elif method == "gibbs":
            self._simulator: TreeSimulator | GibbsSimulator = (
                _tree_simulator(graph) if self.trees else GibbsSimulator(graph, n_states, self.n)
            )

    def draw(
        self,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        rng: np.random.Generator,
        start: np.ndarray | None = None,
    ) -> np.ndarray:
        """Draw a data set from the field with these log tables.

        Parameters
        ----------
        edge_tables : (r, K, K) array
        node_tables : (d, K) array
        rng : numpy.random.Generator
        start : (n, d) int8 array, optional
            State indices from which the Gibbs chains start, one per row; left as it is. By default
            uniform states. Exact draws do not depend on it.

        Returns
        -------
        (n, d) int8 array
            State indices, a new array.

        Raises
        ------
        ValueError
            Under "perfect", if the couplings cannot be made attractive.
        RuntimeError
            Under "perfect", if coupling from the past reaches its cap.
        """
        if self.method == "perfect":
            return perfect_sample(self.graph, edge_tables, node_tables, self.n, rng)
        if self.method == "exact":
            x = np.zeros((self.n, self.graph.n_nodes), dtype=np.int8)
            tree_kernels.pack_pairwise(edge_tables, node_tables, self._work.tables)
            tree_kernels.collect(self._tree, self._work.tables, self._work)
            tree_kernels.draw(self._tree, self._work, x, rng)
            return x
        if start is None:
            x = np.empty((self.n, self.graph.n_nodes), dtype=np.int8)
            gibbs.uniform_states(x, self.n_states, rng)
        else:
            x = np.array(start, dtype=np.int8)
        self._simulator.sweep(x, edge_tables, node_tables, self.n_sweeps, rng)
        return x
