"""Exact maximum likelihood: moments match, enumeration agrees, errors are those of the Hessian."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pymc_mrf.estimation.exact import maximize_likelihood
from pymc_mrf.estimation.fit import fit
from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration

FAMILIES = [agreement(2), agreement(3), ISING, BOLTZMANN]
IDS = [f"{f.name}{f.n_states}" for f in FAMILIES]
LOOPY = PairwiseGraph(range(6), [(0, 1), (2, 1), (2, 0), (2, 3), (1, 3), (4, 5)])


def simulate(graph, family, n, rng, scale=0.5):
    eta, b = scale * rng.normal(size=graph.n_edges), scale * rng.normal(size=graph.n_nodes)
    field = PairwiseField(graph, family.edge_tables(eta), family.node_tables(b))
    return field.sample(n, rng=rng)


def enumerated_loss(x, graph, family, labels):
    """Minus the mean log-likelihood as a function of (eta, b), by listing configurations."""
    configs = enumeration.configurations(graph.n_nodes, family.n_states)

    def statistics(z):
        edge = np.zeros((len(z), labels.max() + 1))
        for e, (u, v) in enumerate(graph.edges):
            edge[:, labels[e]] += family.edge_statistic[z[:, u], z[:, v]]
        return edge if family.node_parameter is None else np.hstack([edge, family.node_statistic[z]])

    listed, target = statistics(configs), statistics(x).mean(axis=0)
    return lambda p: np.logaddexp.reduce(listed @ p) - p @ target, listed, target


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
@pytest.mark.parametrize("labels", [[0, 1, 2, 3, 4, 5], [0, 1, 0, 0, 1, 1]], ids=["free", "tied"])
def test_equals_maximum_by_enumeration(family, labels, rng):
    labels = np.array(labels)
    x = simulate(LOOPY, family, 300, rng)
    fit = maximize_likelihood(x, LOOPY, family, labels)
    loss, listed, target = enumerated_loss(x, LOOPY, family, labels)
    best = minimize(loss, np.zeros(len(target)), tol=1e-12)
    estimate = fit.eta if fit.b is None else np.concatenate([fit.eta, fit.b])
    np.testing.assert_allclose(estimate, best.x, atol=2e-4)  # scipy differentiates numerically
    assert fit.log_likelihood == pytest.approx(-300 * loss(estimate))
    p = np.exp(listed @ estimate - np.logaddexp.reduce(listed @ estimate))
    np.testing.assert_allclose(p @ listed, target, atol=1e-7)
    centred = listed - p @ listed
    error = np.sqrt(np.diag(np.linalg.inv(300 * (centred * p[:, None]).T @ centred)))
    stated = fit.eta_error if fit.b is None else np.concatenate([fit.eta_error, fit.b_error])
    np.testing.assert_allclose(stated, error, rtol=1e-5)
    assert fit.converged
    assert fit.moment_gap <= 1e-7


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("tied", [False, True])
def test_closed_form_on_a_forest_is_the_maximum(n_states, tied, rng):
    graph = PairwiseGraph(range(6), [(0, 1), (2, 1), (1, 3), (4, 5)])
    family = agreement(n_states)
    labels = np.array([0, 1, 0, 1]) if tied else np.arange(4)
    x = simulate(graph, family, 200, rng)
    fit = maximize_likelihood(x, graph, family, labels)
    assert fit.n_iterations == 0
    loss, listed, target = enumerated_loss(x, graph, family, labels)
    p = np.exp(listed @ fit.eta - np.logaddexp.reduce(listed @ fit.eta))
    np.testing.assert_allclose(p @ listed, target, atol=1e-12)
    assert fit.log_likelihood == pytest.approx(-200 * loss(fit.eta))
    np.testing.assert_allclose(fit.eta_error**-2, 200 * (p @ (listed - target) ** 2))


def test_a_tree_of_8191_nodes_takes_no_search(rng):
    graph = builders.binary_tree(12)
    x = rng.integers(0, 2, size=(50, graph.n_nodes)).astype(np.int8)
    fit = maximize_likelihood(x, graph, agreement(), np.zeros(graph.n_edges, dtype=np.int64))
    agree = (x[:, graph.edges[:, 0]] == x[:, graph.edges[:, 1]]).mean()
    assert fit.eta[0] == pytest.approx(np.log(agree / (1 - agree)))


def test_standard_errors_cover_the_truth(rng):
    graph = builders.grid(2, 3)
    eta, b = np.linspace(-0.6, 0.8, 7), np.linspace(-0.3, 0.3, 6)
    field = PairwiseField(graph, ISING.edge_tables(eta), ISING.node_tables(b))
    z = []
    for _ in range(60):
        fit = maximize_likelihood(field.sample(500, rng=rng), graph, ISING, np.arange(7))
        z.append(np.concatenate([(fit.eta - eta) / fit.eta_error, (fit.b - b) / fit.b_error]))
    z = np.array(z)  # (60, 13): columns nearly standard normal
    assert np.all(np.abs(z.mean(axis=0)) < 4.5 / np.sqrt(60) * 1.2)
    assert 0.85 < np.mean(z**2) < 1.2


def test_isolated_nodes_and_no_edges(rng):
    graph = PairwiseGraph("abc", [("a", "c")])
    x = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 1]], dtype=np.int8)
    fit = maximize_likelihood(x, graph, ISING, np.zeros(1, dtype=np.int64))
    mean = (2 * x - 1.0)[:, 1].mean()
    assert fit.b[1] == pytest.approx(np.arctanh(mean))
    alone = maximize_likelihood(x, PairwiseGraph("abc", []), ISING, np.zeros(0, dtype=np.int64))
    np.testing.assert_allclose(np.tanh(alone.b), (2 * x - 1.0).mean(axis=0), atol=1e-7)


def test_estimates_at_infinity_are_refused(rng):
    graph = PairwiseGraph("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    free = np.arange(3)
    x = rng.integers(0, 2, size=(100, 3)).astype(np.int8)
    implied = x[~((x[:, 0] == 0) & (x[:, 1] == 1))]  # one of four pairs of states never occurs
    with pytest.raises(ValueError, match=r"does not exist.*never occurs.*Bayesian prior"):
        maximize_likelihood(implied, graph, BOLTZMANN, free)
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
    direct = maximize_likelihood(ISING.encode(x, n_nodes=6), LOOPY, ISING, (groups == 5).astype(int))
    np.testing.assert_allclose(result.eta, direct.eta[(groups == 5).astype(int)])
    np.testing.assert_allclose(result.standard_error, direct.eta_error[(groups == 5).astype(int)])
    np.testing.assert_allclose(result.node_parameter, direct.b)
    np.testing.assert_allclose(result.node_standard_error, direct.b_error)
    assert result.moment_gap == direct.moment_gap


def test_a_wide_graph_is_refused(rng):
    graph = builders.complete(40)
    x = rng.integers(0, 2, size=(50, 40)).astype(np.int8)
    with pytest.raises(ValueError, match=r"width 39.*GB"):
        maximize_likelihood(x, graph, ISING, np.arange(graph.n_edges))
