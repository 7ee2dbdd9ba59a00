"""A mixed field of five nodes of every kind, and what tests of such fields share."""

import numpy as np
import pymc as pm
from scipy import special

import pymc_mrf as pmrf
from tests.reference.mixed import MixedReference

KINDS = pmrf.fields.ColumnKinds(
    ("sex", "age", "party", "income", "trust"),
    ("ordinal", "continuous", "nominal", "continuous", "ordinal"),
    (2, 0, 3, 0, 4),
)
GRAPH = pmrf.PairwiseGraph(
    KINDS.names,
    [
        ("sex", "age"), ("party", "sex"), ("age", "income"), ("age", "party"), ("party", "trust"),
        ("trust", "income"), ("income", "party"), ("sex", "trust"), ("sex", "income"), ("trust", "age"),
    ],
)  # fmt: skip
SCALE, MEAN = np.array([10.0, 0.5]), np.array([40.0, -1.0])


def reference_of(kinds, graph):
    return MixedReference(kinds.kinds, kinds.n_states, graph.edges.tolist())


REFERENCE = reference_of(KINDS, GRAPH)
WEIGHT = np.random.default_rng(1).normal(0, 0.4, REFERENCE.n_weights)
BIAS = np.random.default_rng(2).normal(0, 0.5, (3, 4))
DIAGONAL = np.array([1.5, 0.8])
THETA = np.concatenate([WEIGHT, BIAS.ravel(), DIAGONAL])


def field(**options):
    return pmrf.MixedMRF.dist(
        WEIGHT, BIAS, DIAGONAL, MEAN, graph=GRAPH, kinds=KINDS, scale=SCALE, **options
    )


def rows(n, seed=1):
    """Rows (n, 5), in the units of the measurements; kernels need not be compiled for them."""
    rng = np.random.default_rng(seed)
    log_weights, means, S, _ = (found[0] for found in REFERENCE.conditional(THETA[None]))
    which = rng.choice(len(means), n, p=special.softmax(log_weights))
    x = np.empty((n, len(KINDS.names)))
    x[:, REFERENCE.answers] = REFERENCE.states[which]
    x[:, REFERENCE.measured] = MEAN + SCALE * (means[which] + rng.multivariate_normal(np.zeros(2), S, n))
    return x


def model_of(x, kinds=KINDS, graph=GRAPH, p=0.4, **options):
    """Edges with a prior of presence, and all other parameters random."""
    with pm.Model(coords=kinds.coords(graph)) as model:
        w = pmrf.SpikeAndSlab(
            "w", p, pm.Normal.dist(0, 0.5), blocks=kinds.block_sizes(graph), dims="entry"
        )
        bias = pm.Normal("bias", 0, 1.5, dims=("answer", "state"))
        diagonal = pm.Gamma("diagonal", 2, 1, dims="measurement")
        mean = pm.Normal("mean", 0, 50, dims="measurement")
        pmrf.MixedMRF(
            "x", w, bias, diagonal, mean, graph=graph, kinds=kinds, observed=x,
            **{"scale": SCALE if kinds is KINDS else 1.0, **options},
        )  # fmt: skip
    return model
