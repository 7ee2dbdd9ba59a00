"""What a sweep over trees asks of the messages of a block, and the messages of a single chain.

The messages are a namedtuple, of one chain with states `z` (d,) or of T chains side by side with states
`z` (d, T) (`tree_sampling_tile`); tables are those of `Potentials`. They are kept by the position of
their node in a `ForestArrays`, whose links are explained there. Those of a single chain are odds,
weights of agreement, probabilities, or logs.

For fewer than `tree_potentials.FEW` chains they are faster than tiles, whose inner loops are then too
short to pay: a tile of one chain takes 1.5 times as long by odds, 3 times and more by probabilities.
Where all edges have one table, a sweep by probabilities takes hardly longer than one by weights of
agreement. With a coupling for each edge its tables are what is read most, K ** 2 numbers instead of one:
on a Potts grid of 64 x 64 nodes with three states it takes 1.2 times as long, on 256 x 256, beyond the
caches, 4.5 times.

Everything is read in the order in which it is stored, but for the states, one byte each, and the tables:
a sweep over a large field takes about as long per node as one over a small field. States are drawn
without branches, which nobody can predict.

Logs are for any log tables: couplings of any strength and -inf entries, which no other representation
takes; one chain at a time, and 6 to 10 times slower for it, more where others move chains together
(``docs/results.md``, "Cost of a node update"). `factor_tree_sampling`, which takes the same tables,
takes 8 to 9 times as long (32 x 32 grid, 2 and 3 states).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, jit, part
from pymc_mrf.kernels.log_scores import draw_state, largest_score, log_sum
from pymc_mrf.kernels.trees.tree_potentials import table_of


@by_type
def begin(messages, p, i, row):
    """Set what is known of node i at position p to its own table; `row` is the first chain."""


@by_type
def absorb(messages, p, link, z, j):
    """Let the node at position p know the state in `z` of its neighbour j by `link`."""


@by_type
def send(messages, p, parent, link):
    """Let the node at position `parent` know what is known of its child at position p."""


@by_type
def draw(messages, p, link, z, j, i, rng):
    """Draw node i at position p given the state of its parent j by `link`, into `z`.

    A root has the link -1. What is known of the node may be lost.
    """


class ChainOdds(NamedTuple):
    """`odds` (p,) of state 1, by tables `ratio` (1 or r,) and `base` (d, 1 or m)."""

    odds: np.ndarray
    ratio: np.ndarray
    base: np.ndarray


class ChainAgreement(NamedTuple):
    """`nu` (p, K) proportional to probabilities, by tables `gain` (1 or r,) and `phi` (d, K, 1 or m)."""

    nu: np.ndarray
    gain: np.ndarray
    phi: np.ndarray


class ChainScaled(NamedTuple):
    """`nu` (p, K) proportional to probabilities, by tables `psi` (1 or r, 2, K, K), `phi` (d, K, 1 or m)."""

    nu: np.ndarray
    psi: np.ndarray
    phi: np.ndarray


@begin.register(ChainOdds)
def begin_with_odds(messages, p, i, row):
    base = messages.base
    messages.odds[p] = base[i, min(row, base.shape[1] - 1)]


@absorb.register(ChainOdds)
def absorb_in_odds(messages, p, link, z, j):
    q, ratio = messages.odds[p], messages.ratio
    up = q * ratio[table_of(link, ratio.shape[0])]  # or it would be a branch
    messages.odds[p] = up if z[j] else q


@send.register(ChainOdds)
def send_odds(messages, p, parent, link):
    w, q = messages.ratio[table_of(link, messages.ratio.shape[0])], messages.odds[p]
    messages.odds[parent] *= (1.0 + w * q) / (1.0 + q)


@draw.register(ChainOdds)
def draw_by_odds(messages, p, link, z, j, i, rng):
    """Draw by the odds, which are not stored again: that would take a tenth longer."""
    q, ratio = messages.odds[p], messages.ratio
    if link >= 0:
        up = q * ratio[table_of(link, ratio.shape[0])]
        q = up if z[j] else q
    z[i] = rng.random() * (1.0 + q) < q


@begin.register(ChainAgreement, ChainScaled)
def begin_with_weights(messages, p, i, row):
    phi = messages.phi
    for a in range(phi.shape[1]):
        messages.nu[p, a] = phi[i, a, min(row, phi.shape[2] - 1)]


@absorb.register(ChainAgreement)
def absorb_agreement(messages, p, link, z, j):
    """Multiply the weight of the neighbour's state."""
    messages.nu[p, z[j]] *= messages.gain[table_of(link, messages.gain.shape[0])]


