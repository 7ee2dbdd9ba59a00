"""Posterior of the sparsity and the slab's precision on a field with two edges, on grids."""

from typing import NamedTuple

import numpy as np
from scipy import special, stats


class HyperPosterior(NamedTuple):
    """E[p], E[tau], E[log tau] and the inclusion probabilities (2,)."""

    p: float
    tau: float
    log_tau: float
    inclusion: np.ndarray


def two_edge_posterior(log_likelihood, p_prior, tau_prior, reach=8.0, size=401) -> HyperPosterior:
    """Sum over the four structures and integrate over both weights and log tau.

    p ~ Beta(*p_prior), tau ~ Gamma(shape, rate = tau_prior), slab N(0, 1 / tau);
    `log_likelihood` of weights (q, 2).
    """
    w = np.linspace(-reach, reach, size)
    grid = np.stack(np.meshgrid(w, w, indexing="ij"), axis=-1).reshape(-1, 2)
    L = log_likelihood(grid)
    top = L.max()
    L = np.exp(L - top).reshape(size, size)
    zero = size // 2
    dw = w[1] - w[0]
    log_tau = np.linspace(-8.0, 5.0, 261)
    tau = np.exp(log_tau)
    slab = stats.norm.pdf(w[:, None], 0.0, tau**-0.5) * dw  # (size, t)
    evidence = {
        (0, 0): np.full(len(tau), L[zero, zero]),
        (1, 0): L[:, zero] @ slab,
        (0, 1): L[zero] @ slab,
        (1, 1): np.einsum("it,ij,jt->t", slab, L, slab, optimize=True),
    }
    a, b = p_prior
    prior = np.exp(stats.gamma.logpdf(tau, tau_prior[0], scale=1 / tau_prior[1]) + log_tau)  # (t,)
    total, p_mean, moments, inclusion = 0.0, 0.0, np.zeros(2), np.zeros(2)
    for structure, values in evidence.items():
        k = sum(structure)
        mass = np.exp(special.betaln(a + k, b + 2 - k) - special.betaln(a, b)) * values * prior
        total += mass.sum()
        p_mean += mass.sum() * (a + k) / (a + b + 2)
        moments += mass @ tau, mass @ log_tau
        inclusion += mass.sum() * np.array(structure)
    return HyperPosterior(p_mean / total, *(moments / total), inclusion / total)
