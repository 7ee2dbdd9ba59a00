"""Fields of unknown partition function, found in a model, and their parents."""

import pymc as pm

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.parents import field_node, free_parents
from pymc_mrf.distributions.remedies import advice_of, possible_of
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.steps.auxiliary.intractable_fields import IntractableField, intractable_field

POINT_MASSES: dict[type, str] = {DirichletProcessRV: "DirichletProcess", SpikeAndSlabRV: "SpikeAndSlab"}
"""Priors whose values coincide with positive probability: a random walk would never find them."""
REMEDIES: dict[type, str] = {
    DirichletProcessRV: "give that field no other random parameters, so that the step for {0} takes it",
    SpikeAndSlabRV: "pass {0} and the other random parameters of that field to one pymc_mrf.EdgeGibbs, which "
    "a frozen model does not find by itself",
}


def intractable_fields(model: pm.Model) -> dict:
    """Find the fields with ``likelihood="particles"``: their variables, each with its apply node."""
    nodes = {rv: field_node(rv) for rv in model.basic_RVs}
    return {rv: n for rv, n in nodes.items() if n is not None and n.op.likelihood.is_intractable}


def parents_of_intractable_fields(model: pm.Model) -> dict:
    """Find the free variables behind the parameters of these fields, with the node of one field each."""
    return {p: node for node in intractable_fields(model).values() for p in free_parents(node, model)}


def check_parents(rv, node, owned: list, model: pm.Model, step: str) -> None:
    """Refuse a field that a step which owns the variables `owned` cannot serve.

    Raises
    ------
    ValueError
        If the field has a free parent that is a Dirichlet process or another of POINT_MASSES, is
        discrete, or belongs to another step.
    """
    for parent in free_parents(node, model):
        kind = type(parent.owner.op)
        if kind in POINT_MASSES:
            left = possible_of(node, model, lambda likelihood: not likelihood.is_intractable)
            declared = advice_of(node, left, "declare the field with")
            raise ValueError(
                f"{step} does not sample {parent.name}, a {POINT_MASSES[kind]} that parametrises {rv.name}: "
                f"{REMEDIES[kind].format(parent.name)}; or {declared}"
            )
        if parent.dtype.startswith(("int", "uint", "bool")):
            declared = advice_of(node, possible_of(node, model), "declare the field with")
            raise ValueError(
                f"{step} samples continuous variables, but {rv.name} depends on the discrete "
                f"{parent.name}; {declared}, or "
                f"make {parent.name} a constant"
            )
        if parent not in owned:
            raise ValueError(
                f"{step} must own all free variables that reach {rv.name}, but {parent.name} is left "
                f"to another step: pass {parent.name} to the same {step}"
            )


def served_fields(
    rvs: list, model: pm.Model, step: str, draws: str, n_sweeps: int
) -> list[IntractableField]:
    """Find the intractable fields whose parameters are computed from the free variables `rvs`.

    `draws` and `n_sweeps` are those of the auxiliary samplers.

    Raises
    ------
    ValueError
        If a variable reaches no such field, or a field cannot be served: see `check_parents`.
    """
    fields: list[IntractableField] = []
    reached: set = set()
    seen = set()
    for rv, node in intractable_fields(model).items():
        parents = set(free_parents(node, model))
        if parents.isdisjoint(rvs) or node in seen:  # missing cells make two variables of a field
            continue
        seen.add(node)
        check_parents(rv, node, rvs, model, step)
        reached |= parents
        fields.append(intractable_field(rv, node, model, step, draws, n_sweeps))
    for rv in rvs:
        if rv not in reached:
            raise ValueError(
                f"{step} samples the parameters of fields with "
                f'likelihood="particles", but {rv.name} reaches none: leave it to another step'
            )
    return fields
