"""Auxiliary data sets: exact draws and Gibbs draws against enumeration, choice of the method."""

from functools import partial

import cloudpickle
import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from tests.reference import enumeration
from tests.statistics import ALPHA, assert_frequencies, chi_square_pvalue

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]
GRAPH = PairwiseGraph(range(4), EDGES)


def tables(n_states, rng):
    return rng.normal(0, 0.8, (4, n_states, n_states)), rng.normal(0, 0.4, (4, n_states))


def counts(x, n_states):
    return np.bincount(enumeration.configuration_index(x, n_states), minlength=n_states**4)


@pytest.mark.parametrize("method", ["exact", "gibbs"])
@pytest.mark.parametrize("n_states", [2, 3])
def test_draws_follow_the_field(method, n_states, rng):
    sampler = AuxiliarySampler(GRAPH, n_states, 20_000, draws=method, n_sweeps=40)
    edge_tables, node_tables = tables(n_states, rng)
    p = enumeration.probabilities(EDGES, edge_tables, node_tables)
    x = sampler.draw(edge_tables, node_tables, rng)
    assert x.shape == (20_000, 4)
    assert x.dtype == np.int8
    assert_frequencies(counts(x, n_states), p)
    # another field, by the same object
    edge_tables, node_tables = tables(n_states, rng)
    x = sampler.draw(edge_tables, node_tables, rng)
    assert_frequencies(counts(x, n_states), enumeration.probabilities(EDGES, edge_tables, node_tables))
    assert chi_square_pvalue(counts(x, n_states), p) < ALPHA


@pytest.mark.parametrize("n_states", [2, 3])
def test_tree_draws_of_few_rows_follow_the_field(n_states, rng):
    sampler = AuxiliarySampler(GRAPH, n_states, 16, draws="gibbs", n_sweeps=20)
    assert sampler.trees
    expected = []
    for _ in range(2):  # two fields by the same object
        field = tables(n_states, rng)
        p = enumeration.probabilities(EDGES, *field)
        start = np.zeros((16, 4), dtype=np.int8)
        x = np.concatenate([sampler.draw(*field, rng, start=start) for _ in range(1000)])
        assert not start.any()
        assert_frequencies(counts(x, n_states), p)
        expected.append(p)
    assert chi_square_pvalue(counts(x, n_states), expected[0]) < ALPHA  # negative control


def test_one_tree_sweep_does_not_forget_a_frozen_start(rng):
    field = 3.0 * np.eye(2) * np.ones((4, 1, 1)), np.zeros((4, 2))
    p = enumeration.probabilities(EDGES, *field)
    start = np.zeros((16, 4), dtype=np.int8)
    sampler = AuxiliarySampler(GRAPH, 2, 16, draws="gibbs", n_sweeps=1)
    x = np.concatenate([sampler.draw(*field, rng, start=start) for _ in range(200)])
    assert chi_square_pvalue(counts(x, 2), p) < ALPHA


@pytest.mark.parametrize("turned", [[0, 0, 0, 0], [0, 1, 1, 0]])
def test_clusters_forget_a_frozen_start(rng, turned):
    """Of one row, in which trees alone keep it; an external field included, couplings of both signs too."""
    start, (u, v) = np.array([turned], dtype=np.int8), np.transpose(EDGES)
    coupling = np.where(start[0, u] == start[0, v], 5.0, -5.0)
    edge_tables, node_tables = coupling[:, None, None] * np.eye(2), rng.normal(0, 0.3, (4, 2))
    p = enumeration.probabilities(EDGES, edge_tables, node_tables)
    sampler = AuxiliarySampler(GRAPH, 2, 1, draws="gibbs", n_sweeps=6)

    def p_value():
        draws = [sampler.draw(edge_tables, node_tables, rng, start=start) for _ in range(2000)]
        return chi_square_pvalue(counts(np.concatenate(draws), 2), p)

    assert p_value() > ALPHA
    sampler.clusters = False
    assert p_value() < ALPHA


@pytest.mark.parametrize("tables", ["weak", "repulsive", "not agreement"])
def test_clusters_are_for_attractive_couplings_that_are_not_weak(rng, tables):
    """Elsewhere the draws are those of trees, random numbers and all."""
    edge_tables = {
        "weak": 0.3 * np.eye(2) * np.ones((4, 1, 1)),
        "repulsive": -2.0 * np.eye(2) * np.ones((4, 1, 1)),
        "not agreement": rng.normal(size=(4, 2, 2)),
    }[tables]
    sampler = AuxiliarySampler(GRAPH, 2, 1, draws="gibbs", n_sweeps=4)
    assert sampler.clusters
    draw = partial(sampler.draw, edge_tables, np.zeros((4, 2)))
    first = [draw(np.random.default_rng(seed)) for seed in range(10)]
    sampler.clusters = False
    np.testing.assert_array_equal(first, [draw(np.random.default_rng(seed)) for seed in range(10)])


