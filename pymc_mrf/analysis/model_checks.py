"""What a model tells of a run: its likelihoods, steps that can make zeros, measurements that are normal."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_model, group_variable, values_at_draws
from pymc_mrf.analysis.cone_draws import cone_findings
from pymc_mrf.analysis.cone_fields import fields_of_measurements
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding
from pymc_mrf.checks import few
from pymc_mrf.distributions.chain_record import COUPLING_DRAWS

MOST_DRAWS = 100  # of which the mean of the parameters is taken
LEAST_ROWS = 20  # complete ones, below which nothing is said
FALSE_ALARM = 1e-3
"""Probability by Anderson & Darling's statistic below which a field has a column that is told, all columns
together: of normal tables some one in a thousand, and fewer where the distance decides."""

LEAST_DISTANCE = 0.04
"""Distance of distribution functions below which nothing is told, however many rows there are: that of
Student's t with 5 degrees of freedom is .038, with 3 .087, of a normal variable, a fifth at a floor, .126."""

# share of rows with the smallest or largest value, from which on the scale ends there
AT_ONE_VALUE = 0.1
FEW_VALUES = 12  # different values up to which a column of whole numbers is told as answers or counts
SKEWED = 0.5


def model_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Compare a posterior with what its model says."""
    check_model(model)
    checks = (
        cone_findings,
        likelihood_findings,
        log_likelihood_findings,
        zero_findings,
        normality_findings,
    )
    return [finding for check in checks for finding in check(idata, model, group)]


class ModelDraws:
    """Draws of a model, as `Likelihood.findings` asks for them."""

    def __init__(self, idata: xr.DataTree, model: Any, group: str) -> None:
        self.model, self._of = model, (idata, model, group)
        self._seen: set[Any] = set()

    def at_some(self, variable: Any) -> list[np.ndarray]:
        """Values of a function of the free variables at up to `COUPLING_DRAWS` draws of all chains."""
        return list(values_at_draws(variable, *self._of, COUPLING_DRAWS)[0])

    def of(self, name: str) -> np.ndarray:
        """Draws of a variable, (chains, draws, ...)."""
        idata, _, group = self._of
        return group_variable(idata, name, group).transpose(*SAMPLE_DIMS, ...).values

    def is_first(self, rv: Any) -> bool:
        """Whether a variable is asked about for the first time."""
        is_new = rv not in self._seen
        self._seen.add(rv)
        return is_new


def likelihood_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Judge each field by its likelihood."""
    from pymc_mrf.distributions.parents import fields_of

    draws = ModelDraws(idata, model, group)
    return [
        finding
        for rv, node in fields_of(model)
        for finding in node.op.likelihood.findings(rv, node, draws)
    ]


def log_likelihood_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Name the fields whose stored ``log_likelihood`` is not the log of a probability."""
    from pymc_mrf.distributions.parents import field_node

    if "log_likelihood" not in idata.children:
        return []
    found = []
    remedy = (
        "compare models by pymc_mrf.analysis.log_predictive of pymc_mrf.analysis."
        'conditional_log_likelihood, or declare the field with likelihood="exact"'
    )
    for rv in model.observed_RVs:
        node = field_node(rv)
        if node is None or rv.name not in idata["log_likelihood"].data_vars:
            continue
        if np.isnan(idata["log_likelihood"][rv.name]).all():
            continue  # as pm.compute_log_likelihood has it, with a warning
        level, text = node.op.likelihood.not_comparable
        if text:
            found.append(Finding(level, str(rv.name), None, text, remedy))
    return found


def zero_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Name the `SpikeAndSlab` vectors that no step moved which adds and removes edges."""
    from pymc_mrf.steps.assign import STEPS
    from pymc_mrf.steps.edges.edge_step import is_spike_and_slab

    if group != "posterior" or "sample_stats" not in idata.children:
        return []
    there = set(idata["sample_stats"].data_vars)
    changes = {step.changes_edges for step in STEPS if not there.isdisjoint(step.declared)}
    if True in changes:
        return []
    given = False in changes  # values of the edges of a graph that the user gave
    text = "was moved by a step that cannot make or unmake zeros"
    remedy = "combine it with pymc_mrf.papers.ReversibleJump" if given else "leave it to pm.sample()"
    return [
        Finding(NOTE if given else AGAINST, str(rv.name), None, text, remedy)
        for rv in model.free_RVs
        if is_spike_and_slab(rv) and rv.name in idata[group].data_vars
    ]


