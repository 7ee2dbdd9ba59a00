"""The random variable behind Gaussian fields: its draws and its log density.

(x - mean) / scale ~ N(0, K^-1), K_uv = -weight of the edge between u and v, 0 where there is none, and
K_uu = diagonal. Where K is not positive definite the log density is -inf, or what leads back where chains may
start there.
"""

from functools import cached_property
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable, _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op
from pytensor.graph.traversal import ancestors
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions._numba import NumbaOp, ValueAndSlopes
from pymc_mrf.distributions.field_rv import FieldRV
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.distributions.symbolic_tables import core, log_of, shared_by_rows
from pymc_mrf.fields.column_kinds import ColumnKinds, kinds_of_measurements
from pymc_mrf.fields.gaussian import GAUSSIAN
from pymc_mrf.graph.elimination import cholesky_pattern
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gaussian as kernels
from pymc_mrf.kernels.estimates.sparse_cholesky import log_determinant_and_slopes

SPARSE_SHARE = 1.0 / 8.0
"""Edges, relative to the square of the nodes, below which quadratic forms are summed edge by edge."""

LOG_2PI = float(np.log(2.0 * np.pi))

GAP = 1e6
"""How much lower than within the cone the log density of a row is outside: no chain leaves the cone."""

TINY = 1e-12  # keeps slopes finite where all weights are zero
INNER = 0.5  # Frobenius norm of scaled weights that are drawn into the cone, which it ends beyond 1


class GaussianFieldRV(FieldRV):
    """Random variable over the d nodes of `graph`, of parameters weight (r,), diagonal (d,) and mean (d,).

    A draw is NaN where the precision is not positive definite.

    `scale` tuple of d floats: what deviations from the means are divided by. `leads_back`: whether the
    log density outside of the cone leads chains into it, as of `far_outside`.
    """

    name = "GaussianMRF"
    signature = "(r),(d),(d)->(d)"
    dtype = "float64"
    __props__ = (*RandomVariable.__props__, "graph", "scale", "leads_back", "likelihood")
    kind = "gaussian"
    family = GAUSSIAN
    labels = ("weight", "diagonal", "mean")
    groups_edges = False

    def __init__(
        self,
        graph: PairwiseGraph,
        scale: tuple[float, ...],
        leads_back: bool = False,
        likelihood: Likelihood | None = None,
        **props: Any,
    ) -> None:
        self.graph, self.scale, self.leads_back, self.likelihood = graph, scale, leads_back, likelihood
        super().__init__(**props)

    @cached_property
    def columns(self) -> ColumnKinds:
        """All of which are measurements."""
        return kinds_of_measurements(self.graph.nodes)

    @property
    def between_measurements(self) -> np.ndarray:
        return np.arange(self.graph.n_edges)

    def edge_and_node_parameters(self, node: Apply) -> list:
        """Weights and the log of the diagonal; deviations from the means are data."""
        weight, diagonal, _ = self.dist_params(node)
        return [weight, log_of(diagonal)]

    def implementation(self, jit):
        edges, d, scale = self.graph.edges, self.graph.n_nodes, np.array(self.scale)

        def draw(rng, weight, diagonal, mean):
            K, x = np.empty((d, d)), np.empty(d)
            kernels.fill_precision(edges, weight.astype(np.float64), diagonal.astype(np.float64), K)
            if np.isnan(kernels.factorise(K)):
                x[:] = np.nan
            else:
                kernels.draw_centred(K, x, rng)
            return mean + scale * x

        return draw

    def precision(self, weight, diagonal):
        """Precision K (..., d, d) of parameters (..., r) and (..., d); symbolic."""
        d, (u, v) = self.graph.n_nodes, self.graph.edges.T
        place = np.full((d, d), d + self.graph.n_edges)  # of zeros
        place[np.arange(d), np.arange(d)] = np.arange(d)
        place[u, v] = place[v, u] = d + np.arange(self.graph.n_edges)
        zero = pt.zeros_like(weight.sum(axis=-1, keepdims=True) + diagonal.sum(axis=-1, keepdims=True))
        return pt.concatenate([diagonal + zero, -weight + zero, zero], axis=-1)[..., place]

    def quadratic(self, y, weight, diagonal):
        """Quadratic form of rows `y` (..., d) of deviations in the precision; symbolic."""
        if self.graph.n_edges < SPARSE_SHARE * self.n_variables**2:
            u, v = self.graph.edges.T
            return (diagonal * y**2).sum(axis=-1) - 2.0 * (weight * y[..., u] * y[..., v]).sum(axis=-1)
        K = self.precision(weight, diagonal)
        if K.type.ndim == 2:
            return (y * (y @ K)).sum(axis=-1)
        return (y * (K @ y[..., None])[..., 0]).sum(axis=-1)


