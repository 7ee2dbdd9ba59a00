"""Monotone coupling from the past: twin on the same words, replay, enumeration, what must fail."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import coupling_from_the_past as cftp
from tests.reference import coupling, enumeration
from tests.statistics import assert_frequencies, chi_square_pvalue

# a triangle with a tail, and an isolated node
SMALL = PairwiseGraph(range(5), [(0, 1), (2, 1), (2, 0), (2, 3)])
GRID = builders.grid(3, 3)


def attractive(graph, rng, strength=1.0):
    """Random weights >= 0 and biases that leave both states likely."""
    weight = rng.uniform(0, strength, graph.n_edges)
    bias = rng.normal(0, 0.3, graph.n_nodes)
    np.subtract.at(bias, graph.edges.ravel(), np.repeat(weight / 2, 2))
    return weight, bias


class Packed:
    lanes = 512
    draws = staticmethod(cftp.perfect_draws_packed)
    uniform = staticmethod(coupling.packed_uniform)

    @staticmethod
    def run(graph, weight, bias, horizon, seed, first=0):
        """Lower and upper chain at time 0, (lanes, d) each."""
        thresholds, places = cftp.conditional_thresholds(weight, bias, graph.arrays)
        counts, ones = cftp.cells_by_bit(thresholds, places)
        z = np.empty((graph.n_nodes, 16), dtype=np.uint64)
        cftp.run_packed(
            z, places, counts, ones, graph.arrays, horizon, np.uint64(seed), np.uint64(first)
        )
        bits = np.unpackbits(z.view(np.uint8), axis=1, bitorder="little").T
        return bits[:512], bits[512:]


class Wide:
    lanes = 32
    draws = staticmethod(cftp.perfect_draws_wide)
    uniform = staticmethod(coupling.wide_uniform)

    @staticmethod
    def run(graph, weight, bias, horizon, seed, first=0):
        z = np.empty((graph.n_nodes, 64))
        cftp.run_wide(z, weight, bias, graph.arrays, horizon, np.uint64(seed), np.uint64(first))
        return z[:, :32].T, z[:, 32:].T


both = pytest.mark.parametrize("kernel", [Packed, Wide])


def probabilities(graph, weight, bias):
    tables = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias)
    return enumeration.probabilities(graph.edges, *tables)


def counts_of(x):
    x = np.asarray(x).astype(np.int8)
    return np.bincount(enumeration.configuration_index(x, 2), minlength=2 ** x.shape[1])


@both
def test_both_chains_equal_the_twin_on_the_same_words(kernel, rng):
    weight, bias = attractive(SMALL, rng, 2.0)
    seed, first = int(rng.integers(2**63)) * 2 + 1, 12_345
    for horizon in (1, 5):
        low, high = kernel.run(SMALL, weight, bias, horizon, seed, first)
        for lane in (0, 1, 17, kernel.lanes - 1):
            uniform = kernel.uniform(seed, first, 5, lane)
            for start, states in ((0, low), (1, high)):
                twin = coupling.run(
                    [start] * 5, SMALL.edges, weight, bias, SMALL.arrays.order, horizon, uniform
                )
                np.testing.assert_array_equal(states[lane], twin)


@both
def test_a_longer_past_keeps_the_order_and_what_has_met(kernel, rng):
    weight, bias = attractive(GRID, rng, 2.0)
    met, previous = np.zeros(kernel.lanes, dtype=bool), np.zeros((kernel.lanes, 9))
    fractions = []
    for horizon in (1, 2, 4, 8, 16, 64):
        low, high = kernel.run(GRID, weight, bias, horizon, 7)
        assert np.all(low <= high)
        np.testing.assert_array_equal(low[met], previous[met])
        met = (low == high).all(axis=1)
        previous = low
        fractions.append(met.mean())
    assert fractions[0] < 0.5 and fractions[-1] == 1.0


@both
@pytest.mark.parametrize("graph", [SMALL, GRID], ids=["triangle", "grid"])
def test_draws_have_the_enumerated_probabilities(kernel, graph, rng):
    weight, bias = attractive(graph, rng, 1.5)
    x = np.empty((40_000, graph.n_nodes), dtype=np.int8)
    assert kernel.draws(x, weight, bias, graph.arrays, 1024, np.uint64(rng.integers(2**63))) == len(x)
    assert_frequencies(counts_of(x), probabilities(graph, weight, bias))


@both
def test_draws_do_not_depend_on_where_the_doubling_stopped(kernel, rng):
    """The state of a lane that has met is that of any longer past, under the same random numbers."""
    weight, bias = attractive(GRID, rng, 2.0)
    x = np.empty((kernel.lanes, 9), dtype=np.int8)
    assert kernel.draws(x, weight, bias, GRID.arrays, 1024, np.uint64(11)) == kernel.lanes
    low, high = kernel.run(GRID, weight, bias, 500, 11)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_array_equal(x, low)


@both
def test_a_fixed_horizon_is_biased(kernel, rng):
    """Control: the upper chain after one sweep, met or not, fails the test that perfect draws pass."""
    weight, bias = attractive(GRID, rng, 1.5)
    x = np.concatenate(
        [kernel.run(GRID, weight, bias, 1, seed)[1] for seed in range(40_000 // kernel.lanes)]
    )
    assert chi_square_pvalue(counts_of(x), probabilities(GRID, weight, bias)) < 1e-10


def test_new_random_numbers_for_every_horizon_are_biased():
    """Control: the classical mistake, which favours states from which chains meet quickly."""
    weight, bias = np.full(GRID.n_edges, 1.5), np.full(9, -1.2)
    x = []
    for seed in range(200):
        open_lanes, horizon = np.ones(512, dtype=bool), 1
        while open_lanes.any():
            low, high = Packed.run(GRID, weight, bias, horizon, 10**6 * horizon + seed)
            done = open_lanes & (low == high).all(axis=1)
            x.append(low[done])
            open_lanes &= ~done
            horizon *= 2
    counts = counts_of(np.concatenate(x))
    p = probabilities(GRID, weight, bias)
    assert chi_square_pvalue(counts, p) < 1e-10
    right = np.empty((counts.sum(), 9), dtype=np.int8)
    Packed.draws(right, weight, bias, GRID.arrays, 1024, np.uint64(1))
    assert_frequencies(counts_of(right), p)


def test_thresholds_are_rounded_and_monotone(rng):
    weight, bias = attractive(GRID, rng, 3.0)
    bias[0], bias[1] = 900.0, -900.0  # certainty is exact
    thresholds, places = cftp.conditional_thresholds(weight, bias, GRID.arrays)
    for i in range(9):
        own = thresholds[places[i] : places[i + 1]].astype(np.int64)
        edges = GRID.arrays.edge_ids[GRID.arrays.indptr[i] : GRID.arrays.indptr[i + 1]]
        for cell in range(len(own)):
            states = np.array([(cell >> k) & 1 for k in range(len(edges))])
            h = bias[i] + (weight[edges] * states).sum()
            exact = 0.5 * (1 + np.tanh(h / 2))
            assert abs(own[cell] / 2.0**31 - exact) <= 2.0**-32 + 1e-15
            for k in range(len(edges)):
                assert own[cell | (1 << k)] >= own[cell]
    assert set(thresholds[places[0] : places[1]]) == {2**31}
    assert set(thresholds[places[1] : places[2]]) == {0}


@both
def test_strong_fields_are_exact(kernel):
    weight, bias = np.full(SMALL.n_edges, 3.0), np.array([900.0, -900.0, 0.0, 0.0, 900.0])
    x = np.empty((600, 5), dtype=np.int8)
    assert kernel.draws(x, weight, bias, SMALL.arrays, 1024, np.uint64(1)) == 600
    assert np.all(x[:, 0] == 1) and np.all(x[:, 1] == 0) and np.all(x[:, 4] == 1)


@both
def test_the_cap_stops_before_the_block_that_needs_more(kernel, rng):
    weight, bias = attractive(GRID, rng, 1.5)
    x = np.full((5 * kernel.lanes, 9), -1, dtype=np.int8)
    filled = kernel.draws(x, weight, bias, GRID.arrays, 1, np.uint64(1))
    assert filled == 0 and np.all(x == -1)
    strong = np.full(GRID.n_edges, 20.0)
    assert kernel.draws(x, strong, np.full(9, -20.0), GRID.arrays, 64, np.uint64(1)) == 0


@both
def test_a_cap_that_is_no_power_of_two_and_a_part_of_a_block(kernel, rng):
    weight, bias = attractive(GRID, rng)
    whole, part = np.empty((2 * kernel.lanes, 9), np.int8), np.empty((kernel.lanes + 3, 9), np.int8)
    assert kernel.draws(whole, weight, bias, GRID.arrays, 100, np.uint64(5)) == len(whole)
    assert kernel.draws(part, weight, bias, GRID.arrays, 100, np.uint64(5)) == len(part)
    np.testing.assert_array_equal(part, whole[: len(part)])
    # the rows of different blocks come from different random numbers
    assert (whole[: kernel.lanes] != whole[kernel.lanes :]).any()
