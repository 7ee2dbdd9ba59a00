import networkx as nx
import numpy as np
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.conditional import log_pseudo_likelihood
from pymc_mrf.graph.structure import as_graph
from tests.analysis.posteriors import as_posterior
from tests.reference.enumeration import configurations, probabilities

GRAPH = as_graph(nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))


def lpl_by_enumeration(z, edge_tables, node_tables, edges):
    """Sum over nodes of log p(x_i | all other nodes), from the table of all configurations."""
    n_nodes, K = node_tables.shape
    p = probabilities(edges, edge_tables, node_tables)
    configs = configurations(n_nodes, K)
    total = 0.0
    for i in range(n_nodes):
        rest = np.all(np.delete(configs, i, axis=1) == np.delete(z, i), axis=1)
        own = rest & (configs[:, i] == z[i])
        total += np.log(p[own].sum() / p[rest].sum())
    return total


def agreement_tables(theta, K):
    """Log weights log theta if equal and log(1 - theta) if not: the same field as eta = logit."""
    same = np.eye(K, dtype=bool)
    return np.array([np.where(same, np.log(t), np.log(1 - t)) for t in theta])


def test_draws_and_point_estimate(rng):
    theta = rng.uniform(0.1, 0.9, (2, 3, 4))
    x = rng.integers(0, 2, (5, 4))
    tree = as_posterior(theta, edges=GRAPH.edge_labels)
    lpl = log_pseudo_likelihood(x, GRAPH, tree)
    rows = log_pseudo_likelihood(x, GRAPH, tree, per_observation=True)
    assert lpl.dims == ("chain", "draw")
    assert rows.dims == ("chain", "draw", "obs")
    np.testing.assert_allclose(rows.sum("obs"), lpl)
    tables = agreement_tables(theta[1, 2], 2)
    expected = [lpl_by_enumeration(z, tables, np.zeros((4, 2)), GRAPH.edges) for z in x]
    np.testing.assert_allclose(rows[1, 2], expected)

    mean = tree.posterior["theta"].mean(("chain", "draw"))
    point = log_pseudo_likelihood(x, GRAPH, mean)
    assert point.dims == ()
    plain = log_pseudo_likelihood(x, GRAPH, theta.mean(axis=(0, 1)))
    assert float(point) == pytest.approx(float(plain))


def test_more_states(rng):
    theta, x = rng.uniform(0.1, 0.9, 4), rng.integers(0, 3, (2, 4))
    lpl = log_pseudo_likelihood(x, GRAPH, theta, n_states=3)
    tables = agreement_tables(theta, 3)
    expected = sum(lpl_by_enumeration(z, tables, np.zeros((4, 3)), GRAPH.edges) for z in x)
    assert float(lpl) == pytest.approx(expected)


@pytest.mark.parametrize(("family", "states"), [("ising", (-1, 1)), ("boltzmann", (0, 1))])
def test_families_with_node_parameters(rng, family, states):
    J, h = rng.normal(size=(1, 2, 4)), rng.normal(size=(1, 2, 4))
    z = rng.integers(0, 2, (3, 4))
    x = np.array(states)[z]
    tree = as_posterior(J, field=h)
    lpl = log_pseudo_likelihood(x, GRAPH, tree, family=family, node="field")
    assert lpl.dims == ("chain", "draw")
    s = np.array(states, float)
    edge_tables = J[0, 1][:, None, None] * np.outer(s, s)
    node_tables = h[0, 1][:, None] * s
    expected = sum(lpl_by_enumeration(row, edge_tables, node_tables, GRAPH.edges) for row in z)
    assert float(lpl[0, 1]) == pytest.approx(expected)


def test_node_variables_are_not_passed_over(rng):
    z = rng.integers(0, 2, (3, 4))
    options = {"family": "boltzmann", "var_name": "theta"}
    tree = as_posterior(rng.normal(size=(1, 2, 4)), bias=rng.normal(size=(1, 2, 4)), p=np.ones((1, 2)))
    with pytest.raises(ValueError, match="has 'bias' on nodes: pass node='bias', or node=0 for none"):
        log_pseudo_likelihood(z, GRAPH, tree, **options)
    none = log_pseudo_likelihood(z, GRAPH, tree, node=0, **options)
    alone = tree.posterior["theta"]
    np.testing.assert_array_equal(none, log_pseudo_likelihood(z, GRAPH, alone, **options))
    tree = tree.posterior.to_dataset().assign_coords(bias_dim_0=["k", "l", "m", "n"])
    named = xr.DataTree.from_dict({"posterior": tree})  # after something else
    np.testing.assert_array_equal(none, log_pseudo_likelihood(z, GRAPH, named, **options))


