"""Starts of hidden fields: classes that PyMC starts alike are told apart, before the first draw."""

from functools import cache
from itertools import permutations, product

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.optimize import check_grad

import pymc_mrf as pmrf
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.steps.latent.latent_start import VariationalEM, interaction_matrix, slopes_of
from tests.insides import classes_of, evidence_of, field_of
from tests.marks import slow

GRID = builders.grid(18, 18)
N_STATES = 3


@cache
def picture():
    """Classes of pixels, most of them 0, with J = 1.15 beyond the critical 1.005; noisy levels 0, 1, 2."""
    rng = np.random.default_rng(1)
    tables = 1.15 * np.eye(N_STATES)[None].repeat(GRID.n_edges, axis=0)
    sampler = AuxiliarySampler(GRID, N_STATES, 1, draws="gibbs", n_sweeps=300, name="x")
    start = np.zeros((1, GRID.n_nodes), dtype=np.int8)
    x = sampler.draw(tables, np.zeros((GRID.n_nodes, N_STATES)), rng, start=start)[0]
    x = (x - np.bincount(x).argmax()) % N_STATES
    assert 0.8 < np.mean(x == 0) < 0.97, "most pixels in one class"
    return x, x + rng.normal(0.0, 0.5, size=len(x))


def hidden_picture(y=None, **options):
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 2.0, shape=N_STATES, **options)
        noise = pm.HalfNormal("noise", 1.0)
        x = pmrf.Potts("x", 1.0, graph=GRID, n_states=N_STATES)
        pm.Normal("y", level[x], noise, observed=picture()[1] if y is None else y)
    return model


@cache
def fitted_picture():
    """The model of the picture as PyMC starts it, and a step that has been made for it."""
    model = hidden_picture()
    return model, pmrf.steps.TreeGibbs([model["x"]], model=model)


def variational_em(step, model, names):
    evidence, point = evidence_of(step), model.initial_point()
    slopes = slopes_of(evidence, model, names)
    return VariationalEM(field_of(step), evidence, evidence.owner, model, point, names, slopes, None)


def first_step(step, model):
    step.setup_chain(np.random.default_rng(3), 10, 10)
    return step.step(model.initial_point())[0]


def misclassified(x):
    """Share of pixels in a wrong class, whatever the names of the classes."""
    return min(np.mean(np.array(names)[x] != picture()[0]) for names in permutations(range(N_STATES)))


def test_classes_that_start_alike_are_told_apart(monkeypatch):
    model, step = fitted_picture()
    point = first_step(step, model)
    with_truth = {"level": np.arange(3.0), "noise_log__": np.log(0.5)}
    monkeypatch.setattr(step, "_classes", with_truth)
    best = misclassified(first_step(step, model)["x"])
    assert np.abs(np.sort(point["level"]) - np.arange(3.0)).max() < 0.3
    assert abs(np.exp(point["noise_log__"]) - 0.5) < 0.05
    assert misclassified(point["x"]) < best + 0.03
    monkeypatch.setattr(step, "_classes", {})
    assert misclassified(first_step(step, model)["x"]) > 0.5  # PyMC's default says nothing


def test_starts_of_the_user_are_kept():
    model = hidden_picture(initval=[2.0, 1.0, 0.0])
    step = pmrf.steps.TreeGibbs([model["x"]], model=model)
    assert set(classes_of(step)) == {"noise_log__"}
    np.testing.assert_array_equal(first_step(step, model)["level"], [2.0, 1.0, 0.0])

    model, step = fitted_picture()  # as by pm.sample(initvals=...)
    start = {**model.initial_point(), "level": np.array([0.0, 0.5, 1.0]), "noise_log__": np.array(-1.0)}
    assert classes_of(pmrf.steps.TreeGibbs([model["x"]], model=model, initial_point=start)) == {}

    states = np.arange(GRID.n_nodes) % N_STATES  # where the states are given, nothing else is moved
    step.setup_chain(np.random.default_rng(3), 10, 10)
    assert step.step({**model.initial_point(), "x": states})[0]["level"].any() == np.False_


def two_halves(likelihood, noise, seed=0):
    """Model of a picture whose halves are in states 0 and 1, and of which `likelihood(x)` is seen."""
    graph = builders.grid(14, 14)
    truth = np.repeat([0, 1], 98)
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.8, graph=graph, n_states=2)
        likelihood(x, noise(np.random.default_rng(seed), truth))
    return model, truth


