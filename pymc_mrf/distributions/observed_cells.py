"""A field of which some cells are observed: the table with its gaps, and the missing cells, which are free.

Both are one variable, as the log density of both together is that of all cells. Samplers need that. Whoever
asks for the log-likelihood gets the log of the sum over all states of the missing cells instead, row by row.
"""

import warnings
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import (
    SymbolicRandomVariable,
    _support_point,
    support_point,
)
from pymc.exceptions import ImputationWarning
from pymc.logprob.abstract import _logprob
from pymc.logprob.basic import logp
from pymc.pytensorf import constant_fold
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.checks import PACKAGE
from pymc_mrf.distributions.elementwise_terms import ElementwiseTerm, probability_or_nan
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV, LogDensityOfSeen
from pymc_mrf.distributions.kinetic_rv import KineticRV
from pymc_mrf.distributions.log_partition import ClampedLogPartition
from pymc_mrf.distributions.mixed_rv import MixedFieldRV
from pymc_mrf.distributions.mrf_rv import UndirectedFieldRV, log_partition
from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows

COMPLETE = "drop the rows with missing cells"


class PartlyObservedFieldRV(SymbolicRandomVariable):
    """A field with NaN in some of its cells, and these cells alone, one after the other."""

    _print_name = ("PartlyObserved", r"\operatorname{PartlyObserved}")


def register_partly(field, observed: np.ma.MaskedArray, name: str, dims: Any, initval: Any):
    """Register a field as an observed variable with its name and a free one, the missing cells.

    Parameters
    ----------
    field : TensorVariable
        Not registered.
    observed : masked array
    name : str
    dims : tuple of str, optional
    initval : optional
        Of the missing cells.

    Returns
    -------
    TensorVariable
        All cells, the name of which is that of the field: an expression of both variables, which
        the model does not know, so that draws do not hold the cells that never change.
    """
    model, mask = pm.modelcontext(None), np.ma.getmaskarray(observed)
    whole, missing = field.type(), pt.constant(mask).type()
    split = PartlyObservedFieldRV(
        [whole, missing], _parts(whole, missing), ndim_supp=field.owner.op.ndim_supp
    )
    table, cells = split(field, pt.constant(mask))
    data = np.where(mask, np.nan, observed.data).astype(table.dtype)
    if dims is not None and mask.all(axis=-1).any():  # of which there is no log-likelihood
        dims = (*(f"{name}_dim_{k}" for k in range(mask.ndim - 1)), dims[-1])
    model.register_rv(table, name, observed=pt.constant(data), dims=dims)
    model.register_rv(cells, f"{name}_unobserved", initval=initval)
    told = (
        f"Data in {name} contains missing values, {mask.sum()} of {mask.size} cells, which are drawn along "
        f"with everything else; they are {name}_unobserved"
    )
    warnings.warn(told, ImputationWarning, skip_file_prefixes=(PACKAGE,))
    filled = pt.set_subtensor(table[mask], cells).astype(field.dtype)
    filled.name = table.name
    return filled


def _parts(whole, missing) -> list:
    """Return the values `whole` of a field with NaN where cells are missing, and the missing cells alone.

    States are as short as they can be, measurements as they are.
    """
    of_table, of_cells = ("float32", "int8") if whole.dtype.startswith("int") else (whole.dtype,) * 2
    gaps = pt.switch(missing, np.array(np.nan, dtype=of_table), whole.astype(of_table))
    return [gaps, whole[missing].astype(of_cells)]


def mark_observed(rv, model: pm.Model) -> None:
    """Tag the data of `rv`, a field or its observed part, with its name."""
    if rv in model.observed_RVs:
        model.rvs_to_values[rv].tag.mrf_observed = rv.name


@_support_point.register(PartlyObservedFieldRV)
def _start(op, rv, field, missing):
    return _parts(support_point(field), missing)[rv.owner.outputs.index(rv)]


