"""The random variables behind fields: their draws and their log probability.

They hold the graph, what the parameters mean and the way the likelihood is evaluated as static
properties; their inputs are the parameters that users write.
"""

from abc import abstractmethod
from types import ModuleType
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.logprob.abstract import _logprob
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.raise_op import Assert
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.distributions.draw_checks import report_draw, too_few_sweeps, watched
from pymc_mrf.distributions.field_rv import (
    DRAW_SWEEPS,
    DiscreteFieldRV,
    node_table_filler,
)
from pymc_mrf.distributions.foreign_routes import HiddenStates
from pymc_mrf.distributions.likelihood import Likelihood
from pymc_mrf.distributions.log_partition import LogPartition, workspace_allocator
from pymc_mrf.distributions.symbolic_tables import at_states, shared_by_rows
from pymc_mrf.fields.family import Family
from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.fields.tables import distinct_rows
from pymc_mrf.fields.two_starts import pairwise_starts_meet
from pymc_mrf.graph.junction_tree import JunctionTree, field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.junction_trees import junction_tree as tree_kernels
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.kernels.simulation.swendsen_wang import gibbs_and_cluster_sweeps

EXACT_DRAW_CELLS = 2**14
"""Largest junction tree, in table cells, whose passes (one per row, about 0.1 ms) are used for random
draws; beyond it Gibbs sweeps are much faster."""

IMPOSSIBLE = (
    "no configuration of positive probability was found for a random draw: -inf entries of the log "
    "tables exclude all configurations, or those that a search from uniform states reaches; draws under "
    'likelihood="exact" need no search if the junction tree is small, and large finite penalties in '
    "place of -inf need none either"
)


