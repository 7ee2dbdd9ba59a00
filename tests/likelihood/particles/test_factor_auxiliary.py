"""Auxiliary data sets of factor graphs, counts of their cells, search for possible configurations."""

import itertools

import cloudpickle
import numpy as np
import pytest

from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.kernels.estimates.local_search import make_possible
from pymc_mrf.kernels.factor_cells import count_cells
from pymc_mrf.likelihood.particles.auxiliary import FactorAuxiliarySampler
from tests.marks import slow
from tests.reference import factor_graph as reference
from tests.statistics import ALPHA, assert_frequencies, chi_square_pvalue

SCOPES = [(2, 0), (0, 1, 3), (3,), (3, 2), (4,)]
CARDS = [2, 3, 2, 4, 3]
GRAPH = FactorGraph(SCOPES, CARDS)
STATES = np.array(list(itertools.product(*map(range, CARDS))))
STRIDES = np.cumprod([1, *CARDS[:0:-1]])[::-1]
RING = [(i, (i + 1) % 30) for i in range(30)]
DIFFERENT = np.where(np.eye(2), -np.inf, 0.0)


def tables(rng, hard=False):
    found = [rng.normal(size=shape) for shape in GRAPH.table_shapes]
    if hard:
        found[1][0, 1, :] = -np.inf
        found[3][2, 1] = -np.inf
    return found


def flat(found):
    return np.concatenate([table.ravel() for table in found])


def test_counts_match_a_twin(rng):
    x = (rng.random((7, 5)) * CARDS).astype(np.int8)
    expected = [np.zeros(shape) for shape in GRAPH.table_shapes]
    for z in x:
        for scope, table in zip(SCOPES, expected, strict=True):
            table[tuple(z[v] for v in scope)] += 1
    counts = np.full(sum(t.size for t in expected), 99.0)
    count_cells(x, factor_links(GRAPH), counts)
    np.testing.assert_array_equal(counts, flat(expected))


@pytest.mark.parametrize("method", ["exact", "gibbs"])
@pytest.mark.parametrize("hard", [slow(False), True])
def test_draws_follow_the_field(method, hard, rng):
    sampler = FactorAuxiliarySampler(GRAPH, 8_000, draws=method, n_sweeps=30)
    assert (sampler.draws, sampler.n_sweeps) == (method, 30 if method == "gibbs" else 0)
    expected = []
    for _ in range(2):  # two fields, by the same object
        found = tables(rng, hard)
        p = np.array(list(reference.probabilities(SCOPES, CARDS, found).values()))
        start = np.tile(STATES[p.argmax()].astype(np.int8), (8_000, 1))
        copy = start.copy()
        x = sampler.draw(flat(found), rng, start=start)
        np.testing.assert_array_equal(start, copy)
        counts = np.bincount(x @ STRIDES, minlength=len(p))
        assert_frequencies(counts, p)
        expected.append(p)
    p = np.maximum(expected[0], 1e-6)
    assert chi_square_pvalue(counts, p / p.sum()) < ALPHA  # negative control


def test_one_sweep_does_not_forget_a_frozen_field(rng):
    graph = FactorGraph([(0, 1, 2), (2, 3, 0)], [2] * 4)
    found = np.zeros(16)
    found[[0, 7, 8, 15]] = 9.0
    start = np.zeros((500, 4), dtype=np.int8)
    x = FactorAuxiliarySampler(graph, 500, draws="gibbs", n_sweeps=1).draw(found, rng, start=start)
    assert (x == 0).mean() > 0.95
    x = FactorAuxiliarySampler(graph, 500).draw(found, rng, start=start)
    assert 0.3 < (x == 0).mean() < 0.7


def test_choice_and_bad_options():
    wide = FactorGraph(list(itertools.combinations(range(24), 3)), [2] * 24)
    assert FactorAuxiliarySampler(wide, 3).draws == "gibbs"
    sampler = cloudpickle.loads(cloudpickle.dumps(FactorAuxiliarySampler(GRAPH, 3)))
    assert sampler.draws == "exact"
    with pytest.raises(
        ValueError, match=r'draws="perfect" is for binary pairwise .* but x is a factor graph'
    ):
        FactorAuxiliarySampler(GRAPH, 3, draws="perfect", name="x")
    with pytest.raises(ValueError, match=r"draws must be one of .*, not 'bethe'"):
        FactorAuxiliarySampler(GRAPH, 3, draws="bethe")
    with pytest.raises(ValueError, match="n_sweeps must be a positive integer, not 0"):
        FactorAuxiliarySampler(GRAPH, 3, n_sweeps=0)
    big = FactorGraph(list(itertools.combinations(range(40), 2)), [2] * 40)
    with pytest.raises(ValueError, match="width 39"):
        FactorAuxiliarySampler(big, 3, draws="exact")


def search(graph, found, z, free=None, n_changes=100_000):
    z = np.array(z, dtype=np.int8)
    free = np.ones(len(z), dtype=bool) if free is None else free
    rng = np.random.default_rng(1)
    return make_possible(z, free, flat(found), factor_links(graph), n_changes, rng), z


def test_possible_configurations_are_found():
    """Neighbours on a ring must differ; an exclusive or over three variables."""
    graph = FactorGraph(RING, [2] * 30)
    done, z = search(graph, [DIFFERENT] * 30, np.zeros(30))
    assert done and np.all(z != np.roll(z, 1))
    kept = z.copy()
    assert search(graph, [DIFFERENT] * 30, z)[0]
    np.testing.assert_array_equal(search(graph, [DIFFERENT] * 30, z)[1], kept)
    xor = np.full((2, 2, 2), -np.inf)
    for a, b in itertools.product(range(2), repeat=2):
        xor[a, b, a ^ b] = 3.0
    graph = FactorGraph([(0, 1, 2), (2, 3, 4), (4, 5, 0)], [2] * 6)
    done, z = search(graph, [xor] * 3, [1, 1, 1, 0, 0, 1])
    assert done and all(z[a] ^ z[b] == z[c] for a, b, c in graph.scopes)


def test_searches_end_and_leave_known_variables_alone():
    graph = FactorGraph([(0, 1), (1, 2)], [2, 2, 2])
    free = np.array([False, True, False])
    done, z = search(graph, [DIFFERENT] * 2, [1, 1, 1], free)
    assert done and z.tolist() == [1, 0, 1]
    assert not search(graph, [DIFFERENT] * 2, [0, 1, 1], free, 1000)[0]
    assert not search(graph, [DIFFERENT] * 2, [1, 1, 1], np.zeros(3, dtype=bool))[0]
    triangle = FactorGraph([(0, 1), (1, 2), (2, 0)], [2, 2, 2])
    assert not search(triangle, [DIFFERENT] * 3, [0, 0, 0], n_changes=1000)[0]
