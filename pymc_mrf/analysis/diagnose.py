"""One page on whether a run can be trusted, and what the statistics of its steps say of that."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, checked_group, group_variable, names_of
from pymc_mrf.analysis.convergence import FEWEST_DRAWS, entry_convergence, entry_name
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Diagnosis, Finding
from pymc_mrf.analysis.predictive_checks import are_states
from pymc_mrf.analysis.sampler_statistics import declared_of, sampler_statistics, split_number
from pymc_mrf.distributions.chain_record import LEAST_DRAWS
from pymc_mrf.steps.common.statistics import INF, summaries

if TYPE_CHECKING:
    import pymc as pm

R_HAT, LARGE_R_HAT = 1.01, 1.05
ESS_PER_CHAIN, SMALL_ESS_PER_CHAIN = 100, 25
ENOUGH_DRAWS = 100
MORE_CHAINS = "chains=4"
JUDGED = ("R-hat", "effective size")
"""What findings about convergence begin with."""


def diagnose(
    idata: xr.DataTree,
    *,
    model: "pm.Model | None" = None,
    var_names: str | Sequence[str] | None = None,
    group: str = "posterior",
) -> Diagnosis:
    """Say what speaks for and against trusting a run, each finding with its remedy.

    Convergence is judged entry by entry: R-hat (rank-normalised, split) above 1.05 and bulk effective
    sizes below 25 per chain speak against the run; R-hat above 1.01, which the worst of many entries
    exceeds by chance, or effective sizes below 100 per chain are worth knowing (Vehtari et al., 2021). What
    cannot be judged is not trusted: one chain, fewer than four draws, entries without these numbers.
    Entries that have one value in 99 of 100 draws, such as edges that are nearly always absent, have no
    meaningful R-hat and are left out of it; a variable that never moved, or entries that stand still at
    different values in different chains, speak against the run.

    Then the statistics of the package's steps: noise, drift and effective size of particles, acceptance,
    auxiliary data, numbers of groups or edges that never change. An acceptance of 1 in every draw says
    nothing: steps without proposals to refuse have it too.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    model : pymc.Model, optional
        The model that was sampled. If given, fields with ``likelihood="pseudo"`` are checked: the
        pseudo-likelihood is close to the likelihood where couplings are not strong and, for a `SpikeAndSlab`,
        edges are counted once. So are the sample behind ``likelihood="monte-carlo"`` where NUTS moved the
        parameters, and the error of ``likelihood="path"``. Two more things are checked: whether a
        ``log_likelihood`` group holds numbers of fields with another likelihood than ``"exact"``, which are
        no log probabilities (they are NaN, but for models that `pymc.observe` and its like make), and whether
        a step moved each `SpikeAndSlab` that can. So are residuals of measurements given all else, which are
        to be normal (Stephens, 1986), and draws whose precision of measurements is not
        positive definite are counted: chains under continuous priors may start at such ones.
        If no model is given, a note says so, unless neither the data nor the variables look like those of a
        field.
    var_names : str or sequence of str, optional
        Variables to look at; all by default.
    group : str
        Group of `idata` to read.

    Returns
    -------
    Diagnosis
        Printed, one page; with the attributes `findings` and `ok`, whether the run was judged and nothing
        speaks against it.

    Raises
    ------
    TypeError, ValueError
        If `idata` is not a DataTree, lacks the group or a variable, or `model` is no PyMC model.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021). For the strength of couplings: Dobrushin (1968);
    Hayes (2006), "A simple condition implying rapid mixing".
    """
    found = checked_group(idata, group).data_vars
    if var_names is None:
        names = list(map(str, found))
    else:
        names = names_of(var_names, "var_names", "names of variables")
        # of a field with missing cells these are what was drawn
        cells = {name: f"{name}_unobserved" for name in names if name not in found}
        names = [cells[name] if cells.get(name) in found else name for name in names]
    variables = [group_variable(idata, name, group) for name in names]
    sampled = [v for v in variables if set(SAMPLE_DIMS) <= set(v.dims) and v.dtype.kind in "iufb"]
    if not sampled:
        raise ValueError(f"the {group} group has no numerical variables with chains and draws")
    sizes = {dim: sampled[0].sizes[dim] for dim in SAMPLE_DIMS}
    findings = _size_findings(*sizes.values())
    ours = "sample_stats" in idata.children and len(sampler_statistics(idata).data_vars) > 0
    for values in sampled:
        findings += variable_findings(values, "plot_diagnostics" if ours else "arviz.plot_rank")
    if not any(f.level == AGAINST or f.text.startswith(JUDGED) for f in findings):
        text = "no entry of any variable has an R-hat and an effective size"
        findings.append(Finding(AGAINST, "run", None, text, "look at variables that move"))
    findings += step_findings(idata)
    if model is None:
        findings += _unchecked(idata, variables)
    else:
        from pymc_mrf.analysis.model_checks import model_findings

        findings += model_findings(idata, model, group)
    return Diagnosis(findings, *sizes.values())


def variable_findings(values: xr.DataArray, plot: str) -> list[Finding]:
    """Judge the convergence of one variable, entry by entry; `plot` shows more of it."""
    name = str(values.name)
    values = values.transpose(*SAMPLE_DIMS, ...)
    draws = values.values.reshape(*values.shape[:2], -1).astype(np.float64)
    if draws.shape[2] == 0:
        return []
    bad = ~np.isfinite(draws).all(axis=(0, 1))
    if bad.any():
        text = f"{bad.sum()} of {bad.size} entries are not finite"
        return [Finding(AGAINST, name, None, text, "find the term of the model that is undefined")]
    entries = entry_convergence(draws)
    if entries.constant.all():
        text = f"never changed in {draws.shape[0] * draws.shape[1]} draws"
        return [Finding(AGAINST, name, None, text, "another step, or other options of its step")]
    found = []
    stuck, silent = entries.stuck, entries.silent
    if stuck.any():
        text = (
            f"{stuck.sum()} of {stuck.size} entries stand still, at different values in different chains: "
            f"{entry_name(values, int(np.flatnonzero(stuck)[0]))}"
        )
        found.append(
            Finding(AGAINST, name, float(stuck.sum()), text, "sample longer, or use another step")
        )
    if silent.any():
        zeros = int((np.median(draws[:, :, silent], axis=(0, 1)) == 0.0).sum())
        text = (
            f"{silent.sum()} of {silent.size} entries have one value in nearly all draws "
            f"({zeros} of them 0): their R-hat means nothing and is not looked at"
        )
        found.append(Finding(NOTE, name, float(silent.sum()), text, ""))
    judged, r, sizes = entries.judged, entries.rhat, entries.ess
    known = np.isfinite(r) & np.isfinite(sizes)
    if not known.all():
        text = f"{int((~known).sum())} entries without a finite R-hat or effective size"
        remedy = "sample longer" if len(draws) > 1 else MORE_CHAINS
        found.append(Finding(AGAINST, name, float((~known).sum()), text, remedy))
    if not known.any():
        return found
    r, sizes, judged = r[known], sizes[known], judged[known]
    return [*found, _r_hat_finding(values, r, judged, plot), _ess_finding(values, sizes, judged)]


def _r_hat_finding(values: xr.DataArray, r: np.ndarray, judged: np.ndarray, plot: str) -> Finding:
    worst, above = int(np.argmax(r)), int((r > R_HAT).sum())
    value, name = float(r[worst]), str(values.name)
    if above == 0:
        return Finding(FOR, name, value, f"R-hat at most {value:.3f}", "")
    text = f"R-hat {value:.3f}"
    if values.ndim > 2:
        where = entry_name(values, int(judged[worst]))
        text = f"R-hat up to {value:.3f}, at {where}; {above} of {len(r)} entries above {R_HAT}"
    level = AGAINST if value > LARGE_R_HAT else NOTE
    return Finding(level, name, value, text, f"sample longer; see {plot}")


def _ess_finding(values: xr.DataArray, sizes: np.ndarray, judged: np.ndarray) -> Finding:
    worst, n_chains = int(np.argmin(sizes)), values.sizes["chain"]
    value, name = float(sizes[worst]), str(values.name)
    if value >= ESS_PER_CHAIN * n_chains:
        return Finding(FOR, name, value, f"effective size at least {value:.0f}", "")
    text = f"effective size down to {value:.0f}"
    if values.ndim > 2:
        text += f", at {entry_name(values, int(judged[worst]))}"
    level = AGAINST if value < SMALL_ESS_PER_CHAIN * n_chains else NOTE
    wanted = values.sizes["draw"] * ESS_PER_CHAIN * n_chains / max(value, 1.0)
    return Finding(level, name, value, text, f"sample longer: about draws={_round_up(wanted)}")


def _round_up(number: float) -> int:
    unit = 10 ** int(np.floor(np.log10(number)))
    return int(np.ceil(number / unit) * unit)


def _unchecked(idata: xr.DataTree, variables: list[xr.DataArray]) -> list[Finding]:
    """Name what needs the model; nothing where neither the data nor variables look like those of a field."""
    if "observed_data" in idata.children:
        data = idata["observed_data"].to_dataset().data_vars.values()
        discrete = [v for v in (*data, *variables) if v.dtype.kind != "f" or _has_gaps(v)]
        if not any(v.ndim >= 2 or len(np.unique(v.values[v.notnull()])) == 2 for v in discrete):
            return []
    text = "without a model it is not known whether a pseudo-likelihood was used for a strongly coupled field"
    return [Finding(NOTE, "run", None, text, "diagnose(idata, model=model)")]


def _has_gaps(values: xr.DataArray) -> bool:
    """Whether floats are the states of a field with missing cells."""
    return bool(values.isnull().any()) and are_states(values)


def _size_findings(n_chains: int, n_draws: int) -> list[Finding]:
    found = []
    if n_chains < 2:
        text = "one chain only: whether chains agree is not known"
        found.append(Finding(AGAINST, "run", float(n_chains), text, MORE_CHAINS))
    if n_draws < FEWEST_DRAWS:
        text = f"{n_draws} draws: nothing can be judged"
        found.append(Finding(AGAINST, "run", float(n_draws), text, f"draws={ENOUGH_DRAWS} at least"))
    elif n_draws < ENOUGH_DRAWS:
        text = f"{n_draws} draws are few: R-hat and effective sizes are rough"
        found.append(Finding(NOTE, "run", float(n_draws), text, f"draws={ENOUGH_DRAWS} at least"))
    return found


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
