"""The random variable behind every field: its draws, its log probability, how to find it in a model.

It holds the graph, the family and the way its likelihood is evaluated as static properties; its inputs
are the parameters that users write.
"""

from functools import lru_cache

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import PartialObservedRV
from pymc.logprob.abstract import _logprob
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import tensor_copy
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import SpecifyShape

from pymc_mrf.distributions._numba import NumbaRegistered
from pymc_mrf.distributions.intractable import IntractableLogPartition
from pymc_mrf.distributions.log_partition import LogPartition
from pymc_mrf.distributions.pseudo_likelihood import LogPseudoLikelihood
from pymc_mrf.fields.families import Family
from pymc_mrf.graph.junction_tree import JunctionTree, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gibbs
from pymc_mrf.kernels import junction_tree as tree_kernels

DISPLAY_NAMES = {"agreement": "AgreementMRF", "ising": "Ising", "boltzmann": "BoltzmannMachine"}
DEFAULT_SWEEPS = 100


EXACT_DRAW_CELLS = 2**14
"""Largest junction tree, in table cells, whose passes (one per row, about 0.1 ms) are used for random
draws; beyond it Gibbs sweeps are much faster."""


@lru_cache(maxsize=64)
def field_tree(graph: PairwiseGraph, n_states: int) -> JunctionTree:
    """Junction tree of a field, built once per graph."""
    return junction_tree(graph, n_states)


class MarkovRandomFieldRV(NumbaRegistered, RandomVariable):
    """Random variable over the d nodes of `graph`.

    Random draws are exact and independent if ``likelihood="exact"`` and the junction tree has at most
    `EXACT_DRAW_CELLS` cells. Otherwise every row is a chain of its own, started from independent
    uniform states and moved by `n_sweeps` chromatic Gibbs sweeps: right as far as that many sweeps
    forget the start.
    """

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "graph", "family", "likelihood", "n_sweeps")

    def __init__(
        self,
        graph: PairwiseGraph | None = None,
        family: Family | None = None,
        likelihood: str = "particles",
        n_sweeps: int = DEFAULT_SWEEPS,
        name: str | None = None,
        signature: str | None = None,
        dtype: str = "int64",
        inplace: bool = False,
    ) -> None:
        if graph is None or family is None:
            raise TypeError("MarkovRandomFieldRV needs a graph and a family")
        self.graph = graph
        self.family = family
        self.likelihood = likelihood
        self.n_sweeps = n_sweeps
        name = DISPLAY_NAMES[family.name]
        self._print_name = (name, rf"\operatorname{{{name}}}")
        signature = "(r)->(d)" if family.node_parameter is None else "(r),(d)->(d)"
        super().__init__(name=name, signature=signature, dtype=dtype, inplace=inplace)

    @property
    def tree(self) -> JunctionTree:
        """Junction tree of the field."""
        return field_tree(self.graph, self.family.n_states)

    @property
    def draws_exactly(self) -> bool:
        """Whether random draws are exact."""
        return self.likelihood == "exact" and self.tree.n_cells <= EXACT_DRAW_CELLS

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (pt.as_tensor(self.graph.n_nodes, dtype="int64"),)

    def rng_fn(self, rng, *args):
        """Draw rows; `args` are the parameters and the size."""
        *parameters, size = args
        batch = np.broadcast_shapes(*(p.shape[:-1] for p in parameters))
        if size is not None:
            batch = tuple(size)
        x = np.empty((int(np.prod(batch)), self.graph.n_nodes), dtype=np.int8)
        if all(p.size == p.shape[-1] for p in parameters):
            self._draw(x, [p.reshape(-1) for p in parameters], rng)
        else:
            rows = [np.broadcast_to(p, (*batch, p.shape[-1])) for p in parameters]
            flat = [p.reshape(-1, p.shape[-1]) for p in rows]
            for c in range(len(x)):
                self._draw(x[c : c + 1], [p[c] for p in flat], rng)
        return np.array(self.family.states, dtype=np.int64)[x].reshape(*batch, self.graph.n_nodes)

    def _draw(self, x, parameters, rng):
        """Fill the rows of `x` with draws of one field."""
        eta = self.family.natural(parameters[0])
        b = parameters[1] if len(parameters) == 2 else np.zeros(self.graph.n_nodes)
        tables = self.family.edge_tables(eta), self.family.node_tables(b)
        if self.draws_exactly:
            arrays = self.tree.arrays
            work = tree_kernels.allocate(arrays)
            tree_kernels.pack_pairwise(*tables, work.tables)
            tree_kernels.collect(arrays, work.tables, work)
            tree_kernels.draw(arrays, work, x, rng)
        else:
            gibbs.uniform_states(x, self.family.n_states, rng)
            gibbs.gibbs_sweeps(x, *tables, self.graph.arrays, self.n_sweeps, rng)


