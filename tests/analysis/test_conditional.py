import networkx as nx
import numpy as np
import pytest
import xarray as xr

from pymc_mrf.analysis.conditional import (
    conditional_log_likelihood,
    log_predictive,
    log_pseudo_likelihood,
)
from pymc_mrf.graph.structure import as_graph
from tests.analysis.posteriors import as_posterior
from tests.reference.conditional_likelihood import log_conditional
from tests.reference.enumeration import configuration_index, probabilities

GRAPH = as_graph(nx.Graph([("a", "b"), ("c", "b"), ("c", "a"), ("c", "d"), ("e", "d"), ("e", "a")]))
GROUPS = [["a"], ["d", "b"], ["e", "a", "c"], list("cabed")]


def spin_tables(eta, bias, states):
    s = np.array(states, float)
    return eta[:, None, None] * np.outer(s, s), bias[:, None] * s


@pytest.mark.parametrize("members", GROUPS, ids=len)
@pytest.mark.parametrize(("family", "states"), [("ising", (-1, 1)), ("boltzmann", (0, 1))])
def test_draws_equal_reference(rng, family, states, members):
    eta, bias = rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 3, 5))
    z = rng.integers(0, 2, (7, 5))
    tree = as_posterior(eta, edges=GRAPH.edge_labels, bias=bias)
    x = np.array(states)[z]
    options = {"family": family, "node": "bias"}
    rows = conditional_log_likelihood(x, GRAPH, tree, members, per_observation=True, **options)
    assert rows.dims == ("chain", "draw", "obs")
    indices = [GRAPH.nodes.index(label) for label in members]
    tables = spin_tables(eta[1, 2], bias[1, 2], states)
    np.testing.assert_allclose(rows[1, 2], log_conditional(z, indices, GRAPH.edges, *tables))
    total = conditional_log_likelihood(x, GRAPH, tree, members, **options)
    assert total.name == "conditional_log_likelihood"
    np.testing.assert_allclose(total, rows.sum("obs"))


@pytest.mark.parametrize("members", GROUPS, ids=len)
def test_more_states(rng, members):
    theta, z = rng.uniform(0.1, 0.9, 6), rng.integers(0, 3, (4, 5))
    same = np.eye(3, dtype=bool)
    tables = np.array([np.where(same, np.log(t), np.log(1 - t)) for t in theta])
    indices = [GRAPH.nodes.index(label) for label in members]
    rows = conditional_log_likelihood(z, GRAPH, theta, members, n_states=3, per_observation=True)
    expected = log_conditional(z, indices, GRAPH.edges, tables, np.zeros((5, 3)))
    np.testing.assert_allclose(rows, expected)


def test_all_nodes_give_the_likelihood_and_single_nodes_the_pseudo_likelihood(rng):
    w, b = rng.normal(size=6), rng.normal(size=5)
    x = rng.integers(0, 2, (6, 5))
    options = {"family": "boltzmann", "node": b, "per_observation": True}
    p = probabilities(GRAPH.edges, *spin_tables(w, b, (0, 1)))
    everything = conditional_log_likelihood(x, GRAPH, w, GRAPH.nodes, **options)
    np.testing.assert_allclose(everything, np.log(p[configuration_index(x, 2)]))
    alone = sum(conditional_log_likelihood(x, GRAPH, w, [i], **options) for i in GRAPH.nodes)
    np.testing.assert_allclose(alone, log_pseudo_likelihood(x, GRAPH, w, **options))


