"""Sweeps of several kernels in one form, tables of small fields, and transition matrices."""

import numpy as np

from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.simulation import packed_gibbs as pg
from pymc_mrf.kernels.simulation import packed_states, states_gibbs
from tests.reference import enumeration


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
