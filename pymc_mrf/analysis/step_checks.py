"""What the statistics of the steps say for or against a run, and what to do about it."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding
from pymc_mrf.analysis.sampler_statistics import STEPS, sampler_statistics, split_name

LEAST_DRAWS = 50  # below which a number may stay the same by chance


class Rule(NamedTuple):
    """Range of a statistic in a healthy chain.

    Attributes
    ----------
    name : str
    reduce : {"mean", "rms", "min", "max"}
        Of the draws of a chain; the worst chain counts. Squares keep their signs.
    low, high : float
        The range.
    remedy : str
    """

    name: str
    reduce: str
    low: float
    high: float
    remedy: str


INF = float("inf")
RULES = (
    Rule(
        "particle_ratio_noise",
        "rms",
        0.0,
        0.3,
        "use more particles: a smaller target_noise, or n_particles",
    ),
    Rule("particle_ratio_drift", "rms", 0.0, 0.3, "let the particles move more: a larger n_sweeps"),
    Rule("particle_ratio_ess", "min", 0.05, INF, "use more particles: a larger n_particles"),
    Rule("edge_gibbs_noise", "rms", 0.0, 0.5, "use more particles: a larger n_particles"),
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
        0.5,
        INF,
        "use a larger step size, or sample longer: the values hardly move",
    ),
    Rule("persistent_langevin_momentum", "mean", 0.8, 1.2, "use a smaller step size, or more particles"),
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
SAMPLERS = {"exchange_draws": "exchange_sweeps", "auxiliary_mh_draws": "auxiliary_mh_n_sweeps"}


def step_findings(idata: xr.DataTree) -> list[Finding]:
    """Compare all statistics with their ranges; without sampler statistics, nothing."""
    if "sample_stats" not in idata.children:
        return []
    statistics = sampler_statistics(idata)
    found = []
    for name, values in statistics.items():
        rule = next((rule for rule in RULES if rule.name == str(name).split("[")[0]), None)
        if rule is not None and not np.isnan(values.values).all():
            found += _judge(rule, *_subject(str(name), statistics, idata), values)
        if str(name).split("[")[0].endswith(("_n_active", "_n_groups")):
            found += _constant(*_subject(str(name), statistics, idata), values)
    for prefix, text in APPROXIMATE.items():
        if any(str(name).startswith(f"{prefix}_") for name in statistics):
            step, _ = split_name(f"{prefix}_") or ("", "")
            found.append(Finding(NOTE, step, None, text, ""))
    return found + _auxiliary(idata) + _divergences(idata)


def _judge(rule: Rule, step: str, label: str, values: xr.DataArray) -> list[Finding]:
    draws = values.transpose("chain", "draw").values
    draws = draws[~np.isnan(draws).all(axis=1)]  # chains that say something
    if "accept" in rule.name and (draws == 1.0).all():  # nothing was there to be refused
        return []
    if rule.reduce == "min":
        chains = np.nanmin(draws, axis=1)
    elif rule.reduce == "max":
        chains = np.nanmax(draws, axis=1)
    elif rule.reduce == "rms":
        chains = np.sqrt(np.maximum(np.nanmean(draws * np.abs(draws), axis=1), 0.0))
    else:
        chains = np.nanmean(draws, axis=1)
    low, high = float(chains.min()), float(chains.max())
    value = low if low < rule.low else high
    if rule.low <= low and high <= rule.high:
        value = low if rule.high == INF else high
    ok = rule.low <= value <= rule.high
    bounds = f"below {rule.low:g}" if value < rule.low else f"above {rule.high:g}"
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