def test_all_chains_start_at_the_fit():
    """Also where NUTS has moved before the field was drawn."""

    y = np.random.default_rng(0).normal(np.repeat([-4.0, 4.0], 98), 2.0)
    with pm.Model():
        level = pm.Normal("level", 0.0, 5.0, shape=2)  # before the field: its step is the first
        x = pmrf.Potts("x", 0.8, graph=builders.grid(14, 14), n_states=2)
        pm.Normal("y", level[x], 2.0, observed=y)
        options = {"quiet": True, "compute_convergence_checks": False, "random_seed": 1}
        idata = pm.sample(3, tune=0, chains=3, cores=1, **options)
        again = pmrf.steps.TreeGibbs([x])  # another step has the same names for the classes
    found = idata.posterior["level"].values[:, 0]
    np.testing.assert_array_equal(found[0], classes_of(again)["level"])
    np.testing.assert_array_equal(found, np.tile(found[0], (3, 1)))
    assert np.abs(np.sort(found[0]) - [-4.0, 4.0]).max() < 0.7


@pytest.mark.parametrize("empty", [0, 1])
def test_evidence_that_excludes_states(empty):
    """Counts that are zero in one of the classes."""

    def seen(x, y):
        rate = pm.Gamma("rate", 2.0, 0.2)
        pm.Poisson("y", rate * pt.eq(x, 1 - empty), observed=y)

    model, _ = two_halves(seen, lambda rng, truth: rng.poisson(3.0 * truth))
    fitted = classes_of(pmrf.steps.TreeGibbs([model["x"]], model=model))
    assert abs(np.exp(fitted["rate_log__"]) - 3.0) < 0.7


@pytest.mark.filterwarnings("ignore:the rest of the model seems to say nothing")
def test_a_fit_that_is_no_better_than_the_start_is_left_out():
    def seen(x, y):
        level = pm.Normal("level", 0.0, 10.0, shape=2)
        pm.Uniform("y", level[x] - 8.0, level[x] + 8.0, observed=y)

    model, _ = two_halves(seen, lambda rng, truth: rng.uniform(-7.9, 7.9, len(truth)))
    step = pmrf.steps.TreeGibbs([model["x"]], model=model)
    assert np.isfinite(model.compile_logp()({**model.initial_point(), **classes_of(step)}))


