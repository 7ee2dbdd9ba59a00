"""Group engine by a sample: the function that NUTS knows, one edge at a time, and its noise."""

import functools

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.edge_terms import (
    allocate_level_terms,
    allocate_terms,
    clear,
    log_likelihood,
    slope_and_information,
)
from pymc_mrf.kernels.groups.edgewise_groups import describe_edgewise, follow_edgewise
from pymc_mrf.likelihood.edges.edge_field import edge_field, features_at
from pymc_mrf.likelihood.monte_carlo.likelihood import log_partition_by_sample
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import MonteCarloGroups
from pymc_mrf.likelihood.monte_carlo.reference import Chains
from tests.reference import edge_views as reference

SQUARE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
ENTRIES = np.array([4, 1, 5, 0, 3])  # of 6 parameters
PLACE = np.array([0.5, 0.0, -0.3, 0.4, 0.1])
PRODUCT = np.array([[0.0, 0.0], [0.0, 1.0]])
# family, statistic that the entries multiply
CASES = {
    "agreement": (agreement(), np.eye(2)),
    "Ising": (ISING, np.eye(2)),
    "Boltzmann": (BOLTZMANN, PRODUCT),
    "Potts": (potts(3), np.eye(3)),
    "ordinal": (ordinal([3, 2, 3, 3]), np.outer(range(3), range(3))),
}


@functools.cache
def sampled(name, size=40_000):
    """A reference at weights `PLACE` and no biases, and data (40, 4) that did not come from there."""
    family, statistic = CASES[name]
    rng = np.random.default_rng(4)
    x = (rng.integers(6, size=(40, 4)) % family.possible(4).sum(axis=1)).astype(np.int8)
    x[:20, 1] = np.minimum(x[:20, 0], family.possible(4).sum(axis=1)[1] - 1)
    field, _ = edge_field(x, SQUARE, family, False, np.arange(5))
    scale = np.ptp(family.edge_statistic) / np.ptp(statistic)
    w, b = PLACE / scale, np.zeros(len(field.lift))
    chains = Chains(x, SQUARE, family, field, np.random.default_rng(0))
    return x, chains.at(w, b, np.r_[w, b], size, 20)


def make(name, x=None, biased=True, **options):
    family, _ = CASES[name]
    own, found = sampled(name, **options)
    biases = np.random.default_rng(1).normal(0, 0.3, (4, len(family.node_basis)))
    tables = np.where(family.possible(4), biased * (biases @ family.node_basis), -np.inf)
    arguments = own if x is None else x, SQUARE, family, tables, ENTRIES, 6
    return MonteCarloGroups(*arguments, reference=found)


def values_near(n=4, spread=0.2):
    """Parameters (n, 6) about those of the reference."""
    eta = np.zeros((n, 6))
    eta[:, ENTRIES] = PLACE
    return eta + spread * np.random.default_rng(2).normal(size=(n, 6))


@pytest.mark.parametrize("name", CASES)
def test_log_likelihood_and_gradient(name):
    """Those of the field, but for the error of the sample, and each other's."""
    engine = make(name)
    exact = functools.partial(reference.log_likelihood, engine.x, SQUARE.edges)
    statistic, gaps, slopes = (engine.statistic, engine.node_tables), [], []
    for eta in values_near():
        value, gradient = engine.log_likelihood(eta)
        gaps.append(value - exact(eta[ENTRIES], *statistic))
        steps = 0.02 * np.eye(6)
        own = [engine.log_likelihood(eta + h)[0] - engine.log_likelihood(eta - h)[0] for h in steps]
        np.testing.assert_allclose(gradient, np.array(own) / 0.04, atol=0.02)
        numeric = [
            exact((eta + h)[ENTRIES], *statistic) - exact((eta - h)[ENTRIES], *statistic) for h in steps
        ]
        slopes.append(gradient - np.array(numeric) / 0.04)
        assert gradient[2] == 0.0  # an entry that is no edge
    assert np.ptp(gaps) < 0.1 and np.abs(slopes).max() < 0.1 * np.ptp(engine.levels)
    # negative control: the cumulants of the longer simulation are others
    engine.view(eta).edges.sample.gap[:5] += 0.1
    assert np.abs(engine.log_likelihood(eta)[1] - gradient).max() > 1.0


