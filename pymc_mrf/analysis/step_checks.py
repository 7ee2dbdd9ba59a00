"""What the statistics of the steps say for or against a run, and what to do about it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding
from pymc_mrf.analysis.sampler_statistics import STEPS, sampler_statistics, split_name
from pymc_mrf.steps.targets import (
    EDGE_NOISE,
    LEAST_DRAWS,
    LEAST_RANGE,
    MOMENTUM_ERRORS,
    MOMENTUM_TOLERANCE,
)

Beside = Callable[[str], np.ndarray]  # other statistics (chain, draw) of the same step
Bound = float | Callable[[Beside], np.ndarray]


class Rule(NamedTuple):
    """Range of a statistic in a healthy chain; where the step warns too, the range of its warning.

    Attributes
    ----------
    name : str
    reduce : {"mean", "rms", "min", "max"}
        Of the draws of a chain; the worst chain counts. Squares keep their signs.
    low, high : float or callable
        The range, of every chain (chain,) if it depends on other statistics of the step.
    remedy : str
    given : tuple of str
        Other statistics of the step: without them, and in draws where one is NaN, nothing is judged.
    least_draws : int
        Below which nothing is judged.
    """

    name: str
    reduce: str
    low: Bound
    high: Bound
    remedy: str
    given: tuple[str, ...] = ()
    least_draws: int = 1


INF = float("inf")


def _summaries(reduce: str, draws: np.ndarray) -> np.ndarray:
    """One number (chain,) for the draws (chain, draw) of each chain."""
    if reduce == "min":
        return np.nanmin(draws, axis=1)
    if reduce == "max":
        return np.nanmax(draws, axis=1)
    if reduce == "rms":
        return np.sqrt(np.maximum(np.nanmean(draws * np.abs(draws), axis=1), 0.0))
    return np.nanmean(draws, axis=1)


def _target_noise(beside: Beside) -> np.ndarray:
    return _summaries("mean", beside("target_noise"))


def _largest_drift(beside: Beside) -> np.ndarray:
    # few particles are too noisy to tell a drift from noise
    return np.maximum(_target_noise(beside), _summaries("rms", beside("noise")))


def _momentum_gap(beside: Beside) -> np.ndarray:
    error = beside("momentum_error")
    n = np.count_nonzero(~np.isnan(error), axis=1)
    return MOMENTUM_TOLERANCE + MOMENTUM_ERRORS * np.sqrt(np.nansum(error**2, axis=1)) / n


RULES = (
    Rule(
        "particle_ratio_noise",
        "rms",
        0.0,
        _target_noise,
        "use more particles: a smaller target_noise, or n_particles",
        given=("target_noise",),
    ),
    Rule(
        "particle_ratio_drift",
        "rms",
        0.0,
        _largest_drift,
        "let the particles move more: a larger n_sweeps",
        given=("target_noise", "noise"),
    ),
    Rule("particle_ratio_ess", "min", 0.05, INF, "use more particles: a larger n_particles"),
    Rule("group_gibbs_acceptance", "mean", 0.4, INF, "tune longer: the step size has not settled"),
    Rule("edge_gibbs_noise", "rms", 0.0, EDGE_NOISE, "use more particles: a larger n_particles"),
    Rule("edge_gibbs_ess", "min", 0.05, INF, "use more particles: a larger n_particles"),
    Rule(
        "stripped_beta_moment_gap",
        "mean",
        0.0,
        0.05,
        "follow the tied estimate longer: a larger n_iterations, or more particles",
    ),
    Rule(
        "auxiliary_mh_label_acceptance",
        "mean",
        0.005,
        INF,
        "make more proposals (n_proposals), or let ExactGibbs or ParticleRatioGibbs sample the groups",
    ),
    Rule(
        "auxiliary_mh_value_acceptance",
        "mean",
        0.05,
        0.9,
        "a smaller sigma if too few proposals are accepted, a larger one if nearly all are",
    ),
    Rule("exchange_accept", "mean", 0.1, 0.7, "tune longer, or propose smaller blocks (block_size)"),
    Rule("edge_gibbs_accept", "mean", 0.05, INF, "sample longer: single edges move too rarely"),
    Rule("edge_gibbs_joint_accept", "mean", 0.4, INF, "tune longer: the step size has not settled"),
    Rule(
        "reversible_jump_add_accept",
        "mean",
        0.001,
        INF,
        "sample longer, or let EdgeGibbs sample the edges",
    ),
    Rule(
        "reversible_jump_delete_accept",
        "mean",
        0.001,
        INF,
        "sample longer, or let EdgeGibbs sample the edges",
    ),
    Rule("persistent_langevin_accept", "mean", 0.4, INF, "use a smaller step size"),
    Rule(
        "persistent_langevin_range",
        "max",
        LEAST_RANGE,
        INF,
        "use a larger step size, or sample longer: the values hardly move",
        least_draws=LEAST_DRAWS,
    ),
    Rule(
        "persistent_langevin_momentum",
        "mean",
        lambda beside: 1.0 - _momentum_gap(beside),
        lambda beside: 1.0 + _momentum_gap(beside),
        "use a smaller step size, or more particles",
        given=("momentum_error",),
    ),
    Rule(
        "tree_gibbs_accept", "mean", 0.01, INF, "write the terms that depend on the field node by node"
    ),
    Rule(
        "tree_gibbs_changed",
        "mean",
        1e-4,
        INF,
        "see whether nearly all nodes are certain; else n_sweeps",
    ),
)
# steps whose results are approximations whatever their statistics say
APPROXIMATE = {
    "stripped_beta": "approximates the posterior, exactly on trees only: compare with ParticleRatioGibbs",
    "particle_ratio": "approximates the posterior: twice as many particles should change nothing",
}
SAMPLERS = {"exchange_draws": "exchange_n_sweeps", "auxiliary_mh_draws": "auxiliary_mh_n_sweeps"}


def step_findings(idata: xr.DataTree) -> list[Finding]:
    """Compare all statistics with their ranges; without sampler statistics, nothing."""
    if "sample_stats" not in idata.children:
        return []
    statistics = sampler_statistics(idata, settings=True)
    found = []
    for name, values in statistics.items():
        rule = next((rule for rule in RULES if rule.name == str(name).split("[")[0]), None)
        if rule is not None:
            found += _judge(rule, str(name), statistics, idata)
        if str(name).split("[")[0].endswith(("_n_active", "_n_groups")):
            found += _constant(*_subject(str(name), statistics, idata), values)
    for prefix, text in APPROXIMATE.items():
        if any(str(name).startswith(f"{prefix}_") for name in statistics):
            step, _ = split_name(f"{prefix}_") or ("", "")
            found.append(Finding(NOTE, step, None, text, ""))
    return found + _auxiliary(idata) + _divergences(idata)


def _judge(rule: Rule, name: str, statistics: xr.Dataset, idata: xr.DataTree) -> list[Finding]:
    """Compare one statistic with its range, chain by chain; the worst chain counts."""
    [prefix] = [prefix for prefix in STEPS if name.startswith(f"{prefix}_")]
    number = name[len(rule.name) :]
    given = [f"{prefix}_{rest}{number}" for rest in rule.given]
    if not set(given) <= set(statistics):
        return []
    values = statistics[name]
    for other in given:
        values = values.where(statistics[other].notnull())
    draws = values.transpose(*SAMPLE_DIMS).values
    if draws.shape[1] < rule.least_draws:
        return []
    telling = ~np.isnan(draws).all(axis=1)
    draws = draws[telling]
    if "accept" in rule.name and (draws == 1.0).all():  # nothing was there to be refused
        return []
    if not telling.any():
        return []

    def beside(rest: str) -> np.ndarray:
        return statistics[f"{prefix}_{rest}{number}"].transpose(*SAMPLE_DIMS).values[telling]

    low, high = (
        np.broadcast_to(end(beside) if callable(end) else end, len(draws))
        for end in (rule.low, rule.high)
    )
    chains = _summaries(rule.reduce, draws)
    beyond = np.maximum(low - chains, chains - high)
    ok = bool((beyond <= 0.0).all())
    usual = np.argmin(chains) if rule.high == INF else np.argmax(chains)
    worst = int(usual if ok else np.argmax(beyond))
    value = float(chains[worst])
    bounds = f"below {low[worst]:.3g}" if value < low[worst] else f"above {high[worst]:.3g}"
    step, label = _subject(name, statistics, idata)
    kind = "smallest " if rule.reduce == "min" else ""
    text = f"{kind}{label} {value:.3g}" + ("" if ok else f", {bounds}")
    return [Finding(FOR if ok else AGAINST, step, value, text, "" if ok else rule.remedy)]


def _subject(name: str, statistics: xr.Dataset, idata: xr.DataTree) -> tuple[str, str]:
    """Step and label of a statistic; the step with its number if there are several, and with its variable.

    The variable is the one that has as many entries other than 0 as the step says edges.
    """
    step, label = split_name(name) or ("", name)
    if "[" not in name:
        return step, label
    number = name[name.index("[") :]
    [prefix] = [prefix for prefix, title in STEPS.items() if title == step]
    edges = statistics.get(f"{prefix}_n_active{number}")
    variables = idata["posterior"].to_dataset().items() if "posterior" in idata.children else ()
    owners = [
        str(rv)
        for rv, values in variables
        if edges is not None
        and set(SAMPLE_DIMS) < set(values.dims)
        and ((values != 0).sum([dim for dim in values.dims if dim not in SAMPLE_DIMS]) == edges).all()
    ]
    return step + number + (f" ({owners[0]})" if len(owners) == 1 else ""), label


def _constant(step: str, label: str, values: xr.DataArray) -> list[Finding]:
    """Chains whose number of groups or edges stayed the same."""
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


def _auxiliary(idata: xr.DataTree) -> list[Finding]:
    """Inexact auxiliary data."""
    statistics = idata["sample_stats"].to_dataset()
    found = []
    for name, sweeps in SAMPLERS.items():
        if name not in statistics or sweeps not in statistics:
            continue
        gibbs = statistics[name].values == "gibbs"
        if gibbs.any():
            n = int(np.asarray(statistics[sweeps].values)[gibbs].min())
            step, _ = split_name(name) or ("", "")
            text = f"auxiliary data come from Gibbs chains of {n} sweeps: the posterior is approximate"
            found.append(Finding(NOTE, step, float(n), text, f"n_sweeps={2 * n} should change nothing"))
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
