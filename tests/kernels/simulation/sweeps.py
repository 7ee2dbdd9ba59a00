"""Sweeps of several kernels in one form, small graphs, tables of fields on them, and transition matrices."""

import numpy as np

from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.simulation import packed_gibbs as pg
from pymc_mrf.kernels.simulation import packed_states, states_gibbs
from tests.reference import enumeration

HUB = [(0, v) for v in range(1, 6)] + [(2, 1), (6, 0)]
GRAPHS = {
    "triangle and isolated node": PairwiseGraph(range(4), [(0, 1), (2, 1), (2, 0)]),
    "isolated nodes": PairwiseGraph(range(3), []),
    "chain": builders.chain(4),
    "grid": builders.grid(2, 3),
    "K5": builders.complete(5),
    "K6": builders.complete(6),
    "K9": builders.complete(9),
    "hub of degree 6": PairwiseGraph(range(7), HUB),
}


def random_tables(graph, n_states, rng):
    edge = rng.normal(size=(graph.n_edges, n_states, n_states))
    return edge, rng.normal(size=(graph.n_nodes, n_states))


def sweep_matrix(graph, edge_tables, node_tables):
    """Transition matrix of one chromatic sweep, by enumeration."""
    n_states = node_tables.shape[1]
    configs = enumeration.configurations(graph.n_nodes, n_states)
    p = enumeration.probabilities(graph.edges, edge_tables, node_tables)
    matrix = np.eye(len(configs))
    for i in graph.arrays.order:
        step = np.zeros_like(matrix)
        for a, z in enumerate(configs):
            same = np.all(np.delete(configs, i, axis=1) == np.delete(z, i), axis=1)
            step[a, same] = p[same] / p[same].sum()
        matrix = matrix @ step
    return matrix, p


def state_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    tables = states_gibbs.tabulate(edge_tables, node_tables, graph.arrays, len(x) * n_sweeps)
    states_gibbs.sweep_rows(x, tables, graph.arrays, n_sweeps, rng)


def prepare_packed(graph, edge_tables, node_tables, rng, n_chains=packed_states.BLOCK):
    """Plan, tables and random state of packed sweeps."""
    plan = pg.plan(graph.arrays)
    tables = pg.allocate_tables(plan, n_chains)
    pg.fill_tables(tables, edge_tables, node_tables, graph.arrays, plan)
    state = np.empty(pg.STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    return plan, tables, state


def packed_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    plan, tables, state = prepare_packed(graph, edge_tables, node_tables, rng, len(x))
    z = np.empty((graph.n_nodes, packed_states.n_words(len(x))), dtype=np.uint64)
    packed_states.pack(x, z)
    pg.packed_sweeps(z, plan, tables, n_sweeps, state)
    packed_states.unpack(z, x)
