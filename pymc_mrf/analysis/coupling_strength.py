"""Whether a pseudo-likelihood is no substitute: strong couplings, or edges that it counts too often."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import logit

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, group_variable, values_at_draws
from pymc_mrf.analysis.findings import AGAINST, FOR, NOTE, Finding
from pymc_mrf.fields.coupling_strength import STRONG_INFLUENCE, influence_radius
from pymc_mrf.steps.common.sample_checks import COUPLING_DRAWS
from pymc_mrf.steps.edges.edge_checks import AS_CANDIDATES, COUNT_ONCE, false_edges, is_overstated

WEAK = 0.7  # radius below which the pseudo-likelihood is commonly close to the likelihood


def pseudo_likelihood_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Judge fields with ``likelihood="pseudo"`` at some posterior draws, and the edges that these include."""
    import pytensor.tensor as pt

    from pymc_mrf.distributions.kinetic_rv import KineticRV
    from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
    from pymc_mrf.distributions.parents import fields_under, likelihoods_fed
    from pymc_mrf.distributions.remedies import IN_PLACE_OF_PSEUDO, in_place_of_pseudo, possible_of
    from pymc_mrf.steps.edges.edge_target import is_spike_and_slab

    found = []
    for rv, node in fields_under("pseudo", model):
        instead = in_place_of_pseudo(possible_of(node, model, IN_PLACE_OF_PSEUDO))
        if not isinstance(node.op, MarkovRandomFieldRV):
            is_kinetic = isinstance(node.op, KineticRV)
            what = "links within the rows of a field in time" if is_kinetic else "a factor graph"
            text = f"pseudo-likelihood of {what}: the strength of its couplings is not looked at"
            remedy = f"compare with {instead}" if instead else "compare predictive draws with the data"
            found.append(Finding(NOTE, str(rv.name), float("nan"), text, remedy))
            continue
        table = node.op.log_tables(node.op.dist_params(node), pt)[0]
        graph = node.op.graph
        radii = []
        for tables in at_some_draws(table, idata, model, group):
            rows = tables.reshape(-1, *tables.shape[-3:])
            radii.append(max(influence_radius(graph.edges, row, graph.n_nodes) for row in rows))
        found.append(_finding(rv.name, float(np.median(radii)), instead))
    for rv in model.free_RVs:
        if is_spike_and_slab(rv) and "pseudo" in likelihoods_fed(rv):
            found += _overstated_findings(rv, idata, model, group)
    return found


def _overstated_findings(rv: Any, idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    from pymc_mrf.distributions.kinetic_rv import KineticRV
    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.steps.common.expressions import children

    fed = [node for child in children(rv, model) if (node := field_node(child)) is not None]
    if any(isinstance(node.op, KineticRV) for node in fed):
        return []  # arrows, whose probabilities are right, and links may share a vector: the step tells
    draws = group_variable(idata, rv.name, group).transpose(*SAMPLE_DIMS, ...).values
    inclusion = (draws[..., rv.owner.op.heads] != 0).mean(axis=(0, 1))  # of blocks, or of all entries
    p = rv.owner.op.shape_and_arguments(rv.owner.inputs)[1]
    log_odds = np.mean([logit(value) for value in at_some_draws(p, idata, model, group)], axis=0)
    weight = max(node.op.conditional_weight for node in fed)
    n_found, claimed, expected = false_edges(inclusion, log_odds, weight)
    if not is_overstated(n_found, claimed, expected):
        return []
    text = (
        f"pseudo-likelihood with weight={weight:g} that is too sure of its edges: of the {n_found} with an "
        f"inclusion probability above 0.5 it claims that {claimed / n_found:.0%} are zero, but about "
        f"{expected / n_found:.0%} are to be expected"
    )
    return [Finding(AGAINST, str(rv.name), expected / n_found, text, COUNT_ONCE)]


def at_some_draws(variable: Any, idata: xr.DataTree, model: Any, group: str) -> list[np.ndarray]:
    """Values of a function of the model's free variables at up to `COUPLING_DRAWS` draws of all chains."""
    return list(values_at_draws(variable, idata, model, group, COUPLING_DRAWS)[0])


def _finding(name: str, radius: float, instead: str) -> Finding:
    about = f"influence of neighbours {radius:.2f}, median of the posterior"
    if radius < WEAK:
        return Finding(FOR, name, radius, f"pseudo-likelihood of weak couplings: {about}", "")
    remedy = f"{instead or AS_CANDIDATES}; see plot_ppc_edges for what the fit misses"
    if radius < STRONG_INFLUENCE:
        text = f"pseudo-likelihood of couplings of medium strength: {about}"
        return Finding(NOTE, name, radius, text, remedy)
    text = (
        f"pseudo-likelihood of strongly coupled nodes: {about}, above {STRONG_INFLUENCE:g}. Its posterior "
        "may be far off, that of couplings which edges share most"
    )
    return Finding(AGAINST, name, radius, text, remedy)