def normality_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Compare standardised residuals of measurements, given all else, with the normal distribution.

    At the posterior mean of the parameters, in the complete rows; of fields whose rows are alike in them.
    """
    found = []
    for node, name in fields_of_measurements(model).items():
        told = standardised_residuals(node, idata, model, group)
        if told is not None:
            labels, columns, residuals = told
            found += _of_field(name, labels, columns, residuals)
    return found


def standardised_residuals(
    node: Any, idata: xr.DataTree, model: Any, group: str
) -> tuple[list, np.ndarray, np.ndarray] | None:
    """Labels (c,) of the measurements of a field, their values (n, c) and standardised residuals (n, c).

    None with fewer than `LEAST_ROWS` complete rows, without measurements, or if rows differ in parameters
    other than means.
    """
    from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows
    from pymc_mrf.fields.mixed import features_of_rows
    from pymc_mrf.steps.common.model_field import field_of

    op, parameters = node.op, node.op.dist_params(node)
    is_mixed = op.kind == "mixed"
    weight, diagonal, mean = parameters[0], parameters[-2], parameters[-1]
    cells = field_of(node, model)
    complete, c = ~cells.free.any(axis=1), len(cells.measured)
    if complete.sum() < LEAST_ROWS or not c or not shared_by_rows([weight, diagonal], [1, 1]):
        return None
    weight, diagonal = core(weight, 1), core(diagonal, 1)
    form = op.form(weight, diagonal) if is_mixed else -op.precision(weight, diagonal)
    values, _ = values_at_draws([form, mean], idata, model, group, MOST_DRAWS)
    drawn = list(values)
    form_mean, centre = (np.mean([v[k] for v in drawn], axis=0) for k in range(2))
    centre = centre.ravel() if centre.size == c else centre.reshape(-1, c)
    x = cells.table[:, cells.measured]
    deviations = (x - centre) / np.array(op.scale)
    z, x = deviations[complete], x[complete]
    if is_mixed:
        states = cells.table[complete][:, op.columns.answers].astype(np.int64)
        z = features_of_rows(op.layout, states, z)
    first = z.shape[1] - c
    residuals = -(z @ form_mean)[:, first:] / np.sqrt(-np.diag(form_mean)[first:])
    return [op.graph.nodes[i] for i in cells.measured.tolist()], x, residuals


def _of_field(name: str, labels: list, columns: np.ndarray, residuals: np.ndarray) -> list[Finding]:
    """Tell which columns are not normal given the others, worst first."""
    told = []
    for label, x, r in zip(labels, columns.T, residuals.T, strict=True):
        p, distance = departure_from_normal(r)
        if p < FALSE_ALARM / len(labels) and distance > LEAST_DISTANCE:
            told.append((distance, f"{label} ({kind_of_departure(x, r)})"))
    if not told:
        text = "residuals of the measurements given all else look normal"
        return [Finding(FOR, name, 0.0, text, "")]
    told.sort(reverse=True)
    text = (
        f"{len(told)} of {len(labels)} measurements are not normal given all else: "
        f"{few(text for _, text in told)}; edges and Bayes factors of these rest on a normal "
        "distribution that they do not have"
    )
    remedy = (
        "take logs of positive skewed columns, or normal scores of the ranks; make few values, counts and "
        'columns with a floor ordinal answers of a mixed table (column_kinds with "ordinal")'
    )
    return [Finding(NOTE, name, told[0][0], text, remedy)]


def departure_from_normal(r: np.ndarray) -> tuple[float, float]:
    """P-value by Anderson & Darling, mean and variance estimated, and distance from the normal distribution.

    The p-value is that of Stephens (1986) for A^2 (1 + 0.75 / n + 2.25 / n^2); 1 where it is above .1. The
    distance is the largest of the distribution functions.
    """
    from scipy.special import log_ndtr, ndtr

    n, spread = len(r), r.std(ddof=1)
    if not spread > 0.0:
        return 0.0, 1.0
    z = np.sort((r - r.mean()) / spread)
    odd, k = 2.0 * np.arange(1, n + 1) - 1.0, np.arange(n + 1) / n
    a = (-n - np.mean(odd * (log_ndtr(z) + log_ndtr(-z[::-1])))) * (1.0 + 0.75 / n + 2.25 / n**2)
    p = np.exp(1.2937 - 5.709 * a + 0.0186 * a * a) if 0.6 < a < 13.0 else float(a <= 0.6)
    below = ndtr(z)
    return float(p), float(max(np.abs(k[1:] - below).max(), np.abs(below - k[:-1]).max()))


def kind_of_departure(x: np.ndarray, r: np.ndarray) -> str:
    """Say in what a column `x` (n,) with residuals `r` (n,) departs from normal."""
    for end, what in ((x.min(), "floor"), (x.max(), "ceiling")):
        share = float((x == end).mean())
        if share >= AT_ONE_VALUE:
            return f"{share:.0%} of the rows at a {what}, {end:g}"
    values = np.unique(x)
    if len(values) <= FEW_VALUES:
        return f"{len(values)} different values"
    z = (r - r.mean()) / r.std()
    skewness, kurtosis = float(np.mean(z**3)), float(np.mean(z**4)) - 3.0
    if abs(skewness) > SKEWED and skewness**2 > 0.25 * abs(kurtosis):
        return f"skewed, {skewness:.1f}"
    return f"{'heavy' if kurtosis > 0.0 else 'light'} tails, excess kurtosis {kurtosis:.1f}"
