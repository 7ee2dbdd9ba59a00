"""Likelihoods that messages recommend: only those that the package then takes."""

from collections.abc import Callable, Sequence

import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.arguments import GivenData
from pymc_mrf.distributions.parents import FreeBias, field_node, free_bias, strip_views
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.junction_tree import JunctionTree, is_tractable

ALTERNATIVES = ("exact", "monte-carlo", "particles", "pseudo")
IN_PLACE_OF_PSEUDO = ("exact", "monte-carlo", "particles")
OF_OTHER_KINDS = "conditional", "gaussian"  # of fields in time and of measurements, which have no other


def listed(likelihoods: Sequence[str]) -> str:
    """Name likelihoods in a sentence."""
    *first, last = [f'"{likelihood}"' for likelihood in likelihoods]
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


def advice(left: Sequence[str], verb: str, family: Family | None, parameters: Sequence) -> str:
    """Say with which likelihoods to declare a field, and what is right where these are only nearly so.

    Parameters
    ----------
    left : sequence of str
        The likelihoods that serve.
    verb : str
        Before them, such as "declare with".
    family : Family or None
        None of fields whose edges have other parameters than one number or one block.
    parameters : sequence of symbolic variables
        Those of the field, edges first.
    """
    said = f"{verb} likelihood={listed(left)}"
    if list(left) != ["pseudo"]:
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


def refusal(name: str, likelihood: str, reason: str, remedy: str) -> ValueError:
    """Say why a field does not have a likelihood."""
    return ValueError(f'{name}: likelihood="{likelihood}" {reason}; {remedy}')


def check_fixed(data: GivenData, likelihood: str) -> None:
    """Refuse a likelihood that is made once where data may change."""
    if isinstance(data.observed, Variable):
        reason = "is made once, for data that do not change"
        raise refusal(data.name, likelihood, reason, "give an array in place of pm.Data")


def in_place_of_pseudo(left: Sequence[str]) -> str:
    """Say which likelihood serves where a pseudo-likelihood does not, "" if none of `IN_PLACE_OF_PSEUDO`."""
    simulated = [one for one in left if one != "exact"]
    if "exact" in left and simulated:
        return f'likelihood="exact" if the junction tree is small, else "{simulated[0]}"'
    return f'likelihood="{left[0]}"' if left else ""


def possible(
    tree: Callable[[], JunctionTree],
    parameters: Sequence,
    model: pm.Model | None = None,
    among: Sequence[str] = ALTERNATIVES,
    observed: bool = False,
) -> list[str]:
    """Likelihoods with which a field may be declared and the free variables behind it sampled.

    Parameters
    ----------
    tree : callable
        Makes the junction tree of the field.
    parameters : sequence of symbolic variables
        Those of the field, edges first.
    model : pymc.Model, optional
        The one on the context stack if there is one.
    among : sequence of str
    observed : bool
        Whether the field is known to be pairwise, one number to an edge, with data that do not change.
    """
    model = model or pm.Model.get_context(error_if_none=False)
    left = []
    for likelihood in among:
        if likelihood in OF_OTHER_KINDS or likelihood.startswith("mixed-"):
            continue
        if likelihood == "exact" and not is_tractable(tree()):
            continue
        if likelihood == "particles" and model is not None and not _serves_particles(parameters, model):
            continue
        if likelihood == "monte-carlo" and not (observed and _are_alike(parameters)):
            continue
        left.append(likelihood)
    return left


def advice_of(node, left: Sequence[str], verb: str) -> str:
    """`advice` for a field of a model, by its apply node."""
    family = node.op.family if node.op.may_be_sampled else None
    return advice(left, verb, family, node.op.dist_params(node))


def possible_of(node, model: pm.Model, among: Sequence[str] = ALTERNATIVES) -> list[str]:
    """`possible` likelihoods of a field of a model, by its apply node."""
    if node.op.alternatives is not None:
        return [one for one in among if one in node.op.alternatives]
    observed = [rv for rv in model.observed_RVs if field_node(rv) is node]
    is_fixed = all(not isinstance(model.rvs_to_values[rv], SharedVariable) for rv in observed)
    is_sampled = bool(observed) and is_fixed and node.op.may_be_sampled
    return possible(lambda: node.op.tree, node.op.dist_params(node), model, among, is_sampled)


def _are_alike(parameters: Sequence) -> bool:
    """Whether all rows have the same parameters."""
    n_rows = parameters[0].type.ndim - 1
    return all(all(p.type.broadcastable[:n_rows]) for p in parameters)


def _serves_particles(parameters: Sequence, model: pm.Model) -> bool:
    """Whether steps move the free variables behind a field whose partition function is not known."""
    free = _free(parameters, model)
    if any(not v.type.dtype.startswith("float") for v in free):
        return False
    return not any(
        isinstance(v.owner.op, SpikeAndSlabRV)
        and (v.owner.op.blocks or not _is_plain(v, parameters, model))
        for v in free
    )


def _is_plain(rv, parameters: Sequence, model: pm.Model) -> bool:
    """Whether edges are the parameter of one field, all rows alike, with biases that move with them."""
    edge, *nodes = parameters
    bare = strip_views(edge)
    if bare.owner is not None and bare.owner.op == pt.sigmoid:
        bare = strip_views(bare.owner.inputs[0])
    fed = {node for v in model.basic_RVs if (node := field_node(v)) and rv in _free(node.inputs, model)}
    others = [node for node in fed if node.op.dist_params(node)[0] is not edge]
    moved = all(not _free([b], model) or _feeds_field_only(free_bias(b, model), model) for b in nodes)
    return bare is rv and _are_alike(parameters) and moved and not others


def _feeds_field_only(bias: FreeBias | None, model: pm.Model) -> bool:
    """Whether there is a free bias that no other variable depends on than fields."""
    if bias is None:
        return False
    others = [v for v in [*model.basic_RVs, *model.potentials] if v.owner and field_node(v) is None]
    return not any(bias.rv in _free(v.owner.inputs, model) for v in others if v is not bias.rv)


def _free(variables: Sequence, model: pm.Model) -> list:
    """Free variables on which these depend."""
    return [v for v in ancestors(variables, blockers=model.free_RVs) if v in model.free_RVs]