@_logprob.register(PartlyObservedFieldRV)
def partly_observed_logprob(op, values, dist, mask, **kwargs):
    """Log density of all cells for the observed ones, nothing for the others.

    On their own rows of a field in time have the log probability given the rows before, if all are complete.
    """
    table, cells = values
    joint = logp(dist, pt.set_subtensor(table[mask], cells))
    nothing = pt.zeros((0,), dtype=joint.dtype)
    field = dist.owner.op
    if isinstance(field, GaussianFieldRV):
        return ElementwiseTerm()(joint, _of_measured(field, table, mask, dist)), nothing
    if isinstance(field, KineticRV) and field.likelihood == "conditional":
        missing = constant_fold([mask])[0].any(axis=1)
        complete = np.flatnonzero(~missing[field.rows.observations].any(axis=1))
        return ElementwiseTerm()(joint, joint[complete]), nothing
    if isinstance(field, MixedFieldRV):
        return probability_or_nan(joint, field.likelihood, table, COMPLETE), nothing
    if field.likelihood != "exact":
        return probability_or_nan(joint, field.likelihood, table), nothing
    x, missing = constant_fold([table, mask])
    first = field.decode(np.zeros(field.n_variables, dtype=np.int64))
    [z] = constant_fold([field.encode(pt.constant(np.where(missing, first, x).astype(np.int64)))[0]])
    z = np.where(missing, -1, z).astype(np.int8)
    return ElementwiseTerm()(
        joint, _of_observed(field, z, joint, field.dist_params(dist.owner))
    ), nothing


def _of_measured(op: GaussianFieldRV, table, mask, dist):
    """Log density of the observed cells of every row that has one, in one axis for all rows."""
    d, [missing] = op.n_variables, constant_fold([mask])
    parameters = [
        v.reshape((1, -1))
        if shared_by_rows([v], [1])
        else pt.broadcast_to(v, (*table.shape[:-1], v.shape[-1])).reshape((-1, v.shape[-1]))
        for v in op.dist_params(dist.owner)
    ]
    inputs = [v.astype("float64") for v in (table.reshape((-1, d)), *parameters)]
    of_rows = LogDensityOfSeen(op.graph, op.scale)(*inputs)
    is_seen = ~missing.reshape(-1, d).all(axis=1)
    return of_rows.reshape(missing.shape[:-1]) if is_seen.all() else of_rows[np.flatnonzero(is_seen)]


def _of_observed(op: UndirectedFieldRV, z: np.ndarray, joint, parameters):
    """Log probability of the observed cells of every row that has one.

    `z` (..., d) are state indices, -1 where missing, and `joint` (...) is the log density of all cells, the
    same thing in complete rows. Rows that are alike and have the same parameters are evaluated once.
    """
    batch, rows = z.shape[:-1], z.reshape(-1, op.n_variables)
    is_seen = (rows >= 0).any(axis=1)
    holes = np.flatnonzero(is_seen & (rows < 0).any(axis=1))
    tables = op.log_tables(parameters, pt)
    clamped = ClampedLogPartition(op.tree)
    if shared_by_rows(tables, op.table_ndims):
        different, row = np.unique(rows[holes], axis=0, return_inverse=True)
        flat = pt.concatenate([core(t, k).ravel() for t, k in zip(tables, op.table_ndims, strict=True)])
        of_rows = clamped(different, flat)[row]
    else:
        parts = [
            pt.broadcast_to(t, (*batch, *t.shape[t.ndim - k :])).reshape((len(rows), -1))[holes]
            for t, k in zip(tables, op.table_ndims, strict=True)
        ]
        of_rows = Blockwise(clamped)(rows[holes][:, None, :], pt.concatenate(parts, axis=1))[:, 0]
    total = pt.broadcast_to(log_partition(op, tables), batch).ravel()
    logp = op.check(of_rows - total[holes], parameters)
    of_rows = pt.set_subtensor(joint.ravel()[holes], logp)
    return of_rows.reshape(batch) if is_seen.all() else of_rows[np.flatnonzero(is_seen)]
