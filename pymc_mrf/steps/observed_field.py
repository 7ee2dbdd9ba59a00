"""The observed field that a free variable parametrises, found in a model and checked."""

import numpy as np
import pymc as pm
from pymc.pytensorf import constant_fold
from pytensor.graph.traversal import ancestors

from pymc_mrf.distributions.mrf_rv import field_node, strip_views
from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.held_data import HeldData, observed_data


def children(rv, model: pm.Model) -> list:
    """Random variables and potentials of `model` that depend on `rv` directly."""
    found = []
    for child in [*model.basic_RVs, *model.potentials]:
        blockers = [other for other in model.basic_RVs if other is not child]
        if child is not rv and rv in set(ancestors([child], blockers=blockers)):
            found.append(child)
    return found


def constant_value(parameter) -> np.ndarray | None:
    """Value of a symbolic parameter that is a constant, else None."""
    [value] = constant_fold([parameter], raise_not_constant=False)
    return np.asarray(value) if isinstance(value, np.ndarray | float | int) else None


def _not_observed(field, model: pm.Model) -> str:
    """Tell why a free field has no complete data, and what to do about it."""
    name = field.name.removesuffix("_unobserved")
    if name != field.name and f"{name}_observed" in model.named_vars:
        return f"{name} is not completely observed: drop rows with missing cells"
    return (
        f"{field.name} has no data: pass them as `observed`; for draws from the prior use "
        "pm.sample_prior_predictive"
    )


class ObservedField:
    """Data, graph and family of the one field whose edge parameters are `rv`.

    Parameters
    ----------
    rv : TensorVariable
        Free variable of `model`.
    model : pymc.Model
    step : str
        Name of the step that asks, for messages.
    likelihoods : tuple of str
        Kinds of likelihood that the step can serve.

    Attributes
    ----------
    name : str
    graph : PairwiseGraph
    family : Family
    x : (n, d) int8 array
        Observed state indices.
    node_parameter : TensorVariable or None
    held : HeldData
        To be asked at the start of every chain whether `x` is still the data of the model.

    Raises
    ------
    ValueError
        If `rv` feeds anything else, is not itself the edge parameter, the field is not completely
        observed, its data have another number of columns than it has nodes, or its likelihood is of another
        kind.
    """

    def __init__(self, rv, model: pm.Model, step: str, likelihoods: tuple[str, ...]) -> None:
        found = children(rv, model)
        fields = [child for child in found if field_node(child) is not None]
        if any(child in model.free_RVs for child in fields) or not fields:
            what = f"{rv.name} feeds no Markov random field: pass it to pymc_mrf.AgreementMRF"
            if fields:
                what = _not_observed(next(c for c in fields if c in model.free_RVs), model)
            raise ValueError(f"{step} samples the edge parameters of an observed field, but {what}")
        if len(found) > 1:
            names = ", ".join(child.name for child in found)
            raise ValueError(
                f"{step} samples the edge parameters of one field and nothing else, but {rv.name} "
                f"feeds {names}; give each its own variable"
            )
        [child] = fields
        node = field_node(child)
        op = node.op
        parameters = op.dist_params(node)
        self.name: str = child.name
        self._step = step
        self.graph: PairwiseGraph = op.graph
        self.family: Family = op.family
        if strip_views(parameters[0]) is not rv:
            reached = set(ancestors(parameters[:1], blockers=model.free_RVs))
            others = [v.name for v in model.free_RVs if v in reached and v is not rv]
            remedy = (
                f"pass {rv.name} as it is, and put a scale or shift into its distribution's parameters"
            )
            if others:
                remedy = (
                    f"sums and differences with others ({', '.join(others)}) are not supported: declare one "
                    f"{rv.owner.op._print_name[0]} per field; they may share hyperparameters, such as p and "
                    "the scale of a slab"
                )
            raise ValueError(
                f"{step} needs {rv.name} itself as the {self.family.edge_parameter} of {self.name}, "
                f"not an expression of it; {remedy}"
            )
        if op.likelihood not in likelihoods:
            options = " or ".join(f'"{option}"' for option in likelihoods)
            raise ValueError(
                f'{step} does not sample under likelihood="{op.likelihood}" of {self.name}; '
                f"declare the field with likelihood={options}"
            )
        self.node_parameter = parameters[1] if len(parameters) == 2 else None
        rows = observed_data(child, model, self.graph.n_nodes).reshape(-1, self.graph.n_nodes)
        self.x = self.family.encode(rows, n_nodes=self.graph.n_nodes, name=self.name)
        # with the prior of `rv`, which is an ancestor of the field
        self.held = HeldData(self.name, step, [model.rvs_to_values[child], *parameters])

    def constant_node_parameter(self) -> np.ndarray:
        """Node parameters (d,), zeros if the family has none; an error that names them if not constant."""
        d = self.graph.n_nodes
        if self.node_parameter is None:
            return np.zeros(d)
        value = constant_value(self.node_parameter)
        if value is None or value.size not in (1, d):
            raise ValueError(
                f"{self._step} needs constant node parameters, one per node, but the "
                f"{self.family.node_parameter} of {self.name} is random, pm.Data or differs between rows; "
                "give numbers, or use a prior of the edge parameters that NUTS or Exchange can move"
            )
        return np.broadcast_to(value.reshape(-1), d)
