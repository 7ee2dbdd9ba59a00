"""Draws reweighted to other priors, beside posteriors of closed form."""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from tests.statistics import Z

GRAPH = pmrf.graphs.complete(3)
N_DRAWS = 4000


def model_of(p, sd=1.0):
    """A prior; the likelihood exp(-w^2 / 2) of each weight is known to the draws below alone."""
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, sd), dims="edge")
    return model


def inclusion(p, sd):
    """Posterior probability of an edge: the slab's mean likelihood is (1 + sd^2)^(-1/2)."""
    odds = p / (1.0 - p) / np.sqrt(1.0 + sd**2)
    return odds / (1.0 + odds)


def posterior(rng, p, sd=1.0, **others):
    shape = (2, N_DRAWS // 2, 3)
    w = rng.normal(0.0, sd / np.sqrt(1.0 + sd**2), shape)
    w = np.where(rng.random(shape) < inclusion(p, sd), w, 0.0)
    return az.from_dict(
        {"posterior": {"w": w, **others}},
        dims={"w": ["edge"]},
        coords={"edge": pmrf.coords(GRAPH)["edge"]},
    )


def z_values(found, expected):
    return (found.inclusion - expected) / found.inclusion_mcse


def test_reweighted_probabilities_are_those_of_the_other_prior(rng):
    model, idata = model_of(0.5), posterior(rng, 0.5)
    options = {"prior_inclusion": [0.2, 0.5, 0.8], "slab_scale": [0.5, 1.0, 2.0]}
    found = pmrf.prior_sensitivity(idata, "w", model=model, **options)
    p, s = found.prior_inclusion, found.slab_scale
    assert np.abs(z_values(found, inclusion(p, s))).max() < Z
    assert np.abs(z_values(found, inclusion(p, 1.0 / s))).max() > Z  # another scale is noticed
    assert found.effective_share.sel(prior_inclusion=0.5, slab_scale=1.0) == pytest.approx(1.0)
    assert found.effective_share.min() < 0.9
    factor = found.bayes_factor.sel(prior_inclusion=0.2, slab_scale=2.0)
    expected = found.inclusion.sel(prior_inclusion=0.2, slab_scale=2.0)
    np.testing.assert_allclose(factor, expected / (1 - expected) / 0.25)


def test_blocks_are_counted_once(rng):
    """The posterior is of closed form: the mean likelihood of a block of k entries is (1 + sd^2)^(-k / 2)."""
    blocks, labels = (
        [2, 1, 4],
        ["a--b[1,1]", "a--b[1,2]", "a--c", *(f"b--c[{k},1]" for k in range(1, 5))],
    )
    with pm.Model(coords={"entry": labels}) as model:
        pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), blocks=blocks, dims="entry")

    def expected(p, sd):
        odds = p / (1.0 - p) * (1.0 + sd**2) ** (-0.5 * np.array(blocks))
        return odds / (1.0 + odds)

    present = np.repeat(rng.random((2, N_DRAWS // 2, 3)) < expected(0.5, 1.0), blocks, axis=-1)
    w = np.where(present, rng.normal(0.0, np.sqrt(0.5), present.shape), 0.0)
    idata = az.from_dict({"posterior": {"w": w}}, dims={"w": ["entry"]}, coords={"entry": labels})
    options = {"prior_inclusion": [0.25, 0.5], "slab_scale": [0.8, 1.5]}
    found = pmrf.prior_sensitivity(idata, "w", model=model, **options)
    assert found.inclusion.dims[-1] == "edge"
    assert found.edge.values.tolist() == ["a--b", "a--c", "b--c"]
    for p in found.prior_inclusion.values:
        for s in found.slab_scale.values:
            own = found.sel(prior_inclusion=p, slab_scale=s)
            assert np.all(np.abs(own.inclusion - expected(p, s)) < Z * own.inclusion_mcse)
            # as if entries had each a prior of its own
            assert np.any(np.abs(own.inclusion - inclusion(p, s)) > Z * own.inclusion_mcse)


def test_the_prior_as_sampled_gives_the_inclusion_of_the_draws(rng):
    model, idata = model_of(0.3), posterior(rng, 0.3)
    found = pmrf.prior_sensitivity(idata, "w", model=model, prior_inclusion=[0.3], slab_scale=[1.0])
    plain = pmrf.analysis.edge_inclusion(idata, "w")
    np.testing.assert_allclose(found.inclusion[0, 0], plain.inclusion)
    np.testing.assert_allclose(found.inclusion_mcse[0, 0], plain.inclusion_mcse)
    assert found.edge.values.tolist() == pmrf.coords(GRAPH)["edge"]


def test_edges_of_all_draws_and_of_none_have_infinite_and_zero_bayes_factors(rng):
    idata = posterior(rng, 0.5)
    idata.posterior["w"][..., 0] = rng.normal(size=idata.posterior["w"].shape[:2])
    idata.posterior["w"][..., 1] = 0.0
    found = pmrf.prior_sensitivity(idata, "w", model=model_of(0.5))
    assert (found.bayes_factor[..., 0] == np.inf).all() and (found.inclusion[..., 0] == 1.0).all()
    assert (found.bayes_factor[..., 1] == 0.0).all() and (found.inclusion_mcse[..., 1] == 0.0).all()
    bound = found.bayes_factor_bound
    assert bound[..., 2].isnull().all()
    odds = (bound * found.prior_inclusion / (1.0 - found.prior_inclusion)).transpose(*bound.dims)
    np.testing.assert_allclose(odds[..., 0] * odds[..., 1], 1.0)
    variance = found.inclusion[..., 2] * (1.0 - found.inclusion[..., 2])
    n = np.minimum(variance / found.inclusion_mcse[..., 2] ** 2, found.effective_draws)
    np.testing.assert_allclose(1.0 / (1.0 + odds[..., 1]), 0.05 ** (1.0 / n))


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_random_probability(rng, is_shared):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        p = pm.Beta("p", 4, 4)
        pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), dims="edge")
        if is_shared:  # then it cannot be integrated out: Beta(13, 67) given these
            pm.Binomial("y", 72, p, observed=9)
    # draws without data on the edges: under another probability q of all edges the inclusion is q
    drawn = rng.beta(*(13, 67) if is_shared else (4, 4), (2, N_DRAWS // 2))
    shape = (2, N_DRAWS // 2, 3)
    w = np.where(rng.random(shape) < drawn[..., None], rng.normal(size=shape), 0.0)
    idata = az.from_dict({"posterior": {"w": w, "p": drawn}}, dims={"w": ["edge"]},
                         coords={"edge": pmrf.coords(GRAPH)["edge"]})  # fmt: skip
    found = pmrf.prior_sensitivity(idata, "w", model=model, prior_inclusion=[0.35], slab_scale=[1.0])
    assert np.abs(z_values(found, 0.35)).max() < Z
    assert np.abs(z_values(found, 0.5)).min() > Z
    if not is_shared:  # by the number of edges alone
        counts = np.arange(4)
        old = stats.betabinom(3, 4, 4).pmf(counts)
        ratio = stats.binom(3, 0.35).pmf(counts) / old
        second = ratio**2 @ old
        influence = 2.0 * ratio / second - (ratio / second) ** 2  # of a draw on the share
        error = np.sqrt((influence**2 @ old - (influence @ old) ** 2) / N_DRAWS)
        assert abs(found.effective_share.item() - 1.0 / second) < Z * error


def test_priors_that_leave_too_few_draws_are_named_and_left_open(rng):
    model, idata = model_of(0.5), posterior(rng, 0.5).sel(draw=slice(150))
    with pytest.warns(UserWarning, match=r"fewer than 100 effective draws .* prior_inclusion=0\.001"):
        found = pmrf.prior_sensitivity(
            idata, "w", model=model, prior_inclusion=[0.001, 0.5], slab_scale=[1.0]
        )
    assert found.inclusion.isel(prior_inclusion=0).isnull().all()
    assert found.inclusion.isel(prior_inclusion=1).notnull().all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prior_inclusion": [1.0]}, "prior_inclusion must be .* below 1"),
        ({"slab_scale": [0.0]}, "slab_scale must be .* above 0"),
        ({"slab_scale": []}, "slab_scale must be a sequence of numbers"),
    ],
)
def test_bad_priors(rng, options, words):
    with pytest.raises(ValueError, match=words):
        pmrf.prior_sensitivity(posterior(rng, 0.5), "w", model=model_of(0.5), **options)


def test_groups_that_are_not_there_are_refused(rng):
    with pytest.raises(ValueError, match=r"var_names='w' is no vector that .*group_weights gave groups"):
        pmrf.prior_sensitivity(posterior(rng, 0.5), "w", between=["a", "b"], model=model_of(0.5))


def test_another_variable_is_refused(rng):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        pm.Normal("w", 0, 1, dims="edge")
    with pytest.raises(ValueError, match="no free SpikeAndSlab"):
        pmrf.prior_sensitivity(posterior(rng, 0.5), "w", model=model)


@pytest.mark.slow
@pytest.mark.compiled
def test_reweighted_draws_agree_with_a_sample_under_the_other_prior(rng):
    x = rng.integers(0, 2, (150, 4))
    x[:, 1] = np.where(rng.random(150) < 0.3, x[:, 0], x[:, 1])

    def sampled(p, scale):
        model = pmrf.network_model(x, prior_inclusion=p, slab=pm.Cauchy.dist(0, scale))
        with model, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few draws
            return model, pm.sample(
                1500, tune=300, chains=2, cores=1, random_seed=3, progressbar=False, quiet=True,
                compute_convergence_checks=False,
            )  # fmt: skip

    model, idata = sampled(0.5, 2.0)
    options = {"prior_inclusion": [0.15], "slab_scale": [0.25]}
    found = pmrf.prior_sensitivity(idata, "weight", model=model, **options).isel(
        prior_inclusion=0, slab_scale=0
    )
    direct = pmrf.analysis.edge_inclusion(sampled(0.15, 0.5)[1], "weight")
    varies = found.inclusion_mcse > 0.0  # an edge of all draws, or of none, has no error
    z = (found.inclusion - direct.inclusion) / np.hypot(found.inclusion_mcse, direct.inclusion_mcse)
    assert np.abs(z[varies]).max() < Z
    assert varies.sum() > 3
    share = np.abs(1.0 - found.inclusion - direct.inclusion)[~varies]  # of draws like all of them
    assert np.all(share**found.effective_draws > stats.norm.sf(Z))
    as_sampled = pmrf.analysis.edge_inclusion(idata, "weight")
    apart = (as_sampled.inclusion - direct.inclusion) / direct.inclusion_mcse
    assert np.abs(apart).max() > Z