@absorb.register(ChainScaled)
def absorb_in_weights(messages, p, link, z, j):
    nu, psi = messages.nu, messages.psi
    e, s = table_of(link, psi.shape[0]), z[j]
    for a in range(nu.shape[1]):
        nu[p, a] *= psi[e, link & 1, s, a]


@jit
def sum_of_row(nu, p):
    """Sum of row p of `nu` (p, K)."""
    total = 0.0
    for a in range(nu.shape[1]):
        total += nu[p, a]
    return total


@send.register(ChainAgreement)
def send_agreement(messages, p, parent, link):
    """Multiply the weights of the parent by the message, up to its constant."""
    nu, gain = messages.nu, messages.gain
    w = (gain[table_of(link, gain.shape[0])] - 1.0) / sum_of_row(nu, p)
    for a in range(nu.shape[1]):
        nu[parent, a] *= 1.0 + w * nu[p, a]


@send.register(ChainScaled)
def send_weights(messages, p, parent, link):
    nu, psi = messages.nu, messages.psi
    e, scale = table_of(link, psi.shape[0]), 1.0 / sum_of_row(nu, p)
    for a in range(nu.shape[1]):
        message = 0.0
        for s in range(nu.shape[1]):
            message += psi[e, link & 1, a, s] * nu[p, s]
        nu[parent, a] *= message * scale


@draw.register(ChainAgreement, ChainScaled)
def draw_by_weights(messages, p, link, z, j, i, rng):
    if link >= 0:
        absorb(messages, p, link, z, j)
    nu, total = messages.nu, 0.0
    n_states = nu.shape[1]
    for a in range(n_states):
        total += nu[p, a]
        nu[p, a] = total
    total *= rng.random()
    state = 0
    for a in range(n_states - 1):
        state += nu[p, a] <= total
    z[i] = state


class ChainLogs(NamedTuple):
    """`nu` (p, K), log P(x_i = a | descendants and outside), up to constants.

    By `edge_tables` (r, K, K) and `node_tables` (1 or m, d, K); `scores` and `message` (K,) are room.
    """

    nu: np.ndarray
    edge_tables: np.ndarray
    node_tables: np.ndarray
    scores: np.ndarray
    message: np.ndarray


@part
def pair_scores(messages, p, link, a, scores):
    """Log weight of each state of the node at position p if its neighbour by `link` is in state a.

    `scores` (K,) may be what is known of the node itself.
    """
    e, nu, tables = link >> 1, messages.nu, messages.edge_tables
    for b in range(scores.shape[0]):
        scores[b] = nu[p, b] + (tables[e, b, a] if link & 1 else tables[e, a, b])


@begin.register(ChainLogs)
def begin_with_logs(messages, p, i, row):
    nu, tables = messages.nu, messages.node_tables
    for a in range(nu.shape[1]):
        nu[p, a] = tables[min(row, tables.shape[0] - 1), i, a]


@absorb.register(ChainLogs)
def absorb_in_logs(messages, p, link, z, j):
    pair_scores(messages, p, link, z[j], messages.nu[p])


@send.register(ChainLogs)
def send_logs(messages, p, parent, link):
    nu, message = messages.nu, messages.message
    for a in range(nu.shape[1]):
        pair_scores(messages, p, link, a, messages.scores)
        message[a] = log_sum(messages.scores)
    top = largest_score(message)
    for a in range(nu.shape[1]):
        # an impossible parent stays impossible, whatever the constant
        nu[parent, a] += message[a] - (top if top > -np.inf else 0.0)


@draw.register(ChainLogs)
def draw_by_logs(messages, p, link, z, j, i, rng):
    if link >= 0:
        absorb(messages, p, link, z, j)
    z[i] = draw_state(messages.nu[p], rng)
