"""GibbsSimulator: which kernel serves, all kernels against enumeration, the forms of its interface."""

import numpy as np
import pytest

from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.pair_counts import count_moments
from tests.reference import enumeration
from tests.statistics import assert_frequencies

STAR = PairwiseGraph(range(14), [(0, v) for v in range(1, 14)])
SHAPES = {
    "packed": (builders.grid(2, 3), 2, 20_001),
    "dense": (STAR, 2, 20_001),
    "states": (builders.grid(2, 2), 3, 20_001),
    "plain": (builders.grid(2, 3), 2, 5),
    "plain states": (builders.grid(2, 2), 3, 5),
}


def random_tables(graph, n_states, rng):
    edge = 0.7 * rng.normal(size=(graph.n_edges, n_states, n_states))
    return edge, rng.normal(size=(graph.n_nodes, n_states))


@pytest.fixture(params=SHAPES)
def case(request, rng):
    graph, n_states, n_chains = SHAPES[request.param]
    simulator = GibbsSimulator(graph, n_states, n_chains)
    assert simulator.kernel == request.param.split()[0]
    x = rng.integers(0, n_states, size=(n_chains, graph.n_nodes)).astype(np.int8)
    return simulator, x, *random_tables(graph, n_states, rng)


def test_every_kernel_reaches_the_distribution(case, rng):
    simulator, x, edge_tables, node_tables = case
    p = enumeration.probabilities(simulator.graph.edges, edge_tables, node_tables)
    counts = np.zeros(len(p))
    # few chains are observed repeatedly, far enough apart to count as independent
    for _ in range(max(1, 4000 // len(x))):
        simulator.sweep(x, edge_tables, node_tables, 40, rng)
        counts += np.bincount(enumeration.configuration_index(x, simulator.n_states), minlength=len(p))
    assert_frequencies(counts, p)


def test_impossible_entries_stay_impossible(case, rng):
    simulator, x, edge_tables, node_tables = case
    edge_tables[0, 1, 1] = edge_tables[1, 0, 1] = -np.inf
    node_tables[3, 1] = -np.inf
    x[:] = 0
    p = enumeration.probabilities(simulator.graph.edges, edge_tables, node_tables)
    simulator.sweep(x, edge_tables, node_tables, 40, rng)
    counts = np.bincount(enumeration.configuration_index(x, simulator.n_states), minlength=len(p))
    assert np.all(counts[p == 0.0] == 0)
    if len(x) > 1000:
        assert_frequencies(counts[p > 0.0], p[p > 0.0])


def test_advancing_in_place_is_sweeping(case):
    simulator, x, edge_tables, node_tables = case
    y = x.copy()
    rng = np.random.default_rng(1)
    for _ in range(3):
        simulator.sweep(x, edge_tables, node_tables, 2, rng)
    rng = np.random.default_rng(1)
    simulator.load(y)
    for _ in range(3):
        simulator.advance(edge_tables, node_tables, 2, rng)
    simulator.store(y)
    np.testing.assert_array_equal(x, y)


def test_chains_may_be_columns(case):
    simulator, x, edge_tables, node_tables = case
    columns = x.T.copy()
    simulator.sweep(x, edge_tables, node_tables, 2, np.random.default_rng(1))
    simulator.sweep(columns.T, edge_tables, node_tables, 2, np.random.default_rng(1))
    np.testing.assert_array_equal(columns.T, x)


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("n_chains", [5, 40, 130, 512])
def test_states_are_counted_along_the_chains(n_states, n_chains, rng):
    """More often than a byte can count, in the order of the draws of as many single sweeps."""
    graph, n_sweeps = builders.grid(2, 3), 298
    simulator = GibbsSimulator(graph, n_states, n_chains)
    x, tables = np.zeros((n_chains, 6), dtype=np.int8), random_tables(graph, n_states, rng)
    simulator.load(x)
    counted = simulator.count(*tables, n_sweeps, np.random.default_rng(1))
    simulator.load(x)
    rng = np.random.default_rng(1)
    nodes, pairs, every = 0, 0, np.arange(n_states)
    for _ in range(n_sweeps):
        simulator.advance(*tables, 1, rng)
        simulator.store(x)
        is_in = x.T[:, None] == every[:, None]  # (d, K, m)
        u, v = graph.edges.T
        nodes = nodes + is_in
        pairs = pairs + (is_in[u][:, :, None] & is_in[v][:, None])
    np.testing.assert_array_equal(counted[0], nodes[:, 1:])
    np.testing.assert_array_equal(counted[1], pairs[:, 1:, 1:])
    moments = [np.empty((2, *counts.shape[:-1])) for counts in (nodes, pairs)]
    count_moments(*counted, graph.edges, n_sweeps, *moments)
    for (mean, squares), counts in zip(moments, (nodes, pairs), strict=True):
        shares = counts / n_sweeps
        np.testing.assert_allclose(mean, shares.mean(axis=-1), rtol=1e-13)
        np.testing.assert_allclose(squares, shares.var(axis=-1) * n_chains, atol=1e-11)


def test_pairs_are_counted_over_the_chains(case, rng):
    simulator, x, edge_tables, node_tables = case
    simulator.load(x)
    for _ in range(2):
        simulator.store(x)
        expected = np.zeros((simulator.graph.n_edges, *[simulator.n_states] * 2), dtype=int)
        for e, (u, v) in enumerate(simulator.graph.edges):
            np.add.at(expected[e], (x[:, u], x[:, v]), 1)
        np.testing.assert_array_equal(simulator.pair_counts(), expected)
        simulator.advance(edge_tables, node_tables, 1, rng)


def test_no_sweeps_change_nothing(case, rng):
    simulator, x, edge_tables, node_tables = case
    before = x.copy()
    simulator.sweep(x, edge_tables, node_tables, 0, rng)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("graph", "n_chains", "kernel"),
    [
        (builders.grid(10, 10), 64, "packed"),
        (builders.complete(7), 1000, "packed"),
        (builders.complete(7), 64, "dense"),
        (builders.complete(99), 1000, "dense"),
        (PairwiseGraph(range(3), []), 100, "packed"),
        (builders.grid(10, 10), 4, "plain"),
    ],
)
def test_the_kernel_follows_degree_and_chains(graph, n_chains, kernel):
    assert GibbsSimulator(graph, 2, n_chains).kernel == kernel


@pytest.mark.parametrize("value", [0, 2.0, True, None])
def test_numbers_must_be_counts(value):
    with pytest.raises(ValueError, match=r"n_chains must be a positive integer"):
        GibbsSimulator(STAR, 2, value)
    with pytest.raises(ValueError, match=r"n_states must be an integer of at least 2"):
        GibbsSimulator(STAR, value, 10)
    with pytest.raises(ValueError, match=r"n_states must be at most 127, not 128"):
        GibbsSimulator(STAR, 128, 10)


def test_arrays_must_fit(case, rng):
    simulator, x, edge_tables, node_tables = case
    with pytest.raises(ValueError, match=r"x must be an int8 array of shape .*not int8 of shape"):
        simulator.sweep(x[:-1], edge_tables, node_tables, 1, rng)
    with pytest.raises(ValueError, match=r"x must be an int8 array .*not int64"):
        simulator.load(x.astype(np.int64))
    with pytest.raises(ValueError, match=r"edge_tables must have shape"):
        simulator.sweep(x, edge_tables[1:], node_tables, 1, rng)
    with pytest.raises(ValueError, match=r"node_tables must have shape"):
        simulator.sweep(x, edge_tables, node_tables[:, :1], 1, rng)
    with pytest.raises(ValueError, match=r"n_sweeps must be a non-negative integer, not -1"):
        simulator.sweep(x, edge_tables, node_tables, -1, rng)
