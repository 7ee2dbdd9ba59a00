"""Whether the networks of several groups differ: on which edges, anywhere, and in global strength."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.edge_summary import checked_order, edge_rows
from pymc_mrf.analysis.edge_tables import edge_parameters, strengths, table_sizes_of
from pymc_mrf.analysis.edges import BOUNDS, edge_values, inclusion_of
from pymc_mrf.analysis.intervals import statistics_of
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.analysis.presence import TermTold, told_of_sum
from pymc_mrf.analysis.prior_inclusion import difference_inclusion, log_prior_equal
from pymc_mrf.checks import number, sequence, warn_user
from pymc_mrf.graph.lagged import as_directed_or_not
from pymc_mrf.graph.structure import as_graph

if TYPE_CHECKING:
    import pandas as pd
    import pymc as pm

ROUNDING = (
    1e3  # machine epsilons by which equal sums of several terms, the largest number being 1, may differ
)
FEWEST = 10.0  # effective draws of either answer, below which a probability is a guess


def summarize_differences(
    idata: xr.DataTree,
    var_names: str | Sequence[str] | None = None,
    *,
    graph: Any = None,
    n_states: Any = None,
    between: Sequence | None = None,
    model: "pm.Model | None" = None,
    prior_inclusion: Any = None,
    sort: str = "inclusion",
    ci_prob: float | None = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Table of the edges: the probability that groups differ on each, anywhere among them, and by how much.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_names : str or sequence of str, optional
        What `group_weights` was given for all groups to have in common, such as "weight" of a
        `network_model`, for all of its groups by their labels; or the edge parameters of two or more groups.
        Groups differ on an edge in a draw unless all have the same numbers, up to rounding.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph, optional
        The candidate edges. By default they, and the two other arguments beside it, are those of the model.
    n_states : int, sequence of d of them, or ColumnKinds, optional
        Of nominal and mixed fields, as in `summarize_edges`.
    between : sequence, optional
        Labels of two or more of the groups, or some of several `var_names`: the others are left out. Of three
        groups, two that are equal where the third differs are found by their pair.
    model : pymc.Model, optional
        The model that was sampled, from which the prior probabilities are taken. It must have the parameters
        of the groups, and they may differ by `SpikeAndSlab` only.
    prior_inclusion : float or array_like, optional
        Prior probability that groups differ on an edge, in place of that of the model.
    sort, ci_prob, group
        As in `summarize_edges`.

    Returns
    -------
    pandas.DataFrame
        As of `summarize_edges`. The value of an edge is the difference, first less second, with `n_states`
        its strength; of more than two groups the standard deviation between them. ``inclusion`` is the
        probability that it is not zero, ``bayes_factor`` and ``evidence`` are of a difference: of two groups
        of `group_weights`, or all, by what the steps tell of its vectors by which they differ, else by shares
        of draws. The mean of every group, or of its strength, stands before it, as ``weight[LABEL]`` or by
        the name of its variable.

    Raises
    ------
    TypeError, ValueError
        As in `summarize_edges`; also if there are fewer than two groups, none of a label, or the model does
        not tell the prior probability.

    Examples
    --------
    >>> pymc_mrf.summarize_differences(idata, "weight", graph=graph, model=model)
    >>> pymc_mrf.summarize_differences(idata, "weight", graph=graph, between=["night", "day"])
    """
    var_names, graph, n_states = known_edges("summarize_differences", model, var_names, graph, n_states)
    graph = as_directed_or_not(graph)
    groups = _groups_of(idata, var_names, between, graph, n_states, model, group)
    if prior_inclusion is None and model is not None:
        prior_inclusion = difference_inclusion(model, groups.names).mean(axis=0)
    values = groups.values
    if len(values) > 2:
        apart = groups.strengths(values - values.mean("network"))
        difference = (apart**2).mean("network") ** 0.5
    else:
        difference = groups.strengths(values[0] - values[1])
    difference = difference.where(groups.differ(slice(None)), 0.0).rename("difference")
    told = _differences_told(idata, var_names, groups.places, group)
    edges = inclusion_of(difference, prior_inclusion, told)
    table = edge_rows(difference, edges, groups.graph, BOUNDS, checked_order(sort), ci_prob)
    place = table.columns.get_loc("mean")
    for k, (column, of_group) in enumerate(zip(groups.columns, groups.strengths(values), strict=True)):
        table.insert(place + k, column, of_group.mean(SAMPLE_DIMS).to_series(), allow_duplicates=True)
    return table


