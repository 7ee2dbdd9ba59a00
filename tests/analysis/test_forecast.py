"""Forecasts of fields in time: their distribution, missing cells, parameters by row, and bad arguments."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.predictive_checks import run_lengths
from pymc_mrf.steps.latent.missing_cells import SeriesGibbs
from tests.statistics import assert_frequencies

GRAPH = pmrf.LaggedGraph("ab", [("a", "a"), ("b", "a"), ("a", "b")], (1, 2))
X = np.array([[0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1]])
SERIES = ["u", "u", "v", "u", "v", "v"]
W, B = np.array([1.2, -0.8, 0.7, 0.0, 0.9, -0.6]), np.array([0.2, -0.3])
LAST = {"u": X[[1, 3]], "v": X[[4, 5]]}


def next_row(past, w=W, b=B):
    """Probabilities of 1 after the rows `past` (..., 2, 2), the present one last."""
    one, two = past[..., 1, :], past[..., 0, :]
    field = [w[0] * one[..., 0] + w[1] * one[..., 1] + w[3] * two[..., 0] + w[4] * two[..., 1]]
    field.append(w[2] * one[..., 0] + w[5] * two[..., 0])
    return 1 / (1 + np.exp(-(np.stack(field, axis=-1) + b)))


def posterior(n_draws=2000, **variables):
    data = {"w": np.tile(W, (2, n_draws, 1)), **variables}
    dims = {name: ("chain", "draw", *range(v.ndim - 2)) for name, v in data.items()}
    named = {name: (tuple(f"{name}{d}" if d not in ("chain", "draw") else d for d in dims[name]), v)
             for name, v in data.items()}  # fmt: skip
    coords = {"chain": np.arange(2), "draw": np.arange(n_draws)}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(named, coords=coords)})


def model_of(observed=X, bias=B):
    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=6)
        pmrf.KineticMRF("x", w, bias, graph=GRAPH, observed=observed, series=SERIES)
    return model


def frequencies(draws):
    code = draws.reshape(-1, 2) @ [2, 1]
    return np.bincount(code, minlength=4)


def joint(p):
    return np.array([(1 - p[0]) * (1 - p[1]), (1 - p[0]) * p[1], p[0] * (1 - p[1]), p[0] * p[1]])


def test_next_rows():
    found = pmrf.forecast(posterior(), model_of(), 2, random_seed=1)
    assert found.dims == ("chain", "draw", "series", "ahead", "node")
    assert found["series"].values.tolist() == ["u", "v"] and found["node"].values.tolist() == ["a", "b"]
    for label, last in LAST.items():
        draws = found.sel(series=label)
        one = draws.sel(ahead=1).values
        assert_frequencies(frequencies(one), joint(next_row(last)))
        for state in range(4):
            row = np.array([state // 2, state % 2])
            here = (one == row).all(axis=-1)
            two = draws.sel(ahead=2).values[here]
            expected = joint(next_row(np.stack([last[1], row])))
            assert_frequencies(frequencies(two), expected)
    with pytest.raises(AssertionError):
        assert_frequencies(frequencies(one), joint(next_row(LAST["u"])))
    again = pmrf.forecast(posterior(), model_of(), 2, random_seed=1)
    np.testing.assert_array_equal(found, again)


def test_series_of_several_labels_and_short_ones():
    """A series without as many rows as the largest lag has no next one."""
    labels = [("u", 1), ("u", 1), ("v", 2), ("u", 1), ("v", 2), ("v", 2), ("v", 3)]
    with pm.Model() as model, pytest.warns(UserWarning, match=r"1 of the 3 series .* \('v', 3\)"):
        w = pm.Normal("w", 0, 1, shape=6)
        pmrf.KineticMRF("x", w, B, graph=GRAPH, observed=np.r_[X, X[:1]], series=labels)
    found = pmrf.forecast(posterior(), model, 2, random_seed=1)
    expected = pmrf.forecast(posterior(), model_of(), 2, random_seed=1)
    assert found["series"].values.tolist() == ["u, 1", "v, 2"]
    np.testing.assert_array_equal(found.values, expected.values)


def test_parameters_of_the_last_rows():
    bias = np.zeros((6, 2))
    bias[3], bias[5] = 10.0, -10.0
    found = pmrf.forecast(posterior(20), model_of(bias=bias), 3)
    assert found.sel(series="u").min() == 1 and found.sel(series="v").max() == 0


def test_states_are_written_as_in_the_table():
    """Texts where answers were texts; -1 and 1 of an Ising field are the states themselves."""
    words = np.array(["never", "always"])
    table = pd.DataFrame(
        {k: pd.Categorical(words[c], words, ordered=True) for k, c in zip("ab", X.T, strict=True)}
    )
    plain = pmrf.forecast(posterior(20), model_of(), 2, random_seed=1)
    model = model_of(table)
    found = pmrf.forecast(posterior(20), model, 2, random_seed=1)
    np.testing.assert_array_equal(found.values, words[plain.values])
    idata = posterior(20)
    idata["observed_data"] = xr.DataTree(xr.Dataset({"x": (("r", "c"), X)}))
    of = [
        run_lengths(idata, "x", model=model, state=state, group="observed_data")
        for state in ("always", None)
    ]
    assert of[0]["number"].sum() < of[1]["number"].sum()
    np.testing.assert_array_equal(
        of[0]["longest"],
        run_lengths(idata, "x", model=model_of(), state=1, group="observed_data")["longest"],
    )
    with pytest.raises(
        ValueError, match=r"state=1 is none of x, whose states are \['never', 'always'\]"
    ):
        run_lengths(idata, "x", model=model, state=1, group="observed_data")
    with pm.Model() as ising:
        w = pm.Normal("w", 0, 1, shape=6)
        pmrf.KineticMRF("x", w, B, graph=GRAPH, observed=2 * X - 1, series=SERIES, family="ising")
    assert set(np.unique(pmrf.forecast(posterior(20), ising, 2, random_seed=1))) == {-1, 1}


def test_missing_cells_of_the_last_rows():
    masked = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))
    masked[5, 0] = np.ma.masked
    with pytest.warns(pm.exceptions.ImputationWarning):
        model = model_of(masked)
    cells = np.ones((2, 2000, 1), dtype=np.int8)
    idata = posterior(x_unobserved=cells)
    table = np.where(masked.mask, np.nan, X)
    idata["observed_data"] = xr.DataTree(xr.Dataset({"x": (("r", "c"), table)}))
    found = pmrf.forecast(idata, model, 1, random_seed=2).sel(series="v", ahead=1)
    filled = np.array([[1, 1], [1, 1]])
    assert_frequencies(frequencies(found.values), joint(next_row(filled)))
    with pytest.raises(ValueError, match="lacks the draws of the missing cells"):
        pmrf.forecast(posterior(20), model, 1)


def test_rows_that_are_held_out():
    """One step ahead: a model of all rows tells the log predictive probability of the last ones."""
    idata = posterior(4)
    idata["posterior"]["w"] = idata["posterior"]["w"] * np.linspace(0.5, 1.5, 8).reshape(2, 4, 1)
    pm.compute_log_likelihood(idata, model=model_of(), progressbar=False)
    found = pmrf.analysis.log_predictive(idata["log_likelihood"]["x"])[
        -1
    ]  # of the second of the series, the last row
    p = [next_row(X[[2, 4]], W * f) for f in np.linspace(0.5, 1.5, 8)]
    expected = np.mean([(1 - a) * b for a, b in p])
    np.testing.assert_allclose(found, np.log(expected))


def test_without_arrows():
    """The null model: nodes are independent of all rows before, in forecasts and where cells are missing."""
    x = np.ma.masked_array(X, mask=False)
    x[2, 1] = np.ma.masked
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        b = pm.Normal("b", 0, 1, shape=2)
        pmrf.KineticMRF("x", 0.0, b, graph=pmrf.LaggedGraph("ab", []), observed=x)
        step = SeriesGibbs([model["x_unobserved"]])
    point, _ = step.step(model.initial_point())
    assert point["x_unobserved"].shape == (1,)
    tree = posterior(
        w=np.zeros((2, 2000, 0)), b=np.tile(B, (2, 2000, 1)), x_unobserved=np.zeros((2, 2000, 1), int)
    )
    tree["observed_data"] = xr.Dataset({"x": (("t", "i"), x.filled(0).astype(float))}).where(~x.mask)
    drawn = pmrf.forecast(tree, model, 1, random_seed=4).values
    assert_frequencies(frequencies(drawn), joint(1 / (1 + np.exp(-B))))


def test_bad_arguments():
    model, idata = model_of(), posterior(3)
    with pytest.raises(ValueError, match="n_rows must be a positive integer"):
        pmrf.forecast(idata, model, 0)
    with pytest.raises(ValueError, match="is no KineticMRF of the model; it has 'x'"):
        pmrf.forecast(idata, model, 1, var_name="w")
    with pytest.raises(TypeError, match="idata must be"):
        pmrf.forecast({}, model, 1)
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model"):
        pmrf.forecast(idata, None, 1)
    with pytest.raises(ValueError, match="no group 'prior'"):
        pmrf.forecast(idata, model, 1, group="prior")
    with pm.Model() as empty, pytest.raises(ValueError, match="it has none"):
        pmrf.forecast(idata, empty, 1)
