"""Second derivatives of the log-partition function: covariances of a field's statistics.

The derivative of `collect` and `distribute` in the direction of one statistic costs as much as the
two themselves and gives that statistic's covariance with every indicator of the field.
"""

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.junction_trees.junction_tree import sum_factors
from pymc_mrf.kernels.junction_trees.junction_tree_loops import (
    ADD,
    SUM,
    add_factors,
    send_up,
    sum_parent,
)


@jit
def covariance_product(tree, work, statistic, tangent, out):
    """Covariance of one statistic with the indicators of all factors: a Hessian-vector product.

    Needs the workspace as `log_partition_and_marginals` leaves it.

    `statistic` (T,): the statistic as a sum of tables, one for each factor; laid out as the log tables.
    `tangent` (n_cells,): overwritten. `out` (T,): entry k becomes Cov(statistic, 1[the cell k of its
    factor is realised]).
    """
    add_factors(tree, statistic, tangent, work.counter)
    n_cliques = tree.cliques.shape[0]
    # upwards: the expected statistic below each clique given its separator
    for j in range(n_cliques):
        clique = tree.cliques[j]
        first, n = clique.first, clique.n_columns
        expected = work.message
        expected[:n] = 0.0
        for start in range(first, first + clique.n_cells, n):
            for s in range(n):
                expected[s] += work.conditional[start + s] * tangent[start + s]
        for start in range(first, first + clique.n_cells, n):
            for s in range(n):
                tangent[start + s] -= expected[s]
        if clique.parent >= 0:
            send_up(ADD, tree, j, expected, work.total, tangent, work.counter)
    # downwards: d belief = conditional * d P(separator) + belief * d log conditional
    for j in range(n_cliques - 1, -1, -1):
        clique, change = tree.cliques[j], work.message
        n = clique.n_columns
        if clique.parent >= 0:
            sum_parent(SUM, tree, j, tangent, work.total, change, work.counter)
        else:
            change[0] = 0.0
        for start in range(clique.first, clique.first + clique.n_cells, n):
            for s in range(n):
                k = start + s
                tangent[k] = work.conditional[k] * change[s] + work.belief[k] * tangent[k]
    sum_factors(tree, tangent, out, work.counter)


@jit
def covariance(tree, work, statistics, tangent, product, out):
    """Covariance matrix of `statistics` (G, T) into `out` (G, G).

    Needs the workspace as `log_partition_and_marginals` leaves it; `tangent` (n_cells,) and
    `product` (T,) are overwritten.
    """
    for g in range(statistics.shape[0]):
        covariance_product(tree, work, statistics[g], tangent, product)
        for h in range(statistics.shape[0]):
            total = 0.0
            for k in range(product.shape[0]):
                total += statistics[h, k] * product[k]
            out[g, h] = total
