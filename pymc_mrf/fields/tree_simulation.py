"""Tree-blocked Gibbs simulation of fields: Rivasseau (2005, figure 4.11), many chains at once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.checks import check_array_shape
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.forest_arrays import factor_forest_arrays, forest_arrays
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.swendsen_wang import swendsen_wang_sweeps
from pymc_mrf.kernels.trees import factor_tree_sampling, tree_marginals, tree_sampling
from pymc_mrf.kernels.trees.tree_potentials import tree_potentials
from pymc_mrf.kernels.trees.tree_sampling import sweep_potentials

_NO_SUMS = np.zeros((0, 0, 0)), np.zeros((0, 0))


def in_turn(forests: list[Any], n_sweeps: int, rng: np.random.Generator) -> list[tuple[Any, int]]:
    """Choose the forest of each sweep at random: those to be swept over, and how often each in a row."""
    if len(forests) == 1:
        return [(forests[0], n_sweeps)]
    return [(forests[k], 1) for k in rng.integers(len(forests), size=n_sweeps)]


class ForestSimulator:
    """Base of `TreeSimulator` and `FactorTreeSimulator`: tree partitions, and their order.

    Leaves the field invariant, given the values of the clamped nodes. With several partitions each
    sweep takes one of them at random: a mixture of kernels, of which each leaves the field invariant.

    `partitions`: each a list of collections of node *indices*, or of variables. `clamped`: nodes that
    are in no block and keep their values. Raises a ValueError if there is no partition, or one is not
    valid.
    """

    _lay_out: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        graph: Any,
        partitions: Sequence[Sequence[Iterable[int]]],
        clamped: Iterable[int] = (),
    ) -> None:
        if not partitions:
            raise ValueError("partitions is empty; at least one tree partition is needed")
        clamped = list(clamped)
        self.graph = graph
        self.forests = [self._lay_out(graph, partition, clamped) for partition in partitions]


class TreeSimulator(ForestSimulator):
    """Tree-blocked Gibbs sweeps of many chains of one pairwise field, the graph a `PairwiseGraph`.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_mrf.graph import builders
    >>> simulator = TreeSimulator(builders.grid(2, 2), [[[0, 1, 2], [3]]])
    >>> x = np.zeros((5, 4), dtype=np.int8)
    >>> simulator.sweep(x, np.zeros((4, 2, 2)), np.zeros((4, 2)), 10, np.random.default_rng(1))
    """

    graph: PairwiseGraph
    _lay_out = staticmethod(forest_arrays)

    def sweep(
        self,
        x: np.ndarray,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        """Move every row of `x` by `n_sweeps` sweeps, in place.

        `x` (m, d) int8: state indices, each row of positive probability. `edge_tables` (r, K, K): log
        tables. `node_tables` (d, K) or (m, d, K): log tables, shared or one per row. Raises a ValueError
        if an array has another shape or dtype.
        """
        nodes = self._checked(x, edge_tables, node_tables)
        for forest, n in in_turn(self.forests, n_sweeps, rng):
            tree_sampling.tree_sweeps(x, edge_tables, nodes, forest, self.graph.arrays, n, rng)

    def add_marginals(
        self,
        x: np.ndarray,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
        node_sum: np.ndarray,
        edge_sum: np.ndarray,
    ) -> None:
        """Move `x` as `sweep` does and add up the Rao-Blackwellised marginals of eq. 4.14.

        Per chain, the sums over sweeps are added to `node_sum` (d, K, m) and `edge_sum` (r, K, K, m);
        edges between clamped nodes get nothing.
        """
        nodes = self._checked(x, edge_tables, node_tables)
        for forest, n in in_turn(self.forests, n_sweeps, rng):
            tree_marginals.tree_marginals(
                x, edge_tables, nodes, forest, self.graph.arrays, n, rng, node_sum, edge_sum
            )

    def _checked(self, x: np.ndarray, edge_tables: np.ndarray, node_tables: np.ndarray) -> np.ndarray:
        """Refuse arrays that do not fit, return the node tables as (1, d, K) or (m, d, K)."""
        d, r, n_states = self.graph.n_nodes, self.graph.n_edges, node_tables.shape[-1]
        if x.dtype != np.int8 or x.ndim != 2 or x.shape[1] != d:
            raise ValueError(
                f"x must be an int8 array of chains by {d} nodes, not {x.dtype} of shape {x.shape}"
            )
        check_array_shape(edge_tables, (r, n_states, n_states), "edge_tables")
        if node_tables.shape not in ((d, n_states), (len(x), d, n_states)):
            raise ValueError(
                f"node_tables must have shape {(d, n_states)}, or {(len(x), d, n_states)} for one table "
                f"per chain, not {node_tables.shape}"
            )
        return node_tables if node_tables.ndim == 3 else node_tables[None]


def sweep_trees_and_clusters(
    x: np.ndarray,
    simulator: TreeSimulator,
    coupling: np.ndarray,
    weights: np.ndarray,
    tables: tuple[np.ndarray, np.ndarray],
    n_sweeps: int,
    rng: np.random.Generator,
) -> None:
    """Move every row of `x` (m, d) int8 by sweeps over trees and clusters in turns, in place.

    `simulator` has one partition; `coupling` (r,) and `weights` (d, K) are those of the equal agreement
    field: see `read_attraction` (`kernels/simulation/swendsen_wang.py`). `tables` are edge tables (r, K, K)
    and node tables (d, K).
    """
    [forest], edges = simulator.forests, simulator.graph.edges
    edge_tables, node_tables = tables
    potentials = tree_potentials(edge_tables, node_tables[None], edges, len(x))
    for k in range(n_sweeps):
        if k % 2:
            swendsen_wang_sweeps(x, edges, coupling, weights, 1, rng)
        else:
            sweep_potentials(x, potentials, forest, 1, rng)


class FactorTreeSimulator(ForestSimulator):
    """Tree-blocked Gibbs sweeps of chains of one `FactorGraph`.

    Blocks of single variables give the ordinary Gibbs sampler.
    """

    graph: FactorGraph
    _lay_out = staticmethod(factor_forest_arrays)

    def sweep(self, x: np.ndarray, tables: np.ndarray, n_sweeps: int, rng: np.random.Generator) -> None:
        """Move every row of `x` (m, d) int8 by `n_sweeps` sweeps, in place.

        `tables` (T,) are the log tables of all factors one after the other. Each row must have
        positive probability.
        """
        self.add_marginals(x, tables, n_sweeps, rng, *_NO_SUMS)

    def sweep_there_and_back(self, x: np.ndarray, tables: np.ndarray, n: int, rng) -> None:
        """Sweep `n` times over the blocks of a partition and back again, which is reversible; see `sweep`."""
        for forest, times in in_turn(self.forests, n, rng):
            factor_tree_sampling.factor_tree_sweeps(x, tables, forest, 2 * times, True, rng, *_NO_SUMS)

    def add_marginals(
        self,
        x: np.ndarray,
        tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
        variable_sum: np.ndarray,
        factor_sum: np.ndarray,
    ) -> None:
        """Move `x` as `sweep` does and add up the Rao-Blackwellised marginals of eq. 4.14.

        Per chain, the sums over sweeps are added to `variable_sum` (m, d, largest cardinality) and
        `factor_sum` (m, T).
        """
        for forest, n in in_turn(self.forests, n_sweeps, rng):
            factor_tree_sampling.factor_tree_sweeps(
                x, tables, forest, n, False, rng, variable_sum, factor_sum
            )
