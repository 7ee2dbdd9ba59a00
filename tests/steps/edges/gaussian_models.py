"""A Gaussian field with sparse weights."""

import warnings

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from tests.reference.gaussian import precision

TRIANGLE = pmrf.PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
EDGES = [tuple(e) for e in TRIANGLE.edges.tolist()]

WEIGHT, DIAGONAL = np.array([0.5, -0.3, 0.0]), np.array([1.0, 1.4, 0.8])


def measurements(n, seed):
    S = np.linalg.inv(precision(EDGES, WEIGHT, DIAGONAL))
    return np.random.default_rng(seed).multivariate_normal(np.zeros(3), S, size=n)


def rows(n, gaps=False):
    """Measurements away from zero, maybe with missing cells."""
    x = measurements(n, 5) + 1.0
    if gaps:
        x[::3, 0], x[1::4, 2] = np.nan, np.nan
    return x


def small_model(gaps=False, x=None, mean=lambda: pm.Normal("mean", 0, 2, shape=3), **options):
    """Three nodes; `mean` declares the means."""
    x = rows(30, gaps) if x is None else x
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        diagonal = pm.Gamma("diagonal", 2, 1, shape=3)
        pmrf.GaussianMRF("x", w, diagonal, mean(), graph=TRIANGLE, observed=x, **options)
    return model
