"""Conditional probabilities of nodes in the rows of the data, given all other nodes or the rows before.

A node is in state a with log odds beta_i(a) + sum_l F_il(a) L_il in a row, L_il = sum_j w_ij Z_ijl its local
fields, one for each feature F_il of `questions.Field`, Z_ijl = F_jl(x_j) - c_ijl those of its *sources*,
c_ij the `Field.centre`, and beta_i(a) its centred biases.

Rows that are equal are counted, not repeated, each with the weight of a conditional. Those that occur once
come first: they have the same count, that weight, and of them a logarithm is taken of the product of many
normalisers. Arrays over rows are stored node by node, padded to a multiple of 8 by rows that occur 0 times.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean, lean_summing
from pymc_mrf.kernels.vector_sums import (
    LOWEST,
    copy,
    dot,
    dot_positive,
    dot_square,
    dot_three,
    exp_negative,
    product,
    total,
    weighted_logs,
)

LANES = 8
CHUNK = 512  # rows whose factors 1 + exp(-|L|) <= 2 are multiplied before a logarithm is taken
CHUNK_OF_STATES = 128  # as many for factors up to 127, the largest number of states


class Rows(NamedTuple):
    """Different rows of the data of each of B blocks.

    Attributes
    ----------
    T : (d, M, N) array
        Features of the nodes.
    S : (D, M, N) array
        Features of all sources: the nodes, then nodes of earlier rows, if there are arrows.
    given : (d, M, N) array, or (0, M, N) if there are none
        Local fields that no edge changes.
    block : (d,) int64 array
        Of each node.
    size, once : (B,) int64 arrays
        Rows with padding, and those that occur once, which come first.
    n, inverse : (B, N) arrays
        How often each row occurs, times the weight of a conditional, and one over that; 0 in padding.
    total : (B,) array
        Sums of `n`.
    seen : (d, M) array
        Sums over rows of the features of the nodes, times counts.
    """

    T: np.ndarray
    S: np.ndarray
    given: np.ndarray
    block: np.ndarray
    size: np.ndarray
    once: np.ndarray
    n: np.ndarray
    inverse: np.ndarray
    total: np.ndarray
    seen: np.ndarray


class BinaryRoom(NamedTuple):
    """Scratch over rows for two states and one feature: one exponential in a row.

    Attributes
    ----------
    P : (2, N) array
        Scores of the states, for who asks for them.
    top, factor : (N,) arrays
        Log odds of the second state, and one over the probability of the more probable one, after
        `normaliser`.
    variance : (N,) array
        Of the second state, times counts, after `node_terms`.
    """

    P: np.ndarray
    top: np.ndarray
    factor: np.ndarray
    variance: np.ndarray


class Room(NamedTuple):
    """Scratch over rows for any states and features.

    Attributes
    ----------
    P : (K, N) array
        Probabilities of states times counts, after `normaliser`.
    top, z, first, second : (N,) arrays
    """

    P: np.ndarray
    top: np.ndarray
    z: np.ndarray
    first: np.ndarray
    second: np.ndarray


def allocate_rows(d: int, D: int, M: int, N: int, block: np.ndarray, expects: bool = False) -> Rows:
    """Room for up to N rows of D columns with M features, d of them nodes, those of each `block` (d,).

    If it `expects` neighbours, these are not the nodes themselves in all rows.
    """
    n_blocks, S = int(block.max(initial=0)) + 1, np.zeros((D, M, N))
    size, once = np.zeros((2, n_blocks), dtype=np.int64)
    T, given = (np.zeros((d, M, N)), np.zeros((d, M, N))) if expects else (S[:d], np.zeros((0, M, N)))
    counts = *np.zeros((2, n_blocks, N)), np.zeros(n_blocks), np.zeros((d, M))
    return Rows(T, S, given, block, size, once, *counts)


def allocate_room(M: int, K: int, N: int) -> BinaryRoom | Room:
    """Room for N rows of nodes with M features and K states."""
    if (M, K) == (1, 2):
        return BinaryRoom(np.zeros((2, N)), *np.zeros((3, N)))
    return Room(np.zeros((K, N)), *np.zeros((4, N)))


@lean
def rows_of_node(rows, i):
    """Rows of node i with padding."""
    return rows.size[rows.block[i]]


@lean
def sum_logs(z, n, once, chunk):
    """Sum n log(z), `z` and `n` (N,), z >= 1; in the first `once`, multiplied by `chunk`, n is n[0]."""
    value = 0.0
    for start in range(0, once, chunk):
        value += np.log(product(z[start : min(start + chunk, once)]))
    return n[0] * value + weighted_logs(n[once:], z[once:])


@lean
def fill_scores(table, F, L, P, top):
    """Log potentials `P` (K, N) of states, table + F' L, and the largest, `top` (m,), of the first m rows.

    `table` (K,), features `F` (M, K), local fields `L` (M, N).
    """
    m = top.shape[0]
    for a in range(P.shape[0]):
        for j in range(m):
            P[a, j] = table[a]
        for l in range(L.shape[0]):
            if F[l, a] != 0.0:
                for j in range(m):
                    P[a, j] += F[l, a] * L[l, j]
    copy(P[0, :m], top)
    for a in range(1, P.shape[0]):
        for j in range(m):
            top[j] = max(top[j], P[a, j])


@lean
def fill_probabilities(table, F, L, n, once, P, top, z):
    """Probabilities of the states times counts, into `P` (K, N); the sum over m rows of the log normaliser.

    `table` (K,), features `F` (M, K), local fields `L` (M, N), counts `n` (m,), of which the first `once`
    are the same; `top` and `z` (m,) are scratch. Arrays of two axes are whole, which is faster than a part
    of them.
    """
    m = n.shape[0]
    fill_scores(table, F, L, P, top)
    for j in range(m):
        z[j] = 0.0
    for a in range(P.shape[0]):
        for j in range(m):
            P[a, j] = exp_negative(max(P[a, j] - top[j], LOWEST))
            z[j] += P[a, j]
    A = dot(n, top) + sum_logs(z, n, once, CHUNK_OF_STATES)
    for j in range(m):
        z[j] = n[j] / z[j]
    for a in range(P.shape[0]):
        for j in range(m):
            P[a, j] *= z[j]
    return A


@lean_summing
def mean_product(T, R, S, Q, n, inverse):
    """Sum of (n T - R) (n S - Q) / n over rows: of the conditional means of two features.

    `T` and `S` (N,): features; `R` and `Q` (N,): residuals; `n` (N,) and `inverse` (N,): counts, and 1 / n.
    """
    value = 0.0
    for j in range(T.shape[0]):
        value += n[j] * T[j] * S[j] - T[j] * Q[j] - R[j] * S[j] + R[j] * Q[j] * inverse[j]
    return value


@by_type
def normaliser_in(room: Any, view: Any, i: int, L: Any) -> Any:
    """Answer `normaliser`, with scratch in the view's `room`."""


