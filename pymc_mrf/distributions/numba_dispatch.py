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
from pymc_mrf.distributions.intractable import IntractableLogPartition
from pymc_mrf.distributions.log_partition import LogPartition
from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
from pymc_mrf.distributions.pseudo_likelihood import LogPseudoLikelihood, LogPseudoLikelihoodGradient
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.kernels import crp, edge_posterior, gibbs, junction_tree, pseudo_likelihood

# one stamp for all: a change in this file or in any of these kernels recompiles everything here
VERSION = source_version(
    sys.modules[__name__], crp, edge_posterior, gibbs, junction_tree, pseudo_likelihood
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


@register_funcify_default_op_cache_key(IntractableLogPartition)
def _numba_intractable(op, **kwargs):
    @numba_njit
    def zero(*parameters):
        return np.asarray(0.0)

    return zero, VERSION


def numba_workspace(tree: JunctionTree):
    """Compiled function that allocates a workspace of the tree."""
    lengths = [len(array) for array in junction_tree.allocate(tree.arrays)]
    n_tables, n_conditional, n_belief, n_message, n_total, n_counter = lengths

    @numba_njit
    def allocate():
        return junction_tree.Workspace(
            np.zeros(n_tables),
            np.zeros(n_conditional),
            np.zeros(n_belief),
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


@register_funcify_default_op_cache_key(TieCounts)
def _numba_tie_counts(op, **kwargs):
    @numba_njit
    def tie_counts(x):
        return crp.tie_counts(x)

    return tie_counts, VERSION


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
    d = op.graph.n_nodes
    edge_statistic, node_statistic = op.family.edge_statistic, op.family.node_statistic
    states = np.array(op.family.states, dtype=np.int64)
    fill = _numba_exact_rows(op) if op.draws_exactly else _numba_gibbs_rows(op)

    @numba_njit
    def draw(rng, eta, b):
        edge_tables = eta.reshape(-1, 1, 1) * edge_statistic
        node_tables = b.reshape(-1, 1) * node_statistic
        x = np.empty((1, d), dtype=np.int8)
        fill(x, edge_tables, node_tables, rng)
        return states[x[0]]

    if op.family.node_parameter is None:

        @numba_njit
        def random(rng, theta):
            return draw(rng, np.log(theta) - np.log1p(-theta), np.zeros(d))

    else:

        @numba_njit
        def random(rng, eta, b):
            return draw(rng, eta.astype(np.float64), b.astype(np.float64))

    return random, VERSION
