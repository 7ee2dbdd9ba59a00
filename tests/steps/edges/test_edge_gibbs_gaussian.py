"""EdgeGibbs of Gaussian fields: posteriors over all structures by quadrature, the cone, what is refused."""

import warnings

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.gaussian import GAUSSIAN
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import NORMAL, Densities, Density
from pymc_mrf.likelihood.gaussian.gaussian_edges import GaussianLikelihood
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.latent.missing_cells import GaussianGibbs
from tests.insides import engine_in, uncorrected
from tests.marks import slow
from tests.posteriors import draws_of, furthest
from tests.reference.gaussian import fixed_diagonal_posterior, precision
from tests.statistics import Z
from tests.steps.edges.gaussian_models import (
    DIAGONAL,
    EDGES,
    TRIANGLE,
    measurements,
    small_model,
)

QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def model_of(x, *, p=0.4, slab=None, diagonal=None, graph=TRIANGLE):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab(
            "w", p, pm.Normal.dist(0, 0.5) if slab is None else slab, shape=graph.n_edges
        )
        if diagonal is None:
            diagonal = pm.Gamma("diagonal", 2, 1, shape=graph.n_nodes)
        pmrf.GaussianMRF("x", w, diagonal, graph=graph, observed=x)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 20])
def test_few_rows_fill_the_cone(n):
    """With two rows and a wide slab weights go to the ends of the cone, and some edges cannot be absent."""
    x = 1.5 * measurements(n, 3)
    model = model_of(x, slab=pm.Normal.dist(0, 1), diagonal=DIAGONAL)
    [w] = draws_of(model, ["w"], 6000)
    exact = fixed_diagonal_posterior(x, EDGES, DIAGONAL, 0.4, stats.norm(0, 1).logpdf)
    assert furthest(w, exact) < Z
    # negative control: another p is another posterior
    other = fixed_diagonal_posterior(x, EDGES, DIAGONAL, 0.5, stats.norm(0, 1).logpdf)
    assert furthest(w, other) > Z
    K = precision(EDGES, w.reshape(-1, 3), DIAGONAL)
    assert (np.linalg.eigvalsh(K) > 0).all()
    alone = np.array(
        [precision(EDGES, w.reshape(-1, 3) * (np.arange(3) != e), DIAGONAL) for e in range(3)]
    )
    assert (np.linalg.eigvalsh(alone)[..., 0] < 0).any()  # without some edge the others left the cone


def test_without_the_correction_proposals_leave_the_cone():
    model = model_of(1.5 * measurements(2, 3), slab=pm.Normal.dist(0, 1), diagonal=DIAGONAL)
    with pytest.raises(ValueError, match="not positive definite"):
        draws_of(model, ["w"], 100, change=uncorrected)


@pytest.mark.slow
def test_a_unit_ten_times_smaller_gives_the_same_edges_under_scaled_priors():
    x = 1.5 * measurements(5, 4)
    exact = fixed_diagonal_posterior(x, EDGES, DIAGONAL, 0.4, stats.norm(0, 1).logpdf)
    model = model_of(10 * x, slab=pm.Normal.dist(0, 0.01), diagonal=DIAGONAL / 100)
    [w] = draws_of(model, ["w"], 3000)
    assert furthest(100 * w, exact) < Z