@by_type
def fill_terms(room: Any, view: Any, i: int, R: Any, p: Any, v: Any, C: Any) -> Any:
    """Answer `node_terms`, from what `normaliser_in` left in the view's `room`."""


@by_type
def information_in(room: Any, view: Any, i: int, S: Any, c: Any) -> Any:
    """Answer `information`, from what `fill_terms` left in the view's `room`."""


@lean
def normaliser(view, i, L):
    """Sum over rows of the log normaliser of node i at local fields `L` (M, N)."""
    return normaliser_in(view.room, view, i, L)


@lean
def node_terms(view, i, L, R, p, v, C):
    """Terms of node i at local fields `L` (M, N); the sum over rows of the log normaliser.

    Into `R` (M, N), `p` and `v` (K,) and `C` (M, M), which are as of `NodeTerms`. What `information` needs is
    left in the room for work.
    """
    A = normaliser(view, i, L)
    fill_terms(view.room, view, i, R, p, v, C)
    return A


@lean
def information(view, i, S, c):
    """Information of node i, after `node_terms`, about x, by which its local fields grow by x (S - c).

    `S` (M, N): features of a source; `c` (M,): what is taken from them.
    """
    return information_in(view.room, view, i, S, c)


@normaliser_in.register(BinaryRoom)
def binary_normaliser(room, view, i, L):
    """Answer for two states and one feature, `L` (1, N)."""
    F, rows, table = view.field.features[i], view.rows, view.tables[i]
    block = rows.block[i]
    N, once = rows.size[block], rows.once[block]
    n, own, l, factor = rows.n[block, :N], L[0, :N], room.top[:N], room.factor[:N]
    gap, step, low = table[1] - table[0], F[0, 1] - F[0, 0], F[0, 0]
    for j in range(N):
        odds = gap + step * own[j]
        l[j] = odds
        factor[j] = 1.0 + exp_negative(max(-abs(odds), LOWEST))
    A = rows.total[block] * table[0] + dot_positive(n, l) + sum_logs(factor, n, once, CHUNK)
    if low != 0.0:
        A += low * dot(n, own)
    return A