def compare_networks(
    idata: xr.DataTree,
    var_names: str | Sequence[str] | None = None,
    *,
    graph: Any = None,
    n_states: Any = None,
    between: Sequence | None = None,
    model: "pm.Model | None" = None,
    prior_equal: float | None = None,
    ci_prob: float | None = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Compare the networks of groups, two at a time: whether they are equal, and their global strength.

    Parameters
    ----------
    idata, var_names, graph, n_states, between, model, ci_prob, group
        As in `summarize_differences`.
    prior_equal : float, optional
        Prior probability that two networks are equal, in place of that of the model. It says nothing of
        ``"all"``, whose is that of the model.

    Returns
    -------
    pandas.DataFrame
        One row for each pair of groups, "first - second" by their labels, or the names of their variables; if
        there are more than two also ``"all"``, which knows only whether all are equal. The columns

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

    var_names, graph, n_states = known_edges("compare_networks", model, var_names, graph, n_states)
    graph = as_directed_or_not(graph)
    groups = _groups_of(idata, var_names, between, graph, n_states, model, group)
    n_groups = len(groups.names)
    rows = [list(pair) for pair in combinations(range(n_groups), 2)]
    labels = [" - ".join(groups.labels[k] for k in pair) for pair in rows]
    if n_groups > 2:
        rows.append(list(range(n_groups)))
        labels.append("all")
    prior = None if prior_equal is None else np.log(number(prior_equal, "prior_equal", 0.0, 1.0))
    table: list[dict[str, float]] = []
    strengths = groups.strengths(groups.values)
    strength = abs(strengths).sum(str(strengths.dims[-1]))
    for label, chosen in zip(labels, rows, strict=True):
        by_edge = groups.differ(chosen)
        differs = by_edge.any(str(by_edge.dims[-1])).astype(np.float64)
        known = prior if len(chosen) == 2 else None
        if known is None and model is not None:
            known = log_prior_equal(model, [groups.names[k] for k in chosen])
        found = _equality(label, differs, known)
        table.append(found)
        if len(chosen) > 2:
            continue
        less = (strength[chosen[0]] - strength[chosen[1]]).where(differs > 0.0, 0.0)
        less = less.rename("strength_difference")
        summary = statistics_of(less, ci_prob)
        found |= summary.rename(columns={"mean": "strength_difference"}).iloc[0].to_dict()
        found["mcse_mean"] = float(az.mcse(less))
        found["stronger"] = float((less > 0.0).mean())
    return pd.DataFrame(table, index=labels)


class _Groups(NamedTuple):
    """Networks of several groups.

    Attributes
    ----------
    names : list of k str
        Their variables.
    labels, columns : list of k str
        What tables call the groups, and their means.
    places : list of k int
        Of the groups among all that there are.
    values : (network, chain, draw, entry) DataArray
    rounding : (entry,) DataArray
        By how much rounding may change these: compiled sums of equal terms may be in another order for each
        group.
    graph : PairwiseGraph or LaggedGraph
    n_states : int, sequence, ColumnKinds or None
        None if each edge has one entry.
    """

    names: list[str]
    labels: list[str]
    columns: list[str]
    places: list[int]
    values: xr.DataArray
    rounding: xr.DataArray
    graph: Any
    n_states: Any

    def strengths(self, parameters: xr.DataArray) -> xr.DataArray:
        """One number for each edge (..., edge)."""
        if self.n_states is None:
            return parameters
        return self._of_edges(parameters, strengths(parameters.values, self.graph, self.n_states))

    def differ(self, chosen: Any) -> xr.DataArray:
        """Whether some of the groups differ (chain, draw, edge)."""
        values = self.values[chosen]
        by_entry = values.max("network") - values.min("network") > self.rounding
        if self.n_states is None:
            return by_entry
        sizes = table_sizes_of(self.n_states, self.graph)
        found = np.logical_or.reduceat(by_entry.values, np.cumsum(sizes) - sizes, axis=-1)
        return self._of_edges(by_entry, found)

    def _of_edges(self, parameters: xr.DataArray, found: np.ndarray) -> xr.DataArray:
        dims = [str(dim) for dim in parameters.dims[:-1]]
        coords: dict[str, Any] = {dim: parameters[dim] for dim in dims if dim in parameters.coords}
        coords["edge"] = list(self.graph.edge_labels)
        return xr.DataArray(found, dims=(*dims, "edge"), coords=coords)


def _groups_of(
    idata: xr.DataTree, var_names: Any, between: Any, graph: Any, n_states: Any, model: Any, group: str
) -> _Groups:
    """Find the groups and read their networks."""
    names, labels, columns = named_groups(idata, var_names, model)
    chosen = list(range(len(names)))
    if between is not None:
        chosen = chosen_groups(between, labels)
        names, labels, columns = ([of[k] for k in chosen] for of in (names, labels, columns))
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"var_names must name the weights of two or more groups, not {names!r}")
    if n_states is None:
        values = [edge_values(idata, name, graph, group) for name in names]
    else:
        graph = as_graph(graph)
        values = [edge_parameters(idata, name, graph, n_states, group)[0] for name in names]
    epsilon = max(np.finfo(np.result_type(v.dtype, np.float32)).eps for v in values)
    values = [v.astype(np.float64) for v in values]
    dims = {v.dims[-1] for v in values}
    if len(dims) > 1:
        values = [v.rename({v.dims[-1]: values[0].dims[-1]}) for v in values]
    together = xr.concat(values, "network", coords="minimal", compat="override")
    rounding = ROUNDING * epsilon * abs(together).max(("network", *SAMPLE_DIMS))
    return _Groups(names, list(map(str, labels)), columns, chosen, together, rounding, graph, n_states)


