"""What the statistics of the steps say for or against a run, by the ranges that the steps declare."""

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding
from pymc_mrf.analysis.sampler_statistics import declared_of, sampler_statistics, split_number
from pymc_mrf.steps.common.statistics import INF, LEAST_DRAWS, summaries


def step_findings(idata: xr.DataTree) -> list[Finding]:
    """Compare all statistics with their ranges; find nothing if there are no statistics."""
    if "sample_stats" not in idata.children:
        return []
    statistics = sampler_statistics(idata, settings=True)
    found = []
    for name in map(str, statistics):
        found += _judge(name, statistics, idata)
        declared = declared_of(name)
        if declared is not None and declared.statistic.should_vary:
            subject = _subject(name, statistics, idata)
            found += _constant(subject, declared.statistic.label, statistics[name])
    return found + _approximate(statistics) + _auxiliary(idata) + _divergences(idata)


def _judge(name: str, statistics: xr.Dataset, idata: xr.DataTree) -> list[Finding]:
    """Compare one statistic with its range, chain by chain; the worst chain counts."""
    declared = declared_of(name)
    if declared is None or declared.statistic.healthy is None:
        return []
    healthy, label = declared.statistic.healthy, declared.statistic.label

    def of_step(rest: str) -> str:
        return f"{declared.prefix}_{rest}{split_number(name)[1]}"

    given = [of_step(rest) for rest in healthy.given]
    if not set(given) <= set(statistics):
        return []
    values = statistics[name]
    for other in given:
        values = values.where(statistics[other].notnull())
    draws = values.transpose(*SAMPLE_DIMS).values
    if draws.shape[1] < healthy.least_draws:
        return []
    telling = ~np.isnan(draws).all(axis=1)
    draws = draws[telling]
    if not telling.any() or (draws == healthy.no_evidence).all():
        return []

    def beside(rest: str) -> np.ndarray:
        return statistics[of_step(rest)].transpose(*SAMPLE_DIMS).values[telling]

    low, high = (
        np.broadcast_to(end(beside) if callable(end) else end, len(draws))
        for end in (healthy.low, healthy.high)
    )
    chains = summaries(healthy.reduce, draws)
    beyond = np.maximum(low - chains, chains - high)
    ok = bool((beyond <= 0.0).all())
    usual = np.argmin(chains) if healthy.high == INF else np.argmax(chains)
    worst = int(usual if ok else np.argmax(beyond))
    value = float(chains[worst])
    bounds = f"below {low[worst]:.3g}" if value < low[worst] else f"above {high[worst]:.3g}"
    kind = "smallest " if healthy.reduce == "min" else ""
    text = f"{kind}{label} {value:.3g}" + ("" if ok else f", {bounds}")
    remedy = "" if ok else healthy.remedy
    return [Finding(FOR if ok else AGAINST, _subject(name, statistics, idata), value, text, remedy)]


def _subject(name: str, statistics: xr.Dataset, idata: xr.DataTree) -> str:
    """Name the step of a statistic, with its number if there are several, and with its variable.

    The variable is the one that has as many entries other than 0 as the step says edges.
    """
    declared, number = declared_of(name), split_number(name)[1]
    assert declared is not None
    if not number:
        return declared.title
    edges = statistics.get(f"{declared.prefix}_n_active{number}")
    variables = idata["posterior"].to_dataset().items() if "posterior" in idata.children else ()
    owners = [
        str(rv)
        for rv, values in variables
        if edges is not None
        and set(SAMPLE_DIMS) < set(values.dims)
        and ((values != 0).sum([dim for dim in values.dims if dim not in SAMPLE_DIMS]) == edges).all()
    ]
    return declared.title + number + (f" ({owners[0]})" if len(owners) == 1 else "")


def _constant(step: str, label: str, values: xr.DataArray) -> list[Finding]:
    """Name the chains whose number of groups or edges stayed the same."""
    if values.sizes["draw"] < LEAST_DRAWS:
        return []
    still = (values == values.isel(draw=0)).all("draw")
    if not still.any():
        return []
    numbers = sorted({int(v) for v in values.isel(draw=0).values[still.values]})
    text = f"{label} never changed in {int(still.sum())} of {still.size} chains: {numbers}"
    if len(numbers) > 1:
        return [Finding(AGAINST, step, float(still.sum()), text, "sample longer, or use another step")]
    text += ", believable if the data leave no doubt"
    return [Finding(NOTE, step, float(still.sum()), text, "")]


def _approximate(statistics: xr.Dataset) -> list[Finding]:
    """Name the steps whose results are approximations whatever their statistics say."""
    from pymc_mrf.steps.assign import STEPS

    prefixes = {
        declared.prefix for name in map(str, statistics) if (declared := declared_of(name)) is not None
    }
    return [
        Finding(NOTE, step.title, None, step.approximation, "")
        for step in STEPS
        if step.approximation and step.prefix in prefixes
    ]


def _auxiliary(idata: xr.DataTree) -> list[Finding]:
    """Say which steps have drawn inexact auxiliary data."""
    from pymc_mrf.steps.assign import STEPS

    statistics = idata["sample_stats"].to_dataset()
    found = []
    for step in STEPS:
        name, sweeps = f"{step.prefix}_draws", f"{step.prefix}_n_sweeps"
        if name not in statistics or sweeps not in statistics:
            continue
        gibbs = statistics[name].values == "gibbs"
        if gibbs.any():
            n = int(np.asarray(statistics[sweeps].values)[gibbs].min())
            text = f"auxiliary data come from Gibbs chains of {n} sweeps: the posterior is approximate"
            remedy = f"n_sweeps={2 * n} should change nothing"
            found.append(Finding(NOTE, step.title, float(n), text, remedy))
    return found


def _divergences(idata: xr.DataTree) -> list[Finding]:
    statistics = idata["sample_stats"].to_dataset()
    if "diverging" not in statistics:
        return []
    n = int(statistics["diverging"].sum())
    if n == 0:
        return [Finding(FOR, "NUTS", 0.0, "no divergences", "")]
    remedy = "a higher target_accept, or other parameters for the same model"
    return [Finding(AGAINST, "NUTS", float(n), f"{n} divergences", remedy)]
