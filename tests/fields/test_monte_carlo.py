"""Moments of chains that come in batches."""

import numpy as np
import pytest

from pymc_mrf.fields import monte_carlo as mc
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.kernels.simulation.state_counts import WORD, allocate, counter_sizes


def test_batches_are_pooled(rng):
    sums = 100.0 + rng.normal(size=(13, 4))
    whole = mc.moments(sums.copy(), 50, 0)
    parts = mc.pooled(mc.moments(sums[:4].copy(), 50, 0), mc.moments(sums[4:].copy(), 50, 0))
    assert parts.n == whole.n == 13
    np.testing.assert_allclose(parts.mean, sums.mean(axis=0) / 50)
    np.testing.assert_allclose(parts.squares, whole.squares)
    np.testing.assert_allclose(
        parts.standard_error(), (sums / 50).std(axis=0, ddof=1) / np.sqrt(13), rtol=1e-9
    )


def test_marginals_from_several_batches(monkeypatch, rng):
    graph = builders.grid(2, 3)
    field = PairwiseField(graph, rng.normal(size=(graph.n_edges, 3, 3)), rng.normal(size=(6, 3)))
    exact = field.marginals().nodes
    monkeypatch.setattr(mc, "MOST_CHAINS", 30)
    for method in ("gibbs", "tree"):
        found = field.marginals(method, n_chains=100, rng=rng)
        assert np.abs((found.nodes - exact) / found.standard_error.nodes).max() < 5.0


@pytest.mark.parametrize(
    ("n_bytes", "together", "sizes"),
    [
        (64, 64, [512, 188]),
        (3, 1, [333, 333, 34]),
        (192, 64, [320, 320, 60]),
        (5000, 64, [64] * 10 + [60]),
    ],
)
def test_batches_fill_memory_and_words(n_bytes, together, sizes, monkeypatch):
    monkeypatch.setattr(mc, "MOST_BYTES", 1000)
    found = []

    def run(x):
        found.append(len(x))
        return mc.moments(x, 1, 0), mc.moments(x, 1, 0)

    mc.estimates(lambda m: np.ones((m, 2)), run, n_bytes, 700, together)
    assert found == sizes


def test_sizes_of_counters_are_known():
    graph = builders.grid(3, 4)
    counters = allocate(12, graph.n_edges, 3, WORD, 200)
    sizes = [a.flat.size for a in (counters.states, counters.nodes, counters.pairs, counters.room)]
    assert sizes == [15 * 2 * 12, 12 * 2 * 8, graph.n_edges * 4 * 8, 10 * 8]
    assert sizes == list(counter_sizes(12, graph.n_edges, 3, 200))
