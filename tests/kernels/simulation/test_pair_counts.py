"""Counts of state pairs, packed and by rows."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.kernels.simulation import packed_states
from pymc_mrf.kernels.simulation.pair_counts import pair_counts, pair_counts_packed, population_count


def test_population_counts(rng):
    words = [0, 1, 2**63, 2**64 - 1, *rng.integers(0, 2**64, size=100, dtype=np.uint64).tolist()]
    assert [int(population_count(np.uint64(w))) for w in words] == [w.bit_count() for w in words]


@pytest.mark.parametrize("m", [1, 64, 513, 1000])
def test_packed_counts_are_counts_of_rows(m, rng):
    graph = builders.grid(3, 3)
    x = (rng.random((m, 9)) < 0.3).astype(np.int8)
    z = np.empty((9, packed_states.n_words(m)), dtype=np.uint64)
    packed_states.pack(x, z)
    rows, packed = np.empty((2, graph.n_edges, 2, 2), dtype=np.int64)
    pair_counts(x, graph.edges, rows)
    pair_counts_packed(z, m, graph.edges, packed)
    np.testing.assert_array_equal(packed, rows)
    for e, (u, v) in enumerate(graph.edges):
        assert rows[e, 1, 0] == np.sum((x[:, u] == 1) & (x[:, v] == 0))
    assert np.all(rows.sum((1, 2)) == m)
