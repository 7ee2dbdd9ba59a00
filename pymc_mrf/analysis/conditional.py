"""Log probability of nodes of the data given all others: of each (Besag, 1975), or of some together.

Of groups of nodes see Chen & Welling (2012, sec. 6.4).
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._parameters import score_draws, scored_field
from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_sampled
from pymc_mrf.checks import sequence
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.pseudo_likelihood import group_log_conditional
from pymc_mrf.kernels.estimates.pseudo_likelihood import log_pseudo_likelihood as lpl_kernel

MAX_GROUP_NODES = 12
MAX_GROUP_STATES = 2**22  # two arrays of 32 MB


def log_pseudo_likelihood(
    x: Any,
    graph: Any = None,
    parameters: Any = None,
    *,
    family: str | None = None,
    n_states: Any = None,
    scores: Any = None,
    var_name: str | None = None,
    node: Any = None,
    group: str = "posterior",
    per_observation: bool = False,
    model: Any = None,
) -> xr.DataArray:
    """Log pseudo-likelihood: sum over observations and nodes of log p(x_i | its neighbours).

    Parameters
    ----------
    x : (n, d) array_like or table
        Complete observations: states, columns in node order or found by their names. With `model`, answers as
        its table has them.
    graph : networkx.Graph or PairwiseGraph
        Not with `model`.
    parameters : xarray.DataTree, xarray.DataArray or array_like
        Edge parameters as the family writes them (agreement: theta in (0, 1)). A DataTree from
        `pymc.sample`, of which every draw of `var_name` is evaluated; a DataArray with the edges as
        its last dimension, such as ``idata.posterior["theta"].mean(("chain", "draw"))``; or a plain
        array (r,). A scalar per draw stands for all edges. Where they differ between rows, as a
        ``pm.Deterministic`` with dims ("obs", "edge") does, their dimension "obs" is that of the rows of `x`,
        and each is scored by its own.
    family : {"agreement", "ising", "boltzmann", "ordinal"}
        "agreement" by default. Neither it nor the following two are given with `model`.
    n_states : int, or sequence of d of them
        Number of states of the agreement or ordinal family, 2 by default; of the ordinal one also for each
        node.
    scores : (K,) increasing numbers, or d vectors of them, optional
        Of the ordinal family, as for `OrdinalMRF`: those of the model.
    var_name : str
        Variable of the edge parameters if `parameters` is a DataTree: by default that of the only field of
        the model, or "theta".
    node : str, xarray.DataArray or array_like, optional
        Node parameters (Ising field, Boltzmann bias, ordinal threshold): a variable of the DataTree, or
        values, one per node, thresholds (d, K - 1), or one for all, which may have a dimension "obs" as edge
        parameters may. If not given that of the model, or zero, which is refused where a DataTree has a
        variable on the nodes: 0 says that it is to be left out.
    group : str
        Group of the DataTree to read.
    per_observation : bool
        Keep a last dimension "obs" instead of summing over the observations.
    model : pymc.Model, optional
        That was sampled, which knows graph, family, states and scores of its field, and how rows are read: as
        its table was, by its codes and categories.

    Returns
    -------
    xarray.DataArray
        With the dimensions of the parameters other than edges, such as ("chain", "draw"), and "obs"
        if asked for.

    Raises
    ------
    TypeError, ValueError
        If the data are not complete states of the family, sizes do not match the graph, parameters
        are out of range, edge coordinates are those of another graph, or `node` is not given although the
        posterior has a variable on the nodes, or rows along "obs" are not as many as those of `x`.
    """
    options = {"family": family, "n_states": n_states, "scores": scores}
    field = scored_field("log_pseudo_likelihood", graph, model, **options, var_name=var_name, node=node)

    def score(indices, edge_tables, node_tables, out):
        lpl_kernel(indices, edge_tables, node_tables, field.graph.arrays, out)

    return score_draws(score, field, x, parameters, group, per_observation)


def conditional_log_likelihood(
    x: Any,
    graph: Any = None,
    parameters: Any = None,
    group_of_nodes: Sequence[Hashable] = (),
    *,
    family: str | None = None,
    n_states: Any = None,
    scores: Any = None,
    var_name: str | None = None,
    node: Any = None,
    group: str = "posterior",
    per_observation: bool = False,
    model: Any = None,
) -> xr.DataArray:
    """Conditional log-likelihood: sum over observations of log p(x_G | all other nodes), exact.

    The K^|G| states of the group G are listed, so the partition function of the field never appears. A
    group of one node gives a term of the pseudo-likelihood, a group of all nodes the likelihood.

    Parameters
    ----------
    x : (n, d) array_like or table
        Complete observations, as in `log_pseudo_likelihood`.
    graph : networkx.Graph or PairwiseGraph
    parameters : xarray.DataTree, xarray.DataArray or array_like
        Edge parameters, as in `log_pseudo_likelihood`.
    group_of_nodes : sequence of node labels
        The group G: 1 to 12 nodes of the graph, with at most 2^22 states.
    family, n_states, scores, var_name, node, group, per_observation, model
        As in `log_pseudo_likelihood`.

    Returns
    -------
    xarray.DataArray
        With the dimensions of the parameters other than edges, such as ("chain", "draw"), and "obs"
        if asked for.

    Raises
    ------
    TypeError, ValueError
        As in `log_pseudo_likelihood`; also if the group is empty, too large, repeats a node or
        names one that the graph does not have.

    See Also
    --------
    log_predictive : The same of held-out data, averaged over the posterior.
    """
    options = {"family": family, "n_states": n_states, "scores": scores}
    field = scored_field(
        "conditional_log_likelihood", graph, model, **options, var_name=var_name, node=node
    )
    graph, kind = field.graph, field.kind
    members = _members(group_of_nodes, graph)
    size = kind.n_states ** len(members)
    if len(members) > MAX_GROUP_NODES or size > MAX_GROUP_STATES:
        raise ValueError(
            f"group_of_nodes has {len(members)} nodes and {size} states; all are listed, which is "
            f"limited to {MAX_GROUP_NODES} nodes and {MAX_GROUP_STATES} states: split the group"
        )
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[members] = np.arange(len(members))
    inside, room = np.empty(size), np.empty(size)

    def score(indices, edge_tables, node_tables, out):
        group_log_conditional(
            indices, members, place, edge_tables, node_tables, graph.arrays, inside, room, out
        )

    return score_draws(score, field, x, parameters, group, per_observation)


def log_predictive(log_likelihood: xr.DataArray) -> xr.DataArray:
    """Log of the posterior mean of p: the predictor "Bayes" of Chen & Welling (2012, sec. 6.2).

    Their "Bayes PM" is the log-likelihood under one set of parameters instead: the edges with inclusion
    probability above 1/2, with the means of their weights in the draws that have them, and biases to match.

    Parameters
    ----------
    log_likelihood : xarray.DataArray
        Log probabilities per draw and observation, with dims "chain" and "draw" among others, such as
        ``conditional_log_likelihood(..., per_observation=True)``. Summed over observations
        beforehand, it would give the joint predictive probability of all of them.

    Returns
    -------
    xarray.DataArray
        Without "chain" and "draw".

    Raises
    ------
    TypeError, ValueError
        If `log_likelihood` is not a DataArray or has no chains and draws.
    """
    from scipy.special import logsumexp

    if not isinstance(log_likelihood, xr.DataArray):
        raise TypeError(
            f"log_likelihood must be an xarray.DataArray, not {type(log_likelihood).__name__}"
        )
    check_sampled(
        log_likelihood, "log_likelihood", "pass pymc_mrf.analysis.conditional_log_likelihood of draws"
    )
    if log_likelihood.size == 0:
        raise ValueError(
            f"log_likelihood is empty, of the sizes {dict(log_likelihood.sizes)}; it needs at least one "
            '"chain" and one "draw"'
        )
    if log_likelihood.dtype.kind not in "iuf" or np.isnan(log_likelihood.values).any():
        raise ValueError(
            "log_likelihood has entries that are not numbers; find the term that is undefined"
        )
    n_draws = log_likelihood.sizes["chain"] * log_likelihood.sizes["draw"]
    mean = xr.apply_ufunc(
        lambda values: logsumexp(values, axis=(-2, -1)) - np.log(n_draws),
        log_likelihood,
        input_core_dims=[SAMPLE_DIMS],
    )
    return mean.rename("log_predictive")


def _members(group_of_nodes: Any, graph: PairwiseGraph) -> np.ndarray:
    """Return the indices of the group's nodes, (g,) int64."""
    labels = sequence(group_of_nodes, "group_of_nodes", "node labels, such as a list of one")
    if not labels:
        raise ValueError("group_of_nodes is empty; give at least one node")
    index = {label: i for i, label in enumerate(graph.nodes)}
    unknown = [label for label in labels if not isinstance(label, Hashable) or label not in index]
    if unknown:
        raise ValueError(f"group_of_nodes names {unknown[0]!r}, which is not a node of the graph")
    members = np.array([index[label] for label in labels], dtype=np.int64)
    if len(set(labels)) != len(labels):
        repeated = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise ValueError(f"group_of_nodes names {repeated!r} twice")
    return members
