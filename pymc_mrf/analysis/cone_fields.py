"""Fields of measurements, whose precision has to be positive definite: it cuts the prior of their weights."""

from typing import Any


def fields_of_measurements(model: Any) -> dict[Any, str]:
    """Apply nodes of the Gaussian and mixed fields of a model that are observed, and their names."""
    from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
    from pymc_mrf.distributions.mixed_rv import MixedFieldRV
    from pymc_mrf.distributions.parents import fields_of

    return {
        node: str(rv.name).removesuffix("_observed")
        for rv, node in fields_of(model)
        if rv in model.observed_RVs and isinstance(node.op, GaussianFieldRV | MixedFieldRV)
    }


def of_cone(node: Any) -> list:
    """Weights and diagonal of a field, all of which its precision is made."""
    parameters = node.op.dist_params(node)
    return [parameters[node.op.labels.index(label)] for label in ("weight", "diagonal")]


def precision_of(node: Any) -> Any:
    """Precision (..., c, c) of the measurements of a field, symbolic."""
    return node.op.precision(*of_cone(node))


def cone_nodes(rv: Any, model: Any) -> list:
    """Apply nodes of the fields that `rv` feeds and whose precision is that of two or more measurements."""
    from pymc_mrf.steps.common.expressions import fields_fed

    return list(dict.fromkeys(n for n in fields_fed(rv, model) if len(n.op.between_measurements)))


def sparse_weights(model: Any) -> list:
    """Every `SpikeAndSlab` of the model that is the weight of a field of measurements, or a term of it."""
    from pymc_mrf.steps.edges.edge_step import is_spike_and_slab

    return [rv for rv in model.free_RVs if is_spike_and_slab(rv) and cone_nodes(rv, model)]
