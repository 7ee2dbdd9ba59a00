"""Counts of states along chains: the plain Monte Carlo estimates of Rivasseau (2005, eq. 4.13).

A chain is a bit of a machine word. The counters of 64 chains are P words, one for each binary place, and
adding a sweep is binary addition in all chains at once. Fifteen sweeps, the largest number of four places,
are summed in registers before the counters are read and written once.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels import word_vectors
from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.by_type import by_type
from pymc_mrf.kernels.simulation.pair_counts import population_count
from pymc_mrf.kernels.word_vectors import N_WORDS

SWEEPS_ADDED = 15
"""Sweeps that are added to the counters at once."""

WORD = 64
"""Chains to a word: fewer take as much room."""

_ONE = np.uint64(1)


class Words(NamedTuple):
    """Words `flat` (n,), read one at a time."""

    flat: np.ndarray


class Vectors(NamedTuple):
    """Words `flat` (n,), read `N_WORDS` at a time."""

    flat: np.ndarray


class StateCounters(NamedTuple):
    """States of the sweeps that are counted next, and counters of all chains: see `allocate`.

    All are `Words` or `Vectors`. State 0 is not counted: it has the sweeps that are left.

    Attributes
    ----------
    states : of an array (SWEEPS_ADDED, K - 1, d, W)
        Bit c of word w is set where chain 64 w + c is in the state after that sweep; zero for sweeps that are
        not to be counted.
    nodes : of an array (d, K - 1, P, W)
        Sweeps after which a node is in a state, the lowest binary place first.
    pairs : of an array (r, K - 1, K - 1, P, W)
        Sweeps after which the ends of an edge are in two states.
    room : of an array (1 + K * K, P, W)
        Scratch of `fill_moments`; begins with the counter of what is true of all chains after each sweep.
    sums : of an array (2, width)
        Scratch.
    n_nodes, n_states, n_places, n_words : int
        d, K, P, W.
    width : int
        Words that are read at a time.
    """

    states: Words | Vectors
    nodes: Words | Vectors
    pairs: Words | Vectors
    room: Words | Vectors
    sums: Words | Vectors
    n_nodes: int
    n_states: int
    n_places: int
    n_words: int
    width: int


def n_places(n_sweeps: int) -> int:
    """Binary places of counters of so many sweeps, P."""
    return max(SWEEPS_ADDED, n_sweeps).bit_length()


def counter_sizes(n_nodes: int, n_edges: int, n_states: int, n_sweeps: int) -> tuple[int, int, int, int]:
    """Machine words that the first four of `StateCounters` take for each word of chains."""
    k, P = n_states - 1, n_places(n_sweeps)
    return SWEEPS_ADDED * k * n_nodes, n_nodes * k * P, n_edges * k * k * P, (1 + n_states**2) * P


def allocate(n_nodes: int, n_edges: int, n_states: int, n_chains: int, n_sweeps: int) -> StateCounters:
    """Counters at zero."""
    W, P = -(-n_chains // WORD), n_places(n_sweeps)
    live = np.array([2 ** min(WORD, n_chains - WORD * w) - 1 for w in range(W)], dtype=np.uint64)
    all_sweeps = (n_sweeps >> np.arange(P) & 1).astype(np.uint64)[:, None] * live
    width = 1 if W % N_WORDS else N_WORDS
    kind = Words if width == 1 else Vectors
    sizes = *(W * size for size in counter_sizes(n_nodes, n_edges, n_states, n_sweeps)), 2 * width
    states, nodes, pairs, room, sums = (kind(np.zeros(size, dtype=np.uint64)) for size in sizes)
    room.flat[: P * W] = all_sweeps.ravel()
    return StateCounters(states, nodes, pairs, room, sums, n_nodes, n_states, P, W, width)


def node_counts(counters: StateCounters, n_chains: int) -> np.ndarray:
    """Sweeps after which each node of each chain is in the states 1..K-1, (d, K - 1, m)."""
    d, K, P, W = counters.n_nodes, counters.n_states, counters.n_places, counters.n_words
    octets = counters.nodes.flat.reshape(d, K - 1, P, W).view(np.uint8)
    bits = np.unpackbits(octets, axis=-1, count=n_chains, bitorder="little")
    return np.einsum("iapc,p->iac", bits, 2 ** np.arange(P))


@by_type
def read(array: Any, k: Any) -> Any:
    """Words of `array` from place `k` on."""


@read.register(Words)
def read_word(array, k):
    """Read one of them."""
    return array.flat[np.uint64(k)]  # signed places may count from the end, which takes time


@read.register(Vectors)
def read_vector(array, k):
    """Read a vector of them."""
    return word_vectors.load(array.flat, k)


@by_type
def write(array: Any, k: Any, words: Any) -> Any:
    """Write what `read` has read, or made of it, to place `k`."""


@write.register(Words)
def write_word(array, k, words):
    """Write one word."""
    array.flat[np.uint64(k)] = words


@write.register(Vectors)
def write_vector(array, k, words):
    """Write a vector of words."""
    word_vectors.store(array.flat, k, words)


@lean
def add_bits(a, b, c):
    """Add three bits; the sum's lower and its higher place."""
    either = a ^ b
    return either ^ c, (a & b) | (either & c)


