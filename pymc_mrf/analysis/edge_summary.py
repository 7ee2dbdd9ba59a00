"""A table of all edges of a posterior, one row per edge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, in_parts, sampled_vector
from pymc_mrf.analysis.cone_draws import warn_of_cone
from pymc_mrf.analysis.edge_tables import edge_strength, table_sizes_of
from pymc_mrf.analysis.edges import (
    BOUNDS,
    checked_bounds,
    edge_inclusion,
    edge_values,
    evidence_classes,
    inclusion_of,
    vouched,
)
from pymc_mrf.analysis.intervals import statistics_of
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.analysis.presence import MANY_EDGES, terms_told
from pymc_mrf.analysis.prior_inclusion import model_inclusion
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not

if TYPE_CHECKING:
    import pandas as pd
    import pymc as pm

LEAST_JUDGED = 0.01
"""Of more than `MANY_EDGES` convergence is judged of those with a larger inclusion only: 5 ms for each."""

OF_INCLUSION = (
    "inclusion",
    "inclusion_mcse",
    "bayes_factor",
    "log10_bayes_factor",
    "log10_bayes_factor_mcse",
    "bayes_factor_text",
    "evidence",
)

# smallest first; rows without a number come last
ORDERS = {
    "graph": lambda table: np.arange(len(table)),
    "inclusion": lambda table: -table["inclusion"],
    "doubt": lambda table: np.abs(table["inclusion"] - 0.5),
    "strength": lambda table: -np.abs(table["mean"]),
    "r_hat": lambda table: -table["r_hat"],
    "ess": lambda table: table["ess"],
}


def summarize_edges(
    idata: xr.DataTree,
    var_name: str | None = None,
    *,
    graph: Any = None,
    n_states: Any = None,
    model: "pm.Model | None" = None,
    prior_inclusion: Any = None,
    bounds: Sequence[float] = BOUNDS,
    sort: str = "inclusion",
    ci_prob: float | None = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Table of the edges: strength, probability, Bayes factor and convergence of each.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str, optional
        A vector with one entry per edge, such as a `SpikeAndSlab`; by default that of the only field of the
        model. Exact zeros are absent edges, or for a
        difference of two fields, edges on which they agree.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph, optional
        The candidate edges; by default those of the model's field.
    n_states : int, sequence of d of them, or ColumnKinds, optional
        Of a `NominalMRF`, whose edges have tables of parameters: numbers of states of all nodes, or of each;
        of a `MixedMRF` its kinds of nodes. The value of an edge is then its strength, the norm of its table,
        as of `edge_strength`. By default as the model has it, if there is no `graph`.
    model : pymc.Model, optional
        The model that was sampled, from which the prior probability that an edge exists is taken: `p` of
        its `SpikeAndSlab`, or if that is random, its prior mean; between measurements the probability among
        positive definite precisions, found by simulation once for each prior. By default the model of the
        context, if there is one and it has this `SpikeAndSlab`. It also tells what is left out of the above.
    prior_inclusion : float, array_like or xarray.DataArray, optional
        Prior probability, strictly between 0 and 1, in place of that of the model: one number or
        one per edge.
    bounds : (float, float)
        Bayes factors: the data speak for an edge above the second, against it below the first. By default
        those beyond which evidence is called strong (Jeffreys, 1961).
    sort : {"inclusion", "doubt", "strength", "r_hat", "ess", "graph"}
        Which edges come first: the most probable; those whose inclusion is nearest to one half; those
        whose mean is farthest from zero; those with the largest R-hat, or the fewest effective draws;
        or those that the graph lists first, which also decides between equals.
    ci_prob : float, optional
        Of the interval, whose kind is ``rcParams["stats.ci_kind"]`` of ArviZ; by default ArviZ's, 0.89.
    group : str
        Group of `idata` to read.

    Returns
    -------
    pandas.DataFrame
        Indexed by the labels of the edges in `idata`, with the columns

        - ``u``, ``v``: the nodes of the edge; of arrows ``source``, ``target`` and ``lag``, how many rows
          the source is earlier, 0 for links within a row.
        - ``mean``, ``sd`` and the ends of the interval, such as ``eti89_lb`` and ``eti89_ub``: of the
          value, zeros included.
        - ``inclusion``, ``inclusion_mcse``: as of `edge_inclusion`. If the step does not tell of edges,
          the error is 0 where the edge is present, or absent, in every draw, which says only that a change
          is rare: ``inclusion_bound`` of `edge_inclusion` says how rare.
        - ``bayes_factor``, ``log10_bayes_factor``, ``log10_bayes_factor_mcse``: as of `edge_inclusion`, and
          only there if the prior probability is known. If the step does not tell of edges, infinite or 0
          where the edge is present, or absent, in every draw.
        - ``bayes_factor_text``, likewise: the Bayes factor in words, such as "10^2.3"; "beyond 10^k" or
          "below 10^-k" where its order of magnitude is not known, by what the draws do vouch for,
          ``bayes_factor_bound`` of `edge_inclusion`; "not known" where that is less than a power of ten.
          Where it is not known, ``log10_bayes_factor`` is most often too far from 0.
        - ``evidence``, likewise: "for", "undecided" or "against" (Huth et al., 2024). Where the Bayes factor
          is not known, an edge is decided only if what the draws do vouch for is beyond the bound.
        - ``r_hat``: the larger one of the value and of its presence (Vehtari et al., 2021). What is
          the same in every draw has none; NaN if both are, with one chain, or with fewer than four
          draws.
        - ``ess``: effective draws, the smaller number of the bulk of the values and of the mean
          of the presence. NaN likewise, but not with one chain.

        Of more than 10,000 edges those of an inclusion of 0.01 or less have NaN for these two.

    Raises
    ------
    TypeError, ValueError
        As in `edge_inclusion`; also if the variable does not belong to the graph's edges, for an
        unknown `sort`, `bounds` that are not two increasing positive numbers about 1, or an interval that
        ArviZ refuses.

    Warns
    -----
    UserWarning
        As in `edge_inclusion`; or, of a model with measurements, if draws have a precision of these that is
        not positive definite, as those of chains under continuous priors that had too little tuning.

    Examples
    --------
    >>> pymc_mrf.summarize_edges(idata, "weight", graph=graph, model=model).head(10)

    Traces of the eight most doubtful edges:

    >>> doubtful = pymc_mrf.summarize_edges(idata, "weight", graph=graph, sort="doubt").index[:8]
    >>> arviz.plot_trace(idata, var_names="weight", coords={"edge": doubtful})
    """
    sort = checked_order(sort)
    bounds = checked_bounds(bounds)
    var_name, graph, n_states = known_edges("summarize_edges", model, var_name, graph, n_states)
    graph = as_directed_or_not(graph)
    warn_of_cone(idata, model, group)
    if n_states is None:
        values = edge_values(idata, var_name, graph, group)
        edges = edge_inclusion(
            idata, var_name, model=model, prior_inclusion=prior_inclusion, group=group
        )
    else:
        values = edge_strength(idata, var_name, graph=graph, n_states=n_states, group=group)
        if prior_inclusion is None:
            of_entries = model_inclusion(model, sampled_vector(idata, var_name, group))
            sizes = table_sizes_of(n_states, graph)
            prior_inclusion = None if of_entries is None else of_entries[np.cumsum(sizes) - 1]
        edges = inclusion_of(values, prior_inclusion, terms_told(idata, var_name, group))
    return edge_rows(values, edges, graph, bounds, sort, ci_prob)


