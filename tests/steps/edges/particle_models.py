"""A model of the likelihood by particles, and what its draws are compared by."""

from functools import partial

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from tests import posteriors
from tests.statistics import Z
from tests.steps.edges.binary_models import GRAPH, boltzmann_data

ERROR = 0.03  # of an inclusion probability that particles may add
SHARE = 0.1  # of a posterior standard deviation that they may add to the error of a mean
draws_of = partial(posteriors.draws_of, n_draws=2000, seed=3)


def assert_inclusion(w, expected):
    """Within ERROR and the Monte-Carlo error, which is small beside it."""
    for e in range(w.shape[-1]):
        present = (w[..., e] != 0.0).astype(float)
        error = float(az.mcse(present)) if present.std() > 0 else 0.0
        assert error < 0.5 * ERROR
        assert abs(present.mean() - expected[e]) < ERROR + 2.0 * error, (e, present.mean(), expected[e])


def assert_means(draws, expected):
    """Within the Monte-Carlo error, and what particles may add."""
    for k, value in enumerate(np.ravel(expected)):
        own = draws.reshape(*draws.shape[:2], -1)[..., k]
        gap = abs(own.mean() - value)
        assert gap < SHARE * own.std() + Z * float(az.mcse(own)), (k, own.mean(), value)


def edge_model(x=None, slab=None, likelihood="particles"):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        p = pm.Beta("p", 2, 2)
        slab = pm.Normal.dist(0, pm.HalfNormal("sigma", 1)) if slab is None else slab
        w = pmrf.SpikeAndSlab("w", p, slab, dims="edge")
        b = pm.Normal("b", 0, 2, dims="node")
        x = boltzmann_data(50, 1) if x is None else x
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


def gaps_of_biases(make, **options):
    """Distances of their means from those of the exact engine, which is checked by quadrature elsewhere.

    With its standard deviations, and Monte-Carlo errors; `make` makes a model with this likelihood.
    """
    exact, b = (
        draws_of(make(likelihood), ["w", "b"], **own)[1].reshape(2, 2000, -1)
        for likelihood, own in (("exact", {}), ("particles", options))
    )
    errors = [[float(az.mcse(draws[..., k])) for k in range(b.shape[-1])] for draws in (b, exact)]
    return abs(b.mean(axis=(0, 1)) - exact.mean(axis=(0, 1))), exact.std(axis=(0, 1)), np.hypot(*errors)
