"""What steps find out about the sample of a Monte Carlo likelihood, and how often they look."""

import numpy as np

from pymc_mrf.steps.common.base import ChainCount

EDGE_NOISE = 0.5
"""Largest noise of the log-likelihood ratios that is no reason to warn: they are corrected for it."""

LEAST_SHARE = 0.05
"""Smallest effective size of weights, relative to their number, that is no reason to warn."""

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""


def sample_remedy(noise: float, share: float) -> str:
    """Say what helps a sample of this noise and smallest share of the weights; "" if nothing is needed."""
    if share < LEAST_SHARE:
        return 'likelihood="particles"'
    if noise > EDGE_NOISE:
        return f"likelihood=pymc_mrf.MonteCarlo(tolerance=...), {EDGE_NOISE / noise:.2g} times what it is now"
    return ""


def poor_sample(field: str, squares: list[float], share: float) -> list[str]:
    """Warn if the sample of a Monte Carlo likelihood was too small, or the draws too far from it.

    Parameters
    ----------
    field : str
    squares : list of float
        Of the noise, as of `too_few_particles`.
    share : float
        Smallest effective share of the weights.
    """
    rms = float(np.sqrt(np.mean(squares)))
    remedy = sample_remedy(rms, share)
    what = f'The sample behind likelihood="monte-carlo" of {field}'
    if share < LEAST_SHARE:
        return [
            f"{what} is far from the draws: at some of them its points have weights that are worth "
            f"{share:.1%} of their number, less than {LEAST_SHARE:.0%}. With few rows for the number of "
            f"parameters, or informative priors far from the data, use {remedy}"
        ]
    if remedy:
        return [
            f"{what} is too small: log-likelihood ratios have a noise of {rms:.2f}, above {EDGE_NOISE:g}. "
            f"Use {remedy}"
        ]
    return []


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of `COUPLING_DRAWS`."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0
