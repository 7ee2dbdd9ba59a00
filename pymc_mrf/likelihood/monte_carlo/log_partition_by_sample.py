"""PyTensor Op for the log-partition function of a field by a sample at a reference, with gradient."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Op

from pymc_mrf.distributions._numba import NumbaOp
from pymc_mrf.kernels.views import log_partition_by_sample as kernels
from pymc_mrf.likelihood.edges.edge_field import features_at, features_of, lift_of
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import node_limits


class LogPartitionBySample(NumbaOp, Op):
    """Log-partition function, less that at the reference, and its gradient by the natural parameters.

    Inputs are the natural parameters (p,), those of the edges first, and the arrays of `sample_inputs`.
    """

    __props__ = ()

    def outputs(self, *inputs):
        return [pt.dscalar(), pt.dvector()]

    def implementation(self, jit):
        """Weigh the sample as the view of the edge sampler does."""

        def log_partition(natural, *arrays):
            gradient = np.zeros(natural.shape[0])
            value = kernels.log_partition_by_sample(natural, *arrays, gradient)
            return np.asarray(value), gradient

        return log_partition

    def pullback(self, inputs, outputs, cotangents):
        """Multiply by the gradient; the sample is not differentiated."""
        gradient = self(*inputs, return_list=True)[1]
        return [cotangents[0] * gradient, *(disconnected_type() for _ in inputs[1:])]

    def connection_pattern(self, node):
        return [[True, False], *([False, False] for _ in node.inputs[1:])]


def log_partition_by_sample(graph, family, reference, natural):
    """Symbolic log-partition function, up to a constant, at natural parameters, by a `Reference`."""
    F, G = features_of(family, graph.n_nodes), family.node_basis
    pair, products = family.edge_products(graph.edges)
    edges = graph.edges[pair]
    plain = reference.recentred(np.zeros_like(reference.centre), lift_of(family, graph.n_nodes), edges)
    arrays = [
        edges,
        products,
        F,
        G,
        np.ascontiguousarray(features_at(F, plain.states).swapaxes(0, 1), dtype=np.float32),
        plain.states,
        plain.place,
        plain.gap,
        plain.excess,
        plain.apart,
        np.concatenate([plain.reach, node_limits(G, graph.n_nodes)]),
    ]
    # shared, so that no graph contains, compares or compiles them
    inputs = [pytensor.shared(array, borrow=True) for array in arrays]
    return LogPartitionBySample()(natural, *inputs, return_list=True)[0]
