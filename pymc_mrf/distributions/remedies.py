"""Likelihoods that messages recommend: only those that the package then takes."""

from collections.abc import Callable, Sequence

import pymc as pm
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable

from pymc_mrf.distributions.arguments import GivenData
from pymc_mrf.distributions.likelihood import DeclaredField, Likelihood, possible
from pymc_mrf.distributions.parents import variables_of


def listed(likelihoods: Sequence[type[Likelihood]]) -> str:
    """Name likelihoods in a sentence, each once."""
    *first, last = dict.fromkeys(f'"{likelihood.name}"' for likelihood in likelihoods)
    return f"{', '.join(first)} or {last}" if first else last


AS_COLUMNS = (
    "make covariates of items columns of a mixed table, for which its edges are adjusted, as table = "
    "items.assign(age=age) and pymc_mrf.network_model(table, kind=pymc_mrf.column_kinds(table, "
    'dict.fromkeys(items, "{kind}") | dict(age="continuous")))'
)
"""What is right for covariates of biases and thresholds, at any size: given age, answers of a `MixedMRF` are
a field whose biases are linear in age, and whose other parameters are the same."""

IN_GROUPS = (
    "give each of a few groups of rows a field, with sums of the same vectors, as w + 0.5 * delta and "
    'w - 0.5 * delta, which "monte-carlo" serves'
)
"""What is right for covariates of weights."""


def advice(field: DeclaredField, left: Sequence[type[Likelihood]], verb: str) -> str:
    """Say with which likelihoods to declare a field, and what is right where these are only nearly so.

    `left`: those that serve. `verb`: before them, such as "declare with".
    """
    family, parameters = field.op.pairwise_family, field.parameters
    said = f"{verb} likelihood={listed(left)}"
    if not all(likelihood.is_pseudo for likelihood in left):
        return said
    said += ", which is nearly right"
    if family is None:
        return said
    cores = 1 + family.edge_axes, 1 + family.node_axes
    differ = [
        not all(p.type.broadcastable[: p.type.ndim - k]) for p, k in zip(parameters, cores, strict=False)
    ]
    if differ[:1] == [True]:
        return f"{IN_GROUPS}, or {said}"
    unordered = family.has_blocks or family.measures_agreement
    kind = "ordinal" if family.n_states == 2 or not unordered else "nominal"
    return f"{AS_COLUMNS.format(kind=kind)}, or {said}" if any(differ) else said


def refusal(name: str, likelihood: Likelihood, reason: str, remedy: str) -> ValueError:
    return ValueError(f'{name}: likelihood="{likelihood.name}" {reason}; {remedy}')


def check_fixed(data: GivenData, likelihood: Likelihood) -> None:
    """Refuse a likelihood that is made once where data may change."""
    if isinstance(data.observed, Variable):
        reason = "is made once, for data that do not change"
        raise refusal(data.name, likelihood, reason, "give an array in place of pm.Data")


def in_place_of_pseudo(left: Sequence[type[Likelihood]]) -> str:
    """Say which likelihood serves where a pseudo-likelihood does not, "" if none is left."""
    other = next((likelihood for likelihood in left if not likelihood.uses_tree), None)
    if other and other is not left[0]:
        return f"likelihood={listed(left[:1])} if the junction tree is small, else {listed([other])}"
    return f"likelihood={listed(left[:1])}" if left else ""


def is_no_pseudo(likelihood: type[Likelihood]) -> bool:
    """Whether it is what `in_place_of_pseudo` may name."""
    return not likelihood.is_pseudo


def possible_of(
    node, model: pm.Model, among: Callable[[type[Likelihood]], bool] = lambda likelihood: True
) -> list[type[Likelihood]]:
    """`possible` likelihoods of a field of a model, by its apply node."""
    observed, _ = variables_of(node, model)
    is_fixed = observed is not None and not isinstance(model.rvs_to_values[observed], SharedVariable)
    return possible(
        DeclaredField(node.op, node.op.dist_params(node), model=model, is_fixed=is_fixed), among
    )


def possible_of_all(
    fields: Sequence, among: Callable[[type[Likelihood]], bool] = lambda likelihood: True
) -> list[type[Likelihood]]:
    """`possible` likelihoods with which all of some fields of `ObservedField` may be declared."""
    first, *others = (possible_of(field.node, field.model, among) for field in fields)
    return [one for one in first if all(one in left for left in others)]


def advice_of(
    node, model: pm.Model, verb: str, among: Callable[[type[Likelihood]], bool] = lambda likelihood: True
) -> str:
    """`advice` for a field of a model, by its apply node, of its `possible_of`; "" if there are none."""
    left = possible_of(node, model, among)
    return advice(DeclaredField(node.op, node.op.dist_params(node)), left, verb) if left else ""
