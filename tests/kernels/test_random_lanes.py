"""Lanes of xoshiro256++: against plain Python, seeding, moments."""

import numpy as np
import pytest

from pymc_mrf.kernels import random_lanes
from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, seed_lanes, unit_interval
from tests.reference.packed_gibbs import xoshiro
from tests.statistics import assert_frequencies, assert_mean_close


@jit
def draw_words(state, words):
    for n in range(words.shape[0]):
        for j in range(LANES):
            words[n, j] = next_word(state, j)


@pytest.fixture
def state(rng):
    state = np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    return state


def test_published_sequence():
    # first outputs for the state (1, 2, 3, 4), from the authors' C program
    state = [1, 2, 3, 4]
    assert [xoshiro(state) for _ in range(4)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
    ]


def test_lanes_equal_plain_python(state):
    lanes = [[int(word) for word in state[j::LANES]] for j in range(LANES)]
    words = np.empty((50, LANES), dtype=np.uint64)
    draw_words(state, words)
    expected = [[xoshiro(lane) for lane in lanes] for _ in range(50)]
    np.testing.assert_array_equal(words, np.array(expected, dtype=np.uint64))
    assert [[int(word) for word in state[j::LANES]] for j in range(LANES)] == lanes


def test_step_of_scalars_is_next_word(state):
    s = [state[k * LANES + 3] for k in range(4)]
    word, *after = random_lanes.step(*s)
    assert next_word(state, 3) == word
    assert [state[k * LANES + 3] for k in range(4)] == after


def test_words_are_uniform_and_lanes_independent(state):
    words = np.empty((4000, LANES), dtype=np.uint64)
    draw_words(state, words)
    for bits in (words >> np.uint64(56), words & np.uint64(255)):
        assert_frequencies(np.bincount(bits.astype(int).ravel(), minlength=256), np.full(256, 1 / 256))
    u = np.array([[unit_interval(word) for word in row] for row in words])
    assert u.min() >= 0.0 and u.max() < 1.0
    assert_mean_close(u.ravel(), 0.5)
    assert_mean_close((u[:, 0] - 0.5) * (u[:, 1] - 0.5), 0.0)
    assert_mean_close((u[1:, 0] - 0.5) * (u[:-1, 0] - 0.5), 0.0)


def test_unit_interval_reaches_neither_more_nor_less():
    assert unit_interval(np.uint64(0)) == 0.0
    assert unit_interval(np.uint64(2**64 - 1)) == 1.0 - 2.0**-53


def test_seeding_follows_the_generator_and_never_gives_zero():
    runs = []
    for seed in (1, 1, 2):
        state = np.zeros(STATE_SIZE, dtype=np.uint64)
        seed_lanes(state, np.random.default_rng(seed))
        runs.append(state)
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.all(runs[0] != runs[2])
    assert len(np.unique(runs[0])) == STATE_SIZE


class _Zeros:
    def integers(self, low, high):
        return 0


def test_an_all_zero_lane_is_repaired():
    state = np.ones(STATE_SIZE, dtype=np.uint64)
    seed_lanes.py_func(state, _Zeros())
    assert np.all(state.reshape(4, LANES).any(axis=0))
