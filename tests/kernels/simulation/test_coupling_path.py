"""Counts of agreements along cluster sweeps against enumeration."""

import numpy as np
import pytest

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.coupling_path import agreement_series, agreements, field_series
from tests.reference import enumeration
from tests.statistics import Z, assert_mean_close

EDGES = [(0, 1), (2, 1), (2, 0), (3, 2), (3, 4)]
GRAPH = PairwiseGraph(range(5), EDGES)
WEIGHTS = np.array([0.5, 1.0, 0.0, 2.0, 1.5])


def weight_of_agreements(z):
    return sum(w for (u, v), w in zip(EDGES, WEIGHTS, strict=True) if z[u] == z[v])


def test_weights_of_agreements_are_summed_row_by_row(rng):
    x = rng.integers(3, size=(7, 5)).astype(np.int8)
    out = np.empty(7)
    agreements(x, GRAPH.edges, WEIGHTS, out)
    assert out.tolist() == [weight_of_agreements(z) for z in x]


@pytest.mark.parametrize("n_states", [2, 3])
def test_counts_and_their_means_given_clusters_have_the_enumerated_mean(n_states, rng):
    t, n_chains = 0.9, 4000
    tables = t * WEIGHTS[:, None, None] * np.eye(n_states)
    configs = enumeration.configurations(5, n_states)
    p = enumeration.probabilities(EDGES, tables, np.zeros((5, n_states)))
    agreeing = np.array([weight_of_agreements(z) for z in configs])
    last, at_first = np.empty((2, n_chains)), np.empty(n_chains)
    for c in range(n_chains):
        x, counts, means = np.zeros(5, dtype=np.int8), np.empty(15), np.empty(15)
        agreement_series(x, GRAPH.edges, WEIGHTS, t, n_states, counts, means, rng)
        last[:, c], at_first[c] = (counts[-1], means[-1]), means[0]
    assert counts[-1] == weight_of_agreements(x)
    assert_mean_close(last[0], p @ agreeing)
    assert_mean_close(last[1], p @ agreeing)
    assert last[1].var() < last[0].var()
    # control: chains that have just left the ordered state are told apart
    assert abs(at_first.mean() - p @ agreeing) > Z * at_first.std() / np.sqrt(n_chains)


def test_counts_in_a_field_have_the_enumerated_means(rng):
    t, field, n_chains = 0.9, np.array([0.3, 0.0, -0.4]), 4000
    tables = t * WEIGHTS[:, None, None] * np.eye(3)
    configs = enumeration.configurations(5, 3)
    p = enumeration.probabilities(EDGES, tables, np.tile(field, (5, 1)))
    statistics = [[weight_of_agreements(z), *np.bincount(z, minlength=3)] for z in configs]
    expected = p @ np.array(statistics)
    last, at_first = np.empty((2, n_chains, 4)), np.empty((n_chains, 4))
    for c in range(n_chains):
        x, counts, means = np.full(5, 2, dtype=np.int8), np.empty((15, 4)), np.empty((15, 4))
        field_series(x, GRAPH.edges, WEIGHTS, t, field, counts, means, rng)
        last[:, c], at_first[c] = (counts[-1], means[-1]), means[0]
    assert counts[-1].tolist() == [weight_of_agreements(x), *np.bincount(x, minlength=3)]
    for k in range(4):
        assert_mean_close(last[0, :, k], expected[k])
        assert_mean_close(last[1, :, k], expected[k])
    assert (last[1].var(axis=0) < last[0].var(axis=0)).all()
    # control: chains that have just left the least likely state are told apart
    off = np.abs(at_first.mean(axis=0) - expected)
    assert (off > Z * at_first.std(axis=0) / np.sqrt(n_chains)).all()
