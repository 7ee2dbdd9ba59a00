"""Missing data beside a hidden field: the field is drawn without them, and they are drawn from it."""

from itertools import product

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import pymc_mrf as pmrf
from pymc_mrf.steps.latent.latent_imputed import Imputed, can_be_drawn
from tests.insides import evidence_of
from tests.statistics import Z

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
GRAPH = pmrf.graphs.grid(2, 2)
LEVELS = np.array([-1.0, 0.5, 2.0])
MISSING = np.array([False, True, False, True])


def chain(model, n):
    """Draws (n, ...) of a single step, by name; those of the values of PyMC."""
    step = pmrf.steps.TreeGibbs([model["x"]], model=model)
    step.setup_chain(np.random.default_rng(1), 0, n)
    point, found = model.initial_point(), []
    for _ in range(n):
        point, _ = step.step(point)
        found.append(point)
    return step, {name: np.array([draw[name] for draw in found]) for name in point}


@pytest.mark.parametrize("sigma", [0.01, 1.0])
@pytest.mark.slow
def test_posterior_is_that_of_enumeration(sigma):
    """Also where an entry would determine its state, and the state the entry."""
    y = np.ma.masked_array([-0.9, 0.0, 0.4, 0.0], MISSING)
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.7, graph=GRAPH, n_states=3)
        pm.Normal("y", pt.constant(LEVELS)[x], sigma, observed=y)
    step, draws = chain(model, n := 4000)
    assert [rv.name for rv in evidence_of(step).imputed] == ["y_unobserved"]
    states = np.array(list(product(range(3), repeat=4)))
    u, v = GRAPH.edges.T
    logp = 0.7 * (states[:, u] == states[:, v]).sum(axis=1)
    logp = logp + norm.logpdf(y.data, LEVELS[states], sigma)[:, ~MISSING].sum(axis=1)
    p = np.exp(logp - logsumexp(logp))
    for k in range(3):
        expected = p @ (states == k)
        sd = np.sqrt(expected * (1 - expected) / n)
        assert (np.abs((draws["x"] == k).mean(axis=0) - expected) < Z * sd + 1e-12).all()
    entries, where = draws["y_unobserved"], np.flatnonzero(MISSING)
    mean = p @ LEVELS[states][:, where]
    variance = p @ LEVELS[states][:, where] ** 2 + sigma**2 - mean**2
    assert (np.abs(entries.mean(axis=0) - mean) < Z * np.sqrt(variance / n)).all()
    residuals = entries - LEVELS[draws["x"]][:, where]
    assert abs(residuals.std() / sigma - 1) < Z / np.sqrt(2 * residuals.size)


MEANS = np.array([[-1.0, 0.0, 1.0], [0.5, 0.5, 0.0], [1.0, -1.0, 2.0]])
COVS = 0.2 * np.array([np.eye(3) + c for c in (0.0, 0.8, 0.3)])
HOLES = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)


@pytest.mark.slow
@pytest.mark.parametrize("by_class", [True, False])
def test_posterior_of_missing_components_is_that_of_enumeration(by_class):
    """Of normal vectors whose components are correlated, so that those that are seen tell of the others."""
    y = np.ma.masked_array(MEANS[[0, 1, 2, 0]] + 0.3, HOLES)
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.7, graph=GRAPH, n_states=3)
        cov = pt.constant(COVS)[x] if by_class else COVS[1]
        pm.MvNormal("y", pt.constant(MEANS)[x], cov, observed=y)
    step, draws = chain(model, n := 4000)
    assert [rv.name for rv in evidence_of(step).imputed] == ["y_unobserved"]
    covs = COVS if by_class else COVS[[1, 1, 1]]
    logp, mean, second = np.zeros((4, 3)), np.zeros((4, 3, 3)), np.zeros((4, 3, 3))
    for (i, hole), k in product(enumerate(HOLES), range(3)):
        seen, cov = ~hole, covs[k]
        logp[i, k] = multivariate_normal.logpdf(y.data[i, seen], MEANS[k, seen], cov[np.ix_(seen, seen)])
        weights = cov[:, seen] @ np.linalg.inv(cov[np.ix_(seen, seen)])
        mean[i, k] = MEANS[k] + weights @ (y.data[i, seen] - MEANS[k, seen])
        second[i, k] = np.diag(cov - weights @ cov[seen]) + mean[i, k] ** 2
    states = np.array(list(product(range(3), repeat=4)))
    u, v = GRAPH.edges.T
    p = 0.7 * (states[:, u] == states[:, v]).sum(axis=1) + logp[np.arange(4), states].sum(axis=1)
    p = np.exp(p - logsumexp(p))
    q = np.array([p @ (states == k) for k in range(3)]).T
    found = np.array([(draws["x"] == k).mean(axis=0) for k in range(3)]).T
    assert (np.abs(found - q) < Z * np.sqrt(q * (1 - q) / n) + 1e-12).all()
    mean = np.einsum("ik,ikb->ib", q, mean)[HOLES]
    sd = np.sqrt(np.einsum("ik,ikb->ib", q, second)[HOLES] - mean**2)
    entries = draws["y_unobserved"]
    assert (np.abs(entries.mean(axis=0) - mean) < Z * sd / np.sqrt(n)).all()
    assert (np.abs(entries.std(axis=0) / sd - 1) < 2 * Z / np.sqrt(n)).all()


