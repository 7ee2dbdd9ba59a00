"""Whether the sample of a Monte Carlo likelihood was large enough, and near enough to the draws."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymc_mrf.distributions.arguments import is_random
from pymc_mrf.distributions.likelihood import AGAINST, FOR, Finding
from pymc_mrf.distributions.parents import rows_of_field
from pymc_mrf.distributions.scalar import entries_behind
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import MonteCarloEdges
from pymc_mrf.likelihood.monte_carlo.reference import Reference
from pymc_mrf.likelihood.monte_carlo.reference_search import tolerance_for

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


def poor_sample(field: str, record: Any, references: Sequence[Reference]) -> list[str]:
    """Warn if the sample of a Monte Carlo likelihood was too small, or the draws too far from it.

    Parameters
    ----------
    field : str
    record : SampleRecord
        What steps have found out in a chain.
    references : sequence of Reference
        Samples of all fields; none of mixed fields, whose simulation has no options.
    """
    noise, share, distance = record.noise, record.least_share, record.distance
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


def sample_findings(reference: Reference, rv: Any, node: Any, draws: Any) -> list[Finding]:
    """Look, at some posterior draws, at the weights of the points and at the noise of the likelihood.

    Of fields whose parameters no step of this package has moved: those steps tell it by their statistics.
    """
    op, parameters = node.op, node.op.dist_params(node)
    if entries_behind(parameters[0]):
        return []
    # weights and noise depend on how many rows there are, and not on what they are
    rows = np.resize(reference.states.T, (rows_of_field(node), op.graph.n_nodes))
    engine = MonteCarloEdges(rows, op.graph, op.family, any(map(is_random, parameters[1:])), [reference])
    squares, shares, squared_distances = [], [], []
    for natural in draws.at_some(op.flat_natural(parameters)):
        engine.go_to(*np.split(natural, [op.graph.n_edges]))
        squares.append(engine.measure_noise() ** 2)
        there = engine.statistics()
        shares.append(there["ess"])
        squared_distances.append(there["distance"] ** 2)
    noise, share = float(np.sqrt(np.mean(squares))), min(shares)
    distance = float(np.sqrt(np.mean(squared_distances)))
    text = (
        f'likelihood="monte-carlo": smallest effective share of the sample {share:.2g}, noise of '
        f"log-likelihood ratios {noise:.2f}, distance of the draws from the reference {distance:.1f}"
    )
    if share < LEAST_SHARE or distance > FARTHEST:
        text += ": the draws are far from the reference"
    remedy = sample_remedy(noise, share, distance, [reference])
    return [Finding(AGAINST if remedy else FOR, str(rv.name), noise, text, remedy)]
