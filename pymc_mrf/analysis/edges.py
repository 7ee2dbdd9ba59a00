"""Which edges exist, in a posterior whose exact zeros are absent edges (`SpikeAndSlab`).

An edge is *included* in a draw if its value differs from zero.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import (
    check_edge_labels,
    edge_draws,
    errors_of_means,
    in_parts,
    refuse_blocks,
    sampled_vector,
)
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.analysis.presence import LN10, TermTold, terms_told, told_presence, warn_of_disagreement
from pymc_mrf.analysis.prior_inclusion import model_inclusion
from pymc_mrf.checks import check_entries, check_labels, number, numeric_array, sequence
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph

if TYPE_CHECKING:
    import networkx as nx
    import pymc as pm

# the bound on indicators that never change holds with this probability
BOUND_PROBABILITY = 0.95

BOUNDS = (0.1, 10.0)  # of Bayes factors, beyond which evidence is called strong (Jeffreys, 1961)
CLASSES = ("for", "undecided", "against")

MOST_JUDGED = 2000
"""Edges, evenly apart in the graph, of which the median of effective draws is taken."""


def edge_inclusion(
    idata: xr.DataTree,
    var_name: str,
    *,
    model: "pm.Model | None" = None,
    prior_inclusion: Any = None,
    group: str = "posterior",
) -> xr.Dataset:
    """Posterior probability, Monte-Carlo error, value and Bayes factor of every edge, as a dataset.

    `summarize_edges` is the table of the edges of a network; here a vector needs no graph.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A vector whose exact zeros are absent edges, such as a `SpikeAndSlab`.
    model, prior_inclusion
        As in `summarize_edges`.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.Dataset
        One entry per edge of each of

        - ``inclusion``: mean, over the draws of all chains, of the probability of the edge given all else,
          which `EdgeGibbs` tells; of another step the share of draws with the edge. Of the parameters of a
          group, sums of several vectors, it is put together from what the steps of all of them tell. It is
          the share of draws, too, where that is surer: of such sums, and of edges that are present in most
          draws and hopeless in others, of few of which the step tells.
        - ``inclusion_mcse``: Monte-Carlo standard error of ``inclusion`` (Vehtari et al., 2021), from
          the autocorrelation of these probabilities, or of the indicator of the edge. Of a share it is 0
          where the indicator is the same in every draw, which says only that a change is rare, not that
          there is no error: see ``inclusion_bound``. NaN with fewer than four draws per chain.
        - ``inclusion_bound``: where the indicator never changes, a bound at 95 % on the distance of
          ``inclusion`` from the probability that it estimates: 1 - 0.05^(1/n), about 3 / n. For n
          stands the median effective sample size of the indicators that do change, at most
          the number of draws; if none changes, the number of draws. The bound supposes that the
          chains could reach the other state at all. NaN where the indicator changes. Where the step told
          of the edge, it is there, in addition to the share of the draws in the less probable state, only
          if the probability of that state is not known: its error is above half of it, or it varies so much
          that draws which were not made are likely to carry it, and fewer than ten draws show the state.
        - ``mean``: posterior mean of the value, zeros included.
        - ``mean_included``: posterior mean of the value in the draws with the edge; NaN if there is
          none.
        - ``bayes_factor``, if the prior probability is known, from a model or from `prior_inclusion`:
          odds of inclusion over prior odds. Of a share, infinite or 0 where the indicator never changes.
        - ``log10_bayes_factor`` and ``log10_bayes_factor_mcse``, likewise: its decimal logarithm, and the
          Monte-Carlo standard error of that, to first order; NaN where it is not known.
        - ``bayes_factor_bound``, likewise: where there is an ``inclusion_bound``, what the draws do vouch
          for. The factor is at least this where ``inclusion`` is above one half, else at most this: a bound
          above 1 on the factor of an edge that no draw has says nothing for it. NaN elsewhere.

    Raises
    ------
    TypeError, ValueError
        If the variable is not a finite vector with chains and draws, or has several entries for an edge, of
        which `edge_strength` makes one; if prior probabilities do not fit the edges or are not strictly
        between 0 and 1, or a `model` is given that has no free `SpikeAndSlab` of that name and those entries.

    Warns
    -----
    UserWarning
        If shares of draws and mean probabilities given all else differ by more than their errors, or an edge
        is in all draws of one chain and in none of another: the chains have not mixed.

    Notes
    -----
    The prior mean of a random `p` is exact where `p` has a Beta or uniform prior with fixed parameters,
    one for all edges or one per edge. Otherwise it is the mean of 10,000 draws from the prior, the
    same ones every time, with a standard error of at most 0.005. A `pymc.Potential` is no part of it.

    Examples
    --------
    >>> table = pymc_mrf.analysis.edge_inclusion(idata, "weight", model=model)
    >>> table.bayes_factor
    """
    values = edge_draws(idata, var_name, group, model)
    if prior_inclusion is None:
        prior_inclusion = model_inclusion(model, values)
    return inclusion_of(values, prior_inclusion, terms_told(idata, var_name, group))


def edge_evidence(
    idata: xr.DataTree,
    var_name: str,
    *,
    bounds: Any = BOUNDS,
    model: Any = None,
    prior_inclusion: Any = None,
    group: str = "posterior",
) -> xr.DataArray:
    """Say of every edge whether the data speak for it, against it, or leave it undecided.

    Raises
    ------
    TypeError, ValueError
        As in `edge_inclusion`; also if the prior probability is not known, or `bounds` are not two increasing
        positive numbers about 1.
    """
    low, high = checked_bounds(bounds)
    found = edge_inclusion(idata, var_name, model=model, prior_inclusion=prior_inclusion, group=group)
    if "bayes_factor" not in found:
        raise ValueError(
            f"the prior probability of {var_name} is not known, without which there is no Bayes factor: give "
            "model, or prior_inclusion"
        )
    return evidence_classes(found, low, high)


def evidence_classes(found: xr.Dataset, low: float, high: float) -> xr.DataArray:
    """Tell the class of each edge from its ``bayes_factor`` or, if that is unknown, what draws vouch for."""
    least, most = vouched(found)
    classes = xr.where(least > high, "for", xr.where(most < low, "against", "undecided"))
    return classes.rename("evidence")


def vouched(found: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the least and the largest Bayes factor of each edge that draws vouch for: it, if it is known."""
    factor, bound = found["bayes_factor"], found["bayes_factor_bound"]
    is_likely, is_known = found["inclusion"] > 0.5, bound.isnull()
    least = xr.where(is_known, factor, bound.where(is_likely, 0.0))
    return least, xr.where(is_known, factor, bound.where(~is_likely, np.inf))


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Check bounds of Bayes factors, (low, high)."""
    pair = sequence(bounds, "bounds", "two Bayes factors")
    if len(pair) != 2:
        raise ValueError(f"bounds must be two Bayes factors, such as (1 / 10, 10), not {bounds!r}")
    low, high = number(pair[0], "bounds[0]", 0.0, 1.0), number(pair[1], "bounds[1]", 1.0)
    return low, high


def inclusion_of(
    values: xr.DataArray, prior_inclusion: Any, terms: Sequence[TermTold] = ()
) -> xr.Dataset:
    """`edge_inclusion` of draws (chain, draw, edge), with prior probabilities or None for unknown ones.

    `terms`: what their steps told, of `terms_told`.
    """
    import arviz as az

    var_name, dim = values.name, values.dims[-1]
    prior = None if prior_inclusion is None else _prior_inclusion(prior_inclusion, values)
    counted = _counted(values)
    n_draws = values.sizes["chain"] * values.sizes["draw"]
    n_present = counted.of_chains.sum(axis=0)
    inclusion = values.isel(chain=0, draw=0, drop=True).copy(data=n_present / n_draws)
    constant = (inclusion == 0.0) | (inclusion == 1.0)
    told, is_likely = told_presence(terms, values, n_present), inclusion > 0.5
    n_effective, changing = float(n_draws), np.flatnonzero(~constant)
    if values.sizes["draw"] >= 4 and changing.size:
        some = changing[:: -(-changing.size // MOST_JUDGED)]
        of_changing = az.ess((values.isel({dim: some}) != 0.0).astype(np.float64), method="mean")
        n_effective = min(n_effective, float(of_changing.median()))
    bound = xr.full_like(inclusion, unseen(n_effective)).where(constant)
    log_odds = _log_odds(inclusion)
    if told is None:
        mcse = inclusion.copy(data=np.full(inclusion.size, np.nan))
        if values.sizes["draw"] >= 4:
            parts = (errors_of_means((part.values != 0.0).astype(float)) for _, part in in_parts(values))
            mcse[:] = np.concatenate(list(parts))
        error = mcse / (inclusion * (1.0 - inclusion)).where(~constant)
    else:
        warn_of_disagreement(told, values, counted.of_chains / values.sizes["draw"], n_effective)
        is_likely = inclusion.copy(data=told.is_likely)
        # what the draws show, and what they might have missed
        shown = xr.where(is_likely, 1.0 - inclusion, inclusion) + unseen(n_effective)
        bound = np.minimum(shown, 1.0).where(~told.is_known)
        inclusion, mcse = inclusion.copy(data=told.inclusion), inclusion.copy(data=told.inclusion_mcse)
        log_odds, error = inclusion.copy(data=told.log_odds), inclusion.copy(data=told.log_odds_error)
    nearest = _log_odds(xr.where(is_likely, 1.0 - bound, bound))
    result = {
        "inclusion": inclusion,
        "inclusion_mcse": mcse,
        "inclusion_bound": bound,
        "mean": inclusion.copy(data=counted.total / n_draws),
        # a sum over a count: the mean of no value is NaN without a warning
        "mean_included": counted.total / inclusion.copy(data=n_present).where(n_present > 0.0),
    }
    if prior is not None:
        log_prior_odds = _log_odds(prior)
        log_factor = log_odds - log_prior_odds
        with np.errstate(over="ignore"):
            result["bayes_factor"] = xr.ufuncs.exp(log_factor)
            result["bayes_factor_bound"] = xr.ufuncs.exp(nearest - log_prior_odds)
        result["log10_bayes_factor"] = log_factor / LN10
        result["log10_bayes_factor_mcse"] = error / LN10
    return xr.Dataset(result, attrs={"variable": var_name, "n_draws": n_draws})


class Counted(NamedTuple):
    """Numbers of draws with each edge, by chain, (chain, r), and sums of its values (r,)."""

    of_chains: np.ndarray
    total: np.ndarray


def _counted(values: xr.DataArray) -> Counted:
    parts = [
        ((part.values != 0.0).sum(axis=1), part.values.sum(axis=(0, 1))) for _, part in in_parts(values)
    ]
    of_chains, total = zip(*parts, strict=True)
    return Counted(np.concatenate(of_chains, axis=1), np.concatenate(total))


def unseen(n_draws: float) -> float:
    """Bound, with `BOUND_PROBABILITY`, the probability of what none of so many independent draws is."""
    return 1.0 - (1.0 - BOUND_PROBABILITY) ** (1.0 / n_draws)


def median_graph(
    idata: xr.DataTree,
    var_name: str | None = None,
    graph: Any = None,
    *,
    threshold: float = 0.5,
    model: Any = None,
    group: str = "posterior",
) -> "nx.Graph | nx.DiGraph":
    """Graph of the edges that are more probable than `threshold` (Barbieri & Berger, 2004).

    Parameters
    ----------
    idata, var_name, group
        As in `edge_inclusion`.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph
        The candidate edges, one per entry of the variable; arrows of one lag.
    threshold : float
        At least 0 and less than 1. With 0.5 this is the median probability model.
    model : pymc.Model, optional
        That was sampled, which knows variable and graph.

    Returns
    -------
    networkx.Graph, or networkx.DiGraph if the edges are arrows
        All nodes of `graph`, in its order, and the edges whose inclusion, as of `edge_inclusion`, exceeds
        `threshold` and which a draw has. Their attribute ``inclusion`` is the probability, ``weight`` the
        posterior mean of the value in the draws with the edge.

    Raises
    ------
    TypeError, ValueError
        As in `edge_inclusion`; also if the variable does not belong to the graph's edges, or a graph of
        arrows has several lags or links.
    """
    import networkx as nx

    var_name, graph, _ = known_edges("median_graph", model, var_name, graph, None)
    graph = as_directed_or_not(graph)
    has_arrows = isinstance(graph, LaggedGraph)
    if has_arrows and (graph.n_links or len(graph.lags) > 1):
        raise ValueError(
            "graph has several lags, or links within a row, and no single graph of networkx shows all of "
            "them: take the rows of summarize_edges"
        )
    threshold = number(threshold, "threshold", 0.0, 1.0, closed=True)
    values = edge_values(idata, var_name, graph, group)
    found = inclusion_of(values, None, terms_told(idata, var_name, group))
    inclusion, weight = found["inclusion"].values, found["mean_included"].values
    result = nx.DiGraph() if has_arrows else nx.Graph()
    result.add_nodes_from(graph.nodes)
    for e in np.flatnonzero((inclusion > threshold) & np.isfinite(weight)):
        u, v = (graph.nodes[i] for i in graph.edges[e])
        result.add_edge(u, v, inclusion=float(inclusion[e]), weight=float(weight[e]))
    return result


def edge_density(idata: xr.DataTree, var_name: str) -> xr.DataArray:
    """Share of the candidate edges that exist, in every draw (chain, draw)."""
    values = edge_draws(idata, var_name, "posterior")
    dim = str(values.dims[-1])
    nothing = xr.zeros_like(values.isel({dim: 0}, drop=True), dtype=np.int64)
    present = sum(((part != 0.0).sum(dim) for _, part in in_parts(values)), start=nothing)
    return (present / values.sizes[dim]).rename(f"{var_name}_edge_density")


def edge_values(
    idata: xr.DataTree, var_name: str, graph: PairwiseGraph | LaggedGraph, group: str
) -> xr.DataArray:
    """Draws (chain, draw, edge) of a variable that has one entry per edge of the graph."""
    values = sampled_vector(idata, var_name, group)
    if values.shape[-1] != graph.n_edges:
        raise ValueError(
            f"{var_name} has {values.shape[-1]} entries but the graph has {graph.n_edges} edges; pass "
            "the graph of the field that it was sampled for, and the strengths of tables "
            "(pymc_mrf.analysis.edge_strength) in place of their parameters"
        )
    refuse_blocks(values)
    check_edge_labels(values, graph, var_name)
    return values


def _prior_inclusion(prior: Any, values: xr.DataArray) -> xr.DataArray:
    """One prior probability per edge, with the coordinates of the variable."""
    dim = values.dims[-1]
    edges = values.isel(chain=0, draw=0, drop=True)
    check_labels(prior, edges[dim].values.tolist(), "prior_inclusion", "edge")
    if isinstance(prior, xr.DataArray):
        try:
            _, prior = xr.align(edges, prior, join="exact")
        except ValueError as error:
            raise ValueError(
                f"prior_inclusion has dims {dict(prior.sizes)} with other labels than the {edges.size} "
                f"entries of {values.name} along {dim!r}; give plain numbers in their order"
            ) from error
    return edges.copy(data=prior_probabilities(prior, edges.size))


def prior_probabilities(prior: Any, n_edges: int) -> np.ndarray:
    """Return the prior probability of every edge, (r,), given as such or as one number."""
    p = numeric_array(prior, "prior_inclusion", "iuf").astype(np.float64)
    if p.shape not in ((), (n_edges,)):
        raise ValueError(
            f"prior_inclusion has shape {p.shape}; give one probability, or {n_edges}, one per edge"
        )
    remedy = "prior odds need probabilities strictly between 0 and 1"
    check_entries(p, (p > 0.0) & (p < 1.0), "prior_inclusion", remedy)
    return np.broadcast_to(p, n_edges)


def _log_odds(p: xr.DataArray) -> xr.DataArray:
    with np.errstate(divide="ignore"):
        return xr.ufuncs.log(p) - xr.ufuncs.log1p(-p)
