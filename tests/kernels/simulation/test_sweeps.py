"""What sweeps of every kernel have in common: transition matrix, where they lead, seeds, hard couplings."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.kernels.simulation import dense_gibbs, gibbs
from tests.kernels.simulation.sweeps import (
    GRAPHS,
    packed_sweeps,
    random_tables,
    state_sweeps,
    sweep_matrix,
)
from tests.reference import enumeration
from tests.statistics import assert_frequencies, chi_square_pvalue


def plain_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    gibbs.gibbs_sweeps(x, edge_tables, node_tables, graph.arrays, n_sweeps, rng)


def dense_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng):
    weight, bias = gibbs.binary_form(edge_tables, node_tables, graph.edges)
    dense_gibbs.gibbs_sweeps_dense(x, weight, bias, graph.arrays, n_sweeps, rng)


KERNELS = {
    "plain": (plain_sweeps, 2), "plain, three states": (plain_sweeps, 3), "dense": (dense_sweeps, 2),
    "states": (state_sweeps, 2), "states, three": (state_sweeps, 3), "packed": (packed_sweeps, 2),
}  # fmt: skip
CASES = [
    pytest.param(sweep, n_states, GRAPHS[graph], id=f"{name}-{graph}")
    for name, (sweep, n_states) in KERNELS.items()
    for graph in (GRAPHS if name == "packed" else ["triangle and isolated node"])
]
EACH = pytest.mark.parametrize(("sweep", "n_states"), KERNELS.values(), ids=KERNELS)


def counts_of(x, n_states, n):
    return np.bincount(enumeration.configuration_index(x, n_states), minlength=n)


@pytest.mark.parametrize(("sweep", "n_states", "graph"), CASES)
def test_one_sweep_and_many(sweep, n_states, graph, rng):
    """The enumerated transition matrix, from two starts, and then the distribution of the field."""
    edge, node = random_tables(graph, n_states, rng)
    tables = 0.7 * edge, 0.7 * node
    matrix, p = sweep_matrix(graph, *tables)
    np.testing.assert_allclose(p @ matrix, p, atol=1e-12)
    configs = enumeration.configurations(graph.n_nodes, n_states)
    for start in (0, len(configs) // 3):
        x = np.tile(configs[start].astype(np.int8), (20_007, 1))  # not a multiple of 64
        sweep(x, *tables, graph, 1, rng)
        counts = counts_of(x, n_states, len(p))
        assert_frequencies(counts, matrix[start])
        if np.abs(matrix[start] - p).sum() > 0.15:
            assert chi_square_pvalue(counts, p) < 1e-10  # control: the start is not forgotten
    sweep(x, *tables, graph, 100, rng)
    assert_frequencies(counts_of(x, n_states, len(p)), p)
    sweep(x, 1.3 * tables[0], tables[1], graph, 40, rng)
    is_another = chi_square_pvalue(counts_of(x, n_states, len(p)), p) < 1e-6
    assert is_another == bool(graph.n_edges)  # control: wrong weights


@EACH
def test_strong_couplings_stay_finite(sweep, n_states, rng):
    graph, x = builders.chain(3), np.zeros((100, 3), dtype=np.int8)
    sweep(x, np.tile(800.0 * np.eye(n_states), (2, 1, 1)), np.zeros((3, n_states)), graph, 5, rng)
    assert np.all(x == x[:, :1])


@EACH
@pytest.mark.parametrize("n_chains", [1, 64, 130])
def test_repeats_with_the_seed_and_moves_every_chain(sweep, n_states, n_chains, rng):
    graph, runs = GRAPHS["hub of degree 6"], []
    tables = random_tables(graph, n_states, rng)
    for seed in (1, 1, 2):
        x = np.zeros((n_chains, graph.n_nodes), dtype=np.int8)
        sweep(x, *tables, graph, 40, np.random.default_rng(seed))
        runs.append(x)
    np.testing.assert_array_equal(runs[0], runs[1])
    if n_chains > 1:
        assert (runs[0] != runs[2]).any()
        assert (runs[0][0] != runs[0]).any(axis=1).sum() > n_chains // 2
