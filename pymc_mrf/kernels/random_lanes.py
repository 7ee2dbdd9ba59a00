"""Independent lanes of xoshiro256++ (Blackman & Vigna, 2021), for kernels that draw many words at once.

The generators live in one flat array that the caller owns and hands on, so that there is no global
state: word k of lane j of L is ``state[k * L + j]``, k = 0..3. With L = `LANES`, a loop
``for j in range(LANES)`` over `next_word(state, j)` compiles to vector instructions, because the distance
of the words is a constant; with vectors of words (`kernels.word_vectors`), call `step` on four of them.

>>> state = np.empty(STATE_SIZE, dtype=np.uint64)
>>> seed_lanes(state, rng)                     # from a numpy Generator
>>> for j in range(LANES):
...     words[j] = next_word(state, j)         # 64 random bits
...     u = unit_interval(next_word(state, j)) # a double in [0, 1)

Seeding draws all 256 bits of every lane from the numpy Generator, so lanes are as independent as its
output; with 2 ** 256 - 1 states each, two lanes overlap with negligible probability. Not implemented:
jumps.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit

LANES = 16
"""Generators side by side: two AVX-512 vectors, four AVX2 vectors."""

STATE_SIZE = 4 * LANES
"""Length of the state array of `next_word`."""


@jit
def seed_lanes(state, rng):
    """Fill `state` (4 L,) uint64, L lanes, from the numpy Generator `rng`; no lane is all zero."""
    for k in range(state.shape[0]):
        high = np.uint64(rng.integers(0, 1 << 32))
        low = np.uint64(rng.integers(0, 1 << 32))
        state[k] = (high << np.uint64(32)) | low
    n_lanes = state.shape[0] // 4
    for j in range(n_lanes):
        # the all-zero state is the one that xoshiro never leaves
        if not (state[j] | state[n_lanes + j] | state[2 * n_lanes + j] | state[3 * n_lanes + j]):
            state[j] = np.uint64(1)


@jit
def rotate_left(word, bits):
    """Rotate `word`, uint64 or vector of words, to the left by `bits`, 1..63."""
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@jit
def step(s0, s1, s2, s3):
    """Return 64 random bits and the next state; all uint64, or all vectors of words."""
    word = rotate_left(s0 + s3, 23) + s0
    t = s1 << np.uint64(17)
    s2 = s2 ^ s0
    s3 = s3 ^ s1
    s1 = s1 ^ s2
    s0 = s0 ^ s3
    return word, s0, s1, s2 ^ t, rotate_left(s3, 45)


@jit
def next_word(state, j):
    """Advance lane `j` (0..LANES-1) of `state` (STATE_SIZE,) and return 64 random bits as a uint64."""
    s0, s1, s2, s3 = state[j], state[LANES + j], state[2 * LANES + j], state[3 * LANES + j]
    word, s0, s1, s2, s3 = step(s0, s1, s2, s3)
    state[j], state[LANES + j], state[2 * LANES + j], state[3 * LANES + j] = s0, s1, s2, s3
    return word


@jit
def unit_interval(word):
    """Double in [0, 1) from the upper 53 bits of a uint64."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53
