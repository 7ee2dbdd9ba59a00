"""ConjugateHyperparameters: full conditionals, agreement with NUTS and quadrature, what is recognised."""

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.sampling.mcmc import assign_step_methods
from pymc.step_methods.compound import CompoundStep
from scipy import special, stats

from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.hyper.conjugate_hyperparameters import ConjugateHyperparameters, is_conjugate
from tests.reference.hyperparameters import two_edge_posterior
from tests.reference.spike_and_slab import exact_log_likelihood
from tests.statistics import ALPHA, Z
from tests.steps.hyper.models import field_data, field_model

SAMPLE = {"progressbar": False, "quiet": True, "chains": 2, "cores": 1}
W = np.array([0.0, 0.7, -1.2, 0.0, 0.3, 0.0])
OBSERVED = np.array([0.0, 0.4, 0.0, -0.9])

# how users write a normal slab; its mean and what multiplies the power
PRECISIONS = {
    "tau": (lambda tau, a: pm.Normal.dist(0, tau=tau), lambda a: (0.0, 1.0)),
    "square root": (lambda tau, a: pm.Normal.dist(0, 1 / pt.sqrt(tau)), lambda a: (0.0, 1.0)),
    "scaled": (lambda tau, a: pm.Normal.dist(0.3, sigma=2 * a / tau**0.5), lambda a: (0.3, 2 * a)),
    "scaled precision": (lambda tau, a: pm.Normal.dist(a, tau=4 * tau), lambda a: (a, 0.5)),
    "deterministic": (
        lambda tau, a: pm.Normal.dist(0, pm.Deterministic("sigma", pt.reciprocal(pt.sqrt(tau)))),
        lambda a: (0.0, 1.0),
    ),
}
VARIANCES = {
    "square root": (lambda s2, a: pm.Normal.dist(0, pt.sqrt(s2)), lambda a: (0.0, 1.0)),
    "scaled": (lambda s2, a: pm.Normal.dist(a, a * s2**0.5), lambda a: (a, a)),
}
CASES = [("tau", name) for name in PRECISIONS] + [("s2", name) for name in VARIANCES]


def hierarchy(kind="tau", spelling="tau"):
    """Two spike-and-slab vectors, one observed, under common hyperparameters; their parameters vary."""
    with pm.Model() as model:
        a = pm.HalfNormal("a", 2)
        p = pm.Beta("p", a, 3)
        prior, spellings = (pm.Gamma, PRECISIONS) if kind == "tau" else (pm.InverseGamma, VARIANCES)
        slab = spellings[spelling][0](prior(kind, 4, 1 + a), a)
        SpikeAndSlab("w", p, slab, shape=6)
        SpikeAndSlab("v", p, slab, shape=4, observed=OBSERVED)
    return model


def at(model, a=1.7):
    return {**model.initial_point(), "a_log__": np.array(np.log(a)), "w": W}


def log_prior_of_two(a, b):
    """Log of Beta(p; a, b) by definition, with the Jacobian of the logit."""
    return lambda z: a * special.log_expit(z) + b * special.log_expit(-z)


@pytest.mark.parametrize(("kind", "spelling"), CASES)
def test_full_conditionals_against_the_density_of_the_model(kind, spelling):
    """Log densities of the model along one variable differ by those of the distribution drawn from."""
    model = hierarchy(kind, spelling)
    logp, a = model.compile_logp(), 1.7
    point = at(model, a)
    present = np.concatenate([W[W != 0], OBSERVED[OBSERVED != 0]])
    mu, unit = (PRECISIONS if kind == "tau" else VARIANCES)[spelling][1](a)
    shape, rate = 4 + 0.5 * len(present), 1 + a + 0.5 * (((present - mu) / unit) ** 2).sum()
    z = np.linspace(-2.0, 1.5, 6)  # of the value variable
    sign = 1.0 if kind == "tau" else -1.0
    expected = {
        f"{kind}_log__": shape * sign * z - rate * np.exp(sign * z),
        "p_logodds__": log_prior_of_two(a + len(present), 3 + 10 - len(present))(z),
    }
    for name, density in expected.items():
        found = np.array([logp({**point, name: np.array(value)}) for value in z])
        np.testing.assert_allclose(np.diff(found), np.diff(density), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("kind", "spelling"), CASES)
@pytest.mark.ordinary("tau-tau", "tau-scaled precision", "s2-scaled")
def test_draws(kind, spelling):
    model = hierarchy(kind, spelling)
    with model:
        step = ConjugateHyperparameters([model["p"], model[kind]])
    step.setup_chain(np.random.default_rng(3), 0, 1)
    a, point, draws = 1.7, at(model), []
    for _ in range(1500):
        new, [stats_] = step.step(point)
        draws.append((special.expit(new["p_logodds__"]), np.exp(new[f"{kind}_log__"])))
    assert stats_ == {"conjugate_n_present": 5, "warning": None}
    present = np.concatenate([W[W != 0], OBSERVED[OBSERVED != 0]])
    mu, unit = (PRECISIONS if kind == "tau" else VARIANCES)[spelling][1](a)
    shape, rate = 4 + 0.5 * 5, 1 + a + 0.5 * (((present - mu) / unit) ** 2).sum()
    gamma = stats.gamma(shape, scale=1 / rate) if kind == "tau" else stats.invgamma(shape, scale=rate)
    prior = stats.gamma(4, scale=1 / (1 + a)) if kind == "tau" else stats.invgamma(4, scale=1 + a)
    pairs = ((stats.beta(a + 5, 3 + 5), stats.beta(a, 3)), (gamma, prior))
    for values, (full, wrong) in zip(np.array(draws).T, pairs, strict=True):
        assert stats.kstest(values, full.cdf).pvalue > ALPHA
        assert stats.kstest(values, wrong.cdf).pvalue < ALPHA  # negative control: the edges ignored


