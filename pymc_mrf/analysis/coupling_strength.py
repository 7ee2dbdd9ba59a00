"""Whether the couplings of a field are so strong that its pseudo-likelihood is no substitute."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, group_variable
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding
from pymc_mrf.fields.coupling_strength import STRONG_INFLUENCE, influence_radius
from pymc_mrf.steps.edge_checks import COUPLING_DRAWS

WEAK = 0.7  # radius below which the pseudo-likelihood is commonly close to the likelihood


def pseudo_likelihood_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Judge every field with ``likelihood="pseudo"`` at some posterior draws of its parameters.

    Raises
    ------
    TypeError
        If `model` is not a PyMC model.
    ValueError
        If the posterior lacks a variable of the model.
    """
    import pymc as pm
    import pytensor.tensor as pt
    from pytensor.graph.traversal import ancestors

    from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
    from pymc_mrf.distributions.parents import field_node

    if not isinstance(model, pm.Model):
        raise TypeError(f"model must be a pymc.Model, not {type(model).__name__}")
    found = []
    for rv in model.basic_RVs:
        node = field_node(rv)
        if node is None or node.op.likelihood != "pseudo":
            continue
        if not isinstance(node.op, MarkovRandomFieldRV):
            text = "pseudo-likelihood of a factor graph: the strength of its couplings is not looked at"
            found.append(
                Finding(NOTE, str(rv.name), float("nan"), text, 'compare with likelihood="exact"')
            )
            continue
        table = node.op.log_tables(node.op.dist_params(node), pt)[0]
        needed = set(ancestors([table], blockers=model.free_RVs))
        inputs = [v for v in model.free_RVs if v in needed]
        draws = [_some_draws(group_variable(idata, v.name, group)) for v in inputs]
        f = model.compile_fn(table, inputs=inputs, point_fn=False)
        graph = node.op.graph
        radii = []
        for values in zip(*draws, strict=True) if draws else [()]:
            tables = f(*(value.astype(v.dtype) for value, v in zip(values, inputs, strict=True)))
            rows = tables.reshape(-1, *tables.shape[-3:])
            radii.append(max(influence_radius(graph.edges, row, graph.n_nodes) for row in rows))
        radius = float(np.median(radii))
        found.append(_finding(rv.name, radius))
    return found


def _some_draws(values: xr.DataArray) -> np.ndarray:
    """Up to `COUPLING_DRAWS` draws, spread over all chains, (draws, ...)."""
    flat = values.transpose(*SAMPLE_DIMS, ...).values
    flat = flat.reshape(-1, *flat.shape[2:])
    return flat[np.linspace(0, len(flat) - 1, min(len(flat), COUPLING_DRAWS)).astype(np.int64)]


def _finding(name: str, radius: float) -> Finding:
    about = f"influence of neighbours {radius:.2f}, median of the posterior"
    if radius < WEAK:
        return Finding(FOR, name, radius, f"pseudo-likelihood of weak couplings: {about}", "")
    remedy = (
        'likelihood="exact" if the junction tree is small, else "particles"; see plot_ppc_edges for what '
        "the fit misses"
    )
    if radius < STRONG_INFLUENCE:
        text = f"pseudo-likelihood of couplings of medium strength: {about}"
        return Finding(NOTE, name, radius, text, remedy)
    text = (
        f"pseudo-likelihood of strongly coupled nodes: {about}, above {STRONG_INFLUENCE:g}. Its posterior "
        "may be far off"
    )
    return Finding(AGAINST, name, radius, text, remedy)
