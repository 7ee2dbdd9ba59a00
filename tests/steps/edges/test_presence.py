"""What sweeps tell of the probability of every edge, against enumeration and against the draws."""

import copy

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import special, stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.edges.presence_record import (
    N_FIRST,
    PresenceRecord,
    period_of,
    read_batches,
    share_of,
)
from tests.marks import slow
from tests.statistics import Z
from tests.steps.edges import (
    arrow_models,
    block_models,
    gaussian_models,
    mixed_models,
    small_models,
    state_models,
)
from tests.steps.edges.binary_models import (
    TRIANGLE,
    boltzmann_data,
    fixed_bias_model,
    fixed_p,
    random_bias_model,
    reference,
)


def told_by(model, n_draws, name="w", tune=200, n_chains=2, seed=1):
    """Log probabilities (2, n_chains, n_draws, r) of presence and absence; draws of the variable."""
    with model:
        step = EdgeGibbs(list(model.free_RVs))
    parts = getattr(step, "methods", [step])
    logs, draws = [], []
    for chain in range(n_chains):
        for k, part in enumerate(parts):
            part.setup_chain(np.random.default_rng([seed, chain, k]), tune, n_draws)
        point, told, values = model.initial_point(), [], []
        for i in range(tune + n_draws):
            if i == tune:
                step.stop_tuning()
            point, all_stats = step.step(point)
            told += [s[key] for s in all_stats for key in s if key == f"edge_gibbs_presence_{name}"]
            values.append(point[name])
        assert np.isnan(told[:tune]).all()
        logs.append(told[tune:])
        draws.append(values[tune:])
    batches = read_batches(np.array(logs), (len(logs[0][0]) - N_FIRST) // 2)
    return np.array(batches), np.array(draws)


def log_odds(logs, e):
    """Mean log odds of edge e, and the Monte-Carlo error of the smaller probability, relative to it."""
    means = special.logsumexp(logs[..., e], axis=(1, 2)) - np.log(logs[0, ..., e].size)
    k = int(means[1] < means[0])
    smaller = np.exp(logs[k, ..., e] - means[k])
    odds = means[k] - np.log(-np.expm1(means[k]))
    return (-odds if k else odds), float(az.mcse(smaller))


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("n", [80, 600])
def test_odds_of_all_edges(likelihood, n):
    """Also of those that no chain loses: of 600 rows, one with a probability of absence of 1e-31."""
    x = boltzmann_data(n, seed=1)
    logs, _ = told_by(fixed_bias_model(x, likelihood=likelihood), 2500)
    exact = reference(x, likelihood, fixed_p(0.4), n_nodes=7)
    for e in range(6):
        found, error = log_odds(logs, e)
        assert error < 1.0
        # of few draws that carry the mean the error is itself uncertain
        assert abs(found - exact.log_odds[e]) < Z * error + error**2, e
    # negative control: another p is another posterior
    other = reference(x, likelihood, fixed_p(0.5), n_nodes=7).log_odds
    gaps = [abs(found - other[e]) / error for e in range(6) for found, error in [log_odds(logs, e)]]
    assert max(gaps) > Z


def hopeless_model():
    """Many rows of edges that are present for sure, and of others that are most likely absent."""
    return fixed_bias_model(boltzmann_data(4000, seed=3), p=0.1)


def random_p():
    x = boltzmann_data(80, seed=1)
    return small_models.edge_model(x=x, slab=pm.Normal.dist(0, 1))


def kinetic_with_biases():
    return arrow_models.small_model()


def difference():
    return state_models_difference("exact")


def state_models_difference(likelihood):
    """Parameters w + delta / 2 and w - delta / 2 of two fields."""
    family = state_models.MIXED
    graph = state_models.GRAPH
    b = [state_models.node_parameters(family, 4, seed) for seed in (3, 4)]
    with pm.Model() as model:
        w, delta = (
            pmrf.SpikeAndSlab(name, 0.4, pm.Normal.dist(0, 0.5), shape=6) for name in ("w", "delta")
        )
        for k, (name, half) in enumerate(zip("xy", (0.5, -0.5), strict=True)):
            x = state_models.field_data(family, graph, state_models.WEIGHT, b[k], 50, k)
            state_models.declare(name, family, w + half * delta, b[k], graph, x, likelihood)
    return model


def heavy_slab(slab):
    return fixed_bias_model(boltzmann_data(30, seed=2), slab=slab)


MODELS = {
    "exact, biases": lambda: random_bias_model(boltzmann_data(80, seed=2)[:, :3]),
    "pseudo, biases": lambda: random_bias_model(boltzmann_data(80, seed=2)[:, :3], likelihood="pseudo"),
    "Gaussian": lambda: gaussian_of(30),
    "Gaussian, few rows": lambda: gaussian_of(3),
    "blocks": block_models.small_model,
    "mixed": mixed_models.small_model,
    "arrows": arrow_models.small_model,
    "Cauchy": lambda: heavy_slab(pm.Cauchy.dist(0, 1)),
    "tabulated": lambda: heavy_slab(pm.Gamma.dist(0.8, 1.0)),
}


def gaussian_of(n):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        x = gaussian_models.measurements(n, 5)
        pmrf.GaussianMRF("x", w, gaussian_models.DIAGONAL, graph=TRIANGLE, observed=x)
    return model


def presence_of(draws, r):
    """Indicators (chain, draw, r); of edges with blocks, of their first parameters."""
    present = (draws != 0.0).astype(float)
    if present.shape[-1] == r:
        return present
    raise AssertionError(present.shape)


def gaps_to_draws(logs, present):
    """Mean differences of told probabilities and indicators, in Monte-Carlo errors."""
    found = []
    for e in range(present.shape[-1]):
        for told, seen in ((np.exp(logs[0]), present), (np.exp(logs[1]), 1.0 - present)):
            off = told[..., e] - seen[..., e]
            if 0.01 < seen[..., e].mean() < 0.99:
                found.append(off.mean() / float(az.mcse(off)))
    return np.abs(found)


@pytest.mark.parametrize("name", MODELS)
def test_told_probabilities_are_those_of_the_draws(name):
    """Whatever the likelihood, the slab and the number of parameters: the means differ by chance alone."""
    model = MODELS[name]()
    logs, draws = told_by(model, 1500)
    r = logs.shape[-1]
    if draws.shape[-1] != r:
        heads = np.cumsum([0, *model["w"].owner.op.blocks[:-1]])
        draws = draws[..., heads]
    present = (draws != 0.0).astype(float)
    gaps = gaps_to_draws(logs, present)
    assert len(gaps) and gaps.max() < Z, gaps
    # and they vary less
    shares = present.mean(axis=(0, 1))
    doubtful = (shares > 0.05) & (shares < 0.95)
    told = np.exp(logs[0])[..., doubtful]
    assert told.var(axis=(0, 1)).mean() < present[..., doubtful].var(axis=(0, 1)).mean()
