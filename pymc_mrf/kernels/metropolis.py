"""The acceptance rule of Metropolis and Hastings (Hastings, 1970), for kernels and steps alike."""

import numpy as np

from pymc_mrf.kernels._jit import either


@either
def metropolis(log_ratio, rng):
    """Draw whether a proposal is accepted; it is refused if its ratio is not a number.

    `log_ratio`: log of the ratio of Hastings. `rng`: draws one number, whatever the ratio. Returns
    `accepted`; `probability`: with which it was to be accepted.
    """
    probability = np.exp(min(log_ratio, 0.0)) if log_ratio == log_ratio else 0.0
    return rng.random() < probability, probability
