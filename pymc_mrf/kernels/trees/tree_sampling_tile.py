"""Messages of a tile of T chains, so that the loop over chains is the innermost: odds and probabilities.

Auxiliary data of `Exchange` of 4 to 16 rows, and marginals by trees: on a 32 x 32 grid 16 chains take one
sixth of the CPU time of single ones by odds, two fifths by probabilities of three states; 64 take one
seventh and three tenths. By probabilities instead of odds binary fields take 2.5 to 3 times as long.

The states of the chains are `z` (d, T) uint8. Loops are spelt out where array expressions would do: these
take numba seconds to compile.
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, seed_lanes, unit_interval
from pymc_mrf.kernels.trees.tree_messages import absorb, begin, draw, send
from pymc_mrf.kernels.trees.tree_potentials import table_of

TILE = 64
"""Chains moved together."""

BUFFER = 8 * TILE
"""Uniform random numbers made at once, at least."""


class Uniforms(NamedTuple):
    """Uniform random numbers: `u` (n,), of which `used` (1,) are used; `state` of `random_lanes`."""

    u: np.ndarray
    used: np.ndarray
    state: np.ndarray


class TileOdds(NamedTuple):
    """`odds` (p, T) of state 1, by tables `ratio` (1 or r,) and `base` (d, 1 or m), and `uniforms`."""

    odds: np.ndarray
    ratio: np.ndarray
    base: np.ndarray
    uniforms: Uniforms


class TileScaled(NamedTuple):
    """`nu` (p, K, T) proportional to probabilities, and room `message` and `total` (T,).

    By tables `psi` (1 or r, 2, K, K) and `phi` (d, K, 1 or m), and `uniforms`.
    """

    nu: np.ndarray
    psi: np.ndarray
    phi: np.ndarray
    uniforms: Uniforms
    message: np.ndarray
    total: np.ndarray


def seeded_uniforms(rng: np.random.Generator, T: int) -> Uniforms:
    """Numbers for T chains, made when they are needed, from generators seeded by `rng`."""
    state = np.empty(STATE_SIZE, dtype=np.uint64)
    seed_lanes(state, rng)
    n = max(BUFFER, -(-T // LANES) * LANES)
    return Uniforms(np.empty(n), np.full(1, n), state)


def tile_odds(ratio: np.ndarray, base: np.ndarray, p: int, T: int, uniforms: Uniforms) -> TileOdds:
    """Room for the messages of p nodes by `ratio` (1 or r,) and `base` (d, 1 or m)."""
    return TileOdds(np.empty((p, T)), ratio, base, uniforms)


def tile_scaled(psi: np.ndarray, phi: np.ndarray, p: int, T: int, uniforms: Uniforms) -> TileScaled:
    """Room for the messages of p nodes by `psi` (1 or r, 2, K, K) and `phi` (d, K, 1 or m)."""
    return TileScaled(np.empty((p, phi.shape[1], T)), psi, phi, uniforms, *np.empty((2, T)))


@jit
def take_uniform(uniforms, n):
    """Return the position of the next `n` unused numbers, all filled anew if need be."""
    u, used = uniforms.u, uniforms.used
    if used[0] + n > u.shape[0]:
        for start in range(0, u.shape[0], LANES):
            for lane in range(LANES):
                u[start + lane] = unit_interval(next_word(uniforms.state, lane))
        used[0] = 0
    used[0] += n
    return used[0] - n


@begin.register(TileOdds)
def begin_tile_with_odds(messages, p, i, row):
    odds, base = messages.odds, messages.base
    shared = base.shape[1] == 1
    for c in range(odds.shape[1]):
        odds[p, c] = base[i, 0 if shared else row + c]


@absorb.register(TileOdds)
def absorb_in_odds_of_tile(messages, p, link, z, j):
    odds, w = messages.odds, messages.ratio[table_of(link, messages.ratio.shape[0])]
    for c in range(odds.shape[1]):
        odds[p, c] *= w if z[j, c] else 1.0


@send.register(TileOdds)
def send_odds_of_tile(messages, p, parent, link):
    odds, w = messages.odds, messages.ratio[table_of(link, messages.ratio.shape[0])]
    for c in range(odds.shape[1]):
        odds[parent, c] *= (1.0 + w * odds[p, c]) / (1.0 + odds[p, c])


@draw.register(TileOdds)
def draw_tile_by_odds(messages, p, link, z, j, i, rng):
    if link >= 0:
        absorb(messages, p, link, z, j)
    odds, u = messages.odds, messages.uniforms.u
    first = take_uniform(messages.uniforms, odds.shape[1])
    for c in range(odds.shape[1]):
        z[i, c] = u[first + c] * (1.0 + odds[p, c]) < odds[p, c]


@begin.register(TileScaled)
def begin_tile_with_weights(messages, p, i, row):
    nu, phi = messages.nu, messages.phi
    shared = phi.shape[2] == 1
    for a in range(nu.shape[1]):
        for c in range(nu.shape[2]):
            nu[p, a, c] = phi[i, a, 0 if shared else row + c]


@absorb.register(TileScaled)
def absorb_in_weights_of_tile(messages, p, link, z, j):
    nu, table = messages.nu, messages.psi[table_of(link, messages.psi.shape[0]), link & 1]
    for a in range(nu.shape[1]):
        for c in range(nu.shape[2]):
            nu[p, a, c] *= table[z[j, c], a]


@send.register(TileScaled)
def send_weights_of_tile(messages, p, parent, link):
    nu, message, total = messages.nu, messages.message, messages.total
    table = messages.psi[table_of(link, messages.psi.shape[0]), link & 1]
    n_states, T = nu.shape[1], nu.shape[2]
    for c in range(T):
        total[c] = nu[p, 0, c]
    for s in range(1, n_states):
        for c in range(T):
            total[c] += nu[p, s, c]
    for c in range(T):
        total[c] = 1.0 / total[c]
    for a in range(n_states):
        for c in range(T):
            message[c] = 0.0
        for s in range(n_states):
            weight = table[a, s]
            for c in range(T):
                message[c] += weight * nu[p, s, c]
        for c in range(T):
            nu[parent, a, c] *= message[c] * total[c]


@draw.register(TileScaled)
def draw_tile_by_weights(messages, p, link, z, j, i, rng):
    if link >= 0:
        absorb(messages, p, link, z, j)
    nu, cumulated, u = messages.nu, messages.total, messages.uniforms.u
    n_states, T = nu.shape[1], nu.shape[2]
    for c in range(T):
        cumulated[c] = 0.0
    for a in range(n_states):
        for c in range(T):
            cumulated[c] += nu[p, a, c]
            nu[p, a, c] = cumulated[c]
    first = take_uniform(messages.uniforms, T)
    for c in range(T):
        cumulated[c] *= u[first + c]
        z[i, c] = 0
    for a in range(n_states - 1):
        for c in range(T):
            z[i, c] += nu[p, a, c] <= cumulated[c]
