"""Read one variable from the results of `pymc.sample`, or say what is wrong with the request."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.checks import check_labels, quoted, sequence
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph

SAMPLE_DIMS = ("chain", "draw")
SAMPLE_AXES = (0, 1)
DRAWS = "posterior", "warmup_posterior"  # given the data
OF_BLOCK = re.compile(r"\[\d+,\d+\]$")  # ends the labels of the entries of an edge that has several
GROUP_REMEDIES = {
    "posterior": "; pass the whole result of pm.sample",
    "observed_data": "; pass the result of a model with `observed` data",
    "posterior_predictive": "; add it with pm.sample_posterior_predictive(idata, extend_inferencedata=True)",
}
AT_ONCE = 20_000_000
"""Numbers that are read at once."""
FEWEST_CHANGES = (
    30  # of two entries, all at the same draws, that edges of their own do not have by chance
)


def check_tree(value: Any, name: str) -> None:
    """Refuse what is no DataTree; `name` is what the caller's users call it."""
    if not isinstance(value, xr.DataTree):
        remedy = ""
        if isinstance(value, xr.Dataset):
            remedy = (
                ': make it a group, as in idata["latent"] = dataset, and name it, group="latent"'
                if "field" in value.attrs
                else ", of which a Dataset is one group"
            )
        raise TypeError(
            f"{name} must be the xarray.DataTree that pymc.sample returns, not {type(value).__name__}{remedy}"
        )


def check_model(model: Any) -> None:
    """Refuse what is no PyMC model."""
    import pymc as pm

    if not isinstance(model, pm.Model):
        raise TypeError(f"model must be a pymc.Model, not {type(model).__name__}")


def names_of(value: Any, name: str, of: str = "names") -> list[str]:
    """List one name, or a sequence of them; `of` tells what these are."""
    return [value] if isinstance(value, str) else sequence(value, name, of)


def checked_group(idata: Any, group: str) -> xr.Dataset:
    """Return a group, or refuse what has none of this name."""
    check_tree(idata, "idata")
    if not isinstance(group, str):
        raise TypeError(f"group must be one name, a string, not {group!r}")
    if group not in idata.children:
        raise ValueError(
            f"the DataTree has no group {group!r}; it has "
            f"{quoted(idata.children)}{GROUP_REMEDIES.get(group, '')}"
        )
    return idata[group].to_dataset()


def group_variable(idata: Any, var_name: str, group: str) -> xr.DataArray:
    """Return a variable of a group as it is.

    Of a field with missing cells draws hold these alone: then the data with these cells filled in.
    """
    data = checked_group(idata, group)
    if not isinstance(var_name, str):
        raise TypeError(f"var_name must be one name, a string, not {var_name!r}")
    if var_name not in data and group in DRAWS and f"{var_name}_unobserved" in data:
        return _filled(idata, var_name, data[f"{var_name}_unobserved"])
    if var_name not in data and "field" in data.attrs:
        raise ValueError(
            f"the {group} group is of pymc_mrf.LatentMarginals: it holds shares of draws in which nodes of "
            f"{data.attrs['field']!r} are in each state, and neither edges nor draws; show it by "
            "pymc_mrf.plot_latent_field"
        )
    if var_name not in data:
        raise ValueError(
            f"the {group} group has no variable {var_name!r}; it has {quoted(data.data_vars)}"
        )
    return data[var_name]


def _filled(idata: xr.DataTree, var_name: str, cells: xr.DataArray) -> xr.DataArray:
    """Draws of a field: the data with the draws of the missing cells, (chain, draw, ...)."""
    table = group_variable(idata, var_name, "observed_data")
    missing = np.isnan(table.values)
    cells = cells.transpose(*SAMPLE_DIMS, ...)
    values = np.empty((*cells.shape[:2], *table.shape), dtype=cells.dtype)
    values[..., ~missing] = table.values[~missing]
    values[..., missing] = cells.values
    coords = {dim: cells[dim] for dim in SAMPLE_DIMS} | dict(table.coords)
    return xr.DataArray(values, dims=(*SAMPLE_DIMS, *table.dims), coords=coords, name=var_name)


def check_sampled(values: xr.DataArray, name: str, remedy: str) -> None:
    """Refuse what has no chains and draws."""
    missing = [dim for dim in SAMPLE_DIMS if dim not in values.dims]
    if missing:
        raise ValueError(
            f"{name} is without {' and '.join(map(repr, missing))}, of dims {values.dims}; {remedy}"
        )