@pytest.mark.parametrize(
    ("n", "degree", "trees"), [(1, 4, True), (16, 16, True), (17, 4, False), (1, 18, False)]
)
def test_few_rows_of_sparse_graphs_are_drawn_by_trees(n, degree, trees):
    graph = PairwiseGraph.from_networkx(nx.random_regular_graph(degree, 60, seed=1))
    assert AuxiliarySampler(graph, 2, n, draws="gibbs").trees == trees
    assert not AuxiliarySampler(GRAPH, 2, n).trees  # exact


def test_gibbs_draws_start_where_they_are_told(rng):
    edge_tables = np.zeros((4, 2, 2))
    node_tables = np.zeros((4, 2))
    edge_tables[:] = 8.0 * np.eye(2)  # almost frozen: one sweep does not leave the start
    start = np.repeat([[0], [1]], 50, axis=0) * np.ones(4, dtype=np.int8)
    start = start.astype(np.int8)
    copy = start.copy()
    sampler = AuxiliarySampler(GRAPH, 2, 100, draws="gibbs", n_sweeps=1)
    x = sampler.draw(edge_tables, node_tables, rng, start=start)
    np.testing.assert_array_equal(start, copy)
    assert (x == start).mean() > 0.95
    exact = AuxiliarySampler(GRAPH, 2, 100).draw(edge_tables, node_tables, rng, start=start)
    assert 0.2 < (exact == start).mean() < 0.8


def test_the_best_available_method_is_chosen_and_named():
    small = AuxiliarySampler(GRAPH, 2, 5)
    assert (small.draws, small.n_sweeps) == ("exact", 0)
    wide = PairwiseGraph.from_networkx(nx.complete_graph(24))
    sampler = AuxiliarySampler(wide, 2, 5, n_sweeps=7)
    assert (sampler.draws, sampler.n_sweeps) == ("gibbs", 7)
    forced = AuxiliarySampler(GRAPH, 2, 5, draws="gibbs", n_sweeps=3)
    assert (forced.draws, forced.n_sweeps) == ("gibbs", 3)


def test_perfect_draws_need_attractive_couplings(rng):
    sampler = AuxiliarySampler(GRAPH, 2, 20_000, draws="perfect", name="x")
    assert (sampler.draws, sampler.n_sweeps) == ("perfect", 0)
    edge_tables = np.array([0.3, 0.8, 0.5, 0.4])[:, None, None] * np.eye(2)
    node_tables = rng.normal(0, 0.4, (4, 2))
    x = sampler.draw(edge_tables, node_tables, rng)
    assert_frequencies(counts(x, 2), enumeration.probabilities(EDGES, edge_tables, node_tables))
    with pytest.raises(
        ValueError,
        match=r'draws="perfect" does not serve x: the couplings are frustr.*; use draws="gibbs"$',
    ):
        sampler.draw(-edge_tables, node_tables, rng)
    with pytest.raises(RuntimeError, match=r'proposed for x are too strong .*; use draws="gibbs"$'):
        sampler.draw(40 * edge_tables, node_tables, rng)
    with pytest.raises(
        ValueError, match='draws="perfect" is for binary fields, but x has 3 states; use draws="gibbs"'
    ):
        AuxiliarySampler(GRAPH, 3, 5, draws="perfect", name="x")


def test_pickling_keeps_the_draws(rng):
    for method in ("exact", "perfect", "gibbs"):
        sampler = AuxiliarySampler(GRAPH, 2, 10, draws=method, n_sweeps=3)
        other = cloudpickle.loads(cloudpickle.dumps(sampler))
        arguments = np.abs(rng.normal(size=4))[:, None, None] * np.eye(2), rng.normal(size=(4, 2))
        first = sampler.draw(*arguments, np.random.default_rng(1))
        np.testing.assert_array_equal(first, other.draw(*arguments, np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": "swendsen"}, "draws must be one of \"auto\", .* not 'swendsen'"),
        ({"n_sweeps": 0}, "n_sweeps must be a positive integer, not 0"),
        ({"n_sweeps": True}, "n_sweeps must be a positive integer, not True"),
    ],
)
def test_bad_options_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AuxiliarySampler(GRAPH, 2, 5, **arguments)


def test_exact_draws_from_too_wide_a_tree_are_refused():
    wide = PairwiseGraph.from_networkx(nx.complete_graph(40))
    with pytest.raises(ValueError, match=r'a junction tree of width 39.*; use draws="gibbs" instead'):
        AuxiliarySampler(wide, 2, 5, draws="exact")