def test_scalars_stand_for_all_edges_and_nodes(rng):
    x = rng.choice([-1, 1], (3, 4))
    tree = as_posterior(np.zeros((1, 2, 4)), coupling=np.array([[0.3, -0.2]]))
    shared = log_pseudo_likelihood(x, GRAPH, tree, family="ising", var_name="coupling", node=0.5)
    full = log_pseudo_likelihood(x, GRAPH, np.full(4, -0.2), family="ising", node=np.full(4, 0.5))
    assert shared.dims == ("chain", "draw")
    assert float(shared[0, 1]) == pytest.approx(float(full))


def test_bad_input_is_named(rng):
    x = rng.integers(0, 2, (5, 4))
    theta = rng.uniform(0.1, 0.9, (2, 3, 4))
    with pytest.raises(ValueError, match=r"theta has 5 values along 'edge' but the graph has 4 ed"):
        log_pseudo_likelihood(x, GRAPH, as_posterior(np.full((1, 1, 5), 0.5)))
    with pytest.raises(ValueError, match=r"its edge 0 is 'c--d', that of the graph is 'a--b'"):
        log_pseudo_likelihood(x, GRAPH, as_posterior(theta, edges=GRAPH.edge_labels[::-1]))
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        log_pseudo_likelihood(x, GRAPH, [0.5, 1.0, 0.2, 0.2])
    with pytest.raises(ValueError, match="node does not apply"):
        log_pseudo_likelihood(x, GRAPH, [0.5] * 4, node=0.0)
    with pytest.raises(TypeError, match="names a variable, but parameters is not a DataTree"):
        log_pseudo_likelihood(x, GRAPH, [0.5] * 4, family="boltzmann", node="bias")
    with pytest.raises(ValueError, match="node has the value nan; give finite numbers"):
        log_pseudo_likelihood(x, GRAPH, [0.5] * 4, family="boltzmann", node=[0, 0, 0, np.nan])
    with pytest.raises(ValueError, match="x has 3 columns but the graph has 4 nodes"):
        log_pseudo_likelihood(x[:, :3], GRAPH, as_posterior(theta))
    with pytest.raises(ValueError, match=r"x\[0, 0\] is 2"):
        log_pseudo_likelihood(x * 0 + 2, GRAPH, as_posterior(theta))
    with pytest.raises(ValueError, match="no variable 'w'"):
        log_pseudo_likelihood(x, GRAPH, as_posterior(theta), var_name="w")
    with pytest.raises(ValueError, match="or a DataArray if there are draws"):
        log_pseudo_likelihood(x, GRAPH, theta[0])
    with pytest.raises(TypeError, match=r"arrows from row to row.*use pm\.compute_log_likelihood"):
        log_pseudo_likelihood(x, pmrf.graphs.lagged(4), 0.5)
    with pytest.raises(TypeError, match="parameters must be numeric"):
        log_pseudo_likelihood(x, GRAPH, xr.DataArray(list("abcd"), dims="edge"))


def test_dimensions_of_something_else_are_refused(rng):
    graph, x = as_graph(nx.complete_graph(["a", "b", "c"])), rng.integers(0, 4, (5, 3))
    thresholds = xr.DataArray(np.zeros((3, 3)), dims=("state", "node"))
    options = {"family": "ordinal", "n_states": 4}
    with pytest.raises(ValueError, match=r"node: dimension 'state' is that of states, but .* nodes are"):
        log_pseudo_likelihood(x, graph, np.zeros(3), node=thresholds, **options)
    assert log_pseudo_likelihood(x, graph, np.zeros(3), node=thresholds.T, **options).shape == ()
    with pytest.raises(ValueError, match="parameters: dimension 'node' is that of nodes"):
        log_pseudo_likelihood(x, graph, xr.DataArray(np.zeros(3), dims="node"), **options)
