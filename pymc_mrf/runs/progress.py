"""How far a run has come, and what is done with the news of its chains.

The time that is left, the effective draws so far, and whether they are enough; bars and warnings.
"""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from pymc.stats.convergence import log_warning

from pymc_mrf.analysis.convergence import entry_convergence, entry_name
from pymc_mrf.analysis.edges import edge_density
from pymc_mrf.analysis.groups import n_groups
from pymc_mrf.checks import number
from pymc_mrf.runs.chain import Report
from pymc_mrf.runs.present_edges import some_entries
from pymc_mrf.runs.store import Head, Run, Store, read_draws

SUMMARIES = {"n_groups": n_groups, "edge_density": edge_density}
UNKNOWN = (math.nan, "", math.nan, "")

LOOKS = 20
"""How often a run is compared with its target, its end included."""


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come, printed in a few lines.

    Attributes
    ----------
    steps : tuple of int
        Of each chain so far, those of tuning included.
    total : int
        That each chain will have.
    n_draws : int
        Draws per chain, after tuning, on which the rest is based.
    n_chains : int
        Chains that have these; the others still tune, or wait.
    seconds_left : float
        Estimate from the pace of late; NaN if nothing is written yet.
    rhat : float
        Largest R-hat; infinite where entries stand still at different values in different chains, NaN if no
        entry can be judged yet, as by one chain alone.
    rhat_entry : str
        Where it is.
    ess : float
        Fewest effective draws, over these chains (bulk effective size); NaN if no entry can be judged yet.
    ess_entry : str
        The slowest entry: where they are.
    summaries : dict of float
        Effective draws of the number of groups of each `DirichletProcess` and of the density of each
        `SpikeAndSlab`.
    """

    steps: tuple[int, ...]
    total: int
    n_draws: int
    n_chains: int
    seconds_left: float
    rhat: float
    rhat_entry: str
    ess: float
    ess_entry: str
    summaries: dict[str, float]

    def __str__(self) -> str:
        left = "" if math.isnan(self.seconds_left) else f", {duration(self.seconds_left)} left"
        lines = [f"steps {', '.join(map(str, self.steps))} of {self.total}{left}"]
        draws = f"{self.n_draws} draws per chain"
        if 0 < self.n_chains < len(self.steps):
            draws = f"{self.n_draws} draws of {self.n_chains} of {len(self.steps)} chains"
        if math.isnan(self.ess):
            return f"{lines[0]}\nnothing to judge in {draws}"
        r = "" if math.isnan(self.rhat) else f"R-hat at most {self.rhat:.3f} ({self.rhat_entry}), "
        lines.append(f"{draws}: {r}at least {self.ess:.0f} effective draws ({self.ess_entry})")
        known = {name: size for name, size in self.summaries.items() if not math.isnan(size)}
        lines += [f"{name}: {size:.0f} effective draws" for name, size in known.items()]
        return "\n".join(lines)

    def reaches(self, target: Mapping[str, float]) -> bool:
        """Whether R-hat and effective draws are as good as asked for; not if there are none."""
        good = {"rhat": lambda most: self.rhat <= most, "ess": lambda fewest: self.ess >= fewest}
        return all(good[name](value) for name, value in target.items())


def progress_of(store: Store, run: Run, draws: int | None = None) -> RunProgress:
    """Judge what is written.

    `draws`: number of draws after which chains are cut.
    """
    heads = [store.head(chain) for chain in range(run.chains)]
    idata = read_draws(store, run, warmup=False, draws=draws)
    found, sizes, n_draws, n_chains = [], {}, 0, 0
    if "posterior" in idata.children:
        n_draws, n_chains = (idata.posterior.sizes[dim] for dim in ("draw", "chain"))
        posterior = some_entries(idata).posterior
        variables = [v for v in posterior.data_vars.values() if v.dtype.kind in "iufb"]
        for name, kind in run.summaries.items():
            if name in idata.posterior:
                summary = SUMMARIES[kind](idata, name)
                variables.append(summary)
                sizes[str(summary.name)] = _extremes(summary)[2]
        found = [_extremes(values) for values in variables if values.size]
    judged = [extremes for extremes in found if not math.isnan(extremes[2])] or [UNKNOWN]
    return RunProgress(
        tuple(head.n for head in heads),
        run.tune + run.draws,
        n_draws,
        n_chains,
        seconds_left(heads, run),
        *max(extremes[:2] for extremes in judged),
        *min(extremes[2:] for extremes in judged),
        sizes,
    )


def seconds_left(heads: list[Head], run: Run) -> float:
    """Time until the last chain ends, if all go on at their pace of late."""
    known = [head.pace for head in heads if head.n]
    if not known:
        return math.nan
    usual, total = float(np.mean(known)), run.tune + run.draws
    times = [(total - head.n) * (head.pace if head.n else usual) for head in heads]
    return max(*times, sum(times) / run.cores)


def checked_target(until: Any) -> dict[str, float] | None:
    if until is None:
        return None
    names = {"rhat", "ess"}
    if not isinstance(until, Mapping) or not until or set(until) - names:
        raise ValueError(
            f"until must be as {{'rhat': 1.01, 'ess': 400}}, or one of the two, not {until!r}"
        )
    low = {"rhat": 1.0, "ess": 0.0}
    return {name: number(value, f"until[{name!r}]", low[name]) for name, value in until.items()}


def _extremes(values: xr.DataArray) -> tuple[float, str, float, str]:
    """Largest R-hat and fewest effective draws of a variable, each with its entry; NaN if none is judged."""
    values = values.transpose("chain", "draw", ...)
    draws = values.values.reshape(*values.shape[:2], -1).astype(np.float64)
    if not np.isfinite(draws).all():
        return math.inf, str(values.name), 0.0, str(values.name)
    entries = entry_convergence(draws)
    if entries.stuck.any():
        name = entry_name(values, int(np.flatnonzero(entries.stuck)[0]))
        return math.inf, name, 0.0, name
    alone = len(draws) == 1  # a chain that no other can be compared with
    known = (np.isfinite(entries.rhat) | alone) & np.isfinite(entries.ess)
    if not known.any():
        return UNKNOWN
    r, sizes = entries.rhat[known], entries.ess[known]
    worst, fewest = (int(entries.judged[known][k]) for k in (int(np.argmax(r)), int(np.argmin(sizes))))
    of_chains = (math.nan, "") if alone else (float(r.max()), entry_name(values, worst))
    return *of_chains, float(sizes.min()), entry_name(values, fewest)


def duration(seconds: float) -> str:
    """Round a time to what an estimate can bear."""
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} seconds"


# shown as the messages of PyMC are, and silent when these are
log = logging.getLogger("pymc.pymc_mrf")


class Listener:
    """What is done with the news of chains.

    `target`: "rhat" and "ess", or one of the two.

    Attributes: `n_draws`: after which the target was reached.
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
