"""Tree-reweighted bound: above the truth, equal on trees, best for its trees; probabilities of edges."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from pymc_mrf.estimation.bounds import edge_appearance_probabilities, tree_reweighted_bound
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders, spanning_trees
from pymc_mrf.graph.structure import PairwiseGraph


def random_field(graph, n_states, scale, rng):
    shape = (graph.n_edges, n_states, n_states)
    return PairwiseField(
        graph, scale * rng.normal(size=shape), rng.normal(size=(graph.n_nodes, n_states))
    )


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_is_an_upper_bound_with_consistent_pseudo_marginals(n_states, scale, rng):
    for graph in (builders.grid(3, 3), builders.complete(5), builders.random(8, 0.4, rng=rng)):
        field = random_field(graph, n_states, scale, rng)
        bound = tree_reweighted_bound(field)
        assert bound.converged
        assert bound.log_partition >= field.log_partition() - 1e-6
        u, v = graph.edges.T
        np.testing.assert_allclose(bound.edges.sum(axis=2), bound.nodes[u], atol=2e-6)
        np.testing.assert_allclose(bound.edges.sum(axis=1), bound.nodes[v], atol=2e-6)


@pytest.mark.parametrize(
    "graph", [builders.binary_tree(3), PairwiseGraph(range(6), [(1, 0), (1, 2), (4, 3)])], ids=repr
)
def test_is_exact_on_trees(graph, rng):
    field = random_field(graph, 3, 1.5, rng)
    bound = tree_reweighted_bound(field)
    assert bound.log_partition == pytest.approx(field.log_partition(), abs=1e-7)
    np.testing.assert_allclose(bound.nodes, field.marginals().nodes, atol=1e-7)
    np.testing.assert_array_equal(bound.edge_probabilities, 1.0)


def test_is_the_best_bound_of_its_trees(rng):
    # minimise the average of log Z over the three trees of a triangle, over how theta is shared out
    graph = builders.complete(3)
    coupling, bias = rng.normal(size=3), rng.normal(size=3)
    field = PairwiseField(graph, ISING.edge_tables(coupling), ISING.node_tables(bias))
    spins = np.array(list(itertools.product([-1, 1], repeat=3)))
    pairs = np.array([spins[:, u] * spins[:, v] for u, v in graph.edges])

    def average(free):
        j, h = free[:6].reshape(3, 2), free[6:].reshape(2, 3)
        fields = [h[0], h[1], 3 * bias - h[0] - h[1]]
        total = 0.0
        # edge e is in the two trees other than tree e; its parameters average to the given ones
        for tree in range(3):
            scores = spins @ fields[tree]
            for e in range(3):
                others = [t for t in range(3) if t != e]
                if tree == others[0]:
                    scores = scores + j[e, 0] * pairs[e]
                elif tree == others[1]:
                    scores = scores + (3 * coupling[e] - j[e, 0]) * pairs[e]
            total += np.log(np.exp(scores).sum()) / 3
        return total

    best = minimize(average, np.concatenate([np.repeat(1.5 * coupling, 2), bias, bias]), tol=1e-12)
    assert tree_reweighted_bound(field).log_partition == pytest.approx(best.fun, abs=1e-6)


def test_edge_probabilities_count_spanning_trees():
    graph = PairwiseGraph(range(7), [(0, 1), (1, 2), (2, 0), (2, 3), (1, 3), (3, 4), (5, 6)])
    edges = [tuple(map(int, e)) for e in graph.edges]
    trees = [
        chosen
        for chosen in itertools.combinations(edges, 5)
        if nx.is_forest(nx.Graph(chosen)) and len(nx.Graph(chosen)) == 7
    ]
    expected = [np.mean([e in tree for tree in trees]) for e in edges]
    np.testing.assert_allclose(edge_appearance_probabilities(graph), expected, atol=1e-12)
    np.testing.assert_allclose(edge_appearance_probabilities(builders.complete(6)), 2 / 6)


def test_edge_probabilities_are_resistances(rng):
    """Of graphs with bridges, isolated nodes and several components, against the dense inverse."""
    for density in (0.02, 0.05, 0.1, 0.5):
        graph = builders.random(60, density, rng=rng)
        net = graph.to_networkx()
        expected = np.zeros(graph.n_edges)
        laplacian = nx.laplacian_matrix(net, nodelist=graph.nodes).toarray().astype(float)
        inverse = np.linalg.pinv(laplacian, rcond=1e-10, hermitian=True)
        for e, (u, v) in enumerate(graph.edges):
            expected[e] = inverse[u, u] + inverse[v, v] - 2 * inverse[u, v]
        found = edge_appearance_probabilities(graph)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        bridges = {frozenset(edge) for edge in nx.bridges(net)}
        is_bridge = [frozenset((graph.nodes[u], graph.nodes[v])) in bridges for u, v in graph.edges]
        np.testing.assert_array_equal(found == 1.0, is_bridge)


def test_large_graphs_are_planned_before_they_cost_anything(monkeypatch, rng):
    graph = builders.grid(4, 4, 4)
    expected = edge_appearance_probabilities(graph)
    lengths = r"64 nodes and 144 edges need a matrix factor of .* entries and .* operations"
    for limit in ("MAX_ENTRIES", "MAX_SQUARES"):
        with monkeypatch.context() as patch:
            patch.setattr(spanning_trees, limit, 100.0)
            with pytest.raises(
                ValueError, match=rf"{lengths}; the limits are .* Give edge_probabilities"
            ):
                tree_reweighted_bound(random_field(graph, 2, 0.3, rng))
    # the remedy: shares of random spanning trees are probabilities of some distribution over trees
    shares, (u, v) = np.zeros(graph.n_edges), graph.edges.T
    for _ in range(100):
        weights = csr_array((rng.random(graph.n_edges) + 1.0, (u, v)), shape=(64, 64))
        tree = minimum_spanning_tree(weights).tocoo()
        held = set(zip(tree.row.tolist(), tree.col.tolist(), strict=True))
        shares += [(i, j) in held for i, j in graph.edges.tolist()]
    field = random_field(graph, 2, 0.3, rng)
    bounds = [tree_reweighted_bound(field, edge_probabilities=ρ) for ρ in (expected, shares / 100)]
    assert bounds[1].log_partition >= field.log_partition()
    assert bounds[1].log_partition == pytest.approx(bounds[0].log_partition, rel=0.02)


def test_other_probabilities_give_another_bound(rng):
    field = random_field(builders.complete(3), 2, 1.0, rng)
    bound = tree_reweighted_bound(field, edge_probabilities=[0.5, 0.7, 0.8])
    assert bound.log_partition >= field.log_partition()
    assert bound.log_partition != pytest.approx(tree_reweighted_bound(field).log_partition, abs=1e-6)


def test_no_convergence_is_said(rng):
    field = random_field(builders.grid(3, 3), 2, 2.0, rng)
    with pytest.warns(UserWarning, match="may not be a bound; raise max_iterations"):
        bound = tree_reweighted_bound(field, max_iterations=2)
    assert not bound.converged
    assert bound.n_iterations == 20


def test_refusals(rng):
    field = random_field(builders.complete(3), 2, 1.0, rng)
    for probabilities, message in [
        ([0.5, 0.5], r"shape \(3,\)"),
        ([0.0, 1.0, 1.0], r"edge_probabilities\[0\] is 0.0"),
        ([0.5, 0.5, 0.5], "sum to 1.5, but every spanning tree has 2 edges"),
    ]:
        with pytest.raises(ValueError, match=message):
            tree_reweighted_bound(field, edge_probabilities=probabilities)
    with pytest.raises(ValueError, match="max_iterations must be a positive integer, not 0"):
        tree_reweighted_bound(field, max_iterations=0)
    impossible = PairwiseField(builders.chain(2), [[[0, -np.inf], [0, 0]]], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="-inf entries"):
        tree_reweighted_bound(impossible)


def test_no_edges():
    field = PairwiseField(builders.chain(1), np.zeros((0, 2, 2)), [[0.0, 1.0]])
    assert tree_reweighted_bound(field).log_partition == pytest.approx(np.log(1 + np.e))