@pytest.mark.parametrize("name", ["agreement", "Boltzmann", "ordinal"])
@pytest.mark.parametrize("far", [False, True])
def test_one_edge_at_a_time(name, far):
    """As the joint log-likelihood, within the limits of the cumulants and beyond; changes are followed."""
    engine = make(name)
    eta = values_near(spread=2.0 if far else 0.3)[0]
    view = engine.view(eta)
    assert np.any(view.edges.at.bounded != view.edges.at.delta) == far
    terms = allocate_terms(1) if engine.is_binary else allocate_level_terms(1, engine.n_levels)
    grid = eta + np.array([-3.0, -0.4, 0.0, 0.3, 4.0])[:, None] / np.ptp(engine.levels)
    # the second change ends beyond the limits, too
    for edge, value in ((0, -0.3), (4, 4.0 if far else 1.0), (2, 0.2), (0, 0.4)):
        for e in ENTRIES:
            clear(terms)
            describe_edgewise(view, e, eta[e], terms)
            got = np.array([log_likelihood(terms, moved) for moved in grid[:, e]])
            assert got[2] == pytest.approx(log_likelihood(terms, eta[e]))
            expected = np.empty(len(grid))
            fresh = make(name)
            for k, moved in enumerate(grid[:, e]):
                there = eta.copy()
                there[e] = moved
                edges = fresh.view(there).edges
                expected[k] = there[ENTRIES] @ fresh.s - fresh.n * edges.at.log_A[0]
            np.testing.assert_allclose(got - got[2], expected - expected[2], atol=2e-3, rtol=2e-4)
            h = 1e-3
            slope, _ = slope_and_information(terms, eta[e])
            numeric = log_likelihood(terms, eta[e] + h) - log_likelihood(terms, eta[e] - h)
            assert slope == pytest.approx(numeric / (2 * h), abs=1e-3)
        e = ENTRIES[edge]
        clear(terms)
        describe_edgewise(view, e, eta[e], terms)
        assert not follow_edgewise(view, e, eta[e], value)
        assert (view.edges.at.bounded[edge] != view.edges.at.delta[edge]) == (far and edge == 4)
        eta[e] = value
        grid[:, e] += value - grid[2, e]
    clear(terms)
    describe_edgewise(view, 2, 0.3, terms)  # an entry that is no edge of this field
    assert terms.size[0] == 0 and terms.total[0] == 0.0
    assert not follow_edgewise(view, 2, 0.3, 5.0)


@pytest.mark.parametrize("name", ["agreement", "ordinal"])
def test_levels_that_no_point_has(name):
    """They are possible all the same: the likelihood is finite; what a node lacks stays impossible."""
    engine = make(name)
    edges = engine.view(np.zeros(6)).edges
    states = edges.sample.states
    states[:] = states[0]  # all nodes alike
    states[1] = np.minimum(states[1], engine.node_tables[1].argmin() - 1 if name == "ordinal" else 1)
    edges.sample.features[:] = features_at(edges.field.features, states).swapaxes(0, 1)
    view = engine.view(np.zeros(6))
    terms = allocate_terms(1) if engine.is_binary else allocate_level_terms(1, engine.n_levels)
    for e in ENTRIES:
        clear(terms)
        describe_edgewise(view, e, 0.0, terms)
        assert np.all(np.isfinite([log_likelihood(terms, x) for x in (-30.0, 0.0, 30.0)]))
    if name == "ordinal":  # edge (0, 1): node 1 has two states, and 4 is 2 times 2
        clear(terms)
        describe_edgewise(view, ENTRIES[0], 0.0, terms)
        assert terms.lam[np.flatnonzero(engine.levels == 4.0)[0], 0] == -np.inf