class UndirectedFieldRV(DiscreteFieldRV):
    """Random variable over the d variables of a field whose probabilities need a partition function.

    Random draws are exact and independent if ``likelihood="exact"`` and the junction tree has at most
    `EXACT_DRAW_CELLS` cells. Otherwise every row is a chain of its own, started from independent
    uniform states and moved by `n_sweeps` Gibbs sweeps: right as far as that many sweeps forget the
    start. Of attractive fields that may order every second one is over clusters of nodes (Swendsen & Wang,
    1987), which forget it quickly. Chains from order and from disorder that do not meet are warned of.

    Its `log_tables` are, in their order, those tables of the junction tree's factors that are not zero.
    """

    @property
    @abstractmethod
    def tree(self) -> JunctionTree:
        """Junction tree of the field."""

    @abstractmethod
    def log_potential(self, indices, parameters):
        """Sum of all log tables at each row of `indices` (..., d); symbolic."""

    @abstractmethod
    def log_partition_op(self) -> LogPartition:
        """Op for the log-partition function as a function of the `log_tables`."""

    @property
    @abstractmethod
    def table_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the log tables that a draw is made from."""

    @abstractmethod
    def starts_meet(self, *tables_and_rng: Any) -> bool:
        """Whether chains from order and from disorder meet within the sweeps of a draw."""

    @property
    def draws_exactly(self) -> bool:
        return self.likelihood.uses_tree and self.tree.n_cells <= EXACT_DRAW_CELLS


class MarkovRandomFieldRV(UndirectedFieldRV):
    """Random variable over the d nodes of `graph`, a pairwise field of one of the families."""

    dtype = "int64"
    __props__ = (*RandomVariable.__props__, "graph", "family", "likelihood", "n_sweeps")
    kind = "pairwise"
    table_ndims = (3, 2)

    def __init__(
        self,
        graph: PairwiseGraph,
        family: Family,
        likelihood: Likelihood | None = None,
        n_sweeps: int = DRAW_SWEEPS,
        **props: Any,
    ) -> None:
        self.graph, self.family, self.likelihood, self.n_sweeps = graph, family, likelihood, n_sweeps
        inputs = [",".join(["r"] + ["k"] * family.edge_axes)]
        if family.node_parameter is not None:
            inputs.append(",".join(["d"] + ["k"] * family.node_axes))
        signature = ",".join(f"({dims})" for dims in inputs) + "->(d)"
        super().__init__(**props | {"name": family.title, "signature": signature})

    @property
    def groups_edges(self) -> bool:
        """Whether an edge has one number, as those samplers take them."""
        return self.family.edge_axes == 0 and not self.family.has_blocks

    @property
    def may_be_sampled(self) -> bool:
        """Whether an edge has one number, or a block of them."""
        return self.family.edge_axes == 0

    @property
    def tree(self) -> JunctionTree:
        return field_tree(self.graph, self.family.n_states)

    def _natural(self, parameters, xp):
        """Eta and the node parameters, with their state axes."""
        if self.family.node_parameter is None:
            return self.family.natural(parameters[0], xp), xp.zeros(self.graph.n_nodes)
        return self.family.natural(parameters[0], xp), parameters[1]

    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Edge tables (..., r, K, K) and node tables (..., d, K)."""
        eta, b = self._natural(parameters, xp)
        return [self.family.edge_tables(eta, self.graph.edges), self.family.node_tables(b)]

    def flat_natural(self, parameters):
        """Eta, then the numbers of the nodes, in one symbolic vector."""
        natural = self._natural(parameters, pt)[: len(parameters)]
        return pt.concatenate([p.ravel() for p in natural])

    def log_potential(self, indices, parameters):
        """Sum of parameters times statistics: linear in the parameters, which costs least."""
        family = self.family
        eta, b = self._natural(parameters, pt)
        edges = self.graph.edges[family.edge_products(self.graph.edges)[0]]
        at_u, at_v = (indices[..., edges[:, k]] for k in (0, 1))  # (..., r)
        states = [[], [at_u], [at_u, at_v]][family.edge_axes]
        f = family.edge_statistics(self.graph.edges)
        first = np.arange(f.size, step=family.n_states**2)  # of each edge, if they differ
        f = pt.constant(f.ravel())[at_u * family.n_states + at_v + first]
        total = (f * at_states(eta, states, family.n_states)).sum(axis=-1)
        if family.node_parameter is None:
            return total
        if family.node_axes:
            return total + at_states(family.node_tables(b), [indices], family.n_states).sum(axis=-1)
        return total + (pt.constant(family.node_basis[0])[indices] * b).sum(axis=-1)

    def check(self, logp, parameters):
        """Refuse probabilities outside (0, 1), and other parameters that are not finite."""
        if self.family.is_log_odds:
            theta = parameters[0]
            return check_parameters(logp, pt.all((theta > 0) & (theta < 1)), msg="0 < theta < 1")
        finite = [pt.all(pt.isfinite(p)) for p in parameters]
        names = f"{self.family.edge_parameter} and {self.family.node_parameter}"
        return check_parameters(logp, *finite, msg=f"{names} must be finite")

    def log_partition_op(self) -> LogPartition:
        return LogPartition(self.tree)

    def implementation(self, jit):
        d, family = self.graph.n_nodes, self.family
        edge_statistics, fill_nodes = (
            family.edge_statistics(self.graph.edges),
            jit(node_table_filler(family, d)),
        )
        # parameters lack the axes over which their tables repeat them
        edge_shape = tuple(
            -1 if k == 0 else family.n_states if k <= family.edge_axes else 1 for k in range(3)
        )
        is_log_odds, sums_terms, n_edges = family.is_log_odds, family.has_blocks, self.graph.n_edges
        pair = family.edge_products(self.graph.edges)[0]
        states = np.array(family.states, dtype=self.dtype)
        fill = jit(self._exact_rows(jit) if self.draws_exactly else self._gibbs_rows())

        def draw(rng, edge, node):
            eta = np.log(edge) - np.log1p(-edge) if is_log_odds else edge.astype(np.float64)
            terms = eta.reshape(edge_shape) * edge_statistics
            edge_tables = terms
            if sums_terms:
                edge_tables = np.zeros((n_edges, *terms.shape[1:]))
                for e in range(len(pair)):
                    edge_tables[pair[e]] += terms[e]
            node_tables = fill_nodes(node.reshape((d, -1)))
            x = np.empty((1, d), dtype=np.int8)
            fill(x, edge_tables, node_tables, rng)
            return states[x[0]]

        if family.node_parameter is not None:
            return draw
        compiled = jit(draw)

        def draw_without_node_parameters(rng, edge):
            return compiled(rng, edge, np.zeros(d))

        return draw_without_node_parameters

    @property
    def table_shapes(self):
        K = self.family.n_states
        return (self.graph.n_edges, K, K), (self.graph.n_nodes, K)

    def starts_meet(self, edge_tables, node_tables, rng):
        """Whether chains from order and disorder meet that move as those of `_gibbs_rows`."""
        shape = 1, self.graph.n_nodes
        disorder = rng.integers(self.family.n_states, size=shape, dtype=np.int8)

        def sweep_twice(x, *tables):
            gibbs_and_cluster_sweeps(x, *tables, self.graph.arrays, 2, rng)

        tables = PairwiseTables(self.graph, edge_tables, node_tables)
        return pairwise_starts_meet(tables, disorder, sweep_twice, self.n_sweeps // 2)

    def _gibbs_rows(self):
        graph, n_states, n_sweeps = self.graph.arrays, self.family.n_states, self.n_sweeps
        number, complaint = watched(self), too_few_sweeps(self)

        def fill(x, edge_tables, node_tables, rng):
            gibbs.uniform_states(x, n_states, rng)
            gibbs_and_cluster_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng)
            if report_draw(number, edge_tables, node_tables):
                raise UserWarning(complaint)

        return fill

    def _exact_rows(self, jit):
        tree, allocate = self.tree.arrays, jit(workspace_allocator(self.tree))

        def fill(x, edge_tables, node_tables, rng):
            work = allocate()
            tree_kernels.pack_pairwise(edge_tables, node_tables, work.tables)
            tree_kernels.collect(tree, work.tables, work)
            tree_kernels.draw_rows(tree, work, x, rng)

        return fill


