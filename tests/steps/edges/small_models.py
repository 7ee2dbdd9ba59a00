"""A model with sparse weights and random biases, and some that steps refuse."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.graph.structure import PairwiseGraph

GRAPH = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)])


def data(n=50, seed=1):
    x = np.random.default_rng(seed).integers(2, size=(n, 4))
    x[:, 1] = np.where(np.random.default_rng(seed + 1).random(n) < 0.8, x[:, 0], x[:, 1])
    return x


def edge_model(likelihood="exact", x=None, slab=None, prior=pm.Normal):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        p = pm.Beta("p", 2, 2)
        slab = pm.Normal.dist(0, pm.HalfNormal("sigma", 1)) if slab is None else slab
        w = SpikeAndSlab("w", p, slab, dims="edge")
        b = prior("b", 0, 2, dims="node")
        x = data() if x is None else x
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


def no_field():
    with pm.Model() as model:
        w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
        pm.Normal("x", w, 1.0, observed=np.zeros(6))
    return model


def transformed(likelihood="pseudo"):
    with pm.Model() as model:
        w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
        pmrf.Ising("x", 2.0 * w, graph=GRAPH, observed=2 * data() - 1, likelihood=likelihood)
    return model


def two_fields(likelihood="pseudo"):
    with pm.Model() as model:
        w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
        for name in ("x", "y"):
            pmrf.Ising(name, w, graph=GRAPH, observed=2 * data() - 1, likelihood=likelihood)
    return model


def missing_cells():
    x = np.ma.masked_array(data(), mask=False)
    x[0, 0] = np.ma.masked
    with pytest.warns(pm.exceptions.ImputationWarning):
        return edge_model("exact", x)


def agreement_field(likelihood="pseudo"):
    with pm.Model() as model:
        w = SpikeAndSlab("w", 0.5, pm.Beta.dist(1, 1), shape=6)
        pmrf.AgreementMRF("x", w, graph=GRAPH, observed=data(), likelihood=likelihood)
    return model
