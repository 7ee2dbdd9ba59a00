"""ReversibleJump and PersistentLangevin in PyMC: what they move, settings, what is refused."""

from functools import partial

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.papers.persistent_langevin import PersistentLangevin
from pymc_mrf.papers.reversible_jump import ReversibleJump
from tests.insides import engine_in, sweeps_of
from tests.steps.edges.small_models import (
    GRAPH,
    agreement_field,
    data,
    edge_model,
    missing_cells,
    no_field,
    transformed,
    two_fields,
)

STEPS = [ReversibleJump, PersistentLangevin]
LIKELIHOODS = ["exact", "particles"]
START = np.array([0.6, 0.0, -0.01, 0.0, 0.0, 0.3])


def build(step, model, **kwargs):
    names = ["w"] if step is ReversibleJump else ["w", "b"]
    with model:
        return step([model[name] for name in names], **kwargs)


def both(model, **langevin):
    return [build(ReversibleJump, model), build(PersistentLangevin, model, **langevin)]


def test_each_step_moves_what_it_should():
    model = edge_model("particles")
    point = {**model.initial_point(), "w": START}
    jump, langevin = both(model)
    moved, stats = langevin.step(point)
    np.testing.assert_array_equal(moved["w"] != 0, START != 0)
    assert np.all(moved["b"] != point["b"])
    assert stats[0]["persistent_langevin_step_size"] == pytest.approx(1e-3)
    assert stats[0]["persistent_langevin_accept"] == 1.0
    jumped, stats = jump.step(point)
    np.testing.assert_array_equal(jumped["b"], point["b"])
    # far beyond the paper's width of 0.01 / sqrt(n Var f), and just within
    assert jumped["w"][0] == START[0]
    assert np.abs(jumped["w"][[1, 3, 4]]).max() < 0.01
    assert stats[0]["reversible_jump_n_active"] == np.count_nonzero(jumped["w"])
    assert 0 <= stats[0]["reversible_jump_add_accept"] <= 1
    assert np.isnan(stats[0]["reversible_jump_delete_accept"])


def test_settings_of_the_paper_are_the_defaults():
    """Sec. 6.2."""
    model = edge_model("particles")
    jump, langevin = both(model)
    f = (data()[:, GRAPH.edges[:, 0]] * data()[:, GRAPH.edges[:, 1]]).sum(axis=0)
    p = (f + 0.5) / 51.0
    np.testing.assert_allclose(jump._width, 0.01 / np.sqrt(50 * p * (1 - p)))
    for step in (jump, langevin):
        assert step.particles.shape == (100, 4)
        assert sweeps_of(engine_in(step)) == 1
    assert langevin._alpha == 0.9
    assert [len(step.particles) for step in both(edge_model("exact"))] == [0, 0]


def test_tuning_of_the_exact_step_size_ends_with_tuning():
    model = edge_model("exact")
    step = build(PersistentLangevin, model)
    step.setup_chain(np.random.default_rng(1), 400, 100)
    point = {**model.initial_point(), "w": START}
    for _ in range(400):
        point, stats = step.step(point)
    step.stop_tuning()
    before, curvature = step.log_step, step.curvature.copy()
    accepts = []
    for _ in range(400):
        point, stats = step.step(point)
        accepts.append(stats[0]["persistent_langevin_accept"])
    assert step.log_step == before
    np.testing.assert_array_equal(step.curvature, curvature)
    assert 0.8 < np.mean(accepts) < 0.97
    fixed = build(PersistentLangevin, model, step_size=0.05)
    fixed.setup_chain(np.random.default_rng(1), 10, 10)
    for _ in range(5):
        point, stats = fixed.step(point)
    assert stats[0]["persistent_langevin_step_size"] == pytest.approx(0.05)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_constant_and_separable_columns(likelihood):
    x = data()
    x[:, 2] = 1
    x[:, 3] = x[:, 0]
    with pytest.warns(UserWarning) as found:
        model = edge_model(likelihood, x, pm.Cauchy.dist(0, 1))
    constant, twins = [str(warning.message) for warning in found]
    assert constant.startswith("x never changes at 2: only the priors keep")
    assert twins.startswith("x: the nodes of 0--3 always agree: only the prior keeps")
    steps = both(model, step_size=0.05)
    for k, step in enumerate(steps):
        step.setup_chain(np.random.default_rng(k), 50, 150)
    point = model.initial_point()
    for _ in range(200):
        for step in steps:
            point, _ = step.step(point)
            assert np.isfinite(point["w"]).all() and np.isfinite(point["b"]).all()


def pseudo():
    return edge_model("pseudo")


def of_other_statistics(declare):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=1)
        declare(w, graph=pmrf.graphs.complete(2), observed=[[0, 1], [1, 1]], likelihood="exact")
    return model