def sampled_variable(idata: Any, var_name: str, group: str) -> xr.DataArray:
    """Return the variable with dims ("chain", "draw", ...), all values finite."""
    values = group_variable(idata, var_name, group)
    check_sampled(
        values, var_name, "pass the results of pymc.sample as they are, not a reduction of them"
    )
    values = values.transpose(*SAMPLE_DIMS, ...)
    if values.size == 0:
        raise ValueError(
            f"{var_name} is empty: its dims have the sizes {dict(values.sizes)}; at least one draw and one "
            "entry are needed"
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{var_name} must be numeric, not of dtype {values.dtype}")
    n_bad, first = 0, ""
    for start, part in in_parts(values):
        bad = ~np.isfinite(part.values)
        if bad.any() and not n_bad:
            cell = [int(i) for i in np.argwhere(bad)[0]]
            value = part.values[tuple(cell)]
            first = f"{var_name}{[*cell[:-1], start + cell[-1]]} is {value}"
        n_bad += int(bad.sum())
    if n_bad:
        raise ValueError(
            f"{first}; {n_bad} values of {values.size} are not finite, which a sampled parameter cannot be"
        )
    return values


def in_parts(values: xr.DataArray) -> Iterator[tuple[int, xr.DataArray]]:
    """Parts of a variable along its last dimension, loaded, each with the place of its first entry.

    Draws of large networks, of which `pymc_mrf.sample` keeps present edges only, have room one part after
    the other.
    """
    dim, n = values.dims[-1], values.shape[-1]
    size = max(AT_ONCE // max(values.size // n, 1), 1)
    for start in range(0, n, size):
        yield start, values.isel({dim: slice(start, start + size)}).compute()


def sampled_vector(idata: Any, var_name: str, group: str) -> xr.DataArray:
    """Return the variable with dims ("chain", "draw", item), one value per item."""
    values = sampled_variable(idata, var_name, group)
    if values.ndim != 3:
        raise ValueError(
            f"{var_name} has dims {values.dims}; a vector is needed, with one dimension "
            'beside "chain" and "draw"'
        )
    return values


def edge_draws(idata: Any, var_name: str, group: str, model: Any = None) -> xr.DataArray:
    """Return the variable with dims ("chain", "draw", edge), one value per edge."""
    values = sampled_vector(idata, var_name, group)
    refuse_blocks(values, model)
    return values


def refuse_blocks(values: xr.DataArray, model: Any = None) -> None:
    """Refuse draws (chain, draw, entry) of edges that have several entries, which are zero together.

    The model says whether they have, or that of the context, or labels and draws do.
    """
    if _has_blocks_in(model, values) or _has_blocks(values):
        raise ValueError(
            f"{values.name} has several entries for an edge, as edges of a NominalMRF or a MixedMRF have, so "
            "that counts of entries are none of edges: read it by pymc_mrf.summarize_edges with n_states; or "
            'make one value of each edge, idata["posterior"]["strength"] = pymc_mrf.analysis.edge_strength('
            f'idata, {values.name!r}, graph=graph, n_states=...), and name "strength", without a model'
        )


def _has_blocks_in(model: Any, values: xr.DataArray) -> bool:
    """Whether these are the entries of a `SpikeAndSlab` of the model whose edges have several."""
    import pymc as pm

    from pymc_mrf.distributions.spike_and_slab import has_large_blocks

    if model is None:
        model = pm.Model.get_context(error_if_none=False)
    rv = model.named_vars.get(values.name) if isinstance(model, pm.Model) else None
    return has_large_blocks(rv) and not are_strengths(rv, values)


def are_strengths(rv: Any, values: xr.DataArray) -> bool:
    """Whether draws under the name of a `SpikeAndSlab` have one number for each of its blocks of several."""
    from pymc_mrf.distributions.spike_and_slab import has_large_blocks

    return has_large_blocks(rv) and len(rv.owner.op.blocks) == values.shape[-1]


def _has_blocks(values: xr.DataArray) -> bool:
    """Whether neighbours are zero together in all draws, and labels or many changes say that they must be."""
    return any(_has_blocks_in_part(part) for _, part in in_parts(values))


def _has_blocks_in_part(values: xr.DataArray) -> bool:
    entries, dim = values.values, values.dims[-1]
    present = entries != 0.0
    together = (present[..., 1:] == present[..., :-1]).all(SAMPLE_AXES)
    if dim in values.coords and values[dim].dtype.kind in "UOT":
        labels = [str(label) for label in values[dim].values]
        if any("--" in label for label in labels):
            edges = [OF_BLOCK.sub("", label) for label in labels]
            return any(u == v for u, v, both in zip(edges, edges[1:], together, strict=False) if both)
    together &= (entries[..., 1:] != entries[..., :-1]).any(SAMPLE_AXES)  # copies are no block
    n_changes = np.count_nonzero(np.diff(present[..., 1:], axis=1), axis=SAMPLE_AXES)
    return bool((together & (n_changes >= FEWEST_CHANGES)).any())


def values_at_draws(
    variables: Any, idata: Any, model: Any, group: str, most: int | None = None, givens: Sequence = ()
) -> tuple[Iterator[Any], dict[str, xr.DataArray]]:
    """Evaluate functions of the free variables of a model at its draws, chain by chain.

    Parameters
    ----------
    variables : TensorVariable or list of them
    idata, model, group
        The free variables on which `variables` depend are read of this group.
    most : int, optional
        Draws are thinned evenly to at most so many in all.
    givens : sequence of (variable, value), optional
        Values of ``pm.Data`` in place of those that the model holds.

    Returns
    -------
    values : iterator
        What `variables` are at each draw; once if they depend on no free variable.
    coords : dict
        Of the chains and draws that are kept; empty if there are none.
    """
    from pymc_mrf.distributions.parents import free_behind

    of = variables if isinstance(variables, list) else [variables]
    inputs = free_behind(of, model)
    function = model.compile_fn(variables, inputs=inputs, point_fn=False, givens=list(givens))
    if not inputs:
        return iter([function()]), {}
    draws = [
        group_variable(idata, rv.name, group).transpose(*SAMPLE_DIMS, ...).astype(rv.dtype)
        for rv in inputs
    ]
    n_chains, n_draws = draws[0].shape[:2]
    kept = thinned(n_chains, n_draws, n_chains * n_draws if most is None else most)
    flat = [d.values[:, kept].reshape(-1, *d.shape[2:]) for d in draws]
    coords = {"chain": draws[0]["chain"], "draw": draws[0]["draw"][kept]}
    return (function(*at) for at in zip(*flat, strict=True)), coords


def by_draw(values: xr.DataArray, found: np.ndarray, name: Any, **labels: Any) -> xr.DataArray:
    """Label what was found in each draw of `values`, or in data without draws.

    `labels` are those of the further dimensions by their names, None where they have none.
    """
    dims = [dim for dim in SAMPLE_DIMS if dim in values.dims]
    coords = {dim: values[dim] for dim in dims if dim in values.coords}
    coords |= {dim: of_dim for dim, of_dim in labels.items() if of_dim is not None}
    return xr.DataArray(found, dims=(*dims, *labels), coords=coords, name=name)


def dims_of(model: Any, name: str, n_dims: int) -> tuple[list[str], dict[str, list]]:
    """Names of the dimensions of a variable of a model, and the labels that they have."""
    dims = list(model.named_vars_to_dims.get(name) or [f"{name}_dim_{k}" for k in range(n_dims)])
    return dims, {dim: list(model.coords[dim]) for dim in dims if model.coords.get(dim) is not None}


def errors_of_means(draws: np.ndarray) -> np.ndarray:
    """Monte-Carlo errors (m,) of the means of draws (chain, draw, m); 0 for what never changes."""
    import arviz as az

    errors = np.zeros(draws.shape[-1])
    moves = np.ptp(draws, axis=(0, 1)) > 0.0
    if moves.any():
        moved = xr.DataArray(draws[..., moves].astype(np.float64), dims=(*SAMPLE_DIMS, "what"))
        errors[moves] = az.mcse(moved).values
    return errors


def thinned(n_chains: int, n_draws: int, most: int) -> np.ndarray:
    """Places of draws, evenly apart, of which all chains together have at most `most`, but one each."""
    return np.arange(0, n_draws, -(-n_draws // max(most // n_chains, 1)))


def check_edge_labels(values: xr.DataArray, graph: PairwiseGraph | LaggedGraph, name: str) -> None:
    """Refuse edge coordinates "u--v" or "u->v" that are not those of the graph, in its order.

    The last dimension of `values` holds one entry per edge. Other coordinates, such as numbers,
    say nothing about the graph and pass.
    """
    dim = values.dims[-1]
    if dim not in values.coords or values[dim].dtype.kind not in "UOT":
        return
    labels = tuple(map(str, values[dim].values))
    if labels == graph.edge_labels or not all("--" in label or "->" in label for label in labels):
        return
    position = next(i for i, label in enumerate(labels) if label != graph.edge_labels[i])
    raise ValueError(
        f"{name} belongs to another graph or edge order: its edge {position} is "
        f"{labels[position]!r}, that of the graph is {graph.edge_labels[position]!r}"
    )


def of_nodes(values: Mapping, nodes: Sequence[Hashable], name: str, what: str) -> list:
    """Values of all nodes, in their order, from a dictionary; `what` each of them is."""
    missing = [node for node in nodes if node not in values]
    if missing:
        raise ValueError(
            f"{name} has no {what} for node {missing[0]!r}; give one to every node, by its name"
        )
    return [values[node] for node in nodes]


def node_draws(idata: Any, var_name: str, graph: Any, group: str, argument: str) -> xr.DataArray:
    """Return the variable with dims ("chain", "draw", node), one value per node; `argument` names it."""
    values = sampled_vector(idata, var_name, group)
    check_labels(values, graph.nodes, var_name, "node", own_names=True)
    if values.shape[-1] != graph.n_nodes:
        raise ValueError(
            f"{argument}={var_name!r} has {values.shape[-1]} entries but the graph has {graph.n_nodes} "
            "nodes; name a variable with one entry per node"
        )
    return values
