"""Log densities of priors."""

import numpy as np
from scipy import special


def log_logistic(eta):
    """Uniform theta = sigmoid(eta)."""
    return special.log_expit(eta) + special.log_expit(-eta)


def quiet(distribution):
    def log_density(eta):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return distribution.logpdf(eta)

    return log_density
