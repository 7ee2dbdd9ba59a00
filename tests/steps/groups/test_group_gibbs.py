"""Group samplers: exact posteriors by enumeration, starts, what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import PairwiseGraph
from tests.insides import engines_of
from tests.reference.dirichlet_process import crp_probability, set_partitions
from tests.reference.grouped_posterior import grouped_posterior
from tests.statistics import Z
from tests.steps.groups.models import (
    EDGES,
    GRAPH,
    SAMPLE,
    THETA,
    agreement_data,
    agreement_model,
    boltzmann,
    ising,
    small_model,
    standardised_gaps,
)
from tests.walks import walk


def sample_theta(model, step, draws=3000, seed=1, chains=2):
    with model:
        method = step([model["theta"]])
        idata = pm.sample(
            max(draws // method.n_rounds, 300),  # a step of several rounds is worth as many draws
            tune=100,
            chains=chains,
            cores=1,
            step=method,
            random_seed=seed,
            **SAMPLE,
        )
    return idata.posterior["theta"].values


def test_exact_gibbs_samples_the_exact_posterior():
    x = agreement_data(200, seed=1)
    gaps = standardised_gaps(
        sample_theta(agreement_model(x), pmrf.steps.GroupGibbs, 1500), grouped_posterior(x, EDGES, 1.0)
    )
    assert max(np.abs(list(gaps.values()))) < Z, gaps


@pytest.mark.slow
def test_stripped_beta_does_not():
    """Negative control: the same comparison tells the approximation from the exact posterior."""
    x = agreement_data(200, seed=1)
    gaps = standardised_gaps(
        sample_theta(agreement_model(x, likelihood="particles"), pmrf.papers.StrippedBetaGibbs),
        grouped_posterior(x, EDGES, 1.0),
    )
    assert max(np.abs(list(gaps.values()))) > 2 * Z


@pytest.mark.slow
def test_exact_gibbs_on_a_four_edge_cycle_with_a_quadrature_base():
    graph = PairwiseGraph(range(4), EDGES[:4])
    x = agreement_data(40, seed=3, edges=EDGES[:4], theta=THETA[:4])
    base = pm.Triangular.dist(0.0, 1.0, 0.5)
    # the uniform density to five digits, in a form that needs quadrature
    flat = pm.TruncatedNormal.dist(0.5, 100.0, lower=0.0, upper=1.0)
    exact = grouped_posterior(x, EDGES[:4], 1.0)
    gaps = standardised_gaps(
        sample_theta(agreement_model(x, graph=graph, base=flat), pmrf.steps.GroupGibbs), exact
    )
    assert max(np.abs(list(gaps.values()))) < Z, gaps
    gaps = standardised_gaps(
        sample_theta(agreement_model(x, graph=graph, base=base), pmrf.steps.GroupGibbs), exact
    )
    assert max(np.abs(list(gaps.values()))) > Z  # another base is another posterior


@pytest.mark.slow
@pytest.mark.parametrize("make", [ising, boltzmann])
def test_other_families_with_known_node_parameters(make):
    model, exact, theta_of = make()
    gaps = standardised_gaps(theta_of(sample_theta(model, pmrf.steps.GroupGibbs)), exact)
    assert max(np.abs(list(gaps.values()))) < Z, gaps


@pytest.mark.slow
@pytest.mark.parametrize("step", [pmrf.steps.GroupGibbs, pmrf.papers.StrippedBetaGibbs])
def test_trees(step):
    """GroupGibbs by closed forms; the stripped Beta is exact there but for the estimation noise."""
    edges = EDGES[:3]
    graph = PairwiseGraph(range(4), edges)
    x = agreement_data(30, seed=2, edges=edges, theta=THETA[:3])
    theta = sample_theta(agreement_model(x, graph=graph, likelihood="exact"), step)
    exact = grouped_posterior(x, edges, 1.0)
    if step is pmrf.steps.GroupGibbs:
        gaps = standardised_gaps(theta, exact)
        assert max(np.abs(list(gaps.values()))) < Z, gaps
    else:  # which costs 0.016 at most: the same in runs of three seeds
        error = np.array([float(az.mcse(theta[..., e])) for e in range(3)])
        assert error.max() < 0.002
        assert np.all(np.abs(theta.mean(axis=(0, 1)) - exact.mean) < 0.02 + Z * error)


@pytest.mark.slow
def test_geweke_joint_distribution():
    """x | theta and theta | x in turn leave the prior of the number of groups invariant."""
    alpha, n_data, n_steps = 1.5, 2, 2_000
    x = agreement_data(n_data, seed=1)
    model = agreement_model(x, alpha=alpha)
    with model:
        step = pmrf.steps.GroupGibbs([model["theta"]])
    rng = np.random.default_rng(8)
    step.setup_chain(rng, 0, n_steps)
    point = model.initial_point()
    [engine] = engines_of(step)
    counts = np.zeros(n_steps)
    means = np.zeros(n_steps)
    for t in range(n_steps):
        point, _ = step.step(point)
        draws = engine.draw(special.logit(point["theta"]), n_data, rng)
        engine.set_data(draws)
        counts[t] = len(np.unique(point["theta"]))
        means[t] = point["theta"].mean()
    partitions = set_partitions(5)
    weights = np.array([crp_probability(labels, alpha) for labels in partitions])
    sizes = np.array([max(labels) + 1 for labels in partitions])
    for k in range(1, 6):
        indicator = (counts == k).astype(float)
        error = float(az.mcse(indicator[None, :]))
        assert abs(indicator.mean() - weights[sizes == k].sum()) < Z * error, k
    assert abs(means.mean() - 0.5) < Z * float(az.mcse(means[None, :]))


@pytest.mark.slow
def test_automatic_choice_and_random_hyperparameters():
    x = agreement_data(100, seed=1)
    for likelihood, statistic in (
        ("auto", "group_gibbs_acceptance"),
        ("pseudo", "group_gibbs_acceptance"),
        ("particles", "particle_ratio_noise"),
    ):
        with pm.Model(coords=pmrf.coords(GRAPH)):
            alpha = pm.Gamma("alpha", 2, 2)
            a = pm.Gamma("a", 4.0, 2.0)
            theta = pmrf.DirichletProcess("theta", alpha, pm.Beta.dist(a, 2.0), dims="edge")
            pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x, likelihood=likelihood)
            idata = pm.sample(50, tune=50, chains=1, cores=1, random_seed=3, **SAMPLE)
        assert statistic in idata.sample_stats
        assert idata.posterior.alpha.std() > 0.1 and idata.posterior.a.std() > 0.1
        assert idata.posterior.theta.dims == ("chain", "draw", "edge")


WIDE, HEAVY = pm.Normal.dist(0, 200), pm.Cauchy.dist(0, 1)


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        *((pmrf.steps.GroupGibbs, base) for base in (WIDE, HEAVY, pm.InverseGamma.dist(2.0, 1.0))),
        *((pmrf.steps.ParticleRatioGibbs, base) for base in (WIDE, HEAVY)),
    ],
    ids=str,
)
def test_separable_data_with_a_vague_base(kind, base):
    """All rows agree everywhere: the rest of the field forces every edge, and nothing breaks."""
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, base, shape=5)
        with pytest.warns(UserWarning, match="x never changes at"):
            pmrf.Ising("x", theta, graph=GRAPH, observed=np.ones((60, 4), dtype=int))
        step = kind([theta])
    *_, (point, _) = walk(step, model.initial_point(), 200)
    assert np.all(np.isfinite(point["theta"]))
    assert np.median(point["theta"]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "base",
    [
        lambda: pm.Kumaraswamy.dist(1.0, 1.0),
        lambda: pm.Mixture.dist(w=[0.5, 0.5], comp_dists=[pm.Beta.dist(1, 2), pm.Beta.dist(2, 1)]),
        lambda: pm.CustomDist.dist(
            dist=lambda size: pm.math.invlogit(pm.Logistic.dist(0, 1, size=size))
        ),
    ],
    ids=["Kumaraswamy", "Mixture", "CustomDist"],
)
def test_bases_that_pymc_composes(base):
    """The uniform density in three disguises; PyMC does not tell the support of the last."""
    x = agreement_data(60, seed=1)
    theta = sample_theta(agreement_model(x, base=base()), pmrf.steps.GroupGibbs, draws=1200)
    gaps = standardised_gaps(theta, grouped_posterior(x, EDGES, 1.0))
    assert max(np.abs(list(gaps.values()))) < Z, gaps


def test_single_precision_is_refused():
    with pytensor.config.change_flags(floatX="float32"):
        model = agreement_model(agreement_data(20, seed=1))
        with model, pytest.raises(ValueError, match="double precision"):
            pmrf.steps.GroupGibbs([model["theta"]])


def test_frozen_models_and_step_options():
    x = agreement_data(50, seed=1)
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x)
    idata = pm.sample(
        10, tune=5, chains=1, cores=1, random_seed=1, model=freeze_dims_and_data(model), **SAMPLE
    )
    assert "group_gibbs_acceptance" in idata.sample_stats
    model = agreement_model(x, likelihood="particles")
    with pytest.raises(ValueError, match="n_sweeps must be a positive integer, not -1"):
        pm.sample(10, model=model, particle_ratio_gibbs={"n_sweeps": -1}, **SAMPLE)


def test_a_start_of_the_user_is_kept():
    model = agreement_model(agreement_data(50, seed=1))
    with model:
        step = pmrf.steps.GroupGibbs([model["theta"]])
    seen, begin = [], step._begin
    step._begin = lambda eta, base: seen.append(eta) or begin(eta, base)
    of_pymc = model.initial_point()["theta"]
    for start in (of_pymc, np.array([0.2, 0.2, 0.3, 0.3, 0.9])):
        step.setup_chain(np.random.default_rng(1), 1, 1)
        step.step({"theta": start})
    assert np.abs(special.expit(seen[0]) - of_pymc).max() > 0.05  # near the data
    np.testing.assert_allclose(special.expit(seen[1]), [0.2, 0.2, 0.3, 0.3, 0.9])


def process(shape=5):
    return pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=shape)


def different_likelihoods():
    x = agreement_data(20, seed=1)
    with pm.Model() as model:
        theta = process()
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x, likelihood="exact")
        pmrf.AgreementMRF("y", theta, graph=GRAPH, observed=x, likelihood="pseudo")
    return model


def different_families():
    x = agreement_data(20, seed=1)
    with pm.Model() as model:
        theta = process()
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x)
        pmrf.BoltzmannMachine("y", theta, graph=GRAPH, observed=x)
    return model


def something_else():
    with pm.Model() as model:
        theta = process()
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=agreement_data(20, seed=1))
        pm.Normal("y", theta.sum(), 1.0, observed=3.0)
    return model


def an_entry_twice():
    with pm.Model() as model:
        theta = process(4)
        x = agreement_data(20, seed=1)
        pmrf.AgreementMRF("x", theta[[0, 1, 2, 3, 1]], graph=GRAPH, observed=x)
    return model


def an_index_that_is_random():
    with pm.Model() as model:
        theta = process(6)
        start = pm.Bernoulli("start", 0.5)
        x = agreement_data(20, seed=1)
        pmrf.AgreementMRF("x", theta[start + np.arange(5)], graph=GRAPH, observed=x)
    return model


def biases_of_every_row():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        bias = pm.Normal("bias", 0, 1, shape=(20, 4))
        pmrf.BoltzmannMachine("x", theta, bias, graph=GRAPH, observed=agreement_data(20, seed=1))
    return model


def scores_of_every_node():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        scores = np.multiply.outer([1, 2, 1, 2], [0, 1])
        pmrf.OrdinalMRF("x", theta, graph=GRAPH, scores=scores, observed=agreement_data(20, seed=1))
    return model


def constant_biases_of_every_row():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        bias = np.arange(80.0).reshape(20, 4) / 100
        pmrf.BoltzmannMachine("x", theta, bias, graph=GRAPH, observed=agreement_data(20, seed=1))
    return model


def transformed_parameter():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=5)
        pmrf.AgreementMRF("x", theta**2, graph=GRAPH, observed=agreement_data(20, seed=1))
    return model


def no_field():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=5)
        pm.Normal("x", theta, 1.0, observed=np.zeros(5))
    return model


def wide_base():
    return agreement_model(agreement_data(20, seed=1), base=pm.Normal.dist(0.5, 0.1))


def base_beyond_the_domain():
    # PyMC does not tell the support of a custom distribution
    base = pm.CustomDist.dist(0.0, 2.0, dist=lambda a, b, size: b * pm.Uniform.dist(a, 1.0, size=size))
    return agreement_model(agreement_data(20, seed=1), base=base)


def latent():
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=5)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, shape=(3, 4))
    return model


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            different_likelihoods,
            r'feeds x \(agreement, "exact"\) and y \(agreement, "pseudo"\): declare them alike',
        ),
        (different_families, "samples fields of one family under one likelihood"),
        (something_else, "theta also feeds y"),
        (an_entry_twice, "entry 1 of theta is that of several"),
        (an_index_that_is_random, "needs theta itself"),
        (biases_of_every_row, "must not differ between rows"),
        (
            scores_of_every_node,
            "declare x with one vector of scores for all nodes, or theta as a pymc_mrf.Sp",
        ),
        (constant_biases_of_every_row, "needs constant node parameters, one per node"),
        (transformed_parameter, "needs theta itself"),
        (no_field, "feeds no Markov random field"),
        (latent, "x has no data: pass them as `observed`"),
        (wide_base, r"support \(-inf, inf\)"),
        (base_beyond_the_domain, "mass 0.5 on the domain"),
    ],
)
def test_refused_before_sampling(make, message):
    model = make()
    with model, pytest.raises(ValueError, match=message):
        pmrf.steps.GroupGibbs([model["theta"]])
    with model, pytest.raises(ValueError, match=message):  # pm.sample finds no other step for it
        pm.sample(10, tune=10, **SAMPLE)


def test_steps_serve_their_likelihood_only():
    for likelihood, steps in (
        (
            "pseudo",
            [pmrf.steps.ExactGibbs, pmrf.steps.ParticleRatioGibbs, pmrf.papers.StrippedBetaGibbs],
        ),
        ("particles", [pmrf.steps.ExactGibbs, pmrf.steps.GroupGibbs]),
    ):
        model = small_model(likelihood)
        for step in steps:
            with (
                model,
                pytest.raises(ValueError, match=f'does not sample under likelihood="{likelihood}"'),
            ):
                step([model["theta"]])


def test_stripped_beta_serves_one_field_in_its_order():
    x = agreement_data(20, seed=1)
    with pm.Model() as model:
        theta = process()
        pmrf.AgreementMRF("x", theta[[1, 0, 2, 3, 4]], graph=GRAPH, observed=x, likelihood="particles")
    with model, pytest.raises(ValueError, match="samples the edge parameters of one field, all in its"):
        pmrf.papers.StrippedBetaGibbs([theta])


def test_stripped_beta_refuses_what_it_cannot_approximate():
    x = agreement_data(20, seed=1)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        pmrf.Ising("x", theta, 0.3, graph=GRAPH, observed=2 * x - 1)
        with pytest.raises(ValueError, match="without external field"):
            pmrf.papers.StrippedBetaGibbs([theta])
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        pmrf.BoltzmannMachine("x", theta, graph=GRAPH, observed=x)
        with pytest.raises(ValueError, match=r"not those of x \(BoltzmannMachine\): use"):
            pmrf.papers.StrippedBetaGibbs([theta])
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=(2, 5))
        with pytest.raises(ValueError, match="one vector of parameters, but theta has 2 dimensions"):
            pmrf.steps.GroupGibbs([theta])
    model = agreement_model(x)
    with model, pytest.raises(ValueError, match="n_particles must be a positive integer, not 0"):
        pmrf.papers.StrippedBetaGibbs([model["theta"]], n_particles=0)
    with model, pytest.raises(TypeError, match="is none"), pm.Model():
        pmrf.papers.StrippedBetaGibbs([pm.Normal("z", 0, 1)])
