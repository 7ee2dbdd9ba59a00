"""What the samplers of edges act on: a spike-and-slab vector, its field, and the biases of that field."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.parents import FreeBias, field_node, free_bias
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.base import warn_user
from pymc_mrf.steps.edge_prior import has_readable_prior, have_common_form
from pymc_mrf.steps.observed_field import (
    ObservedField,
    children,
    observed_field,
    observed_fields,
    varies_by_row,
)


def is_spike_and_slab(rv) -> bool:
    """Whether a variable is a spike-and-slab vector of this package."""
    return rv.owner is not None and isinstance(rv.owner.op, SpikeAndSlabRV)


def biases_of_fields(rv, model: pm.Model) -> list[FreeBias]:
    """Find the free biases of each field of `rv`; none if edge samplers cannot move those of all."""
    found = []
    for child in children(rv, model):
        node = field_node(child)
        if node is None or child in model.free_RVs:
            continue
        bias = _bias_of_field(child, node, model)
        if bias is None:
            return []
        found.append(bias)
    return found if found and have_common_form(found) else []


def _bias_of_field(child, node, model: pm.Model) -> FreeBias | None:
    if len(node.op.dist_params(node)) < 2 or varies_by_row(node):
        return None
    bias = free_bias(node.op.dist_params(node)[1], model)
    if bias is None or children(bias.rv, model) != [child] or not has_readable_prior(bias.rv):
        return None
    shape = tuple(bias.rv.shape.eval())
    return bias if shape == node.op.family.node_shape(node.op.graph.n_nodes) else None


class EdgeTarget(NamedTuple):
    """Variables of an edge sampler, and the fields whose edges they are.

    Attributes
    ----------
    rv : TensorVariable
    biases : list of FreeBias
        Of each field, if they are to be moved; else empty.
    fields : list of ObservedField
    likelihood : str
    """

    rv: Any
    biases: list[FreeBias]
    fields: list[ObservedField]
    likelihood: str


def edge_target(
    rvs, model: pm.Model, step: str, likelihoods: tuple[str, ...], mixes: bool
) -> EdgeTarget:
    """Find the spike-and-slab variable and the biases among `rvs`, and check all that can be.

    `mixes`: whether the step takes several fields, and sums of which the variable is one term.

    Raises
    ------
    TypeError, ValueError
        If there is not one spike-and-slab variable, the edge parameter of observed fields with a suitable
        likelihood, or anything beside it that is not the biases of these fields.
    """
    found = [rv for rv in rvs if is_spike_and_slab(rv)]
    if len(found) != 1:
        names = ", ".join(rv.name for rv in rvs)
        raise TypeError(f"{step} samples one pymc_mrf.SpikeAndSlab, but got {names}")
    [rv] = found
    nodes = [field_node(child) for child in children(rv, model)]
    nodes = [node for node in nodes if node is not None]
    if not nodes:
        raise ValueError(
            f"{rv.name} is a SpikeAndSlab that reaches no Markov random field, and {step} samples edges "
            "of a field: pass it as the weight to pymc_mrf.BoltzmannMachine or as the coupling to "
            "pymc_mrf.Ising with `observed` data; for draws from the prior use pm.sample_prior_predictive"
        )
    _check_transform(rv, model, step)
    if rv.ndim != 1:
        raise ValueError(
            f"{step} samples one vector of parameters, but {rv.name} has {rv.ndim} dimensions: declare one "
            "SpikeAndSlab per field; they may share p and the slab's scale"
        )
    if model.rvs_to_values[rv].dtype != "float64":
        raise ValueError(
            f"{step} needs double precision, but {rv.name} is {rv.dtype}; "
            'set pytensor.config.floatX = "float64"'
        )
    if mixes:
        fields = observed_fields(rv, model, step, likelihoods, mixes)
    else:
        fields = [observed_field(rv, model, step, likelihoods)]
    field = fields[0]
    if field.family.is_log_odds or field.family.edge_axes:
        raise ValueError(
            f"{step} samples couplings of Ising and Potts, one per edge, and weights of BoltzmannMachine and "
            f"OrdinalMRF, but {rv.name} is the {field.family.edge_parameter} of {field.name}; declare "
            f"{field.name} as one of these, where zero is no edge, or give it a DirichletProcess"
        )
    used = np.concatenate([f.entries[(f.factors != 0.0).any(axis=0)] for f in fields])
    unused = np.setdiff1d(np.arange(rv.owner.op.n), used)
    if len(unused):
        raise ValueError(
            f"{step} samples parameters of edges, but entry {unused[0]} of {rv.name} is that of none: "
            f"declare {rv.name} without it"
        )
    others = [other for other in rvs if other is not rv]
    biases = biases_of_fields(rv, model)
    near = set(ancestors([f.node_parameter for f in fields], blockers=model.free_RVs))
    for other in others:
        if other not in near:
            raise ValueError(
                f"{step} moves {rv.name} and the {field.family.node_parameter} of {field.name}: leave "
                f"{other.name} out of `vars`"
            )
        if not any(other is bias.rv for bias in biases):
            raise ValueError(
                f"{step} moves the {field.family.node_parameter} of {field.name} if it is one free variable "
                "of all nodes, as it is or as the logit of a pm.Beta, that feeds nothing else, and whose "
                "entries all have the same prior or one of pm.Normal, pm.Cauchy, pm.StudentT and pm.Laplace, "
                f"and if so are those of other fields of {rv.name}; {other.name} is not: "
                f"leave it out of `vars`, as in {step}([{rv.name}])"
            )
    left = [bias.rv.name for bias in biases if bias.rv not in others]
    if others and left:
        raise ValueError(
            f"{step} moves the {field.family.node_parameter} of all fields of {rv.name} or of none: pass "
            f"{left[0]} as well, or leave out {others[0].name}"
        )
    return EdgeTarget(rv, biases if others else [], fields, field.likelihood)


def as_blocks(fields: list[ObservedField]) -> tuple[Any, PairwiseGraph, Family]:
    """Make the blocks of fields those of one: its data, graph and family, which engines take."""
    blocks = [(field, rows) for field in fields for rows in field.blocks]
    if len(blocks) == 1:
        return fields[0].x, fields[0].graph, fields[0].family
    sizes = [field.graph.n_nodes for field, _ in blocks]
    starts = np.cumsum([0, *sizes[:-1]])
    edges = np.concatenate([f.graph.edges + start for (f, _), start in zip(blocks, starts, strict=True)])
    family = fields[0].family
    if any(field.family.cards for field in fields):
        cards = [f.family.cards or (family.n_states,) * f.graph.n_nodes for f, _ in blocks]
        family = replace(family, cards=tuple(k for own in cards for k in own))
    return [f.x[rows] for f, rows in blocks], PairwiseGraph(range(sum(sizes)), edges.tolist()), family


def _check_transform(rv, model: pm.Model, step: str) -> None:
    if model.rvs_to_transforms[rv] is not None:
        raise ValueError(
            f"{step} moves values as they are, but {rv.name} has a transform: declare it without "
            "`transform`, or leave it out of `vars` if it is not the edges"
        )


def simulation_options(
    field: ObservedField,
    likelihood: str,
    n_particles: int | None,
    n_sweeps: int | None,
    least_particles: int,
) -> dict[str, int]:
    """Check the options of a simulation that were given; return them by name.

    Raises
    ------
    ValueError
        If one is out of range, or nothing is simulated under this likelihood.
    """
    options = {}
    for name, value, least in (("n_particles", n_particles, least_particles), ("n_sweeps", n_sweeps, 1)):
        if value is not None:
            options[name] = whole_number(value, name, least)
    if options and likelihood != "particles":
        raise ValueError(
            f"{next(iter(options))} is an option for fields that are simulated, but {field.name} has "
            f'likelihood="{likelihood}": leave it out, or declare the field with likelihood="particles"'
        )
    return options


def warn_of_constant_columns(field: ObservedField) -> None:
    """Warn if a variable never changes in the data."""
    constant = np.flatnonzero((field.x == field.x[0]).all(axis=0))
    if len(constant):
        labels = ", ".join(str(field.graph.nodes[i]) for i in constant[:5])
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        warn_user(
            f"{field.name} never changes at {labels}{more}: only the priors keep the "
            "parameters of such nodes and of their edges finite"
        )
