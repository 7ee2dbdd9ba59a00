"""What steps find out about the sample of a Monte Carlo likelihood, and how often they look."""

from collections.abc import Sequence

import numpy as np

from pymc_mrf.likelihood.edges.reference import Reference
from pymc_mrf.likelihood.edges.reference_search import tolerance_for
from pymc_mrf.steps.common.base import ChainCount

EDGE_NOISE = 0.5
"""Largest noise of the log-likelihood ratios that is no reason to warn: they are corrected for it."""

LEAST_SHARE = 0.05
"""Smallest effective size of weights, relative to their number, that is no reason to warn."""

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""


MARGIN = 0.9
"""Share of `EDGE_NOISE` that a remedy aims at; the mean of the longer simulation errs as well."""


def sample_remedy(noise: float, share: float, references: Sequence[Reference]) -> str:
    """Say what helps samples of this noise and smallest share of the weights; "" if nothing is needed."""
    if share >= LEAST_SHARE and noise <= EDGE_NOISE:
        return ""
    found = [tolerance_for(reference, MARGIN * EDGE_NOISE / noise) for reference in references]
    tolerances = [tolerance for tolerance in found if tolerance is not None]
    if share < LEAST_SHARE or len(tolerances) < len(found):
        return 'likelihood="particles"'
    # a larger tolerance would let the mean of the longer simulation err by more than the margin leaves
    least = f"{min(EDGE_NOISE, *tolerances):.2g}"
    return f"likelihood=pymc_mrf.MonteCarlo(tolerance={least})"


def poor_sample(
    field: str, squares: list[float], share: float, references: Sequence[Reference]
) -> list[str]:
    """Warn if the sample of a Monte Carlo likelihood was too small, or the draws too far from it.

    Parameters
    ----------
    field : str
    squares : list of float
        Of the noise, as of `too_few_particles`.
    share : float
        Smallest effective share of the weights.
    references : sequence of Reference
        Samples of all fields.
    """
    rms = float(np.sqrt(np.mean(squares)))
    remedy = sample_remedy(rms, share, references)
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
