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

FARTHEST = 2.2
"""Largest distance of draws from the reference, root mean square over directions and draws, in standard
deviations that the rows leave of parameters, that is no reason to warn. It is the root of 1 + D^2 if the
reference is D of them from the posterior mean in all directions, so that D = 2 is the limit. The weights do
not tell: how uneven they are depends on parameters per row as well. On complete binary fields of four nodes
(20,000 points; 40, 100, 400 and 2,000 rows) the error of the log-likelihood over the posterior was .04, .05,
.08 and .21 nats at D = 0, .05, .07, .11 and .29 at D = 1, but .28, .38, .13 and .73 on average at D = 3, 2.1
at most, where the smallest effective shares were .02, .15, .47 and .42."""

COMPARE = (
    "compare with another seed, as in likelihood=pymc_mrf.MonteCarlo(seed=1), or use "
    'likelihood="particles"'
)

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""

MARGIN = 0.9
"""Share of `EDGE_NOISE` that a remedy aims at; the mean of the longer simulation errs as well."""


def sample_remedy(noise: float, share: float, distance: float, references: Sequence[Reference]) -> str:
    """Say what helps samples of this noise, smallest share of the weights and distance; "" if all is well."""
    if share < LEAST_SHARE:
        return 'likelihood="particles"'
    if noise <= EDGE_NOISE:
        return COMPARE if distance > FARTHEST else ""
    found = [tolerance_for(reference, MARGIN * EDGE_NOISE / noise) for reference in references]
    tolerances = [tolerance for tolerance in found if tolerance is not None]
    if len(tolerances) < len(found):
        return 'likelihood="particles"'
    # a larger tolerance would let the mean of the longer simulation err by more than the margin leaves
    least = f"{min(EDGE_NOISE, *tolerances):.2g}"
    return f"likelihood=pymc_mrf.MonteCarlo(tolerance={least})"


def poor_sample(
    field: str,
    squares: list[float],
    share: float,
    squared_distances: list[float],
    references: Sequence[Reference],
) -> list[str]:
    """Warn if the sample of a Monte Carlo likelihood was too small, or the draws too far from it.

    Parameters
    ----------
    field : str
    squares : list of float
        Of the noise, as of `too_few_particles`.
    share : float
        Smallest effective share of the weights.
    squared_distances : list of float
        Of the draws from the reference.
    references : sequence of Reference
        Samples of all fields.
    """
    rms = float(np.sqrt(np.mean(squares)))
    distance = float(np.sqrt(np.mean(squared_distances)))
    remedy = sample_remedy(rms, share, distance, references)
    what = f'The sample behind likelihood="monte-carlo" of {field}'
    if share < LEAST_SHARE:
        return [
            f"{what} is far from the draws: at some of them its points have weights that are worth "
            f"{share:.1%} of their number, less than {LEAST_SHARE:.0%}. With few rows for the number of "
            f"parameters, or informative priors far from the data, use {remedy}"
        ]
    if rms <= EDGE_NOISE and remedy:
        return [
            f"{what} was simulated for other parameters: the draws are {distance:.1f} standard deviations "
            f"from them, root mean square, more than {FARTHEST:g}. The likelihood errs by more than the "
            f"weights of its points tell: {remedy}"
        ]
    if remedy:
        return [
            f"{what} is too small: log-likelihood ratios have a noise of {rms:.2f}, above {EDGE_NOISE:g}. "
            f"Use {remedy}"
        ]
    return []


def poor_mixed_sample(field: str, squares: list[float], share: float) -> list[str]:
    """Warn if the sample of a mixed field was too small, or too far from the draws.

    Parameters
    ----------
    field : str
    squares : list of float
        Of the noise.
    share : float
        Smallest effective share of the weights.
    """
    rms, what = (
        float(np.sqrt(np.mean(squares))),
        f'The sample behind likelihood="monte-carlo" of {field}',
    )
    remedy = 'Compare with likelihood="pseudo", which claims too much, or use "exact" with fewer answers'
    if share < LEAST_SHARE:
        return [
            f"{what} is far from the draws: at some of them its points have weights that are worth "
            f"{share:.1%} of their number, less than {LEAST_SHARE:.0%}. {remedy}"
        ]
    if rms > EDGE_NOISE:
        return [
            f"{what} is too small: log-likelihood ratios have a noise of {rms:.2f}, above {EDGE_NOISE:g}. "
            f"{remedy}"
        ]
    return []


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of `COUPLING_DRAWS`."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0
