"""Models whose parameters `Exchange` samples."""

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.distributions.multistate import Potts
from pymc_mrf.graph.structure import PairwiseGraph
from tests.insides import coordinates_of
from tests.reference import enumeration
from tests.reference.exchange import ising_tables

EDGES = [(0, 1), (1, 2), (0, 2)]
GRAPH = PairwiseGraph(range(3), EDGES)
COVARIATE = np.array([-1.0, 0.3, 1.2])
SAMPLE = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def draw_data(coupling, n, seed, field=0.0, edges=EDGES, d=3):
    """State indices (n, d) of an Ising model, by enumeration."""
    p = enumeration.probabilities(edges, *ising_tables(coupling, field, len(edges), d))
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(d, 2)[rows]


X = draw_data(0.3, 30, seed=1)


def shared_coupling(x=X, likelihood="particles", sd=1.0, **options):
    with pm.Model() as model:
        J = pm.Normal("J", 0.0, np.float64(sd))
        pmrf.Ising("x", J, graph=GRAPH, observed=2 * x - 1, likelihood=likelihood, **options)
    return model


def regression(x=X, likelihood="particles"):
    with pm.Model() as model:
        b0, b1 = pm.Normal("b0", 0, 1), pm.Normal("b1", 0, 1)
        pmrf.Ising("x", b0 + b1 * COVARIATE, graph=GRAPH, observed=2 * x - 1, likelihood=likelihood)
    return model


def groups(likelihood="particles", n_groups=4, n=40):
    truth = np.random.default_rng(3).normal(0.3, 0.3, n_groups)
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 0.5)
        J = pm.Normal("J", mu, tau, shape=n_groups)
        field = pm.Normal("field", 0, 1, shape=n_groups)
        for g in range(n_groups):
            x = 2 * draw_data(truth[g], n, seed=g) - 1
            pmrf.Ising(f"x{g}", J[g], field[g], graph=GRAPH, observed=x, likelihood=likelihood)
    return model


def run(step, point, n, seed=1, tune=200):
    """Value vectors (n, k) of a chain of `step` alone, after tuning."""
    step.setup_chain(np.random.default_rng(seed), tune, n)
    draws = []
    for t in range(tune + n):
        if t == tune:
            step.stop_tuning()
        point, _ = step.step(point)
        draws.append(coordinates_of(step, point))
    return np.array(draws[tune:])


def gap(draws, expected):
    """Difference of a mean from its exact value in Monte-Carlo standard errors."""
    draws = np.asarray(draws)[None, :]
    assert az.ess(draws) > 200
    return float((draws.mean() - expected) / az.mcse(draws))


def moments_gaps(draws, mean, sd):
    return [gap(draws, mean), gap((draws - mean) ** 2, sd**2)]


def potts_model(x, likelihood):
    table = np.array([[1.0, 0.2, 0.0], [0.5, 0.8, 0.0], [0.0, 0.0, 1.2]])
    x = x + (x == 1) * (np.arange(len(x)) % 2)[:, None]  # three states
    with pm.Model() as model:
        J = pm.Normal("J", 0, 1)
        Potts("x", J * table[None], graph=GRAPH, n_states=3, observed=x, likelihood=likelihood)
    return model
