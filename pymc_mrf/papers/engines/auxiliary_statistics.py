"""Statistics of auxiliary data sets, for the moves of `papers/kernels/auxiliary_groups.py`.

They are drawn exactly down a junction tree, or summed over the rows that an `AuxiliarySampler` simulates.
"""

import numpy as np

from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.kernels.junction_trees.junction_tree_focus import allocate_focus
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.papers.kernels.auxiliary_draws import ExactDraws


def exact_draws(sampler: AuxiliarySampler, statistic: np.ndarray, node_tables: np.ndarray) -> ExactDraws:
    """Prepare exact draws of as many rows as an exact `sampler` draws, in its room for work.

    Parameters
    ----------
    sampler : AuxiliarySampler
    statistic : (K, K) array with values in {0, 1}
    node_tables : (d, K) array
    """
    K, r = len(statistic), sampler.graph.n_edges
    tree = field_tree(sampler.graph, K)
    symmetric = K == 2 and np.array_equal(statistic, statistic[::-1, ::-1])
    return ExactDraws(
        statistic=statistic,
        tables=np.concatenate([np.zeros(r * K * K), node_tables.ravel()]),
        order=tree.factor_order[tree.factor_order < r],  # the other factors are single nodes
        n=float(sampler.n),
        mirrored=bool(symmetric and not np.any(np.diff(node_tables))),
        tree=tree.arrays,
        work=sampler.work,
        focus=allocate_focus(tree.arrays),
        counts=np.zeros(tree.arrays.n_factor_cells),
        log_table=np.zeros(K * K),
        delta=np.zeros(K * K),
    )


class SimulatedDraws:
    """Sums over rows that are simulated, Gibbs chains starting at the data.

    Parameters
    ----------
    sampler : AuxiliarySampler
    statistic : (K, K) array with values in {0, 1}
    node_tables : (d, K) array
    x : (n, d) int8 array
        The data.
    """

    by_edge = False

    def __init__(
        self, sampler: AuxiliarySampler, statistic: np.ndarray, node_tables: np.ndarray, x: np.ndarray
    ) -> None:
        self._sampler, self._statistic, self._node_tables, self._x = sampler, statistic, node_tables, x
        self.order = np.arange(sampler.graph.n_edges)

    def draw_statistics(self, eta: np.ndarray, out: np.ndarray, rng: np.random.Generator) -> None:
        """Sum f over a data set drawn at `eta` (r,), into `out` (r,)."""
        edge_tables = eta[:, None, None] * self._statistic
        rows = self._sampler.draw(edge_tables, self._node_tables, rng, self._x)
        gibbs.edge_statistics(rows, self._sampler.graph.edges, self._statistic, out)
