"""Whether the networks of several groups differ: on which edges, anywhere, and in global strength."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.analysis.edge_summary import summarize_edges
from pymc_mrf.analysis.edges import edge_values, inclusion_of
from pymc_mrf.analysis.intervals import statistics_of
from pymc_mrf.analysis.prior_inclusion import difference_inclusion, log_prior_equal
from pymc_mrf.checks import number, sequence, warn_user
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph

if TYPE_CHECKING:
    import pandas as pd
    import pymc as pm

ROUNDING = (
    1e3  # machine epsilons by which equal sums of several terms, the largest number being 1, may differ
)
FEWEST = 10.0  # effective draws of either answer, below which a probability is a guess


def summarize_differences(
    idata: xr.DataTree,
    var_names: Sequence[str],
    *,
    graph: Any,
    model: "pm.Model | None" = None,
    prior_inclusion: Any = None,
    sort: str = "inclusion",
    ci_prob: float | None = None,
    ci_kind: str | None = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Table of the edges: the probability that groups differ on each, anywhere among them, and by how much.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_names : sequence of str
        The edge parameters of two or more groups, such as the ``weight_GROUP`` of `group_weights`. Groups
        differ on an edge in a draw unless all have the same number, up to rounding.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph
        The candidate edges.
    model : pymc.Model, optional
        The model that was sampled, from which the prior probabilities are taken. It must have `var_names`,
        and they may differ by `SpikeAndSlab` only.
    prior_inclusion : float or array_like, optional
        Prior probability that groups differ on an edge, in place of that of the model.
    sort, ci_prob, ci_kind, group
        As in `summarize_edges`.

    Returns
    -------
    pandas.DataFrame
        As of `summarize_edges`. The value of an edge is the difference, first less second; of more than two
        groups the standard deviation between them. ``inclusion`` is the probability that it is not zero, and
        ``bayes_factor`` that of a difference. The mean of every group stands before it, by the name of its
        variable.

    Raises
    ------
    TypeError, ValueError
        As in `summarize_edges`; also if `var_names` are fewer than two, or the model does not tell the prior
        probability.

    Examples
    --------
    >>> pymc_mrf.summarize_differences(idata, ["weight_a", "weight_b"], graph=graph, model=model)
    """
    graph = as_directed_or_not(graph)
    names, values, rounding = _group_values(idata, var_names, graph, group)
    if prior_inclusion is None and model is not None:
        prior_inclusion = difference_inclusion(model, names).mean(axis=0)
    difference = values.std("network") if len(names) > 2 else values[0] - values[1]
    difference = difference.where(_spread(values) > rounding, 0.0)
    table = summarize_edges(
        xr.DataTree.from_dict({"posterior": difference.to_dataset(name="difference")}),
        "difference",
        graph=graph,
        prior_inclusion=prior_inclusion,
        sort=sort,
        ci_prob=ci_prob,
        ci_kind=ci_kind,
    )
    place = table.columns.get_loc("mean")
    for k, (name, of_group) in enumerate(zip(names, values, strict=True)):
        table.insert(place + k, name, of_group.mean(SAMPLE_DIMS).to_series())
    return table


