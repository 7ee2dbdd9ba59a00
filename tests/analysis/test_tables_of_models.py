"""Further rows are read, and numbers given back, in the codes, categories and units of a model's table."""

import warnings
from functools import partial

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.calibration import prediction_calibration
from pymc_mrf.distributions.field_record import record_of
from pymc_mrf.fields.column_kinds import kinds_of_measurements

RNG = np.random.default_rng(1)
N = 60
STATES = np.stack([np.arange(N) % 5, (np.arange(N) // 2) % 5, (np.arange(N) // 3) % 5], axis=1)
LEVELS = ["never", "seldom", "some", "often", "always"]


def frame(values):
    return pd.DataFrame(values, columns=list("abc"))


def draws_of(model, n=3, seed=2):
    """Draws from around zero of all that is free in a model, two or three of one chain."""
    rng = np.random.default_rng(seed)
    shapes = {
        rv.name: model.initial_point()[model.rvs_to_values[rv].name].shape for rv in model.free_RVs
    }
    found = {name: 0.2 * rng.normal(size=(1, n, *shape)) for name, shape in shapes.items()}
    if "diagonal" in found:
        found["diagonal"] = 1.0 + np.abs(found["diagonal"])
    if "mean" in found:
        transform = model.rvs_to_transforms[model["mean"]]
        found["mean"] = transform.mean + transform.sd * found["mean"]
    return az.from_dict({"posterior": found})


def scored(model, new):
    p = pmrf.predict_nodes(draws_of(model), "x", data=new, model=model)
    return p, pmrf.score_predictions(p, new)


TABLES = {
    "from 1": lambda: frame(STATES + 1),
    "floats": lambda: frame(STATES + 1.0),
    "an array": lambda: STATES + 1,
    "ordered": lambda: frame(STATES).apply(lambda x: pd.Categorical.from_codes(x, LEVELS, ordered=True)),
}


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.filterwarnings("ignore:table. codes that start at 1 are counted from 0")
def test_answers_are_read_as_in_the_table(name):
    """Rows without the last answer, and of one row, are those of a table of states."""
    table, few = TABLES[name](), (STATES < 4).all(axis=1)
    model, of_states = pmrf.network_model(table), pmrf.network_model(frame(STATES))
    for keep in (few, np.arange(N) == 7):
        new = table[keep]
        p, scores = scored(model, new)
        expected, others = scored(of_states, frame(STATES)[keep])
        for part in p:
            np.testing.assert_array_equal(p[part], expected[part])
        np.testing.assert_array_equal(scores, others)
        for one, other in ((p, new), (expected, STATES[keep])):
            found = prediction_calibration(one, other)
            assert found["n"].sum() == 15 * keep.sum()
    labels = LEVELS if name == "ordered" else [1, 2, 3, 4, 5]
    assert p["state"].values.tolist() == labels and "label" not in p.coords
    accuracy = pmrf.predict_nodes(draws_of(model), "x", data=table, model=model)["accuracy"]
    default = pmrf.predict_nodes(draws_of(of_states), "x", data=STATES, model=of_states)["accuracy"]
    np.testing.assert_array_equal(accuracy, default)


@pytest.mark.filterwarnings("ignore:table. codes that start at 1 are counted from 0")
def test_rows_of_other_codes_are_refused_by_name():
    model = pmrf.network_model(frame(STATES + 1))
    idata = draws_of(model)
    for new, message in (
        (frame(STATES), r"column 'a' has the answer 0, which is none of .*\(1, 2, 3, 4, 5\)"),
        (frame(STATES + 2), r"column 'a' has the answer 6"),
        (
            frame(STATES + 1)[["a", "b"]],
            "data lacks 'c', columns of the table that the field was made of: add them, with missing values",
        ),
        (frame(STATES + 1).assign(team="A"), "data has 'team', no columns of the table .*: drop them"),
        (TABLES["ordered"](), "column 'a' has the answer 'never'"),
    ):
        with pytest.raises(ValueError, match=message):
            pmrf.predict_nodes(idata, "x", data=new, model=model)
    # columns are found by their names
    new = frame(STATES + 1)
    turned = pmrf.predict_nodes(idata, "x", data=new.iloc[:, ::-1], model=model)
    xr.testing.assert_equal(turned, pmrf.predict_nodes(idata, "x", data=new, model=model))


def test_categories_of_fields_by_hand_are_known_by_their_names():
    graph = pmrf.graphs.complete(list("abc"))

    def declare(table):
        with pm.Model() as model:
            threshold = pm.Normal("threshold", shape=(3, 4))
            pmrf.OrdinalMRF("x", pm.Normal("w", shape=3), threshold, graph=graph, observed=table)
        return model

    table = TABLES["ordered"]()
    model = declare(table)
    idata, expected = draws_of(model), draws_of(declare(STATES))
    backwards = table.apply(lambda x: x.cat.reorder_categories(LEVELS[::-1], ordered=True))
    right = pmrf.predict_nodes(expected, "x", data=STATES, model=declare(STATES))["probability"]
    for new in (table, backwards, table.astype(object)):
        found = pmrf.predict_nodes(idata, "x", data=new, model=model)["probability"]
        np.testing.assert_array_equal(found, right)
    with pytest.raises(ValueError, match="column 'b' has the answer 'rarely', which is none of those"):
        new = table.assign(b=table["b"].cat.rename_categories({"seldom": "rarely"}))
        pmrf.predict_nodes(idata, "x", data=new, model=model)


@pytest.mark.filterwarnings("ignore:table. codes that start at 1 are counted from 0")
def test_held_out_likelihoods_read_rows_by_the_table():
    model, few = pmrf.network_model(frame(STATES + 1)), (STATES < 4).all(axis=1)
    idata, graph = draws_of(model), pmrf.graphs.complete(list("abc"))
    options = {"family": "ordinal", "n_states": 5, "var_name": "weight", "node": "threshold"}
    options |= {"scores": np.arange(5) - 2.0, "graph": graph}
    new = frame(STATES + 1)[few]
    for score in (
        partial(pmrf.analysis.log_pseudo_likelihood, parameters=idata),
        partial(pmrf.analysis.conditional_log_likelihood, parameters=idata, group_of_nodes=["b"]),
    ):
        np.testing.assert_array_equal(score(new, model=model), score(STATES[few], **options))
        with pytest.raises(ValueError, match="has the answer 0"):
            score(STATES[few], model=model)
        with pytest.raises(ValueError, match="row 0 of 'a' is missing, but complete rows are needed"):
            score(new.mask(new == new), model=model)
        with pytest.raises(
            ValueError, match="graph, scores: model= knows them of its field, leave them out"
        ):
            score(new, model=model, graph=graph, scores=options["scores"])
        with pytest.raises(TypeError, match="needs graph=, or model=, which knows it"):
            score(STATES[few])
        with pytest.raises(ValueError, match=r"needs var_name=.*the model, which has 'weight' of x"):
            score(new, model=model, var_name="w")


@pytest.mark.filterwarnings("ignore:table. codes that start at 1 are counted from 0")
def test_held_out_likelihoods_of_models_of_other_kinds():
    score = pmrf.analysis.log_pseudo_likelihood
    linear = pmrf.network_model(frame(STATES + 1), kind="blume-capel")
    with pytest.raises(ValueError, match="needs node=: the threshold of x has no name in the model"):
        score(frame(STATES + 1), parameters=[0.1] * 3, model=linear)
    measured = pmrf.network_model(MIXED_STATES[["income", "time"]], kind="continuous")
    with pytest.raises(ValueError, match=r"declare a pymc_mrf\.GaussianMRF"):
        score(MIXED_STATES[["income", "time"]], parameters=[0.1], model=measured)
    graph = pmrf.graphs.complete(list("abc"))
    with pm.Model() as spins:
        pmrf.Ising("x", pm.Normal("w", shape=3), 0.3, graph=graph, observed=STATES % 2 * 2 - 1)
    idata, z = az.from_dict({"posterior": {"w": RNG.normal(size=(2, 3, 3))}}), STATES % 2 * 2 - 1
    np.testing.assert_array_equal(
        score(z, parameters=idata, model=spins),
        score(z, graph, idata, family="ising", var_name="w", node=0.3),
    )


MIXED_STATES = pd.DataFrame(
    {
        "q": STATES[:, 0].astype(float),
        "party": STATES[:, 1] % 3,
        "region": STATES[:, 2],
        "yes": STATES[:, 0] % 2,
        "income": RNG.normal(size=N),
        "time": RNG.normal(size=N),
    }
)


def as_written(states):
    """The same rows as a survey writes them."""
    return pd.DataFrame(
        {
            "q": states["q"].astype(int) + 1,
            "party": np.array(["blue", "green", "red"])[states["party"]],
            "region": 10 * (states["region"] + 1),
            "yes": states["yes"] == 1,
            "income": 1e9 * (3 + states["income"]),
            "time": 1e-9 * states["time"],
        }
    )


def mixed_model(table, kinds):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "table: codes that start at 1")
        found = pmrf.column_kinds(table, kinds)
    return pmrf.network_model(table, kind=found, likelihood="exact")


KINDS = {"q": "ordinal", "party": "nominal", "region": "nominal", "yes": "ordinal"}


def test_a_table_of_several_kinds():
    table, few = as_written(MIXED_STATES), np.arange(N) % 5 < 3
    model, of_states = mixed_model(table, KINDS), mixed_model(MIXED_STATES, KINDS)
    p, scores = scored(model, table[few])
    expected, others = scored(of_states, MIXED_STATES[few])
    np.testing.assert_allclose(p["probability"], expected["probability"], rtol=1e-9)
    for name, units, centre in (("income", 1e9, 3e9), ("time", 1e-9, 0.0)):
        own, other = (x.sel(measurement=name) for x in (p, expected))
        np.testing.assert_allclose(own["mean"], centre + units * other["mean"], rtol=1e-6)
        np.testing.assert_allclose(own["sd"], units * other["sd"], rtol=1e-6)
        np.testing.assert_allclose(scores.loc[name, "rmse"], units * others.loc[name, "rmse"], rtol=1e-6)
        same = others.loc[name, "log_score"] - np.log(units)
        np.testing.assert_allclose(scores.loc[name, "log_score"], same, rtol=1e-6)
    for name in ("accuracy", "log_score", "brier"):
        np.testing.assert_allclose(scores.loc[list(KINDS), name], others.loc[list(KINDS), name])
    # what the states are called, where answers differ in it, stays with the predictions
    assert p["label"].sel(answer="party").values.tolist() == ["blue", "green", "red", "", ""]
    assert p["label"].sel(answer="yes").values.tolist()[:2] == ["False", "True"]
    found = prediction_calibration(p, table[few])
    xr.testing.assert_allclose(found, prediction_calibration(expected, MIXED_STATES[few]))
    one = p[["probability"]].rename(answer="node")
    assert len(pmrf.score_predictions(one, table[few][list(KINDS)])) == 4
    with pytest.raises(ValueError, match="column 'party' has the answer 'grey'"):
        pmrf.score_predictions(p, table[few].replace("red", "grey"))


@pytest.mark.compiled
@pytest.mark.slow
def test_draws_of_a_table_of_several_kinds_do_not_depend_on_its_codes_and_units():
    found = []
    for table in (as_written(MIXED_STATES), MIXED_STATES):
        table = table.drop(columns="region")
        kinds = {name: kind for name, kind in KINDS.items() if name != "region"}
        with mixed_model(table, kinds):
            idata = pm.sample(
                15, tune=15, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
                compute_convergence_checks=False,
            )  # fmt: skip
        found.append(idata.posterior)
    own, other = found
    for name in ("weight", "bias", "diagonal"):
        np.testing.assert_allclose(own[name], other[name], atol=1e-5)
    units, centre = np.array([1e9, 1e-9]), np.array([3e9, 0.0])
    np.testing.assert_allclose((own["mean"] - centre) / units, other["mean"], atol=1e-5)


def test_codes_of_missing_values_in_further_rows_are_told():
    """Where the first rows are not known a warning tells, of tables and of arrays."""
    record = kinds_of_measurements(["a", "b"])
    rows = pd.DataFrame({"a": [0.3, -999.0, 0.5, 0.1], "b": [0.1, 0.2, 0.3, 0.4]})
    for data in (rows, rows.to_numpy()):
        with pytest.warns(
            UserWarning, match="data: column 'a' has the value -999 in 1 rows and all others from"
        ):
            found = record.read_rows(data, "data")
        np.testing.assert_array_equal(found.values, rows)


@pytest.mark.parametrize("door", ["network_model", "by hand"])
def test_a_further_row_is_refused_where_the_first_rows_would_be(door):
    rows = frame(np.random.default_rng(3).normal(size=(30, 3)))
    if door == "network_model":
        model = pmrf.network_model(rows, kind="continuous")
    else:
        graph = pmrf.graphs.complete(list(rows))
        with pm.Model() as model:
            weight, diagonal = pm.Normal("w", shape=3), pm.Exponential("diagonal", 1, shape=3)
            pmrf.GaussianMRF("x", weight, diagonal, graph=graph, observed=rows)
    idata = draws_of(model)
    for bad in (rows.iloc[:1].assign(b=-999.0), rows.iloc[:1].assign(b=-999.0).to_numpy()):
        with pytest.raises(ValueError, match="data: column 'b' has the value -999 in 1 rows"):
            pmrf.predict_nodes(idata, "x", data=bad, model=model)
    measured = rows.iloc[:1].assign(b=-998.5)
    assert pmrf.predict_nodes(idata, "x", data=measured, model=model)["mean"].shape == (1, 3)


def test_predictive_draws_are_written_as_the_table():
    table = as_written(MIXED_STATES)
    model = mixed_model(table, KINDS)
    record = record_of(model, "x")
    assert record_of(model.copy(), "x") == record
    observed = model.rvs_to_values[model["x"]].data
    pd.testing.assert_frame_equal(
        record.decode(observed).astype(table.dtypes), table, check_exact=False, rtol=1e-12
    )
    gaps = np.ma.masked_array(observed, np.eye(N, 6, dtype=bool))
    assert record.decode(gaps).isna().to_numpy().sum() == 6


@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_measurements_of_any_unit_are_those_of_standardised_ones(has_gaps):
    """The same draws from the same seed, up to the units and rounding; predictions in the table's units."""
    z = RNG.normal(size=(40, 3))
    z[:, 1] += z[:, 0]
    if has_gaps:
        z[[0, 3, 5], [0, 1, 1]] = np.nan
    units, centre = np.array([1e9, 1e-9, 5.0]), np.array([2e9, -3e-9, 70.0])
    table = frame(centre + units * z)
    mean, sd = table.mean().to_numpy(), table.std().to_numpy()
    found = []
    for data in (table, (table - mean) / sd):
        with pmrf.network_model(data, kind="continuous") as model:
            idata = pm.sample(
                20, tune=20, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
                compute_convergence_checks=False, compile_kwargs={"mode": "FAST_COMPILE"},
            )  # fmt: skip
            complete = data.dropna().iloc[:5]
            gaps = complete.mask(np.eye(5, 3, dtype=bool))
            p = pmrf.predict_nodes(idata, "x", data=gaps, model=model)
            drawn = pm.sample_posterior_predictive(
                idata, random_seed=1, progressbar=False, compile_kwargs={"mode": "FAST_COMPILE"}
            ).posterior_predictive["x"]
        found.append((idata.posterior, p, pmrf.score_predictions(p, complete), drawn))
    (own, p, scores, drawn), (other, q, others, redrawn) = found
    for name in ("weight", "diagonal"):
        np.testing.assert_allclose(own[name], other[name], atol=1e-6)
    np.testing.assert_allclose((own["mean"] - mean) / sd, other["mean"], atol=1e-6)
    np.testing.assert_allclose((p["mean"] - mean) / sd, q["mean"], atol=1e-6)
    np.testing.assert_allclose(p["sd"] / sd, q["sd"], rtol=1e-6)
    np.testing.assert_allclose(scores["rmse"] / sd, others["rmse"], rtol=1e-5)
    np.testing.assert_allclose(scores["log_score"] + np.log(sd), others["log_score"], rtol=1e-5)
    np.testing.assert_allclose((drawn - mean) / sd, redrawn, atol=1e-5)
    if has_gaps:
        cells = np.array([mean[[0, 1, 1]], sd[[0, 1, 1]]])
        np.testing.assert_allclose(
            (own["x_unobserved"] - cells[0]) / cells[1], other["x_unobserved"], atol=1e-5
        )
