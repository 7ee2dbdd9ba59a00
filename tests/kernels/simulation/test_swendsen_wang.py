"""Swendsen-Wang sweeps: transition matrix against enumeration of all bonds and all configurations."""

import itertools

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps
from pymc_mrf.kernels.simulation.swendsen_wang import (
    gibbs_and_cluster_sweeps,
    read_attraction,
    swendsen_wang_sweeps,
)
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
    agree = [e for e, (u, v) in enumerate(GRAPH.edges) if (z[u] == z[v]) == (coupling[e] >= 0)]
    total = np.zeros(len(configs))
    for opened in itertools.product([False, True], repeat=len(agree)):
        is_open = dict(zip(agree, opened, strict=True))
        p = np.prod(
            [
                1 - np.exp(-abs(coupling[e])) if o else np.exp(-abs(coupling[e]))
                for e, o in is_open.items()
            ]
        )
        each = np.full(len(configs), p)
        for nodes in clusters([tuple(GRAPH.edges[e]) for e in agree if is_open[e]]):
            turned = z[nodes] != z[nodes[0]]  # of two states, where couplings repel
            states = np.arange(evidence.shape[1])[:, None] ^ turned  # (K, nodes)
            weight = np.exp(evidence[nodes, states].sum(axis=1))
            same = np.all(configs[:, nodes] == states[configs[:, nodes[0]]], axis=1)
            each *= same * (weight / weight.sum())[configs[:, nodes[0]]]
        total += each
    return total


@pytest.mark.parametrize("n_states, signs", [(2, 1), (2, [-1, 1, -1, -1]), (2, -1), (3, 1)])
def test_one_sweep_has_the_enumerated_transition_matrix(n_states, signs, rng):
    coupling = np.multiply(signs, rng.exponential(size=GRAPH.n_edges))
    evidence = rng.normal(size=(GRAPH.n_nodes, n_states))
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


SQUARE = PairwiseGraph(range(5), [(0, 1), (1, 2), (3, 2), (0, 3), (3, 4)])  # node 4 is a leaf
ORDERED = {
    "attractive": (SQUARE, 4.0 * np.eye(2)),
    "repulsive": (SQUARE, -4.0 * np.eye(2)),
    "both": (SQUARE, np.array([4, -4, -4, 4, 4])[:, None, None] * np.eye(2)),
    "of state 1": (SQUARE, [[0.0, 0.0], [0.0, 6.0]]),
    "any": (SQUARE, [[1.0, 5.0], [4.0, 1.5]]),
    "many": (PairwiseGraph.from_networkx(nx.complete_graph(5)), 4.0 * np.eye(3)),
}


@pytest.mark.parametrize("sweeps", [gibbs_and_cluster_sweeps, gibbs_sweeps], ids=["clusters", "control"])
@pytest.mark.parametrize("name", ORDERED)
def test_draws_of_an_ordered_field_do_not_keep_their_start(name, sweeps, rng):
    graph, tables = ORDERED[name]
    tables = np.array(np.broadcast_to(tables, (graph.n_edges, *np.shape(tables)[-2:])))
    K = tables.shape[1]
    nodes = rng.normal(0, 0.3, (5, K))
    # about the point where both ordered states are as probable
    for e, (u, v) in enumerate(graph.edges):
        nodes[u] -= tables[e].mean(axis=1)
        nodes[v] -= tables[e].mean(axis=0)
    x = np.zeros((4000, 5), dtype=np.int8)
    for row in x:  # a chain each
        sweeps(row[None], tables, nodes, graph.arrays, 20, rng)
    counts = np.bincount(enumeration.configuration_index(x, K), minlength=K**5)
    p_value = chi_square_pvalue(counts, enumeration.probabilities(graph.edges, tables, nodes))
    assert (p_value > 1e-5) == (sweeps is gibbs_and_cluster_sweeps)


@pytest.mark.parametrize("frustrated", [False, True])
def test_which_signs_of_couplings_have_clusters(frustrated, rng):
    graph = PairwiseGraph.from_networkx(nx.gnm_random_graph(30, 60, seed=1))
    flips = rng.integers(0, 2, 30)
    u, v = graph.edges.T
    coupling = rng.exponential(size=60) * (-1.0) ** (flips[u] + flips[v])
    if frustrated:
        bridges = set(nx.bridges(nx.Graph(graph.edges.tolist())))
        on_cycle = [e for e, (a, b) in enumerate(graph.edges) if not {(a, b), (b, a)} & bridges]
        coupling[on_cycle[7]] *= -1.0
    else:
        coupling[rng.integers(60)] = 0.0
    found, alone = np.empty(60), np.empty((30, 2))
    tables = coupling[:, None, None] * np.eye(2)
    assert read_attraction(tables, graph.edges, found, alone) is not frustrated
    if not frustrated:
        np.testing.assert_array_equal(found, coupling)
        np.testing.assert_array_equal(alone, 0.0)


@pytest.mark.parametrize("tables", ["weak", "repulsive", "not agreement", "frustrated"])
def test_other_fields_are_swept_over_nodes(tables, rng):
    edge_tables = {
        "weak": 0.3 * np.ones((4, 1, 1)) * np.eye(3),
        "repulsive": -2.0 * np.ones((4, 1, 1)) * np.eye(3),
        "not agreement": rng.normal(size=(4, 3, 3)) + 2.0 * np.eye(3),
        "frustrated": -2.0 * np.ones((4, 1, 1)) * np.eye(2),
    }[tables]
    draws = []
    for sweeps in (gibbs_and_cluster_sweeps, gibbs_sweeps):
        x = np.zeros((50, 5), dtype=np.int8)
        nodes = np.zeros((5, edge_tables.shape[1]))
        sweeps(x, edge_tables, nodes, GRAPH.arrays, 5, np.random.default_rng(1))
        draws.append(x)
    np.testing.assert_array_equal(*draws)
