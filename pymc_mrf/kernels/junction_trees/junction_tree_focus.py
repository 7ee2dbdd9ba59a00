"""One factor's marginal after another, while the parameters change: calibration with a focus.

Hugin propagation (Jensen, Lauritzen & Olesen, 1990) done lazily: only the table of the clique in
*focus* is kept up to date, and moving the focus passes one message along every link of the way.
Changing a factor of the focus clique costs one multiplication of its table. Visited in
`JunctionTree.factor_order`, all factors of a field together cost about as much as one full pass of
messages in both directions; rounding errors grow with the number of moves, so that a sampler
calibrates anew every few sweeps, which costs a quarter of one.

Tables are products of potentials as long as every positive entry is a normal number. A lower bound of
these is kept for each clique; where a message would break it, everything begins anew in logs, which
then serve until the next call of `calibrate`.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import lean, part
from pymc_mrf.kernels.junction_trees.junction_tree import set_potential, smallest_positive
from pymc_mrf.kernels.junction_trees.junction_tree_loops import (
    ADD,
    LOG_SUM,
    MULTIPLY,
    SUM,
    ZERO,
    add_factors,
    add_rows,
    meet_clique,
    multiply_rows,
    send_up,
    sum_parent,
)
from pymc_mrf.kernels.log_scores import log_add

UP, DOWN = np.array([True, False])  # kernels would be compiled twice for literals
ANEW, KEPT = np.array([True, False])
ROOTS = np.int64(-1)
"""Goal of `focus_on` instead of a clique."""
SAFE = 1e-290
"""Smallest positive entry of a table that is worked with: far enough from 2e-308 for sums and ratios."""


class Focus(NamedTuple):
    """State of an incremental calibration.

    Attributes
    ----------
    tables : (T,) array
        Log tables of all factors at present.
    potentials : (T,) array
        Their exponentials; scratch.
    belief : (n_cells,) array
        Tables of the cliques; that of a focus clique is its unnormalised joint distribution.
    separator : (total separator size,) array
        Message that last crossed each link, in either direction.
    least : (C,) array
        Lower bound of the positive entries of each clique's table.
    in_logs : (1,) bool array
        Whether `belief` and `separator` hold logs.
    focus : (n_components,) int64 array
        Clique in focus in each connected component.
    path : (C,) int64 array
    message, total : (largest separator,) arrays
    counter : (most nested loops,) int64 array
        Scratch, like the three before it.
    """

    tables: np.ndarray
    potentials: np.ndarray
    belief: np.ndarray
    separator: np.ndarray
    least: np.ndarray
    in_logs: np.ndarray
    focus: np.ndarray
    path: np.ndarray
    message: np.ndarray
    total: np.ndarray
    counter: np.ndarray


def allocate_focus(tree):
    """State for one junction tree, to be filled by `calibrate`."""
    columns = tree.cliques["n_columns"]
    return Focus(
        np.zeros(tree.n_factor_cells),
        np.zeros(tree.n_factor_cells),
        np.zeros(tree.n_cells),
        np.zeros(tree.n_separator_cells),
        np.zeros(len(columns)),
        np.zeros(1, dtype=np.bool_),
        np.zeros(tree.cliques["component"].max() + 1, dtype=np.int64),
        np.zeros(len(columns), dtype=np.int64),
        np.zeros(columns.max()),
        np.zeros(columns.max()),
        np.zeros(tree.meetings.places["n_loops"].max(), dtype=np.int64),
    )


@part
def keep_message(message, separator, first, n):
    """Store a new message at `first`, scaled, and leave its ratio to the old one in `message`.

    Of `message` (largest separator,) the first n entries count; `separator` (total separator size,) has those
    of all links. Returns the smallest positive ratio; 0 if an entry would be lost or is not a number, or if
    all are 0.
    """
    high, sound = 0.0, True
    for s in range(n):
        sound = sound and message[s] >= 0.0
        high = max(high, message[s])
    if not (sound and 0.0 < high < np.inf):
        return 0.0
    scale, least = 1.0 / high, np.inf
    for s in range(n):
        new = message[s] * scale
        if message[s] > 0.0 and new < SAFE:
            return 0.0
        old = separator[first + s]
        # an impossible state stays impossible, on both sides of the link
        message[s] = new / old if old > 0.0 else 0.0
        separator[first + s] = new
        if message[s] > 0.0:
            least = min(least, message[s])
    return least


@part
def keep_log_message(message, separator, first, n):
    """`keep_message` in logs, where nothing is lost.

    `message` (largest separator,) and `separator` (total separator size,).
    """
    for s in range(n):
        new = message[s]
        if new > -np.inf:
            message[s] = new - separator[first + s]
            separator[first + s] = new


@part
def stays_safe(belief, clique, bounds, j, least):
    """Whether the table of clique j can be multiplied by values from `least` on; its bound follows.

    The tables of all cliques are `belief` (n_cells,), and their bounds `bounds` (C,).
    """
    if not bounds[j] * least >= SAFE:
        bounds[j] = smallest_positive(belief, clique.first, clique.first + clique.n_cells)
    bounds[j] *= min(least, 1.0)
    return bounds[j] >= SAFE


@lean
def pass_message(tree, state, j, up):
    """Message from clique j to its parent, or down; False if an entry would be lost."""
    clique, belief, message, turned = tree.cliques[j], state.belief, state.message, state.total
    n, first, in_logs = clique.n_columns, clique.first, state.in_logs[0]
    if not up:
        kind = LOG_SUM if in_logs else SUM
        sum_parent(kind, tree, j, belief, turned, message, state.counter)
    elif in_logs:
        message[:n] = -np.inf
        for start in range(first, first + clique.n_cells, n):
            for s in range(n):
                message[s] = log_add(message[s], belief[start + s])
    else:
        message[:n] = 0.0
        add_rows(belief, first, clique.n_rows, n, n, message, ZERO)
    if in_logs:
        keep_log_message(message, state.separator, clique.separator, n)
    else:
        least = keep_message(message, state.separator, clique.separator, n)
        other = clique.parent if up else j
        if not stays_safe(belief, tree.cliques[other], state.least, other, least):
            return False
    if up:
        send_up(ADD if in_logs else MULTIPLY, tree, j, message, turned, belief, state.counter)
    elif in_logs:
        for start in range(first, first + clique.n_cells, n):
            for s in range(n):
                belief[start + s] += message[s]
    else:
        multiply_rows(belief, first, clique.n_rows, n, n, message, ZERO, belief)
    return True


@part
def calibrate(tree, tables, state):
    """Start from the log tables of all factors, `tables` (T,), with the roots in focus."""
    for k in range(tables.shape[0]):
        state.tables[k] = tables[k]
    state.in_logs[0] = False
    focus_on(tree, state, ROOTS, ANEW)


@part
def restart(tree, state):
    """Begin anew at the present log tables, with the roots in focus.

    In logs if `state` says so already, or if a product would lose an entry.
    """
    while True:
        sound = True
        if state.in_logs[0]:
            add_factors(tree, state.tables, state.belief, state.counter)
            state.separator[:] = 0.0
        else:
            sound = multiply_factors(tree, state)
        if sound and pass_all_up(tree, state):
            return
        state.in_logs[0] = True


@part
def multiply_factors(tree, state):
    """Products of the factors of each clique; False if one may have lost an entry."""
    state.belief[:] = 1.0
    state.separator[:] = 1.0
    state.least[:] = 1.0
    sound = True
    for f in range(tree.factors.shape[0]):
        factor = tree.factors[f]
        top, least = set_potential(state.tables, factor.first, factor.n_cells, state.potentials)
        sound = sound and not np.isnan(top)
        state.least[factor.clique] *= least
        meet_clique(
            MULTIPLY, tree, factor.clique, state.belief, state.potentials, factor.first, f, state.counter
        )
    # before messages find new bounds: a bound of 0 is a lost entry
    for j in range(tree.cliques.shape[0]):
        sound = sound and state.least[j] > 0.0
    return sound


@part
def pass_all_up(tree, state):
    """Messages of all cliques to their parents; False if an entry would be lost."""
    for j in range(tree.cliques.shape[0]):
        clique = tree.cliques[j]
        if not state.in_logs[0] and not stays_safe(state.belief, clique, state.least, j, 1.0):
            return False  # subnormal numbers lack digits
        if clique.parent < 0:
            state.focus[clique.component] = j
        elif not pass_message(tree, state, j, UP):
            return False
    return True


@part
def travel(tree, state, goal):
    """Pass messages on the way from the present focus to clique `goal`; False if an entry would be lost."""
    component = tree.cliques[goal].component
    a, b, n = state.focus[component], goal, 0
    while a != b:
        if tree.cliques[a].depth < tree.cliques[b].depth:
            state.path[n] = b
            n += 1
            b = tree.cliques[b].parent
        elif pass_message(tree, state, a, UP):
            a = tree.cliques[a].parent
        else:
            return False
    for k in range(n - 1, -1, -1):
        if not pass_message(tree, state, state.path[k], DOWN):
            return False
    state.focus[component] = goal
    return True


@lean
def focus_on(tree, state, goal, anew):
    """Move the focus to clique `goal`, or to the `ROOTS`; begin `anew` first, or go on with what is `KEPT`.

    One kernel for both: each would be compiled once more in all that call it.
    """
    while True:
        if anew:
            restart(tree, state)
        if goal < 0 or travel(tree, state, goal):
            return
        state.in_logs[0] = anew = True


@part
def restart_in_logs(tree, state, goal):
    state.in_logs[0] = True
    focus_on(tree, state, goal, ANEW)


@part
def update_factor(tree, state, f, delta):
    """Add `delta` (size of the table,) to the log table of factor f; finite values only."""
    factor = tree.factors[f]
    j, at = factor.clique, factor.first
    clique = tree.cliques[j]
    if state.focus[clique.component] != j:  # a call takes as long as a small table
        focus_on(tree, state, j, KEPT)
    if not state.in_logs[0]:
        least, largest = np.inf, 0.0
        for k in range(delta.shape[0]):
            state.potentials[at + k] = np.exp(delta[k])
            least = min(least, state.potentials[at + k])
            largest = max(largest, state.potentials[at + k])
        if not (largest < 1.0 / SAFE and stays_safe(state.belief, clique, state.least, j, least)):
            restart_in_logs(tree, state, j)
    kind = ADD if state.in_logs[0] else MULTIPLY
    for k in range(delta.shape[0]):
        state.tables[at + k] += delta[k]
        if state.in_logs[0]:
            state.potentials[at + k] = delta[k]
    meet_clique(kind, tree, j, state.belief, state.potentials, at, f, state.counter)


@part
def factor_log_table(tree, state, f, out):
    """Log of factor f's marginal table up to a constant, into `out` (table size,)."""
    j = tree.factors[f].clique
    clique = tree.cliques[j]
    if state.focus[clique.component] != j:  # a call takes as long as a small table
        focus_on(tree, state, j, KEPT)
    if not state.in_logs[0]:
        out[:] = 0.0
        meet_clique(SUM, tree, j, state.belief, out, ZERO, f, state.counter)
        largest, sound = 0.0, True
        for k in range(out.shape[0]):
            sound = sound and out[k] >= 0.0
            largest = max(largest, out[k])
        if sound and 0.0 < largest < np.inf:
            for k in range(out.shape[0]):
                out[k] = np.log(out[k])
            return
        restart_in_logs(tree, state, j)
    out[:] = -np.inf
    meet_clique(LOG_SUM, tree, j, state.belief, out, ZERO, f, state.counter)
