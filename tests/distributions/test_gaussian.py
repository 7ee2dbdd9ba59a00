"""GaussianMRF: density, gradient, draws, missing cells, tables, and what is refused."""

import re

import arviz as az
import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV, LogDensityOfSeen
from pymc_mrf.steps.latent.missing_cells import GaussianGibbs
from tests.reference.derivatives import assert_gradients
from tests.reference.gaussian import log_density, precision
from tests.statistics import Z

GRAPH = pmrf.PairwiseGraph("abcd", [("a", "b"), ("b", "c"), ("d", "a")])
EDGES = [tuple(e) for e in GRAPH.edges.tolist()]
WEIGHT, DIAGONAL = np.array([0.5, -0.4, 0.3]), np.array([1.0, 1.5, 0.8, 2.0])
MEAN = np.array([1.0, 0.0, -2.0, 5.0])
K = precision(EDGES, WEIGHT, DIAGONAL)
MISSING = pytest.mark.filterwarnings("ignore:Data in x contains missing values")
FAST = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "random_seed": 3}


def rows(n, seed=1):
    return np.random.default_rng(seed).multivariate_normal(MEAN, np.linalg.inv(K), size=n)


def holes(x):
    gaps = x.copy()
    gaps[np.random.default_rng(2).random(x.shape) < 0.3] = np.nan
    gaps[0], gaps[1] = x[0], np.nan
    return gaps


def model_of(x, **options):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        w = pm.Normal("w", 0, 0.5, dims="edge")
        diagonal = pm.Gamma("diagonal", 2, 1, dims="node")
        mean = pm.Normal("mean", 0, 5, dims="node")
        pmrf.GaussianMRF("x", w, diagonal, mean, graph=GRAPH, observed=x, **options)
    return model


def point_of(model):
    truth = {"w": WEIGHT, "diagonal_log__": np.log(DIAGONAL), "mean": MEAN}
    return {**model.initial_point(), **truth}


def density_of(x, *parameters, **options):
    d = pmrf.GaussianMRF.dist(*parameters, graph=GRAPH, **options)
    return pm.logp(d, x).eval(mode="FAST_COMPILE")


def test_log_density():
    x = rows(6)
    np.testing.assert_allclose(density_of(x, WEIGHT, DIAGONAL, MEAN), log_density(x, K, MEAN))
    np.testing.assert_allclose(density_of(x, WEIGHT, DIAGONAL), log_density(x, K, np.zeros(4)))
    alike = precision(EDGES, np.full(3, 0.2), np.full(4, 1.5))
    np.testing.assert_allclose(density_of(x, 0.2, 1.5, MEAN), log_density(x, alike, MEAN))


SCALE = np.array([1e9, 1e-9, 3.0, 0.5])