@pytest.mark.parametrize("is_own", [False, True], ids=["of all", "of each node"])
def test_scores_of_an_ordinal_family(rng, is_own):
    """Of one node, and the pseudo-likelihood, against the tables; other scores give something else."""
    w, b = rng.normal(size=6), rng.normal(size=(5, 2))
    of_each = np.array([-1.0, 0.5, 2.0]) * (1.0 + 0.3 * is_own * np.arange(5)[:, None])
    scores = of_each if is_own else of_each[0]
    x, nodes = rng.integers(0, 3, (4, 5)), np.column_stack([np.zeros(5), b])
    options = {"family": "ordinal", "n_states": 3, "node": b, "per_observation": True}
    tables = [w[e] * np.outer(of_each[u], of_each[v]) for e, (u, v) in enumerate(GRAPH.edges)]
    expected = [log_conditional(x, [i], GRAPH.edges, tables, nodes) for i in range(5)]
    rows = conditional_log_likelihood(x, GRAPH, w, ["a"], scores=scores, **options)
    np.testing.assert_allclose(rows, expected[GRAPH.nodes.index("a")])
    whole = log_pseudo_likelihood(x, GRAPH, w, scores=scores, **options)
    np.testing.assert_allclose(whole, sum(expected))
    assert np.abs(whole - log_pseudo_likelihood(x, GRAPH, w, **options)).max() > 0.1
    with pytest.raises(ValueError, match=r"scores=\[0, 1\] are those of ordered states"):
        log_pseudo_likelihood(x % 2, GRAPH, w, family="boltzmann", scores=[0, 1])


def test_strong_couplings_do_not_overflow(rng):
    """Scores between -6000 and 6000: a chain of equal signs, where only two states count."""
    chain = nx.path_graph(12)
    x = np.ones((2, 12), dtype=int)
    x[1, 5:] = -1
    options = {"family": "ising", "per_observation": True}
    rows = conditional_log_likelihood(x, chain, np.full(11, 500.0), range(12), **options)
    np.testing.assert_allclose(rows, [-np.log(2), -np.log(2) - 1000.0])


def test_log_predictive_averages_probabilities(rng):
    tree = as_posterior(rng.normal(size=(2, 5, 6)))
    x = rng.integers(0, 2, (3, 5))
    rows = conditional_log_likelihood(
        x, GRAPH, tree, ["a", "b"], family="boltzmann", per_observation=True
    )
    bayes = log_predictive(rows)
    assert bayes.dims == ("obs",)
    np.testing.assert_allclose(bayes, np.log(np.exp(rows.values).mean(axis=(0, 1))))
    assert np.all(bayes >= rows.mean(("chain", "draw")))  # Jensen
    np.testing.assert_allclose(log_predictive(rows - 5000.0), bayes - 5000.0)
    with pytest.raises(ValueError, match="log_likelihood is without 'chain' and 'draw'"):
        log_predictive(bayes)
    with pytest.raises(TypeError, match=r"must be an xarray\.DataArray, not ndarray"):
        log_predictive(rows.values)


def test_bad_groups_are_named(rng):
    x, theta = rng.integers(0, 2, (3, 5)), np.full(6, 0.5)
    for members, error, message in [
        ([], ValueError, "group_of_nodes is empty"),
        ("abc", TypeError, "must be a sequence of node labels, such as a list of one, not 'abc'"),
        (3, TypeError, "must be a sequence of node labels, such as a list of one, not 3"),
        (["a", "f"], ValueError, "names 'f', which is not a node"),
        (["a", "b", "a"], ValueError, "names 'a' twice"),
    ]:
        with pytest.raises(error, match=message):
            conditional_log_likelihood(x, GRAPH, theta, members)
    big = nx.path_graph(13)
    zeros = np.zeros((1, 13), int)
    with pytest.raises(ValueError, match=r"13 nodes and 8192 states; .* limited to 12 nodes"):
        conditional_log_likelihood(zeros, big, np.full(12, 0.5), range(13))
    with pytest.raises(ValueError, match=r"12 nodes and 16777216 states"):
        conditional_log_likelihood(zeros, big, np.full(12, 0.5), range(12), n_states=4)
    with pytest.raises(ValueError, match="node does not apply"):
        conditional_log_likelihood(x, GRAPH, theta, ["a"], node=0.0)
    with pytest.raises(ValueError, match="parameters has 5 values along 'edge' but the graph has 6"):
        conditional_log_likelihood(x, GRAPH, xr.DataArray(theta[:5], dims="edge"), ["a"])
