"""A model with a block of parameters for each edge."""

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import PairwiseGraph

PAIR, TRIANGLE = PairwiseGraph(range(2), [(0, 1)]), PairwiseGraph(range(3), [(0, 1), (2, 1), (0, 2)])


def states(n, n_states, seed=1):
    """Rows in which the last two nodes go together, more often than not."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(k, size=n) for k in n_states], axis=1)
    copied = rng.random(n) < 0.35
    x[copied, -1] = np.minimum(x[copied, -2], n_states[-1] - 1)
    return x


def model_of(x, n_states, graph, *, likelihood="exact", bias=None, p=0.4, slab=None, blocks=None):
    d, K = graph.n_nodes, max(n_states)
    blocks = pmrf.fields.table_sizes(graph, n_states) if blocks is None else blocks
    with pm.Model() as model:
        slab = pm.Normal.dist(0, 1) if slab is None else slab
        w = pmrf.SpikeAndSlab("w", p, slab, blocks=blocks)
        b = pm.Normal("b", 0, 1.5, shape=(d, K)) if bias is None else bias
        pmrf.NominalMRF("x", w, b, graph=graph, n_states=n_states, observed=x, likelihood=likelihood)
    return model


def small_model():
    return model_of(states(40, [3, 2, 2]), [3, 2, 2], TRIANGLE, likelihood="pseudo")
