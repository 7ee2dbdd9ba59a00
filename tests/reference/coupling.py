"""Plain twin of monotone coupling from the past: one lane, Python integers for the random words.

Written from Propp & Wilson (1996) and, for the words, from SplitMix64 (Steele, Lea & Flood, 2014). The
layout of the random numbers is that of the kernel; nothing else is shared with it.
"""

import math

MASK = 2**64 - 1


def split_mix(seed, counter):
    """Word number `counter` of the sequence."""
    w = (seed + counter * 0x9E3779B97F4A7C15) & MASK
    w = ((w ^ (w >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    w = ((w ^ (w >> 27)) * 0x94D049BB133111EB) & MASK
    return w ^ (w >> 31)


def packed_uniform(seed, first, n_nodes, lane):
    """31-bit random number of node i in the sweep that ends at time -t, for one lane of 512."""

    def number(t, i):
        total = 0
        for bit in range(31):
            word = split_mix(seed, first + ((t * n_nodes + i) * 31 + bit) * 8 + lane // 64)
            total |= ((word >> (lane % 64)) & 1) << bit
        return total / 2**31

    return number


def wide_uniform(seed, first, n_nodes, lane):
    """52-bit random number, for one lane of 32."""

    def number(t, i):
        return (split_mix(seed, first + (t * n_nodes + i) * 32 + lane) // 2**12 + 0.5) / 2**52

    return number


def run(start, edges, weight, bias, order, horizon, uniform):
    """State at time 0 of the chain that is in `start` (d,) at time -horizon."""
    z = list(start)
    for t in range(horizon - 1, -1, -1):
        for i in order:
            h = bias[i]
            for (u, v), w in zip(edges, weight, strict=True):
                if i in (u, v):
                    h += w * z[v if i == u else u]
            z[i] = int(uniform(t, int(i)) < 1 / (1 + math.exp(-h)))
    return z
