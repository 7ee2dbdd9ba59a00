"""Fields in time as a PyMC distribution: which node of earlier rows changes which node of the next."""

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from pytensor.graph.basic import Variable

from pymc_mrf.checks import check_option, whole_number
from pymc_mrf.distributions.arguments import GivenData, value_of
from pymc_mrf.distributions.column_warnings import warn_of_states
from pymc_mrf.distributions.field import (
    DiscreteField,
    check_lengths,
    check_parameter_rows,
    check_states,
    latent_if_all_missing,
    read_observed,
    registered_node,
    row_counts,
    without_nan,
)
from pymc_mrf.distributions.field_parameters import check_states_given, edge_parameter, node_parameter
from pymc_mrf.distributions.field_rv import DRAW_SWEEPS
from pymc_mrf.distributions.kinetic_rv import KineticRV
from pymc_mrf.distributions.likelihood import DeclaredField, likelihood_of
from pymc_mrf.fields.column_kinds import kinds_of_answers
from pymc_mrf.fields.families import get_family, one_or_each
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.series import SeriesRows, read_order, windows_of
from pymc_mrf.fields.table_columns import Table, as_table, check_row_labels
from pymc_mrf.fields.tables import count_states, read_answers
from pymc_mrf.graph.lagged import LaggedGraph, as_lagged


