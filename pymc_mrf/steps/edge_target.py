"""What the samplers of edges act on: a spike-and-slab vector, its field, and the biases of that field."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.parents import field_node, strip_views
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.steps.base import warn_user
from pymc_mrf.steps.edge_prior import is_movable
from pymc_mrf.steps.observed_field import ObservedField, children, observed_field


def is_spike_and_slab(rv) -> bool:
    """Whether a variable is a spike-and-slab vector of this package."""
    return rv.owner is not None and isinstance(rv.owner.op, SpikeAndSlabRV)


def bias_variable(rv, model: pm.Model):
    """Find the free variable that is the bias of the field of `rv`; None if edge samplers cannot move it."""
    for child in children(rv, model):
        node = field_node(child)
        if node is None or child in model.free_RVs or len(node.op.dist_params(node)) < 2:
            continue
        bias = strip_views(node.op.dist_params(node)[1])
        if bias in model.free_RVs and is_movable(bias, node.op.graph.n_nodes):
            if children(bias, model) == [child]:
                return bias
    return None


class EdgeTarget(NamedTuple):
    """Variables of an edge sampler, and the field whose edges they are."""

    rv: Any
    bias_rv: Any
    field: ObservedField
    likelihood: str


def edge_target(rvs, model: pm.Model, step: str, likelihoods: tuple[str, ...]) -> EdgeTarget:
    """Find the spike-and-slab variable and the biases among `rvs`, and check all that can be.

    Raises
    ------
    TypeError, ValueError
        If there is not one spike-and-slab variable, the edge parameter of one observed field with two
        states and a suitable likelihood, or anything beside it that is not the biases of that field.
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
    field = observed_field(rv, model, step, likelihoods)
    if field.family.name not in ("ising", "boltzmann"):
        raise ValueError(
            f"{step} samples couplings of Ising and weights of BoltzmannMachine, but {rv.name} is "
            f"the {field.family.edge_parameter} of {field.name}; declare {field.name} as one of these, where "
            "zero is no edge, or give it a DirichletProcess"
        )
    others = [other for other in rvs if other is not rv]
    biases = bias_variable(rv, model)
    assert field.node_parameter is not None  # both families have one
    near = set(ancestors([field.node_parameter], blockers=model.free_RVs))
    for other in others:
        if other not in near:
            raise ValueError(
                f"{step} moves {rv.name} and the {field.family.node_parameter} of {field.name}: leave "
                f"{other.name} out of `vars`"
            )
        _check_transform(other, model, step)
        if other is not biases:
            raise ValueError(
                f"{step} moves the {field.family.node_parameter} of {field.name} if it is a vector of "
                "one free pm.Normal, pm.Cauchy, pm.StudentT or pm.Laplace variable that feeds nothing "
                f"else; {other.name} is not: leave it out of `vars`, as in {step}([{rv.name}])"
            )
    return EdgeTarget(rv, others[0] if others else None, field, nodes[0].op.likelihood)


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
