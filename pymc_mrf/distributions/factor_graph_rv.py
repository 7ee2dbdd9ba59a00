"""The random variable behind a factor graph: its parameter is all log tables, one after the other."""

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any, Never

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import _support_point
from pymc.distributions.shape_utils import rv_size_is_none
from pytensor.graph import Apply, Op
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions.draw_checks import report_draw, too_few_sweeps, watched
from pymc_mrf.distributions.field_rv import DRAW_SWEEPS
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.log_partition import FactorLogPartition, workspace_allocator
from pymc_mrf.distributions.mrf_rv import IMPOSSIBLE, UndirectedFieldRV
from pymc_mrf.distributions.symbolic_tables import pick
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.fields.two_starts import factor_starts_meet
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.junction_tree import JunctionTree, factor_graph_tree, is_cheap
from pymc_mrf.kernels.estimates.local_search import CHANGES, make_possible
from pymc_mrf.kernels.junction_trees import junction_tree as tree_kernels
from pymc_mrf.kernels.trees.factor_tree_sampling import factor_tree_sweeps


@lru_cache(maxsize=64)
def single_variables(graph: FactorGraph) -> FactorTreeSimulator:
    return FactorTreeSimulator(graph, [[[i] for i in range(graph.n_variables)]])


class FactorGraphRV(UndirectedFieldRV):
    """Random variable over the d variables of `graph`, given all log tables, (t,)."""

    name = "FactorGraphMRF"
    signature = "(t)->(d)"
    dtype = "int64"
    __props__ = (*RandomVariable.__props__, "graph", "likelihood", "n_sweeps")
    kind = "factors"
    pairwise_family = None
    table_ndims = (1,)

    def __init__(
        self,
        graph: FactorGraph,
        likelihood: Likelihood | None = None,
        n_sweeps: int = DRAW_SWEEPS,
        **props: Any,
    ) -> None:
        self.graph, self.likelihood, self.n_sweeps = graph, likelihood, n_sweeps
        super().__init__(**props)

    @property
    def family(self) -> Never:
        """Refuse: steps that ask for it know pairwise fields only."""
        raise NotImplementedError(
            "this step samples edge parameters of pairwise fields, and a FactorGraphMRF is none; compute "
            "its tables from continuous variables without point masses, which NUTS or Exchange moves, or "
            "pass numbers"
        )

    @property
    def groups_edges(self) -> bool:
        """Whether the samplers of Dirichlet processes know its parameters: never."""
        return False

    @property
    def n_variables(self) -> int:
        return self.graph.n_variables

    @property
    def node_labels(self) -> Sequence:
        return range(self.graph.n_variables)

    @property
    def tree(self) -> JunctionTree:
        return factor_graph_tree(self.graph)

    @property
    def table_shapes(self):
        """Shape of the log tables of all factors, one after the other."""
        return ((int(factor_links(self.graph).table_ptr[-1]),),)

    def starts_meet(self, tables, rng):
        """Whether chains from order and disorder meet that move as those of `_gibbs_rows`."""
        disorder = rng.integers(self.graph.cardinalities, size=(1, self.n_variables), dtype=np.int8)
        return factor_starts_meet(single_variables(self.graph), tables, disorder, self.n_sweeps, rng)

    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Return the parameter: it is all log tables one after the other."""
        return list(parameters)

    def decode(self, x: np.ndarray) -> np.ndarray:
        """Return the state indices: they are the values."""
        return x.astype(self.dtype)

    def encode(self, value):
        cards = pt.constant(np.array(self.graph.cardinalities))
        legal = pt.ge(value, 0) & pt.lt(value, cards) & pt.eq(value, pt.floor(value))
        return pt.switch(legal, value, 0).astype("int64"), legal

    def log_potential(self, indices, parameters):
        # scopes of equal length, filled up by variable 0 with stride 0
        links = factor_links(self.graph)
        sizes = np.diff(links.factor_ptr)
        filled = np.arange(sizes.max()) < sizes[:, None]  # (F, largest scope)
        variable, stride = np.zeros((2, *filled.shape), dtype=np.int64)
        variable[filled], stride[filled] = links.variable, links.stride
        cells = links.table_ptr[:-1] + (indices[..., variable] * stride).sum(axis=-1)  # (..., F)
        return pick(parameters[0], cells).sum(axis=-1)

    def check(self, logp, parameters):
        # where no configuration is possible, the log-partition function is -inf too
        logp = pt.switch(pt.isnan(logp), -np.inf, logp)
        legal = pt.all(pt.lt(parameters[0], np.inf))
        return check_parameters(logp, legal, msg="tables must be finite, or -inf where impossible")

    def log_partition_op(self) -> FactorLogPartition:
        return FactorLogPartition(self.tree)

    def implementation(self, jit):
        d, dtype = self.graph.n_variables, getattr(np, self.dtype)
        fill = jit(self._exact_rows(jit) if self.draws_exactly else self._gibbs_rows())

        def draw(rng, tables):
            x = np.empty((1, d), dtype=np.int8)
            fill(x, tables, rng)
            return x[0].astype(dtype)

        return draw

    def _gibbs_rows(self):
        [forest], n_sweeps = single_variables(self.graph).forests, self.n_sweeps
        links, cards, n_changes = factor_links(self.graph), forest.cards, CHANGES * self.n_variables
        number, complaint = watched(self), too_few_sweeps(self)

        def fill(x, tables, rng):
            free = np.ones(x.shape[1], dtype=np.bool_)
            for c in range(x.shape[0]):
                for i in range(x.shape[1]):
                    x[c, i] = int(rng.random() * cards[i])
                if not make_possible(x[c], free, tables, links, n_changes, rng):
                    raise ValueError(IMPOSSIBLE)
            factor_tree_sweeps(
                x, tables, forest, n_sweeps, False, rng, np.zeros((0, 0, 0)), np.zeros((0, 0))
            )
            if report_draw(number, tables.astype(np.float64)):
                raise UserWarning(complaint)

        return fill

    def _exact_rows(self, jit):
        tree, allocate = self.tree.arrays, jit(workspace_allocator(self.tree))

        def fill(x, tables, rng):
            work = allocate()
            work.tables[: tables.size] = tables
            if tree_kernels.collect(tree, work.tables, work) == -np.inf:
                raise ValueError(IMPOSSIBLE)
            tree_kernels.draw_rows(tree, work, x, rng)

        return fill


class PossibleStart(Op):
    """A configuration of positive probability, (d,) int64, near that of all variables' first states.

    If none is found by a search of bounded length, or down the junction tree where this is cheap, the
    first states are returned nevertheless: steps that cannot leave them say so.
    """

    __props__ = ("graph",)
    gufunc_signature = "(t)->(d)"

    def __init__(self, graph: FactorGraph) -> None:
        self.graph = graph

    def make_node(self, tables):
        """Build the node on all log tables one after the other."""
        return Apply(self, [pt.as_tensor(tables)], [pt.lvector(shape=(self.graph.n_variables,))])

    def perform(self, node, inputs, output_storage):
        """Search, the same way every time."""
        [flat] = inputs
        d = self.graph.n_variables
        links, free = factor_links(self.graph), np.ones(d, dtype=bool)
        z = np.zeros(d, dtype=np.int8)
        if not make_possible(z, free, flat, links, CHANGES * d, np.random.default_rng(0)):
            z[:] = 0
            tree = factor_graph_tree(self.graph)
            if is_cheap(tree):
                work = tree_kernels.allocate_workspace(tree.arrays)
                work.tables[: len(flat)] = flat
                tree_kernels.mode(tree.arrays, work.tables, work, z)
        output_storage[0][0] = z.astype(np.int64)


@_support_point.register(FactorGraphRV)
def _factor_graph_support_point(op, rv, rng, size, tables):
    start = Blockwise(PossibleStart(op.graph))(tables)
    return start if rv_size_is_none(size) else pt.broadcast_to(start, (*size, op.n_variables))