class KineticMRF(DiscreteField):
    r"""Field in time, or kinetic Ising model: nodes of each row depend on nodes of earlier rows.

    .. math::

        p(x_t \mid x_{t-1}, w, b) = \prod_i p(x_{ti} \mid x_{t-1}), \quad
        p(x_{ti} = a \mid x_{t-1}) \propto \exp\Big(b_i(a) + s_i(a) \sum_{j \to i} w_{ji} s_j(x_{t-1,j})\Big)

    Given the rows before, nodes are independent: the likelihood is exact whatever the graph, and needs no
    partition function. The first rows of each series, as many as the largest lag, are given.

    Parameters
    ----------
    name : str
    weight : tensor_like of float, shape (..., r), (..., 1) or scalar
        One value w per arrow, in the order of ``coords(graph)["edge"]``, or one for all: a positive value
        makes a high state of its source be followed by high states of its target, and zero is no arrow. With
        links in `graph`, theirs come first. A first axis of T rows gives each row its own.
    bias : tensor_like of float, shape (..., d), (..., 1) or scalar; ordinal (..., d, K - 1)
        One value b per node, as the bias of a `BoltzmannMachine` or the field of an `Ising` model; of an
        ordinal family the thresholds of an `OrdinalMRF`. A first axis of T rows gives each row its own, as
        covariates of rows do.
    graph : networkx.DiGraph or LaggedGraph
        Arrows from nodes of an earlier row to nodes of the present one, those from a node to itself included;
        `pymc_mrf.graphs.lagged` has all of them.
    lag : int, or increasing sequence of int
        How many rows earlier the arrows start, 1 by default; each arrow is there once for every lag.
    links : networkx.Graph or PairwiseGraph, optional
        Links within a row, given the rows before.
    likelihood : {"auto", "pseudo", "exact"} or Pseudo, optional
        Where there are links: the *pseudo-likelihood* of each row, in which links and arrows are counted
        once (with ``Pseudo(weight=1)``, as is usual, twice and once); or the likelihood, for which all states
        of a row are listed, up to 2^22 in all rows. See the notes.
    family : {"boltzmann", "ising", "ordinal"}
        States 0 and 1, states -1 and 1, or 0 to K - 1. Scores s are the states themselves.
    n_states, scores : optional
        Of the ordinal family, as for `OrdinalMRF`.
    series : (T,) or (T, k) labels, str, or list of str, optional
        Which series, such as a person, each row belongs to, or the column of `observed` that tells, of a
        DataArray the coordinate of its rows: no row depends on one of another series. Several columns make
        one together, such as ``["person", "day"]`` of a diary that is broken by nights. Rows of a series are
        in their order. Series of no more rows than the largest lag have no row with a past: a warning counts
        them, and nothing is learnt from them, links within rows included.
    time : (T,) whole numbers, or str, optional
        Times of the rows of each series, or the column that tells, increasing. They count intervals: where
        rows are more than one apart, rows are inserted all of whose cells are missing. Parameters that differ
        between rows, and dimensions, have these rows as well. If all times of a series are multiples of 2
        apart, 2 is the interval, and so on, with a warning. Without, rows are one apart.
    weights : (T,) whole numbers, or str, optional
        How many observations each row stands for, given the rows before, or the column that tells.
        Pointwise log-likelihoods have as many rows. Rows with another weight than 1, and those on which they
        depend, must be complete.
    n_sweeps : int
        Gibbs sweeps behind each row of a random draw, where there are links; else draws are exact.
    **kwargs
        ``observed`` (T, d), an array, a masked array, a table of pandas, polars, pyarrow or xarray, or
        ``pm.Data`` of this shape, ``columns``, ``dims``, ``shape`` (T, d) if there is no `observed`, and so
        on, as for other fields.

    Raises
    ------
    ValueError
        If the graph is undirected, graph, data and parameters do not fit together, no series has a row with
        a past, times of a series do not increase, labels or weights do not match the rows, or cells are
        missing where weights are not 1.

    Warns
    -----
    UserWarning
        If no observation is in one of a node's states, or a node never changes, and the biases are free; if a
        series is too short, the interval of time is not 1, or more rows are inserted than there are.

    Notes
    -----
    Missing cells and rows are free variables, as those of other fields: `SeriesGibbs` draws them cell by
    cell. Missing cells of the first rows, which have no distribution, are in all states alike a priori.

    Under the pseudo-likelihood nodes with links have conditionals to the power of 1/2, so that links, which
    stand in two of them, are counted once. Of nodes with arrows as well the other half is of a second
    conditional, in which the neighbours within the row are what they are expected to be given the earlier
    rows, and deviations from that have constant weights: arrows, too, are counted once. These constants are
    estimated from the complete rows of `observed` when the field is declared, and stay.

    Random draws go row by row from the first rows of the data; of a field without data from rows whose cells
    are in all states alike. Pointwise log-likelihoods are those of the rows that have a past, and no missing
    cell in themselves or the rows on which they depend: log p(x_t | x_{t-1}), one step ahead. Their first
    dimension is therefore not that of `dims`.

    An arrow says what comes before what, given the other nodes of the row before. Causes that the table does
    not have, and changes faster than its rows, make arrows as well.

    References
    ----------
    Roudi & Hertz (2011) and Peixoto (2019) for the kinetic Ising model.

    Examples
    --------
    >>> graph = pymc_mrf.graphs.lagged(diary.columns)
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     weight = pymc_mrf.SpikeAndSlab("weight", 0.1, pm.Normal.dist(0, 1), dims="edge")
    ...     bias = pm.Normal("bias", 0, 2, dims="node")
    ...     pymc_mrf.KineticMRF("x", weight, bias, graph=graph, observed=diary, series=person)
    """

    rv_type = KineticRV

    def __new__(
        cls,
        name,
        *args,
        graph=None,
        lag=None,
        links=None,
        family="boltzmann",
        n_states=None,
        scores=None,
        series=None,
        time=None,
        observed=None,
        columns=None,
        weights=None,
        dims=None,
        **kwargs,
    ):
        """Register the field with the model on the context stack, after checking the data."""
        if graph is None:
            raise TypeError(
                f"KineticMRF {name!r} needs graph=, a networkx.DiGraph or pymc_mrf.graphs.lagged(nodes)"
            )
        graph = as_lagged(graph, lag, links)
        series, columns = _column(observed, series, columns, graph, "series", name)
        time, columns = _column(observed, time, columns, graph, "time", name)
        weights, columns = _column(observed, weights, columns, graph, "weights", name)
        if family == "ordinal" and n_states is None and observed is not None:
            n_states = one_or_each(count_states(observed, graph.nodes, f"{name}: observed", columns))
        kind = _family(family, n_states, scores, graph)
        check_parameter_rows([*args, *kwargs.values()], observed, graph.nodes, name)
        if observed is not None and not isinstance(observed, Variable):
            of_table = kinds_of_answers(observed, graph.nodes, kind, columns, f"{name}: observed")
            kwargs["record"] = of_table
        read = partial(read_answers, nodes=graph.nodes, states=kind.node_states(graph.n_nodes))
        observed = read_observed(observed, read, name, columns=columns, weights=None)
        x, n_rows = None, _length(kwargs.get("shape"), dims, graph, name) if observed is None else 0
        if observed is not None:
            x = check_states(observed, kind, graph, name)
            if x.ndim != 2:
                raise ValueError(
                    f"{name}: `observed` has shape {x.shape}, but must be a table (rows, nodes): put series "
                    "below each other and tell them apart by `series`"
                )
            n_rows = len(x)
        places, source = read_order(n_rows, series, time, name)
        if len(source) > n_rows:
            if isinstance(observed, Variable):
                raise ValueError(
                    f"{name}: time has gaps, at which rows are missing, but pm.Data hold no missing cells: "
                    "pass the table itself as `observed`"
                )
            if observed is None:
                raise ValueError(f"{name}: time has gaps, but there is no `observed`: leave time out")
            observed, x = _with_gaps(observed, source), _with_gaps(x, source)
        if weights is not None:
            if x is None:
                raise ValueError(f"{name}: weights are those of rows of `observed`: leave them out")
            weights = np.where(source < 0, 1, row_counts(weights, (n_rows, graph.n_nodes), name)[source])
        rows = _series_rows(x, places, len(source), kind, graph, name, weights)
        if x is not None:
            observed = without_nan(observed, kind.states[0])
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        kwargs["shape"] = len(source), graph.n_nodes
        if dims is not None and x is not None:
            dims = _own_dims(dims, rows, name)
        rv = super().__new__(
            cls,
            name,
            *args,
            graph=graph,
            family=kind,
            rows=rows,
            windows=None if x is None else _complete_windows(x, rows, kind),
            observed=observed,
            dims=dims,
            **kwargs,
        )
        if x is not None and observed is not None:
            warn_of_states(registered_node(rv), x, name)
        return rv

    @classmethod
    def dist(
        cls,
        weight,
        bias=0.0,
        *,
        graph,
        lag=None,
        links=None,
        family="boltzmann",
        n_states=None,
        scores=None,
        rows=None,
        windows=None,
        likelihood="auto",
        n_sweeps=DRAW_SWEEPS,
        **kwargs,
    ):
        """Unregistered variable of one series with `shape` (T, d); see the class."""
        graph = as_lagged(graph, lag, links)
        if not isinstance(family, Family):
            family = _family(family, n_states, scores, graph)
        if rows is None:
            n_rows = _length(kwargs.get("shape"), None, graph, "dist")
            places, _ = read_order(n_rows, None, None, "dist")
            rows = _series_rows(None, places, n_rows, family, graph, "dist")
        edge = _at_most_rows(edge_parameter(weight, family, graph), 1, rows, "weight")
        node = _at_most_rows(
            node_parameter(bias, family, graph, "bias"), 1 + family.node_axes, rows, "bias"
        )
        n_axes = edge.type.ndim, node.type.ndim
        n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        op = KineticRV(graph, family, rows, n_axes=n_axes, n_sweeps=n_sweeps)
        op = op.under(
            likelihood_of(likelihood, DeclaredField(op, [edge, node], GivenData(values=windows)))
        )
        kwargs["shape"] = rows.n_rows, graph.n_nodes
        return super().dist([edge, node], op=op, **kwargs)