def test_missing_components_on_which_others_depend_are_evidence_as_before():
    y = np.ma.masked_array(np.zeros((4, 3)), HOLES)
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.7, graph=GRAPH, n_states=3)
        whole = pm.MvNormal("y", pt.constant(MEANS)[x], COVS[0], observed=y)
        pm.Normal("z", whole.sum(axis=1), 1.0, observed=np.zeros(4))
    step, draws = chain(model, 5)
    assert evidence_of(step).imputed == [] and evidence_of(step).terms == ["y_observed"]
    assert (draws["y_unobserved"] == draws["y_unobserved"][0]).all()


def test_entries_with_a_transform_and_counts():
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.0, graph=GRAPH, n_states=2)
        mean = pt.constant([1.0, 50.0])[x]
        seen = np.ma.masked_array([1.0, 1.0, 50.0, 50.0], MISSING)
        pm.Gamma("y", mu=mean, sigma=0.1 * mean, observed=seen)
        pm.Poisson("z", mean, observed=seen.astype(int))
    step, draws = chain(model, 400)
    assert {rv.name for rv in evidence_of(step).imputed} == {"y_unobserved", "z_unobserved"}
    assert draws["z_unobserved"].dtype == model.rvs_to_values[model["z_unobserved"]].dtype
    for entries in (np.exp(draws["y_unobserved_log__"]), draws["z_unobserved"]):
        for state, level in enumerate((1.0, 50.0)):
            of_state = entries[draws["x"][:, MISSING] == state]
            assert len(of_state) > 300
            assert abs(of_state.mean() / level - 1) < Z / np.sqrt(len(of_state))


@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw")
@pytest.mark.parametrize("case", ["in a potential", "of another variable", "a field", "not drawn"])
def test_what_is_evidence_as_before(case):
    with pm.Model() as model:
        x = pmrf.Ising("x", 0.5, graph=GRAPH)
        if case == "a field":
            z = pmrf.Ising("z", 0.5, 0.3 * x, graph=GRAPH, likelihood="exact")
        elif case == "not drawn":
            z = pm.CustomDist("z", x, logp=lambda value, mu: -((value - mu) ** 2), shape=4)
        else:
            z = pm.Normal("z", x, 1.0)
        if case == "in a potential":
            pm.Potential("p", -(z**2).sum())
        elif case == "of another variable":
            pm.Normal("y", z, 1.0, observed=np.ones(4))
    step, draws = chain(model, 5)
    assert evidence_of(step).imputed == []
    assert evidence_of(step).terms == ["z"]
    assert (draws["z"] == draws["z"][0]).all()


def test_draws_are_those_of_the_generator():
    with pm.Model() as model:
        x = pmrf.Ising("x", 0.5, graph=GRAPH)
        z = pm.StudentT("z", 5, mu=x, sigma=1.0)
    point = model.initial_point()
    assert can_be_drawn(z, model, point)
    first, again, other = (
        Imputed([z], model).draw(point, np.random.default_rng(seed))["z"] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_missing_values_of_mixtures_are_left_to_other_steps():
    """Their generators lie inside of what is mixed, where none is given anew for every draw."""
    y = np.ma.masked_array([0, 4, 6, 1], MISSING)
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        x = pmrf.Potts("x", 0.7, graph=GRAPH, n_states=3)
        pm.ZeroInflatedPoisson("y", 0.9, pt.constant([1.0, 3.0, 6.0])[x], observed=y)
    assert evidence_of(pmrf.steps.TreeGibbs([model["x"]], model=model)).imputed == []