def test_observed_neighbours_are_known():
    """Of a picture with missing pixels that is too large to be drawn at once."""
    rng, truth = np.random.default_rng(4), np.repeat([1, -1], GRID.n_nodes // 2)
    gaps = rng.random(GRID.n_nodes) < 0.15
    with pm.Model() as model:
        with pytest.warns(pm.exceptions.ImputationWarning):
            x = pmrf.Ising("x", 0.6, graph=GRID, observed=np.ma.masked_array(truth, gaps))
        pm.Normal("y", pm.Normal("level") * x, 5.0, observed=truth / 10)
    step = pmrf.steps.TreeGibbs([model["x_unobserved"]], model=model)
    assert not field_of(step).exact
    em = variational_em(step, model, ["level"])
    q = em.mean_field(np.zeros(1), np.full((gaps.sum(), 2), 0.5))
    assert q[np.arange(gaps.sum()), (truth[gaps] + 1) // 2].mean() > 0.9


@pytest.mark.parametrize("case", ["many", "of the field", "none"])
def test_what_is_not_fitted(case):
    """Nor needs to be, as the model tells states apart from the start."""
    with pm.Model() as model:
        if case == "many":  # an effect for every pixel
            effect = pm.Normal("effect", 0.0, 1.0, shape=GRID.n_nodes)
        elif case == "of the field":
            effect = pm.Normal("effect", 0.0, 1.0)
        else:
            effect = 0.0
        h = effect if case == "of the field" else 0.0
        x = pmrf.Ising("x", 0.3, h, graph=GRID, likelihood="pseudo")
        pm.Normal("y", x + effect, 0.5, observed=picture()[1])
    assert classes_of(pmrf.steps.TreeGibbs([model["x"]], model=model)) == {}


CHAIN = builders.chain(12)
HALVES = np.repeat([0, 1], 6)


def many_bands(x):
    level = pm.Normal("level", 0, 1, shape=(2, 151))
    pm.Normal("y", level[x], 1, observed=np.tile(HALVES[:, None], (1, 151)))


def through_another_layer(x):
    layer = pm.Normal("layer", pm.Normal("level", 0, 1, shape=2)[x], 1)
    pm.Normal("y", layer, 0.1, observed=HALVES)


def sums_of_pixels(x):
    seen = pt.extra_ops.cumsum(pm.Normal("level", 0, 1, shape=2)[x])
    pm.Normal("y", seen, 1, observed=np.cumsum(HALVES))


@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw")
@pytest.mark.parametrize(
    ("declare", "why"),
    [
        (many_bands, "they are 302 numbers, and at most 300"),
        (
            through_another_layer,
            r"the data reach the field only through layer, which is unknown as well \(integrate it out",
        ),
        (sums_of_pixels, "a term depends on several nodes"),
    ],
)
def test_what_is_not_fitted_but_should_be_is_told(declare, why):
    with pm.Model() as model:
        declare(x := pmrf.Potts("x", 0.8, graph=CHAIN, n_states=2))
    with pytest.warns(UserWarning, match=rf"does not fit level to the data .*because {why}.*initvals"):
        pmrf.steps.TreeGibbs([x], model=model)


def test_factor_graphs_are_not_fitted_and_that_is_told():
    pairs = [(i, i + 1) for i in range(11)]
    with pm.Model() as model:
        x = pmrf.FactorGraphMRF("x", [np.eye(2)] * 11, scopes=pairs, cardinalities=[2] * 12)
        pm.Normal("y", pm.Normal("level", 0, 1, shape=2)[x], 1, observed=HALVES)
    with pytest.warns(UserWarning, match="does not fit level .* the field is a FactorGraphMRF"):
        pmrf.steps.TreeGibbs([x], model=model)


def test_differences_where_there_is_no_gradient_are_for_fewer_numbers(monkeypatch):
    monkeypatch.setattr("pymc_mrf.steps.latent.latent_start.slopes_of", lambda *_: None)
    with pm.Model() as model:
        x = pmrf.Potts("x", 0.8, graph=CHAIN, n_states=2)
        level = pm.Normal("level", 0, 1, shape=(2, 31))
        pm.Normal("y", level[x], 1, observed=np.tile(HALVES[:, None], (1, 31)))
    with pytest.warns(UserWarning, match="they are 62 numbers, and at most 60"):
        pmrf.steps.TreeGibbs([x], model=model)


LEVELS = np.array([0.1, 0.5, 0.9])
SQUARE = builders.grid(12, 12)
BLOCKS = np.repeat(np.repeat(np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]]), 4, axis=0), 4, axis=1).ravel()
SEEN = LEVELS[BLOCKS] + np.random.default_rng(2).normal(0, 0.1, BLOCKS.size)
GAPS = np.random.default_rng(3).random(BLOCKS.size) < 0.1


def levels(**options):
    return pm.Normal("level", 0.5, 0.5, shape=N_STATES, **options)


def masked(x):
    pm.Normal("y", levels()[x], pm.HalfNormal("noise", 0.5), observed=np.ma.masked_array(SEEN, GAPS))


def not_a_number(x):
    pm.Normal("y", levels()[x], pm.HalfNormal("noise", 0.5), observed=np.where(GAPS, np.nan, SEEN))


def masked_counts(x):
    counts = np.random.default_rng(4).poisson(40 * LEVELS[BLOCKS])
    pm.Poisson("y", pm.Gamma("rate", 2, 0.1, shape=3)[x], observed=np.ma.masked_array(counts, GAPS))


def data(x):
    pm.Normal("y", levels()[x], pm.HalfNormal("noise", 0.5), observed=pm.Data("seen", SEEN))


def mixture(x):
    noise = pm.HalfNormal("noise", 0.5)
    parts = [pm.Normal.dist(levels()[x], noise), pm.Normal.dist(0.5, 1.0, shape=SEEN.size)]
    pm.Mixture("y", [0.95, 0.05], parts, observed=SEEN)


def channels(x):
    noise = pm.HalfNormal("noise", 0.5)
    pm.Normal("y", levels()[x], noise, observed=np.ma.masked_array(SEEN, GAPS))
    pm.Normal("z", pm.Normal("other", 0.5, 0.5, shape=3)[x], noise, observed=1.5 - SEEN)


