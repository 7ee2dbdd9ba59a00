"""The observed fields that a free variable parametrises, found in a model and checked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm

from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.parents import field_node, free_behind, is_missing_part
from pymc_mrf.distributions.remedies import advice_of
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.likelihood.edges.shared_edges import Share
from pymc_mrf.steps.common.expressions import (
    FAR,
    HeldData,
    PointFunction,
    children,
    constant_share,
    constant_value,
    entries_of,
    function_of_point,
    natural_parameter,
    random_point,
    start_of,
    varies_by_row,
)
from pymc_mrf.steps.common.model_field import FieldCells, field_of


def _not_observed(field, model: pm.Model) -> str:
    """Tell why a free field has no complete data, and what to do about it."""
    name = field.name.removesuffix("_unobserved")
    if is_missing_part(field):
        rows = FieldCells(field_node(field), model).free.any(axis=1)
        return (
            f"{name} has missing cells, which this step does not take: leave the choice of the step to "
            f"pm.sample(), or do without the {int(rows.sum())} of {len(rows)} rows that have them"
        )
    return (
        f"{field.name} has no data: pass them as `observed`; for draws from the prior use "
        "pm.sample_prior_predictive"
    )


def _fields_fed(rv, model: pm.Model, step: str, fills: bool = False) -> list:
    """Observed fields that `rv` feeds, and nothing else; an error if that is not so.

    Where a step `fills` missing cells, the observed part of a field stands for both.
    """
    found = children(rv, model)
    if fills:
        found = [v for v in found if v not in model.free_RVs or not is_missing_part(v)]
    fields = [child for child in found if field_node(child) is not None]
    if any(child in model.free_RVs for child in fields) or not fields:
        what = f"{rv.name} feeds no Markov random field: pass it to pymc_mrf.AgreementMRF"
        if fields:
            what = _not_observed(next(c for c in fields if c in model.free_RVs), model)
        raise ValueError(f"{step} samples the edge parameters of an observed field, but {what}")
    if len(found) > len(fields):
        names = ", ".join(child.name for child in found if child not in fields)
        raise ValueError(
            f"{step} samples the edge parameters of fields and nothing else, but {rv.name} also feeds "
            f"{names}; give that a variable of its own"
        )
    return fields


def observed_fields(
    rv,
    model: pm.Model,
    step: str,
    likelihoods: tuple[type[Likelihood], ...],
    mixes: bool = False,
    fills: bool = False,
    takes_several: bool = True,
) -> list["ObservedField"]:
    """Find all observed fields whose edge parameters are `rv`, or entries of it.

    Parameters and errors as of `ObservedField`; `fills` and `takes_several`: whether missing cells, and
    several fields, are allowed.

    Raises
    ------
    ValueError
        If `rv` feeds anything else or fields of different families or likelihoods, or one of the fields is
        not completely observed although the step needs that, or its likelihood is of another kind.
    """
    fields = _fields_fed(rv, model, step, fills)
    if len(fields) > 1 and not takes_several:
        names = ", ".join(field.name for field in fields)
        raise ValueError(
            f"{step} samples the edge parameters of one field and nothing else, but {rv.name} "
            f"feeds {names}; give each its own variable"
        )
    read = [ObservedField(rv, child, model, step, likelihoods, mixes) for child in fields]
    for field in read[1:]:
        if field.family != read[0].family or not field.likelihood.is_like(read[0].likelihood):
            raise ValueError(
                f"{step} samples fields of one family under one likelihood, but {rv.name} feeds "
                f'{read[0].name} ({read[0].family.name}, "{read[0].likelihood.name}") and {field.name} '
                f'({field.family.name}, "{field.likelihood.name}"): declare them alike, with the same states '
                "and scores"
            )
        if field.likelihood.weight != read[0].likelihood.weight:
            raise ValueError(
                f"{step} samples fields whose conditionals have one weight, but {rv.name} feeds "
                f"{read[0].name} (weight {read[0].likelihood.weight:g}) and {field.name} (weight "
                f"{field.likelihood.weight:g}): declare them with the same likelihood"
            )
        in_time = [isinstance(one.graph, LaggedGraph) for one in (read[0], field)]
        if in_time[0] != in_time[1]:
            of, other = (read[0], field) if in_time[0] else (field, read[0])
            raise ValueError(
                f"{of.name} is a field in time and {other.name} is none, so that they cannot share a vector: "
                "give each one of its own; they may share hyperparameters"
            )
        links = [getattr(one.graph, "n_links", 0) > 0 for one in (read[0], field)]
        if links[0] != links[1]:  # engines differ
            raise ValueError(
                f"fields in time that share a vector all need links, or none, but {read[0].name} and "
                f"{field.name} differ: give each a vector of its own"
            )
    return read


def check_vector(rv, model: pm.Model, step: str, remedy: str) -> None:
    """Refuse parameters that are no vector in double precision, of which ties and zeros are told.

    Raises
    ------
    ValueError
        If `rv` is none; `remedy` says what to declare in place of an array.
    """
    dtype = model.rvs_to_values[rv].dtype
    if rv.ndim != 1:
        raise ValueError(
            f"{step} samples one vector of parameters, but {rv.name} has {rv.ndim} dimensions: declare one "
            f"{remedy}"
        )
    if dtype != "float64":
        raise ValueError(
            f"{step} tells equal values and zeros exactly and needs double precision, but {rv.name} is "
            f'{dtype}; set pytensor.config.floatX = "float64"'
        )


class ObservedField:
    """Data, graph and family of a field whose edge parameters are `rv`.

    Parameters
    ----------
    rv : TensorVariable
        Free variable of `model`.
    child : TensorVariable
        The field, an observed variable of `model`.
    model : pymc.Model
    step : str
        Name of the step that asks, for messages.
    likelihoods : tuple of Likelihood classes
        Kinds of likelihood that the step can serve.
    mixes : bool
        Whether the step can serve parameters of which entries of `rv`, times constants, are only a part.

    Attributes
    ----------
    name : str
    node : Apply
    model : pymc.Model
    likelihood : Likelihood
    graph : PairwiseGraph or LaggedGraph
    family : Family
    x : (n, d) int8 array, or float64 array
        Observed state indices, plausible ones in missing cells; of a field in time rows with a past, the
        earlier ones beside each; of Gaussian and mixed fields deviations from the means.
    cells : FieldCells
        Those of the data, which tell what changes from draw to draw.
    blocks : list of int64 arrays
        Rows of `x` with the same parameters, whatever these are.
    first : list of int
        The first of the rows of each block, in the data of the model.
    entries : (edges,) int64 array
        Entry of `rv` that is the parameter of each edge, or a part of it. Parameters of an edge that has a
        block of them count as edges.
    factors : (blocks, edges) array
        By which that entry is multiplied.
    is_plain : bool
        Whether the parameters are the entries themselves.
    node_parameters : list of TensorVariable
        Of the nodes, as engines take them.
    node_parameter : TensorVariable or None
        The only one of them.
    held : HeldData
        To be asked at the start of every chain whether `x` is still the data of the model.

    Raises
    ------
    ValueError
        If its edge parameters are not entries of `rv`, its data have another number of columns than it has
        nodes, or its likelihood is of another kind.
    """

    def __init__(
        self,
        rv,
        child,
        model: pm.Model,
        step: str,
        likelihoods: tuple[type[Likelihood], ...],
        mixes: bool = False,
    ) -> None:
        node = field_node(child)
        op = node.op
        parameters = op.edge_and_node_parameters(node)
        self.node, self.name = node, str(child.name)
        self.likelihood: Likelihood = op.likelihood
        self._step = step
        self.model = model
        self.graph: Any = op.graph
        self.family: Family = op.family
        edge_parameter = natural_parameter(parameters[0], self.family) if mixes else parameters[0]
        entries = entries_of(edge_parameter, rv)
        self.is_plain = entries is not None
        self._parameters, self._vector = [edge_parameter, *parameters[1:]], model.rvs_to_values[rv].name
        share = None if entries is None else Share(entries, np.ones(len(entries)))
        if share is None and mixes:
            share = constant_share(edge_parameter, rv, model)
        if share is None:
            others = [v.name for v in free_behind(parameters[:1], model) if v is not rv]
            remedy = (
                f"pass {rv.name} as it is, or entries of it, and put a scale or shift into its "
                "distribution's parameters"
            )
            itself, it = f"{rv.name} itself", "it"
            if mixes and self.family.is_log_odds:
                itself, it = f"pm.math.sigmoid({rv.name})", "its argument"
            if mixes:
                remedy = (
                    f"{it} may be a sum of which one term is {rv.name}, or entries of it, times constant "
                    "factors, such as w + 0.5 * delta; put any other scale into its slab"
                )
            elif others:
                remedy = (
                    f"sums and differences with others ({', '.join(others)}) are not supported: declare one "
                    f"{rv.owner.op._print_name[0]} per field; they may share hyperparameters, such as p and "
                    "the scale of a slab"
                )
            raise ValueError(
                f"{step} needs {itself} as the {self.family.edge_parameter} of {self.name}, not another "
                f"expression of {rv.name}; {remedy}"
            )
        self.cells = field_of(node, model)
        self.x = self.cells.first()
        rows = np.arange(len(self.cells.free))[op.table_rows]
        self.blocks = [np.arange(len(rows))]
        if mixes and varies_by_row(node):
            self.blocks = self._rows_alike(len(self.cells.free), rows)
        self.first = [int(rows[block[0]]) for block in self.blocks]
        self.entries = share.entries
        self.factors = self.of_blocks(share.factors.reshape(-1, share.factors.shape[-1]))
        used = self.entries[(self.factors != 0.0).any(axis=0)]
        if len(np.unique(used)) < len(used):
            twice = np.flatnonzero(np.bincount(used) > 1)[0]
            raise ValueError(
                f"{step} needs a parameter of its own for every edge of {self.name}, but entry {twice} of "
                f"{rv.name} is that of several: groups find by themselves which edges are alike"
            )
        if not isinstance(op.likelihood, likelihoods):
            remedy = self.advice(lambda kind: issubclass(kind, likelihoods), "declare the field with")
            remedy = remedy or f"leave {rv.name} to pm.sample()"
            raise ValueError(
                f'{step} does not sample under likelihood="{op.likelihood.name}" of {self.name}; {remedy}'
            )
        self.node_parameters = parameters[1:]
        self.node_parameter = parameters[1] if len(parameters) == 2 else None
        if rv in free_behind(op.dist_params(node)[1:], model):
            raise ValueError(
                f"{step} moves {rv.name} with the node parameters held fixed, but the "
                f"{self.family.node_parameter} of {self.name} depends on {rv.name}: let it depend on "
                "something else, or give the edge parameters a prior that NUTS can move"
            )
        # with the prior of `rv`, which is an ancestor of the field
        self.held = HeldData(self.name, step, [model.rvs_to_values[child], *op.dist_params(node)])

    def advice(self, among: Callable[[type[Likelihood]], bool], verb: str) -> str:
        """Say with which of some likelihoods the field may be declared; "" if with none."""
        return advice_of(self.node, self.model, verb, among)

    def present(self, point: dict) -> np.ndarray:
        """Return the data `x` at `point`, which holds those of missing cells."""
        return self.cells.present(point) if self.cells.changes else self.x

    def _rows_alike(self, n: int, rows: np.ndarray) -> list[np.ndarray]:
        """Which of some `rows` of n have the same parameters at any point, found at two random ones."""
        read = PointFunction(list(self._parameters), self.model)
        rng, found = np.random.default_rng(0), []
        cores = 1 + self.family.edge_axes, 1 + self.family.node_axes
        for _ in range(2):
            for value, core in zip(read(random_point(self.model, rng)), cores, strict=False):
                if np.ndim(value) > core + 1:
                    raise ValueError(
                        f"{self._step} samples fields whose observations have one axis, but parameters of "
                        f"{self.name} have the shape {np.shape(value)}: give data (rows, nodes)"
                    )
                shape = np.shape(value)[-core:]
                found.append(np.broadcast_to(value, (n, *shape)).reshape(n, -1))
        _, kind = np.unique(np.concatenate(found, axis=1)[rows], axis=0, return_inverse=True)
        return [np.flatnonzero(kind == k) for k in range(kind.max() + 1)]

    def of_blocks(self, rows: np.ndarray) -> np.ndarray:
        """One of the rows of each block, (blocks, ...), of (1 or n, ...) that the blocks share."""
        return rows[self.first] if len(rows) > 1 else np.repeat(rows, len(self.blocks), axis=0)

    def offset_reader(self, compile_kwargs: dict | None = None) -> Callable[[dict], np.ndarray]:
        """Make a function of a point that gives the edge parameters (blocks, r) without the vector.

        Raises
        ------
        ValueError
            If they are not linear in the vector.
        """
        if self.is_plain:
            nothing = np.zeros(self.factors.shape)
            return lambda point: nothing
        name = self._vector
        read = function_of_point(self._parameters[0], self.model, compile_kwargs)

        def at(point: dict, vector: np.ndarray) -> np.ndarray:
            value = np.array(read({**point, name: vector}), dtype=np.float64)
            return self.of_blocks(value.reshape(-1, value.shape[-1]))

        def offset(point: dict) -> np.ndarray:
            return at(point, np.zeros_like(point[name]))

        point = start_of(self.model)
        shape = point[name].shape
        near = np.random.default_rng(0).standard_normal(shape)
        for x in (near, np.full(shape, FAR), np.full(shape, -FAR)):
            change = at(point, x) - offset(point)
            if not np.allclose(change, self.factors * x[self.entries], equal_nan=True):
                raise ValueError(
                    f"{self._step} needs a sum of which one term is {name}, or entries of it, times constant "
                    f"factors as the {self.family.edge_parameter} of {self.name}, but it is not linear in "
                    f"{name}"
                )
        return offset

    @property
    def lacks_node_terms(self) -> bool:
        """Whether node parameters are zeros that do not change, or there are none."""
        value = constant_value(self.node_parameter) if self.node_parameter is not None else np.zeros(0)
        return value is not None and not value.any()

    def constant_node_parameter(self) -> np.ndarray:
        """Node parameters (d,) or (d, q), zeros if the family has none; an error if they are not constant."""
        shape = self.family.node_shape(self.graph.n_nodes)
        if self.node_parameter is None:
            return np.zeros(shape)
        value = constant_value(self.node_parameter)
        if value is None or value.size not in (1, np.prod(shape)):
            raise ValueError(
                f"{self._step} needs constant node parameters, one per node, but the "
                f"{self.family.node_parameter} of {self.name} is random, pm.Data or differs between rows; "
                "give numbers, or use a prior of the edge parameters that NUTS or Exchange can move"
            )
        return np.broadcast_to(value, np.broadcast_shapes(value.shape, shape)).reshape(shape)

    def node_reader(self, compile_kwargs: dict | None = None) -> Callable[[dict], np.ndarray]:
        """Make a function of a point of the sampler that gives the node parameters (d,) or (d, q)."""
        if self.node_parameter is None or constant_value(self.node_parameter) is not None:
            constant = self.constant_node_parameter()
            return lambda point: constant
        shape = self.family.node_shape(self.graph.n_nodes)
        read = PointFunction(self.node_parameter, self.model, compile_kwargs)

        def node_parameter(point: dict) -> np.ndarray:
            value = np.asarray(read(point), dtype=np.float64)
            if value.size != np.prod(shape):
                raise ValueError(
                    f"{self._step} needs one {self.family.node_parameter} per node of {self.name}, but it "
                    f"has the shape {value.shape}: it must not differ between rows"
                )
            return value.reshape(shape)

        return node_parameter
