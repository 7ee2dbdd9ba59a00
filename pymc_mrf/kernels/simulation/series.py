"""Fields in time: simulation row by row, and Gibbs sweeps over missing cells.

Node i of row t is in state a with log potential tables[i, a] + scores[i, a] L_ti, its local field L_ti being
the sum, over the arrows to i, of the arrow's parameter times the score of the state of its source, in an
earlier row. A link within the row is two arrows: of nodes of one row each is then given the others.

Rows have parameters of their own, or share those of row 0: `eta` (T or 1, r), `tables` (T or 1, d, K).
`arrows` are an `ArrowArrays` of `graph.lagged`; `windows` (m, 1 + L) and `later` (T, 1 + L) are those of a
`SeriesRows`.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.log_scores import draw_state, log_sum


@jit
def local_field(x, rows, i, eta, scores, arrows):
    """Local field of node i in row rows[0] of states `x` (T, d).

    `rows` (1 + L,): that row and the earlier ones; `eta` (r,) and `scores` (d, K).
    """
    value = 0.0
    for k in range(arrows.in_ptr[i], arrows.in_ptr[i + 1]):
        weight = eta[arrows.in_edge[k]]
        if weight != 0.0:
            j = arrows.source[k]
            value += weight * scores[j, x[rows[arrows.in_lag[k]], j]]
    return value


@jit
def fill_node_scores(log_p, table, scores, field):
    """Write log potentials of a node in this local field into `log_p` (K,), by `table` and `scores` (K,)."""
    for a in range(log_p.shape[0]):
        log_p[a] = table[a] + scores[a] * field


@jit
def draw_rows(x, windows, eta, tables, scores, arrows, n_sweeps, rng):
    """Draw the rows of `x` (T, d) int8 that have a past, one after the other, in place.

    `windows` (m, 1 + L), `eta` (T or 1, r), `tables` (T or 1, d, K), `scores` (d, K). Each row takes
    `n_sweeps` sweeps over its nodes from the states in `x`: one is exact where there are no links.
    """
    d, log_p = scores.shape[0], np.empty(scores.shape[1])
    for k in range(windows.shape[0]):
        t = windows[k, 0]
        own, table = eta[min(t, eta.shape[0] - 1)], tables[min(t, tables.shape[0] - 1)]
        for _ in range(n_sweeps):
            for i in range(d):
                field = local_field(x, windows[k], i, own, scores, arrows)
                fill_node_scores(log_p, table[i], scores[i], field)
                x[t, i] = draw_state(log_p, rng)


@jit
def fill_local_fields(x, windows, eta, scores, arrows, local):
    """Local fields of the rows with a past into `local` (T, d).

    `x` (T, d), `windows` (m, 1 + L), `eta` (T or 1, r), `scores` (d, K).
    """
    for k in range(windows.shape[0]):
        t = windows[k, 0]
        own = eta[min(t, eta.shape[0] - 1)]
        for i in range(x.shape[1]):
            local[t, i] = local_field(x, windows[k], i, own, scores, arrows)


@jit
def sweep_cells(x, cells, has_past, later, eta, tables, possible, scores, arrows, local, rng):
    """Redraw each cell given all others, in turn, from its conditional times those of later rows.

    Given the rest of its row and the rows before, the cell's own conditional is exact; later rows are seen
    node by node, each given the others of its row.

    `x` (T, d) int8: states, changed in place. `cells` (N, 2) int64: rows and nodes. `has_past` (T,)
    bool: rows whose states have a probability. `later` (T, 1 + L) int64, `eta` (T or 1, r) and `tables`
    (T or 1, d, K). `possible` (d, K) bool: states that nodes have. `scores` (d, K) and `arrows`
    (ArrowArrays). `local` (T, d): local fields at `x`, kept up to date.
    """
    K = scores.shape[1]
    log_p, of_target = np.empty(K), np.empty(K)
    for c in range(cells.shape[0]):
        t, i = cells[c, 0], cells[c, 1]
        old = x[t, i]
        for a in range(K):
            log_p[a] = 0.0 if possible[i, a] else -np.inf
            if has_past[t]:
                log_p[a] += tables[min(t, tables.shape[0] - 1), i, a] + scores[i, a] * local[t, i]
        for k in range(arrows.out_ptr[i], arrows.out_ptr[i + 1]):
            row, j = later[t, arrows.out_lag[k]], arrows.target[k]
            if row < 0 or arrows.out_lag[k] == 0:  # of its own row its conditional says all
                continue
            weight = eta[min(row, eta.shape[0] - 1), arrows.out_edge[k]]
            if weight == 0.0:
                continue
            table, state = tables[min(row, tables.shape[0] - 1), j], x[row, j]
            for a in range(K):
                if possible[i, a]:
                    field = local[row, j] + weight * (scores[i, a] - scores[i, old])
                    fill_node_scores(of_target, table, scores[j], field)
                    log_p[a] += scores[j, state] * field - log_sum(of_target)
        new = draw_state(log_p, rng)
        if new == old:
            continue
        x[t, i] = new
        for k in range(arrows.out_ptr[i], arrows.out_ptr[i + 1]):
            row = later[t, arrows.out_lag[k]]
            if row >= 0:
                weight = eta[min(row, eta.shape[0] - 1), arrows.out_edge[k]]
                local[row, arrows.target[k]] += weight * (scores[i, new] - scores[i, old])


@jit
def log_probability_of_row(x, rows, eta, table, scores, arrows, states, log_p):
    """Log probability of row rows[0] of states `x` (T, d) given the earlier ones, by all its states.

    `rows` (1 + L,), `eta` (r,), `table` and `scores` (d, K), `states` (S, d); `log_p` (S,) is scratch.
    """
    (S, d), own = states.shape, 0
    log_p[:] = 0.0
    for i in range(d):
        own = own * (states[S - 1, i] + 1) + x[rows[0], i]
        field = 0.0
        for k in range(arrows.in_ptr[i], arrows.in_ptr[i + 1]):
            j, weight = arrows.source[k], eta[arrows.in_edge[k]]
            if arrows.in_lag[k] > 0:
                field += weight * scores[j, x[rows[arrows.in_lag[k]], j]]
            elif j < i:  # each link once
                for s in range(S):
                    log_p[s] += weight * scores[i, states[s, i]] * scores[j, states[s, j]]
        for s in range(S):
            log_p[s] += table[i, states[s, i]] + scores[i, states[s, i]] * field
    return log_p[own] - log_sum(log_p)


@jit
def sweep_cells_of_listed_rows(
    x, cells, earlier, later, eta, tables, possible, scores, arrows, states, rng
):
    """Do what `sweep_cells` does where rows have links, and their probabilities are those of whole rows.

    `x` (T, d), `cells` (N, 2), `earlier` and `later` (T, 1 + L), `eta` (T or 1, r), `tables` (T or 1, d, K),
    `possible` and `scores` (d, K), `states` (S, d), all states of a row.
    """
    K = scores.shape[1]
    log_p, of_row = np.empty(K), np.empty(len(states))
    for c in range(cells.shape[0]):
        t, i = cells[c, 0], cells[c, 1]
        own = min(t, eta.shape[0] - 1), min(t, tables.shape[0] - 1)
        field = 0.0
        if earlier[t, 0] >= 0:
            field = local_field(x, earlier[t], i, eta[own[0]], scores, arrows)
        for a in range(K):
            log_p[a] = 0.0 if possible[i, a] else -np.inf
            if earlier[t, 0] >= 0:
                log_p[a] += tables[own[1], i, a] + scores[i, a] * field
            for lag in range(1, later.shape[1]):
                row = later[t, lag]
                if row >= 0 and possible[i, a]:
                    x[t, i] = a
                    w, table = eta[min(row, eta.shape[0] - 1)], tables[min(row, tables.shape[0] - 1)]
                    log_p[a] += log_probability_of_row(
                        x, earlier[row], w, table, scores, arrows, states, of_row
                    )
        x[t, i] = draw_state(log_p, rng)
