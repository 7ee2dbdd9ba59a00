"""The posterior of a Gaussian field under the G-Wishart prior of BDgraph, from draws under another prior.

Draws are reweighted, so that nothing of BDgraph's sampler is in it. The normalising constant of a structure G
is that of Atay-Kayis & Massam (2005), whose expectation is a mean over simulated Cholesky factors.
"""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pymc as pm
from scipy.special import gammaln, logsumexp

import pymc_mrf as pmrf
from examples._report import SILENT

DF = 3
SLAB_SD, SHAPE, RATE = 1.0, 2.0, 1.0  # of the prior of the draws


@cache
def log_constant(adjacency: bytes, d: int, samples: int = 20_000) -> float:
    """Log of the integral of |K|^((DF - 2) / 2) exp(-tr K / 2) over the matrices K of a structure.

    `adjacency` has the bytes of a (d, d) array of bool, whose upper triangle is read.
    """
    edge = np.frombuffer(adjacency, dtype=bool).reshape(d, d)
    later = np.array([edge[i, i + 1 :].sum() for i in range(d)])
    half = 0.5 * (DF + later)
    log = np.sum(half * np.log(2) + 0.5 * later * np.log(2 * np.pi) + gammaln(half))
    rng = np.random.default_rng(d)
    phi, rest = np.zeros((samples, d, d)), np.zeros(samples)
    for i in range(d):
        phi[:, i, i] = np.sqrt(rng.chisquare(DF + later[i], samples))
        for j in range(i + 1, d):
            if edge[i, j]:
                phi[:, i, j] = rng.standard_normal(samples)
            else:
                phi[:, i, j] = -(phi[:, :i, i] * phi[:, :i, j]).sum(axis=1) / phi[:, i, i]
                rest += phi[:, i, j] ** 2
    return float(log + logsumexp(-0.5 * rest) - np.log(samples))


def reweighted(
    table: pd.DataFrame, draws: int = 4000, seed: int = 1
) -> tuple[np.ndarray, np.ndarray, float]:
    """Inclusion probabilities (r,) of centred columns, their errors (r,), and effective draws."""
    graph = pmrf.graphs.complete(list(table))
    d, (u, v) = graph.n_nodes, graph.edges.T
    with pm.Model(coords=pmrf.coords(graph)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, SLAB_SD), dims="edge")
        diagonal = pm.Gamma("diagonal", SHAPE, RATE, dims="node")
        pmrf.GaussianMRF("x", w, diagonal, 0.0, graph=graph, observed=table)
        posterior = pm.sample(draws, tune=draws // 4, chains=4, random_seed=seed, **SILENT).posterior
    w, kappa = (posterior[name].values.reshape(4 * draws, -1) for name in ("w", "diagonal"))
    K = np.zeros((len(w), d, d))
    K[:, u, v] = K[:, v, u] = -w
    K[:, np.arange(d), np.arange(d)] = kappa
    present = w != 0
    slab = -0.5 * (w / SLAB_SD) ** 2 - np.log(SLAB_SD) - 0.5 * np.log(2 * np.pi)
    log = 0.5 * (DF - 2) * np.linalg.slogdet(K)[1] - 0.5 * kappa.sum(axis=1)
    log -= np.where(present, slab, 0.0).sum(axis=1)
    log -= ((SHAPE - 1) * np.log(kappa) - RATE * kappa).sum(axis=1)
    edge = np.zeros(K.shape, dtype=bool)
    edge[:, u, v] = present
    log -= np.array([log_constant(e.tobytes(), d) for e in edge])
    weight = np.exp(log - log.max())
    p = (weight[:, None] * present).sum(axis=0) / weight.sum()
    # batches of chains, whose ratios vary as errors do
    batch, share = weight.reshape(16, -1), (weight[:, None] * present).reshape(16, -1, len(u))
    residual = share.sum(axis=1) - batch.sum(axis=1)[:, None] * p
    error = np.sqrt((residual**2).sum(axis=0) * 16 / 15) / weight.sum()
    return p, error, float(weight.sum() ** 2 / (weight**2).sum())
