"""L1 networks with the extended BIC: a general optimiser, the published definition, refused input."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import pymc_mrf as pmrf
from tests.reference.elasso import elasso as reference

COMPLETE = pmrf.graphs.complete(5)


def simulated(n, d, rng):
    """Rows of a field of which every fourth pair is an edge, and its weights."""
    graph = pmrf.graphs.complete(d)
    weight = np.where(np.arange(graph.n_edges) % 4 == 0, 1.3, 0.0)
    node = np.c_[np.zeros(d), np.full(d, -0.5)]
    field = pmrf.PairwiseField(graph, weight[:, None, None] * np.array([[0, 0], [0, 1]]), node)
    return field.sample(n, method="exact", rng=rng), weight


@pytest.fixture(scope="module")
def x():
    return simulated(120, 5, np.random.default_rng(1))[0]


@pytest.fixture(scope="module")
def expected(x):
    return {rule: reference(x, 0.25, rule, np.log(4)) for rule in ("and", "or")}


@pytest.mark.parametrize("rule", ["and", "or"])
def test_estimates_are_those_of_a_general_optimiser(x, expected, rule):
    found = pmrf.estimation.elasso(x, COMPLETE, rule=rule)
    weights, biases, least = expected[rule]
    u, v = COMPLETE.edges.T
    assert 0 < np.count_nonzero(weights[u, v]) < COMPLETE.n_edges
    assert np.array_equal(found.edges["weight"] != 0, weights[u, v] != 0)
    np.testing.assert_allclose(found.edges["weight"], weights[u, v], atol=1e-3)
    np.testing.assert_allclose(found.nodes["bias"], biases, atol=1e-3)
    np.testing.assert_allclose(found.nodes["ebic"], least, atol=1e-3)


def test_the_rules_differ_where_one_regression_uses_a_pair(x, expected):
    both, one = (expected[rule][0] for rule in ("and", "or"))
    assert np.count_nonzero(one) > np.count_nonzero(both)


def test_gamma_multiplies_the_logarithm_of_the_number_of_candidates(x):
    found = pmrf.estimation.elasso(x, COMPLETE, gamma=1.0).nodes["ebic"]
    np.testing.assert_allclose(found, reference(x, 1.0, "and", np.log(4))[2], atol=1e-3)
    other = reference(x, 1.0, "and", np.log(5))[2]
    assert np.abs(found - other).max() > 0.1


def test_larger_gammas_leave_fewer_neighbours(x):
    counts = [
        pmrf.estimation.elasso(x, COMPLETE, gamma=g).nodes["n_neighbors"].sum() for g in (0, 0.25, 5)
    ]
    assert counts[0] >= counts[1] >= counts[2]
    assert counts[0] > counts[2]


def test_finds_the_edges_of_a_field(rng):
    x, weight = simulated(3000, 6, rng)
    table = pmrf.estimation.elasso(x, pmrf.graphs.complete(6)).edges
    assert np.array_equal(table["weight"] != 0, weight != 0)
    np.testing.assert_allclose(table["weight"][weight != 0], 1.3, atol=0.5)


def test_coding_by_minus_one_and_one_gives_the_same_field(x):
    binary, ising = (
        pmrf.estimation.elasso(x, COMPLETE),
        pmrf.estimation.elasso(2 * x - 1, COMPLETE, family="ising"),
    )
    np.testing.assert_allclose(binary.edges["weight"], 4 * ising.edges["weight"], atol=1e-4)
    np.testing.assert_allclose(binary.nodes["ebic"], ising.nodes["ebic"], atol=1e-4)


def test_tables_by_name_and_graphs_of_networkx(x):
    names = list("abcde")
    frame = pd.DataFrame(x, columns=names)
    found = pmrf.estimation.elasso(frame[names[::-1]], nx.complete_graph(names))
    plain = pmrf.estimation.elasso(x, COMPLETE)
    assert found.edges.index[0] == "a--b"
    np.testing.assert_allclose(found.edges["weight"], plain.edges["weight"], atol=1e-6)
    graph = found.to_networkx()
    assert list(graph) == names
    edges = found.edges[found.edges["weight"] != 0]
    assert {frozenset(e) for e in graph.edges} == {
        frozenset(e) for e in zip(edges["u"], edges["v"], strict=True)
    }
    u, v, weight = edges.iloc[0][["u", "v", "weight"]]
    assert graph.edges[u, v]["weight"] == weight
    assert graph.nodes["c"]["bias"] == found.nodes["bias"]["c"]


def test_candidates_are_all_that_may_be_edges(x):
    chain = pmrf.graphs.chain(5)
    found = pmrf.estimation.elasso(x, chain)
    assert len(found.edges) == 4
    assert (found.nodes["n_neighbors"] <= [1, 2, 2, 2, 1]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": -0.1}, "gamma must be"),
        ({"rule": "AND"}, 'rule must be one of "and", "or"'),
        ({"family": "ordinal"}, "two states"),
        ({"graph": nx.empty_graph(5)}, "no edges"),
        ({"x": np.eye(5, dtype=int)}, "all but one"),
        (
            {"x": np.ma.masked_equal(np.eye(5, dtype=int), 1)},
            "x has 5 missing cells; complete data are needed",
        ),
    ],
)
def test_refused(x, arguments, message):
    with pytest.raises(ValueError, match=message):
        pmrf.estimation.elasso(**({"x": x, "graph": COMPLETE} | arguments))
