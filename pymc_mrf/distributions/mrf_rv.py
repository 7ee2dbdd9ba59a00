"""The random variables behind fields: their draws, their log probability, how to find them in a model.

They hold the graph, what the parameters mean and the way the likelihood is evaluated as static
properties; their inputs are the parameters that users write.
"""

from abc import abstractmethod
from types import ModuleType

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import PartialObservedRV
from pymc.logprob.abstract import _logprob
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import Assert
from pytensor.tensor.basic import tensor_copy
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import SpecifyShape

from pymc_mrf.distributions._numba import NumbaRegistered
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.intractable import IntractableLogPartition
from pymc_mrf.distributions.log_partition import LogPartition
from pymc_mrf.distributions.pseudo_likelihood import LogPseudoLikelihood
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.distributions.symbolic_tables import at_states, core, shared_by_rows
from pymc_mrf.fields.families import Family
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph.junction_tree import JunctionTree, field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gibbs
from pymc_mrf.kernels import junction_tree as tree_kernels

DISPLAY_NAMES = {
    "agreement": "AgreementMRF",
    "ising": "Ising",
    "boltzmann": "BoltzmannMachine",
    "potts": "Potts",
}
DRAW_SWEEPS = 100
"""Gibbs sweeps of a random draw, by default, where exact draws are too costly."""

EXACT_DRAW_CELLS = 2**14
"""Largest junction tree, in table cells, whose passes (one per row, about 0.1 ms) are used for random
draws; beyond it Gibbs sweeps are much faster."""

IMPOSSIBLE = (
    "no configuration of positive probability was found for a random draw: -inf entries of the log "
    "tables exclude all configurations, or those that a search from uniform states reaches; draws under "
    'likelihood="exact" need no search if the junction tree is small, and large finite penalties in '
    "place of -inf need none either"
)