@lean
def add_number(counters, array, place, number):
    """Add a number of four binary places to the counter at `place` of `array`."""
    ones, twos, fours, eights = number
    old = read(array, place)
    write(array, place, old ^ ones)
    carry = old & ones
    for word in (twos, fours, eights):
        place += counters.n_words
        total, carry = add_bits(read(array, place), word, carry)
        write(array, place, total)
    for _ in range(4, counters.n_places):
        place += counters.n_words
        old = read(array, place)
        write(array, place, old ^ carry)
        carry = old & carry


@lean
def both_set(states, u, v):
    """Return the chains whose bits at the places `u` and `v` of `states` are both set."""
    return read(states, u) & read(states, v)


@lean
def sum_three(states, u, v, sweep):
    """Count the sweeps, of three `sweep` words apart, after which the bits at `u` and `v` are both set."""
    return add_bits(
        both_set(states, u, v),
        both_set(states, u + sweep, v + sweep),
        both_set(states, u + 2 * sweep, v + 2 * sweep),
    )


@lean
def sum_seven(states, u, v, sweep):
    """Count those of seven sweeps."""
    ones_1, twos_1 = sum_three(states, u, v, sweep)
    ones_2, twos_2 = sum_three(states, u + 3 * sweep, v + 3 * sweep, sweep)
    ones, carry = add_bits(ones_1, ones_2, both_set(states, u + 6 * sweep, v + 6 * sweep))
    twos, fours = add_bits(twos_1, twos_2, carry)
    return ones, twos, fours


@lean
def sum_fifteen(states, u, v, sweep):
    """Count those of fifteen sweeps."""
    ones_1, twos_1, fours_1 = sum_seven(states, u, v, sweep)
    ones_2, twos_2, fours_2 = sum_seven(states, u + 7 * sweep, v + 7 * sweep, sweep)
    ones, carry = add_bits(ones_1, ones_2, both_set(states, u + 14 * sweep, v + 14 * sweep))
    twos, carry = add_bits(twos_1, twos_2, carry)
    fours, eights = add_bits(fours_1, fours_2, carry)
    return ones, twos, fours, eights


@lean
def count_states(counters, edges):
    """Add the states of `StateCounters` to its counters; `edges` (r, 2) integers."""
    states, nodes, pairs, W = counters.states, counters.nodes, counters.pairs, counters.n_words
    n_counted, state, size = counters.n_states - 1, counters.n_nodes * W, counters.n_places * W
    sweep = n_counted * state
    for w in range(0, W, counters.width):
        place = w
        for i in range(counters.n_nodes):
            for a in range(n_counted):
                u = a * state + i * W + w
                add_number(counters, nodes, place, sum_fifteen(states, u, u, sweep))
                place += size
        place = w
        for e in range(edges.shape[0]):
            for a in range(n_counted):
                u = a * state + edges[e, 0] * W + w
                for b in range(n_counted):
                    v = b * state + edges[e, 1] * W + w
                    add_number(counters, pairs, place, sum_fifteen(states, u, v, sweep))
                    place += size


