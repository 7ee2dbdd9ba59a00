"""Models with conjugate hyperparameters."""

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.graph.structure import PairwiseGraph

CHAIN = PairwiseGraph(range(3), [(0, 1), (1, 2)])


def field_model(likelihood="exact", p_prior=(2.0, 3.0), x=None, prior=pm.Beta):
    with pm.Model() as model:
        p = prior("p", *p_prior)
        tau = pm.Gamma("tau", 3, 2)
        w = SpikeAndSlab("w", p, pm.Normal.dist(0, tau=tau), shape=2)
        x = field_data() if x is None else x
        bias = np.array([0.2, -0.3, 0.1])
        pmrf.BoltzmannMachine("x", w, bias, graph=CHAIN, observed=x, likelihood=likelihood)
    return model


def group_model():
    """Groups of edges whose concentration is random."""
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 2)
        theta = pmrf.DirichletProcess("theta", alpha, pm.LogitNormal.dist(0, 1), shape=2)
        pmrf.AgreementMRF("x", theta, graph=CHAIN, observed=field_data())
    return model


def field_data():
    rng = np.random.default_rng(4)
    x = rng.integers(2, size=(60, 3))
    x[:, 1] = np.where(rng.random(60) < 0.6, x[:, 0], x[:, 1])
    return x
