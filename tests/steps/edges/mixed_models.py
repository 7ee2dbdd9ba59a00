"""A small mixed field for the contract of steps."""

import warnings

import numpy as np
import pymc as pm

import pymc_mrf as pmrf

KINDS = pmrf.fields.ColumnKinds(
    ("a", "y", "n", "z"), ("ordinal", "continuous", "nominal", "continuous"), (2, 0, 3, 0)
)
GRAPH = pmrf.graphs.complete(KINDS.names)


def small_model(likelihood="exact", gaps=False, mean=lambda: None, **options):
    """Four nodes of every kind, 40 rows, maybe with missing cells; `mean` may declare means."""
    rng = np.random.default_rng(3)
    x = np.stack(
        [rng.integers(0, 2, 40), rng.normal(size=40), rng.integers(0, 3, 40), rng.normal(size=40)]
    )
    x[3] += 0.5 * x[1] + 0.4 * x[0]
    table = np.ma.masked_array(x.T, rng.random(x.T.shape) < 0.2) if gaps else x.T
    blocks = KINDS.block_sizes(GRAPH)
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.5), blocks=blocks)
        bias = pm.Normal("bias", 0, 1, shape=(2, 3))
        diagonal = pm.Gamma("diagonal", 2, 1, shape=2)
        given = {"graph": GRAPH, "kinds": KINDS, "likelihood": likelihood, "observed": table}
        parameters = [p for p in (w, bias, diagonal, mean()) if p is not None]
        pmrf.MixedMRF("x", *parameters, **given, **options)
    return model