def _expand(parameter, ndim):
    """Drop leading length-1 dimensions down to `ndim` dimensions."""
    return parameter.reshape(parameter.shape[parameter.ndim - ndim :], ndim=ndim)


def _shared_by_rows(parameters) -> bool:
    return all(all(p.type.broadcastable[:-1]) for p in parameters)


def _natural(op: MarkovRandomFieldRV, parameters):
    """Symbolic eta (..., r) and node parameters (..., d)."""
    first = parameters[0]
    if op.family.name == "agreement":
        return pt.log(first) - pt.log1p(-first), pt.zeros((op.graph.n_nodes,))
    return first, parameters[1]


def _energy(op: MarkovRandomFieldRV, indices, eta, b):
    """sum_e eta_e f + sum_i b_i g, per row; `indices` (..., d)."""
    u, v = op.graph.edges[:, 0], op.graph.edges[:, 1]
    if op.family.name == "agreement":
        f = pt.eq(indices[..., u], indices[..., v]).astype("float64")
        return (f * eta).sum(axis=-1)
    values = pt.constant(np.array(op.family.states, dtype=np.float64))[indices]
    return (values[..., u] * values[..., v] * eta).sum(axis=-1) + (values * b).sum(axis=-1)


def _tables(op: MarkovRandomFieldRV, eta, b):
    """Symbolic log tables (..., r, K, K) and (..., d, K)."""
    return (
        eta[..., None, None] * op.family.edge_statistic,
        b[..., None] * op.family.node_statistic,
    )


def _log_partition(op: MarkovRandomFieldRV, eta, b):
    """Exact A per row; one value if all rows share their parameters."""
    edge_tables, node_tables = _tables(op, eta, b)
    core = LogPartition(op.tree)
    if _shared_by_rows((eta, b)):
        return core(_expand(edge_tables, 3), _expand(node_tables, 2))[0]
    return Blockwise(core)(edge_tables, node_tables)[0]


def _pseudo(op: MarkovRandomFieldRV, indices, eta, b):
    tables = _tables(op, eta, b)
    core = LogPseudoLikelihood(op.graph)
    indices = indices.astype("int8")
    if _shared_by_rows((eta, b)):
        rows = core(
            indices.reshape((-1, op.graph.n_nodes)), _expand(tables[0], 3), _expand(tables[1], 2)
        )
        return rows.reshape(indices.shape[:-1], ndim=indices.ndim - 1)
    return Blockwise(core)(indices[..., None, :], *tables)[..., 0]


@_logprob.register(MarkovRandomFieldRV)
def _mrf_logprob(op, values, rng, size, *parameters, **kwargs):
    [value] = values
    # imputed cells arrive as floats, and Metropolis proposes values that are no states
    legal = pt.zeros_like(value, dtype="bool")
    indices = pt.zeros_like(value, dtype="int64")
    for k, state in enumerate(op.family.states):
        here = pt.eq(value, state)
        legal = legal | here
        indices = indices + k * here
    eta, b = _natural(op, parameters)
    if op.likelihood == "pseudo":
        logp = _pseudo(op, indices, eta, b)
    elif op.likelihood == "exact":
        logp = _energy(op, indices, eta, b) - _log_partition(op, eta, b)
    else:
        logp = _energy(op, indices, eta, b) - IntractableLogPartition()(*parameters)
    logp = pt.switch(pt.all(legal, axis=-1), logp, -np.inf)
    if op.family.name == "agreement":
        theta = parameters[0]
        return check_parameters(logp, pt.all((theta > 0) & (theta < 1)), msg="0 < theta < 1")
    finite = [pt.all(pt.isfinite(p)) for p in parameters]
    names = f"{op.family.edge_parameter} and {op.family.node_parameter}"
    return check_parameters(logp, *finite, msg=f"{names} must be finite")


def tag_parents(node, model: pm.Model) -> None:
    """Tell the free variables from which the field's parameters are computed about the field.

    Step assignment sees one variable at a time; the tag lets it know what the variable feeds.
    """
    free = set(model.free_RVs)
    for variable in ancestors(node.op.dist_params(node), blockers=model.free_RVs):
        if variable in free:
            fields = getattr(variable.tag, "mrf_likelihoods", ())
            variable.tag.mrf_likelihoods = (*fields, node.op.likelihood)


def field_node(rv):
    """Apply node of the field behind a model variable, None if there is none.

    A field with missing cells is split by PyMC into an observed and a free variable; both lead to
    the node.
    """
    node = rv.owner
    while node is not None and not isinstance(node.op, MarkovRandomFieldRV):
        if not isinstance(node.op, PartialObservedRV):
            return None
        node = node.inputs[0].owner
    return node


def strip_views(variable):
    """Return the variable behind added dimensions, shape assertions and named copies."""
    while variable.owner is not None and (
        isinstance(variable.owner.op, DimShuffle | SpecifyShape) or variable.owner.op == tensor_copy
    ):
        variable = variable.owner.inputs[0]
    return variable