def bands(noise):
    truth = np.random.default_rng(5).uniform(0.1, 0.9, (N_STATES, 6))
    return truth[BLOCKS] + np.random.default_rng(6).normal(0, noise, (BLOCKS.size, 6))


def many_numbers(x):
    level = pm.Normal("level", 0.5, 0.3, shape=(N_STATES, 6))
    pm.Normal("y", level[x], pm.HalfNormal("noise", 0.3, shape=(N_STATES, 6))[x], observed=bands(0.1))


def correlated(x):
    scale = pm.HalfNormal.dist(0.5)
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2, sd_dist=scale)
    level = pm.Normal("level", 0.5, 0.5, shape=(N_STATES, 2))
    gaps = np.stack([GAPS, GAPS[::-1]], axis=1)
    pm.MvNormal("y", level[x], chol=chol, observed=np.ma.masked_array(bands(0.05)[:, :2], gaps))


def in_order(x):
    ordered = pm.distributions.transforms.ordered
    pm.Normal("y", levels(transform=ordered)[x], pm.HalfNormal("noise", 0.5), observed=SEEN)


def positive_in_order(x):
    level = pm.Beta("level", 2, 2, shape=N_STATES, transform=pm.distributions.transforms.ordered)
    pm.Normal("y", level[x], pm.HalfNormal("noise", 0.5), observed=SEEN)


@pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS")
@pytest.mark.parametrize(
    "declare",
    [
        masked,
        not_a_number,
        masked_counts,
        data,
        mixture,
        channels,
        many_numbers,
        slow(correlated),
        in_order,
        positive_in_order,
    ],
)
@pytest.mark.ordinary("masked", "masked_counts", "mixture", "channels", "in_order")
def test_forms_of_evidence(declare, few_starts):
    """Whatever the classes are called; a pixel without evidence is one of its neighbours."""
    with pm.Model() as model:
        declare(x := pmrf.Potts("x", 1.0, graph=SQUARE, n_states=N_STATES))
    step = pmrf.steps.TreeGibbs([x], model=model)
    assert classes_of(step)
    found = first_step(step, model)["x"]
    wrong = min(np.mean(np.array(names)[found] != BLOCKS) for names in permutations(range(3)))
    assert wrong < 0.06
    point = {**model.initial_point(), **classes_of(step)}
    assert np.isfinite([point[name] for name in classes_of(step) if name.startswith("level")]).all()


def test_data_that_are_hidden_as_well_play_no_part_in_the_fit():
    """Missing parts of vectors, which start at the prior mean."""
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        x = pmrf.Potts("x", 1.0, graph=CHAIN, n_states=2)
        level = pm.Normal("level", 0, 1, shape=(2, 2))
        gaps = np.zeros((12, 2), dtype=bool)
        gaps[3, 1] = gaps[7, 0] = True
        y = np.ma.masked_array(np.tile(HALVES[:, None], (1, 2)), gaps)
        pm.MvStudentT("y", nu=5, mu=level[x], scale=np.eye(2), observed=y)
    evidence = evidence_of(pmrf.steps.TreeGibbs([x], model=model))
    read = evidence.cells_that_read(["y_unobserved"], model.initial_point())
    np.testing.assert_array_equal(evidence.owner[read], [3, 7])


@pytest.mark.slow
def test_a_step_that_comes_before_cannot_start_at_infinity():
    def declare(field_first):
        with pm.Model() as model:
            if field_first:
                x = pmrf.Potts("x", 1.0, graph=SQUARE, n_states=N_STATES)
            level = levels(transform=pm.distributions.transforms.ordered)
            if not field_first:
                x = pmrf.Potts("x", 1.0, graph=SQUARE, n_states=N_STATES)
            pm.Normal("y", level[x], 0.1, observed=SEEN)
        return model

    options = {
        "quiet": True,
        "compute_convergence_checks": False,
        "random_seed": 1,
        "chains": 2,
        "cores": 1,
    }
    words = r"level_ordered__ at infinity, .* pm.sample\(step=pymc_mrf.steps.TreeGibbs\(\[x\]\)\); or"
    words += " .* initval"
    with declare(False), pytest.raises(ValueError, match=words):
        pm.sample(5, tune=5, **options)
    for field_first in (True, False):
        with declare(field_first) as model:
            step = None if field_first else pmrf.steps.TreeGibbs([model["x"]])
            idata = pm.sample(5, tune=5, step=step, **options)
        found = idata.posterior["level"].values
        assert np.abs(found - LEVELS).max() < 0.1


