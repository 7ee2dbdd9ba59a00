"""What the model tells of a run: how good its likelihoods are, and whether its steps can make zeros."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_model, group_variable, values_at_draws
from pymc_mrf.analysis.cone_draws import cone_findings
from pymc_mrf.analysis.findings import AGAINST, NOTE, Finding
from pymc_mrf.analysis.normality import normality_findings
from pymc_mrf.steps.common.sample_checks import COUPLING_DRAWS


def model_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Compare a posterior with what its model says.

    Raises
    ------
    TypeError
        If `model` is not a PyMC model.
    ValueError
        If the posterior lacks a variable of the model.
    """
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
    from pymc_mrf.steps.edges.edge_target import is_spike_and_slab

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
