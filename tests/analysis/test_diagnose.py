"""`diagnose`: each finding provoked, and what must not be one."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.diagnose import diagnose
from pymc_mrf.graph.builders import grid

CHAINS, DRAWS = 4, 400


def tree(posterior, statistics=None):
    groups = {"posterior": posterior}
    return az.from_dict(groups if statistics is None else {**groups, "sample_stats": statistics})


def said(diagnosis, level, subject):
    return [f.text for f in diagnosis.findings if (f.level, f.subject) == (level, subject)]


@pytest.fixture
def good(rng):
    return rng.standard_normal((CHAINS, DRAWS, 3))


def test_independent_draws_are_trusted(good):
    found = diagnose(tree({"a": good}))
    assert found.ok
    levels = [f.level for f in found.findings if f.subject == "a"]
    assert levels in (["for", "for"], ["note", "for"])
    page = repr(found)
    assert page.startswith("Diagnosis of 4 chains of 400 draws")
    assert "nothing was found" in page
    assert max(map(len, page.splitlines())) <= 96


def test_chains_apart(good):
    good[0, :, 1] += 3.0
    found = diagnose(tree({"a": good}))
    assert not found.ok
    [first, *_] = said(found, "against", "a")
    assert "at a[1]; 1 of 3 entries above 1.01" in first


def test_slow_chains_are_told_how_long_to_sample(rng):
    walk = rng.standard_normal((CHAINS, DRAWS))
    for s in range(1, DRAWS):
        walk[:, s] = 0.97 * walk[:, s - 1] + 0.25 * walk[:, s]
    found = diagnose(tree({"a": walk}))
    short = [f for f in found.findings if "effective size down to" in f.text]
    assert short
    assert int(short[0].remedy.split("draws=")[1]) > DRAWS


def test_edges_that_are_always_or_nearly_absent_are_no_failure(rng):
    w = rng.standard_normal((CHAINS, DRAWS, 6))
    w[..., 0] = 0.0
    w[..., 1] = 0.0
    w[0, 7, 1] = 2.0
    w[..., 2] *= rng.random((CHAINS, DRAWS)) < 0.5
    found = diagnose(tree({"w": w}))
    assert found.ok
    [note] = [text for text in said(found, "note", "w") if "one value" in text]
    assert "2 of 6 entries have one value in nearly all draws (2 of them 0)" in note


def test_a_variable_that_never_moved_and_entries_that_stand_still(good):
    found = diagnose(tree({"a": np.full((CHAINS, DRAWS, 2), 0.3), "b": good}))
    assert said(found, "against", "a") == [f"never changed in {CHAINS * DRAWS} draws"]
    good[..., 2] = np.arange(CHAINS)[:, None]
    stuck = diagnose(tree({"b": good}))
    assert "1 of 3 entries stand still" in said(stuck, "against", "b")[0]
    good[1, 5, 0] = np.nan
    broken = diagnose(tree({"b": good}))
    assert said(broken, "against", "b") == ["1 of 3 entries are not finite"]


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("particle_ratio_noise", 0.5, "noise of the log ratio 0.5, above 0.3"),
        ("particle_ratio_drift", 0.6, "drift of the particles 0.6, above 0.3"),
        ("particle_ratio_ess", 0.02, "smallest effective size of particles 0.02, below 0.05"),
        ("edge_gibbs_noise", 0.8, "noise of the log ratio 0.8, above 0.5"),
        ("stripped_beta_moment_gap", 0.2, "moment gap 0.2, above 0.05"),
        ("auxiliary_mh_value_acceptance", 0.99, "value acceptance 0.99, above 0.9"),
        ("exchange_accept", 0.01, "acceptance 0.01, below 0.1"),
        ("edge_gibbs_joint_accept", 0.1, "acceptance, joint moves 0.1, below 0.4"),
        ("reversible_jump_add_accept", 0.0, "acceptance, added edges 0, below 0.001"),
        ("persistent_langevin_momentum", 1.5, "momentum 1.5, above 1.2"),
        ("persistent_langevin_range", 0.02, "range of the value that moved most 0.02, below 0.5"),
        ("tree_gibbs_accept", 0.001, "acceptance 0.001, below 0.01"),
    ],
)
def test_statistics_out_of_range_in_one_chain(good, rng, name, values, told):
    healthy = {"ess": 0.7, "range": 4.0, "momentum": 1.0, "acceptance": 0.4, "accept": 0.5}
    usual = next((v for end, v in healthy.items() if name.endswith(end)), 0.01)
    statistic = np.full((CHAINS, DRAWS), usual)
    beside = {"persistent_langevin_momentum_error": np.zeros((CHAINS, DRAWS))}
    if name.startswith("particle_ratio"):
        beside = particles()
    statistics = beside | {name: statistic}
    assert diagnose(tree({"a": good}, statistics)).ok
    statistic[2] = values
    found = diagnose(tree({"a": good}, statistics))
    [against] = [f for f in found.findings if f.level == "against"]
    assert against.text == told
    assert against.remedy


def particles(noise=0.01, drift=0.0, target=0.3):
    values = {"noise": noise, "drift": drift, "target_noise": target}
    return {f"particle_ratio_{k}": np.full((CHAINS, DRAWS), v) for k, v in values.items()}


def test_drift_with_both_signs_is_none(good):
    drift = np.where(np.arange(DRAWS) % 2, 0.5, -0.5) * np.ones((CHAINS, 1))
    assert diagnose(tree({"a": good}, particles() | {"particle_ratio_drift": drift})).ok


def test_particles_are_judged_as_by_their_step(good):
    def against(**options):
        return said(diagnose(tree({"a": good}, particles(**options))), "against", "ParticleRatioGibbs")

    assert against(noise=0.4) == ["noise of the log ratio 0.4, above 0.3"]
    assert against(noise=0.4, target=0.5) == []
    assert against(drift=0.4) == ["drift of the particles 0.4, above 0.3"]
    assert against(drift=0.4, target=0.5) == []
    # as much as noise explains
    assert against(drift=0.6, noise=0.7) == ["noise of the log ratio 0.7, above 0.3"]
    assert len(against(drift=0.8, noise=0.7)) == 2


def test_steps_with_targets_of_their_own(good):
    noise = np.full((CHAINS, DRAWS, 2), 0.4)
    target = np.stack([np.full((CHAINS, DRAWS), t) for t in (0.5, 0.3)], axis=-1)
    statistics = {"particle_ratio_noise": noise, "particle_ratio_target_noise": target}
    found = diagnose(tree({"a": good}, statistics))
    assert said(found, "against", "ParticleRatioGibbs[0]") == []
    assert len(said(found, "against", "ParticleRatioGibbs[1]")) == 1


def test_momenta_are_judged_beyond_their_error(good):
    def judged(error, mean=0.5):
        momentum = np.ones((CHAINS, DRAWS))
        momentum[1] = mean
        name = "persistent_langevin_momentum"
        statistics = {name: momentum, f"{name}_error": np.full((CHAINS, DRAWS), error)}
        return [f for f in diagnose(tree({"a": good}, statistics)).findings if "momentum" in f.text]

    assert [f.level for f in judged(3.0)] == ["for"]  # three errors of 3 / sqrt(400), and 0.2
    [found] = judged(1.0)
    assert (found.level, found.text) == ("against", "momentum 0.5, below 0.65")
    [found] = judged(1.0, mean=1.5)
    assert (found.level, found.text) == ("against", "momentum 1.5, above 1.35")
    assert judged(np.nan) == []


def test_few_draws_need_not_range_far(rng):
    for draws, n_findings in ((40, 0), (60, 1)):
        statistics = {"persistent_langevin_range": np.full((CHAINS, draws), 0.02)}
        found = diagnose(tree({"a": rng.standard_normal((CHAINS, draws))}, statistics))
        assert len(said(found, "against", "PersistentLangevin")) == n_findings


def test_acceptance_without_proposals_is_no_evidence(good):
    statistics = {
        name: np.ones((CHAINS, DRAWS)) for name in ("persistent_langevin_accept", "tree_gibbs_accept")
    }
    steps = {f.subject for f in diagnose(tree({"a": good}, statistics)).findings}
    assert steps == {"a", "run"}
    statistics["persistent_langevin_accept"][0, 0] = 0.9
    found = diagnose(tree({"a": good}, statistics))
    assert said(found, "for", "PersistentLangevin") == ["acceptance 1"]


def test_what_needs_the_model_is_said_without_it(good, rng):
    def notes(posterior, data=None, **options):
        groups = {"posterior": posterior} | ({} if data is None else {"observed_data": {"x": data}})
        return said(diagnose(az.from_dict(groups), **options), "note", "run")

    [text] = notes({"a": good})
    assert "whether a pseudo-likelihood was used" in text
    assert len(notes({"a": good}, rng.integers(2, size=(10, 3)))) == 1
    assert len(notes({"a": good, "z": rng.integers(2, size=good.shape)}, rng.normal(size=10))) == 1
    assert notes({"a": good}, rng.normal(size=10)) == []
    assert notes({"a": good}, np.arange(10)) == []  # counts
    assert notes({"a": good}, model=pm.Model()) == []


def test_plots_that_are_recommended_can_be_drawn(good):
    good[0] += 3.0

    def remedies(statistics):
        found = diagnose(tree({"a": good}, statistics))
        return [f.remedy for f in found.findings if "R-hat" in f.text]

    assert remedies({"diverging": np.zeros((CHAINS, DRAWS))}) == ["sample longer; see arviz.plot_rank"]
    assert hasattr(az, "plot_rank")
    n_active = np.arange(CHAINS * DRAWS).reshape(CHAINS, DRAWS)
    assert remedies({"edge_gibbs_n_active": n_active}) == ["sample longer; see plot_diagnostics"]


def test_several_steps_are_told_apart(rng):
    w = {name: rng.normal(size=(CHAINS, DRAWS, 6)) for name in ("w", "v")}
    for values in w.values():
        values *= rng.random(values.shape) < 0.5
    n_active = np.stack([np.count_nonzero(values, axis=-1) for values in w.values()], axis=-1)
    noise = np.zeros((CHAINS, DRAWS, 2))
    noise[..., 1] = 0.8
    statistics = {
        "edge_gibbs_n_active": n_active,
        "edge_gibbs_noise": noise,
        "edge_gibbs_ess": np.ones((CHAINS, DRAWS, 2)),
        "edge_gibbs_joint_accept": np.full((CHAINS, DRAWS, 2), 0.8),
    }
    found = diagnose(tree(w, statistics))
    assert said(found, "for", "EdgeGibbs[0] (w)") == ["acceptance, joint moves 0.8"]
    assert said(found, "against", "EdgeGibbs[1] (v)") == ["noise of the log ratio 0.8, above 0.5"]
    del statistics["edge_gibbs_n_active"]
    assert said(diagnose(tree(w, statistics)), "for", "EdgeGibbs[0]") == ["acceptance, joint moves 0.8"]


def test_numbers_of_groups_and_edges_that_never_change(good):
    n = np.full((CHAINS, DRAWS), 3)
    found = diagnose(tree({"a": good}, {"group_gibbs_n_groups": n}))
    assert found.ok
    assert (
        "number of groups never changed in 4 of 4 chains: [3]" in said(found, "note", "group sampler")[0]
    )
    n[1] = 5
    found = diagnose(tree({"a": good}, {"edge_gibbs_n_active": n}))
    assert (
        "present edges never changed in 4 of 4 chains: [3, 5]" in said(found, "against", "EdgeGibbs")[0]
    )


def test_auxiliary_chains_divergences_and_approximations(good):
    statistics = {
        "exchange_draws": np.full((CHAINS, DRAWS), "gibbs"),
        "exchange_n_sweeps": np.full((CHAINS, DRAWS), 20),
        "diverging": np.zeros((CHAINS, DRAWS), dtype=bool),
        "stripped_beta_moment_gap": np.full((CHAINS, DRAWS), 0.01),
        "auxiliary_mh_label_acceptance": np.full((CHAINS, DRAWS), np.nan),
    }
    found = diagnose(tree({"a": good}, statistics))
    assert found.ok
    assert "Gibbs chains of 20 sweeps" in said(found, "note", "Exchange")[0]
    assert said(found, "for", "NUTS") == ["no divergences"]
    assert "exactly on trees only" in said(found, "note", "StrippedBetaGibbs")[0]
    statistics["diverging"][0, 3] = True
    assert not diagnose(tree({"a": good}, statistics)).ok


def test_short_runs_and_long_pages(rng):
    found = diagnose(tree({"a": rng.standard_normal((1, 50))}))
    assert len(said(found, "note", "run")) == 2
    assert said(found, "against", "run") == ["one chain only: whether chains agree is not known"]
    many = {f"v{i:02d}": np.full((2, 100), 1.0) for i in range(30)}
    page = repr(diagnose(tree(many)))
    assert "and 18 more" in page
    assert len(page.splitlines()) < 40


@pytest.mark.parametrize(("coupling", "level"), [(0.05, "for"), (0.27, "note"), (0.7, "against")])
def test_pseudo_likelihood_of_strong_couplings(coupling, level, rng):
    graph = grid(4, 4)
    x = 2 * rng.integers(2, size=(10, 16)) - 1
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1.0)
        z = pm.Normal("z", 0.0, 1.0, shape=graph.n_edges)
        pmrf.Ising("x", scale * z, 0.1, graph=graph, observed=x, likelihood="pseudo")
    draws = rng.normal(1.0, 1e-3, size=(2, 100, graph.n_edges))
    idata = tree({"z": draws, "scale": coupling + 0.01 * rng.standard_normal((2, 100))})
    found = diagnose(idata, model=model)
    [text] = said(found, level, "x")
    assert "pseudo-likelihood" in text
    with pytest.raises(ValueError, match="the posterior group has no variable 'scale'"):
        diagnose(tree({"z": draws}), model=model)


@pytest.mark.parametrize(
    ("limit", "level", "has_field"), [(1e-4, "against", True), (0.25, "for", False)]
)
def test_paths_whose_error_shows(limit, level, has_field, rng, tmp_path, monkeypatch):
    monkeypatch.setattr("pymc_mrf.likelihood.path.path_form.folder", lambda: tmp_path)
    with pm.Model() as model:
        J, h = pm.HalfNormal("J", 1.0), pm.Normal("h") if has_field else 0.0
        pmrf.Ising("x", J, h, graph=grid(2, 3), shape=(10, 6), likelihood="path")
    monkeypatch.setattr("pymc_mrf.likelihood.path.path_form.NEGLIGIBLE", limit)
    draws = {"J": 0.5 + 0.05 * rng.standard_normal((2, 100))}
    if has_field:
        draws["h"] = 0.1 * rng.standard_normal((2, 100))
    [text] = said(diagnose(tree(draws), model=model), level, "x")
    assert "moves the posterior by 0.0" in text


@pytest.mark.parametrize("likelihood", [pmrf.Pseudo(weight=1), "pseudo", "exact"], ids=str)
def test_pseudo_likelihood_that_is_too_sure_of_edges(likelihood, rng):
    """Ten edges with inclusion 0.9 and prior probability 0.1: even odds by the root of the Bayes factor."""
    x = rng.integers(2, size=(10, 5))
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), shape=10)
        graph = pmrf.graphs.complete(5)
        pmrf.BoltzmannMachine("x", w, 0.0, graph=graph, observed=x, likelihood=likelihood)
    draws = 0.1 * rng.standard_normal((2, 100, 10))
    draws[:, :10] = 0.0
    idata = tree({"w": draws, "p": np.full((2, 100), 0.1)})
    found = diagnose(idata, model=model).findings
    texts = [f.text for f in found if "too sure" in f.text]
    words = (
        "of the 10 with an inclusion probability above 0.5 it claims that 10% are zero, but about 50%"
    )
    assert [words in text for text in texts] == [True] * (likelihood == pmrf.Pseudo(weight=1))
    idata = tree({"w": draws, "p": np.full((2, 100), 0.9)})  # odds 9 of both: 9
    assert "too sure" not in repr(diagnose(idata, model=model))


def test_a_field_with_missing_cells_is_one_subject(rng):
    """Its parts are not judged twice."""
    graph, x = grid(2, 2), np.ma.masked_array(rng.choice([-1, 1], (50, 4)))
    x[0, 0] = np.ma.masked
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        J = pm.Normal("J", shape=4)
        pmrf.Ising("x", J, graph=graph, observed=x, likelihood="pseudo")
    posterior = {
        "J": rng.normal(0, 0.1, (CHAINS, DRAWS, 4)),
        "x_unobserved": rng.integers(0, 2, (CHAINS, DRAWS, 1)),
    }
    subjects = [f.subject for f in diagnose(tree(posterior), model=model).findings]
    assert "x_unobserved" in subjects
    assert subjects.count("x") == 1
    assert {f.subject for f in diagnose(tree(posterior), var_names="x").findings} >= {"x_unobserved"}


def test_pseudo_likelihood_of_factor_graphs_is_not_judged(rng):
    x = rng.integers(2, size=(10, 2))
    with pm.Model() as model:
        v = pm.Normal("v", 0, 1)
        table = v * np.eye(2)
        pmrf.FactorGraphMRF(
            "x", [table], scopes=[(0, 1)], cardinalities=[2, 2], observed=x, likelihood="pseudo"
        )
    found = diagnose(tree({"v": rng.standard_normal((4, 100))}), model=model)
    [text] = said(found, "note", "x")
    assert "not looked at" in text


@pytest.mark.parametrize(("likelihood", "level"), [("particles", "against"), ("pseudo", "note")])
def test_log_likelihoods_that_are_none(likelihood, level, rng):
    x = rng.integers(2, size=(10, 3))
    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=3)
        graph = pmrf.graphs.complete(3)
        pmrf.BoltzmannMachine("x", w, 0.0, graph=graph, observed=x, likelihood=likelihood)
    groups = {"posterior": {"w": rng.normal(0.0, 0.01, (2, 100, 3))}}
    assert not any(
        "log_likelihood" in f.text for f in diagnose(az.from_dict(groups), model=model).findings
    )
    idata = az.from_dict({**groups, "log_likelihood": {"x": rng.standard_normal((2, 100, 10))}})
    [finding] = [f for f in diagnose(idata, model=model).findings if "log_likelihood" in f.text]
    assert (finding.level, finding.subject) == (level, "x")
    assert "log_predictive of conditional_log_likelihood" in finding.remedy
    idata["log_likelihood"]["x"][:] = np.nan
    assert "log_likelihood" not in repr(diagnose(idata, model=model))


def test_steps_that_make_no_zeros(rng):
    x = rng.integers(2, size=(10, 3))
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        pmrf.BoltzmannMachine("x", w, 0.0, graph=pmrf.graphs.complete(3), observed=x)
    draws = {"w": rng.standard_normal((2, 100, 3))}
    words = "was moved by a step that cannot make or unmake zeros"
    numbers = rng.integers(1, 3, (2, 100))
    for name, level in [
        ("accept", "against"),
        ("persistent_langevin_n_active", "note"),
        ("reversible_jump_n_active", None),
        ("edge_gibbs_n_active", None),
    ]:
        found = [
            f for f in diagnose(tree(draws, {name: numbers}), model=model).findings if f.text == words
        ]
        assert [(f.level, f.subject) for f in found] == ([] if level is None else [(level, "w")])


def test_too_little_for_r_hat_is_no_evidence():
    found = diagnose(tree({"a": np.random.default_rng(1).standard_normal((1, 4))}))
    assert not said(found, "for", "a")
    assert "without a finite R-hat" in said(found, "against", "a")[0]


def test_bad_input_is_named(good):
    with pytest.raises(TypeError, match=r"xarray\.DataTree"):
        diagnose(good)
    with pytest.raises(ValueError, match="the DataTree has no group 'prior'; it has 'posterior'"):
        diagnose(tree({"a": good}), group="prior")
    with pytest.raises(ValueError, match="the posterior group has no variable 'b'; it has 'a'"):
        diagnose(tree({"a": good}), var_names="b")
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model, not str"):
        diagnose(tree({"a": good}), model="m")
    with pytest.raises(ValueError, match="no numerical variables"):
        diagnose(tree({"a": np.full((2, 5), "text")}))


@pytest.mark.parametrize("shape", [(1, 5000), (1, 10), (3, 3)])
def test_what_cannot_be_judged_is_not_ok(rng, shape):
    found = diagnose(tree({"a": rng.standard_normal(shape), "w": rng.standard_normal((*shape, 3))}))
    assert not found.ok
    assert not [f for f in found.findings if f.level == "for"]


def test_variables_of_which_none_moves_enough_are_not_ok(rng):
    w = np.zeros((CHAINS, DRAWS, 2))
    w[0, 3, 0] = 1.0
    found = diagnose(tree({"w": w}))
    assert not found.ok
    assert said(found, "against", "run") == [
        "no entry of any variable has an R-hat and an effective size"
    ]
    assert diagnose(tree({"w": w, "a": rng.standard_normal((CHAINS, DRAWS))})).ok
