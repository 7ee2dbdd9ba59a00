"""Messages of a single chain in logs: for any log tables.

Couplings of any strength and -inf entries, which no other representation takes; one chain at a time, and
6 to 10 times slower for it, more where others move chains together (``docs/results.md``, "Cost of a node
update"). `factor_tree_sampling`, which takes the same tables, takes 8 to 9 times as long (32 x 32 grid, 2 and
3 states). The states of the chain are `z` (d,).
"""

from typing import NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import part
from pymc_mrf.kernels.log_scores import draw_state, largest, log_sum
from pymc_mrf.kernels.trees.tree_messages import absorb, begin, draw, send


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
    """Take the table of the node."""
    nu, tables = messages.nu, messages.node_tables
    for a in range(nu.shape[1]):
        nu[p, a] = tables[min(row, tables.shape[0] - 1), i, a]


@absorb.register(ChainLogs)
def absorb_in_logs(messages, p, link, z, j):
    """Add the row of the neighbour's state."""
    pair_scores(messages, p, link, z[j], messages.nu[p])


@send.register(ChainLogs)
def send_logs(messages, p, parent, link):
    """Add the message to what is known of the parent."""
    nu, message = messages.nu, messages.message
    for a in range(nu.shape[1]):
        pair_scores(messages, p, link, a, messages.scores)
        message[a] = log_sum(messages.scores)
    top = largest(message)
    for a in range(nu.shape[1]):
        # an impossible parent stays impossible, whatever the constant
        nu[parent, a] += message[a] - (top if top > -np.inf else 0.0)


@draw.register(ChainLogs)
def draw_by_logs(messages, p, link, z, j, i, rng):
    """Draw by the logs."""
    if link >= 0:
        absorb(messages, p, link, z, j)
    z[i] = draw_state(messages.nu[p], rng)