@fill_terms.register(BinaryRoom)
def binary_terms(room, view, i, R, p, v, C):
    """Answer for two states and one feature: `R` (1, N), `p` and `v` (2,), and `C` (1, 1)."""
    F, rows = view.field.features[i], view.rows
    block = rows.block[i]
    N, n_rows = rows.size[block], rows.total[block]
    n, T, rest = rows.n[block, :N], rows.T[i, 0, :N], R[0, :N]
    step, low = F[0, 1] - F[0, 0], F[0, 0]
    l, factor, V = room.top[:N], room.factor[:N], room.variance[:N]
    for j in range(N):
        q = 1.0 / factor[j]
        one = q if l[j] >= 0.0 else 1.0 - q
        rest[j] = n[j] * (T[j] - low - step * one)
        V[j] = n[j] * (q * (1.0 - q))
    p[1] = (rows.seen[i, 0] - n_rows * low - total(rest)) / step
    p[0] = n_rows - p[1]
    v[0] = total(V)
    v[1] = v[0]
    C[0, 0] = step * step * v[0]


@information_in.register(BinaryRoom)
def binary_information(room, view, i, S, c):
    """Answer for two states and one feature, `S` (1, N) and `c` (1,)."""
    F, N = view.field.features[i], rows_of_node(view.rows, i)
    step = F[0, 1] - F[0, 0]
    return step * step * dot_square(room.variance[:N], S[0, :N], c[0])


@normaliser_in.register(Room)
def state_normaliser(room, view, i, L):
    """Answer for any states, `L` (M, N)."""
    rows, block = view.rows, view.rows.block[i]
    N, once = rows.size[block], rows.once[block]
    n, top, z = rows.n[block, :N], room.top[:N], room.z[:N]
    return fill_probabilities(view.tables[i], view.field.features[i], L, n, once, room.P, top, z)


@fill_terms.register(Room)
def state_terms(room, view, i, R, p, v, C):
    """Answer for any states: `R` (M, N), `p` and `v` (K,), and `C` (M, M)."""
    F, rows = view.field.features[i], view.rows
    block, (M, K) = rows.block[i], F.shape
    N = rows.size[block]
    n, inverse = rows.n[block, :N], rows.inverse[block, :N]
    P, T = room.P, rows.T[i]
    for l in range(M):
        for j in range(N):
            R[l, j] = n[j] * T[l, j]
    for a in range(K):
        p[a] = total(P[a, :N])
        v[a] = p[a] - dot_three(P[a, :N], P[a, :N], inverse)
        for l in range(M):
            if F[l, a] != 0.0:
                for j in range(N):
                    R[l, j] -= F[l, a] * P[a, j]
    for l in range(M):
        for k in range(l + 1):
            moment = 0.0
            for a in range(K):
                moment += F[l, a] * F[k, a] * p[a]
            C[l, k] = moment - mean_product(T[l, :N], R[l, :N], T[k, :N], R[k, :N], n, inverse)
            C[k, l] = C[l, k]


@information_in.register(Room)
def state_information(room, view, i, S, c):
    """Answer for any states, `S` (M, N) and `c` (M,)."""
    F, rows = view.field.features[i], view.rows
    (M, K), N = F.shape, rows_of_node(rows, i)
    P, first, second, g = room.P, room.first[:N], room.second[:N], room.top
    for j in range(N):
        first[j], second[j] = 0.0, 0.0
    for a in range(K):
        for j in range(N):
            g[j] = 0.0
        for l in range(M):
            if F[l, a] != 0.0:
                for j in range(N):
                    g[j] += F[l, a] * (S[l, j] - c[l])
        for j in range(N):
            first[j] += P[a, j] * g[j]
            second[j] += P[a, j] * g[j] * g[j]
    return total(second) - dot_three(first, first, rows.inverse[rows.block[i], :N])