def _with_columns(op: DiscreteFieldRV, value):
    """`value`, refused where its last dimension is not the variables of the field."""
    if value.type.shape[-1] == op.n_variables:
        return value
    message = (
        f"the data of a field of {op.n_variables} variables ({op.name}) have another number of columns: give "
        "pm.set_data one for each variable"
    )
    return Assert(message)(value, pt.eq(value.shape[-1], op.n_variables))


def _distinct_rows(op: DiscreteFieldRV, value, parameters):
    """Make one row of data of all that are equal, and tell where each row is found; `value` and None if not.

    Under the same parameters they have the same log probability, which need not be evaluated for each of
    them. Data that may change, those of ``pm.Data``, are left as they are.
    """
    is_shared = shared_by_rows(op.log_tables(parameters, pt), op.table_ndims)
    is_fixed = isinstance(value, Constant) and value.type.ndim == 2 and value.type.dtype == "int64"
    if not (is_shared and is_fixed):
        return value, None
    rows, _, where = distinct_rows(value.data)
    return (pt.constant(rows), where) if len(rows) < len(where) else (value, None)


@_logprob.register(UndirectedFieldRV)
def _field_logprob(op, values, rng, size, *parameters, **kwargs):
    value, where = _distinct_rows(op, _with_columns(op, *values), parameters)
    if not isinstance(value, Constant | SharedVariable):
        value = HiddenStates()(value)
    # imputed cells arrive as floats, and Metropolis proposes values that are no states
    indices, legal = op.encode(value)
    logp = op.likelihood.log_density(op, indices, parameters, value)
    logp = pt.switch(pt.all(legal, axis=-1), logp, -np.inf)
    logp = op.check(logp if where is None else logp[where], parameters)
    return op.likelihood.as_probability(logp, values[0])
