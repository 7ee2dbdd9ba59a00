"""Numba implementations of the package's Ops and random variables for PyTensor's numba linker.

Imported with the first instance of one of them (see `pymc_mrf.distributions._numba`): importing
PyTensor's numba dispatch takes longer than importing all the rest of this package.
"""

import sys

import numpy as np
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify

from pymc_mrf.distributions._numba import source_version
from pymc_mrf.distributions.dirichlet_process import PartitionRV, TieCounts
from pymc_mrf.distributions.factor_graph_rv import CHANGES, FactorGraphRV
from pymc_mrf.distributions.intractable import IntractableLogPartition
from pymc_mrf.distributions.log_partition import FactorLogPartition, LogPartition
from pymc_mrf.distributions.mrf_rv import IMPOSSIBLE, MarkovRandomFieldRV
from pymc_mrf.distributions.pseudo_likelihood import (
    FactorLogPseudoLikelihood,
    FactorLogPseudoLikelihoodGradient,
    LogPseudoLikelihood,
    LogPseudoLikelihoodGradient,
)
from pymc_mrf.distributions.spike_and_slab import Included
from pymc_mrf.graph import tree_arrays, tree_layout
from pymc_mrf.graph.factor_links import factor_links
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels import (
    crp,
    factor_pseudo_likelihood,
    factor_tree_sampling,
    gibbs,
    junction_tree,
    junction_tree_logs,
    junction_tree_loops,
    log_scores,
    possible_states,
    pseudo_likelihood,
    vector_sums,
)

# one stamp for all: a change in this file, in any of these kernels or in the layout of a junction tree, which
# compiled functions contain as constants, recompiles everything here
VERSION = source_version(
    sys.modules[__name__],
    crp,
    factor_pseudo_likelihood,
    factor_tree_sampling,
    gibbs,
    junction_tree,
    junction_tree_logs,
    junction_tree_loops,
    log_scores,
    possible_states,
    pseudo_likelihood,
    tree_arrays,
    tree_layout,
    vector_sums,
)


@register_funcify_default_op_cache_key(LogPseudoLikelihood)
def _numba_log_pseudo_likelihood(op, **kwargs):
    graph = op.graph.arrays

    @numba_njit
    def log_pseudo_likelihood(x, edge_tables, node_tables):
        out = np.empty(x.shape[0])
        pseudo_likelihood.log_pseudo_likelihood(x, edge_tables, node_tables, graph, out)
        return out

    return log_pseudo_likelihood, VERSION


@register_funcify_default_op_cache_key(LogPseudoLikelihoodGradient)
def _numba_log_pseudo_likelihood_gradient(op, **kwargs):
    graph = op.graph.arrays

    @numba_njit
    def log_pseudo_likelihood_gradient(x, edge_tables, node_tables, cotangent):
        grad_edge, grad_node = np.empty_like(edge_tables), np.empty_like(node_tables)
        pseudo_likelihood.log_pseudo_likelihood_gradient(
            x, edge_tables, node_tables, graph, cotangent, grad_edge, grad_node
        )
        return grad_edge, grad_node

    return log_pseudo_likelihood_gradient, VERSION


@register_funcify_default_op_cache_key(FactorLogPseudoLikelihood)
def _numba_factor_log_pseudo_likelihood(op, **kwargs):
    links = factor_links(op.graph)

    @numba_njit
    def log_pseudo_likelihood(x, tables):
        out = np.empty(x.shape[0])
        factor_pseudo_likelihood.log_pseudo_likelihood(x, tables, links, out)
        return out

    return log_pseudo_likelihood, VERSION


@register_funcify_default_op_cache_key(FactorLogPseudoLikelihoodGradient)
def _numba_factor_log_pseudo_likelihood_gradient(op, **kwargs):
    links = factor_links(op.graph)

    @numba_njit
    def log_pseudo_likelihood_gradient(x, tables, cotangent):
        gradient = np.empty_like(tables)
        factor_pseudo_likelihood.log_pseudo_likelihood_gradient(x, tables, links, cotangent, gradient)
        return gradient

    return log_pseudo_likelihood_gradient, VERSION


@register_funcify_default_op_cache_key(IntractableLogPartition)
def _numba_intractable(op, **kwargs):
    @numba_njit
    def zero(*parameters):
        return np.asarray(0.0)

    return zero, VERSION


def numba_workspace(tree: JunctionTree):
    """Compiled function that allocates a workspace of the tree."""
    lengths = [len(array) for array in junction_tree.allocate(tree.arrays)]
    n_tables, n_conditional, n_belief, n_parts, n_least, n_message, n_total, n_counter = lengths

    @numba_njit
    def allocate():
        return junction_tree.Workspace(
            np.zeros(n_tables),
            np.zeros(n_conditional),
            np.zeros(n_belief),
            np.zeros(n_parts),
            np.zeros(n_least),
            np.zeros(n_message),
            np.zeros(n_total),
            np.zeros(n_counter, dtype=np.int64),
        )

    return allocate


