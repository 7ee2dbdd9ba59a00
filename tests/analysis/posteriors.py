"""Synthetic results of `pymc.sample`."""

import arviz as az
import numpy as np


def as_posterior(theta, edges=None, **others):
    """DataTree with theta (chain, draw, r) and other variables (chain, draw, ...)."""
    r = np.shape(theta)[-1]
    edges = list(range(r)) if edges is None else list(edges)
    return az.from_dict(
        {"posterior": {"theta": np.asarray(theta, dtype=float), **others}},
        dims={"theta": ["edge"]},
        coords={"edge": edges},
    )


def grouped_theta(rng, *, n_chains=2, n_draws=50, r=6, n_values=3):
    """Draws with exact ties: every entry takes one of `n_values` values of its draw."""
    values = rng.random((n_chains, n_draws, n_values))
    labels = rng.integers(0, n_values, (n_chains, n_draws, r))
    return np.take_along_axis(values, labels, axis=-1)


def noisy_theta(rng, truth, *, flip, n_chains=2, n_draws=100):
    """Draws around one grouping: each entry leaves its group for another with probability `flip`."""
    truth = np.asarray(truth)
    K = truth.max() + 1
    shape = (n_chains, n_draws, len(truth))
    labels = np.where(rng.random(shape) < flip, rng.integers(0, K, shape), truth)
    centres = np.linspace(0.1, 0.9, K)
    values = centres + 0.02 * rng.standard_normal((n_chains, n_draws, K))
    return np.take_along_axis(np.sort(values.clip(0.01, 0.99), axis=-1), labels, axis=-1)
