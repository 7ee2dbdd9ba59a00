"""Fields with tables over cliques of any size as PyMC distributions."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.pytensorf import floatX

from pymc_mrf.checks import first_cell, numeric_array, whole_number
from pymc_mrf.distributions.arguments import check_constants
from pymc_mrf.distributions.factor_graph_rv import FactorGraphRV
from pymc_mrf.distributions.field import (
    DiscreteField,
    check_shape,
    latent_if_all_missing,
    observed_values,
    read_observed,
    state_dtype,
    without_nan,
)
from pymc_mrf.distributions.field_rv import DRAW_SWEEPS
from pymc_mrf.distributions.likelihood import DeclaredField, likelihood_of
from pymc_mrf.distributions.symbolic_tables import flat_core
from pymc_mrf.fields.exact import checked_table
from pymc_mrf.fields.tables import read_answers
from pymc_mrf.graph.factor_graph import FactorGraph


class FactorGraphMRF(DiscreteField):
    r"""Discrete field with factors over up to 10 variables each.

    .. math::

        p(x) \propto \exp\Big(\sum_f t_f(x_{\mathrm{scope}(f)})\Big)

    Parameters
    ----------
    name : str
    tables : sequence of tensor_like of float, or tensor_like
        Log table :math:`t_f` of each factor, numbers or symbolic (computed from random variables, say);
        axis k runs over the states of the factor's k-th variable. -inf marks an impossible combination.
        Leading dimensions before those are observations: tables that differ between them. If all tables
        have the same shape, one symbolic tensor ``(..., n_factors, *shape)`` is taken too, and compiles
        faster than a long list of its parts.
    scopes : sequence of sequences of int
        Variables 0..d-1 of each factor, at most 10 each, in the index order of its table.
    cardinalities : (d,) sequence of int
        Number of states of each variable, 2..127; values are 0..cardinality-1.
    likelihood : {"auto", "exact", "pseudo", "particles"} or Pseudo
        As for `AgreementMRF`; the junction tree is that of the factor graph. Under "pseudo" a factor of m
        variables stands in m conditionals, so that theirs have the weight 1/m; those of a variable with
        factors of several sizes the mean.
    n_sweeps : int
        Single-site Gibbs sweeps behind each random draw that is not exact, as for `AgreementMRF`. They
        start from uniform states; with -inf entries, from a possible configuration nearby, which a search
        of bounded length must find (a ValueError if it does not), and reach what single changes reach.
    dtype : str
        Integer type of the values, as for `AgreementMRF`.
    **kwargs
        ``observed`` (..., d), ``dims``, ``shape`` and so on, as for every PyMC distribution. Missing
        cells are declared by a masked array; if all of them are masked, the variable is a latent one.
        `observed` may be a table as well, of pandas, polars, pyarrow or xarray: its columns are found by the
        numbers of the variables, or are those of ``columns=[...]`` if it is given, and cells without a value
        are missing (`prepare` has all rules). ``weights`` (n,) repeats rows, as for `AgreementMRF`.

    Raises
    ------
    ValueError
        If scopes, tables and data do not fit together, a scope has more than 10 variables, a table
        contains NaN or +inf, observed values are not states, or the exact likelihood is asked for and the
        junction tree is too wide.

    Notes
    -----
    Random parameters are sampled by NUTS, and with ``likelihood="particles"`` by `Exchange`, whatever
    the expressions by which the tables are computed. A latent field itself is sampled by `TreeGibbs`. Its
    default start, all variables in their first state, is replaced by a possible configuration if -inf
    entries exclude it; if none is found, give one: ``pm.sample(initvals={name: ...})``.

    Examples
    --------
    A noisy-or: two causes and their effect.

    >>> with pm.Model():
    ...     leak = pm.Beta("leak", 1, 9)
    ...     p = 1 - (1 - leak) * numpy.array([[1.0, 0.2], [0.3, 0.06]])  # P(effect | causes)
    ...     table = pm.math.log(pm.math.stack([1 - p, p], axis=-1))
    ...     prior = numpy.log([0.9, 0.1])
    ...     scopes = [(0,), (1,), (0, 1, 2)]
    ...     FactorGraphMRF("x", [prior, prior, table], scopes=scopes, cardinalities=[2, 2, 2], observed=x)
    """

    rv_type = FactorGraphRV

    def __new__(
        cls, name, *args, scopes, cardinalities, observed=None, columns=None, weights=None, **kwargs
    ):
        """Register the field with the model on the context stack, after checking the data."""
        graph = FactorGraph(scopes, cardinalities)
        states = [tuple(range(k)) for k in graph.cardinalities]
        read = partial(read_answers, nodes=range(graph.n_variables), states=states)
        observed = read_observed(observed, read, name, columns=columns, weights=weights)
        if observed is not None:
            _check_observed(observed, graph, name)
            observed = without_nan(observed, 0)
            observed, kwargs = latent_if_all_missing(observed, kwargs)
        structure = {"scopes": graph.scopes, "cardinalities": graph.cardinalities}
        return super().__new__(cls, name, *args, observed=observed, **structure, **kwargs)

    @classmethod
    def dist(
        cls,
        tables: Sequence[Any],
        *,
        scopes: Iterable[Sequence[int]],
        cardinalities: Sequence[int],
        likelihood="auto",
        n_sweeps=DRAW_SWEEPS,
        dtype="int64",
        **kwargs,
    ):
        """Unregistered variable; see the class."""
        graph = FactorGraph(scopes, cardinalities)
        flat = flat_tables(tables, graph)
        check_shape(kwargs.get("shape"), graph.n_variables, "variables")
        dtype = state_dtype(dtype, (0, max(graph.cardinalities, default=1) - 1))
        op = FactorGraphRV(graph, n_sweeps=whole_number(n_sweeps, "n_sweeps", 1), dtype=dtype)
        op = op.under(likelihood_of(likelihood, DeclaredField(op, [flat])))
        return super().dist([flat], op=op, **kwargs)


def _check_observed(observed: Any, graph: FactorGraph, name: str) -> None:
    """Refuse observed values that are not states, and shapes that do not fit the factor graph."""
    what = f"the {graph.n_variables} variables, one per entry of cardinalities"
    values = observed_values(observed, graph.n_variables, what, 0, name)
    wrong = ~((values >= 0) & (values < np.array(graph.cardinalities)) & (values == np.floor(values)))
    if wrong.any():
        cell = first_cell(wrong)
        value = values[cell]
        remedy = (
            "declare missing cells with numpy.ma.masked_invalid(x)"
            if np.isnan(value)
            else "recode the data, as with pymc_mrf.recode_states"
        )
        raise ValueError(
            f"{name}: observed{list(cell)} is {value}, but the states of variable {cell[-1]} are "
            f"0..{graph.cardinalities[cell[-1]] - 1}; {int(wrong.sum())} such cells; {remedy}"
        )


def flat_tables(tables: Sequence[Any], graph: FactorGraph):
    """All log tables one after the other, symbolic (..., t).

    Raises a ValueError if there are no factors, the number of tables or the shape of a table does not
    fit, or a number is NaN or +inf.
    """
    if graph.n_factors == 0:
        raise ValueError("scopes is empty; a field needs at least one factor")
    if isinstance(tables, pt.Variable):
        shapes = set(graph.table_shapes)
        if len(shapes) > 1:
            raise ValueError(
                "tables is one tensor, but the tables have different shapes: "
                f"{', '.join(map(str, sorted(shapes)))}; give a list with one table per factor"
            )
        return _flat(tables, (graph.n_factors, *shapes.pop()), "tables")
    flat = [_flat(*own) for own in graph.each_table(tables)]
    n_batch = max(part.type.ndim for part in flat) - 1
    if n_batch == 0:
        return pt.concatenate(flat)
    batch = pt.broadcast_shape(*(part[..., 0] for part in flat))
    return pt.concatenate([pt.broadcast_to(part, (*batch, part.shape[-1])) for part in flat], axis=-1)


def _flat(table: Any, shape: tuple[int, ...], label: str):
    if not isinstance(table, pt.Variable):
        array = numeric_array(table, label, "iuf")
        batch = array.shape[: max(array.ndim - len(shape), 0)]
        table = checked_table(array, (*batch, *shape), label)
    else:
        check_constants(table, label, allow_infinite=True)
    table = floatX(pt.as_tensor_variable(table))
    n_batch = table.type.ndim - len(shape)
    known = table.type.shape[n_batch:] if n_batch >= 0 else None
    if known is None or any(n not in (None, m) for n, m in zip(known, shape, strict=True)):
        raise ValueError(
            f"{label} must have shape {shape}, the numbers of states of its scope, not {table.type.shape}"
        )
    if None in known:
        table = pt.specify_shape(table, (*[None] * n_batch, *shape))
    return flat_core(table, len(shape))