def test_without_transforms():
    with pm.Model() as model:
        p = pm.Beta("p", 2, 3, default_transform=None)
        SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=6)
        step = ConjugateHyperparameters([p], rng=1)
    point = {**model.initial_point(), "w": W}
    draws = [step.step(point)[0]["p"] for _ in range(1000)]
    assert stats.kstest(draws, stats.beta(2 + 3, 3 + 3).cdf).pvalue > ALPHA


def test_probabilities_of_some_entries():
    """Each Beta counts its own entries, which another variable may choose."""
    with pm.Model() as model:
        p, q = pm.Beta("p", 2, 3), pm.Beta("q", 1, 2)
        chosen = pm.Bernoulli("chosen", 0.5, shape=6)
        odd = np.arange(6) % 2 == 1
        SpikeAndSlab(
            "w", pm.math.switch(chosen, p, pt.switch(odd, q, 0.3)), pm.Normal.dist(0, 1), shape=6
        )
        SpikeAndSlab("v", q, pm.Normal.dist(0, 1), shape=4, observed=OBSERVED)
        step = ConjugateHyperparameters([p, q])
    chosen = np.array([1, 0, 1, 1, 0, 0])
    point = {**model.initial_point(), "w": W, "chosen": chosen}
    here, of_q = W != 0, odd & (chosen == 0)
    k, k_q = here[chosen == 1].sum(), here[of_q].sum() + np.count_nonzero(OBSERVED)
    expected = {"p": (2 + k, 3 + 3 - k), "q": (1 + k_q, 2 + of_q.sum() + 4 - k_q)}
    logp, z = model.compile_logp(), np.linspace(-2.0, 1.5, 6)
    step.setup_chain(np.random.default_rng(3), 0, 1)
    points = [step.step(point)[0] for _ in range(1000)]
    for name, (a, b) in expected.items():
        found = [logp({**point, f"{name}_logodds__": np.array(value)}) for value in z]
        np.testing.assert_allclose(np.diff(found), np.diff(log_prior_of_two(a, b)(z)), rtol=1e-8)
        draws = special.expit([new[f"{name}_logodds__"] for new in points])
        assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > ALPHA


def test_a_transform_that_cuts_the_prior_off_is_not_conjugate():
    with pm.Model() as model:
        interval = pm.distributions.transforms.Interval(0.5, 2.0)
        tau = pm.Gamma("tau", 3, 2, transform=interval, default_transform=None)
        SpikeAndSlab("w", 0.5, pm.Normal.dist(0, tau=tau), shape=6)
        assert not is_conjugate(tau, model)
        with pytest.raises(ValueError, match="tau"):
            ConjugateHyperparameters([tau])


def chain_of(step, model, n_draws, seed):
    step.setup_chain(np.random.default_rng(seed), 200, n_draws)
    point, kept = model.initial_point(), []
    for i in range(200 + n_draws):
        for method in step.methods:
            point, _ = method.step(point)
        if i == 199:
            step.stop_tuning()
        kept.append((point["p_logodds__"], point["tau_log__"], *(point["w"] != 0)))
    return np.array(kept, dtype=float)[200:]


def assert_agrees(draws, exact):
    """`draws`: p, log tau and both inclusions, each (chain, draw)."""
    p, log_tau, *included = draws
    pairs = [(p, exact.p), (log_tau, exact.log_tau), (np.exp(log_tau), exact.tau)]
    pairs += zip(included, exact.inclusion, strict=True)
    gaps = [(values.mean() - expected) / float(az.mcse(values)) for values, expected in pairs]
    assert all(az.ess(values) > 300 for values, _ in pairs)
    return max(abs(gap) for gap in gaps) < Z


@pytest.fixture(scope="module")
def quadrature():
    log_likelihood = exact_log_likelihood(field_data(), [(0, 1), (1, 2)], (0, 1))
    bias = np.array([0.2, -0.3, 0.1])

    def of_weights(w):
        return log_likelihood(np.concatenate([w, np.tile(bias, (len(w), 1))], axis=1))

    return lambda p_prior: two_edge_posterior(of_weights, p_prior, (3.0, 2.0))


