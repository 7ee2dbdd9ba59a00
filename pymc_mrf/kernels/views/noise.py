"""Noise of likelihoods that are estimated from particles, and what corrects for it.

The error of the estimated log-likelihood l of one parameter is, to first order, a random multiple
eps of mu(eta), the mean of f as a function of the parameter, less any constant. Drawn
from exp(l), a parameter would be too dispersed: a value whose mu lies away from the mean gains from
errors of either sign. To second order in eps the draw has the right distribution on average if
n^2 var(eps) (mu(eta) - mean mu)^2 / 2 is subtracted from l. That penalty is, to the same order, the
log-likelihood of further observations in which f is "mean mu" on average, n rho of them where rho
is the error's variance relative to that of the data, and 1 / (1 - rho) - 1 in place of rho makes it
exact for Gaussian likelihoods of any precision under a flat prior. So estimated likelihoods enter here
with n / (1 - rho) observations, rho measured from the particles. Copies that resampling makes of a
particle count as particles of their own in rho, which is therefore too small where resampling is frequent.
"""

from pymc_mrf.kernels._jit import lean

MAX_NOISE = 0.5  # variance ratio up to which an estimated likelihood is corrected


@lean
def sharpening(variance_ratio):
    """Factor by which observations are multiplied to correct for noise; see the module's docstring."""
    return 1.0 / (1.0 - min(variance_ratio, MAX_NOISE))
