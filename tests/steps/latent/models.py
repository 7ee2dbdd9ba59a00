"""Hidden Potts fields on a grid."""

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.graph import builders
from pymc_mrf.steps.latent import latent_field
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.reference import latent_field as reference
from tests.statistics import assert_mean_close

GRID = builders.grid(3, 3)
MU = np.array([-0.8, 0.1, 1.0])
Y = np.array([0.3, -1.0, 0.9, 0.2, -0.4, 1.3, 0.1, -0.8, 1.1])


def agreement_tables(J, n_edges, n_states):
    return np.full((n_edges, 1, 1), J) * np.eye(n_states)


def hidden_potts(coupling=0.6):
    with pm.Model() as model:
        x = pmrf.Potts("x", np.float64(coupling), graph=GRID, n_states=3)
        pm.Normal("y", pm.math.stack(list(MU))[x], 0.9, observed=Y)
    return model


def tree_mode(monkeypatch):
    """Do not draw small fields as a whole."""
    monkeypatch.setattr(latent_field, "EXACT_CELLS", 0)


def make(model, name="x", n_sweeps=1, **options):
    return TreeGibbs([model[name]], model=model, rng=1, n_sweeps=n_sweeps, **options)


def run(step, model, n, seed=1, burn_in=100):
    """Values (n, ...) of a chain of `step` alone, and its mean acceptance probability."""
    step.setup_chain(np.random.default_rng(seed), burn_in, n)
    point, draws, accepts = model.initial_point(), [], []
    for _ in range(burn_in + n):
        point, [stats] = step.step(point)
        draws.append(point[step.vars[0].name])
        accepts.append(stats["tree_gibbs_accept"])
    return np.array(draws[burn_in:]), np.mean(accepts)


def assert_marginals(draws, configs, p, edges, n_states, batches=50):
    """Node marginals and edge agreements of a chain, errors from batch means."""
    features = (draws[..., None] == np.arange(n_states)).reshape(len(draws), -1)
    agree = np.array([draws[:, u] == draws[:, v] for u, v in edges]).T
    expected = [
        reference.node_marginals(configs, p, n_states).ravel(),
        reference.agreements(configs, p, edges),
    ]
    for values, exact in zip((features, agree), expected, strict=True):
        means = values.reshape(batches, -1, values.shape[1]).mean(axis=1)
        assert_mean_close(means, exact)