def _family(family: Any, n_states: Any, scores: Any, graph: LaggedGraph) -> Family:
    """Find the family, whose parameters are called weight and bias."""
    check_option(family, "family", ("boltzmann", "ising", "ordinal"))
    if family == "ordinal":
        check_states_given(n_states, "ordinal family, or one for each node")
    found = get_family(family, 2 if n_states is None else n_states, scores, graph.nodes)
    found.check_nodes(graph.n_nodes)
    return replace(found, edge_parameter="weight", node_parameter="bias")


def _at_most_rows(parameter, n_core: int, rows: SeriesRows, name: str):
    """Parameter with one row axis at most, repeated along it if it has length 1."""
    n_axes = parameter.type.ndim - n_core
    if n_axes > 1:
        raise ValueError(
            f"{name} has {parameter.type.ndim} axes, but rows have one: give values of all rows alike, or a "
            "first axis of the rows of `observed`"
        )
    if n_axes == 0:
        return parameter
    length = parameter.type.shape[0]
    if length == 1:
        return parameter[0]
    if length not in (None, rows.n_rows):
        raise ValueError(
            f"{name} has {length} rows, but the table has {rows.n_rows}, those of missing times included: "
            "give values of the same rows, or put rows of missing cells for these times into the table first"
        )
    return pt.specify_shape(parameter, (rows.n_rows, *[None] * n_core))


def _column(
    observed: Any, given: Any, columns: Any, graph: LaggedGraph, option: str, name: str
) -> tuple[Any, Any]:
    """Values of `series`, `time` or `weights`, which may name columns, and the columns that are nodes."""
    table = as_table(observed)
    if option == "series" and _are_names(given, observed, table):
        found = []
        for label in given:
            values, columns = _named(observed, table, label, columns, graph, option, name)
            found.append(values)
        return list(zip(*found, strict=True)), columns
    if isinstance(given, str):
        return _named(observed, table, given, columns, graph, option, name)
    check_row_labels(given, table, f"{name}: {option}")
    return given, columns


def _are_names(given: Any, observed: Any, table: Table | None) -> bool:
    """Whether labels of rows are names of columns: a list of texts that is not one label for each row."""
    if not isinstance(given, list | tuple) or not given or not all(isinstance(v, str) for v in given):
        return False
    known = [*(table.names if table else []), *getattr(observed, "coords", [])]
    return table is not None and (len(given) != len(table.rows) or set(given) <= set(known))


