"""What all random variables behind fields say of themselves, and fields of which some cells are observed.

Their values have types, which ``pm.observe`` and ``pm.do`` ask whether they take given ones.

A field with missing cells is two variables, the table with its gaps and the missing cells, which are free.
Both are one in the model, as the log density of both together is that of all cells. Samplers need that.
Whoever asks for the log-likelihood gets the log of the sum over all states of the missing cells instead, row
by row.
"""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import partial
from types import ModuleType
from typing import Any, ClassVar, Self

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
from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.type import TensorType

from pymc_mrf.checks import PACKAGE, axes_of_values, check_labels
from pymc_mrf.distributions._numba import NumbaRV
from pymc_mrf.fields.family import Family

DRAW_SWEEPS = 100
"""Gibbs sweeps of a random draw, by default, where exact draws are too costly."""


class FieldRV(NumbaRV, RandomVariable):
    """Random variable over the d variables of a field; subclasses say what its parameters mean.

    The first parameter is that of the edges.
    """

    graph: Any
    family: Any
    likelihood: Any  # a Likelihood; None of a field that is being declared
    kind: ClassVar[str]
    """Which likelihoods of the registry it may have."""

    def under(self, likelihood: Any) -> Self:
        op = copy(self)
        op.likelihood = likelihood
        return op

    @property
    def n_variables(self) -> int:
        return self.graph.n_nodes

    @property
    def node_labels(self) -> Sequence:
        return self.graph.nodes

    @property
    @abstractmethod
    def groups_edges(self) -> bool:
        """Whether the samplers of Dirichlet processes know its edge parameters."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.family.edge_parameter, self.family.node_parameter

    @property
    def may_be_sampled(self) -> bool:
        return self.groups_edges

    @property
    def pairwise_family(self) -> Any:
        """Its family; None if it has none."""
        return self.family

    @property
    def between_measurements(self) -> np.ndarray:
        """Places of the parameters of edges both of whose nodes are measurements."""
        return np.zeros(0, dtype=np.int64)

    @property
    def table_rows(self) -> Any:
        """Rows of the data that have a probability of their own."""
        return slice(None)

    def arrange(self, x: np.ndarray) -> np.ndarray:
        """State indices as the engines of steps take them, from those (n, d) of the data."""
        return x

    def edge_and_node_parameters(self, node: Apply) -> list:
        """Parameters of the edges and, if there are any, of the nodes, as the engines of steps take them."""
        return list(self.dist_params(node))

    def make_node(self, rng, size, *dist_params):
        """Build the node; its output refuses missing values."""
        node = super().make_node(rng, size, *dist_params)
        rng, x = (output.type for output in node.outputs)
        return Apply(
            node.op, node.inputs, [rng(), complete_values(x.dtype, x.shape, self.node_labels)()]
        )

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (pt.as_tensor(self.n_variables, dtype="int64"),)


class DiscreteFieldRV(FieldRV):
    """Random variable over a field whose variables have states."""

    n_sweeps: int

    table_ndims: tuple[int, ...]
    """Dimensions of each of the `log_tables` without batch dimensions."""

    @abstractmethod
    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Log tables from the parameters, with the batch dimensions of these.

        `xp` is numpy, or `pytensor.tensor` for symbolic parameters.
        """

    def decode(self, x: np.ndarray) -> np.ndarray:
        """Values (..., d) of state indices, states of the family."""
        return np.array(self.family.states, dtype=self.dtype)[x]

    def encode(self, value):
        """State indices (..., d), 0 where there is none, and whether they exist; both symbolic."""
        legal = pt.zeros_like(value, dtype="bool")
        indices = pt.zeros_like(value, dtype="int64")
        for k, state in enumerate(self.family.states):
            here = pt.eq(value, state)
            legal = legal | here
            indices = indices + k * here
        return indices, legal

    @abstractmethod
    def check(self, logp, parameters):
        """`logp`, if the parameters are in their domain; symbolic."""


def node_table_filler(family: Family, d: int):
    """Make a function of the node parameters (d, q), or zeros (d, 1), that gives the tables (d, K)."""
    basis = family.node_basis if len(family.node_basis) else np.zeros((1, family.n_states))
    possible = family.possible(d)

    def fill(b):
        tables = np.zeros(possible.shape)
        for i in range(possible.shape[0]):
            for a in range(possible.shape[1]):
                if possible[i, a]:
                    for k in range(basis.shape[0]):
                        tables[i, a] += b[i, k] * basis[k, a]
                else:
                    tables[i, a] = -np.inf
        return tables

    return fill


def complete_values(dtype: str, shape: tuple, nodes: Sequence) -> TensorType:
    """Make a type that refuses missing values, and labels of other `nodes`, in words that name the remedy.

    It is PyTensor's own class: linear algebra takes the class itself only, and no subclass, for dense.
    """
    kind = TensorType(dtype, shape)
    kind.filter_variable = partial(_filter_complete, kind, nodes)
    return kind


def _filter_complete(
    kind: TensorType, nodes: Sequence, other: Any, allow_convert: bool = True
) -> Variable:
    """Make a variable of the type; `other` may be values, none of which may be masked or NaN."""
    if not isinstance(other, Variable):
        check_labels(other, nodes, "the values of the field", "node")
        values = np.ma.getdata(other)
        is_missing = np.ma.getmaskarray(other) | (values != values)
        if is_missing.any():
            first = ", ".join(map(str, np.argwhere(is_missing)[0]))
            raise ValueError(
                f"{is_missing.sum()} of the {is_missing.size} values given for a field are masked or "
                f"NaN, the first at [{first}]; pm.observe and pm.do take values for all cells: declare "
                "the field with observed=numpy.ma.masked_array(x, mask) instead"
            )
        if isinstance(other, np.ma.MaskedArray) or axes_of_values(other, ""):
            other = np.asarray(values)
    return TensorType.filter_variable(kind, other, allow_convert)


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