OTHERS = 'samples BoltzmannMachine and Ising fields under likelihood="exact", but x, of which w is the'


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: of_other_statistics(partial(pmrf.Potts, "x", n_states=2)), OTHERS),
        (lambda: of_other_statistics(partial(pmrf.OrdinalMRF, "x", n_states=3)), OTHERS),
        (lambda: of_other_statistics(partial(pmrf.OrdinalMRF, "x", n_states=2, scores=[0, 2])), OTHERS),
        (
            lambda: of_other_statistics(partial(pmrf.OrdinalMRF, "x", scores=[[0, 1], [-1, 1]])),
            OTHERS,
        ),
        (no_field, "reaches no Markov random field"),
        (
            lambda: transformed("exact"),
            "needs w itself as the coupling of x, not another expression of w",
        ),
        (two_fields, "one field and nothing else, but w feeds x, y"),
        (missing_cells, "has missing cells, which this step does not take"),
        (pseudo, 'under likelihood="pseudo" of x; declare the field with likelihood="exact" or "part'),
        (lambda: agreement_field("exact"), "w is the theta of x; declare x as one of these"),
    ],
)
def test_models_that_are_refused(kind, make, message):
    model = make()
    with model, pytest.raises(ValueError, match=message):
        kind([model["w"]])


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("kind", STEPS)
def test_variables_and_counts_that_are_refused(kind, likelihood):
    model = edge_model(likelihood)
    with model:
        with pytest.raises(TypeError, match="samples one pymc_mrf\\.SpikeAndSlab, but got b"):
            kind([model["b"]])
        for value in (1, 2.5, True):
            with pytest.raises(ValueError, match="n_particles must be an integer of at least 2, not"):
                kind([model["w"]], n_particles=value)
        with pytest.raises(ValueError, match="n_sweeps must be a positive integer, not 0"):
            kind([model["w"]], n_sweeps=0)
        with pytest.raises(ValueError, match="leave p out of `vars`"):
            kind([model["w"], model["p"]])
    with pytensor.config.change_flags(floatX="float32"):
        model = edge_model(likelihood)
        with model, pytest.raises(ValueError, match="double precision"):
            kind([model["w"]])


def test_options_that_are_refused():
    model = edge_model("particles")
    with model:
        with pytest.raises(ValueError, match="width must be a finite number above 0, not -1"):
            ReversibleJump([model["w"]], width=-1)
        with pytest.raises(ValueError, match="leave b to PersistentLangevin"):
            ReversibleJump([model["w"], model["b"]])
        for value in (0.0, np.nan, "fast"):
            with pytest.raises(ValueError, match="step_size must be a finite number above 0"):
                PersistentLangevin([model["w"]], step_size=value)
        for value in (-0.1, 1.0):
            with pytest.raises(ValueError, match="alpha must be a number of at least 0 and below 1"):
                PersistentLangevin([model["w"]], alpha=value)


@pytest.mark.parametrize("name", ["n_particles", "n_sweeps"])
@pytest.mark.parametrize("kind", STEPS)
def test_options_of_a_simulation_are_refused_without_one(kind, name):
    with pytest.raises(
        ValueError, match=f'{name} is .* simulated, but x has likelihood="exact": leave it'
    ):
        build(kind, edge_model("exact"), **{name: 9})


def test_slabs_that_end_need_an_accept_step():
    model = edge_model("particles", slab=pm.HalfNormal.dist(1))
    with pytest.raises(ValueError, match="slab of w is not known to be positive on the whole line"):
        build(PersistentLangevin, model)


@pytest.mark.slow
@pytest.mark.compiled
def test_slabs_that_do_not_end_need_none():
    model = edge_model("particles", slab=pm.Uniform.dist(-1, 1))
    with pytest.raises(ValueError, match="slab of w is not known to be positive on the whole line"):
        build(PersistentLangevin, model)
    build(PersistentLangevin, edge_model("particles", slab=pm.Logistic.dist(0, 1)))
    build(PersistentLangevin, edge_model("exact", slab=pm.HalfNormal.dist(1)))


@pytest.mark.warm
def test_divergence_is_an_error():
    model = edge_model("particles", slab=pm.Normal.dist(0, 1))
    with pytest.raises(ValueError, match="dynamics of w have diverged; take a step_size below"):
        build(PersistentLangevin, model, step_size=1e150)  # steps are tried when it is made


def test_only_on_request():
    model = edge_model("exact")
    for kind in STEPS:
        assert not any(kind.competence(rv, True) for rv in model.free_RVs)


def test_a_field_without_biases_and_a_scalar_field():
    for arguments in ({}, {"field": 0.2}):
        with pm.Model() as model:
            w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
            pmrf.Ising("x", w, graph=GRAPH, observed=2 * data() - 1, likelihood="particles", **arguments)
            steps = [ReversibleJump([w]), PersistentLangevin([w])]
        point = {**model.initial_point(), "w": START}
        for step in steps:
            point, _ = step.step(point)
        assert np.isfinite(point["w"]).all()
