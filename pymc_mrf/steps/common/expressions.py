"""What symbolic parameters depend on, and how a vector enters them."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pytensor.gradient import DisconnectedInputError, pushforward
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.parents import field_node, strip_views
from pymc_mrf.fields.family import Family
from pymc_mrf.likelihood.edges.shared_edges import Share
from pymc_mrf.steps.common.point_inputs import PointFunction, start_of

# values up to which parameters have to be linear: beyond, probabilities are 0 or 1 to 5 digits
FAR = 12.0
INDEXING = (Subtensor, AdvancedSubtensor)


def children(rv, model: pm.Model) -> list:
    """Random variables and potentials of `model` that depend on `rv` directly."""
    found = []
    for child in [*model.basic_RVs, *model.potentials]:
        blockers = [other for other in model.basic_RVs if other is not child]
        if child is not rv and rv in set(ancestors([child], blockers=blockers)):
            found.append(child)
    return found


def fields_fed(rv, model: pm.Model) -> list:
    """Apply nodes of the fields that depend on `rv` directly."""
    nodes = (field_node(child) for child in children(rv, model))
    return [node for node in nodes if node is not None]


def constant_value(parameter) -> np.ndarray | None:
    """Value of a symbolic parameter that is a constant, else None."""
    [value] = constant_fold([parameter], raise_not_constant=False)
    return np.asarray(value) if isinstance(value, np.ndarray | float | int) else None


def entries_of(parameter, rv) -> np.ndarray | None:
    """Which entry of the vector `rv` each entry of `parameter` is; None if it is anything else."""
    is_process = isinstance(rv.owner.op, DirichletProcessRV)
    n_entries = rv.owner.op.n if is_process else parameter.type.shape[-1]
    node = strip_views(parameter)
    if node is not rv and not is_process:
        return None
    while node is not rv:
        if node.owner is None or not isinstance(node.owner.op, INDEXING):
            return None
        node = strip_views(node.owner.inputs[0])
    positions = pt.constant(np.arange(n_entries, dtype=rv.dtype))
    values = graph_replace([parameter], {rv: positions}, strict=False)
    [value] = constant_fold(values, raise_not_constant=False)
    return np.asarray(value).reshape(-1).astype(np.int64) if isinstance(value, np.ndarray) else None


def natural_parameter(parameter, family: Family):
    """Eta as an expression, from that of the parameters of edges; what is inside of a logistic function."""
    inner = strip_views(parameter)
    if not family.is_log_odds or inner.owner is None or inner.owner.op != pt.sigmoid:
        return family.natural(parameter, pt)
    return inner.owner.inputs[0]


def constant_share(parameter, rv, model: pm.Model) -> Share | None:
    """Find the entries and the constant factors, (..., r), with which a vector enters a parameter.

    None if it enters in any other way. Derivatives tell, which are the same at any point; a parameter whose
    derivatives are so although it is not linear, as one that is rounded, is to be found out by its values.
    """
    n = rv.owner.op.n
    try:
        directions = [pt.constant(v) for v in (np.ones(n), np.arange(n, dtype=float))]
        derivatives = [pushforward(parameter, rv, direction) for direction in directions]
    except DisconnectedInputError:
        return None
    near = ancestors(derivatives, blockers=model.free_RVs)
    if any(v in model.free_RVs and v.dtype.startswith(("int", "bool")) for v in near):
        return None
    read, rng = PointFunction(derivatives, model), np.random.default_rng(0)
    found = [[np.array(v, dtype=np.float64) for v in read(random_point(model, rng))] for _ in range(2)]
    (factors, by_entry), second = found
    if not (np.allclose(factors, second[0]) and np.allclose(by_entry, second[1])):
        return None
    entries = np.zeros(factors.shape, dtype=np.int64)
    entries[factors != 0.0] = np.rint(by_entry[factors != 0.0] / factors[factors != 0.0])
    entries = entries.reshape(-1, entries.shape[-1]).max(axis=0)  # 0 where the factor is
    if not np.allclose(factors * entries, by_entry) or not factors.any():
        return None
    return Share(entries, factors)


def varies_by_row(node) -> bool:
    """Whether the parameters of a field may differ between its rows, as far as their types tell."""
    edge, *others = node.op.edge_and_node_parameters(node)
    family, n_nodes = node.op.family, node.op.graph.n_nodes
    batches = [edge.type.shape[: edge.type.ndim - 1 - family.edge_axes]]
    if others:
        shapes = family.node_shapes(n_nodes)
        batches += [
            p.type.shape[: p.type.ndim - len(shape)] for p, shape in zip(others, shapes, strict=True)
        ]
    return any(length != 1 for lengths in batches for length in lengths)


def random_point(model: pm.Model, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of all free variables, as samplers move them, of which no two are equal."""
    start = start_of(model)
    return {
        name: value + rng.uniform(0.1, 0.2, value.shape) if value.dtype.kind == "f" else value
        for name, value in start.items()
    }