@lean
def copy(counters, array, i, j):
    """Copy the counter at place `i` of `array` to counter `j` of the room."""
    size = counters.n_places * counters.n_words
    for k in range(0, size, counters.width):
        write(counters.room, j * size + k, read(array, i + k))


@lean
def subtract(counters, array, i, j):
    """Take the counts at place `i` of `array` from those of counter `j` of the room, no smaller ones."""
    W, size = counters.n_words, counters.n_places * counters.n_words
    for w in range(0, W, counters.width):
        borrow = read(array, i) ^ read(array, i)
        for k in range(w, size, W):
            more, less = read(counters.room, j * size + k), read(array, i + k)
            differs = more ^ less
            write(counters.room, j * size + k, differs ^ borrow)
            borrow = (~more & less) | (~differs & borrow)


@lean
def sum_and_squares(counters, place):
    """Return the sum over chains of the counts at `place` of the room, and of their squares."""
    array, sums = counters.room, counters.sums
    W, size = counters.n_words, counters.n_places * counters.n_words
    total = squares = read(array, place) ^ read(array, place)
    for w in range(0, W, counters.width):
        power = np.uint64(0)
        for p in range(place + w, place + w + size, W):
            word = read(array, p)
            n = population_count(word)
            total = total + (n << power)
            shift = _ONE
            for q in range(p + W, place + w + size, W):
                shift += _ONE
                n = n + (population_count(word & read(array, q)) << shift)
            squares = squares + (n << (power + power))
            power += _ONE
    write(sums, 0, total)
    write(sums, counters.width, squares)
    first, second = 0.0, 0.0
    for k in range(counters.width):
        first += sums.flat[k]
        second += sums.flat[counters.width + k]
    return first, second


@lean
def fill_moments(counters, edges, n_chains, n_sweeps, node_moments, pair_moments):
    """Moments over chains of the shares of sweeps in all states.

    Parameters
    ----------
    counters : StateCounters
    edges : (r, 2) integer array
    n_chains, n_sweeps : int
        That were counted.
    node_moments : (2, d, K) array
        Mean, and sum of squared deviations, on return.
    pair_moments : (2, r, K, K) array
    """
    nodes, pairs, room = counters.nodes, counters.pairs, counters.room
    K, size = counters.n_states, counters.n_places * counters.n_words
    own = (K - 1) * size
    for i in range(counters.n_nodes):
        copy(counters, room, 0, 1)
        for a in range(1, K):
            copy(counters, nodes, i * own + (a - 1) * size, 1 + a)
            subtract(counters, nodes, i * own + (a - 1) * size, 1)
        fill_row(counters, 1, n_chains, n_sweeps, node_moments[:, i])
    for e in range(edges.shape[0]):
        place, u, v = e * (K - 1) * own, edges[e, 0] * own, edges[e, 1] * own
        copy(counters, room, 0, 1)
        for b in range(1, K):
            copy(counters, nodes, v + (b - 1) * size, 1 + b)
            subtract(counters, nodes, v + (b - 1) * size, 1)
        for a in range(1, K):
            copy(counters, nodes, u + (a - 1) * size, 1 + a * K)
            for b in range(1, K):
                copy(counters, pairs, place, 1 + a * K + b)
                subtract(counters, pairs, place, 1 + a * K)
                subtract(counters, pairs, place, 1 + b)
                place += size
            subtract(counters, room, (1 + a * K) * size, 1)
        for a in range(K):
            fill_row(counters, 1 + a * K, n_chains, n_sweeps, pair_moments[:, e, a])


@lean
def fill_row(counters, first, n_chains, n_sweeps, row):
    """Mean and sum of squared deviations of shares, `row` (2, K), from counter `first` of the room on."""
    size = counters.n_places * counters.n_words
    for a in range(row.shape[1]):
        total, squares = sum_and_squares(counters, (first + a) * size)
        mean = total / n_chains
        row[0, a] = mean / n_sweeps
        row[1, a] = max(squares - mean * total, 0.0) / n_sweeps**2
