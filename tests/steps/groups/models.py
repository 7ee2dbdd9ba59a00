"""Small models of grouped parameters, and what of their draws is compared with exact posteriors."""

import functools

import arviz as az
import numpy as np
import pymc as pm
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.fields.families import agreement
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.reference.grouped_posterior import grouped_posterior

EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
GRAPH = PairwiseGraph(range(4), EDGES)
THETA = np.array([0.8, 0.8, 0.35, 0.35, 0.6])
SAMPLE = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def agreement_data(n, seed, edges=EDGES, theta=THETA):
    family = agreement()
    p = enumeration.probabilities(edges, family.edge_tables(family.natural(theta)), np.zeros((4, 2)))
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(4, 2)[rows]


def agreement_model(x, *, graph=GRAPH, base=None, alpha=1.0, likelihood="auto"):
    with pm.Model(coords=pmrf.coords(graph)) as model:
        base = pm.Uniform.dist(0, 1) if base is None else base
        theta = pmrf.DirichletProcess("theta", np.float64(alpha), base, dims="edge")
        pmrf.AgreementMRF("x", theta, graph=graph, observed=x, likelihood=likelihood)
    return model


def ising():
    """J ~ Logistic(0, 1/2) is theta = sigmoid(2 J) ~ Uniform(0, 1)."""
    x = agreement_data(60, seed=2)
    with pm.Model() as model:
        J = pmrf.DirichletProcess("theta", 1.0, pm.Logistic.dist(0.0, 0.5), shape=5)
        pmrf.Ising("x", J, [0.3, 0.0, -0.2, 0.1], graph=GRAPH, observed=2 * x - 1)
    bias = 2.0 * np.array([0.3, 0.0, -0.2, 0.1])
    return model, grouped_posterior(x, EDGES, 1.0, bias=bias), lambda J: special.expit(2.0 * J)


def boltzmann():
    x = agreement_data(60, seed=2)
    bias = np.array([0.3, 0.0, -0.2, 0.1])
    with pm.Model() as model:
        w = pmrf.DirichletProcess("theta", 1.0, pm.Logistic.dist(0.0, 1.0), shape=5)
        pmrf.BoltzmannMachine("x", w, bias, graph=GRAPH, observed=x)
    return model, grouped_posterior(x, EDGES, 1.0, "product", bias), special.expit


def standardised_gaps(theta, exact):
    """Differences from the exact posterior in Monte-Carlo standard errors: P(K), E[theta], ties."""
    pairs = theta[..., :, None] == theta[..., None, :]
    u, v = np.triu_indices(theta.shape[-1], 1)
    n_groups = np.array([[len(np.unique(row)) for row in chain] for chain in theta])
    # events rarer than one in a hundred have no reliable Monte-Carlo error
    quantities = {f"P(K={k})": (n_groups == k, p) for k, p in enumerate(exact.n_groups)}
    quantities |= {
        f"P({a}~{b})": (pairs[..., a, b], exact.co_clustering[a, b]) for a, b in zip(u, v, strict=True)
    }
    quantities = {name: pair for name, pair in quantities.items() if 0.01 < pair[1] < 0.99}
    quantities |= {f"E[theta_{e}]": (theta[..., e], exact.mean[e]) for e in range(theta.shape[-1])}
    gaps = {}
    for name, (draws, value) in quantities.items():
        draws = draws.astype(float)
        assert az.ess(draws) > 200, name
        gap, error = draws.mean() - value, float(az.mcse(draws))
        # there is no error of an event that is never seen, or always
        gaps[name] = gap / error if error else np.copysign(np.inf, gap)
    return gaps


@functools.cache
def small_model(likelihood):
    return agreement_model(agreement_data(50, seed=1), likelihood=likelihood)
