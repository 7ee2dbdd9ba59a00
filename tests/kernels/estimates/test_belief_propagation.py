"""Belief propagation: exact on trees, the plain-Python fixed point on graphs with cycles."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links, factor_schedule, node_schedule
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates import belief_propagation as kernel
from tests.reference import belief_propagation as twin
from tests.reference import enumeration
from tests.reference import factor_graph as factor_enumeration


def pairwise(graph, edge_tables, node_tables, damping=0.0, max_iterations=500):
    n_states = node_tables.shape[1]
    messages = np.full((2, graph.n_edges, n_states), -np.log(n_states))
    order, _ = node_schedule(graph)
    report = kernel.pairwise_passes(
        messages, edge_tables, node_tables, graph.arrays, order, False, damping, 1e-12, max_iterations
    )
    nodes, edges = np.empty(node_tables.shape), np.empty(edge_tables.shape)
    possible = kernel.pairwise_beliefs(messages, edge_tables, node_tables, graph.arrays, nodes, edges)
    return nodes, edges, report, possible


def factor(graph, tables, damping=0.0, max_iterations=500):
    links = factor_links(graph)
    order, _ = factor_schedule(graph)
    messages = np.zeros((len(links.variable), max(graph.cardinalities)))
    messages -= np.log(links.cards[links.variable])[:, None]
    flat = np.concatenate([table.ravel() for table in tables])
    report = kernel.factor_passes(messages, flat, links, order, damping, 1e-12, max_iterations)
    variables = np.empty((graph.n_variables, max(graph.cardinalities)))
    factors = np.empty(len(flat))
    possible = kernel.factor_beliefs(messages, flat, links, variables, factors)
    return variables, factors, report, possible


def random_tables(graph, n_states, rng, scale=1.0):
    edge = scale * rng.normal(size=(graph.n_edges, n_states, n_states))
    return edge, rng.normal(size=(graph.n_nodes, n_states))


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_two_passes_are_exact_on_trees(n_states, seed, rng):
    graph = PairwiseGraph.from_networkx(nx.random_labeled_tree(7, seed=seed))
    tables = random_tables(graph, n_states, rng, scale=3.0)
    expected = enumeration.marginals(graph.edges, *tables)
    nodes, edges, (n, residual), possible = pairwise(graph, *tables, max_iterations=1)
    assert node_schedule(graph)[1]
    assert possible
    assert n == 1
    assert residual > 1e-3
    np.testing.assert_allclose(nodes, expected[0], atol=1e-12)
    np.testing.assert_allclose(edges, expected[1], atol=1e-12)
    _, _, (n, residual), _ = pairwise(graph, *tables)
    assert n == 2
    assert residual < 1e-12


def test_impossible_pairs_and_strong_couplings_on_a_tree(rng):
    graph = builders.chain(5)
    colors = np.tile(np.where(np.eye(3) > 0, -np.inf, 0.0), (4, 1, 1))
    nodes = np.zeros((5, 3))
    nodes[0] = [-np.inf, 0.0, -np.inf]
    nodes[4] = [0.0, 800.0, 0.0]
    expected = enumeration.marginals(graph.edges, colors, nodes)
    ours = pairwise(graph, colors, nodes)
    np.testing.assert_allclose(ours[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(ours[1], expected[1], atol=1e-12)
    nodes[1] = [-np.inf, 0.0, -np.inf]
    assert np.isnan(pairwise(graph, colors, nodes)[2][1])


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_loopy_fixed_point_equals_the_twin(n_states, damping, rng):
    graph = builders.grid(3, 3)
    edge_tables, node_tables = random_tables(graph, n_states, rng, scale=0.5)
    nodes, edges, (_, residual), _ = pairwise(graph, edge_tables, node_tables, damping)
    assert residual <= 1e-12
    expected = twin.pairwise(graph.edges, edge_tables, node_tables, 150)
    np.testing.assert_allclose(nodes, expected, atol=1e-9)
    # beliefs of edges agree with those of nodes at a fixed point
    np.testing.assert_allclose(edges.sum(axis=2), nodes[graph.edges[:, 0]], atol=1e-9)
    np.testing.assert_allclose(edges.sum(axis=1), nodes[graph.edges[:, 1]], atol=1e-9)
    exact = enumeration.marginals(graph.edges, edge_tables, node_tables)[0]
    gap = np.abs(nodes - exact).max()
    assert 1e-6 < gap < 0.05  # close, and not exact


def test_oscillation_is_reported():
    graph = builders.complete(5)  # repulsive and strong: every triangle is frustrated
    edge_tables = np.tile(-3.0 * np.eye(2), (graph.n_edges, 1, 1))
    node_tables = np.tile([0.0, 0.1], (5, 1))
    _, _, (n, residual), _ = pairwise(graph, edge_tables, node_tables, max_iterations=200)
    assert n == 200
    assert residual > 1e-3


TREE = FactorGraph([(0, 1, 2), (2, 3), (3, 4, 5), (1,)], (2, 2, 3, 2, 2, 2, 3))
CYCLE = FactorGraph([(0, 1, 2), (2, 3), (4, 3, 0), (1,)], (2, 3, 2, 2, 2, 2))


def test_two_passes_are_exact_on_factor_trees(rng):
    tables = [rng.normal(size=shape) * 2 for shape in TREE.table_shapes]
    tables[1][0, 1] = -np.inf
    p = factor_enumeration.probabilities(TREE.scopes, TREE.cardinalities, tables)
    variables, factors, (n, _), possible = factor(TREE, tables, max_iterations=1)
    assert factor_schedule(TREE)[1]
    assert possible
    assert n == 1
    for i, k in enumerate(TREE.cardinalities):
        exact = [factor_enumeration.marginal(p, (i,), (a,)) for a in range(k)]
        np.testing.assert_allclose(variables[i, :k], exact, atol=1e-12)
    cells = [
        factor_enumeration.marginal(p, scope, states)
        for scope, table in zip(TREE.scopes, tables, strict=True)
        for states in np.ndindex(table.shape)
    ]
    np.testing.assert_allclose(factors, cells, atol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_loopy_factor_graph_equals_the_twin(damping, rng):
    tables = [rng.normal(size=shape) for shape in CYCLE.table_shapes]
    assert not factor_schedule(CYCLE)[1]
    variables, _, (_, residual), _ = factor(CYCLE, tables, damping)
    assert residual <= 1e-12
    expected = twin.factor_graph(CYCLE.scopes, CYCLE.cardinalities, tables, 150)
    for ours, theirs in zip(variables, expected, strict=True):
        np.testing.assert_allclose(ours[: len(theirs)], theirs, atol=1e-9)


def test_pairwise_field_as_a_factor_graph(rng):
    graph = builders.grid(2, 3)
    edge_tables, node_tables = random_tables(graph, 3, rng, scale=0.7)
    same = FactorGraph([*graph.edges.tolist(), *([i] for i in range(6))], [3] * 6)
    ours = pairwise(graph, edge_tables, node_tables)[0]
    theirs = factor(same, [*edge_tables, *node_tables])[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_compiled_equals_python(rng):
    graph = builders.grid(2, 2)
    edge_tables, node_tables = random_tables(graph, 2, rng)
    order, _ = node_schedule(graph)
    results = []
    for f in (kernel.pairwise_passes, kernel.pairwise_passes.py_func):
        messages = np.full((2, 4, 2), -np.log(2))
        f(messages, edge_tables, node_tables, graph.arrays, order, False, 0.3, 1e-9, 7)
        results.append(messages)
    np.testing.assert_allclose(*results, atol=1e-14)
