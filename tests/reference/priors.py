"""Priors of the edge sampler in the form of its kernels."""

import numpy as np
from scipy import stats

from pymc_mrf.kernels.priors.densities import NORMAL, Densities, Density


def normal(sd):
    """Normal density of one parameter, centred at 0."""
    return Density(NORMAL, 0.0, float(sd), 1.0, stats.norm(0, sd).logpdf(0.0))


def normals(k, sd):
    """Normal densities of k parameters, centred at 0."""
    constant = np.full(k, stats.norm(0, sd).logpdf(0.0))
    return Densities(np.full(k, NORMAL), np.zeros(k), np.full(k, float(sd)), np.ones(k), constant)