class FieldRV(NumbaRegistered, RandomVariable):
    """Random variable over the d variables of a field; subclasses say what its parameters mean.

    Random draws are exact and independent if ``likelihood="exact"`` and the junction tree has at most
    `EXACT_DRAW_CELLS` cells. Otherwise every row is a chain of its own, started from independent
    uniform states and moved by `n_sweeps` Gibbs sweeps: right as far as that many sweeps forget the
    start.
    """

    likelihood: str
    n_sweeps: int

    table_ndims: tuple[int, ...]
    """Dimensions of each of the `log_tables` without batch dimensions."""

    @property
    @abstractmethod
    def n_variables(self) -> int:
        """Number of variables d."""

    @property
    @abstractmethod
    def groups_edges(self) -> bool:
        """Whether the samplers of Dirichlet processes know its edge parameters."""

    @property
    @abstractmethod
    def tree(self) -> JunctionTree:
        """Junction tree of the field."""

    @abstractmethod
    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Log tables from the parameters, with the batch dimensions of these.

        One after the other they are the tables of the junction tree's factors, as far as they are not
        zero. `xp` is numpy, or `pytensor.tensor` for symbolic parameters.
        """

    @abstractmethod
    def decode(self, x: np.ndarray) -> np.ndarray:
        """Values (..., d) int64 of state indices."""

    @abstractmethod
    def encode(self, value):
        """State indices (..., d), 0 where there is none, and whether they exist; both symbolic."""

    @abstractmethod
    def log_potential(self, indices, parameters):
        """Sum of all log tables at each row of `indices` (..., d); symbolic."""

    @abstractmethod
    def check(self, logp, parameters):
        """`logp`, if the parameters are in their domain; symbolic."""

    @abstractmethod
    def log_partition_op(self) -> LogPartition:
        """Op for the log-partition function as a function of the `log_tables`."""

    @abstractmethod
    def pseudo_likelihood_op(self) -> LogPseudoLikelihood:
        """Op for the log pseudo-likelihood as a function of states and the `log_tables`."""

    @abstractmethod
    def gibbs_draws(self, x: np.ndarray, tables: list[np.ndarray], rng: np.random.Generator) -> None:
        """Fill the rows of `x` (n, d) int8 by Gibbs sampling."""

    @property
    def draws_exactly(self) -> bool:
        """Whether random draws are exact."""
        return self.likelihood == "exact" and self.tree.n_cells <= EXACT_DRAW_CELLS

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return (pt.as_tensor(self.n_variables, dtype="int64"),)

    def rng_fn(self, rng, *args):
        """Draw rows; `args` are the parameters and the size."""
        *parameters, size = args
        cores = self.ndims_params
        batches = [p.shape[: p.ndim - k] for p, k in zip(parameters, cores, strict=True)]
        batch = np.broadcast_shapes(*batches) if size is None else tuple(size)
        x = np.empty((int(np.prod(batch)), self.n_variables), dtype=np.int8)
        if all(n == 1 for shape in batches for n in shape):
            self._draw(
                x,
                [p.reshape(p.shape[p.ndim - k :]) for p, k in zip(parameters, cores, strict=True)],
                rng,
            )
        else:
            rows = [
                np.broadcast_to(p, (*batch, *p.shape[p.ndim - k :])).reshape(-1, *p.shape[p.ndim - k :])
                for p, k in zip(parameters, cores, strict=True)
            ]
            for c in range(len(x)):
                self._draw(x[c : c + 1], [p[c] for p in rows], rng)
        return self.decode(x).reshape(*batch, self.n_variables)

    def _draw(self, x, parameters, rng):
        """Fill the rows of `x` with draws of one field."""
        if not len(x):
            return
        tables = self.log_tables(parameters)
        if self.draws_exactly:
            arrays = self.tree.arrays
            work = tree_kernels.allocate(arrays)  # its tables are zero: those not given stay so
            flat = np.concatenate([table.ravel() for table in tables])
            work.tables[: len(flat)] = flat
            if tree_kernels.collect(arrays, work.tables, work) == -np.inf:
                raise ValueError(IMPOSSIBLE)
            tree_kernels.draw(arrays, work, x, rng)
        else:
            self.gibbs_draws(x, tables, rng)


class MarkovRandomFieldRV(FieldRV):
    """Random variable over the d nodes of `graph`, a pairwise field of one of the families."""

    dtype = "int64"
    __props__ = ("name", "signature", "dtype", "inplace", "graph", "family", "likelihood", "n_sweeps")
    table_ndims = (3, 2)

    def __init__(
        self,
        graph: PairwiseGraph | None = None,
        family: Family | None = None,
        likelihood: str = "particles",
        n_sweeps: int = DRAW_SWEEPS,
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
        inputs = [",".join(["r"] + ["k"] * family.edge_axes)]
        if family.node_parameter is not None:
            inputs.append(",".join(["d"] + ["k"] * family.node_axes))
        signature = ",".join(f"({dims})" for dims in inputs) + "->(d)"
        super().__init__(name=name, signature=signature, dtype=dtype, inplace=inplace)

    @property
    def groups_edges(self) -> bool:
        """Whether the node parameters are numbers, as those samplers take them."""
        return self.family.node_axes == 0

    @property
    def n_variables(self) -> int:
        """Number of nodes d."""
        return self.graph.n_nodes

    @property
    def tree(self) -> JunctionTree:
        """Junction tree of the field."""
        return field_tree(self.graph, self.family.n_states)

    def _natural(self, parameters, xp):
        """Eta and the node parameters, with their state axes."""
        if self.family.node_parameter is None:
            return self.family.natural(parameters[0], xp), xp.zeros(self.graph.n_nodes)
        return self.family.natural(parameters[0], xp), parameters[1]

    def log_tables(self, parameters, xp: ModuleType = np) -> list:
        """Edge tables (..., r, K, K) and node tables (..., d, K)."""
        eta, b = self._natural(parameters, xp)
        return [self.family.edge_tables(eta), self.family.node_tables(b)]

    def decode(self, x: np.ndarray) -> np.ndarray:
        """States of the family at these indices."""
        return np.array(self.family.states, dtype=np.int64)[x]

    def encode(self, value):
        """State indices and whether the values are states."""
        legal = pt.zeros_like(value, dtype="bool")
        indices = pt.zeros_like(value, dtype="int64")
        for k, state in enumerate(self.family.states):
            here = pt.eq(value, state)
            legal = legal | here
            indices = indices + k * here
        return indices, legal

    def log_potential(self, indices, parameters):
        """Sum of parameters times statistics: linear in the parameters, which costs least."""
        family = self.family
        eta, b = self._natural(parameters, pt)
        at_u, at_v = (indices[..., self.graph.edges[:, k]] for k in (0, 1))  # (..., r)
        states = [[], [at_u], [at_u, at_v]][family.edge_axes]
        pairs = at_u * family.n_states + at_v
        f = pt.constant(family.edge_statistic.ravel())[pairs]
        total = (f * at_states(eta, states, family.n_states)).sum(axis=-1)
        if family.node_parameter is None:
            return total
        g = pt.constant(family.node_statistic)[indices]
        states = [indices] * family.node_axes
        return total + (g * at_states(b, states, family.n_states)).sum(axis=-1)

    def check(self, logp, parameters):
        """Refuse probabilities outside (0, 1), and other parameters that are not finite."""
        if self.family.is_log_odds:
            theta = parameters[0]
            return check_parameters(logp, pt.all((theta > 0) & (theta < 1)), msg="0 < theta < 1")
        finite = [pt.all(pt.isfinite(p)) for p in parameters]
        names = f"{self.family.edge_parameter} and {self.family.node_parameter}"
        return check_parameters(logp, *finite, msg=f"{names} must be finite")

    def log_partition_op(self) -> LogPartition:
        """Op on edge and node tables."""
        return LogPartition(self.tree)

    def pseudo_likelihood_op(self) -> LogPseudoLikelihood:
        """Op on states, edge and node tables."""
        return LogPseudoLikelihood(self.graph)

    def gibbs_draws(self, x: np.ndarray, tables: list[np.ndarray], rng: np.random.Generator) -> None:
        """Fill the rows of `x` by sweeps of many chains at once."""
        edge_tables, node_tables = tables
        gibbs.uniform_states(x, self.family.n_states, rng)
        simulator = GibbsSimulator(self.graph, self.family.n_states, len(x))
        simulator.sweep(x, edge_tables, node_tables, self.n_sweeps, rng)


def _log_partition(op: FieldRV, tables):
    """Exact A per row; one value if all rows share their parameters."""
    log_partition = op.log_partition_op()
    if shared_by_rows(tables, op.table_ndims):
        return log_partition(*(core(t, k) for t, k in zip(tables, op.table_ndims, strict=True)))[0]
    return Blockwise(log_partition)(*tables)[0]


def _pseudo(op: FieldRV, indices, tables):
    log_pseudo_likelihood = op.pseudo_likelihood_op()
    indices = indices.astype("int8")
    if shared_by_rows(tables, op.table_ndims):
        tables = [core(t, k) for t, k in zip(tables, op.table_ndims, strict=True)]
        rows = log_pseudo_likelihood(indices.reshape((-1, op.n_variables)), *tables)
        return rows.reshape(indices.shape[:-1], ndim=indices.ndim - 1)
    return Blockwise(log_pseudo_likelihood)(indices[..., None, :], *tables)[..., 0]


def _with_columns(op: FieldRV, value):
    """`value`, refused where its last dimension is not the variables of the field."""
    if value.type.shape[-1] == op.n_variables:
        return value
    message = (
        f"the data of a field of {op.n_variables} variables ({op.name}) have another number of columns: give "
        "pm.set_data one for each variable"
    )
    return Assert(message)(value, pt.eq(value.shape[-1], op.n_variables))


@_logprob.register(FieldRV)
def _field_logprob(op, values, rng, size, *parameters, **kwargs):
    value = _with_columns(op, *values)
    # imputed cells arrive as floats, and Metropolis proposes values that are no states
    indices, legal = op.encode(value)
    if op.likelihood == "pseudo":
        logp = _pseudo(op, indices, op.log_tables(parameters, pt))
    else:
        logp = op.log_potential(indices, parameters)
        if op.likelihood == "exact":
            logp = logp - _log_partition(op, op.log_tables(parameters, pt))
        else:
            logp = logp - IntractableLogPartition()(*parameters)
    logp = pt.switch(pt.all(legal, axis=-1), logp, -np.inf)
    return op.check(logp, parameters)


def free_parents(node, model: pm.Model) -> list:
    """Free variables whose *values* enter the parameters of a field, in model order.

    PyMC's samplers move transformed values: with J ~ Uniform(0, b), moving b alone moves J as well.
    """
    parameters = model.replace_rvs_by_values(node.op.dist_params(node))
    reached = set(ancestors(parameters))
    return [rv for rv in model.free_RVs if model.rvs_to_values[rv] in reached]


def tag_parents(node, model: pm.Model) -> None:
    """Tell the free variables from which the field's parameters are computed about the field.

    Step assignment sees one variable at a time; the tag lets it know what the variable feeds.

    Raises
    ------
    ValueError
        If a Dirichlet process feeds a field whose parameters its samplers do not know.
    """
    parents = free_parents(node, model)
    grouped = any(isinstance(variable.owner.op, DirichletProcessRV) for variable in parents)
    for variable in parents:
        if grouped and node.op.likelihood == "particles":  # moved with the groups
            variable.tag.mrf_group_nodes = True
        if isinstance(variable.owner.op, DirichletProcessRV) and not node.op.groups_edges:
            raise ValueError(
                f"{variable.name} is a DirichletProcess: its samplers group the edge parameters of "
                "AgreementMRF, Ising and BoltzmannMachine, not the parameters of a "
                f"{node.op.name}. A Potts model without field is an AgreementMRF, theta being the "
                "logistic function of the coupling"
            )
        variable.tag.mrf_likelihoods = (*likelihoods_fed(variable), node.op.likelihood)
    parameters = [strip_views(p) for p in node.op.dist_params(node)]
    if len(parameters) == 2 and set(parameters) <= set(model.free_RVs):
        edge, bias = parameters
        plain = model.rvs_to_transforms.get(bias) is None
        if isinstance(edge.owner.op, SpikeAndSlabRV) and plain:
            bias.tag.mrf_edge_gibbs_bias = True


def likelihoods_fed(variable) -> tuple[str, ...]:
    """Kinds of likelihood of the fields that a free variable parametrises, from its tag."""
    return getattr(variable.tag, "mrf_likelihoods", ())


def field_node(rv):
    """Apply node of the field behind a model variable, None if there is none.

    A field with missing cells is split by PyMC into an observed and a free variable; both lead to
    the node.
    """
    node = rv.owner
    while node is not None and not isinstance(node.op, FieldRV):
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
