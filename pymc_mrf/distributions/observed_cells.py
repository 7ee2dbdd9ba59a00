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

from pymc_mrf.checks import PACKAGE


class PartlyObservedFieldRV(SymbolicRandomVariable):
    """A field with NaN in some of its cells, and these cells alone, one after the other."""

    _print_name = ("PartlyObserved", r"\operatorname{PartlyObserved}")


def register_partly(field, observed: np.ma.MaskedArray, name: str, dims: Any, initval: Any):
    """Register a field as an observed variable with its name and a free one, the missing cells.

    `field`: not registered. `initval`: of the missing cells. Returns TensorVariable: all cells, the name
    of which is that of the field: an expression of both variables, which the model does not know, so
    that draws do not hold the cells that never change.
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
    """Log density of all cells for the observed ones, nothing for the others."""
    table, cells = values
    joint = logp(dist, pt.set_subtensor(table[mask], cells))
    nothing = pt.zeros((0,), dtype=joint.dtype)
    of_observed = dist.owner.op.likelihood.log_density_of_observed(dist, table, mask, joint)
    return of_observed, nothing