@_support_point.register(GaussianFieldRV)
def _means(op, rv, rng, size, weight, diagonal, mean):
    return pt.broadcast_to(mean, op._infer_shape(size, (weight, diagonal, mean)))


@_logprob.register(GaussianFieldRV)
def _log_density(op, values, rng, size, weight, diagonal, mean, **kwargs):
    [x] = values
    deviation, matrices = (x - mean) / np.array(op.scale), [weight, diagonal]
    if shared_by_rows(matrices, [1, 1]):
        matrices = [core(matrix, 1) for matrix in matrices]
        half = 0.5 * LogDeterminant(op.graph)(*matrices, return_list=True)[0]
    else:
        half = 0.5 * Blockwise(LogDeterminant(op.graph))(*matrices)[0]
    quadratic = op.quadratic(deviation, *matrices)
    units = float(np.log(op.scale).sum()) + 0.5 * op.n_variables * LOG_2PI
    logp = half - 0.5 * quadratic - units
    outside = -far_outside(matrices[0], matrices[1], op.graph.edges) if op.leads_back else -np.inf
    return pt.switch(pt.isnan(half), outside, logp)


def starts_anywhere(weight: Any) -> bool:
    """Whether chains may start where weights leave the cone: continuous variables, which PyMC jitters.

    Edges of a `SpikeAndSlab` start absent, and numbers do not move.
    """
    found = [v.owner.op for v in ancestors([weight]) if v.owner is not None]
    is_sparse = any(isinstance(op, SpikeAndSlabRV) for op in found)
    return not is_sparse and any(isinstance(op, RandomVariable | SymbolicRandomVariable) for op in found)


class OutsideOfCone(NumbaOp, Op):
    """Whether matrices (n, d, d) are not positive definite: ones and zeros (n,).

    Without gradient. That of a factor that does not exist is NaN, even times the 0 of a comparison.
    """

    __props__ = ()

    def outputs(self, *inputs):
        return [pt.dvector()]

    def infer_shape(self, node, shapes):
        return [(shapes[0][0],)]

    def implementation(self, jit):

        def outside_of_cone(K):
            out = np.empty(len(K))
            for i in range(len(K)):
                out[i] = 1.0 if np.isnan(kernels.factorise(K[i].copy())) else 0.0
            return out

        return outside_of_cone

    def connection_pattern(self, node):
        return [[False]]

    def pullback(self, inputs, outputs, cotangents):
        return [disconnected_type()]


def far_outside(weight, diagonal, ends: np.ndarray):
    """How much lower the log density of a row is outside of the cone than within, (...), less near to it.

    A posterior that is `GAP` and more lower outside, for each row, is that within the cone to any digit: a
    chain that enters it never leaves. But chains that start outside, as PyMC's jitter of every weight by up
    to 1 lets them do in all but the smallest fields, have a finite log density there, and a slope that leads
    to smaller weights. `ends` (r, 2) are the nodes of weights (..., r), and `diagonal` is (..., d).
    """
    return GAP + _square(weight, diagonal, ends)


def _square(weight, diagonal, ends: np.ndarray):
    """Square of the Frobenius norm of scaled weights: the largest eigenvalue, squared, at most."""
    scaled = weight**2 / (diagonal[..., ends[:, 0]] * diagonal[..., ends[:, 1]])
    return 2.0 * scaled.sum(axis=-1)


