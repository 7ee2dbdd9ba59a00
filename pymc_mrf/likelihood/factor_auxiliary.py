"""Auxiliary data sets: draws of as many rows as were observed, from one factor graph."""

from functools import lru_cache
from typing import Any

import numpy as np

from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.junction_tree import check_tractable, factor_graph_tree, is_cheap
from pymc_mrf.graph.tree_partition import tree_partition
from pymc_mrf.kernels import junction_tree as tree_kernels
from pymc_mrf.likelihood.auxiliary import AUXILIARY_SWEEPS, check_options


@lru_cache(maxsize=16)
def _simulator(graph: FactorGraph) -> FactorTreeSimulator:
    # one partition for all chains and runs, so that a seed decides alone
    trees: list[Any] = tree_partition(graph, rng=np.random.default_rng(0))
    return FactorTreeSimulator(graph, [trees])


class FactorAuxiliarySampler:
    """Draws of whole data sets from a factor graph whose tables change from draw to draw.

    Parameters
    ----------
    graph : FactorGraph
    n : int
        Rows per draw.
    draws : {"auto", "exact", "gibbs"}
        As for `pymc_mrf.likelihood.auxiliary.AuxiliarySampler`, but a sweep of "gibbs" draws the trees of
        a tree partition one by one (Rivasseau, 2005, figure 4.11). On an 8 x 8 Ising grid near its
        critical coupling such a sweep took 1.5 times as long as one over single variables, and half as
        many forgot the start.
    n_sweeps : int
        Sweeps behind each draw of "gibbs".
    name : str
        Of the field, for messages.

    Attributes
    ----------
    draws : str
        The kind of draws: "exact" or "gibbs".
    n_sweeps : int
        Sweeps behind each draw; 0 if draws are exact.

    Raises
    ------
    ValueError
        If a number or the kind of draws is not valid, "exact" is asked for and the junction tree is too
        wide, or "perfect" is asked for.
    """

    def __init__(
        self,
        graph: FactorGraph,
        n: int,
        *,
        draws: str = "auto",
        n_sweeps: int = AUXILIARY_SWEEPS,
        name: str = "the field",
    ) -> None:
        check_options(draws, n, n_sweeps)
        if draws == "perfect":
            raise ValueError(
                f'draws="perfect" is for binary pairwise fields, but {name} is a factor graph; use '
                'draws="gibbs" or "exact"'
            )
        self.graph = graph
        self.n = int(n)
        exact = draws == "exact" or (draws == "auto" and is_cheap(factor_graph_tree(graph)))
        self.draws = "exact" if exact else "gibbs"
        self.n_sweeps = 0 if exact else int(n_sweeps)
        if exact:
            tree = factor_graph_tree(graph)
            check_tractable(tree, remedy='use draws="gibbs" instead, or a sparser graph')
            self._tree = tree.arrays
            self._work = tree_kernels.allocate(self._tree)
        else:
            self._simulator = _simulator(graph)

    def draw(self, tables: np.ndarray, rng: np.random.Generator, start: np.ndarray) -> np.ndarray:
        """Draw a data set from the field with these log tables.

        Parameters
        ----------
        tables : (t,) array
            Log tables of all factors one after the other, -inf where a combination is impossible.
        rng : numpy.random.Generator
        start : (n, d) int8 array
            State indices from which the Gibbs chains start, each row of positive probability; left as it
            is. Exact draws do not depend on it.

        Returns
        -------
        (n, d) int8 array
            State indices, a new array.
        """
        x = np.array(start, dtype=np.int8)
        if self.draws == "exact":
            self._work.tables[: len(tables)] = tables
            tree_kernels.collect(self._tree, self._work.tables, self._work)
            tree_kernels.draw(self._tree, self._work, x, rng)
        else:
            self._simulator.sweep(x, tables, self.n_sweeps, rng)
        return x
