"""What a draw of the parameters of a field costs under an exact and under a Monte Carlo likelihood.

In operations, each about a nanosecond of one core: counted from the field and from the sample, so that a
choice by them is the same on all machines.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.graph.junction_tree import JunctionTree

BY_CELL, BY_LOOK = 8.0, 0.12
"""Operations of a gradient of the exact likelihood: for each cell of the junction tree's tables, and for
each edge and cell of the table that holds it. Measured: 9 and 13 for each cell of complete graphs of 8 and 9
nodes of four states, 22 and 27 of 15 and 18 nodes of two, 8 of grids."""

BY_CONFIGURATION = 8.0
"""Operations of a draw for each configuration that `EdgeGibbs` enumerates."""

FREE, MOST_SWEEPS = 100_000, 10
"""Operations of all sweeps over the edges in a draw, which then take less than what else PyMC and a step do,
and the most sweeps. Of ten binary items the worst weight had 355 and 1,057 effective draws of 2,000 by one
sweep and by three, in 1.4 times the time; of 13 scales of 231 people, which stand in for each other, 155, 424
and 1,110 by 1, 4 and 16 sweeps."""

BY_VISIT = 100.0
"""Operations of a visit to an edge, beside those of its likelihood."""

BY_LISTED, BY_INVERSE = 1.0, 1 / 30
"""Operations of a visit for each configuration that is enumerated, and for each cell of the inverse of a
precision, as few edges of a Gaussian field change."""

BY_ROW, BY_ROW_AND_STATE = 4.5, 6.0
"""Operations of a visit for each row of a pseudo-likelihood, of two states, and of more for each of them. Of
six items of four answers and 200 rows seven sweeps in a draw, not one, have half the effective draws a
second; of five items of seven answers two sweeps have nine tenths."""

BY_POINT = 0.6
"""Operations of a gradient of a Monte Carlo likelihood for each point of its sample and each edge."""


class Gradients(NamedTuple):
    """How many gradients a draw costs as much as, by what the prior of the edges is.

    Attributes
    ----------
    exact, sample : float
        Under an exact and under a Monte Carlo likelihood.
    """

    exact: float
    sample: float


SPARSE = Gradients(5.5, 8.0)
"""`EdgeGibbs`: a sweep, and a joint move."""
GROUPED = Gradients(60.0, 30.0)
"""Eight rounds of `GroupGibbs` by the junction tree; two sweeps by a sample."""
DENSITY = Gradients(15.0, 15.0)
"""A trajectory of NUTS."""


def sweeps_in_a_draw(n_edges: int, operations: float) -> int:
    """Count the sweeps over `n_edges` in a draw, by the operations of the likelihood of one edge."""
    return int(np.clip(round(FREE / max(n_edges * (BY_VISIT + operations), 1.0)), 1, MOST_SWEEPS))


def row_operations(n_rows: int, n_states: int) -> float:
    """Operations of a visit by the rows of a pseudo-likelihood."""
    return n_rows * (BY_ROW if n_states == 2 else BY_ROW_AND_STATE * n_states)


def exact_operations(tree: JunctionTree, edges: np.ndarray, kind: Gradients) -> float:
    """Operations of a draw by a junction tree that holds `edges` (r, 2)."""
    cards, home = np.array(tree.cardinalities, dtype=float), np.empty(tree.n_variables, dtype=int)
    sizes = np.empty(len(tree.cliques))
    for k, clique in enumerate(tree.cliques):
        home[list(clique.frontal)] = k
        sizes[k] = cards[[*clique.frontal, *clique.separator]].prod()
    looked = sizes[home[edges].min(axis=1)].sum()  # children come before parents
    return kind.exact * (BY_CELL * tree.n_cells + BY_LOOK * looked)


def sample_operations(n_points: int, n_edges: int, kind: Gradients) -> float:
    """Operations of a draw by a sample of so many points."""
    return kind.sample * BY_POINT * n_points * n_edges