def _differences_told(
    idata: xr.DataTree, var_names: Any, chosen: list[int], group: str
) -> list[TermTold]:
    """Find what the steps of the differences of `group_weights` by which groups differ told; else nothing."""
    from pymc_mrf.distributions.group_weights import kept_contrasts, tell_apart

    contrasts = kept_contrasts(idata).get(var_names) if isinstance(var_names, str) else None
    if contrasts is None:
        return []
    terms = np.flatnonzero(tell_apart(contrasts.values, chosen)) + 1
    return told_of_sum(idata, var_names, contrasts.values, tuple(terms.tolist()), group)


def named_groups(idata: xr.DataTree, var_names: Any, model: Any) -> tuple[list[str], list, list[str]]:
    """Names of the variables of groups, their labels, and what tables call their means."""
    from pymc_mrf.distributions.group_weights import CONTRASTS, group_names, kept_contrasts

    if not isinstance(var_names, str):
        names = sequence(var_names, "var_names", "names")
        return names, names, names
    check_tree(idata, "idata")
    contrasts, kept = f"{var_names}{CONTRASTS}", kept_contrasts(idata).get(var_names)
    if kept is not None:
        labels = kept["group"].values.tolist()
    elif model is not None and contrasts in model.named_vars:
        labels = list(model.coords["group"])
    else:
        raise ValueError(
            f"var_names={var_names!r} is no vector that pymc_mrf.group_weights gave groups, as idata has no "
            f"constant data {contrasts!r}: name the variables of the groups, as in "
            f"['{var_names}_a', '{var_names}_b'], or the whole result of pm.sample"
        )
    names = [f"{var_names}_{ending}" for ending in group_names(labels)]
    return names, labels, [f"{var_names}[{label}]" for label in labels]


def chosen_groups(between: Any, labels: list) -> list[int]:
    """Places of two or more different groups among all labels; a text stands for the label that it spells."""
    texts, places = list(map(str, labels)), []
    for label in sequence(between, "between", "labels of groups"):
        if label not in labels and str(label) not in texts:
            shown = ", ".join(map(repr, labels))
            raise ValueError(f"between names {label!r}, but the groups are {shown}")
        places.append(labels.index(label) if label in labels else texts.index(str(label)))
    if len(places) < 2 or len(set(places)) < len(places):
        raise ValueError(f"between must name two or more different groups, not {between!r}")
    return places


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
