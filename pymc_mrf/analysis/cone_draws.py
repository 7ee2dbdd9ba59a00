"""Draws whose precision of measurements is not positive definite: they are none of the posterior.

Where all weights are continuous, chains may start outside of the cone and are led into it
(`pymc_mrf.distributions.gaussian_rv.far_outside`): with too little tuning their first draws lie outside.
Draws from the prior, of which the cone is no part, may lie there as well.
"""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_model, values_at_draws
from pymc_mrf.analysis.cone_fields import fields_of_measurements, precision_of
from pymc_mrf.analysis.findings import AGAINST, Finding
from pymc_mrf.checks import warn_user

REMEDY = (
    "leave out the draws before all chains were inside, as by idata.isel(draw=slice({first}, None)), or "
    "sample again with more tuning, tune=1000"
)
NEVER = "sample again with more tuning, tune=1000, or from starts with smaller weights, by initvals"


def cone_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Count the draws outside of the cone, of fields whose chains may start there."""
    found = []
    for node, name in fields_of_measurements(model).items():
        if not node.op.leads_back:
            continue
        outside = _outside(node, idata, model, group)
        if outside.any():
            found.append(Finding(AGAINST, name, float(outside.sum()), _text(outside), _remedy(outside)))
    return found


def warn_of_cone(idata: xr.DataTree, model: Any, group: str) -> None:
    """Warn of draws outside of the cone, of the fields of a model or of that of the context, if any."""
    import pymc as pm

    model = pm.Model.get_context(error_if_none=False) if model is None else model
    if model is None or group != "posterior":
        return
    check_model(model)
    for finding in cone_findings(idata, model, group):
        warn_user(f"{finding.subject}: {finding.text}: {finding.remedy}")


def warn_of_precisions(K: np.ndarray, name: str) -> None:
    """Warn of draws whose precision (chain, draw, d, d) is not positive definite, of weights of this name."""
    outside = np.linalg.eigvalsh(K)[..., 0] <= 0.0
    if outside.any():
        warn_user(f"{name}: {_text(outside)}: {_remedy(outside)}")


def check_precision(K: np.ndarray, name: str, draw: str) -> None:
    """Refuse a precision (..., d, d) of the draw called `draw` that is not positive definite."""
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"{name}: {draw} has a precision of the measurements that is not positive definite, under which "
            "there is no field: in a posterior, " + REMEDY.format(first="k") + "; draws from the prior "
            "within the cone are those of pymc_mrf.analysis.prior_in_cone"
        ) from error


def _outside(node: Any, idata: xr.DataTree, model: Any, group: str) -> np.ndarray:
    """Whether the precision of each draw (chain, draw), of any row, is not positive definite."""
    from pymc_mrf.distributions.gaussian_rv import OutsideOfCone

    K = precision_of(node)
    d = K.shape[-1]
    values, coords = values_at_draws(OutsideOfCone()(K.reshape((-1, d, d))).max(), idata, model, group)
    return np.array(list(values)).reshape(len(coords["chain"]), -1) > 0.5


def _text(outside: np.ndarray) -> str:
    """Say how many draws are outside, and where the last one is."""
    return (
        f"{int(outside.sum())} of {outside.size} draws have a precision of the measurements that is not "
        f"positive definite, and are none of the posterior; {int(outside.any(axis=1).sum())} of "
        f"{len(outside)} chains, up to draw {int(np.flatnonzero(outside.any(axis=0))[-1])}"
    )


def _remedy(outside: np.ndarray) -> str:
    """Say what to leave out, or that nothing would remain."""
    first = int(np.flatnonzero(outside.any(axis=0))[-1]) + 1
    return REMEDY.format(first=first) if first < outside.shape[1] else NEVER