def compare_networks(
    idata: xr.DataTree,
    var_names: Sequence[str],
    *,
    graph: Any,
    model: "pm.Model | None" = None,
    prior_equal: float | None = None,
    ci_prob: float | None = None,
    ci_kind: str | None = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Compare the networks of groups, two at a time: whether they are equal, and their global strength.

    Parameters
    ----------
    idata, var_names, graph, model, ci_prob, ci_kind, group
        As in `summarize_differences`.
    prior_equal : float, optional
        Prior probability that two networks are equal, in place of that of the model. It says nothing of
        ``"all"``, whose is that of the model.

    Returns
    -------
    pandas.DataFrame
        One row for each pair of groups, "first - second" by the names of their variables; if there are more
        than two also ``"all"``, which knows only whether all are equal. The columns

        - ``equal``, ``equal_mcse``: probability that there is no difference on any edge, and its Monte-Carlo
          error.
        - ``equal_bound``: where that is so in all draws, or in none, a bound at 95 % on the distance of
          ``equal`` from the probability that it estimates, as in `edge_inclusion`.
        - ``prior_equal``, ``bayes_factor``: prior probability, and posterior odds of equality over prior
          odds; only there if the prior is known. It is exact where the probability of a difference is fixed,
          or one Beta variable with fixed parameters. From other random probabilities it is the mean of 10,000
          draws, of which a warning says where they are too few.
        - ``strength_difference``, ``sd``, the ends of the interval and ``mcse_mean``: of the difference of
          global strength, the sum of the absolute weights of a network.
        - ``stronger``: probability that the first has the larger global strength; equal networks count for
          neither.

    Raises
    ------
    TypeError, ValueError
        As in `summarize_differences`.

    Warns
    -----
    UserWarning
        If fewer than ten effective draws carry either answer to the question whether networks are equal.

    References
    ----------
    van Borkulo et al. (2022), Comparing network structures on three aspects: a permutation test,
    Psychological Methods: tests of the same hypotheses, without evidence for equality.
    """
    import arviz as az
    import pandas as pd

    graph = as_directed_or_not(graph)
    names, values, rounding = _group_values(idata, var_names, graph, group)
    pairs = [list(pair) for pair in combinations(range(len(names)), 2)]
    rows = {" - ".join(names[k] for k in pair): pair for pair in pairs}
    if len(names) > 2:
        rows["all"] = list(range(len(names)))
    prior = None if prior_equal is None else np.log(number(prior_equal, "prior_equal", 0.0, 1.0))
    table: dict[str, dict[str, float]] = {}
    dim = str(values.dims[-1])
    strength = abs(values).sum(dim)
    for label, chosen in rows.items():
        differs = (_spread(values[chosen]) > rounding).any(dim).astype(np.float64)
        known = prior if len(chosen) == 2 else None
        if known is None and model is not None:
            known = log_prior_equal(model, [names[k] for k in chosen])
        table[label] = _equality(label, differs, known)
        if len(chosen) > 2:
            continue
        less = (strength[chosen[0]] - strength[chosen[1]]).where(differs > 0.0, 0.0)
        less = less.rename("strength_difference")
        summary = statistics_of(less, ci_prob, ci_kind)
        table[label] |= summary.rename(columns={"mean": "strength_difference"}).iloc[0].to_dict()
        table[label]["mcse_mean"] = float(az.mcse(less))
        table[label]["stronger"] = float((less > 0.0).mean())
    return pd.DataFrame.from_dict(table, orient="index")


def _group_values(
    idata: xr.DataTree, var_names: Any, graph: PairwiseGraph | LaggedGraph, group: str
) -> tuple[list[str], xr.DataArray, xr.DataArray]:
    """Names and values (network, chain, draw, edge) of the groups, and by how much rounding may change these.

    Compiled sums of equal terms may be in another order for each group.
    """
    names = sequence(var_names, "var_names", "names")
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"var_names must name the weights of two or more groups, not {names!r}")
    values = [edge_values(idata, name, graph, group) for name in names]
    epsilon = max(np.finfo(np.result_type(v.dtype, np.float32)).eps for v in values)
    values = [v.astype(np.float64) for v in values]
    dims = {v.dims[-1] for v in values}
    if len(dims) > 1:
        values = [v.rename({v.dims[-1]: values[0].dims[-1]}) for v in values]
    together = xr.concat(values, "network", coords="minimal", compat="override")
    return names, together, ROUNDING * epsilon * abs(together).max(("network", *SAMPLE_DIMS))


def _spread(values: xr.DataArray) -> xr.DataArray:
    """Range over the groups."""
    return values.max("network") - values.min("network")


def _equality(label: str, differs: xr.DataArray, log_prior: float | None) -> dict[str, float]:
    """Tell the probability that nothing differs from whether something does, (chain, draw).

    `log_prior` is the log of its prior probability, which may be below all floats, as of a thousand edges.
    """
    import arviz as az

    found = inclusion_of(differs.expand_dims("edge", axis=-1).rename("differs"), None)
    equal = 1.0 - float(found.inclusion[0])
    result = {"equal": equal, "equal_mcse": float(found.inclusion_mcse[0])}
    result["equal_bound"] = float(found.inclusion_bound[0])
    if log_prior is not None:
        with np.errstate(divide="ignore", over="ignore"):
            log_factor = np.log(equal) - np.log1p(-equal) - log_prior + np.log(-np.expm1(log_prior))
            result |= {"prior_equal": np.exp(log_prior), "bayes_factor": np.exp(log_factor)}
    carried = 0.0
    if 0.0 < equal < 1.0 and differs.sizes["draw"] >= 4:
        carried = float(az.ess(differs, method="mean")) * min(equal, 1.0 - equal)
    if carried < FEWEST:
        n = differs.size
        warn_user(
            f"{label}: equal in {round(equal * n)} of {n} draws, so that about {carried:.1f} effective draws "
            f"carry the rarer answer, fewer than {FEWEST:.0f}: the probability of equality and its Bayes "
            "factor are guesses, beyond what equal_bound says; take more draws"
        )
    return result
