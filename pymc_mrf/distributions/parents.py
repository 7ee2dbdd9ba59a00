"""Fields in a model: which variable is one, and the free variables from which its parameters are computed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import quoted
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.field_rv import FieldRV, PartlyObservedFieldRV
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.distributions.symbolic_tables import strip_views


def values_behind(variables, model: pm.Model) -> list:
    """Find the free variables from whose *values* these are computed, in model order.

    PyMC's samplers move transformed values: with J ~ Uniform(0, b), moving b alone moves J as well.
    """
    reached = set(ancestors(model.replace_rvs_by_values(variables)))
    return [rv for rv in model.free_RVs if model.rvs_to_values[rv] in reached]


def free_parents(node, model: pm.Model) -> list:
    """Find the free variables whose values enter the parameters of a field, as `values_behind`."""
    return values_behind(node.op.dist_params(node), model)


def free_behind(variables, model: pm.Model) -> list:
    """Find the free variables from which these are computed, in model order; none behind these."""
    reached = set(ancestors(variables, blockers=model.free_RVs))
    return [rv for rv in model.free_RVs if rv in reached]


def tag_parents(node, model: pm.Model) -> None:
    """Tag the free variables from which the parameters of a field are computed.

    Step assignment sees one variable at a time; the tag lets it know what the variable feeds.

    Raises a ValueError if a Dirichlet process feeds a field whose parameters its samplers do not know.
    """
    parents = free_parents(node, model)
    grouped = any(isinstance(variable.owner.op, DirichletProcessRV) for variable in parents)
    for variable in parents:
        if grouped and node.op.likelihood.is_intractable:  # moved with the groups
            _tag_moved_with(variable, DirichletProcessRV)
        if isinstance(variable.owner.op, DirichletProcessRV) and not node.op.groups_edges:
            raise ValueError(
                f"{variable.name} is a DirichletProcess: its samplers group parameters of one number per "
                f"edge, and those of this {node.op.name} are others: pass it to AgreementMRF, Ising, "
                "BoltzmannMachine or OrdinalMRF, or to Potts as a vector with one coupling per edge"
            )
        variable.tag.mrf_likelihoods = (*likelihoods_fed(variable), node.op.likelihood)
    edge, *nodes = node.op.edge_and_node_parameters(node)
    if any(isinstance(rv.owner.op, SpikeAndSlabRV) for rv in free_behind([edge], model)):
        for parameter in nodes:
            bias = free_bias(parameter, model)
            for rv in free_terms(parameter, model) if bias is None else [bias.rv]:
                _tag_moved_with(rv, SpikeAndSlabRV)


class FreeBias(NamedTuple):
    """A free variable whose values, as samplers move them, are the node parameters of a field.

    `transform` is that of the variable, of which the node parameters are the image, as they are of a pm.Beta
    under the logit; None if they are the variable itself.
    """

    rv: Any
    transform: Any


def free_bias(parameter, model: pm.Model) -> FreeBias | None:
    """Find the free variable whose values are a node parameter; None if that is anything else."""
    bias = strip_views(parameter)
    if bias in model.free_RVs:
        return FreeBias(bias, None) if model.rvs_to_transforms.get(bias) is None else None
    for rv in free_behind([bias], model):
        transform = model.rvs_to_transforms.get(rv)
        if transform is not None and rv.type.ndim == bias.type.ndim:
            if is_same(bias, transform.forward(rv, *rv.owner.inputs)):
                return FreeBias(rv, transform)
    return None


def free_terms(parameter, model: pm.Model) -> list:
    """Find the free variables of which a node parameter may be a sum; none if it is anything else.

    All that it depends on are then free variables with its number of dimensions and without a transform.
    """
    total = strip_views(parameter)
    terms = free_behind([total], model)
    alike = all(
        rv.type.ndim == total.type.ndim and model.rvs_to_transforms.get(rv) is None for rv in terms
    )
    return terms if alike and len(terms) > 1 else []


def is_same(a, b) -> bool:
    """Whether two expressions are the same, up to the type of constants."""
    if a is b:
        return True
    if isinstance(a, Constant) and isinstance(b, Constant):
        return np.array_equal(a.data, b.data)
    if a.owner is None or b.owner is None or a.owner.op != b.owner.op:
        return False
    return a.index == b.index and all(map(is_same, a.owner.inputs, b.owner.inputs))


def _tag_moved_with(variable, kind: type) -> None:
    variable.tag.mrf_moved_with = moved_with(variable) | {kind}


def moved_with(variable) -> set[type]:
    """Return the Ops of the edge parameters with whose steps a free variable may be moved, from its tag."""
    return getattr(variable.tag, "mrf_moved_with", set())


def likelihoods_fed(variable) -> tuple[Likelihood, ...]:
    """Return the likelihoods of the fields that a free variable parametrises, from its tag."""
    return getattr(variable.tag, "mrf_likelihoods", ())


def feeds_intractable(variable) -> bool:
    """Whether a free variable parametrises a field whose partition function is not known, from its tag."""
    return any(likelihood.is_intractable for likelihood in likelihoods_fed(variable))


def field_node(rv):
    """Find the apply node of the field behind a model variable; None if there is none.

    A field with missing cells is an observed and a free variable; both lead to the node.
    """
    node = rv.owner
    while node is not None and not isinstance(node.op, FieldRV):
        if not isinstance(node.op, PartlyObservedFieldRV):
            return None
        node = node.inputs[0].owner
    return node


def field_named(model: pm.Model, name: Any):
    """Find the apply node of the field with a name; None if there is none."""
    return field_node(model[name]) if name in model.named_vars else None


def named_field(model: pm.Model, var_name: Any, serves: Callable[[Any], bool], what: str):
    """Find the apply node of the field with a name, or say which fields there are whose Op `serves`.

    `what` such fields are, for the message, such as "KineticMRF of the model".
    """
    fields = {str(rv.name): node for rv, node in fields_of(model) if serves(node.op)}
    if not isinstance(var_name, str | None):
        raise TypeError(f"var_name must be one name, a string, not {var_name!r}")
    if var_name not in fields:
        raise ValueError(
            f"var_name={var_name!r} is no {what}; it has {quoted(fields)}: name one of them"
        )
    return fields[var_name]


def variables_of(node, model: pm.Model) -> tuple[Any, Any]:
    """Find the observed and the free variable of a field by its apply node; None in the place of either."""
    parts = (
        (rv for rv in rvs if field_node(rv) is node) for rvs in (model.observed_RVs, model.free_RVs)
    )
    observed, free = (next(part, None) for part in parts)
    return observed, free


def is_missing_part(rv) -> bool:
    """Whether a variable is a part of a field, its missing cells if it is free, and no whole field."""
    node = field_node(rv)
    return node is not None and node is not rv.owner


def fields_of(model: pm.Model) -> list[tuple]:
    """Find the fields of a model: a variable of each, the observed one of two, and its apply node."""
    first: dict = {}  # both parts of a field with missing cells lead to its node
    for rv in [*model.observed_RVs, *model.free_RVs]:
        if (node := field_node(rv)) is not None:
            first.setdefault(node, rv)
    return [(rv, node) for node, rv in first.items()]


def rows_of_field(node) -> int:
    """Count the rows of the field of an apply node."""
    return int(np.prod(pm.draw(node.outputs[1].shape, mode="FAST_COMPILE")[:-1]))
