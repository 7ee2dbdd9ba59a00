"""Moments of chains that come in batches."""

import numpy as np
import pytest

from pymc_mrf.fields import methods as mc
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders


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


@pytest.mark.parametrize(("n_bytes", "sizes"), [(1, [512, 188]), (3, [333, 333, 34]), (5000, [1] * 700)])
def test_batches_fill_memory(n_bytes, sizes, monkeypatch):
    monkeypatch.setattr(mc, "MOST_BYTES", 1000)
    found = []

    def run(x):
        found.append(len(x))
        return mc.moments(x, 1, 0), mc.moments(x, 1, 0)

    mc.estimates(lambda m: np.ones((m, 2)), run, n_bytes, 700)
    assert found == sizes
