"""The network of a field at values of the covariates on which its edges depend."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree
from pymc_mrf.analysis.covariates import Covariates


def network_at(
    idata: xr.DataTree,
    var_name: str,
    covariates: Any,
    *,
    model: Any = None,
    group: str = "posterior",
) -> xr.DataArray:
    """Edge parameters of a field at values of its covariates, in every draw: a moderated network.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A field of the model whose edge parameters depend on ``pm.Data``, as in ``weight + age[:, None] *
        delta`` with ``age = pm.Data("age", ...)``.
    covariates : mapping
        Values of ``pm.Data`` by their names, of one row, such as ``{"age": 40}``.
    model : pymc.Model, optional
        By default that of the context.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        With dims ("chain", "draw", "edge"), in the order of the field's graph; of fields whose edges have
        several parameters "entry" in place of "edge". Of an `AgreementMRF` the log odds of theta. Where no
        `SpikeAndSlab` in the sum has the edge it is 0, so that its inclusion probability is that at these
        values.

    Raises
    ------
    TypeError, ValueError
        If the model has no such field or `idata` not its parameters, covariates are no ``pm.Data`` behind
        the edge parameters or of several rows, or edge parameters depend on others of several rows.

    See Also
    --------
    predict_nodes : Predictions of rows with these covariates.

    Examples
    --------
    Whatever takes one value per edge, such as `summarize_edges` and `plot_edges`, takes it:

    >>> idata.posterior["at_40"] = pymc_mrf.network_at(idata, "x", {"age": 40}, model=model)
    >>> pymc_mrf.summarize_edges(idata, "at_40", graph=graph, prior_inclusion=0.75)
    """
    import pymc as pm
    from pytensor.tensor.shape import SpecifyShape

    from pymc_mrf.distributions.parents import named_field
    from pymc_mrf.steps.common.expressions import natural_parameter

    check_tree(idata, "idata")
    model = pm.modelcontext(model)
    node = named_field(model, var_name, _has_weights, "field of the model with weights on pairs")
    family, graph = node.op.family, node.op.graph
    given, label = node.op.dist_params(node)[0], node.op.labels[0]
    read = Covariates(covariates, [given], [label], model)
    parameter = natural_parameter(given, family)
    while parameter.owner is not None and isinstance(parameter.owner.op, SpecifyShape):
        parameter = parameter.owner.inputs[
            0
        ]  # of a field in time, that rows are as many as the data has
    values, sample = read.at_draws([parameter], idata, model, group)
    if not sample:
        raise ValueError(
            f"{var_name}: {label} has no random parameters, so that there are no draws of it"
        )
    draws = np.stack([np.asarray(value) for [value] in values])  # (draws, 1 or none, edges)
    n_rows = int(np.prod(draws.shape[1:-1]))
    if n_rows != 1:
        of_what = "these covariates" if read.values else "the covariates of the model"
        raise ValueError(
            f"{var_name}: {label} at {of_what} has {n_rows} rows, but a network is that of one: "
            f"{read.remedy([label], 'one row')}"
        )
    unit = "entry" if family.has_blocks else "edge"
    shape = sample["chain"].size, sample["draw"].size, draws.shape[-1]
    coords = {**sample, unit: list(family.axis_labels(graph)[unit])}
    return xr.DataArray(
        draws.reshape(shape), dims=(*SAMPLE_DIMS, unit), coords=coords, name=f"{var_name}_{label}"
    )


def _has_weights(op: Any) -> bool:
    return op.pairwise_family is not None and not op.pairwise_family.edge_axes
