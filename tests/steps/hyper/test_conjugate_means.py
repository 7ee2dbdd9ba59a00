"""ConjugateMeans: full conditionals by the model's own density, exact posteriors, what is recognised."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.sampling.mcmc import assign_step_methods
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.hyper.conjugate import ConjugateMeans, field_of_means
from pymc_mrf.steps.latent.missing_cells import GaussianGibbs
from tests.marks import slow
from tests.posteriors import draws_of, furthest
from tests.reference.gaussian import fixed_diagonal_posterior
from tests.statistics import Z
from tests.steps.edges import gaussian_models, mixed_models
from tests.steps.edges.gaussian_models import DIAGONAL, EDGES, TRIANGLE, measurements

SCALE = np.array([2.0, 0.5, 1.0])
WEIGHT = np.array([0.4, 0.0, -0.3])


def normal_means():
    return pm.Normal("mean", [0.5, -1.0, 0.0], 0.3 * pm.HalfNormal("sd", 1), shape=3)


def gaussian_model(mean=normal_means, x=None, gaps=False):
    return gaussian_models.small_model(
        x=gaussian_models.rows(20, gaps) if x is None else x, mean=mean, scale=SCALE
    )


def flat_model():
    return gaussian_model(lambda: pm.Flat("mean", shape=3))


def mixed_model(likelihood="exact", gaps=False):
    return mixed_models.small_model(
        likelihood, gaps, lambda: pm.Normal("mean", 1.0, 0.5, shape=2), scale=[1.5, 0.8]
    )


def table_model():
    x = 100.0 + 9.0 * measurements(20, 5)
    return pmrf.network_model(x, kind="continuous")


MODELS = {
    "normal": gaussian_model,
    "flat": flat_model,
    "missing cells": lambda: gaussian_model(gaps=True),
    "standardised": table_model,
    "answers": mixed_model,
    "answers with missing cells": lambda: mixed_model(gaps=True),
    "sample of answers": lambda: mixed_model("monte-carlo"),
}


def point_of(model):
    """A point where weights are present and inside the cone."""
    rng, point = np.random.default_rng(1), model.initial_point()
    for name, value in point.items():
        if name in ("w", "weight"):
            point[name] = np.array([0.2, -0.1, 0.15] * 9)[: len(value)]
        elif value.dtype.kind == "f" and not name.endswith("observed"):
            point[name] = value + 0.1 * rng.standard_normal(value.shape)
    return point


def normal_density(model, point, name):
    """Mean and precision of the density of an entry of the point given all others: a parabola."""
    log_density, c = model.compile_logp(mode="FAST_COMPILE"), len(point[name])

    def at(*moved):
        value = point[name] + sum((np.eye(c)[i] for i in moved), np.zeros(c))
        return float(log_density({**point, name: value}))

    one = np.array([at(i) for i in range(c)])
    precision = np.array([[one[i] + one[j] - at() - at(i, j) for j in range(c)] for i in range(c)])
    slope = one - at() + 0.5 * np.diag(precision)
    return point[name] + np.linalg.solve(precision, slope), precision


def gaps(draws, centre, precision):
    """Of means and second moments from those of a normal density, in Monte-Carlo errors."""
    z, one = (draws - centre) @ np.linalg.cholesky(precision), np.eye(len(centre))
    second = (z.T @ z / len(z) - one) / np.sqrt(1 + one)
    return np.abs([z.mean(axis=0), *second]) * np.sqrt(len(z))


@pytest.mark.parametrize("kind", [slow(kind) if "sample" in kind else kind for kind in MODELS])
def test_the_full_conditional_is_that_of_the_model(kind):
    model = MODELS[kind]()
    name = model.rvs_to_values[model["mean"]].name
    with model:
        step = ConjugateMeans([model["mean"]], rng=2)
    point = point_of(model)
    found = np.array([step.step(point)[0][name] for _ in range(3000)])
    assert gaps(found, *normal_density(model, point, name)).max() < Z
    # negative control: other weights have another conditional
    weight = "weight" if "weight" in point else "w"
    other = {**point, weight: -2 * point[weight]}
    assert gaps(found, *normal_density(model, other, name)).max() > Z


@pytest.mark.slow
def test_flat_means_cost_a_row():
    """Integrated out, they leave the likelihood of one row less, whose scatter is about the averages."""
    x = 2 * measurements(4, 1)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        mean = pm.Flat("mean", shape=3)
        pmrf.GaussianMRF("x", w, DIAGONAL, mean, graph=TRIANGLE, observed=x + 3.0)
    [w] = draws_of(model, ["w"], 5000, 300, beside=lambda: [ConjugateMeans([mean])])
    contrasts = np.linalg.qr(np.c_[np.ones(4), np.eye(4)[:, 1:]])[0][:, 1:]
    log_slab = stats.norm(0, 0.5).logpdf
    exact = fixed_diagonal_posterior(contrasts.T @ x, EDGES, DIAGONAL, 0.4, log_slab)
    assert furthest(w, exact) < Z
    # negative control: as if the averages were the means
    known = fixed_diagonal_posterior(x - x.mean(axis=0), EDGES, DIAGONAL, 0.4, log_slab)
    assert furthest(w, known) > Z


def test_nothing_is_left_for_nuts():
    for model in (flat_model(), table_model()):
        with model:
            assert set(assign_step_methods(model)[1]) == {EdgeGibbs, ConjugateMeans}
    model = gaussian_model(gaps=True)
    with model:
        assert {EdgeGibbs, ConjugateMeans, GaussianGibbs} < set(assign_step_methods(model)[1])


def declare(mean, weight=None, diagonal=DIAGONAL, **kwargs):
    w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3) if weight is None else weight
    return pmrf.GaussianMRF("x", w, diagonal, mean, graph=TRIANGLE, **kwargs)


X = measurements(20, 5)
NOT_THESE = {
    "another prior": lambda: declare(pm.Cauchy("mean", 0, 1, shape=3), observed=X),
    "an expression": lambda: declare(2 * pm.Normal("mean", 0, 1, shape=3), observed=X),
    "one for all nodes": lambda: declare(pm.Normal("mean", 0, 1), observed=X),
    "by row": lambda: declare(pm.Normal("mean", 0, 1, shape=(20, 3)), observed=X),
    "another transform": lambda: declare(
        pm.Normal(
            "mean", 0, 1, shape=3, transform=pm.distributions.transforms.ordered, initval=[0, 1, 2]
        ),
        observed=X,
    ),
    "another child": lambda: (
        pm.Potential("u", (mean := pm.Normal("mean", 0, 1, shape=3)).sum() ** 2),
        declare(mean, observed=X),
    ),
    "also the diagonal": lambda: declare(
        mean := pm.Normal("mean", 0, 1, shape=3), diagonal=DIAGONAL * pt.exp(mean), observed=X
    ),
    "also the weights": lambda: declare(
        mean := pm.Normal("mean", 0, 1, shape=3),
        mean * pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3),
        observed=X,
    ),
    "weights by row": lambda: declare(
        pm.Normal("mean", 0, 1, shape=3),
        pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3) * pt.arange(20)[:, None],
        observed=X,
    ),
    "dense weights": lambda: declare(
        pm.Normal("mean", 0, 1, shape=3), pm.Normal("w", 0, 0.1, shape=3), observed=X
    ),
    "a hidden field": lambda: declare(pm.Normal("mean", 0, 1, shape=3), shape=(20, 3)),
}


@pytest.mark.parametrize("name", NOT_THESE)
def test_what_it_does_not_draw_is_refused(name):
    with pm.Model() as model:
        NOT_THESE[name]()
        assert field_of_means(model["mean"], model) is None
        with pytest.raises(ValueError, match="and mean is none of these: leave it to NUTS"):
            ConjugateMeans([model["mean"]])


def test_conditionals_of_answers_are_not_normal_in_the_means():
    model = mixed_model("pseudo")
    assert field_of_means(model["mean"], model) is None