@pytest.mark.slow
def test_conjugate_draws_against_quadrature(quadrature):
    model = field_model()
    with model:
        methods = [EdgeGibbs([model["w"]]), ConjugateHyperparameters([model["p"], model["tau"]])]
        step = CompoundStep(methods)
    chains = np.array([chain_of(step, model, 2000, seed) for seed in (1, 2)])  # (chain, draw, 4)
    chains[:, :, 0] = special.expit(chains[:, :, 0])
    draws = np.moveaxis(chains, -1, 0)
    assert assert_agrees(draws, quadrature((2.0, 3.0)))
    assert not assert_agrees(draws, quadrature((3.0, 3.0)))  # negative control


@pytest.mark.slow
@pytest.mark.compiled
def test_nuts_agrees(quadrature):
    model = field_model()
    with model:
        step = [EdgeGibbs([model["w"]]), pm.NUTS([model["p"], model["tau"]])]
        idata = pm.sample(750, tune=200, step=step, random_seed=1, **SAMPLE)
    post = idata.posterior
    included = np.moveaxis(post.w.values != 0, -1, 0).astype(float)
    assert assert_agrees([post.p.values, np.log(post.tau.values), *included], quadrature((2.0, 3.0)))


def test_sample_chooses_it_by_itself():
    model = field_model("pseudo")
    with model:
        _, chosen = assign_step_methods(model)
        assert chosen == {
            ConjugateHyperparameters: [model.rvs_to_values[model[name]] for name in ("p", "tau")],
            EdgeGibbs: [model.rvs_to_values[model["w"]]],
        }
        idata = pm.sample(20, tune=10, random_seed=7, **SAMPLE)
    np.testing.assert_array_equal(
        idata.sample_stats.conjugate_n_present[:, 1:],  # of the edges before their update
        (idata.posterior.w != 0).sum("w_dim_0")[:, :-1],
    )


def normal(**kwargs):
    return lambda v: SpikeAndSlab(
        "w", 0.5, pm.Normal.dist(0, **{k: f(v) for k, f in kwargs.items()}), shape=3
    )


NOT_CONJUGATE = {
    "standard deviation": (pm.Gamma, normal(sigma=lambda v: v)),
    "variance under Gamma": (pm.Gamma, normal(sigma=pt.sqrt)),
    "precision under InverseGamma": (pm.InverseGamma, normal(tau=lambda v: v)),
    "sum": (pm.Gamma, normal(tau=lambda v: v + 1.0)),
    "switch": (pm.Gamma, normal(tau=lambda v: pt.switch(v > 1, v, 2 * v))),
    "power of itself": (pm.Gamma, normal(sigma=lambda v: v**-v)),
    "mean as well": (
        pm.Gamma,
        lambda v: SpikeAndSlab("w", 0.5, pm.Normal.dist(v, tau=v), shape=3),
    ),
    "p as well": (
        pm.Gamma,
        lambda v: SpikeAndSlab("w", pm.math.invlogit(v), pm.Normal.dist(0, tau=v), shape=3),
    ),
    "Cauchy": (pm.Gamma, lambda v: SpikeAndSlab("w", 0.5, pm.Cauchy.dist(0, v**-0.5), shape=3)),
    "no child": (pm.Gamma, lambda v: None),
    "other child": (
        pm.Gamma,
        lambda v: (normal(tau=lambda v: v)(v), pm.Normal("other", 0, tau=v)),
    ),
    "potential": (
        pm.Beta,
        lambda v: (SpikeAndSlab("w", v, pm.Normal.dist(0, 1), shape=3), pm.Potential("u", v**2)),
    ),
    "expression of p": (
        pm.Beta,
        lambda v: SpikeAndSlab("w", 0.5 * v, pm.Normal.dist(0, 1), shape=3),
    ),
    "p chooses": (
        pm.Beta,
        lambda v: SpikeAndSlab("w", pt.switch(v > 0.5, v, 0.1), pm.Normal.dist(0, 1), shape=3),
    ),
    "p and slab": (pm.Beta, lambda v: SpikeAndSlab("w", v, pm.Normal.dist(0, v), shape=3)),
    "prior": (pm.LogNormal, normal(tau=lambda v: v)),
}


@pytest.mark.parametrize("name", NOT_CONJUGATE)
def test_what_is_not_conjugate_is_refused(name):
    prior, build = NOT_CONJUGATE[name]
    with pm.Model() as model:
        v = prior("v", 2.0, 3.0)
        build(v)
        assert not is_conjugate(v, model)
        with pytest.raises(ValueError, match="and v is none of these: leave it to NUTS"):
            ConjugateHyperparameters([v])


def test_vectors_are_left_to_nuts():
    with pm.Model() as model:
        p = pm.Beta("p", 2, 3, shape=3)
        SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=3)
        assert not is_conjugate(p, model)


@pytest.mark.warm
def test_priors_beyond_double_precision():
    with pm.Model() as model:
        tau = pm.Gamma("tau", 1e-9, 1)
        SpikeAndSlab("w", 0.5, pm.Normal.dist(0, tau=tau), shape=3)
        with pytest.raises(ValueError, match="the prior of tau leaves it at the end of its support"):
            ConjugateHyperparameters([tau], initial_point={**model.initial_point(), "w": np.zeros(3)})
