"""Whether the couplings of a field are so strong that its pseudo-likelihood is no substitute."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, group_variable
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding

POWER_STEPS = 200
MAX_DRAWS = 20  # of the posterior, at which the couplings are looked at


def influence_radius(edges: np.ndarray, edge_tables: np.ndarray, n_nodes: int) -> float:
    """Spectral radius of the matrix of influences between neighbours; below 1, couplings are weak.

    The influence of a node on another is at most tanh(D / 4), D the largest log odds ratio in the table of
    their edge; it is tanh |J| in an Ising model. Below 1 correlations decay and Gibbs sampling mixes fast
    (Dobrushin, 1968; Hayes, 2006).

    Parameters
    ----------
    edges : (r, 2) integer array
    edge_tables : (r, K, K) array
        Log tables.
    n_nodes : int
    """
    T = edge_tables
    odds = (
        T[:, :, None, :, None] - T[:, None, :, :, None] - T[:, :, None, None, :] + T[:, None, :, None, :]
    )
    influence = np.tanh(np.abs(odds).max(axis=(1, 2, 3, 4)) / 4.0)
    u, v = edges.T
    x = np.ones(n_nodes)
    radius = 0.0
    for _ in range(POWER_STEPS):
        # of the matrix plus one: without it, bipartite graphs have two eigenvalues of one size
        y = x + np.bincount(u, influence * x[v], n_nodes) + np.bincount(v, influence * x[u], n_nodes)
        radius = float(np.linalg.norm(y) / np.linalg.norm(x)) - 1.0
        x = y / np.linalg.norm(y)
    return radius


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

    from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV, field_node

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
    """Up to 20 draws, spread over all chains, (draws, ...)."""
    flat = values.transpose(*SAMPLE_DIMS, ...).values
    flat = flat.reshape(-1, *flat.shape[2:])
    return flat[np.linspace(0, len(flat) - 1, min(len(flat), MAX_DRAWS)).astype(np.int64)]


def _finding(name: str, radius: float) -> Finding:
    about = f"influence of neighbours {radius:.2f}, median of the posterior"
    if radius < 0.7:
        return Finding(FOR, name, radius, f"pseudo-likelihood of weak couplings: {about}", "")
    remedy = (
        'likelihood="exact" if the junction tree is small, else "particles"; see plot_ppc_edges for what '
        "the fit misses"
    )
    if radius < 1.0:
        text = f"pseudo-likelihood of couplings of medium strength: {about}"
        return Finding(NOTE, name, radius, text, remedy)
    text = f"pseudo-likelihood of strongly coupled nodes: {about}, above 1. Its posterior may be far off"
    return Finding(AGAINST, name, radius, text, remedy)
