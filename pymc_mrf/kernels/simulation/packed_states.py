"""States of many binary chains as bits of machine words, one word for 64 chains, and back.

The state of node i in chain 64 w + b is bit b of ``z[i, w]``. `packed_gibbs` moves chains in this form, and
`pair_counts` counts them.
"""

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.word_vectors import N_WORDS

BLOCK = 64 * N_WORDS
"""Chains moved together: the number of chains is padded to a multiple."""


def n_words(n_chains: int) -> int:
    """Words per node for this number of chains: a multiple of N_WORDS."""
    return -(-n_chains // BLOCK) * N_WORDS


@jit
def pack(x, z):
    """Write the states `x` (m, d) int8 in {0, 1} into `z` (d, W) uint64; missing chains are zero."""
    m, d = x.shape
    octets, column = np.empty((8, d), dtype=np.uint8), np.empty(d, dtype=np.uint64)
    for w in range(z.shape[1]):
        octets[:] = 0
        for b in range(min(64, m - 64 * w)):
            row, octet = x[64 * w + b], octets[b >> 3]
            bit = np.uint8(1 << (b & 7))
            for i in range(d):
                octet[i] |= np.uint8(-row[i]) & bit  # byte arithmetic: 64 nodes to a vector
        column[:] = 0
        for o in range(8):
            octet = octets[o]
            for i in range(d):
                column[i] |= np.uint64(octet[i]) << np.uint64(8 * o)
        for i in range(d):
            z[i, w] = column[i]


@jit
def unpack(z, x):
    """Write the first m chains of `z` (d, W) uint64 into `x` (m, d) int8."""
    m, d = x.shape
    octets, column = np.empty((8, d), dtype=np.uint8), np.empty(d, dtype=np.uint64)
    for w in range((m + 63) // 64):
        for i in range(d):
            column[i] = z[i, w]
        for o in range(8):
            octet = octets[o]
            for i in range(d):
                octet[i] = np.uint8(column[i] >> np.uint64(8 * o))
        for b in range(min(64, m - 64 * w)):
            row, octet = x[64 * w + b], octets[b >> 3]
            bit = np.uint8(1 << (b & 7))
            for i in range(d):
                row[i] = 1 if np.uint8(octet[i] & bit) else 0


@jit
def pack_columns(x, z):
    """Pack states `x` (d, m) with one chain per column into `z` (d, W), as `pack` does."""
    d, m = x.shape
    for i in range(d):
        for w in range(z.shape[1]):
            word = np.uint64(0)
            for b in range(min(64, m - 64 * w)):
                word |= np.uint64(x[i, 64 * w + b]) << np.uint64(b)
            z[i, w] = word


@jit
def unpack_columns(z, x):
    """Unpack `z` (d, W) into states `x` (d, m) with one chain per column, as `unpack` does."""
    d, m = x.shape
    for i in range(d):
        for w in range((m + 63) // 64):
            word = z[i, w]
            for b in range(min(64, m - 64 * w)):
                x[i, 64 * w + b] = np.int8((word >> np.uint64(b)) & np.uint64(1))