@register_funcify_default_op_cache_key(LogPartition)
def _numba_log_partition(op, **kwargs):
    tree = op.tree.arrays
    new_workspace = numba_workspace(op.tree)

    @numba_njit
    def log_partition(edge_tables, node_tables):
        work = new_workspace()
        marginals = np.empty_like(work.tables)
        junction_tree.pack_pairwise(edge_tables, node_tables, work.tables)
        value = junction_tree.log_partition_and_marginals(tree, work.tables, work, marginals)
        n = edge_tables.size
        return (
            np.asarray(value),
            marginals[:n].copy().reshape(edge_tables.shape),
            marginals[n:].copy().reshape(node_tables.shape),
        )

    return log_partition, VERSION


@register_funcify_default_op_cache_key(FactorLogPartition)
def _numba_factor_log_partition(op, **kwargs):
    tree = op.tree.arrays
    new_workspace = numba_workspace(op.tree)

    @numba_njit
    def log_partition(tables):
        work = new_workspace()
        marginals = np.empty_like(work.tables)
        work.tables[: tables.size] = tables
        value = junction_tree.log_partition_and_marginals(tree, work.tables, work, marginals)
        return np.asarray(value), marginals[: tables.size].copy()

    return log_partition, VERSION


@register_funcify_default_op_cache_key(TieCounts)
def _numba_tie_counts(op, **kwargs):
    @numba_njit
    def tie_counts(x):
        return crp.tie_counts(x)

    return tie_counts, VERSION


@register_funcify_default_op_cache_key(Included)
def _numba_included(op, **kwargs):
    @numba_njit
    def included(x):
        return x != 0

    return included, VERSION


@numba_core_rv_funcify.register(PartitionRV)
def _numba_partition_draw(op, node):
    n = op.n

    @numba_njit
    def random(rng, alpha):
        labels = np.empty(n, dtype=np.int64)
        crp.crp_labels(alpha, labels, rng)
        return labels

    return random, VERSION


def _numba_gibbs_rows(op):
    graph, n_states, n_sweeps = op.graph.arrays, op.family.n_states, op.n_sweeps

    @numba_njit
    def fill(x, edge_tables, node_tables, rng):
        gibbs.uniform_states(x, n_states, rng)
        gibbs.gibbs_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng)

    return fill


def _numba_exact_rows(op):
    tree = op.tree.arrays
    new_workspace = numba_workspace(op.tree)

    @numba_njit
    def fill(x, edge_tables, node_tables, rng):
        work = new_workspace()
        junction_tree.pack_pairwise(edge_tables, node_tables, work.tables)
        junction_tree.collect(tree, work.tables, work)
        junction_tree.draw(tree, work, x, rng)

    return fill


@numba_core_rv_funcify.register(MarkovRandomFieldRV)
def _numba_field_draw(op, node):
    d, family = op.graph.n_nodes, op.family
    edge_statistic, node_statistic = family.edge_statistic, family.node_statistic
    # parameters lack the axes over which their tables repeat them
    edge_shape = tuple(
        -1 if k == 0 else family.n_states if k <= family.edge_axes else 1 for k in range(3)
    )
    node_shape = (-1, family.n_states if family.node_axes else 1)
    is_log_odds = family.is_log_odds
    states = np.array(family.states, dtype=np.int64)
    fill = _numba_exact_rows(op) if op.draws_exactly else _numba_gibbs_rows(op)

    @numba_njit
    def draw(rng, edge, node):
        eta = np.log(edge) - np.log1p(-edge) if is_log_odds else edge.astype(np.float64)
        edge_tables = eta.reshape(edge_shape) * edge_statistic
        node_tables = node.astype(np.float64).reshape(node_shape) * node_statistic
        x = np.empty((1, d), dtype=np.int8)
        fill(x, edge_tables, node_tables, rng)
        return states[x[0]]

    if family.node_parameter is None:

        @numba_njit
        def random(rng, edge):
            return draw(rng, edge, np.zeros(d))

    else:
        random = draw

    return random, VERSION


def _numba_factor_gibbs_rows(op):
    forest, n_sweeps = op.single_variables, op.n_sweeps
    cards, n_changes = forest.cards, CHANGES * op.n_variables
    links = factor_links(op.graph)

    @numba_njit
    def fill(x, tables, rng):
        free = np.ones(x.shape[1], dtype=np.bool_)
        for c in range(x.shape[0]):
            for i in range(x.shape[1]):
                x[c, i] = int(rng.random() * cards[i])
            if not possible_states.make_possible(x[c], free, tables, links, n_changes, rng):
                raise ValueError(IMPOSSIBLE)
        factor_tree_sampling.factor_tree_sweeps(
            x, tables, forest, n_sweeps, rng, np.zeros((0, 0, 0)), np.zeros((0, 0))
        )

    return fill


def _numba_factor_exact_rows(op):
    tree = op.tree.arrays
    new_workspace = numba_workspace(op.tree)

    @numba_njit
    def fill(x, tables, rng):
        work = new_workspace()
        work.tables[: tables.size] = tables
        if junction_tree.collect(tree, work.tables, work) == -np.inf:
            raise ValueError(IMPOSSIBLE)
        junction_tree.draw(tree, work, x, rng)

    return fill


@numba_core_rv_funcify.register(FactorGraphRV)
def _numba_factor_graph_draw(op, node):
    d = op.graph.n_variables
    fill = _numba_factor_exact_rows(op) if op.draws_exactly else _numba_factor_gibbs_rows(op)

    @numba_njit
    def random(rng, tables):
        x = np.empty((1, d), dtype=np.int8)
        fill(x, tables, rng)
        return x[0].astype(np.int64)

    return random, VERSION