def checked_order(sort: Any) -> str:
    """Check the name of an order of rows."""
    if not isinstance(sort, str) or sort not in ORDERS:
        raise ValueError(f"sort must be one of {', '.join(map(repr, ORDERS))}, not {sort!r}")
    return sort


def edge_rows(
    values: xr.DataArray,
    edges: xr.Dataset,
    graph: Any,
    bounds: tuple[float, float],
    sort: str,
    ci_prob: float | None,
) -> "pd.DataFrame":
    """Table of draws (chain, draw, edge) and what is known of the presence of these edges, `inclusion_of`."""
    import arviz as az
    import pandas as pd

    if "bayes_factor" in edges:
        edges["bayes_factor_text"] = edges.dims, _in_words(edges)
        edges["evidence"] = evidence_classes(edges, *bounds)
    strength = pd.concat(statistics_of(part, ci_prob) for _, part in in_parts(values))
    is_judged = np.full(len(strength), True)
    if len(strength) > MANY_EDGES:
        is_judged = edges["inclusion"].values > LEAST_JUDGED
    judged = values.isel({values.dims[-1]: np.flatnonzero(is_judged)}).compute()
    included = (judged != 0.0).astype(np.float64)
    r_hat, ess = np.full((2, len(strength)), np.nan)
    # fmax and fmin pass over the one that has none
    r_hat[is_judged] = np.fmax(*(_where_changing(v, az.rhat) for v in (judged, included)))
    ess[is_judged] = np.fmin(
        _where_changing(judged, az.ess), _where_changing(included, az.ess, method="mean")
    )
    has_arrows = isinstance(graph, LaggedGraph)
    ends = ("source", "target") if has_arrows else ("u", "v")
    table = {
        **{
            end: pd.Series([graph.nodes[i] for i in column], dtype=object)
            for end, column in zip(ends, graph.edges.T, strict=True)
        },
        **({"lag": np.array([0, *graph.lags])[graph.lag_of]} if has_arrows else {}),
        **{name: column.to_numpy() for name, column in strength.items()},
        **{name: edges[name].values for name in OF_INCLUSION if name in edges},
        "r_hat": r_hat,
        "ess": ess,
    }
    dim = values.dims[-1]
    frame = pd.DataFrame(table).set_axis(pd.Index(values[dim].values, name=dim))
    return frame.iloc[np.argsort(np.asarray(ORDERS[sort](frame)), kind="stable")]


def _in_words(edges: xr.Dataset) -> list[str]:
    """Say the power of ten that each Bayes factor is, or beyond which it is where only a bound is known."""
    known = edges["bayes_factor_bound"].isnull().values
    powers = edges["log10_bayes_factor"].values
    with np.errstate(divide="ignore"):
        least, most = (np.log10(ends.values) for ends in vouched(edges))
    words = []
    for is_known, power, low, high in zip(known, powers, least, most, strict=True):
        if is_known:
            words.append(f"10^{round(float(power), 1) + 0.0:.1f}")  # of -0.04, too, 10^0.0
        elif low >= 1.0:
            words.append(f"beyond 10^{int(low)}")
        elif high <= -1.0:
            words.append(f"below 10^{int(high)}")
        else:
            words.append("not known")
    return words


def _where_changing(values: xr.DataArray, diagnose: Any, **kwargs) -> np.ndarray:
    """Diagnose every entry (r,) of draws (chain, draw, r); NaN where it has one value in all draws."""
    changing = np.flatnonzero((values != values.isel(chain=0, draw=0)).any(SAMPLE_DIMS))
    found = np.full(values.shape[-1], np.nan)
    if changing.size and values.sizes["draw"] >= 4:
        # chains that stand still at different values divide by zero
        with np.errstate(divide="ignore", invalid="ignore"):
            found[changing] = diagnose(values.isel({values.dims[-1]: changing}), **kwargs).values
    return found
