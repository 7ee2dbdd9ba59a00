"""Fields of several states with grouped parameters."""

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.statistics import Z

TRIANGLE = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])

K = 3
FIELD = np.array([[0.4, 0.0, -0.3], [-0.5, 0.2, 0.0], [0.0, 0.6, 0.1], [0.2, -0.2, 0.0]])
SCORES = [-1.0, 0.5, 2.0]
CARDS = [3, 2, 3, 3]
THRESHOLD = np.array(
    [[0.3, -0.4], [0.5, 7.0], [-0.6, 0.2], [0.1, 0.4]]
)  # 7 is beyond the states of a node


def make(kind, graph):
    """Distribution, its arguments, statistic and log tables of the nodes."""
    d = graph.n_nodes
    if kind == "potts":
        return pmrf.Potts, {"field": FIELD[:d], "n_states": K}, np.eye(K), FIELD[:d]
    cards = CARDS[:d]
    nodes = np.column_stack([np.zeros(d), THRESHOLD[:d]])
    nodes[np.arange(K) >= np.array(cards)[:, None]] = -np.inf
    arguments = {"threshold": THRESHOLD[:d], "n_states": cards, "scores": SCORES}
    return pmrf.OrdinalMRF, arguments, np.outer(SCORES, SCORES), nodes


def data(graph, statistic, nodes, n=50, seed=1):
    eta = np.array([0.9, 0.9, -0.3, 0.2])[: graph.n_edges] / np.ptp(statistic)
    p = enumeration.probabilities(graph.edges, eta[:, None, None] * statistic, nodes)
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(graph.n_nodes, K)[rows]


def model_of(kind, graph, x, likelihood, **changes):
    distribution, arguments, _, _ = make(kind, graph)
    with pm.Model() as model:
        # the logistic function of a parameter is uniform a priori
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Logistic.dist(0, 1), shape=graph.n_edges)
        arguments = {**arguments, **{k: make() for k, make in changes.items()}}
        distribution("x", theta, **arguments, graph=graph, observed=x, likelihood=likelihood)
    return model


def near(theta, exact):
    """Whether E[theta] and the number of groups are those of a posterior, within the error of particles."""
    error = np.array([float(az.mcse(theta[..., e])) for e in range(theta.shape[-1])])
    gap = np.abs(theta.mean(axis=(0, 1)) - exact.mean) - Z * error
    n_groups = np.array([[len(np.unique(row)) for row in chain] for chain in theta])
    events = [(n_groups == k).astype(float) for k in range(1, theta.shape[-1] + 1)]
    share = [abs(v.mean() - p) - Z * az.mcse(v) for v, p in zip(events, exact.n_groups[1:], strict=True)]
    return gap.max() < 0.005 and max(share) < 0.03
