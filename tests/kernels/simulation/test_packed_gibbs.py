"""Bit-packed Gibbs sweeps: thresholds, the drawn bits, rare and impossible states, packing."""

from decimal import Decimal

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.simulation import packed_gibbs as pg
from pymc_mrf.kernels.simulation import packed_states
from tests.kernels.simulation.sweeps import GRAPHS, packed_sweeps, prepare_packed, random_tables
from tests.reference import enumeration
from tests.reference import packed_gibbs as reference
from tests.statistics import assert_frequencies


def counts_of(x):
    return np.bincount(enumeration.configuration_index(x, 2), minlength=2 ** x.shape[1])


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_thresholds_keep_the_stated_bound(scale, rng):
    graph = GRAPHS["hub of degree 6"]
    edge_tables, node_tables = (scale * table for table in random_tables(graph, 2, rng))
    plan, tables, _ = prepare_packed(graph, edge_tables, node_tables, rng)
    rarest = Decimal(1)
    for i in range(graph.n_nodes):
        near = plan.rows[plan.row_ptr[i] : plan.row_ptr[i + 1]]
        for c, T in enumerate(tables.thresholds[plan.start[i] : plan.start[i + 1]].tolist()):
            z = np.zeros(graph.n_nodes, dtype=int)
            for j, v in enumerate(near):
                if v != i:
                    z[v] = (c >> j) & 1
            p = reference.probability(i, z, graph.edges.tolist(), edge_tables, node_tables)
            rare = min(p, 1 - p)
            rarest = min(rare, rarest)
            # the log odds are sums of doubles, rounded: that error belongs to them
            sums = np.abs(edge_tables).sum() + np.abs(node_tables).sum()
            bound = Decimal(2) ** -62 + rare * Decimal(2) ** -52 * Decimal(4 + sums)
            assert abs(Decimal(T) / 2**64 - p) <= bound
            assert 2 <= T <= 2**64 - 2
    assert scale == 1.0 or rarest < 1e-20


def test_extreme_odds_stay_possible_and_impossible_stays_impossible(rng):
    scores = np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0, -np.inf, -np.inf],
            [0.0, 1e5, -1e5, -20.7, -np.inf, 0.0, -np.inf],
        ]
    )
    T = np.empty(scores.shape[1], dtype=np.uint64)
    pg.fill_thresholds(T, scores[0], scores[1])
    T = T.tolist()
    assert T[:3] == [2**63, 2**64 - 2, 2]
    p = 1 / (1 + Decimal("20.7").exp())
    assert abs(Decimal(T[3]) / 2**64 / p - 1) < Decimal("1e-9")
    assert T[4:] == [0, 2**64 - 1, 2**63]


def test_drawn_bits_are_comparisons_of_random_words_with_thresholds(rng):
    graph = GRAPHS["hub of degree 6"]
    edge_tables, node_tables = random_tables(graph, 2, rng)
    plan, tables, state = prepare_packed(graph, edge_tables, node_tables, rng)
    lanes = [[int(word) for word in state[j :: pg.N_WORDS]] for j in range(pg.N_WORDS)]
    x = rng.integers(0, 2, size=(packed_states.BLOCK, graph.n_nodes)).astype(np.int8)
    expected = x.astype(int)
    z = np.empty((graph.n_nodes, pg.N_WORDS), dtype=np.uint64)
    packed_states.pack(x, z)
    edges, order, known = graph.edges.tolist(), graph.arrays.order.tolist(), {}
    for _ in range(15):
        pg.packed_sweeps(z, plan, tables, 1, state)
        packed_states.unpack(z, x)
        reference.sweep(expected, edges, order, edge_tables, node_tables, lanes, known)
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("name", ["isolated nodes", "triangle and isolated node", "K9"])
def test_planes_are_the_bits_of_the_thresholds(name, rng):
    graph = GRAPHS[name]
    plan, tables, _ = prepare_packed(graph, *random_tables(graph, 2, rng), rng)
    for i in range(graph.n_nodes):
        T = tables.thresholds[plan.start[i] : plan.start[i + 1]].tolist()
        for p in range(64):
            place = plan.table_ptr[i] * pg.N_PLANES + p
            if p >= pg.N_PLANES:
                place = pg.plane_beyond(tables, plan, i, p)
            words = tables.planes[place :: pg.N_PLANES].tolist()
            bits = [(words[c // 64] >> (c % 64)) & 1 for c in range(len(T))]
            assert bits == [(t >> (63 - p)) & 1 for t in T]


def test_impossible_pairs_never_occur(rng):
    # independent sets of the grid, weighted (hard-core model)
    graph = GRAPHS["grid"]
    edge_tables = np.zeros((graph.n_edges, 2, 2))
    edge_tables[:, 1, 1] = -np.inf
    node_tables = np.tile([0.0, 0.8], (graph.n_nodes, 1))
    node_tables[4, 0] = -np.inf  # certain
    x = np.tile(np.eye(graph.n_nodes, dtype=np.int8)[4], (30_000, 1))
    p = enumeration.probabilities(graph.edges, edge_tables, node_tables)
    packed_sweeps(x, edge_tables, node_tables, graph, 50, rng)
    counts = counts_of(x)
    assert np.all(counts[p == 0.0] == 0)
    assert_frequencies(counts[p > 0.0], p[p > 0.0])


def test_rare_states_have_their_probability(rng):
    graph = PairwiseGraph(range(100), [])
    p = 2e-6  # decided by planes beyond the tables
    node_tables = np.tile([0.0, np.log(p) - np.log1p(-p)], (100, 1))
    x = np.zeros((51_200, 100), dtype=np.int8)
    total = 0
    for _ in range(4):
        packed_sweeps(x, np.empty((0, 2, 2)), node_tables, graph, 1, rng)
        total += int(x.sum())
    n = 4 * x.size
    assert_frequencies([total, n - total], [p, 1 - p])


def test_a_larger_graph_has_the_exact_edge_marginals(rng):
    graph = as_graph(nx.random_regular_graph(3, 14, seed=2))
    edge_tables, node_tables = (0.4 * table for table in random_tables(graph, 2, rng))
    x = np.zeros((100_000, 14), dtype=np.int8)
    packed_sweeps(x, edge_tables, node_tables, graph, 60, rng)
    configs = enumeration.configurations(14, 2)
    p = enumeration.probabilities(graph.edges, edge_tables, node_tables)
    for u, v in graph.edges:
        cells = np.bincount(2 * configs[:, u] + configs[:, v], weights=p, minlength=4)
        assert_frequencies(np.bincount(2 * x[:, u] + x[:, v], minlength=4), cells)


@pytest.mark.parametrize("m", [1, 63, 64, 65, 512, 700])
@pytest.mark.parametrize("d", [1, 7, 130])
def test_packing_makes_a_round_trip(m, d, rng):
    x = rng.integers(0, 2, size=(m, d)).astype(np.int8)
    z = np.empty((d, packed_states.n_words(m)), dtype=np.uint64)
    packed_states.pack(x, z)
    chains = np.arange(64 * z.shape[1], dtype=np.uint64)
    states = (z[:, chains // 64] >> chains % 64) & np.uint64(1)
    np.testing.assert_array_equal(states[:, :m], x.T)
    assert not states[:, m:].any()
    last = pg.allocate_tables(pg.plan(GRAPHS["chain"].arrays), m).last
    exists = (last[chains[:512] // 64] >> chains[:512] % 64) & np.uint64(1)
    np.testing.assert_array_equal(exists, chains[-512:] < m)
    back = np.full_like(x, 9)
    packed_states.unpack(z, back)
    np.testing.assert_array_equal(back, x)
