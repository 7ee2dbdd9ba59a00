"""The random variable behind mixed fields: its draws and its log density, or those of its full conditionals.

With z the features of the answers and the deviations of the measurements, the log density is a quadratic form
of z, the biases, and the log normaliser, a sum over the listed states of the answers
(`pymc_mrf.kernels.mixed`). Where the precision of the measurements is not positive definite it is -inf, or
leads back where chains may start there (`gaussian_rv.drawn_in`).
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import disconnected_type, grad_not_implemented
from pytensor.graph import Apply, Op
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.distributions.field_rv import FieldRV
from pymc_mrf.distributions.gaussian_rv import LOG_2PI, drawn_in
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.symbolic_tables import core, log_of
from pymc_mrf.fields.column_kinds import ColumnKinds
from pymc_mrf.fields.mixed import MixedFamily, layout_of, mixed
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import mixed as kernels

LISTED = 2**12
"""States of the answers up to which all are listed for random draws."""


class MixedFieldRV(FieldRV):
    """Random variable over the nodes of `graph`, answers and measurements as `columns` say.

    Of parameters weight (P,), bias (a, K), diagonal (c,) and mean (c,). A draw is NaN where the precision is
    not positive definite.

    `scale` tuple of c floats: what measurements are divided by. `leads_back`: as of `GaussianFieldRV`.
    """

    name = "MixedMRF"
    signature = "(p),(a,k),(c),(c)->(d)"
    dtype = "float64"
    __props__ = (
        *RandomVariable.__props__, "graph", "columns", "scale", "likelihood", "n_sweeps", "leads_back",
    )  # fmt: skip
    kind = "mixed"
    labels = ("weight", "bias", "diagonal", "mean")
    groups_edges = False

    def __init__(
        self,
        graph: PairwiseGraph,
        columns: ColumnKinds,
        scale: tuple[float, ...] = (),
        likelihood: Likelihood | None = None,
        n_sweeps: int = 100,
        leads_back: bool = False,
        **props: Any,
    ) -> None:
        self.graph, self.columns, self.scale, self.leads_back = graph, columns, scale, leads_back
        self.likelihood, self.n_sweeps = likelihood, n_sweeps
        super().__init__(**props)

    @cached_property
    def family(self) -> MixedFamily:
        return mixed(self.columns)

    @cached_property
    def layout(self) -> kernels.Layout:
        return layout_of(self.graph, self.columns)

    @property
    def between_measurements(self) -> np.ndarray:
        return np.flatnonzero(self.layout.kind == kernels.OF_MEASURED)

    @property
    def n_states(self) -> int:
        return int(np.prod(self.layout.cards.astype(object)))

    def edge_and_node_parameters(self, node: Apply) -> list:
        """Weights, biases, and the log of the diagonal; deviations from the means are data."""
        weight, bias, diagonal, _ = self.dist_params(node)
        return [weight, bias, log_of(diagonal)] if self.layout.n_measured else [weight, bias]

    def implementation(self, jit):
        layout, n_sweeps, scale = self.layout, self.n_sweeps, np.array(self.scale)
        answers, measured = self.columns.answers, self.columns.measurements
        n_listed, d, a = (
            (self.n_states if self.n_states <= LISTED else 0),
            self.n_variables,
            len(layout.cards),
        )
        listed = kernels.all_states(layout) if n_listed else kernels.list_states(
            layout, np.zeros((a, 0), dtype=np.int8), np.zeros(0)
        )  # fmt: skip

        def draw(rng, weight, bias, diagonal, mean):
            out, x, y = np.empty(d), np.empty(a), np.empty(len(measured))
            kernels.draw_mixed(
                layout, listed, weight.astype(np.float64), bias.astype(np.float64).ravel(),
                diagonal.astype(np.float64), n_sweeps, x, y, rng,
            )  # fmt: skip
            for i in range(a):
                out[answers[i]] = x[i]
            for j in range(len(measured)):
                out[measured[j]] = mean[j] + scale[j] * y[j]
            return out

        return draw

    def form(self, weight, diagonal):
        """Matrix (Q + c, Q + c) of the quadratic form of z, half of which is in the log density; symbolic."""
        Q, c, (p, q) = len(self.layout.owner), self.layout.n_measured, self.layout.pairs.T
        P = len(p)
        place = np.full((Q + c, Q + c), P + c)  # of zeros
        place[p, q] = place[q, p] = np.arange(P)
        place[Q + np.arange(c), Q + np.arange(c)] = P + np.arange(c)
        return pt.concatenate([weight, -diagonal, pt.zeros(1)])[place]

    def precision(self, weight, diagonal):
        """Precision (c, c) of the measurements; symbolic."""
        Q = len(self.layout.owner)
        return -self.form(core(weight, 1), core(diagonal, 1))[Q:, Q:]

    def read(self, x, mean):
        """States (..., a) of values, whether all are states, and z (..., Q + c); symbolic."""
        columns, layout = self.columns, self.layout
        values = x[..., columns.answers]
        rounded = pt.round(pt.switch(pt.isnan(values), 0.0, values))
        legal = (pt.eq(values, rounded) & (rounded >= 0) & (rounded < layout.cards)).all(axis=-1)
        states = pt.clip(rounded, 0, layout.cards - 1).astype("int64")
        Q = len(layout.owner)
        z = pt.constant(layout.features)[np.arange(Q), states[..., layout.owner]]
        deviation = (x[..., columns.measurements] - mean) / np.array(self.scale)
        zeros = pt.zeros_like(deviation.sum(axis=-1, keepdims=True))  # there may be no measurements
        return states, legal, pt.concatenate([z + zeros, deviation], axis=-1)


@_support_point.register(MixedFieldRV)
def _first_states_and_means(op, rv, rng, size, weight, bias, diagonal, mean):
    """All answers in their first state, and measurements at their means."""
    place = np.empty(op.n_variables, dtype=np.int64)
    place[op.columns.measurements] = np.arange(op.layout.n_measured)
    place[op.columns.answers] = op.layout.n_measured
    zero = pt.zeros_like(mean.sum(axis=-1, keepdims=True))
    row = pt.concatenate([mean, zero], axis=-1)[..., place]
    return pt.broadcast_to(row, op._infer_shape(size, (weight, bias, diagonal, mean)))


class OfListed(NumbaOp, Op):
    """Base of the Ops of weights (P,), biases (a, K), diagonal (c,), and listed states of the answers.

    The states are ``states`` (a, N) int8, ``z`` (Q, N) and ``base`` (N,).
    """

    __props__ = ("graph", "columns")

    def __init__(self, graph: PairwiseGraph, columns: ColumnKinds) -> None:
        self.graph, self.columns = graph, columns

    def _allocator(self, jit):
        """Make a function that allocates the probabilities of N states, and that numba can compile."""
        c = layout_of(self.graph, self.columns).n_measured

        def allocate(n):
            return kernels.Weighted(
                np.empty(n), np.empty((c, n)), np.empty((c, n)), np.empty((c, c)), np.empty((c, c))
            )

        return jit(allocate)

    def connection_pattern(self, node):
        return [[i < 3] * len(node.outputs) for i in range(6)]


class MixedLogPartition(OfListed):
    """Log normaliser of the answers; NaN where the precision is not positive definite."""

    def outputs(self, *inputs):
        return [pt.dscalar()]

    def implementation(self, jit):
        layout, allocate = layout_of(self.graph, self.columns), self._allocator(jit)

        def log_partition(weight, bias, diagonal, states, z, base):
            log_sum, log_det = kernels.fill_state_weights(
                layout,
                kernels.Listed(states, z, base),
                weight,
                bias.copy().ravel(),
                diagonal,
                allocate(len(base)),
            )
            return np.asarray(log_sum - 0.5 * log_det)

        return log_partition

    def pullback(self, inputs, outputs, cotangents):
        [value] = cotangents
        products, shares, squares = MixedMoments(self.graph, self.columns)(*inputs)
        rest = [disconnected_type() for _ in inputs[3:]]
        return [value * products, value * shares, -0.5 * value * squares, *rest]


class MixedMoments(OfListed):
    """Means of the products that the weights multiply, probabilities of states, and mean squared deviations.

    They are (P,), (a, K) and (c,), the derivatives of `MixedLogPartition`, the last times -1/2. An Op of its
    own, as who moves the means of the measurements alone does not need them.
    """

    def outputs(self, *inputs):
        return [pt.dvector(), pt.dmatrix(), pt.dvector()]

    def implementation(self, jit):
        layout, allocate = layout_of(self.graph, self.columns), self._allocator(jit)

        def moments(weight, bias, diagonal, states, z, base):
            listed, at = kernels.Listed(states, z, base), allocate(len(base))
            products, shares = np.full(len(weight), np.nan), np.full(bias.shape, np.nan)
            squares = np.full(len(diagonal), np.nan)
            log_sum, _ = kernels.fill_state_weights(
                layout, listed, weight, bias.copy().ravel(), diagonal, at
            )
            if np.isfinite(log_sum):
                kernels.fill_weighted_means(layout, listed, at, products, shares, squares)
            return products, shares, squares

        return moments

    def pullback(self, inputs, outputs, cotangents):
        what = "second derivatives of the log-partition function"
        return [grad_not_implemented(self, i, x, what) for i, x in enumerate(inputs)]


class MixedPoint(NamedTuple):
    """Rows and parameters of a mixed field, symbolic: parameters, states (..., a), z (..., Q + c), `form`."""

    weight: Any
    bias: Any
    diagonal: Any
    states: Any
    z: Any
    form: Any


@_logprob.register(MixedFieldRV)
def _log_density(op, values, rng, size, weight, bias, diagonal, mean, **kwargs):
    [x] = values
    weight, bias, diagonal = core(weight, 1), core(bias, 2), core(diagonal, 1)
    states, legal, z = op.read(x, mean)
    form, a, below = op.form(weight, diagonal), len(op.layout.cards), 0.0
    between = op.between_measurements
    if op.leads_back and len(between):
        Q, ends = len(op.layout.owner), op.layout.ends[between] - a
        inner, below = drawn_in(weight[between], diagonal, ends, -form[Q:, Q:])
        weight = weight[between].set(inner)
        form = op.form(weight, diagonal)
    logp = op.likelihood.log_density(op, MixedPoint(weight, bias, diagonal, states, z, form))
    return op.likelihood.as_probability(pt.switch(legal & ~pt.isnan(logp), logp - below, -np.inf), x)


def _log_units(op: MixedFieldRV) -> np.ndarray:
    """Return what the log density of each measurement (c,) is less in its units."""
    return np.log(np.array(op.scale)) + 0.5 * LOG_2PI


def log_density_of_listed(op: MixedFieldRV, at: MixedPoint, listed: kernels.Listed):
    """Log density of rows, whose normaliser is a sum over listed states of the answers; symbolic."""
    log_partition = MixedLogPartition(op.graph, op.columns)(
        at.weight, at.bias, at.diagonal, *map(pt.constant, listed)
    )
    own = at.bias[np.arange(len(op.layout.cards)), at.states].sum(axis=-1)
    logp = own + 0.5 * ((at.z @ at.form) * at.z).sum(axis=-1) - log_partition
    return logp - float(_log_units(op).sum())


def log_density_of_nodes(op: MixedFieldRV, at: MixedPoint, weights: np.ndarray):
    """Sum of the log densities of all nodes (d,) given all else, times weights; symbolic."""
    a = len(op.layout.cards)
    logp = (weights[:a] * _of_answers(op, at.states, at.z, at.form, at.bias)).sum(axis=-1)
    if op.layout.n_measured:
        logp = logp + (weights[a:] * _of_measurements(op, at.z, at.form)).sum(axis=-1)
    return logp - float((weights[a:] * _log_units(op)).sum())


def _of_answers(op: MixedFieldRV, states, z, form, bias):
    """Log probability of each answer given all else, (..., a); symbolic."""
    layout, (a, K) = op.layout, (len(op.layout.cards), op.layout.features.shape[1])
    Q = len(layout.owner)
    spread = np.zeros((Q, a, K))  # features of each answer at its states
    spread[np.arange(Q), layout.owner] = layout.features
    local = (z @ form)[..., :Q]
    scores = pt.tensordot(local, spread, axes=[[-1], [0]]) + bias
    scores = scores + np.where(np.arange(K) < layout.cards[:, None], 0.0, -np.inf)
    own = pt.eq(states[..., None], np.arange(K))
    return pt.switch(own, scores, 0.0).sum(axis=-1) - pt.logsumexp(scores, axis=-1)


def _of_measurements(op: MixedFieldRV, z, form):
    """Log density of each measurement given all else, (..., c), without its constant; symbolic.

    NaN where the precision is not positive definite.
    """
    Q = len(op.layout.owner)
    K = -form[Q:, Q:]
    is_inside = pt.log(pt.diagonal(pt.linalg.cholesky(K, lower=True, on_error="nan"))).sum()
    precision = pt.diagonal(K)
    gap = (z @ form)[..., Q:] / precision  # conditional means less the deviations
    log_density = 0.5 * pt.log(precision) - 0.5 * precision * gap**2
    return pt.switch(pt.isnan(is_inside), np.nan, log_density)
