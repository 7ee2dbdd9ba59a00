"""`MonteCarloGibbs`: grouped parameters of any field, the likelihood from one simulation of it."""

from typing import ClassVar

import numpy as np

from pymc_mrf.distributions.likelihood import OF_SAMPLE
from pymc_mrf.likelihood.monte_carlo.likelihood import MonteCarlo
from pymc_mrf.steps.common.sample_checks import SampleRecord, is_kept, sample_statistics
from pymc_mrf.steps.common.statistics import Statistics
from pymc_mrf.steps.groups.engine_gibbs import EngineGibbs


class MonteCarloGibbs(EngineGibbs):
    """Grouped edge parameters under a Monte Carlo likelihood, of fields of any treewidth.

    Leaves invariant: the distribution proportional to prior times Monte Carlo likelihood (Geyer & Thompson,
    1992), exactly. Parameters and errors as of `ExactGibbs`; cost grows with the points of the sample.

    Notes
    -----
    Sampler statistics: those of `ExactGibbs`; ``monte_carlo_noise`` (standard deviation of the error of the
    log-likelihood ratio between two values of an entry, or of a group, one standard deviation apart, root
    mean square over either, the larger of both; measured at about 20 draws from halves of the sample),
    ``monte_carlo_ess`` (effective size of the weights of the points, relative to their number) and
    ``monte_carlo_error`` (half the difference of the log-likelihoods of all rows, relative to the reference,
    by the two halves of the sample) and ``monte_carlo_distance`` (of the draw from the reference, root mean
    square over all directions, in standard deviations that the rows leave of parameters). A warning at the
    end of a chain says if the noise, root mean square over the draws, was above 0.5, the distance above 2.2,
    or if at a draw the weights were worth less than a twentieth of the points.

    References
    ----------
    Geyer & Thompson (1992); Geyer (1994); Liu & Page (2013), eq. (4); Neal (2000), Algorithm 8.
    """

    name = "monte_carlo_gibbs"
    invariant: ClassVar = {MonteCarlo: OF_SAMPLE}
    default_for = MonteCarlo
    remembers = ("record",)
    prefix = "monte_carlo"
    statistics: Statistics = sample_statistics(
        "simulate more: the tolerance of the warning", 'use likelihood="particles": rows are few'
    )

    def _start(self) -> np.ndarray:
        return self._mean_of_engines([engine.place() for engine in self._engines])

    def _forget(self) -> None:
        super()._forget()
        self.record = SampleRecord()

    def _draw_values(self, labels, eta, base):
        eta, stats = super()._draw_values(labels, eta, base)
        goodness = [engine.goodness(eta[labels]) for engine in self._engines]
        shares, errors, distances = zip(*goodness, strict=True)
        share, distance, record = min(shares), max(distances), self.record
        if not self.tune:
            if is_kept(self.count):
                record.measured_noise = max(engine.noise(labels, eta) for engine in self._engines)
            record.add(record.measured_noise, share, distance)
        stats |= {
            "monte_carlo_noise": record.measured_noise,
            "monte_carlo_ess": share,
            "monte_carlo_error": sum(errors),
            "monte_carlo_distance": distance,
        }
        return eta, stats

    def _warn_at_end(self) -> list[str]:
        messages = super()._warn_at_end()
        if self.record.squares:
            messages += self._fields[0].likelihood.against_chain(self._name, self._fields, self.record)
        return messages