@pytest.fixture(scope="module")
def small():
    """Variational EM of two rows of a 2 x 2 field, one cell of which is observed."""
    rng = np.random.default_rng(5)
    with pm.Model() as model:
        mean = pm.Normal("mean", 0.0, 2.0, shape=2)
        data = np.ma.masked_array(rng.integers(0, 2, (2, 4)), [[1, 1, 1, 1], [1, 0, 1, 1]])
        weight, bias = rng.normal(size=4), rng.normal(size=4)
        with pytest.warns(pm.exceptions.ImputationWarning):
            x = pmrf.BoltzmannMachine(
                "x", weight, bias, graph=builders.grid(2, 2), likelihood="pseudo", observed=data
            )
        pm.Normal("y", mean[x], 0.7, observed=rng.normal(size=(2, 4)))
    step = pmrf.steps.TreeGibbs([model["x_unobserved"]], model=model)
    em = variational_em(step, model, ["mean"])
    return model, em, (weight, bias)


def test_bound_is_the_sum_over_all_configurations(small):
    """Of log density of states, data and parameters, less log q; the field without its constant."""
    model, em, (weight, bias) = small
    N = len(field_of(em).states)
    q = np.random.default_rng(1).dirichlet([1.0, 1.0], size=N)
    theta = np.array([-0.3, 0.8])
    log_density, start = model.compile_logp(vars=[model["mean"], model["y"]]), model.initial_point()
    expected = 0.0
    for states in product(range(2), repeat=N):
        p = q[np.arange(N), states]
        x = np.array(field_of(em)._template)
        x[field_of(em).free] = states
        u, v = field_of(em).edges.T
        field = (weight * x[:, u] * x[:, v]).sum() + (bias * x).sum()
        known = ~field_of(em).free
        field -= (bias * x)[known].sum()  # the same in all configurations
        point = {**start, "mean": theta, "x_unobserved": np.array(states)}
        expected += np.prod(p) * (field + log_density(point) - np.log(p).sum())
    lifted = -np.minimum(weight, 0.0).sum() * 2  # tables have 0 as their least entry, in both rows
    assert em.bound(theta, q) == pytest.approx(expected + lifted, abs=1e-9)
    assert em.bound(theta + 0.1, q) != pytest.approx(expected + lifted, abs=1e-3)


def test_the_mean_field_and_the_parameters_raise_the_bound(small, monkeypatch):
    _, em, _ = small
    theta, q = np.array([-0.3, 0.8]), np.full((len(field_of(em).states), 2), 0.5)
    bounds = [em.bound(theta, q)]
    for _ in range(3):
        q = em.mean_field(theta, q)
        bounds.append(em.bound(theta, q))
        theta = em.maximise(theta, q)
        bounds.append(em.bound(theta, q))
    assert (np.diff(bounds) > -1e-6).all()
    assert bounds[-1] > bounds[0] + 0.1
    assert em._slopes is not None
    objective = em.objective
    for _ in range(2):
        error = check_grad(lambda v: objective(v, q)[0], lambda v: objective(v, q)[1], theta + 0.5)
        assert error < 1e-3 * np.linalg.norm(objective(theta + 0.5, q)[1])
        monkeypatch.setattr(em, "_slopes", None)  # by differences


def test_neighbours_of_a_coupling_that_starts_at_zero_attract_each_other():
    with pm.Model() as model:
        x = pmrf.Potts("x", pm.Normal("J"), graph=GRID, n_states=N_STATES, likelihood="pseudo")
        pm.Normal("y", x, 1.0, observed=picture()[1])
    field = field_of(pmrf.steps.TreeGibbs([x], model=model))
    edges, _ = field.tables(model.initial_point())
    assert not edges.any()
    found = interaction_matrix(field, edges[0]).toarray()
    i, j = GRID.edges[7]
    block = found[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
    np.testing.assert_allclose(block, block[0, 0] * np.eye(3))
    assert 0.3 < block[0, 0] < 0.9