@pytest.mark.slow
def test_calibration_of_weights_and_diagonal():
    """Ranks of the truth are uniform over draws from the prior in the cone (Talts et al., 2018)."""
    rng, n_draws, ranks, skewed = np.random.default_rng(8), 60, [], []
    slab = Density(NORMAL, 0.0, 0.5, 1.0, -0.5 * np.log(2 * np.pi * 0.25))
    log_diagonal = Densities(
        np.full(3, NORMAL),
        np.zeros(3),
        np.full(3, 0.5),
        np.ones(3),
        np.full(3, -0.5 * np.log(np.pi / 2)),
    )
    prior = EdgePrior(np.full(3, np.log(0.5 / 0.5)), slab, log_diagonal)
    while len(ranks) < 300:
        w = 0.5 * rng.standard_normal(3) * (rng.random(3) < 0.5)
        b = 0.5 * rng.standard_normal(3)
        K = precision(EDGES, w, np.exp(b))
        if np.linalg.eigvalsh(K)[0] <= 0:
            continue
        x = rng.multivariate_normal(np.zeros(3), np.linalg.inv(K), size=8)
        engine, found, v, a = (
            GaussianLikelihood(x, TRIANGLE, GAUSSIAN, True),
            [],
            np.zeros(3),
            np.zeros(3),
        )
        for i in range(100 + 8 * n_draws):
            engine.sweep(v, a, prior, rng)
            engine.joint(v, a, prior, 0.6, 3, rng)
            if i < 100:
                engine.learn(1 / (i + 10))
            elif i % 8 == 0:
                found.append([*v, *a, np.linalg.det(precision(EDGES, v, np.exp(a)))])
        found, truth = np.array(found), np.array([*w, *b, np.linalg.det(K)])
        below, ties = (found < truth).sum(axis=0), (found == truth).sum(axis=0)
        ranks.append(below + np.floor(rng.random(7) * (ties + 1)))  # at random among ties
        skewed.append((found < truth + 0.2).sum(axis=0))
    p_values, of_control = (
        [
            stats.chisquare(np.histogram(np.array(some)[:, k], 6, (0, n_draws + 1))[0]).pvalue
            for k in range(7)
        ]
        for some in (ranks, skewed)
    )
    assert min(p_values) > 1e-4, p_values
    assert min(of_control) < 1e-4  # negative control: draws against another value than the truth


def missing_posterior(x, p):
    """Inclusion and mean of the only weight of two nodes, the missing cells integrated out."""
    from scipy import integrate

    def log_likelihood(w):
        S, total = np.linalg.inv([[1.0, -w], [-w, 1.0]]), 0.0
        for row in x:
            seen = np.flatnonzero(~np.isnan(row))
            total += stats.multivariate_normal(np.zeros(len(seen)), S[np.ix_(seen, seen)]).logpdf(
                row[seen]
            )
        return total

    at_zero = log_likelihood(0.0)
    mass, first = (
        integrate.quad(
            lambda w, k=k: w**k * np.exp(stats.norm(0, 0.5).logpdf(w) + log_likelihood(w) - at_zero),
            -0.999, 0.999, epsabs=1e-6,
        )[0]
        for k in (0, 1)
    )  # fmt: skip
    odds = p / (1 - p) * mass
    return odds / (1 + odds), odds / (1 + odds) * first / mass


@pytest.mark.slow
def test_missing_cells():
    import arviz as az

    x = np.random.default_rng(2).multivariate_normal(
        [0, 0], np.linalg.inv([[1, -0.5], [-0.5, 1]]), size=24
    )
    x[::2, 0], x[5::3, 1] = np.nan, np.nan
    x = x[~np.isnan(x).all(axis=1)]
    with pm.Model(), warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.5), shape=1)
        pmrf.GaussianMRF("x", w, 1.0, graph=pmrf.graphs.complete(2), observed=x)
        idata = pm.sample(3000, tune=100, chains=2, cores=1, random_seed=3, **QUIET)
    draws = idata.posterior["w"].values[..., 0]
    inclusion, mean = missing_posterior(x, 0.5)
    for found, exact in ((draws != 0, inclusion), (draws, mean)):
        error = float(az.mcse(found.astype(float)))
        assert abs(found.mean() - exact) < Z * error
    # negative control: complete rows alone tell something else
    complete = missing_posterior(x[~np.isnan(x).any(axis=1)], 0.5)[1]
    assert abs(draws.mean() - complete) > Z * float(az.mcse(draws))


