"""ConjugateConcentration: exact posteriors by quadrature, what is recognised."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from pymc.sampling.mcmc import assign_step_methods
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.hyper.conjugate import ConjugateConcentration, is_concentration
from tests.reference.dirichlet_process import crp_probability
from tests.statistics import Z
from tests.steps.hyper.models import group_model

BASE = pm.Normal.dist(0, 1)
FIRST, SECOND = np.array([0.1, 0.4, 0.1, 0.7, 0.2, 0.1, 0.4]), np.array([1.0, 1.0, 1.0, 2.0])


def model_of(n_processes, transform=True):
    with pm.Model() as model:
        options = {} if transform else {"default_transform": None}
        alpha = pm.Gamma("alpha", 1.5, 0.7, **options)
        for k in range(n_processes):
            pmrf.DirichletProcess(f"theta{k}", alpha, BASE, shape=(7, 4)[k])
    return model


def moments(labels, n_nodes=4000):
    """Mean and second moment of log alpha, by the seating probabilities of the partitions."""
    grid = np.linspace(-14, 5, n_nodes)
    log_p = stats.gamma(1.5, scale=1 / 0.7).logpdf(np.exp(grid)) + grid
    log_p += np.sum([np.log([crp_probability(one, a) for a in np.exp(grid)]) for one in labels], axis=0)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return np.array([p @ grid, p @ grid**2])


@pytest.mark.parametrize("n_processes, transform", [(1, True), (1, False), (2, True)])
def test_the_posterior_given_groups(n_processes, transform):
    model = model_of(n_processes, transform)
    with model:
        step = ConjugateConcentration([model["alpha"]], rng=3)
    point = model.initial_point() | {"theta0": FIRST, "theta1": SECOND}
    name, draws = model.rvs_to_values[model["alpha"]].name, np.empty(8000)
    for i in range(len(draws)):
        point, _ = step.step(point)
        draws[i] = point[name]
    x = draws if transform else np.log(draws)
    labels = [(0, 1, 0, 2, 3, 0, 1), (0, 0, 0, 1)]
    errors = np.array([float(az.mcse(x.reshape(4, -1))), float(az.mcse((x**2).reshape(4, -1)))])
    found = np.array([x.mean(), np.mean(x**2)])
    assert np.abs((found - moments(labels[:n_processes])) / errors).max() < Z
    # negative control: one group less
    fewer = [(0, 1, 0, 2, 2, 0, 1), (0, 0, 0, 1)]
    assert np.abs((found - moments(fewer[:n_processes])) / errors).max() > Z


def test_nothing_is_left_for_nuts():
    model = group_model()
    with model:
        assert set(assign_step_methods(model)[1]) == {pmrf.steps.GroupGibbs, ConjugateConcentration}


def process(alpha, base=BASE, **kwargs):
    return pmrf.DirichletProcess("theta", alpha, base, shape=5, **kwargs)


NOT_THESE = {
    "another prior": lambda: process(pm.LogNormal("alpha", 0, 1)),
    "an expression": lambda: process(2 * pm.Gamma("alpha", 2, 2)),
    "the base as well": lambda: process(alpha := pm.Gamma("alpha", 2, 2), pm.Normal.dist(0, alpha)),
    "another child": lambda: (
        process(alpha := pm.Gamma("alpha", 2, 2)),
        pm.Potential("u", alpha**2),
    ),
    "another transform": lambda: process(
        pm.Gamma("alpha", 2, 2, transform=pm.distributions.transforms.Interval(0, 3))
    ),
    "nothing": lambda: pm.Gamma("alpha", 2, 2),
}


@pytest.mark.parametrize("name", NOT_THESE)
def test_what_it_does_not_draw_is_refused(name):
    with pm.Model() as model:
        NOT_THESE[name]()
        assert not is_concentration(model["alpha"], model)
        with pytest.raises(ValueError, match="and alpha is no such variable: leave it to NUTS"):
            ConjugateConcentration([model["alpha"]])
