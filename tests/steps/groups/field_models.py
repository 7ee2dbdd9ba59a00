"""Fields of small graphs with grouped parameters, their data and draws."""

import numpy as np
import pymc as pm

from pymc_mrf.distributions.parents import field_node
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.steps.groups.models import standardised_gaps

EDGES = [(0, 1), (1, 2), (2, 3), (3, 0)]
CYCLE = PairwiseGraph(range(4), EDGES)
MISSING = -1
OPTIONS = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def draw(graph, eta, statistic, n, seed, bias=0.0):
    K = len(statistic)
    nodes = bias * np.arange(K) * np.ones((graph.n_nodes, 1))
    p = enumeration.probabilities(graph.edges, np.asarray(eta)[:, None, None] * statistic, nodes)
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(graph.n_nodes, K)[rows]


def sample(model, draws=None, seed=1):
    """Whatever step pm.sample chooses; those of GroupGibbs have several rounds."""
    if draws is None:
        draws = 600 if field_node(model.observed_RVs[0]).op.likelihood.name == "exact" else 2000
    idata = pm.sample(draws, tune=150, chains=2, cores=1, random_seed=seed, model=model, **OPTIONS)
    assert 0.5 < float(idata.sample_stats["group_gibbs_acceptance"].mean()) <= 1.0
    return idata.posterior


def gaps_of(theta, exact):
    return np.abs(list(standardised_gaps(theta, exact).values())).max()


def masked(x, share=0.25):
    """The array, some of its cells masked."""
    return np.ma.masked_array(x, np.random.default_rng(3).random(x.shape) < share)
