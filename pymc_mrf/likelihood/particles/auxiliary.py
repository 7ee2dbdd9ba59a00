"""Auxiliary data sets: draws of as many rows as were observed, from one field.

Exchange and auxiliary-variable Metropolis (Murray, Ghahramani & MacKay, 2006; Møller et al., 2006) are
exact exactly when these draws are. The best sampler that the field allows is chosen and named.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from pymc_mrf.checks import whole_number
from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator, TreeSimulator, sweep_trees_and_clusters
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.junction_tree import (
    JunctionTree,
    check_tractable,
    factor_graph_tree,
    field_tree,
    is_cheap,
)
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import tree_partition
from pymc_mrf.kernels.junction_trees import junction_tree as tree_kernels
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.kernels.simulation.swendsen_wang import may_order, read_attraction
from pymc_mrf.kernels.trees.tree_potentials import FEW as TILED

DRAWS = ("auto", "exact", "perfect", "gibbs")
"""How they may be drawn, from the most to the least exact."""

AUXILIARY_SWEEPS = 20

FEW = 16
"""Rows, and neighbours per node, up to which a sweep draws trees: see `AuxiliarySampler`."""


@lru_cache(maxsize=32)
def _tree_simulator(graph: PairwiseGraph | FactorGraph) -> Any:
    # one partition for all chains and runs, so that a seed decides alone
    trees: list[Any] = tree_partition(graph, rng=np.random.default_rng(0))
    if isinstance(graph, FactorGraph):
        return FactorTreeSimulator(graph, [trees])
    index = {label: i for i, label in enumerate(graph.nodes)}
    return TreeSimulator(graph, [[[index[label] for label in tree] for tree in trees]])


def check_draws(draws: str) -> None:
    """Refuse what is none of `DRAWS`."""
    if not isinstance(draws, str) or draws not in DRAWS:
        options = ", ".join(f'"{option}"' for option in DRAWS)
        raise ValueError(f"draws must be one of {options}, not {draws!r}")


class DataSampler(ABC):
    """Base of samplers of whole data sets from a field whose tables change from draw to draw.

    Parameters
    ----------
    graph : PairwiseGraph or FactorGraph
    plan : callable
        Gives the junction tree, which takes long to find in large fields.
    n : int
        Rows per draw.
    draws : {"auto", "exact", "perfect", "gibbs"}
    n_sweeps : int
        Sweeps behind each draw of "gibbs".
    name : str
        Of the field, for messages.
    """

    _simulator: Any

    def __init__(
        self, graph: Any, plan: Callable[[], JunctionTree], n: int, draws: str, n_sweeps: int, name: str
    ) -> None:
        check_draws(draws)
        self.n = whole_number(n, "n", 1)
        n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        self.graph, self._name = graph, name
        reason = self._why_not_perfect() if draws == "perfect" else None
        if reason is not None:
            raise ValueError(f'draws="perfect" is for {reason}; use draws="gibbs" or "exact"')
        if draws == "auto":
            draws = "exact" if is_cheap(plan()) else "gibbs"
        self.draws = draws
        self.n_sweeps = n_sweeps if draws == "gibbs" else 0
        if draws == "exact":
            check_tractable(plan(), remedy='use draws="gibbs" instead, or a sparser graph')
            self._tree = plan().arrays
            self.work = tree_kernels.allocate_workspace(self._tree)

    @abstractmethod
    def _why_not_perfect(self) -> str | None:
        """Which fields coupling from the past is for, and what this one is; None if it may serve."""

    @abstractmethod
    def _sweep(self, x: np.ndarray, tables: tuple[np.ndarray, ...], rng: np.random.Generator) -> None:
        """Move all rows of `x` (n, d) int8 by `n_sweeps` Gibbs sweeps, in place."""

    def _moved(self, x: np.ndarray, tables: tuple[np.ndarray, ...], rng) -> np.ndarray:
        """Draw anew, or from Gibbs chains that start at `x` (n, d) int8, which changes in place."""
        if self.draws == "exact":
            flat = np.concatenate([table.ravel() for table in tables])
            self.work.tables[: len(flat)] = flat
            tree_kernels.collect(self._tree, self.work.tables, self.work)
            tree_kernels.draw_rows(self._tree, self.work, x, rng)
        else:
            self._sweep(x, tables, rng)
        return x


class AuxiliarySampler(DataSampler):
    """Draws of whole data sets from a field whose parameters change from draw to draw.

    Parameters
    ----------
    graph : PairwiseGraph
    n_states : int
        States per node, K.
    n : int
        Rows per draw.
    draws : {"auto", "exact", "perfect", "gibbs"}
        "exact": independent draws by the junction tree. "perfect": independent draws by coupling from the
        past (see `pymc_mrf.fields.perfect.perfect_sample`), exact as well, for binary fields that can be
        made attractive; never chosen unasked, because a draw costs 3 to 600 times the 20 sweeps of
        "gibbs". "gibbs": `n_sweeps` Gibbs sweeps from a given start, exact only in the limit; of up to 16
        rows and, on average, up to 16 neighbours per node over the trees of a tree partition (Rivasseau,
        2005, figure 4.11), else over single nodes in chromatic order. Of up to three rows every second sweep
        is one over clusters (Swendsen & Wang, 1987), where the field only asks whether the states of an edge
        agree, no coupling is negative, or none would be if the two states of some nodes were exchanged, and
        couplings are not far too weak to order the field.
        "auto": "exact" if the tables of the junction tree have at most
        `pymc_mrf.graph.junction_tree.AUTO_CELLS` cells, else "gibbs".
    n_sweeps : int
        Gibbs sweeps behind each draw.
    name : str
        Of the field, for messages.

    Attributes
    ----------
    draws : str
        The kind of draws: "exact", "perfect" or "gibbs".
    n_sweeps : int
        Sweeps behind each draw; 0 if draws are exact.
    trees : bool
        Whether these sweeps draw trees.
    clusters : bool
        Whether every second one may draw clusters.

    Raises
    ------
    ValueError
        If a number or the kind of draws is not valid, "exact" is asked for and the junction tree is too
        wide, or "perfect" is asked for and the field is not binary.

    Notes
    -----
    Near a critical coupling sweeps over trees forget the start in about half as many sweeps. They are
    cheaper than single nodes of few rows, and dearer than those of many, which machine words hold together.
    As CPU time to the same error (``docs/results.md``, "Speed of tree sampling"), near the critical
    coupling of grids and of graphs with four random neighbours per node, trees were 2 to 5 times as fast
    for one row, 1.3 to 3 times for 16 rows, and 0.5 to 1.1 times for 64. For one row and a weak coupling,
    where one to five sweeps are enough, they were 0.6 to 1.8 times as fast: their tables take longer to
    prepare, but 20 sweeps of two or three states cost less all the same. In dense graphs trees are small
    and gain nothing.

    There, trees and clusters in turns were 7 to 50 times as fast as trees for the shares of the states, and
    0.8 to 1.3 times for the agreement of neighbours, of one row. Above, trees keep the disorder of their
    start. Of more rows clusters take longer than trees, which are moved in tiles.
    """

    def __init__(
        self,
        graph: PairwiseGraph,
        n_states: int,
        n: int,
        *,
        draws: str = "auto",
        n_sweeps: int = AUXILIARY_SWEEPS,
        name: str = "the field",
    ) -> None:
        self.n_states = n_states
        super().__init__(graph, lambda: field_tree(graph, n_states), n, draws, n_sweeps, name)
        few = max(self.n, 2 * graph.n_edges / graph.n_nodes) <= FEW
        self.trees = self.draws == "gibbs" and few
        self.clusters = self.trees and self.n < TILED
        if self.draws == "gibbs":
            self._simulator = (
                _tree_simulator(graph) if self.trees else GibbsSimulator(graph, n_states, self.n)
            )

    def _why_not_perfect(self):
        if self.n_states != 2:
            return f"binary fields, but {self._name} has {self.n_states} states"

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
        if self.draws == "perfect":
            return self._perfect(edge_tables, node_tables, rng)
        if start is not None:
            x = np.array(start, dtype=np.int8)
        else:
            x = np.zeros((self.n, self.graph.n_nodes), dtype=np.int8)
            if self.draws == "gibbs":
                gibbs.uniform_states(x, self.n_states, rng)
        return self._moved(x, (edge_tables, node_tables), rng)

    def _sweep(self, x, tables, rng) -> None:
        """Sweep over trees, clusters or single nodes."""
        edge_tables, node_tables = tables
        coupling, weights = np.empty(len(edge_tables)), np.empty(node_tables.shape)
        attracts = self.clusters and read_attraction(edge_tables, self.graph.edges, coupling, weights)
        if attracts and may_order(coupling, self.graph.n_nodes):
            weights += node_tables
            sweep_trees_and_clusters(x, self._simulator, coupling, weights, tables, self.n_sweeps, rng)
        else:
            self._simulator.sweep(x, edge_tables, node_tables, self.n_sweeps, rng)

    def _perfect(self, edge_tables, node_tables, rng) -> np.ndarray:
        """Coupling from the past, its refusals in the words of those who asked for `draws`."""
        try:
            return perfect_sample(self.graph, edge_tables, node_tables, self.n, rng)
        except ValueError as error:
            reason = str(error).split("; ")[0]  # remedies are for fixed fields
        except RuntimeError:
            raise RuntimeError(
                f'draws="perfect": the couplings proposed for {self._name} are too strong for coupling from '
                'the past, whose chains did not meet; use draws="gibbs"'
            ) from None
        raise ValueError(f'draws="perfect" does not serve {self._name}: {reason}; use draws="gibbs"')


class FactorAuxiliarySampler(DataSampler):
    """Draws of whole data sets from a factor graph whose tables change from draw to draw.

    Parameters
    ----------
    graph : FactorGraph
    n : int
        Rows per draw.
    draws : {"auto", "exact", "gibbs"}
        As for `AuxiliarySampler`, but a sweep of "gibbs" draws the trees of
        a tree partition one by one (Rivasseau, 2005, figure 4.11). On an 8 x 8 Ising grid near its
        critical coupling such a sweep took 1.5 times as long as one over single variables, and half as
        many forgot the start.
    n_sweeps : int
        Sweeps behind each draw of "gibbs".
    name : str
        Of the field, for messages.
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
        super().__init__(graph, lambda: factor_graph_tree(graph), n, draws, n_sweeps, name)
        self._simulator = _tree_simulator(graph) if self.draws == "gibbs" else None

    def _why_not_perfect(self):
        return f"binary pairwise fields, but {self._name} is a factor graph"

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
        return self._moved(np.array(start, dtype=np.int8), (tables,), rng)

    def _sweep(self, x, tables, rng) -> None:
        self._simulator.sweep(x, *tables, self.n_sweeps, rng)
