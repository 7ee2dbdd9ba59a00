"""Whether sweeps are enough for draws of a field: chains from order and from disorder have to meet.

A chain that starts from uniform states comes from below to the log potentials that the draws of the field
have, one that starts from order comes from above. Where the first was at no time as high as the second, at
least one of them still shows its start. That they have met proves nothing: both may have come to the same of
several modes.

Order is a configuration of high log potential: each node in turn in the state that it prefers, given its
neighbours before it. Where no table has its largest entry there, another is looked for by simulated annealing
(Kirkpatrick, Gelatt & Vecchi, 1983), for as many sweeps as are judged.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.graph.factor_graph import FactorGraph, FactorLinks, factor_links, node_schedule
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.local_search import CHANGES, decode, make_possible

LEAST_SWEEPS = 20
"""Fewer are judged as these: in fewer, chains that forget at once may not meet by chance."""

MOST_CHAINS = 6
"""How many chains start from disorder, at most, each of as many draws or more."""

ROUNDING = 1e-9
"""Share of a log potential."""

HOT, COLD = 0.05, 20.0
"""Factors of the log tables from which annealing goes to 1, and of those by which it ends."""

Potential = Callable[[np.ndarray], np.ndarray]
"""Log potentials (m,) of configurations (m, d)."""


def starts_meet(
    x: np.ndarray, sweep: Callable[[np.ndarray], None], potential: Potential, n_sweeps: int
) -> bool:
    """Whether chains meet within a number of sweeps; they are stopped where all have.

    `x` (m + 1, d) int8: starts, the last of which is order; moved in place. `sweep`: moves them by a
    sweep.
    """
    met = np.zeros(len(x) - 1, dtype=bool)
    for done in range(max(n_sweeps, LEAST_SWEEPS) + 1):
        if done:
            sweep(x)
        *low, high = potential(x)
        met |= np.array(low) >= high - ROUNDING * abs(high)
        if met.all():
            return True
    return False


def annealed(x: np.ndarray, sweep: Callable[[np.ndarray, float], None], n_sweeps: int) -> None:
    """Move `x` (1, d) to a high potential, by sweeps of the field whose log tables a factor multiplies."""
    n_sweeps = max(n_sweeps, LEAST_SWEEPS)
    for factor in [*np.linspace(HOT, 1.0, n_sweeps), *[COLD] * LEAST_SWEEPS]:
        sweep(x, factor)


@lru_cache(maxsize=32)
def _outward(graph: PairwiseGraph) -> np.ndarray:
    return node_schedule(graph)[0][::-1].copy()


def pairwise_starts_meet(
    tables: PairwiseTables,
    disorder: np.ndarray,
    sweep: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
    n_sweeps: int,
) -> bool:
    """Whether chains of a pairwise field meet; `disorder` (m, d) int8 are uniform states.

    `sweep` moves chains by a sweep of the field with these edge and node tables.
    """
    graph, edges, nodes = tables
    order = np.zeros((1, graph.n_nodes), dtype=np.int8)
    nothing = np.zeros((2, graph.n_edges, nodes.shape[1]))
    decode(order[0], nothing, *tables.arrays, _outward(graph))
    highest = tables.largest()
    if tables.log_potential(order)[0] < highest - ROUNDING * abs(highest):
        other = disorder[:1].copy()
        annealed(other, lambda x, factor: sweep(x, factor * edges, factor * nodes), n_sweeps)
        order = max(order, other, key=lambda x: tables.log_potential(x)[0])
    x = np.concatenate([disorder, order])
    return starts_meet(x, lambda x: sweep(x, edges, nodes), tables.log_potential, n_sweeps)


_links = lru_cache(maxsize=32)(factor_links)


def _potentials(x: np.ndarray, tables: np.ndarray, links: FactorLinks) -> np.ndarray:
    """Log potentials (m,) of configurations `x` (m, d) of a factor graph."""
    n = len(links.table_ptr) - 1
    offsets = [np.bincount(links.factor, row[links.variable] * links.stride, n) for row in x]
    return tables[links.table_ptr[:-1] + np.array(offsets, dtype=np.int64)].sum(axis=1)


def factor_starts_meet(
    simulator: FactorTreeSimulator,
    tables: np.ndarray,
    disorder: np.ndarray,
    n_sweeps: int,
    rng: np.random.Generator,
) -> bool:
    """Whether chains of a factor graph with log tables (t,) meet; `disorder` (m, d) int8 are uniform states.

    They are made possible. Where this fails nothing is known, and True is returned.
    """
    graph: FactorGraph = simulator.graph
    links, free = _links(graph), np.ones(graph.n_variables, dtype=bool)
    first = np.zeros((1, graph.n_variables), dtype=np.int8)
    x = np.concatenate([disorder, first, disorder[:1]])
    n_changes = CHANGES * graph.n_variables
    if not all(make_possible(row, free, tables, links, n_changes, rng) for row in x):
        return True

    def sweep(x, factor=1.0):
        simulator.sweep(x, factor * tables, 1, rng)

    def potential(x):
        return _potentials(x, tables, links)

    simulator.sweep(x[-2:-1], COLD * tables, LEAST_SWEEPS, rng)
    annealed(x[-1:], sweep, n_sweeps)
    *_, first, other = potential(x)
    if first > other:
        x[-1] = x[-2]
    return starts_meet(np.delete(x, -2, axis=0), sweep, potential, n_sweeps)
