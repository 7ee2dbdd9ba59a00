"""Missing cells of many rows, drawn in blocks: against enumeration given the rest of each row."""

from itertools import pairwise

import numpy as np
import pytest

from pymc_mrf.fields import sweeps
from pymc_mrf.fields.sweeps import BlockSweep, cell_blocks
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.statistics import assert_frequencies, chi_square_pvalue

GRAPH = PairwiseGraph(range(5), [(1, 0), (1, 2), (0, 2), (2, 3), (4, 3)])
N, K = 20_000, 3
FREE = np.array([[1, 1, 1, 0, 1], [0, 0, 1, 1, 0]], dtype=bool)  # of even and odd rows


def field(rng):
    """Rows with their own couplings, and a state that is impossible."""
    edge_tables, node_tables = rng.normal(size=(2, 5, K, K)), rng.normal(size=(1, 5, K))
    node_tables[0, 2, 0] = -np.inf
    return edge_tables, node_tables


def draws(rng, edge_tables, node_tables, n_sweeps):
    """States of all rows, started far from the field, and what each class of rows knows."""
    known = np.array([2, 0, 1, 1, 0])
    x = np.where(np.resize(FREE, (N, 5)), 1, known).astype(np.int8)
    blocks = cell_blocks(GRAPH, np.resize(FREE, (N, 5)), K)
    evidence = np.zeros((N, 5, K))
    tables = [np.resize(edge_tables, (N, 5, K, K)), node_tables]
    BlockSweep(GRAPH, blocks)(x, tables, evidence, n_sweeps, rng)
    return x, known


def p_value(x, known, c, edge_tables, node_tables):
    configs = enumeration.configurations(5, K)
    p = enumeration.probabilities(GRAPH.edges, edge_tables[c], node_tables[0])
    possible = (configs == known)[:, ~FREE[c]].all(axis=1)
    counts = np.bincount(enumeration.configuration_index(x[c::2], K), minlength=K**5)
    assert counts[~possible].sum() == 0
    return chi_square_pvalue(counts[possible], p[possible] / p[possible].sum())


@pytest.mark.parametrize("c", [0, 1])
def test_blocks_are_independent_draws(rng, c):
    edge_tables, node_tables = field(rng)
    x, known = draws(rng, edge_tables, node_tables, 1)
    assert p_value(x, known, c, edge_tables, node_tables) > 1e-5
    turned = edge_tables.swapaxes(2, 3)
    assert p_value(x, known, c, turned, node_tables) < 1e-10


def test_pieces_of_a_block_reach_the_field_in_several_sweeps(rng, monkeypatch):
    monkeypatch.setattr(sweeps, "MOST_STATES", K)  # single cells
    edge_tables, node_tables = field(rng)
    x, known = draws(rng, edge_tables, node_tables, 1)
    assert p_value(x, known, 0, edge_tables, node_tables) < 1e-5
    x, known = draws(rng, edge_tables, node_tables, 15)
    assert p_value(x, known, 0, edge_tables, node_tables) > 1e-5


def test_sweeps_are_reversible(rng, monkeypatch):
    """Pairs of states before and after a sweep of a field in equilibrium, in either order."""
    monkeypatch.setattr(sweeps, "MOST_STATES", 2)
    graph, n = builders.grid(1, 3), 40_000
    edge_tables, node_tables = rng.normal(size=(1, 2, 2, 2)), rng.normal(size=(1, 3, 2))
    p = enumeration.probabilities(graph.edges, edge_tables[0], node_tables[0])
    before = enumeration.configurations(3, 2)[rng.choice(8, size=n, p=p)].astype(np.int8)
    after = before.copy()
    sweep = BlockSweep(graph, cell_blocks(graph, np.ones((n, 3), dtype=bool), 2))
    sweep(after, [edge_tables, node_tables], np.zeros((n, 3, 2)), 1, rng)
    i, j = (enumeration.configuration_index(x, 2) for x in (before, after))
    flow = np.bincount(8 * i + j, minlength=64).reshape(8, 8)
    assert_frequencies(flow.sum(axis=0), p)
    upper = np.triu_indices(8, 1)
    there, back = flow[upper], flow.T[upper]
    gap = (there - back)[there + back > 10] / np.sqrt((there + back)[there + back > 10])
    assert np.abs(gap).max() < 4.5


def test_blocks_are_connected_cells_of_a_row():
    graph = builders.grid(1, 12)
    free = np.ones((3, 12), dtype=bool)
    free[0, [2, 3]] = False
    free[1] = False
    nodes, block_ptr, chain_ptr, rows = cell_blocks(graph, free, 2)
    chains = [nodes[block_ptr[a] : block_ptr[b]].tolist() for a, b in pairwise(chain_ptr)]
    found = sorted(zip(rows.tolist(), chains, strict=True))
    assert found == [(0, [0, 1]), (0, list(range(4, 12))), (2, list(range(12)))]
    assert sorted(np.diff(block_ptr).tolist()) == [2, 4, 4, 6, 6]