def drawn_in(weight, diagonal, ends: np.ndarray, K) -> tuple:
    """Weights (..., r) as they are within the cone, and drawn into it from outside; how far outside (...).

    For densities that have no finite slopes outside; K (..., d, d) is the precision, else as `far_outside`.
    """
    d, batch = K.shape[-1], K.shape[:-2]
    is_outside = pt.gt(OutsideOfCone()(K.reshape((-1, d, d))), 0.5)
    is_outside = is_outside.reshape(tuple(batch[i] for i in range(K.type.ndim - 2)))
    square = _square(weight, diagonal, ends)
    share = INNER / pt.sqrt(square + TINY)
    inner = pt.switch(is_outside[..., None], share[..., None] * weight, weight)
    return inner, pt.switch(is_outside, GAP + square, 0.0)


class LogDeterminant(ValueAndSlopes):
    """Log determinant of the precision, NaN outside the cone, and its gradient.

    By weight (r,) and diagonal (d,). Cost follows the fill-in of the factor: see `CholeskyPattern`.
    """

    __props__ = ("graph",)
    gufunc_signature = "(r),(d)->(),(r),(d)"
    what = "the log determinant"

    def __init__(self, graph: PairwiseGraph) -> None:
        self.graph = graph

    def outputs(self, *inputs):
        return [pt.dscalar(), pt.dvector(), pt.dvector()]

    def implementation(self, jit):
        """Factorise, and compute the entries of the inverse that the graph has."""
        indptr, rows, place = cholesky_pattern(self.graph)
        d = self.graph.n_nodes

        def log_determinant(weight, diagonal):
            entries = np.concatenate((diagonal.astype(np.float64), -weight.astype(np.float64)))
            slopes = np.empty_like(entries)
            value = log_determinant_and_slopes(indptr, rows, place, entries, slopes)
            if np.isnan(value):
                slopes[:] = 0.0  # a value that is chosen elsewhere has a slope of its own
            return np.asarray(value), -slopes[d:], slopes[:d].copy()

        return log_determinant


class LogDensityOfSeen(NumbaOp, Op):
    """Log density of the observed cells of each row: (n,), of rows (n, d), NaN where missing, and parameters.

    These are (m, r), (m, d) and (m, d) arrays, m being 1 or n each. No gradient: samplers draw the missing
    cells.
    """

    __props__ = ("graph", "scale")

    def __init__(self, graph: PairwiseGraph, scale: tuple[float, ...]) -> None:
        self.graph, self.scale = graph, scale

    def outputs(self, *inputs):
        return [pt.dvector()]

    def infer_shape(self, node, shapes):
        return [(shapes[0][0],)]

    def implementation(self, jit):
        """Integrate the missing cells out: what their conditional density is at its mode."""
        edges, scale = self.graph.edges, np.array(self.scale)
        log_units = np.log(scale) + 0.5 * LOG_2PI

        def log_density_of_seen(x, weight, diagonal, mean):
            n, d = x.shape
            K, L, of_missing, out = np.empty((d, d)), np.empty((d, d)), np.empty((d, d)), np.empty(n)
            for i in range(n):
                w, a = weight[min(i, len(weight) - 1)], diagonal[min(i, len(diagonal) - 1)]
                kernels.fill_precision(edges, w, a, K)
                L[:] = K
                log_det = kernels.factorise(L)
                row = (x[i] - mean[min(i, len(mean) - 1)]) / scale
                missing = np.flatnonzero(np.isnan(x[i]))
                m = len(missing)
                block = of_missing[:m, :m]
                kernels.fill_conditional_precision(K, missing, row, block)
                log_det -= kernels.factorise(block)
                kernels.solve_factorised(block, missing, row)
                units = log_units.sum() - log_units[missing].sum()
                out[i] = 0.5 * (log_det - row @ (K @ row)) - units
            return out

        return log_density_of_seen
