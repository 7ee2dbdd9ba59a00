"""A field with missing cells: what the model, the draws and the stores hold of it."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.arguments import value_of
from pymc_mrf.distributions.parents import field_node

pytestmark = pytest.mark.filterwarnings("ignore:Data in x contains missing values")
GRAPH = pmrf.graphs.complete(["a", "b", "c"])
N = 20
FAST = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "random_seed": 3}
FIELDS = {
    "ising": lambda w, **options: pmrf.Ising("x", w, graph=GRAPH, **options),
    "potts": lambda w, **options: pmrf.Potts("x", w, graph=GRAPH, n_states=2, **options),
    "factors": lambda w, **options: pmrf.FactorGraphMRF(
        "x", [pm.math.stack([w, 0.0])], scopes=[(0,)], cardinalities=[2, 2, 2], **options
    ),
}


def holes(empty_row=False, states=(0, 1)):
    rng = np.random.default_rng(2)
    mask = rng.random((N, 3)) < 0.2
    mask[:, 0] = False
    mask[4] = empty_row
    return np.ma.masked_array(rng.choice(states, (N, 3)), mask)


def model_of(x, field="potts", **options):
    """A field, and variables that depend on all of its cells."""
    with pm.Model(coords={**pmrf.coords(GRAPH), "person": [f"p{i}" for i in range(N)]}) as model:
        w = pm.Normal("w", 0, 1)
        filled = FIELDS[field](w, observed=x, **options)
        pm.Deterministic("total", filled.sum(axis=-1))
        pm.Normal("y", filled, 1.0, observed=np.zeros(x.shape))
    return model


@pytest.mark.parametrize("field", FIELDS)
def test_the_model_holds_a_table_with_gaps_and_its_missing_cells(field):
    x = holes(states=(-1, 1) if field == "ising" else (0, 1))
    model = model_of(x, field)
    [table, _] = model.observed_RVs
    assert table.name == "x" and field_node(table) is field_node(model["x_unobserved"])
    data = value_of(model.rvs_to_values[table])
    np.testing.assert_array_equal(data, np.where(x.mask, np.nan, x.data))
    start = model.initial_point()["x_unobserved"]
    assert start.shape == (x.mask.sum(),) and start.dtype == np.int8
    assert [v.name for v in model.deterministics] == ["total"]
    cells = np.random.default_rng(1).choice(np.unique(x.data), x.mask.sum()).astype(np.int8)
    whole = x.data.copy()
    whole[x.mask] = cells
    y = model.compile_logp(vars=[model["y"]])
    expected = -0.5 * (whole**2 + np.log(2 * np.pi)).sum()
    np.testing.assert_allclose(y({**model.initial_point(), "x_unobserved": cells}), expected)


def test_draws_of_the_field_are_those_of_its_cells():
    x = holes()
    with model_of(x, dims=("person", "node")):
        prior = pm.sample_prior_predictive(5, random_seed=1)
    seen, cells = prior.prior_predictive["x"].values[0], prior.prior["x_unobserved"].values[0]
    assert (np.isnan(seen) == x.mask).all()
    seen[:, x.mask] = cells
    np.testing.assert_array_equal(prior.prior["total"][0], seen.sum(axis=-1))
    assert prior.observed_data["x"].dims == ("person", "node")


@pytest.mark.slow
def test_missing_cells_need_not_be_kept(tmp_path):
    x = holes()
    with model_of(x):
        options = {"draws": 15, "tune": 10, "chains": 2, "cores": 1, **FAST}
        kept = pm.sample(**options)
        left = pm.sample(var_names=["w"], **options)
        stored = pmrf.sample(var_names=["w"], store=tmp_path / "run", **options)
        predictive = pm.sample_posterior_predictive(left, random_seed=1, progressbar=False)
    assert kept.posterior["x_unobserved"].dtype == np.int8
    assert set(kept.posterior.data_vars) == {"w", "x_unobserved", "total"}
    for found in (left, stored):
        np.testing.assert_array_equal(found.posterior["w"], kept.posterior["w"])
        assert set(found.posterior.data_vars) == {"w"}
        np.testing.assert_array_equal(found.observed_data["x"], np.where(x.mask, np.nan, x.data))
    drawn = predictive.posterior_predictive["x"].values
    assert drawn.shape == (2, 15, N, 3) and (np.isnan(drawn) == x.mask).all()


@pytest.mark.parametrize("empty_row", [False, True])
def test_log_likelihood_of_labelled_rows(empty_row):
    x = holes(empty_row)
    with model_of(x, dims=("person", "node"), likelihood="exact"):
        idata = pm.sample(3, tune=3, chains=1, **FAST)
        pm.compute_log_likelihood(idata, var_names=["x"], progressbar=False)
    values = idata.log_likelihood["x"]
    assert values.dims[2:] == (("x_dim_0",) if empty_row else ("person",))
    assert values.shape[2] == N - empty_row
    w = idata.posterior["w"].values[0, 0]
    states = np.array(list(np.ndindex(2, 2, 2)))
    u, v = GRAPH.edges.T
    p = np.exp(w * (states[:, u] == states[:, v]).sum(axis=1))
    p /= p.sum()
    rows = [row for row in x if not np.ma.getmaskarray(row).all()]
    expected = [np.log(p[((states == row.data) | row.mask).all(axis=1)].sum()) for row in rows]
    np.testing.assert_allclose(values[0, 0], expected)


def test_start_values_are_those_of_the_missing_cells():
    x = holes()
    model = model_of(x, initval=np.ones(x.mask.sum(), dtype=np.int8))
    assert model.initial_point()["x_unobserved"].all()


def test_dimensions_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"x: dimension 'person' has length 20, but .* shape \(19, 3\)"):
        model_of(holes()[:19], dims=("person", "node"))


@pytest.mark.parametrize("route", [pm.observe, pm.do])
@pytest.mark.parametrize("field", FIELDS)
def test_routes_that_take_complete_values_only_refuse_missing_ones(field, route):
    with pm.Model() as model:
        FIELDS[field](pm.Normal("w", 0, 1), likelihood="exact", shape=(2, 3), dtype="int8")
    x = np.array([[1, 1, 1], [1, 0, 1]])
    for values in (np.where(x == 0, np.nan, x), np.ma.masked_equal(x, 0)):
        with pytest.raises(ValueError, match=r"1 of the 6 values .* at \[1, 1\]; .*observed=numpy.ma"):
            route(model, {"x": values})
    full = np.ones((2, 3), dtype=np.int64)
    for values in (full.tolist(), full.astype("int8"), np.ma.masked_array(full.astype("int8"))):
        given = route(model, {model["x"]: values})
        data = given["x"] if route is pm.do else given.rvs_to_values[given["x"]]
        np.testing.assert_array_equal(value_of(data), full)
