"""Log pseudo-likelihood of factor graphs: Besag (1975).

lpl(x) = sum_i weights_i log p(x_i | all other variables)

Every conditional is a sum over the states of one variable, so the partition function never appears.
`tables` (T,) are the log tables of all factors one after the other, -inf where a combination is
impossible; `links` is a FactorLinks namedtuple; `weights` (d,) are those of the conditionals.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.factor_cells import present_cells
from pymc_mrf.kernels.log_scores import log_sum


@jit
def factor_conditional_scores(scores, z, i, cells, tables, links):
    """Log conditional of variable i given the rest of `z` (d,), whose cells are `cells` (F,).

    Up to a constant, into `scores` (largest cardinality,). Returns the log of the sum of their exponentials;
    -inf if no state is possible.
    """
    n_states = links.cards[i]
    for a in range(n_states):
        scores[a] = 0.0
    for k in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
        stride = links.stride[links.link[k]]
        first = cells[links.factor[links.link[k]]] - z[i] * stride
        for a in range(n_states):
            scores[a] += tables[first + a * stride]
    return log_sum(scores[:n_states])


@jit
def log_pseudo_likelihood(x, tables, links, weights, out):
    """Write the log pseudo-likelihood of every row of `x` (n, d) int8, with `weights` (d,), into `out` (n,).

    -inf if a variable's state is impossible given the others.
    """
    scores = np.empty(links.cards.max())
    cells = np.empty(links.table_ptr.shape[0] - 1, dtype=np.int64)
    for c in range(x.shape[0]):
        z = x[c]
        present_cells(cells, z, links)
        total = 0.0
        for i in range(x.shape[1]):
            log_total = factor_conditional_scores(scores, z, i, cells, tables, links)
            if scores[z[i]] == -np.inf:
                total = -np.inf
                break
            total += weights[i] * (scores[z[i]] - log_total)
        out[c] = total


@jit
def log_pseudo_likelihood_gradient(x, tables, links, weights, row_weights, gradient):
    """Gradient of ``sum_c row_weights[c] * lpl(x[c])`` by the log tables; overwrites `gradient` (T,).

    `x` (n, d) int8, `weights` (d,), `row_weights` (n,). Conditionals of impossible states, where lpl is
    -inf, are left out.
    """
    gradient[:] = 0.0
    scores = np.empty(links.cards.max())
    cells = np.empty(links.table_ptr.shape[0] - 1, dtype=np.int64)
    for c in range(x.shape[0]):
        z = x[c]
        present_cells(cells, z, links)
        for i in range(x.shape[1]):
            log_total = factor_conditional_scores(scores, z, i, cells, tables, links)
            if scores[z[i]] == -np.inf:
                continue
            for a in range(links.cards[i]):
                scores[a] = row_weights[c] * weights[i] * ((a == z[i]) - np.exp(scores[a] - log_total))
            for k in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
                stride = links.stride[links.link[k]]
                first = cells[links.factor[links.link[k]]] - z[i] * stride
                for a in range(links.cards[i]):
                    gradient[first + a * stride] += scores[a]