def _named(
    observed: Any,
    table: Table | None,
    label: str,
    columns: Any,
    graph: LaggedGraph,
    option: str,
    name: str,
) -> tuple[Any, Any]:
    """Values of a column, or of a coordinate of the rows of a DataArray, and the columns that are nodes."""
    if isinstance(observed, xr.DataArray) and label in observed.coords:
        along = observed.coords[label]
        if along.dims == observed.dims[:1]:
            return along.values, columns
    if table is None or label not in table.names:
        raise ValueError(
            f"{name}: {option}={label!r} names no column of `observed`, nor a coordinate of its rows: give "
            "the name of one, or a vector with an entry for each row"
        )
    found = table.column(table.names.index(label))
    values = np.array(
        [None if gone else v for v, gone in zip(found.values, found.is_missing, strict=True)],
        dtype=object if option == "series" else None,
    )
    return values, list(graph.nodes) if columns is None else columns


def _length(shape: Any, dims: Any, graph: LaggedGraph, name: str) -> int:
    """Count the rows of a field without data, from its shape or its dimensions."""
    if shape is None and dims is not None:
        lengths = pm.modelcontext(None).dim_lengths
        shape = [value_of(lengths[dim]) for dim in dims]
    if not isinstance(shape, tuple | list) or len(shape) != 2 or shape[1] != graph.n_nodes:
        raise ValueError(
            f"{name}: a field in time without `observed` needs its rows: give shape=(T, {graph.n_nodes}), "
            f"not {shape!r}"
        )
    return whole_number(shape[0], f"{name}: shape[0]", 1)


def _with_gaps(x: Any, source: np.ndarray) -> np.ma.MaskedArray:
    """Masked table with the rows `source` of `x`, all cells missing where it is -1."""
    x = np.ma.masked_array(np.asanyarray(x))
    found = x[np.maximum(source, 0)]
    mask = np.ma.getmaskarray(found).copy()
    mask[source < 0] = True
    return np.ma.masked_array(found.data, mask)


def _series_rows(
    x: np.ma.MaskedArray | None,
    places: dict[Any, np.ndarray],
    n_rows: int,
    family: Family,
    graph: LaggedGraph,
    name: str,
    weights: np.ndarray | None = None,
) -> SeriesRows:
    """Make the structure of the rows, with the states of those that are given and their weights."""
    windows = windows_of(places, graph.lags, name)
    first = np.full((n_rows, graph.n_nodes), -1, dtype=np.int8)
    if x is not None:
        given = np.setdiff1d(np.arange(n_rows), windows[:, 0])
        z = family.encode(x.filled(family.states[0]), n_nodes=graph.n_nodes)
        first[given] = np.where(np.ma.getmaskarray(x), -1, z)[given]
    if weights is not None and x is not None:
        weights = weights[windows[:, 0]]
        _check_weights(weights, windows, x, name)
    return SeriesRows(n_rows, windows, first, places, weights)


def _complete_windows(x: np.ma.MaskedArray, rows: SeriesRows, family: Family) -> np.ndarray:
    """State indices (n, (1 + L) d) of the windows without missing cells, as often as weights say."""
    z = family.encode(x.filled(family.states[0]), n_nodes=x.shape[1])
    complete = ~np.ma.getmaskarray(x)[rows.observations].any(axis=(1, 2))
    windows = rows.observations[complete]
    arranged = z[windows].reshape(len(windows), windows.shape[1] * x.shape[1])
    return np.ascontiguousarray(arranged, dtype=np.int8)


def _check_weights(weights: np.ndarray, windows: np.ndarray, x: np.ma.MaskedArray, name: str) -> None:
    """Refuse weights (m,) of windows that all are 0, or have missing cells where they are not 1."""
    if not weights.any():
        raise ValueError(
            f"{name}: weights are 0 in all rows that have earlier ones: at least one is needed to learn from"
        )
    wrong = (weights != 1) & np.ma.getmaskarray(x)[windows].any(axis=(1, 2))
    if wrong.any():
        k = np.flatnonzero(wrong)[0]
        raise ValueError(
            f"{name}: row {windows[k, 0]} has weight {weights[k]}, but it, or an earlier row on which it "
            "depends, has missing cells, of which several observations would have values of their own: give "
            "it weight 1, and repeat the rows as a series of their own"
        )


def _own_dims(dims: Any, rows: SeriesRows, name: str) -> tuple[Hashable, ...]:
    """Dimensions of which the first is the field's own: it is longer than that of the log-likelihood."""
    dims = (dims,) if isinstance(dims, str) else tuple(dims)
    shape = rows.n_rows, rows.first.shape[1]
    check_lengths(dims, shape, name, f"the table has shape {shape}, rows of missing times included")
    return (f"{name}_dim_0", *dims[1:])
