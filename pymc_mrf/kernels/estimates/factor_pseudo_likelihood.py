"""Log pseudo-likelihood of factor graphs: Besag (1975).

lpl(x) = sum_i weights_i log p(x_i | all other variables)

Every conditional is a sum over the states of one variable, so the partition function never appears.
`tables` (T,) are the log tables of all factors one after the other, -inf where a combination is
impossible; `links` is a FactorLinks namedtuple; `weights` (d,) are those of the conditionals.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit, part
from pymc_mrf.kernels.factor_cells import present_cells
from pymc_mrf.kernels.log_scores import normalise


@part
def factor_log_conditional(p, z, i, cells, tables, links):
    """Log probability of the state of variable i given the rest of `z` (d,), whose cells are `cells` (F,).

    Those of all its states go into `p` (K_i,), unless its own is impossible.
    """
    p[:] = 0.0
    for k in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
        stride = links.stride[links.link[k]]
        first = cells[links.factor[links.link[k]]] - z[i] * stride
        for a in range(p.shape[0]):
            p[a] += tables[first + a * stride]
    own = p[z[i]]
    return own if own == -np.inf else own - normalise(p)


@jit
def log_pseudo_likelihood(x, tables, links, weights, out):
    """Write the log pseudo-likelihood of every row of `x` (n, d) int8, with `weights` (d,), into `out` (n,).

    -inf if a variable's state is impossible given the others.
    """
    room = np.empty(links.cards.max())
    cells = np.empty(links.table_ptr.shape[0] - 1, dtype=np.int64)
    for c in range(x.shape[0]):
        present_cells(cells, x[c], links)
        out[c] = 0.0
        for i in range(x.shape[1]):
            p = room[: links.cards[i]]
            out[c] += weights[i] * factor_log_conditional(p, x[c], i, cells, tables, links)


@jit
def log_pseudo_likelihood_gradient(x, tables, links, weights, row_weights, gradient):
    """Gradient of ``sum_c row_weights[c] * lpl(x[c])`` by the log tables; overwrites `gradient` (T,).

    `x` (n, d) int8, `weights` (d,), `row_weights` (n,). Conditionals of impossible states, where lpl is
    -inf, are left out.
    """
    gradient[:] = 0.0
    room = np.empty(links.cards.max())
    cells = np.empty(links.table_ptr.shape[0] - 1, dtype=np.int64)
    for c in range(x.shape[0]):
        z = x[c]
        present_cells(cells, z, links)
        for i in range(x.shape[1]):
            p = room[: links.cards[i]]
            if factor_log_conditional(p, z, i, cells, tables, links) == -np.inf:
                continue
            for a in range(p.shape[0]):
                p[a] = row_weights[c] * weights[i] * ((a == z[i]) - p[a])
            for k in range(links.variable_ptr[i], links.variable_ptr[i + 1]):
                stride = links.stride[links.link[k]]
                first = cells[links.factor[links.link[k]]] - z[i] * stride
                for a in range(p.shape[0]):
                    gradient[first + a * stride] += p[a]
