"""EdgeGibbs for fields of many states, and for vectors that are terms of the parameters of several fields."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.reference.spike_and_slab import (
    field_log_likelihood,
    structure_posterior,
    structure_posteriors,
)
from tests.statistics import Z
from tests.steps.edges.state_models import (
    EDGES,
    FAMILIES,
    GRAPH,
    PATH,
    WEIGHT,
    P,
    declare,
    draws_of,
    field_data,
    fixed_p,
    gaps,
    node_parameters,
    sum_of_fields,
)


@pytest.mark.parametrize(
    ("kind", "likelihood"),
    [
        ("mixed", "exact"),
        ("agreement", "pseudo"),
        ("own scores", "pseudo"),
        ("potts", "exact"),
        ("mixed", "pseudo"),
        ("scores", "exact"),
        ("scores", "pseudo"),
        ("own scores", "exact"),
        ("potts", "pseudo"),
        ("agreement", "exact"),
    ],
)
@pytest.mark.slow
def test_all_structures_of_four_nodes(kind, likelihood):
    family = FAMILIES[kind]
    b = node_parameters(family, 4)
    x = field_data(family, GRAPH, WEIGHT, b, 60, seed=5)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.5), shape=6)
        declare("x", family, w, b, GRAPH, x, likelihood)
    log_likelihood = field_log_likelihood(x, EDGES, family, likelihood)
    w, n_biases = draws_of(model), 4 * len(family.node_basis)

    options = {"bias": b.ravel()[:n_biases], "n_nodes": 4}
    posterior = structure_posteriors(log_likelihood, 6, n_biases, stats.norm(0, 0.5).logpdf, **options)
    assert gaps(w, posterior(fixed_p(P, 6))).max() < Z
    assert gaps(w, posterior(fixed_p(P + 0.1, 6))).max() > Z  # negative control


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "likelihood"),
    [
        pytest.param(ordinal([3, 2, 3]), "exact", id="mixed-exact"),
        pytest.param(potts(3), "pseudo", id="potts-pseudo"),
        pytest.param(ordinal([3, 2, 3]), "pseudo", id="mixed-pseudo"),
        pytest.param(potts(3), "exact", id="potts-exact"),
    ],
)
def test_node_parameters_that_move_with_the_edges(family, likelihood):
    """Meaningless thresholds are integrated over their prior: they are not in the likelihood."""
    d, q = 3, len(family.node_basis)
    x = field_data(family, PATH, WEIGHT[:2], node_parameters(family, 3), 60, seed=7)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=2)
        b = pm.Normal("b", 0, 1, shape=(d, q))
        declare("x", family, w, b, PATH, x, likelihood)
    exact = structure_posterior(
        field_log_likelihood(x, PATH.edges.tolist(), family, likelihood),
        2,
        d * q,
        fixed_p(P, 2),
        stats.norm(0, 0.7).logpdf,
        log_bias=stats.norm(0, 1).logpdf,
        n_nodes=3,
    )
    assert gaps(draws_of(model), exact).max() < Z


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_columns_of_one_or_two_of_three_states(likelihood):
    family = ordinal(3)
    x = field_data(family, PATH, WEIGHT[:2], node_parameters(family, 3), 60, seed=7)
    x[:, 0], x[:, 1] = 2, np.minimum(x[:, 1], 1)
    said = pytest.warns(UserWarning, match="some states: 0, 1 of 0; 2 of 1. Only")
    with pm.Model() as model, said:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=2)
        declare("x", family, w, pm.Normal("b", 0, 1, shape=(3, 2)), PATH, x, likelihood)
    assert len(said) == 1
    with model:
        step = EdgeGibbs(model.free_RVs)
    point = model.initial_point()
    step.setup_chain(np.random.default_rng(1), 50, 150)
    for _ in range(200):
        point, _ = step.step(point)
        assert np.isfinite(point["w"]).all() and np.abs(point["b"]).max() < 10


@pytest.mark.slow
def test_a_scale_for_each_edge():
    """A slab of one scale times constants."""
    likelihood, family, r, scale = "exact", ordinal(3), 2, np.array([0.2, 1.5])
    x = field_data(family, PATH, np.array([0.2, 0.5]), node_parameters(family, 3), 60, seed=9)
    with pm.Model() as model:
        z = pmrf.SpikeAndSlab("z", P, pm.Normal.dist(0, 0.7), shape=r)
        b = pm.Normal("b", 0, 1, shape=(3, 2))
        declare("x", family, scale * z, b, PATH, x, likelihood)
    log_likelihood = field_log_likelihood(x, PATH.edges.tolist(), family, likelihood)

    def posterior(scale):
        return structure_posterior(
            lambda rows: log_likelihood(rows * np.append(scale, np.ones(6))),
            r,
            6,
            fixed_p(P, r),
            stats.norm(0, 0.7).logpdf,
            log_bias=stats.norm(0, 1).logpdf,
            n_nodes=3,
        )

    z = draws_of(model)
    assert gaps(z, posterior(scale)).max() < Z
    assert gaps(z, posterior(scale[::-1])).max() > Z  # negative control


def two_fields(likelihood, family):
    """Parameters w + delta / 2 and w - delta / 2 of fields of different sizes, all four sparse."""
    graph, b = PATH, [node_parameters(family, 3, seed) for seed in (3, 4)]
    xs = [
        field_data(family, graph, np.array(w), own, n, seed)
        for w, own, n, seed in (((0.7, 0.1), b[0], 60, 11), ((0.2, 0.1), b[1], 40, 12))
    ]
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.5), shape=2)
        delta = pmrf.SpikeAndSlab("delta", P, pm.Normal.dist(0, 0.5), shape=2)
        for name, factor, own, x in zip("xy", (0.5, -0.5), b, xs, strict=True):
            declare(name, family, w + factor * delta, own, graph, x, likelihood)
    return model, xs, b


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_a_difference_between_two_fields(likelihood):
    family = ordinal([3, 2, 3], [[-1, 0, 1], [-1, 1], [0, 1, 2]])
    model, xs, b = two_fields(likelihood, family)
    own = [v.ravel() for v in b]
    size, eye = len(own[0]), np.eye(2)
    terms = []
    for k, (x, factor) in enumerate(zip(xs, (0.5, -0.5), strict=True)):
        nodes = np.zeros((size, 2 * size))
        nodes[:, k * size : (k + 1) * size] = np.eye(size)
        A = np.block([[eye, factor * eye, np.zeros((2, 2 * size))], [np.zeros((size, 4)), nodes]])
        terms.append((field_log_likelihood(x, PATH.edges.tolist(), family, likelihood), A))

    posterior = structure_posteriors(
        sum_of_fields(terms), 4, 2 * size, stats.norm(0, 0.5).logpdf, bias=np.concatenate(own)
    )
    w = draws_of(model)
    assert gaps(w, posterior(fixed_p(P, 4))).max() < Z
    assert gaps(w, posterior(fixed_p(P + 0.1, 4))).max() > Z


@pytest.mark.slow
@pytest.mark.parametrize(
    "factors",
    [
        pytest.param([[1, 0], [0, 1]], id="own"),
        pytest.param([[1, 0.5], [1, -0.5]], id="difference"),
        pytest.param([[1, 0], [1, 1]], id="change"),
    ],
)
def test_biases_of_two_fields_move_with_both_vectors(factors):
    """The biases are those of each field, or sums of two common ones."""
    pair, family, scales = PairwiseGraph(range(2), [(0, 1)]), BOLTZMANN, np.array([1.0, 0.2])
    xs = [
        field_data(family, pair, np.array([w]), np.array(b), n, seed)
        for w, b, n, seed in ((1.2, (0.3, -0.5), 50, 1), (0.2, (-0.6, 0.4), 30, 2))
    ]
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=1)
        delta = pmrf.SpikeAndSlab("delta", P, pm.Normal.dist(0, 1), shape=1)
        b = [pm.Normal(f"b_{k}", 0, scale, shape=2) for k, scale in enumerate(scales)]
        for name, half, own, x in zip("xy", (0.5, -0.5), factors, xs, strict=True):
            bias = own[0] * b[0] + own[1] * b[1] if all(own) else b[own.index(1)]
            declare(name, family, w + half * delta, bias, pair, x, "exact")
        moved = {v.name for v in EdgeGibbs(model.free_RVs).vars}
    assert moved == {"w", "delta", "b_0", "b_1"}

    def posterior(factors):
        terms = []
        for x, half, own in zip(xs, (0.5, -0.5), factors, strict=True):
            A = np.zeros((3, 6))
            A[0, :2] = 1.0, half
            A[1:, 2:] = np.kron(own, np.eye(2))
            terms.append((field_log_likelihood(x, [(0, 1)], family, "exact"), A))
        return structure_posterior(
            sum_of_fields(terms),
            2,
            4,
            fixed_p(P, 2),
            stats.norm(0, 1).logpdf,
            log_bias=stats.norm(0, np.repeat(scales, 2)).logpdf,
        )

    w = draws_of(model)
    assert gaps(w, posterior(factors)).max() < Z
    assert gaps(w, posterior([[0, 1], [1, 0]])).max() > Z  # negative control


def test_biases_that_are_sums_of_vectors_of_other_lengths_are_left_to_nuts():
    pair = PairwiseGraph(range(2), [(0, 1)])
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=1)
        b, c = pm.Normal("b", 0, 1, shape=2), pm.Normal("c", 0, 1, shape=1)
        for name, bias in (("x", b + 0.5 * c), ("y", b - 0.5 * c)):
            declare(name, BOLTZMANN, w, bias, pair, np.eye(2, dtype=int), "exact")
        _, chosen = pm.sampling.mcmc.assign_step_methods(model, None)
    assert {step: {v.name for v in rvs} for step, rvs in chosen.items()} == {
        EdgeGibbs: {"w"},
        pm.NUTS: {"b", "c"},
    }


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_covariates_of_rows(likelihood):
    """Biases b + z slope and weights w + z delta: rows with the same z are a field of their own."""
    z = np.random.default_rng(3).permutation(np.repeat([-1.0, 0.0, 1.0], [20, 30, 25]))
    b, slope, r = np.array([0.3, -0.2, 0.1]), np.array([0.5, -0.4, 0.2]), 2
    x = np.empty((len(z), 3), dtype=int)
    for value in np.unique(z):
        own = z == value
        weight = np.array([0.9, 0.0]) + value * np.array([0.0, 0.6])
        x[own] = field_data(BOLTZMANN, PATH, weight, b + value * slope, own.sum(), 5)
    with pm.Model() as model:
        covariate = pm.Data("z", z)[:, None]
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=r)
        delta = pmrf.SpikeAndSlab("delta", P, pm.Normal.dist(0, 1), shape=r)
        declare("x", BOLTZMANN, w + covariate * delta, b + covariate * slope, PATH, x, likelihood)
    terms = []
    for value in np.unique(z):
        A = np.zeros((r + 3, 2 * r + 6))
        A[:r, : 2 * r] = np.hstack([np.eye(r), value * np.eye(r)])
        A[r:, 2 * r :] = np.hstack([np.eye(3), value * np.eye(3)])
        rows = x[z == value]
        terms.append((field_log_likelihood(rows, PATH.edges.tolist(), BOLTZMANN, likelihood), A))

    posterior = structure_posteriors(
        sum_of_fields(terms), 2 * r, 6, stats.norm(0, 1).logpdf, bias=np.concatenate([b, slope])
    )
    draws = draws_of(model)
    assert gaps(draws, posterior(fixed_p(P, 2 * r))).max() < Z
    assert gaps(draws, posterior(fixed_p(P + 0.15, 2 * r))).max() > Z


@pytest.mark.slow
def test_random_slopes_of_covariates_are_left_to_nuts():
    rng = np.random.default_rng(1)
    z = rng.normal(size=60)  # all different
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=2)
        b, slope = pm.Normal("b", 0, 1, shape=3), pm.Normal("slope", 0, 1, shape=3)
        x = rng.integers(2, size=(60, 3))
        declare("x", BOLTZMANN, w, b + z[:, None] * slope, PATH, x, "pseudo")
        idata = pm.sample(20, tune=20, chains=1, random_seed=1, progressbar=False, quiet=True)
    assert {"edge_gibbs_n_active", "tree_depth"} <= set(idata.sample_stats.data_vars)


def expression(make, likelihood="exact", steps=("w",)):
    rng = np.random.default_rng(1)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=2)
        s = pm.HalfNormal("s", 1)
        declare("x", BOLTZMANN, make(w, s), 0.0, PATH, rng.integers(2, size=(30, 3)), likelihood)
        EdgeGibbs([model[name] for name in steps])


@pytest.mark.parametrize(
    "make",
    [
        lambda w, s: s * w,
        lambda w, s: w * w,
        lambda w, s: pm.math.exp(w),
        lambda w, s: pm.math.switch(w > 0, w, 0.0),
        lambda w, s: pm.math.round(w) + s,
        lambda w, s: pm.math.dot(np.array([[1.0, 1.0], [0.0, 1.0]]), w),
    ],
    ids=["random factor", "square", "exp", "switch", "rounded", "mixed"],
)
def test_parameters_that_are_not_sums_are_refused_by_name(make):
    with pytest.raises(ValueError, match=r"EdgeGibbs needs .*w.* as the weight of x"):
        expression(make)


def test_entries_that_are_no_parameter_are_refused():
    with pytest.raises(ValueError, match="entry 1 of w is that of none"):
        expression(lambda w, s: pm.math.stack([w[0], s]))


def test_one_entry_for_two_edges_is_refused():
    with pytest.raises(ValueError, match="entry 0 of w is that of several"):
        expression(lambda w, s: w[np.array([0, 0])] + s)


def test_particles_do_not_serve_sums():
    with pytest.raises(ValueError, match='declare with likelihood="exact", "monte-carlo" or "pseudo"'):
        expression(lambda w, s: w + s, likelihood="particles")
