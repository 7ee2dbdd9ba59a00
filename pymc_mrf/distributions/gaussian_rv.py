"""The random variable behind Gaussian fields: its draws and its log density.

x ~ N(mean, K^-1), K_uv = -weight of the edge between u and v, 0 where there is none, and K_uu = diagonal.
Where K is not positive definite the log density is -inf, or what leads back where chains may start there.
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable, _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply, Op
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.field_rv import FieldRV
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.distributions.symbolic_tables import core, log_of, shared_by_rows
from pymc_mrf.fields.gaussian import GAUSSIAN
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gaussian as kernels

LOG_2PI = float(np.log(2.0 * np.pi))

GAP = 1e6
"""How much lower than within the cone the log density of a row is outside: no chain leaves the cone."""

TINY = 1e-12  # keeps slopes finite where all weights are zero
INNER = 0.5  # Frobenius norm of scaled weights that are drawn into the cone, which it ends beyond 1


class GaussianFieldRV(FieldRV):
    """Random variable over the d nodes of `graph`, of parameters weight (r,), diagonal (d,) and mean (d,).

    A draw is NaN where the precision is not positive definite.

    Attributes
    ----------
    leads_back : bool
        Whether the log density outside of the cone leads chains into it, as of `drawn_in`.
    """

    name = "GaussianMRF"
    signature = "(r),(d),(d)->(d)"
    dtype = "float64"
    __props__ = (*RandomVariable.__props__, "graph", "leads_back")
    likelihood = "gaussian"
    family = GAUSSIAN
    labels = ("weight", "diagonal", "mean")
    groups_edges = False
    alternatives = ()

    def __init__(self, graph: PairwiseGraph, leads_back: bool = False, **props: Any) -> None:
        self.graph, self.leads_back = graph, leads_back
        super().__init__(**props)

    def edge_and_node_parameters(self, node: Apply) -> list:
        """Weights and the log of the diagonal; deviations from the means are data."""
        weight, diagonal, _ = self.dist_params(node)
        return [weight, log_of(diagonal)]

    def implementation(self, jit):
        """Draw one row."""
        edges, d = self.graph.edges, self.graph.n_nodes

        def draw(rng, weight, diagonal, mean):
            K, x = np.empty((d, d)), np.empty(d)
            kernels.fill_precision(edges, weight.astype(np.float64), diagonal.astype(np.float64), K)
            if np.isnan(kernels.factorise(K)):
                x[:] = np.nan
            else:
                kernels.draw_centred(K, x, rng)
            return x + mean

        return draw

    def precision(self, weight, diagonal):
        """Precision K (..., d, d) of parameters (..., r) and (..., d); symbolic."""
        d, (u, v) = self.graph.n_nodes, self.graph.edges.T
        place = np.full((d, d), d + self.graph.n_edges)  # of zeros
        place[np.arange(d), np.arange(d)] = np.arange(d)
        place[u, v] = place[v, u] = d + np.arange(self.graph.n_edges)
        zero = pt.zeros_like(weight.sum(axis=-1, keepdims=True) + diagonal.sum(axis=-1, keepdims=True))
        return pt.concatenate([diagonal + zero, -weight + zero, zero], axis=-1)[..., place]


@_support_point.register(GaussianFieldRV)
def _means(op, rv, rng, size, weight, diagonal, mean):
    """All variables at their means."""
    return pt.broadcast_to(mean, op._infer_shape(size, (weight, diagonal, mean)))


@_logprob.register(GaussianFieldRV)
def _log_density(op, values, rng, size, weight, diagonal, mean, **kwargs):
    [x] = values
    below = 0.0
    if op.leads_back:
        if shared_by_rows([weight, diagonal], [1, 1]):
            weight, diagonal = core(weight, 1), core(diagonal, 1)
        weight, below = drawn_in(weight, diagonal, op.graph.edges, op.precision(weight, diagonal))
    K, deviation = op.precision(weight, diagonal), x - mean
    if shared_by_rows([K], [2]):
        K = core(K, 2)
        quadratic = (deviation * (deviation @ K)).sum(axis=-1)
    else:
        quadratic = (deviation * (K @ deviation[..., None])[..., 0]).sum(axis=-1)
    factor = pt.linalg.cholesky(K, lower=True, on_error="nan")
    half = pt.log(pt.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
    logp = half - 0.5 * (quadratic + op.n_variables * LOG_2PI)
    return pt.switch(pt.isnan(half), -np.inf, logp - below)


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
        """One number for each matrix."""
        return [pt.dvector()]

    def infer_shape(self, node, shapes):
        """One number for each matrix."""
        return [(shapes[0][0],)]

    def implementation(self, jit):
        """Factorise each."""

        def outside_of_cone(K):
            out = np.empty(len(K))
            for i in range(len(K)):
                out[i] = 1.0 if np.isnan(kernels.factorise(K[i].copy())) else 0.0
            return out

        return outside_of_cone

    def connection_pattern(self, node):
        """Connect nothing."""
        return [[False]]

    def pullback(self, inputs, outputs, cotangents):
        """Have no gradient."""
        return [disconnected_type()]


def drawn_in(weight, diagonal, ends: np.ndarray, K) -> tuple:
    """Weights (..., r) as they are within the cone, and drawn into it from outside; how far outside (...).

    A posterior that is `GAP` and more lower outside, for each row, is that within the cone to any digit: a
    chain that enters it never leaves. But chains that start outside, as PyMC's jitter of every weight by up
    to 1 lets them do in all but the smallest fields, have a finite log density there, and a slope that leads
    to smaller weights. `ends` (r, 2) are nodes, and K (..., d, d) is the precision.
    """
    if K.type.ndim == 2:
        is_outside = pt.gt(OutsideOfCone()(K[None])[0], 0.5)
    else:
        found = OutsideOfCone()(K.reshape((-1, *K.shape[-2:])))
        is_outside = pt.gt(found, 0.5).reshape(K.shape[:-2], ndim=K.type.ndim - 2)
    scaled = weight**2 / (diagonal[..., ends[:, 0]] * diagonal[..., ends[:, 1]])
    square = 2.0 * scaled.sum(axis=-1)  # largest eigenvalue of the scaled weights, squared, at most
    share = INNER / pt.sqrt(square + TINY)
    inner = pt.switch(is_outside[..., None], share[..., None] * weight, weight)
    return inner, pt.switch(is_outside, GAP + square, 0.0)


class LogDensityOfSeen(NumbaOp, Op):
    """Log density of the observed cells of each row: (n,), of rows (n, d), NaN where missing, and parameters.

    These are (m, r), (m, d) and (m, d) arrays, m being 1 or n each. No gradient: samplers draw the missing
    cells.
    """

    __props__ = ("graph",)

    def __init__(self, graph: PairwiseGraph) -> None:
        self.graph = graph

    def outputs(self, *inputs):
        """One number for each row."""
        return [pt.dvector()]

    def infer_shape(self, node, shapes):
        """One number for each row."""
        return [(shapes[0][0],)]

    def implementation(self, jit):
        """Integrate the missing cells out: what their conditional density is at its mode."""
        edges = self.graph.edges

        def log_density_of_seen(x, weight, diagonal, mean):
            n, d = x.shape
            K, L, of_missing, out = np.empty((d, d)), np.empty((d, d)), np.empty((d, d)), np.empty(n)
            for i in range(n):
                w, a = weight[min(i, len(weight) - 1)], diagonal[min(i, len(diagonal) - 1)]
                kernels.fill_precision(edges, w, a, K)
                L[:] = K
                log_det = kernels.factorise(L)
                row = x[i] - mean[min(i, len(mean) - 1)]
                missing = np.flatnonzero(np.isnan(x[i]))
                m = len(missing)
                block = of_missing[:m, :m]
                kernels.fill_conditional(K, missing, row, block)
                log_det -= kernels.factorise(block)
                kernels.solve_factorised(block, missing, row)
                out[i] = 0.5 * (log_det - row @ (K @ row) - (d - m) * LOG_2PI)
            return out

        return log_density_of_seen
