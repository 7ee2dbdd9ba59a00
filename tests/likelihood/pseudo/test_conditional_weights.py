"""Weights of full conditionals: an edge or factor is counted once, and options that ask for another count."""

import networkx as nx
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.likelihood.pseudo.conditional_weights import graph_weights, variable_weights
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs

X = np.random.default_rng(1).integers(2, size=(20, 3))


def test_weights_of_nodes():
    graph = nx.path_graph(3)
    graph.add_node(3)
    np.testing.assert_array_equal(
        graph_weights(pmrf.PairwiseGraph(range(4), [(0, 1), (1, 2)]), 0.5), [0.5] * 3 + [1]
    )
    lagged = pmrf.LaggedGraph(range(4), [(0, 1), (3, 3)], (1,), [(2, 1)])
    np.testing.assert_array_equal(graph_weights(lagged, 0.5), [1.0, 0.5, 0.5, 1.0])


def test_factors_of_one_size_are_counted_once():
    for size in (2, 3, 4):
        scopes = [tuple((k + i) % 6 for i in range(size)) for k in range(6)] + [(0,)]
        weights = variable_weights(FactorGraph(scopes, [2] * 6), 0.5)
        for scope in scopes[:-1]:
            assert sum(weights[i] for i in scope) == pytest.approx(1.0)
    several = FactorGraph([(0, 1), (1, 2, 3), (4,)], [2] * 5)
    np.testing.assert_allclose(variable_weights(several, 0.5), [1 / 2, 5 / 12, 1 / 3, 1 / 3, 1.0])
    np.testing.assert_array_equal(variable_weights(several, 1.0), np.ones(5))


def test_near_independence_it_is_the_likelihood(rng):
    """Slope and curvature of the log density by a weight, at none, where nodes are in the middle."""
    x = np.concatenate([X, 1 - X])

    def derivatives(likelihood):
        with pm.Model() as model:
            w = pm.Flat("w", shape=3)
            pmrf.Ising("x", w, graph=nx.complete_graph(3), observed=2 * x - 1, likelihood=likelihood)
        slope, h = model.compile_dlogp(), 1e-4
        up, down = (slope({"w": s * h * np.eye(3)[0]}) for s in (1, -1))
        return slope({"w": np.zeros(3)}), (up[0] - down[0]) / (2 * h)

    (g, H), (exact_g, exact_H) = derivatives("pseudo"), derivatives("exact")
    np.testing.assert_allclose(g, exact_g)
    np.testing.assert_allclose(H, exact_H, rtol=1e-6)
    twice, _ = derivatives(pmrf.Pseudo(weight=1))
    np.testing.assert_allclose(twice, 2 * exact_g)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pmrf.Pseudo(weight=0), ValueError, "weight must be above 0 and at most 1, not 0"),
        (lambda: pmrf.Pseudo(weight=2.0), ValueError, "weight must be above 0 and at most 1, not 2.0"),
        (lambda: pmrf.Pseudo(weight="1"), TypeError, "weight must be a number, such as 1, not '1'"),
        (
            lambda: pmrf.Ising.dist(0.1, graph=nx.path_graph(2), likelihood=pmrf.Pseudo),
            TypeError,
            r"call it, likelihood=pymc_mrf.Pseudo\(weight=1\)",
        ),
    ],
)
def test_options_that_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_fields_of_one_vector_have_one_weight():
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        for name, likelihood in (("x", "pseudo"), ("y", pmrf.Pseudo(weight=1))):
            pmrf.Ising(name, w, graph=nx.complete_graph(3), observed=2 * X - 1, likelihood=likelihood)
        with pytest.raises(
            ValueError, match=r"feeds x \(weight 0.5\) and y \(weight 1\): declare them with"
        ):
            EdgeGibbs([w])
