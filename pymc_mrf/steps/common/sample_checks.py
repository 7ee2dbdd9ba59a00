"""What steps find out about the sample of a Monte Carlo likelihood, and how often they look."""

from collections.abc import Sequence

import numpy as np

from pymc_mrf.likelihood.edges.reference import Reference
from pymc_mrf.likelihood.edges.reference_search import tolerance_for
from pymc_mrf.steps.common.chain_state import ChainCount, Remembering
from pymc_mrf.steps.common.statistics import Healthy, Statistic

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

OF_MIXED = 'Compare with likelihood="pseudo", or use "exact" with fewer answers'
"""What helps where the sample of a mixed field is poor."""

COUPLING_DRAWS = 20
"""Draws, about, at which noise is measured, and couplings are looked at under a pseudo-likelihood."""

MARGIN = 0.9
"""Share of `EDGE_NOISE` that a remedy aims at; the mean of the longer simulation errs as well."""


def sample_statistics(more: str, nearer: str) -> tuple[Statistic, ...]:
    """Declare what steps tell of an estimated likelihood, with remedies for noise and for few points."""
    return (
        Statistic(
            "noise",
            "noise of the log ratio",
            Healthy(more, high=EDGE_NOISE, reduce="rms"),
            estimated="noise",
        ),
        Statistic(
            "ess",
            "effective share of the sample",
            Healthy(nearer, low=LEAST_SHARE, reduce="min"),
            estimated="noise",
        ),
        Statistic("error", "error of the log-likelihood", estimated="noise"),
        Statistic(
            "distance",
            "distance from the reference",
            Healthy(COMPARE, high=FARTHEST, reduce="rms"),
            estimated="noise",
        ),
    )


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


class SampleRecord(Remembering):
    """What the draws of a chain have found out about an estimated likelihood.

    Attributes
    ----------
    squares, squared_distances : list of float
        Of the noise, and of the distances from the reference, of all draws.
    measured_noise : float
        That was measured last, of one of `COUPLING_DRAWS`.
    least_share : float
        Smallest effective share of the weights.
    """

    remembers = ("squares", "measured_noise", "least_share", "squared_distances")

    def __init__(self) -> None:
        self.squares: list[float] = []
        self.measured_noise, self.least_share = 0.0, 1.0
        self.squared_distances: list[float] = []

    def add(self, noise: float, share: float, distance: float) -> None:
        """Add a draw."""
        self.squares.append(noise**2)
        self.least_share = min(self.least_share, share)
        self.squared_distances.append(distance**2)

    @property
    def noise(self) -> float:
        """Noise, root mean square over the draws."""
        return float(np.sqrt(np.mean(self.squares)))

    def poor_sample(self, field: str, references: Sequence[Reference]) -> list[str]:
        """Warn if the sample of a Monte Carlo likelihood was too small, or the draws too far from it.

        Parameters
        ----------
        field : str
        references : sequence of Reference
            Samples of all fields; none of mixed fields, whose simulation has no options.
        """
        noise, share = self.noise, self.least_share
        distance = float(np.sqrt(np.mean(self.squared_distances)))
        what = f'The sample behind likelihood="monte-carlo" of {field}'
        if_far = if_small = OF_MIXED
        if references:
            remedy = sample_remedy(noise, share, distance, references)
            if_small = f"Use {remedy}"
            if_far = (
                "With few rows for the number of parameters, or informative priors far from the data, "
                f"use {remedy}"
            )
        if share < LEAST_SHARE:
            return [
                f"{what} is far from the draws: at some of them its points have weights that are worth "
                f"{share:.1%} of their number, less than {LEAST_SHARE:.0%}. {if_far}"
            ]
        if noise > EDGE_NOISE:
            return [
                f"{what} is too small: log-likelihood ratios have a noise of {noise:.2f}, above "
                f"{EDGE_NOISE:g}. {if_small}"
            ]
        if distance > FARTHEST:
            return [
                f"{what} was simulated for other parameters: the draws are {distance:.1f} standard "
                f"deviations from them, root mean square, more than {FARTHEST:g}. The likelihood errs by "
                f"more than the weights of its points tell: {COMPARE}"
            ]
        return []


def is_kept(count: ChainCount) -> bool:
    """Whether the next draw is one of `COUPLING_DRAWS`."""
    return count.n_draws % max(count.length // COUPLING_DRAWS, 1) == 0
