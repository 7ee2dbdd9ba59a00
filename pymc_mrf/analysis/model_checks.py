"""What the model tells of a run: how good its likelihoods are, and whether its steps can make zeros."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_model
from pymc_mrf.analysis.cone_draws import cone_findings
from pymc_mrf.analysis.coupling_strength import pseudo_likelihood_findings
from pymc_mrf.analysis.findings import AGAINST, NOTE, Finding
from pymc_mrf.analysis.normality import normality_findings
from pymc_mrf.analysis.path_checks import path_findings
from pymc_mrf.analysis.sample_checks import sample_findings


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
        pseudo_likelihood_findings,
        path_findings,
        sample_findings,
        log_likelihood_findings,
        zero_findings,
        normality_findings,
    )
    return [finding for check in checks for finding in check(idata, model, group)]


def log_likelihood_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Name the fields whose stored ``log_likelihood`` is not the log of a probability."""
    from pymc_mrf.distributions.parents import field_node

    if "log_likelihood" not in idata.children:
        return []
    found = []
    remedy = (
        "compare models by log_predictive of conditional_log_likelihood, or declare the field with "
        'likelihood="exact"'
    )
    for rv in model.observed_RVs:
        node = field_node(rv)
        if node is None or rv.name not in idata["log_likelihood"].data_vars:
            continue
        if np.isnan(idata["log_likelihood"][rv.name]).all():
            continue  # as pm.compute_log_likelihood has it, with a warning
        if node.op.likelihood == "particles":
            text = (
                "its log_likelihood is an unnormalised energy: arviz.loo and compare of it mean nothing"
            )
            found.append(Finding(AGAINST, str(rv.name), None, text, remedy))
        if node.op.likelihood in ("pseudo", "adjusted-pseudo"):
            text = (
                "its log_likelihood is a pseudo-likelihood, not to be compared by arviz.loo or compare "
                "with a likelihood"
            )
            found.append(Finding(NOTE, str(rv.name), None, text, remedy))
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
    remedy = "combine it with ReversibleJump" if given else "leave it to pm.sample()"
    return [
        Finding(NOTE if given else AGAINST, str(rv.name), None, text, remedy)
        for rv in model.free_RVs
        if is_spike_and_slab(rv) and rv.name in idata[group].data_vars
    ]