def test_pm_sample_finds_the_steps():
    model = small_model(gaps=True)
    with model:
        idata = pm.sample(5, tune=5, chains=1, cores=1, random_seed=1, **QUIET)
        steps = pm.sampling.mcmc.assign_step_methods(model)
    assert "edge_gibbs_n_active" in idata.sample_stats
    names = {cls.__name__: {v.name for v in found} for cls, found in steps[1].items() if found}
    assert names == {
        "EdgeGibbs": {"w", "diagonal_log__"},
        "ConjugateMeans": {"mean"},
        "GaussianGibbs": {"x_unobserved"},
    }


@pytest.mark.parametrize("prior", ["rate", "exp", slow("scalar")])
@pytest.mark.slow
def test_other_diagonals_are_left_to_nuts_or_moved(prior):
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        diagonal = {
            "scalar": lambda: pm.Gamma("diagonal", 2, 1),
            "rate": lambda: pm.Gamma("diagonal", 2, [1.0, 2.0, 3.0]),
            "exp": lambda: pm.math.exp(pm.Normal("diagonal", 0, [1.0, 2.0, 3.0])),
        }[prior]()
        pmrf.GaussianMRF("x", w, diagonal, graph=TRIANGLE, observed=measurements(30, 1))
        idata = pm.sample(50, tune=200, chains=1, cores=1, random_seed=1, **QUIET)
    assert ("n_steps" in idata.sample_stats) == (prior != "exp")
    assert np.ptp(idata.posterior["diagonal"].values, axis=1).min() > 0.1


def test_means_may_differ_between_rows():
    x, z = measurements(12, 1), np.linspace(-1, 1, 12)
    x[3, 1] = np.nan
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        slope = pm.Normal("slope", 0, 1, shape=3)
        pmrf.GaussianMRF("x", w, DIAGONAL, 1.0 + z[:, None] * slope, graph=TRIANGLE, observed=x)
    step = EdgeGibbs([w], model=model)
    point = {
        **model.initial_point(),
        "slope": np.array([1.0, 2.0, 3.0]),
        "x_unobserved": np.array([7.0]),
    }
    step.step(point)
    filled = np.where(np.isnan(x), 7.0, x)
    deviations = filled - 1.0 - z[:, None] * point["slope"]
    np.testing.assert_allclose(engine_in(step).view.scatter, deviations.T @ deviations)


def test_refusals():
    x = measurements(10, 1)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 0.5), shape=3)
        pmrf.GaussianMRF("x", w, 1.0, graph=TRIANGLE, observed=x)
        with pytest.raises(
            ValueError, match='ReversibleJump does not sample under likelihood="gaussian" of x'
        ):
            pmrf.papers.ReversibleJump([w])
    with pm.Model():
        w = pm.Normal("w", 0, 0.1, shape=3)
        with pytest.raises(
            TypeError, match=r"GaussianGibbs samples the missing cells of a pymc_mrf\.GaussianMRF"
        ):
            GaussianGibbs([w])
        pmrf.DirichletProcess("g", 1.0, pm.Normal.dist(0, 0.1), shape=3)
        with pytest.raises(ValueError, match="g is a DirichletProcess: its samplers group parameters"):
            pmrf.GaussianMRF("x", pm.modelcontext(None)["g"], 1.0, graph=TRIANGLE, observed=x)
    model = small_model(gaps=True)
    with model:
        pm.Normal("y", model["x_unobserved"].sum(), 1.0, observed=0.0)
        with pytest.raises(
            ValueError, match="GaussianGibbs draws x_unobserved given the Gaussian field alone"
        ):
            GaussianGibbs([model["x_unobserved"]])


def test_a_start_outside_of_the_cone():
    model = model_of(measurements(10, 1), diagonal=DIAGONAL)
    with model:
        step = EdgeGibbs([model["w"]])
    step.setup_chain(np.random.default_rng(1), 5, 5)
    with pytest.raises(
        ValueError, match="not positive definite at the start of a chain: start from smaller"
    ):
        step.step({"w": np.array([2.0, 0.0, 0.0])})
