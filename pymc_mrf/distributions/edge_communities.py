"""`EdgeCommunities`: nodes fall into an unknown number of communities, on which the edges may depend.

A mixture of finite mixtures (Miller & Harrison, 2018; of networks Geng, Bhattacharya & Pati, 2019):

    K ~ Poisson(rate) given K > 0,  pi | K ~ Dirichlet(gamma, ..., gamma),  component of a node ~ pi

with K and pi integrated out. The labels are those of the communities that have nodes, in order of
appearance, so that a partition of the nodes is one vector. With t communities of sizes n_c,

    log p(z) = log V(t) + sum_c [ log Gamma(gamma + n_c) - log Gamma(gamma) ],
    V(t) = sum_K p(K) K! / (K - t)! Gamma(gamma K) / Gamma(gamma K + d).
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, _support_point
from pymc.logprob.abstract import _logprob

from pymc_mrf.checks import check_labels
from pymc_mrf.distributions._numba import variable_of
from pymc_mrf.distributions.arguments import entries_of_shape, positive_scalar
from pymc_mrf.distributions.dirichlet_process import LabelsRV, TieCounts
from pymc_mrf.distributions.scalar import KnownLength
from pymc_mrf.graph.lagged import as_directed_or_not

MAX_RATE = 50.0
N_TERMS = 250  # of the sum over K: from K = t + 250 on, a term is less than a quarter of the one before


def log_partition_weights(d: int, gamma: Any, rate: Any) -> Any:
    """Log V(t) at t = 1, ..., d, symbolic (d,)."""
    t = np.arange(1, d + 1)[:, None]
    K = (t + np.arange(N_TERMS)[None, :]).astype(np.float64)  # (d, terms)
    # K! of K! / (K - t)! cancels that of the Poisson probability
    terms = (
        K * pt.log(rate) - pt.gammaln(K - t + 1.0) + pt.gammaln(gamma * K) - pt.gammaln(gamma * K + d)
    )
    # not by `pt.logsumexp`, for which PyTensor calls the C compiler if gamma and the rate are constants
    top = pt.max(terms, axis=1)
    return top + pt.log(pt.exp(terms - top[:, None]).sum(axis=1)) - pt.log(pt.expm1(rate))


class EdgeCommunitiesRV(LabelsRV):
    """Labels of n nodes under a mixture of finite mixtures."""

    name = "EdgeCommunities"
    signature = "(),()->(n)"

    def implementation(self, jit):
        from pymc_mrf.kernels.groups import communities  # imports numba

        n = self.n

        def random(rng, gamma, rate):
            labels = np.empty(n, dtype=np.int64)
            communities.mixture_labels(gamma, rate, labels, rng)
            return labels

        return random


@_support_point.register(EdgeCommunitiesRV)
def _one_community(op, rv, *inputs):
    return pt.zeros(rv.shape, dtype="int64")


@_logprob.register(EdgeCommunitiesRV)
def _edge_communities_logprob(op, values, *inputs, **kwargs):
    [z] = values
    gamma, rate = inputs[-2:]
    n = TieCounts()(z)
    t = pt.round(pt.sum(1.0 / n)).astype("int64")
    logp = log_partition_weights(op.n, gamma, rate)[t - 1] + pt.sum(
        (pt.gammaln(gamma + n) - pt.gammaln(gamma)) / n
    )
    earlier = np.tril(np.ones((op.n, op.n), dtype=bool), -1)
    first = ~pt.any(pt.eq(z[:, None], z[None, :]) & earlier, axis=1)
    in_order = pt.all(~first | pt.eq(z, pt.cumsum(first.astype("int64")) - 1))
    return check_parameters(
        pt.switch(in_order, logp, -np.inf),
        gamma > 0,
        rate > 0,
        rate <= MAX_RATE,
        msg=f"concentration > 0, 0 < rate <= {MAX_RATE:g}",
    )


class EdgeCommunities(KnownLength, Discrete):
    r"""Communities of nodes, their number unknown: a stochastic block prior of a structure.

    `same_community` tells of every edge whether its ends are in one community, and any expression makes the
    prior probability of the edge from that.

    Parameters
    ----------
    name : str
    concentration : tensor_like of float
        Positive parameter of the symmetric Dirichlet distribution of the communities' proportions: less
        than 1 for communities of very different sizes.
    rate : tensor_like of float
        Parameter of the Poisson distribution of the number of communities, those without nodes
        included, which is 1 or more; at most 50.
    **kwargs
        ``shape`` or ``dims`` give the number of nodes; other keyword arguments as for every PyMC
        distribution.

    Raises
    ------
    ValueError
        If a parameter is no number or outside its domain, or the number of nodes cannot be known.

    Notes
    -----
    The value is a vector of labels in order of appearance: the first node has label 0, and no node a label
    greater by more than 1 than all before it. Labels are no names: `group_labels`, `n_groups`,
    `co_clustering` and `point_grouping` read the draws, and means over draws of a label say
    nothing.

    Of the two usual priors of partitions this one knows the number of communities: under a Dirichlet process
    the posterior has small communities too many, whatever the amount of data (Miller & Harrison, 2014).

    `CommunityGibbs` moves the labels. Nothing makes edges likelier within communities than between them but
    the priors of the two probabilities: give `p_between` less mass at large values than `p_within`.

    References
    ----------
    Miller & Harrison (2014, 2018); Geng, Bhattacharya & Pati (2019).

    Examples
    --------
    >>> with pm.Model(coords=pymc_mrf.coords(graph)):
    ...     community = pymc_mrf.EdgeCommunities("community", dims="node")
    ...     p_within = pm.Beta("p_within", 2, 2)
    ...     p_between = pm.Beta("p_between", 1, 9)
    ...     same = pymc_mrf.same_community(community, graph)
    ...     p = pm.math.switch(same, p_within, p_between)
    ...     weight = pymc_mrf.SpikeAndSlab("weight", p, pm.Normal.dist(0, 1), dims="edge")
    ...     pymc_mrf.BoltzmannMachine("x", weight, graph=graph, observed=x)
    """

    rv_type = EdgeCommunitiesRV

    rv_op = staticmethod(variable_of)

    @classmethod
    def dist(cls, concentration=1.0, rate=1.0, *, shape=None, **kwargs):
        """Unregistered variable; see the class."""
        shape = entries_of_shape(shape)
        if len(shape) != 1:
            raise ValueError(f"EdgeCommunities is one vector with an entry for each node, not {shape}")
        gamma, rate = (
            positive_scalar(concentration, "concentration"),
            positive_scalar(rate, "rate", MAX_RATE),
        )
        return super().dist([gamma, rate], op=EdgeCommunitiesRV(shape[0]), **kwargs)


def same_community(labels: Any, graph: Any) -> Any:
    """Whether the two nodes of an edge have equal labels, for every edge.

    Parameters
    ----------
    labels : (d,) tensor_like of int
        Labels of the nodes, such as `EdgeCommunities`, or numbers.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph
        The candidate edges; a node is in one community with itself.

    Returns
    -------
    (r,) TensorVariable of bool

    Raises
    ------
    ValueError
        If there is not one label for each node.
    """
    graph = as_directed_or_not(graph)
    check_labels(labels, graph.nodes, "labels", "node")
    labels = pt.as_tensor_variable(labels)
    if labels.type.ndim != 1 or labels.type.shape[0] not in (None, graph.n_nodes):
        raise ValueError(
            f"labels must be a vector with one label for each of the {graph.n_nodes} nodes of the graph, but "
            f"its shape is {labels.type.shape}"
        )
    u, v = graph.edges.T
    return pt.eq(labels[u], labels[v])
