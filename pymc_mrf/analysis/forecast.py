"""The next rows of fields in time, from the last ones."""

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import (
    SAMPLE_DIMS,
    check_model,
    check_tree,
    checked_group,
    group_variable,
    values_at_draws,
)
from pymc_mrf.checks import random_generator, whole_number
from pymc_mrf.graph.coordinates import node_names
from pymc_mrf.kernels.simulation import series as kernels

if TYPE_CHECKING:
    from pymc_mrf.distributions.kinetic_rv import KineticRV


def forecast(
    idata: Any,
    model: Any,
    n_rows: int,
    *,
    var_name: str | None = None,
    group: str = "posterior",
    random_seed: Any = None,
) -> xr.DataArray:
    """Draw the rows that follow the last ones of every series, once for each draw of the parameters.

    Parameters
    ----------
    idata : xarray.DataTree
        Result of ``pm.sample``, with the draws of missing cells if there are some.
    model : pymc.Model
        With a `KineticMRF`.
    n_rows : int
        How many rows ahead.
    var_name : str, optional
        The field, if the model has several.
    group : str
        Group of the DataTree to read.
    random_seed : int or numpy.random.Generator, optional

    Returns
    -------
    xarray.DataArray
        States with the dimensions ("chain", "draw", "series", "ahead", "node"), as the table of the field
        writes them: texts if its answers are. "ahead" counts from 1. Series that several columns make are
        texts such as "anna, 3"; those of fewer rows than the largest lag are not there.

    Raises
    ------
    TypeError, ValueError
        If there is no such field, the draws of a free variable are missing, or `n_rows` is no positive
        integer.

    Notes
    -----
    Parameters that differ between rows are those of the last row of each series. One step ahead, the log
    predictive probability of rows that are held out is that of `log_predictive` and
    ``pm.compute_log_likelihood`` of a model that is declared with them.

    Examples
    --------
    >>> pymc_mrf.forecast(idata, model, 7).mean(("chain", "draw"))

    Of a table of texts, the probability of one of them:

    >>> (pymc_mrf.forecast(idata, model, 7) == "often").mean(("chain", "draw"))
    """
    from pymc_mrf.distributions.field_record import record_of

    check_tree(idata, "idata")
    check_model(model)
    n_rows, rng = whole_number(n_rows, "n_rows", 1), random_generator(random_seed, "random_seed")
    name, node = field_in_time(model, var_name)
    op: KineticRV = node.op
    most = max(op.graph.lags)
    places = {label: rows[-most:] for label, rows in op.rows.places.items() if len(rows) >= most}
    last, n_series = np.array(list(places.values())), len(places)  # (S, most)
    place = np.arange(n_series * (most + n_rows)).reshape(n_series, -1)
    ahead = place[:, most:].T.ravel()
    windows = np.stack([ahead - lag for lag in (0, *op.graph.lags)], axis=1)
    sizes = checked_group(idata, group).sizes
    chains, draws = (sizes.get(dim, 0) for dim in SAMPLE_DIMS)
    known = _last_states(idata, model, name, op, last, group)
    x = np.zeros((place.size, op.n_variables), dtype=np.int8)
    out = np.empty((chains * draws, n_series, n_rows, op.n_variables), dtype=np.int64)
    cards = op.family.possible(op.n_variables).sum(axis=1)
    parameters, drawn = values_at_draws(list(op.dist_params(node)), idata, model, group)
    for s, given in zip(
        range(len(out)), parameters if drawn else repeat(next(parameters)), strict=False
    ):
        eta, tables = (np.asarray(table, dtype=np.float64) for table in op.log_tables(given))
        eta = _by_place(np.atleast_2d(eta), last[:, -1], place)
        tables = _by_place(tables.reshape(-1, *op.scores.shape), last[:, -1], place)
        x[place[:, :most].ravel()] = known[s % len(known)].reshape(-1, op.n_variables)
        x[ahead] = rng.integers(cards, size=(len(ahead), op.n_variables))
        kernels.draw_rows(x, windows, eta, tables, op.scores, op.graph.arrays, op.n_sweeps, rng)
        out[s] = x[place[:, most:]]
    coords = {
        **{dim: checked_group(idata, group)[dim] for dim in SAMPLE_DIMS},
        "series": [", ".join(map(str, v)) if isinstance(v, tuple) else v for v in places],
        "ahead": np.arange(1, n_rows + 1),
        "node": node_names(op.graph),
    }
    shape = chains, draws, n_series, n_rows, op.n_variables
    dims = (*SAMPLE_DIMS, "series", "ahead", "node")
    written = record_of(model, name).written(out)
    return xr.DataArray(written.reshape(shape), dims=dims, coords=coords, name=name)


def field_in_time(model: Any, var_name: str | None) -> tuple[str, Any]:
    """Name and apply node of a field in time of a model."""
    from pymc_mrf.distributions.kinetic_rv import KineticRV
    from pymc_mrf.distributions.parents import fields_of, named_field

    names = [rv.name for rv, node in fields_of(model) if isinstance(node.op, KineticRV)]
    name: Any = names[0] if var_name is None and len(names) == 1 else var_name
    return name, named_field(
        model, name, lambda op: isinstance(op, KineticRV), "KineticMRF of the model"
    )


def _last_states(
    idata: Any, model: Any, name: str, op: "KineticRV", last: np.ndarray, group: str
) -> np.ndarray:
    """State indices (draws or 1, S, most, d) of the last rows of every series."""
    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.steps.common.model_field import ModelField

    data, field = checked_group(idata, group), ModelField(field_node(model[name]), model)
    if not field.is_free:
        return field.known[None, last]
    if name not in data and f"{name}_unobserved" not in data:
        raise ValueError(f"the {group} group lacks the draws of the missing cells, {name}_unobserved")
    values = group_variable(idata, name, group).transpose(*SAMPLE_DIMS, ...).values
    values = values.reshape(-1, *values.shape[2:])
    states = np.array(op.family.states)
    return np.searchsorted(states, values[:, last]).astype(np.int8)


def _by_place(rows: np.ndarray, last: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Parameters of the rows at `place` (S, n): those of the `last` row of each series if rows differ."""
    if len(rows) == 1:
        return rows
    return np.repeat(rows[last], place.shape[1], axis=0)
