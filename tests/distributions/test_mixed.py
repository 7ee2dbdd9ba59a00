"""MixedMRF: density, gradient, draws, and fields of other families that it contains."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.parents import field_node
from tests.mixed_fields import (
    BIAS,
    DIAGONAL,
    GRAPH,
    KINDS,
    MEAN,
    REFERENCE,
    SCALE,
    THETA,
    WEIGHT,
    field,
    model_of,
    rows,
)
from tests.reference.derivatives import assert_gradients
from tests.reference.mixed import MixedReference
from tests.statistics import Z


def density_of(x, *parameters, **options):
    d = pmrf.MixedMRF.dist(*parameters, **{"graph": GRAPH, "kinds": KINDS, **options})
    return pm.logp(d, x).eval(mode="FAST_COMPILE")


@pytest.mark.parametrize("c", [0, 1, 2])
def test_the_reference_integrates(c):
    """Its closed form is what a sum over a grid of the measurements gives."""
    kinds = ["nominal", "ordinal", "continuous", "continuous"][: 2 + c]
    edges = [(u, v) for u in range(2 + c) for v in range(u)]
    field, rng = MixedReference(kinds, [3, 2, 0, 0][: 2 + c], edges), np.random.default_rng(c)
    theta = np.concatenate([rng.normal(0, 0.5, field.n_weights + field.n_biases), [1.0, 1.7][:c]])
    found = field.log_normaliser(theta[None])[0]
    np.testing.assert_allclose(found, field.log_normaliser_on_grid(theta), rtol=1e-9)


def test_log_density():
    x = rows(6)
    found = density_of(x, WEIGHT, BIAS, DIAGONAL, MEAN, scale=SCALE)
    np.testing.assert_allclose(found, REFERENCE.log_density(x, THETA, MEAN, SCALE))
    other = THETA.copy()
    other[0] += 0.1  # negative control
    assert np.abs(found - REFERENCE.log_density(x, other, MEAN, SCALE)).min() > 1e-4


def test_scalars_and_one_row_of_biases_are_for_all():
    x = rows(4)
    theta = np.concatenate([np.full(len(WEIGHT), 0.1), np.tile(BIAS[1], 3), [1.5, 1.5]])
    found = density_of(x, 0.1, BIAS[1], 1.5, 0.5, scale=2.0)
    np.testing.assert_allclose(found, REFERENCE.log_density(x, theta, 0.5, 2.0))


def test_means_may_differ_between_rows():
    x, shift = rows(3), np.array([0.5, 1.0, -1.0])[:, None]
    found = density_of(x, WEIGHT, BIAS, DIAGONAL, shift * MEAN, scale=SCALE)
    expected = [REFERENCE.log_density(x[[i]], THETA, shift[i] * MEAN, SCALE)[0] for i in range(3)]
    np.testing.assert_allclose(found, expected)


def test_outside_of_the_cone_and_of_the_states_there_is_no_density():
    x = rows(3)
    between = [graph_edge == "age--income" for graph_edge in KINDS.entry_labels(GRAPH)].index(True)
    outside = WEIGHT.copy()
    outside[between] = 1.001 * np.sqrt(DIAGONAL.prod())
    assert (density_of(x, outside, BIAS, DIAGONAL, MEAN, scale=SCALE) == -np.inf).all()
    x[0, 0], x[1, 2] = 2.0, 0.5
    found = density_of(x, WEIGHT, BIAS, DIAGONAL, MEAN, scale=SCALE)
    np.testing.assert_array_equal(np.isfinite(found), [False, False, True])


def test_gradient():
    point = [WEIGHT, BIAS, np.log(DIAGONAL), MEAN]
    w, bias, log_diagonal, mean = parameters = [pt.tensor(shape=p.shape, dtype="float64") for p in point]
    d = pmrf.MixedMRF.dist(w, bias, pt.exp(log_diagonal), mean, graph=GRAPH, kinds=KINDS, scale=SCALE)
    total = pm.logp(d, rows(5)).sum()
    assert_gradients(pytensor.function(parameters, [total, *pytensor.grad(total, parameters)]), point)


def moments_of(x):
    """Indicators of states and deviations (n, 12 + 2) of rows."""
    y = (x[:, KINDS.measurements] - MEAN) / SCALE
    where = x[:, KINDS.answers, None] == np.arange(4)
    return np.hstack([where.reshape(len(x), -1), y])


def assert_draws(x, theta, is_right=True):
    """Means and covariances of draws are within Monte-Carlo error of those of the field."""
    values, n = moments_of(x), len(x)
    mean, covariance = REFERENCE.moments(theta)
    possible = np.diag(covariance) > 1e-12
    centred = (values - mean)[:, possible]
    products = centred[:, :, None] * centred[:, None]
    found = [centred.mean(axis=0) / (centred.std(axis=0) / np.sqrt(n))]
    gaps = products.mean(axis=0) - covariance[np.ix_(possible, possible)]
    found.append((gaps / (products.std(axis=0) / np.sqrt(n) + 1e-12)).ravel())
    assert (np.abs(np.concatenate(found)).max() < Z) == is_right


def test_draws():
    x = pm.draw(field(size=(4000,)), random_seed=1)
    assert_draws(x, THETA)
    other = THETA.copy()
    other[: len(WEIGHT)] *= 0.5  # negative control
    assert_draws(x, other, is_right=False)


def test_draws_by_sweeps(monkeypatch):
    monkeypatch.setattr("pymc_mrf.distributions.mixed_rv.LISTED", 1)
    assert_draws(pm.draw(field(size=(2500,), n_sweeps=30), random_seed=3, mode="FAST_COMPILE"), THETA)


def test_draws_outside_of_the_cone_are_nan():
    d = pmrf.MixedMRF.dist(
        np.where(np.arange(len(WEIGHT)) == KINDS.entry_labels(GRAPH).index("age--income"), 3.0, 0.0),
        BIAS, DIAGONAL, MEAN, graph=GRAPH, kinds=KINDS,
    )  # fmt: skip
    assert np.isnan(pm.draw(d, random_seed=1, mode="FAST_COMPILE")).all()


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_functions_are_those_of_python():
    x = rows(5)
    values = [pm.logp(field(), x), field(rng=pt.random.shared_rng(seed=1))]
    one, two = (pytensor.function([], values, mode=mode)() for mode in ("NUMBA", "FAST_COMPILE"))
    np.testing.assert_allclose(one[0], two[0])
    assert one[1].shape == two[1].shape == (5,)


@pytest.mark.slow
def test_predictive_draws():
    x = rows(40)
    with model_of(x) as model:
        prior = pm.sample_prior_predictive(200, random_seed=1)
        idata = pm.sample(
            20, tune=20, chains=2, cores=1, progressbar=False, quiet=True, random_seed=1,
            compute_convergence_checks=False,
        )  # fmt: skip
        drawn = pm.sample_posterior_predictive(idata, progressbar=False, random_seed=1)
    replicated = drawn.posterior_predictive["x"].values
    assert replicated.shape == (2, 20, 40, 5) and np.isfinite(replicated).all()
    answers = replicated[..., KINDS.answers]
    assert (answers == np.round(answers)).all()
    assert (answers.max(axis=(0, 1, 2)) == [1, 2, 3]).all() and answers.min() == 0
    # draws are NaN just where the precision of the prior is not positive definite
    w, diagonal = prior.prior["w"].values[0], prior.prior["diagonal"].values[0]
    outside = np.abs(w[:, KINDS.entry_labels(GRAPH).index("age--income")]) > np.sqrt(
        diagonal.prod(axis=1)
    )
    np.testing.assert_array_equal(
        np.isnan(prior.prior_predictive["x"].values[0]).any(axis=(1, 2)), outside
    )
    assert 0 < outside.sum() < 200
    assert "x ~ MixedMRF(" in model.str_repr()


def test_a_hidden_field_has_a_gradient_by_its_measurements():
    with pm.Model() as model:
        z = pmrf.MixedMRF(
            "z", WEIGHT, BIAS, DIAGONAL, MEAN, graph=GRAPH, kinds=KINDS, scale=SCALE, shape=(3, 5)
        )
        pm.Normal("y", z[:, 1], 1.0, observed=np.zeros(3))
    assert np.isfinite(model.compile_logp()({"z": rows(3)}))
    np.testing.assert_allclose(model.initial_point()["z"], np.tile([0, 40.0, 0, -1.0, 0], (3, 1)))


def test_a_nominal_item_of_two_states_is_that_of_other_fields():
    kinds = pmrf.fields.ColumnKinds(("a", "b", "c"), ("nominal",) * 3, (2, 3, 2))
    graph, rng = pmrf.graphs.complete(kinds.names), np.random.default_rng(1)
    w, bias = rng.normal(size=2 + 1 + 2), rng.normal(size=(3, 3))
    x = np.stack([rng.integers(k, size=9) for k in (2, 3, 2)], axis=1)
    nominal = pmrf.NominalMRF.dist(w, bias, graph=graph, n_states=[2, 3, 2])
    expected = pm.logp(nominal, x).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(density_of(x, w, bias, graph=graph, kinds=kinds), expected)
    # of two states, contrasts are those of Ising over the root of 2, and numbers about the middle half
    two, J = (
        pmrf.fields.ColumnKinds((0, 1, 2), ("nominal", "ordinal", "nominal"), (2, 2, 2)),
        np.array([0.4, -0.3, 0.8]),
    )
    graph = pmrf.graphs.complete(3)
    ising = pm.logp(pmrf.Ising.dist(J, graph=graph), 2 * (x % 2) - 1).eval(mode="FAST_COMPILE")
    units = {(0, 1): 2.0**1.5, (0, 2): 2.0, (1, 2): 2.0**1.5}
    w = J * [units[tuple(edge)] for edge in graph.edges.tolist()]
    np.testing.assert_allclose(density_of(x % 2, w, graph=graph, kinds=two), ising)


def test_without_edges_to_answers_measurements_are_a_gaussian_field():
    is_between = np.array([label == "age--income" for label in KINDS.entry_labels(GRAPH)])
    is_of_answers = np.repeat(KINDS.edge_kinds(GRAPH) == 0, KINDS.block_sizes(GRAPH))
    w, x = np.where(is_between | is_of_answers, WEIGHT, 0.0), rows(6)
    found = density_of(x, w, BIAS, DIAGONAL, MEAN, scale=SCALE)
    y, pair = (x[:, KINDS.measurements] - MEAN) / SCALE, pmrf.graphs.complete(2)
    gaussian = pm.logp(pmrf.GaussianMRF.dist(w[is_between], DIAGONAL, graph=pair), y)
    answers = pmrf.fields.ColumnKinds(
        ("sex", "party", "trust"), ("ordinal", "nominal", "ordinal"), (2, 3, 4)
    )
    edges = [e for e, kind in zip(GRAPH.edge_labels, KINDS.edge_kinds(GRAPH), strict=True) if kind == 0]
    graph = pmrf.PairwiseGraph(answers.names, [tuple(e.split("--")) for e in edges])
    alone = density_of(x[:, KINDS.answers], w[is_of_answers], BIAS, graph=graph, kinds=answers)
    np.testing.assert_allclose(found, alone + gaussian.eval(mode="FAST_COMPILE") - np.log(SCALE).sum())


def test_without_answers_it_is_a_gaussian_field(rng):
    """The same variable; blocks of one parameter are the numbers that its edges have."""
    kinds = pmrf.fields.ColumnKinds(("a", "b", "c"), ("continuous",) * 3, (0,) * 3)
    graph, x = pmrf.graphs.complete(kinds.names), rng.normal(size=(20, 3))
    options = {"graph": graph, "scale": 2.0, "observed": x}

    def drawn(declare, **blocks):
        with pm.Model() as model:
            w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3, **blocks)
            declare(w)
            step, point = pmrf.steps.EdgeGibbs([w]), model.initial_point()
        step.setup_chain(np.random.default_rng(3), 0, 5)
        for _ in range(5):
            point, _ = step.step(point)
        return model["x"].owner.op, point["w"]

    op, w = drawn(
        lambda w: pmrf.MixedMRF("x", w, diagonal=1.0, mean=0.5, kinds=kinds, **options),
        blocks=kinds.block_sizes(graph),
    )
    own, expected = drawn(lambda w: pmrf.GaussianMRF("x", w, 1.0, 0.5, **options))
    assert op == own
    np.testing.assert_array_equal(w, expected)


@pytest.mark.parametrize("c", [0, 1, 2])
def test_pseudo_density(c):
    """Density of each answer given all else, and of the measurements given the answers."""
    kinds = pmrf.fields.ColumnKinds(
        tuple("abcd"[: 2 + c]),
        ("nominal", "ordinal", "continuous", "continuous")[: 2 + c],
        (3, 2, 0, 0)[: 2 + c],
    )
    graph, rng = pmrf.graphs.complete(kinds.names), np.random.default_rng(c)
    reference = MixedReference(kinds.kinds, kinds.n_states, kinds.checked(graph).edges.tolist())
    w, bias, diagonal = rng.normal(0, 0.4, reference.n_weights), rng.normal(size=(2, 3)), [1.5, 0.8][:c]
    x = np.column_stack([rng.integers(3, size=5), rng.integers(2, size=5), rng.normal(size=(5, c))])
    found = density_of(x, w, bias, diagonal, graph=graph, kinds=kinds, likelihood="pseudo").sum()
    theta = np.concatenate([w, bias.ravel(), np.log(diagonal)])[None]
    np.testing.assert_allclose(found, reference.log_likelihood_of(x, "pseudo")(theta))


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_auto_lists_as_many_states_as_a_sample_would_have_points():
    """Twenty for each row; without complete data 20,000."""
    names = [f"i{k}" for k in range(6)]

    def chosen(n, d, n_missing=0):
        x = np.random.default_rng(0).integers(6, size=(n, d))
        table = pd.DataFrame(x, columns=names[:d]).astype("Int64")
        table.iloc[:n_missing, 0] = pd.NA
        kinds = pmrf.column_kinds(table, dict.fromkeys(table, "ordinal"))
        model = pmrf.network_model(table, kind=kinds)
        return field_node(model["x"]).op.likelihood.name

    assert chosen(60, 5) == chosen(60, 5, 3) == "exact"  # 7,776 states
    assert chosen(2400, 6) == "exact"  # 46,656
    assert chosen(2400, 6, 3) == "pseudo"
