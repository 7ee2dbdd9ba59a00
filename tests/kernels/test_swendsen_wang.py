"""Swendsen-Wang sweeps: transition matrix against enumeration of all bonds and all configurations."""

import itertools

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.gibbs import gibbs_sweeps
from pymc_mrf.kernels.swendsen_wang import gibbs_and_cluster_sweeps, swendsen_wang_sweeps
from tests.reference import enumeration
from tests.statistics import assert_frequencies, chi_square_pvalue

GRAPH = PairwiseGraph(range(5), [(0, 1), (2, 1), (2, 0), (3, 2)])  # a triangle, a leaf, an isolated node


def clusters(edges):
    """Clusters that open edges make, as lists of nodes."""
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(GRAPH.n_nodes))
    return [list(nodes) for nodes in nx.connected_components(graph)]


def sweep_from(z, coupling, evidence, configs):
    """Probabilities of all configurations after one sweep from `z`: over all bonds, cluster by cluster."""
    agree = [e for e, (u, v) in enumerate(GRAPH.edges) if z[u] == z[v]]
    total = np.zeros(len(configs))
    for opened in itertools.product([False, True], repeat=len(agree)):
        is_open = dict(zip(agree, opened, strict=True))
        p = np.prod(
            [1 - np.exp(-coupling[e]) if o else np.exp(-coupling[e]) for e, o in is_open.items()]
        )
        each = np.full(len(configs), p)
        for nodes in clusters([tuple(GRAPH.edges[e]) for e in agree if is_open[e]]):
            weight = np.exp(evidence[nodes].sum(axis=0))
            same = np.all(configs[:, nodes] == configs[:, nodes[:1]], axis=1)
            each *= same * (weight / weight.sum())[configs[:, nodes[0]]]
        total += each
    return total


@pytest.mark.parametrize("n_states", [2, 3])
def test_one_sweep_has_the_enumerated_transition_matrix(n_states, rng):
    coupling, evidence = rng.exponential(size=GRAPH.n_edges), rng.normal(size=(GRAPH.n_nodes, n_states))
    evidence[1, 0] = -np.inf
    configs = enumeration.configurations(GRAPH.n_nodes, n_states)
    with np.errstate(divide="ignore"):
        tables = coupling[:, None, None] * np.eye(n_states)
        p = enumeration.probabilities(GRAPH.edges, tables, evidence)
    possible = np.flatnonzero(p)
    matrix = np.array([sweep_from(configs[a], coupling, evidence, configs) for a in possible])
    np.testing.assert_allclose(p[possible] @ matrix, p, atol=1e-12)
    for row in (0, len(possible) // 2):
        x = np.tile(configs[possible[row]].astype(np.int8), (20_000, 1))
        swendsen_wang_sweeps(x, GRAPH.edges, coupling, evidence, 1, rng)
        counts = np.bincount(enumeration.configuration_index(x, n_states), minlength=len(configs))
        assert_frequencies(counts[possible], matrix[row][possible])
        assert counts.sum() == counts[possible].sum()
        assert (
            chi_square_pvalue(counts[possible], p[possible]) < 1e-10
        )  # control: the start is not forgotten
        swendsen_wang_sweeps(x, GRAPH.edges, coupling, evidence, 20, rng)
        counts = np.bincount(enumeration.configuration_index(x, n_states), minlength=len(configs))
        assert_frequencies(counts[possible], p[possible])


@pytest.mark.parametrize("sweeps", [gibbs_and_cluster_sweeps, gibbs_sweeps], ids=["clusters", "control"])
def test_draws_of_an_ordered_field_do_not_keep_their_start(sweeps, rng):
    graph = PairwiseGraph.from_networkx(nx.complete_graph(4))
    tables, nodes = 4.0 * np.ones((6, 1, 1)) * np.eye(2), rng.normal(0, 0.3, (4, 2))
    x = np.zeros((4000, 4), dtype=np.int8)
    for row in x:  # a chain each
        sweeps(row[None], tables, nodes, graph.arrays, 6, rng)
    counts = np.bincount(enumeration.configuration_index(x, 2), minlength=16)
    p_value = chi_square_pvalue(counts, enumeration.probabilities(graph.edges, tables, nodes))
    assert (p_value > 1e-5) == (sweeps is gibbs_and_cluster_sweeps)


@pytest.mark.parametrize("tables", ["weak", "repulsive", "not agreement"])
def test_other_fields_are_swept_over_nodes(tables, rng):
    edge_tables = {
        "weak": 0.3 * np.ones((4, 1, 1)) * np.eye(3),
        "repulsive": -2.0 * np.ones((4, 1, 1)) * np.eye(3),
        "not agreement": rng.normal(size=(4, 3, 3)) + 2.0 * np.eye(3),
    }[tables]
    draws = []
    for sweeps in (gibbs_and_cluster_sweeps, gibbs_sweeps):
        x = np.zeros((50, 5), dtype=np.int8)
        sweeps(x, edge_tables, np.zeros((5, 3)), GRAPH.arrays, 5, np.random.default_rng(1))
        draws.append(x)
    np.testing.assert_array_equal(*draws)