def test_scaled_measurements_have_the_density_of_the_units():
    """Weights over both scales and diagonals over their squares are those of the field without a scale."""
    ends = np.array(EDGES)
    mean = SCALE * MEAN
    x = mean + SCALE * (rows(6) - MEAN)
    found = density_of(x, WEIGHT, DIAGONAL, mean, scale=SCALE)
    np.testing.assert_allclose(found, log_density(rows(6), K, MEAN) - np.log(SCALE).sum())
    own = WEIGHT / SCALE[ends].prod(axis=1), DIAGONAL / SCALE**2
    np.testing.assert_allclose(found, density_of(x, *own, mean), rtol=1e-9)
    # negative control: the units count
    assert np.abs(found - density_of(x, *own, mean, scale=2.0)).min() > 0.1
    for scale, message in (
        (0.0, "scale must be positive numbers, but that of 'a' is 0"),
        ([1, 2], "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            density_of(x, WEIGHT, DIAGONAL, mean, scale=scale)


@MISSING
def test_scaled_measurements_with_missing_cells():
    """Log-likelihoods and draws of missing cells are those of the measurements without a scale, in units."""
    z = holes(rows(12))
    points = [point_of(model_of(z)), point_of(model_of(SCALE * z, scale=SCALE))]
    found = []
    for data, scale, point in ((z, np.ones(4), points[0]), (SCALE * z, SCALE, points[1])):
        model = model_of(data, scale=scale)
        point = {**point, "mean": scale * MEAN, "x_unobserved": (scale * rows(12))[np.isnan(z)]}
        of_rows = model.logp(vars=[model["x"]], sum=False)
        of_rows = model.compile_fn(of_rows, inputs=model.value_vars)(point)[0]
        with model:
            step = GaussianGibbs([model["x_unobserved"]])
        step.setup_chain(np.random.default_rng(1), 0, 1)
        cells = step.step(point)[0]["x_unobserved"]
        of_seen = (~np.isnan(z)) @ np.log(scale)
        units = np.broadcast_to(scale, z.shape)[np.isnan(z)]
        found.append((of_rows + of_seen[~np.isnan(z).all(axis=1)], cells / units))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other)


def test_parameters_that_differ_between_rows():
    x, scale = rows(3), np.array([0.5, 1.0, -1.0])[:, None]
    found = density_of(x, scale * WEIGHT, DIAGONAL, scale * MEAN)
    expected = [
        log_density(x[i], precision(EDGES, scale[i] * WEIGHT, DIAGONAL), scale[i] * MEAN)
        for i in range(3)
    ]
    np.testing.assert_allclose(found, expected)


def test_outside_of_the_cone_there_is_no_density():
    outside = np.array([1.0, -0.9, 0.9])  # with every pair inside
    assert np.linalg.eigvalsh(precision(EDGES, outside, DIAGONAL))[0] < 0
    assert (density_of(rows(2), outside, DIAGONAL, MEAN) == -np.inf).all()


def test_gradient():
    w, log_diagonal, mean = parameters = [pt.vector() for _ in range(3)]
    total = pm.logp(pmrf.GaussianMRF.dist(w, pt.exp(log_diagonal), mean, graph=GRAPH), rows(5)).sum()
    f = pytensor.function(parameters, [total, *pytensor.grad(total, parameters)])
    assert_gradients(f, [WEIGHT, np.log(DIAGONAL), MEAN])


def test_draws_in_units():
    pair = [
        pmrf.GaussianMRF.dist(WEIGHT, DIAGONAL, scale * MEAN, graph=GRAPH, scale=scale, size=(5,))
        for scale in (1.0, SCALE)
    ]
    one, other = (pm.draw(d, random_seed=1, mode="FAST_COMPILE") for d in pair)
    np.testing.assert_allclose(other, SCALE * one)


def test_draws():
    d = pmrf.GaussianMRF.dist(WEIGHT, DIAGONAL, MEAN, graph=GRAPH, size=(4000,))
    x = pm.draw(d, random_seed=1, mode="FAST_COMPILE")
    S, n = np.linalg.inv(K), 4000
    assert (np.abs(x.mean(axis=0) - MEAN) < Z * np.sqrt(np.diag(S) / n)).all()
    variance = np.outer(np.diag(S), np.diag(S)) + S**2
    assert (np.abs(np.cov(x.T) - S) < Z * np.sqrt(variance / n)).all()
    # negative control: the covariance is not that without the second edge
    other = np.linalg.inv(precision(EDGES, WEIGHT * [1, 0, 1], DIAGONAL))
    assert (np.abs(np.cov(x.T) - other) > Z * np.sqrt(variance / n)).any()


def test_draws_outside_of_the_cone_are_nan():
    weights = np.array([[0.5, 0.0, 0.0], [3.0, 0.0, 0.0]])
    x = pm.draw(
        pmrf.GaussianMRF.dist(weights, DIAGONAL, graph=GRAPH), random_seed=1, mode="FAST_COMPILE"
    )
    np.testing.assert_array_equal(np.isnan(x).any(axis=1), [False, True])


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_functions_are_those_of_python():
    x, op = holes(rows(6)), LogDensityOfSeen(GRAPH, (1.0,) * 4)
    out = op(x, WEIGHT[None], DIAGONAL[None], MEAN[None])
    drawn = GaussianFieldRV(GRAPH, (1.0,) * 4)(
        WEIGHT, DIAGONAL, MEAN, rng=pt.random.shared_rng(seed=1), return_next_rng=True
    )[1]
    one, two = (pytensor.function([], [out, drawn], mode=mode)() for mode in ("NUMBA", "FAST_COMPILE"))
    np.testing.assert_allclose(one[0], two[0])
    assert one[1].shape == two[1].shape == (4,)


@MISSING
def test_log_likelihoods_are_those_of_the_observed_cells():
    x = holes(rows(12))
    model, S = model_of(x), np.linalg.inv(K)
    assert [rv.name for rv in model.free_RVs] == ["w", "diagonal", "mean", "x_unobserved"]
    [found] = model.compile_fn(
        model.logp(vars=[model["x"]], sum=False), inputs=model.value_vars, point_fn=True
    )(point_of(model))
    expected = []
    for row in x[~np.isnan(x).all(axis=1)]:
        seen = ~np.isnan(row)
        expected.append(log_density(row[seen], np.linalg.inv(S[np.ix_(seen, seen)]), MEAN[seen]))
    np.testing.assert_allclose(found, expected)
    whole = np.where(np.isnan(x), 0.7, x)
    cells = np.full(int(np.isnan(x).sum()), 0.7)
    density = model.compile_logp(vars=[model["x"], model["x_unobserved"]])
    both = density({**point_of(model), "x_unobserved": cells})
    np.testing.assert_allclose(both, log_density(whole, K, MEAN).sum())


@MISSING
@pytest.mark.parametrize("kind", ["masked", "pandas", "polars", "xarray"])
def test_tables(kind):
    x = holes(rows(12))
    order = [2, 0, 3, 1]
    names = ["abcd"[k] for k in order]
    table = {
        "masked": lambda: np.ma.masked_invalid(x),
        "pandas": lambda: pd.DataFrame(x[:, order], columns=names),
        "polars": lambda: pl.DataFrame(dict(zip(names, x[:, order].T, strict=True)), nan_to_null=True),
        "xarray": lambda: xr.DataArray(x[:, order], dims=("row", "node"), coords={"node": names}),
    }[kind]()
    model = model_of(table)
    np.testing.assert_array_equal(value_of(model.rvs_to_values[model["x"]]), x)


def test_integers_are_measurements_and_weights_repeat_rows():
    x = np.round(10 * rows(6)).astype(int)
    model = model_of(pd.DataFrame(x, columns=list("abcd")), weights=[2, 0, 1, 1, 1, 3])
    expected = np.repeat(x, [2, 0, 1, 1, 1, 3], axis=0).astype(float)
    np.testing.assert_array_equal(value_of(model.rvs_to_values[model["x"]]), expected)


@pytest.mark.slow
def test_fewer_rows_than_nodes_and_predictive_draws():
    with model_of(rows(2)) as model:
        idata = pm.sample(20, tune=20, chains=2, cores=1, **FAST)
        drawn = pm.sample_posterior_predictive(idata, progressbar=False, random_seed=1)
        prior = pm.sample_prior_predictive(20, random_seed=1)
    assert drawn.posterior_predictive["x"].shape == (2, 20, 2, 4)
    assert np.isfinite(drawn.posterior_predictive["x"]).all()
    outside = np.isnan(prior.prior_predictive["x"].values[0]).any(axis=(1, 2))
    K_prior = precision(EDGES, prior.prior["w"].values[0], prior.prior["diagonal"].values[0])
    np.testing.assert_array_equal(outside, np.linalg.eigvalsh(K_prior)[:, 0] < 0)
    assert 0 < outside.sum() < 20
    assert "x ~ GaussianMRF(" in model.str_repr()


def test_a_hidden_field_has_a_gradient():
    with pm.Model() as model:
        z = pmrf.GaussianMRF("z", WEIGHT, DIAGONAL, MEAN, graph=GRAPH, shape=(3, 4))
        pm.Normal("y", z, 1.0, observed=np.zeros((3, 4)))
    point = {"z": rows(3)}
    np.testing.assert_allclose(model.initial_point()["z"], np.tile(MEAN, (3, 1)))
    slope = model.compile_dlogp()(point)
    np.testing.assert_allclose(slope, (-(point["z"] - MEAN) @ K - point["z"]).ravel())


FRAME = pd.DataFrame(rows(12), columns=list("abcd"))


def column(values):
    return FRAME.assign(b=values)


BAD = [
    (column("x"), "column 'b' holds text, such as 'x': make it numbers"),
    (column(pd.date_range("2020-01-01", periods=12)), "column 'b' holds dates, such as 2020-01-01"),
    (column(pd.to_timedelta(np.arange(12), "D")), "column 'b' holds durations, such as 0 days"),
    (column(FRAME["b"] > 0), "column 'b' holds truth values: these are states"),
    (column(pd.Categorical(["lo", "hi"] * 6)), "column 'b' holds categories, such as 'lo'"),
    (
        column(3.5),
        "'b' is 3.5 in all rows, of which its precision would be infinite: leave this node out",
    ),
    (
        column(np.r_[np.inf, FRAME["b"][1:]]),
        "observed has inf in row 0 of 'b', and 1 such cells: replace",
    ),
    (FRAME[["a", "b", "c"]], "has no column 'd', which is a node of the graph"),
    (FRAME.to_numpy()[:, :3], "its last dimension must be the 4 nodes of the graph"),
    (np.zeros((0, 4)), "`observed` has no rows"),
    (np.full((3, 4), "x"), "observed must be numeric"),
]


@pytest.mark.parametrize(("x", "message"), BAD)
def test_bad_data(x, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model_of(x)


def test_bad_parameters():
    with pm.Model():
        with pytest.raises(
            ValueError, match=r"diagonal must be positive, .* the value -1: give positive"
        ):
            pmrf.GaussianMRF("x", WEIGHT, -1.0, graph=GRAPH)
        with pytest.raises(
            ValueError, match="weight has length 2, but there are 3: give one value per edge"
        ):
            pmrf.GaussianMRF("x", WEIGHT[:2], 1.0, graph=GRAPH)
        with pytest.raises(
            ValueError, match="mean has length 3, but there are 4: give one value per node"
        ):
            pmrf.GaussianMRF("x", WEIGHT, 1.0, MEAN[:3], graph=GRAPH)
        with pytest.raises(ValueError, match="weight must be finite"):
            pmrf.GaussianMRF("x", np.nan, 1.0, graph=GRAPH)
        with pytest.raises(TypeError, match="GaussianMRF 'x' needs graph="):
            pmrf.GaussianMRF("x", WEIGHT, 1.0)
        with pytest.raises(ValueError, match="mean has 3 rows, but `observed` has 12"):
            pmrf.GaussianMRF("x", WEIGHT, 1.0, np.zeros((3, 4)), graph=GRAPH, observed=FRAME)


def test_a_column_that_is_a_multiple_of_another():
    with pytest.warns(
        UserWarning, match="x: b is a multiple of a, up to a constant, in all complete rows"
    ):
        model_of(column(3 - 2 * FRAME["a"]))


def test_a_total_beside_its_items_is_told():
    table = FRAME.assign(**{FRAME.columns[-1]: FRAME[FRAME.columns[:-1]].sum(axis=1)})
    names = " and ".join([", ".join(FRAME.columns[:-2]), FRAME.columns[-2]])
    with pytest.warns(UserWarning, match=f"is a sum of multiples of {names}, up to a constant"):
        model_of(table)


@pytest.fixture
def free_field():
    """Twelve columns under plain priors: PyMC jitters every weight by up to 1, far out of the cone."""
    graph, x = pmrf.graphs.complete(12), np.random.default_rng(1).normal(size=(60, 12))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        w = pm.Normal("weight", 0.5, 1, dims="edge")
        pmrf.GaussianMRF("x", w, pm.Gamma("diagonal", 2, 1, dims="node"), graph=graph, observed=x)
    return model, graph


def test_outside_of_the_cone_slopes_lead_back(free_field, rng):
    model, graph = free_field
    log_density, slope = (
        model.compile_logp(mode="FAST_COMPILE"),
        model.compile_dlogp(mode="FAST_COMPILE"),
    )
    point = model.initial_point()
    point["weight"] = rng.uniform(-1, 1, graph.n_edges)
    inside = point | {"weight": np.zeros(graph.n_edges)}
    assert log_density(point) < log_density(inside) - 60 * 0.9e6
    assert np.isfinite(slope(point)).all() and np.isfinite(slope(inside)).all()
    step, small = rng.normal(size=graph.n_edges), 1e-4
    up, down = (point | {"weight": point["weight"] + sign * small * step} for sign in (1, -1))
    expected = (log_density(up) - log_density(down)) / (2 * small)
    of_weight = slope(point)[: graph.n_edges]  # the value variables are in this order
    assert of_weight @ step == pytest.approx(expected, rel=1e-3, abs=1e-2)
    assert of_weight @ point["weight"] < 0  # towards no edges


@pytest.mark.slow
def test_chains_start_whatever_the_jitter(free_field):
    model, graph = free_field
    idata = pm.sample(
        20, tune=100, chains=2, cores=1, random_seed=1, model=model, progressbar=False, quiet=True,
        compute_convergence_checks=False,
    )  # fmt: skip
    w, a = (idata.posterior[name].values.reshape(40, -1) for name in ("weight", "diagonal"))
    assert (np.linalg.eigvalsh(precision(graph.edges.tolist(), w, a))[:, 0] > 0).all()


@pytest.mark.slow
def test_the_posterior_under_plain_priors_is_that_within_the_cone():
    """Of two columns with known diagonals, beside quadrature; few rows, so that the cone matters."""
    x = np.array([[1.0, 1.2], [-0.6, -0.7], [0.9, 0.8]])
    with pm.Model() as model:
        w = pm.Normal("w", 0.5, 2)
        pmrf.GaussianMRF("x", w, 1.0, graph=pmrf.graphs.complete(2), observed=x)
    idata = pm.sample(
        1500, tune=500, chains=2, cores=1, random_seed=1, model=model, progressbar=False, quiet=True,
        compute_convergence_checks=False,
    )  # fmt: skip
    grid = np.linspace(-1, 1, 20_001)[1:-1]
    log_p = 1.5 * np.log1p(-(grid**2)) + grid * (x[:, 0] @ x[:, 1]) - 0.5 * ((grid - 0.5) / 2) ** 2
    p = np.exp(log_p - log_p.max()) / np.exp(log_p - log_p.max()).sum()
    found = idata.posterior["w"]
    assert (np.abs(found) < 1).all()
    for power in (1, 2):
        moment = found**power
        assert abs(float(moment.mean()) - p @ grid**power) < Z * float(az.mcse(moment))


@pytest.mark.parametrize("field", ["gaussian", "mixed"])
def test_a_chain_that_starts_outside_of_the_cone_is_led_into_it(field):
    """There the density is finite, far below all within, and its slope leads to smaller weights."""
    d, rng = 12, np.random.default_rng(1)
    graph, x = pmrf.graphs.complete(d), rng.normal(size=(30, d))
    with pm.Model() as model:
        w = pm.Normal("w", 0, 0.5, shape=graph.n_edges)
        diagonal = pm.Gamma("diagonal", 2, 1, shape=d - (field == "mixed"))
        if field == "mixed":
            x[:, 0] = x[:, 0] > 0
            kinds = pmrf.fields.ColumnKinds(
                tuple(range(d)), ("ordinal",) + ("continuous",) * (d - 1), (2,) + (0,) * (d - 1)
            )
            pmrf.MixedMRF("x", w, 0.0, diagonal, graph=graph, kinds=kinds, observed=x)
        else:
            pmrf.GaussianMRF("x", w, diagonal, graph=graph, observed=x)
    value = model.compile_logp(mode="FAST_COMPILE")
    slopes = model.compile_dlogp(mode="FAST_COMPILE")
    point = model.initial_point() | {"w": rng.uniform(-1, 1, graph.n_edges)}
    within = value(point | {"w": point["w"] / 100})
    assert np.isfinite(within)
    assert -np.inf < value(point) < within - 1e6
    slope = slopes(point)
    assert np.isfinite(slope).all()
    before = [v.name for v in model.value_vars].index("w")
    assert before == 0 and slope[: graph.n_edges] @ point["w"] < 0
    closer = value(point | {"w": 0.9 * point["w"]})
    assert value(point) < closer


def test_outside_of_the_cone_an_edge_that_may_be_absent_has_no_density():
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        pmrf.GaussianMRF("x", w, 1.0, graph=GRAPH, observed=rows(5))
    assert model.compile_logp()(model.initial_point() | {"w": np.array([1.0, 1.0, 1.0])}) == -np.inf


NO_SPREAD = [
    (column(np.nan), "'b' has no values, which tell its precision: leave this node out"),
    (column(FRAME["b"].where(FRAME.index == 2)), "'b' has one value, "),
    (FRAME[:1], "has one row, which tells no precision of 'a' or any other node: give more rows"),
    (
        column(1e9 + 1e-7 * FRAME["b"]),
        "'b' is 1e+09 in all rows, of which its precision would be infinite",
    ),
    (column(3e-9), "'b' is 3e-09 in all rows, of which its precision would be infinite"),
]


@pytest.mark.parametrize(("x", "message"), NO_SPREAD)
@pytest.mark.parametrize("kind", ["table", "array"])
def test_columns_without_spread(x, message, kind):
    with pm.Model():
        diagonal = pm.Gamma("diagonal", 2, 1, shape=4)
        with pytest.raises(ValueError, match=re.escape(message)):
            pmrf.GaussianMRF(
                "x", 0.1, diagonal, graph=GRAPH, observed=x if kind == "table" else x.to_numpy()
            )


@pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
def test_nodes_that_share_the_diagonal_need_no_spread_of_their_own():
    for x in (FRAME[:1], column(np.nan), column(FRAME["b"].where(FRAME.index == 2))):
        with pm.Model() as model:
            diagonal = pm.Gamma("diagonal", 2, 1)
            pmrf.GaussianMRF("x", 0.1, diagonal, graph=GRAPH, observed=x)
        assert np.isfinite(model.compile_logp()(model.initial_point()))
    tiny = column(1e-9 * FRAME["b"])
    with pm.Model():
        pmrf.GaussianMRF("x", 0.1, pm.Gamma("diagonal", 2, 1, shape=4), graph=GRAPH, observed=tiny)