@pytest.mark.parametrize("others", [0, 3])
@pytest.mark.parametrize("name", ["agreement", "ordinal"])
def test_terms_do_not_depend_on_the_present_value(name, others):
    """Though few points of the sample have some levels, or none: moves back find the same density."""
    engine = make(name)
    edges, e = engine.view(np.zeros(6)).edges, ENTRIES[0]
    states = edges.sample.states
    states[:, others:] = np.minimum(states[0, others:], 1)  # products are 0 and 1, and all nodes agree
    edges.sample.features[:] = features_at(edges.field.features, states).swapaxes(0, 1)
    terms = allocate_terms(1) if engine.is_binary else allocate_level_terms(1, engine.n_levels)
    grid, found = np.linspace(-8.0, 8.0, 9), []
    for x in (-6.0, 0.0, 6.0):
        eta = np.zeros(6)
        eta[e] = x
        clear(terms)
        describe_edgewise(engine.view(eta), e, x, terms)
        found.append([log_likelihood(terms, moved) for moved in grid])
    found = np.array(found)
    found -= found[:, [4]]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found[2], found[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["ordinal"])
def test_the_same_function_as_that_of_nuts(name):
    """With node parameters beside."""
    family, _ = CASES[name]
    engine, (_, found) = make(name), sampled(name)
    view, gaps = engine.view(np.zeros(6)), []
    for eta in values_near(spread=1.0):
        engine.log_likelihood(eta)
        natural = np.concatenate([view.edges.w, view.edges.beta])
        gaps.append(
            view.edges.at.log_A[0] - log_partition_by_sample(SQUARE, family, found, natural).eval()
        )
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-4)


def test_other_data_and_node_tables_are_taken(rng):
    engine, [eta] = make("ordinal"), values_near(1)
    other = np.minimum(rng.integers(3, size=engine.x.shape), [2, 1, 2, 2]).astype(np.int8)
    fresh, before = make("ordinal", other), engine.log_likelihood(eta)[0]
    engine.set_data(other)
    for found, expected in zip(engine.log_likelihood(eta), fresh.log_likelihood(eta), strict=True):
        np.testing.assert_allclose(found, expected)
    assert engine.log_likelihood(eta)[0] != before
    plain = make("ordinal", other, biased=False)
    engine.set_node_tables(plain.node_tables)
    assert engine.log_likelihood(eta)[0] == pytest.approx(plain.log_likelihood(eta)[0])
    assert abs(engine.log_likelihood(eta)[0] - fresh.log_likelihood(eta)[0]) > 0.1


def test_curvature(rng):
    """Minus the derivative of the gradient by group values, at what was learnt."""
    engine = make("Boltzmann")
    labels, values = np.array([0, 1, 0, 2, 1, 0]), np.array([0.3, -0.1, 0.5])
    engine.learn(values[labels], rng)
    grouped, h = engine.grouped(labels, values), 0.05
    expected = [
        -(grouped(values + h * e)[1] - grouped(values - h * e)[1]) / (2.0 * h) for e in np.eye(3)
    ]
    np.testing.assert_allclose(engine.information(labels, 3), expected, atol=3.0)
    assert np.trace(expected) > 20.0


@pytest.mark.parametrize("name", ["agreement", "Boltzmann"])
def test_noise_is_that_between_samples(name):
    """Root mean square over independent samples of what is estimated from the halves of each."""
    labels, values, n = np.array([0, 1, 0, 2, 1, 0]), np.array([0.7, -0.3, 0.0]), 40
    family, _ = CASES[name]
    x, _ = sampled(name)
    field, _ = edge_field(x, SQUARE, family, False, np.arange(5))
    noises, slopes = [], []
    for seed in range(30):
        chains = Chains(x, SQUARE, family, field, np.random.default_rng(seed))
        w, b = PLACE, np.zeros(len(field.lift))
        found = chains.at(w, b, np.r_[w, b], 1000, 4)
        arguments = x, SQUARE, family, np.zeros((4, 2)), ENTRIES, 6
        engine = MonteCarloGroups(*arguments, reference=found)
        engine.learn(values[labels], np.random.default_rng(seed))
        noises.append(engine.noise(labels, values))
        edges = engine.log_likelihood(values[labels])[1][ENTRIES]
        groups = np.bincount(labels[ENTRIES], edges, 3)
        edge_scale = np.sqrt(n * found.variances[:5])
        group_scale = np.sqrt(engine.information(labels, 3).diagonal())
        slopes.append([edges / edge_scale, np.resize(groups / group_scale, 5)])
    between = np.var(slopes, axis=0)
    expected = np.sqrt(max(between[0].mean(), between[1, :3].mean()))
    assert np.sqrt(np.mean(np.square(noises))) == pytest.approx(expected, rel=0.35)
