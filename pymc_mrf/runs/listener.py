"""What is done with the news of chains: bars, warnings, and whether there are draws enough."""

import logging
from typing import Any

from pymc.stats.convergence import log_warning

from pymc_mrf.runs.chain import Report
from pymc_mrf.runs.progress import progress_of
from pymc_mrf.runs.store import Run, Store

# shown as the messages of PyMC are, and silent when these are
log = logging.getLogger("pymc.pymc_mrf")

LOOKS = 20
"""How often a run is compared with its target, its end included."""


class Listener:
    """What is done with the news of chains.

    Parameters
    ----------
    store : Store
    run : Run
    bars : ProgressBars
    target : dict or None
        "rhat" and "ess", or one of the two.

    Attributes
    ----------
    n_draws : int or None
        After which the target was reached.
    """

    def __init__(
        self,
        store: Store,
        run: Run,
        bars: Any,
        target: dict[str, float] | None,
    ) -> None:
        self._store, self._run, self.bars, self._target = store, run, bars, target
        self._shown = [0] * run.chains
        self._come = [store.head(chain).n for chain in range(run.chains)]
        self._looks = sorted({-(-run.draws * k // LOOKS) for k in range(1, LOOKS + 1)})
        self.n_draws: int | None = None

    def hear(self, chain: int, news: Report) -> bool:
        """Show the news of a chain; whether all are to stop."""
        for warning in news.warnings:
            log_warning(warning)
        total = self._run.tune + self._run.draws
        for i in range(self._shown[chain], news.n):
            tuning, is_last = i < self._run.tune, i + 1 == total
            self.bars.update(chain_idx=chain, is_last=is_last, draw=i, tuning=tuning, stats=news.stats)
        self._shown[chain] = max(self._shown[chain], news.n)  # it falls back when a worker dies
        self._come[chain] = news.n
        return self.reached()

    def reached(self) -> bool:
        """Look at what is written, if there is enough of it for another look; whether the target is reached.

        The looks are after given numbers of draws of all chains, so that the result is the same however fast
        the chains are, and wherever they were stopped.
        """
        if self._target is None or self.n_draws is not None:
            return self.n_draws is not None
        while (
            self._looks
            and min(self._come) - self._run.tune >= self._looks[0]
            and self._n_written() >= self._looks[0]
        ):
            draws = self._looks.pop(0)
            progress = progress_of(self._store, self._run, draws)
            log.info(str(progress))
            if progress.reaches(self._target):
                self.n_draws = draws
                log.info(f"until={self._target} is reached after {draws} draws per chain")
                return True
        return False

    def conclude(self) -> None:
        """Look a last time, and say if the target was not reached."""
        if self._target is not None and not self.reached():
            log.warning(
                f"until={self._target} is not reached after {self._n_written()} draws per chain: see "
                "pymc_mrf.diagnose, or sample longer"
            )

    def _n_written(self) -> int:
        return min(self._store.head(c).n for c in range(self._run.chains)) - self._run.tune
