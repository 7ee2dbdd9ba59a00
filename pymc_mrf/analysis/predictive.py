"""Log pseudo-likelihood of data under posterior draws or under a point estimate (Besag, 1975)."""

from typing import Any

import xarray as xr

from pymc_mrf.analysis._parameters import IN_TIME, score_draws
from pymc_mrf.fields.families import get_family
from pymc_mrf.graph.lagged import as_undirected
from pymc_mrf.kernels.estimates.pseudo_likelihood import log_pseudo_likelihood as lpl_kernel


def log_pseudo_likelihood(
    x: Any,
    graph: Any,
    parameters: Any,
    *,
    family: str = "agreement",
    n_states: Any = 2,
    scores: Any = None,
    var_name: str = "theta",
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
    parameters : xarray.DataTree, xarray.DataArray or array_like
        Edge parameters as the family writes them (agreement: theta in (0, 1)). A DataTree from
        `pymc.sample`, of which every draw of `var_name` is evaluated; a DataArray with the edges as
        its last dimension, such as ``idata.posterior["theta"].mean(("chain", "draw"))``; or a plain
        array (r,). A scalar per draw stands for all edges. Where they differ between rows, as a
        ``pm.Deterministic`` with dims ("obs", "edge") does, their dimension "obs" is that of the rows of `x`,
        and each is scored by its own.
    family : {"agreement", "ising", "boltzmann", "ordinal"}
    n_states : int, or sequence of d of them
        Number of states of the agreement or ordinal family, of the ordinal one also for each node.
    scores : (K,) increasing numbers, or d vectors of them, optional
        Of the ordinal family, as for `OrdinalMRF`: those of the model.
    var_name : str
        Variable of the edge parameters if `parameters` is a DataTree.
    node : str, xarray.DataArray or array_like, optional
        Node parameters (Ising field, Boltzmann bias, ordinal threshold): a variable of the DataTree, or
        values, one per node, thresholds (d, K - 1), or one for all, which may have a dimension "obs" as edge
        parameters may. Zero if not given, which is refused
        where a DataTree has a variable on the nodes: 0 says that it is to be left out.
    group : str
        Group of the DataTree to read.
    per_observation : bool
        Keep a last dimension "obs" instead of summing over the observations.
    model : pymc.Model, optional
        With the field whose weights are `var_name`: rows are then read as its table was, by its codes and
        categories.

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
    graph = as_undirected(graph, IN_TIME)
    kind = get_family(family, n_states, scores, graph.nodes)

    def score(indices, edge_tables, node_tables, out):
        lpl_kernel(indices, edge_tables, node_tables, graph.arrays, out)

    return score_draws(
        score,
        x,
        graph,
        parameters,
        kind=kind,
        var_name=var_name,
        node=node,
        group=group,
        per_observation=per_observation,
        model=model,
        name="log_pseudo_likelihood",
    )
