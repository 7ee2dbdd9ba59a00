"""The random variable behind fields in time: its draws and its log probability."""

from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.logprob.abstract import _logprob
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import disconnected_grad
from pytensor.graph.basic import Constant
from pytensor.raise_op import Assert
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions.field_rv import (
    DRAW_SWEEPS,
    DiscreteFieldRV,
    node_table_filler,
)
from pymc_mrf.distributions.foreign_routes import HiddenStates
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.symbolic_tables import at_states, core, shared_by_rows
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.series import SeriesRows, row_states
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.kernels.simulation import series as kernels


class KineticRV(DiscreteFieldRV):
    """Random variable over a table (T, d) whose rows depend on earlier ones; all of it is one draw."""

    dtype = "int64"
    name = "KineticMRF"
    __props__ = (
        *RandomVariable.__props__,
        "graph",
        "family",
        "rows",
        "likelihood",
        "n_sweeps",
    )
    kind = "series"
    table_ndims = (3, 2)
    groups_edges = True

    def __init__(
        self,
        graph: LaggedGraph,
        family: Family,
        rows: SeriesRows,
        likelihood: Likelihood | None = None,
        n_axes: tuple[int, int] = (1, 1),
        n_sweeps: int = DRAW_SWEEPS,
        **props: Any,
    ) -> None:
        self.graph, self.family, self.rows = graph, family, rows
        self.likelihood, self.n_sweeps = likelihood, n_sweeps if graph.n_links else 1
        if "signature" not in props:  # as it is where PyTensor makes another of the same properties
            cores = ["r"], ["d", "k"][: 1 + family.node_axes]
            inputs = [["n"] * (n - len(own)) + own for n, own in zip(n_axes, cores, strict=True)]
            props["signature"] = ",".join(f"({','.join(own)})" for own in inputs) + "->(n,d)"
        super().__init__(**props)

    @cached_property
    def row_states(self) -> np.ndarray:
        return row_states(self.family.possible(self.n_variables).sum(axis=1))

    @property
    def scores(self) -> np.ndarray:
        F = self.family.edge_features
        return np.broadcast_to(F, (self.graph.n_nodes, *F.shape[-2:]))[:, 0].copy()

    @property
    def table_rows(self) -> np.ndarray:
        """Rows of the table that have a probability, each as often as its weight says."""
        return self.rows.observations[:, 0]

    def arrange(self, x: np.ndarray) -> np.ndarray:
        """Rows with a past and the earlier ones side by side, (n, (1 + L) d), from states (T, d)."""
        windows = self.rows.observations
        return np.ascontiguousarray(x[windows].reshape(len(windows), -1))

    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Parameters of the edges (..., r), and tables of the nodes (..., d, K)."""
        return [parameters[0], self.family.node_tables(parameters[1])]

    def check(self, logp, parameters):
        finite = [pt.all(pt.isfinite(p)) for p in parameters]
        return check_parameters(logp, *finite, msg="weight and bias must be finite")

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return tuple(pt.as_tensor(n, dtype="int64") for n in (self.rows.n_rows, self.n_variables))

    def implementation(self, jit):
        """Draw all rows but those that are given; their missing cells are in any state alike."""
        d, family = self.n_variables, self.family
        fill_nodes = jit(node_table_filler(family, d))
        states = np.array(family.states, dtype=self.dtype)
        cards = family.possible(d).sum(axis=1)
        windows, first, scores, arrows = (
            self.rows.windows,
            self.rows.first,
            self.scores,
            self.graph.arrays,
        )
        n_sweeps, q = self.n_sweeps, max(len(family.node_basis), 1)

        def draw(rng, edge, node):
            eta = edge.astype(np.float64).reshape((-1, edge.shape[-1]))
            b = node.astype(np.float64).reshape((-1, d, q))
            tables = np.empty((b.shape[0], d, scores.shape[1]))
            for t in range(b.shape[0]):
                tables[t] = fill_nodes(b[t])
            x = first.copy()
            for t in range(x.shape[0]):
                for i in range(d):
                    if x[t, i] < 0:
                        x[t, i] = int(rng.random() * cards[i])
            kernels.draw_rows(x, windows, eta, tables, scores, arrows, n_sweeps, rng)
            out = np.empty(x.shape, dtype=states.dtype)
            for t in range(x.shape[0]):
                for i in range(d):
                    out[t, i] = states[x[t, i]]
            return out

        return draw


def local_fields(op: KineticRV, indices, eta, first: int = 0, neighbours: Any = None):
    """Local fields (n, d) of the rows with a past, symbolic, from state indices (T, d).

    Of arrows alone if `first` is 1, 0 being the lag of links; with expected `neighbours`, if they are given.
    """
    graph, d, (windows, scores) = op.graph, op.n_variables, (op.rows.observations, op.scores)
    flat = pt.constant(scores.ravel())[np.arange(d) * scores.shape[1] + indices]  # (T, d)
    is_shared = shared_by_rows([eta], [1])
    padded = pt.concatenate([eta, pt.zeros_like(eta[..., :1])], axis=-1)
    padded = core(padded, 1) if is_shared else padded[windows[:, 0]]
    fields, own = pt.zeros((len(windows), d)), flat[windows[:, 0]]
    if neighbours is not None:
        past = flat[windows[:, 1:]].reshape((len(windows), (windows.shape[1] - 1) * d))
        expected = neighbours.expected(past)
        fields, own = neighbours.given(own, expected), expected
    for k in range(first, windows.shape[1]):
        edge = np.flatnonzero(graph.lag_of == k)
        if not len(edge):
            continue
        place = np.full((d, d), graph.n_edges)
        u, v = graph.edges[edge].T
        place[u, v] = edge
        if k == 0:
            place[v, u] = edge
        source = flat[windows[:, k]] if k else own
        if is_shared:
            fields = fields + source @ padded[place.ravel()].reshape((d, d))
        else:
            W = padded[:, place.ravel()].reshape((len(windows), d, d))
            fields = fields + (source[:, :, None] * W).sum(axis=1)
    return fields


def log_conditionals(op: KineticRV, indices, parameters, neighbours: Any = None):
    """Log probability of every node in every row with a past given the rest, (n, d), symbolic.

    Or given what `neighbours` are expected to be.
    """
    eta, tables = op.log_tables(parameters, pt)
    rows, scores, K = op.table_rows, op.scores, op.family.n_states
    fields, own = local_fields(op, indices, eta, neighbours=neighbours), indices[rows]
    tables = core(tables, 2)[None] if shared_by_rows([tables], [2]) else tables[rows]
    if K == 2:
        odds = tables[..., 1] - tables[..., 0] + np.diff(scores)[:, 0] * fields
        return own * odds - pt.softplus(odds)
    at_own = at_states(tables, [own], K) + (
        pt.constant(scores.ravel())[np.arange(op.n_variables) * K + own] * fields
    )
    log_p = tables + scores * fields[..., None]
    top = disconnected_grad(log_p.max(axis=-1, keepdims=True))
    return at_own - pt.log(pt.exp(log_p - top).sum(axis=-1)) - top[..., 0]


def log_rows(op: KineticRV, indices, parameters):
    """Log probability of every row with a past given the earlier ones, (n,), symbolic: by all its states."""
    eta, tables = op.log_tables(parameters, pt)
    d, rows, states, r = op.n_variables, op.table_rows, op.row_states, op.graph.n_links
    at = op.scores[np.arange(d), states]  # (S, d)
    u, v = op.graph.edges[:r].T
    of_links = core(eta, 1) if shared_by_rows([eta], [1]) else eta[rows]
    tables = core(tables, 2) if shared_by_rows([tables], [2]) else tables[rows]
    log_p = tables[..., np.arange(d), states].sum(axis=-1)  # (S,) or (n, S)
    log_p = log_p + of_links[..., :r] @ pt.constant((at[:, u] * at[:, v]).T.copy())
    log_p = log_p + local_fields(op, indices, eta, first=1) @ pt.constant(at.T.copy())  # (n, S)
    strides = np.cumprod(np.r_[1, states[-1, :0:-1].astype(np.int64) + 1])[::-1].copy()
    own = pt.minimum((indices[rows] * strides).sum(axis=1), len(states) - 1)  # if they are states
    top = disconnected_grad(log_p.max(axis=1, keepdims=True))
    return log_p[np.arange(len(rows)), own] - pt.log(pt.exp(log_p - top).sum(axis=1)) - top[:, 0]


def _of_this_shape(op: KineticRV, value):
    """`value`, refused where it has another shape than the field."""
    shape = op.rows.n_rows, op.n_variables
    if value.type.shape == shape:
        return value
    message = (
        f"the data of {op.name} have another shape than {shape}, for which the field was declared: declare "
        "another one for series of other lengths"
    )
    return pt.specify_shape(
        Assert(message)(value, pt.eq(value.shape[0], shape[0]), pt.eq(value.shape[1], shape[1])), shape
    )


@_logprob.register(KineticRV)
def _kinetic_logprob(op, values, rng, size, *parameters, **kwargs):
    value = _of_this_shape(op, *values)
    if not isinstance(value, Constant | SharedVariable):
        value = HiddenStates()(value)
    indices, legal = op.encode(value)
    logp = op.likelihood.log_density(op, indices, parameters, value)
    legal = pt.all(legal[op.rows.observations], axis=(1, 2))
    logp = op.check(pt.switch(legal, logp, -np.inf), parameters)
    return op.likelihood.as_probability(logp, values[0])
