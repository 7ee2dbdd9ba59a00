"""Exact maximum likelihood: moments match, enumeration agrees, errors are those of the Hessian."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from pymc_mrf.estimation.point_estimates import fit, maximize_likelihood
from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement, ordinal
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import maximum_likelihood as naive

FAMILIES = {
    "agreement2": agreement(2),
    "agreement3": agreement(3),
    "ising": ISING,
    "boltzmann": BOLTZMANN,
    "ordinal3": ordinal(3),
    "ordinal, own states": ordinal([3, 2, 4, 2, 3, 2]),
    "ordinal, scores": ordinal(3, [-1.0, 0.5, 1.0]),
}
LOOPY = PairwiseGraph(range(6), [(0, 1), (2, 1), (2, 0), (2, 3), (1, 3), (4, 5)])


def simulate(graph, family, n, rng, scale=0.5):
    eta = scale * rng.normal(size=graph.n_edges)
    b = scale * rng.normal(size=(graph.n_nodes, max(len(family.node_basis), 1)))
    b = b if family.node_axes else b[:, 0]
    field = PairwiseField(graph, family.edge_tables(eta), family.node_tables(b))
    return field.sample(n, rng=rng)


def maximize(x, graph, family, labels):
    labels = np.array(labels, dtype=np.int64)
    return maximize_likelihood(FitProblem(x, graph, family, labels, labels))


def enumerated_loss(x, graph, family, labels):
    """Minus the mean log-likelihood as a function of the parameters, by listing configurations."""
    g = None if family.node_parameter is None else family.node_basis
    cards = family.cards or [family.n_states] * graph.n_nodes
    states = np.array(list(itertools.product(*map(range, cards))))
    listed, observed = (
        naive.statistics(z, graph.edges, family.edge_statistic, g, labels, family.cards or None)
        for z in (states, x)
    )
    target = observed.mean(axis=0)
    return lambda p: np.logaddexp.reduce(listed @ p) - p @ target, listed, target


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4, 5], [0, 1, 0, 0, 1, 1]], ids=["free", "tied"])
def test_equals_maximum_by_enumeration(family, labels, rng):
    labels = np.array(labels)
    x = simulate(LOOPY, family, 300, rng)
    fit = maximize(x, LOOPY, family, labels)
    loss, listed, target = enumerated_loss(x, LOOPY, family, labels)
    estimate = fit.parameters
    best = minimize(loss, np.zeros(len(target)), tol=1e-12)
    np.testing.assert_allclose(estimate, best.x, atol=2e-4)  # scipy differentiates numerically
    assert fit.log_likelihood == pytest.approx(-300 * loss(estimate))
    p = np.exp(listed @ estimate - np.logaddexp.reduce(listed @ estimate))
    np.testing.assert_allclose(p @ listed, target, atol=1e-7)
    centred = listed - p @ listed
    error = np.sqrt(np.diag(np.linalg.inv(300 * (centred * p[:, None]).T @ centred)))
    np.testing.assert_allclose(fit.standard_error, error, rtol=1e-5)
    assert fit.converged
    assert fit.moment_gap <= 1e-7


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("tied", [False, True])
def test_closed_form_on_a_forest_is_the_maximum(n_states, tied, rng):
    graph = PairwiseGraph(range(6), [(0, 1), (2, 1), (1, 3), (4, 5)])
    family = agreement(n_states)
    labels = np.array([0, 1, 0, 1]) if tied else np.arange(4)
    x = simulate(graph, family, 200, rng)
    fit = maximize(x, graph, family, labels)
    assert fit.n_iterations == 0
    loss, listed, target = enumerated_loss(x, graph, family, labels)
    p = np.exp(listed @ fit.parameters - np.logaddexp.reduce(listed @ fit.parameters))
    np.testing.assert_allclose(p @ listed, target, atol=1e-12)
    assert fit.log_likelihood == pytest.approx(-200 * loss(fit.parameters))
    np.testing.assert_allclose(fit.standard_error**-2, 200 * (p @ (listed - target) ** 2))


def test_a_tree_of_8191_nodes_takes_no_search(rng):
    graph = builders.binary_tree(12)
    x = rng.integers(0, 2, size=(50, graph.n_nodes)).astype(np.int8)
    fit = maximize(x, graph, agreement(), np.zeros(graph.n_edges))
    agree = (x[:, graph.edges[:, 0]] == x[:, graph.edges[:, 1]]).mean()
    assert fit.parameters[0] == pytest.approx(np.log(agree / (1 - agree)))


def test_standard_errors_cover_the_truth(rng):
    graph = builders.grid(2, 3)
    eta, b = np.linspace(-0.6, 0.8, 7), np.linspace(-0.3, 0.3, 6)
    field = PairwiseField(graph, ISING.edge_tables(eta), ISING.node_tables(b))
    z = []
    for _ in range(60):
        fit = maximize(field.sample(500, rng=rng), graph, ISING, np.arange(7))
        z.append((fit.parameters - np.concatenate([eta, b])) / fit.standard_error)
    z = np.array(z)  # (60, 13): columns nearly standard normal
    assert np.all(np.abs(z.mean(axis=0)) < 4.5 / np.sqrt(60) * 1.2)
    assert 0.85 < np.mean(z**2) < 1.2


def test_an_isolated_node_has_the_bias_of_its_mean():
    graph = PairwiseGraph("abc", [("a", "c")])
    x = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1]], dtype=np.int8)
    fit = maximize(x, graph, ISING, [0])
    mean = (2 * x - 1.0)[:, 1].mean()
    assert fit.parameters[2] == pytest.approx(np.arctanh(mean))  # one edge, then node b


def test_estimates_at_infinity_are_refused(rng):
    graph = PairwiseGraph("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    free = np.arange(3)
    x = rng.integers(0, 2, size=(100, 3)).astype(np.int8)
    implied = x[~((x[:, 0] == 0) & (x[:, 1] == 1))]  # one of four pairs of states never occurs
    with pytest.raises(ValueError, match=r"does not exist.*never occurs.*Bayesian prior"):
        maximize(implied, graph, BOLTZMANN, free)
    with pytest.raises(ValueError, match=r"does not exist.*never occurs.*Bayesian prior"):
        fit(implied, graph, "exact", "boltzmann")
    agreeing = x.copy()
    agreeing[:, 1] = agreeing[:, 0]
    with pytest.raises(ValueError, match=r"edge a--b"):
        fit(agreeing, graph, "exact")
    assert fit(agreeing, graph, "exact", groups=[0, 0, 0]).converged


def test_fit_hands_the_estimate_over(rng):
    x = 2 * simulate(LOOPY, ISING, 200, rng).astype(int) - 1
    groups = np.array([5, 5, 2, 2, 5, 2])
    result = fit(x, LOOPY, "exact", "ising", groups=groups)
    labels = (groups == 5).astype(int)
    direct = maximize(ISING.encode(x, n_nodes=6), LOOPY, ISING, labels)
    np.testing.assert_allclose(result.eta, direct.parameters[labels])
    np.testing.assert_allclose(result.standard_error, direct.standard_error[labels])
    np.testing.assert_allclose(result.node_parameter, direct.parameters[2:])
    np.testing.assert_allclose(result.node_standard_error, direct.standard_error[2:])
    assert result.moment_gap == direct.moment_gap


def test_thresholds_are_laid_out_by_node_and_state(rng):
    cards = [3, 2, 4, 2, 3, 2]
    x = simulate(LOOPY, ordinal(cards), 300, rng)
    groups = np.array([0, 1, 0, 0, 1, 1])
    result = fit(x, LOOPY, "exact", "ordinal", groups=groups, n_states=cards)
    direct = maximize(x, LOOPY, ordinal(cards), groups)
    assert result.node_parameter.shape == result.node_standard_error.shape == (6, 3)
    at = 2
    for i, card in enumerate(cards):
        for values, all_values in (
            (result.node_parameter, direct.parameters),
            (result.node_standard_error, direct.standard_error),
        ):
            np.testing.assert_allclose(values[i, : card - 1], all_values[at : at + card - 1])
            assert np.isnan(values[i, card - 1 :]).all()
        at += card - 1
    np.testing.assert_allclose(result.eta, direct.parameters[groups])
    assert np.isfinite(result.log_pseudo_likelihood)


def test_two_ordinal_states_are_a_boltzmann_machine(rng):
    x = simulate(LOOPY, BOLTZMANN, 200, rng)
    ordinal_fit, boltzmann = (fit(x, LOOPY, "exact", name) for name in ("ordinal", "boltzmann"))
    np.testing.assert_allclose(ordinal_fit.eta, boltzmann.eta, atol=1e-9)
    np.testing.assert_allclose(ordinal_fit.node_parameter[:, 0], boltzmann.node_parameter, atol=1e-9)
    np.testing.assert_allclose(ordinal_fit.standard_error, boltzmann.standard_error, atol=1e-9)


def test_a_wide_graph_is_refused(rng):
    graph = builders.complete(40)
    x = rng.integers(0, 2, size=(50, 40)).astype(np.int8)
    with pytest.raises(ValueError, match=r"width 39.*GB"):
        maximize(x, graph, ISING, np.arange(graph.n_edges))
