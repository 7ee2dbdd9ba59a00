"""Predictions of the cells of mixed fields, against the conditional densities of the field itself."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf

KINDS = pmrf.fields.ColumnKinds(
    ("a", "y", "n", "z"), ("ordinal", "continuous", "nominal", "continuous"), (3, 0, 4, 0)
)
GRAPH = pmrf.graphs.complete(KINDS.names)
SCALE = [2.0, 0.5]
P = int(KINDS.block_sizes(GRAPH).sum())


def parameters(rng):
    return {
        "weight": rng.normal(0, 0.3, P),
        "bias": rng.normal(0, 0.5, (2, 4)),
        "diagonal": np.array([1.5, 1.2]),
        "mean": np.array([3.0, -1.0]),
    }


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    draws = [parameters(rng) for _ in range(2)]
    x = np.stack([[0, 2.0, 3, -1.2], [2, 5.0, 1, -0.7], [1, 3.3, 0, -1.0], [1, 2.7, 2, -1.4]])
    with pm.Model() as model:
        weight = pm.Normal("weight", 0, 1, shape=P)
        bias = pm.Normal("bias", 0, 1, shape=(2, 4))
        diagonal = pm.Gamma("diagonal", 2, 1, shape=2)
        mean = pm.Normal("mean", 0, 10, shape=2)
        pmrf.MixedMRF(
            "x", weight, bias, diagonal, mean, graph=GRAPH, kinds=KINDS, scale=SCALE, observed=x
        )
    posterior = {}
    for name in draws[0]:
        values = np.stack([draw[name] for draw in draws])[None]
        dims = ["chain", "draw", *(f"{name}_dim_{k}" for k in range(values.ndim - 2))]
        posterior[name] = (dims, values)
    observed = xr.Dataset({"x": (("row", "node"), x)})
    idata = xr.DataTree.from_dict({"posterior": xr.Dataset(posterior), "observed_data": observed})
    return model, idata, x, draws


def log_density(draw, rows):
    field = pmrf.MixedMRF.dist(*draw.values(), graph=GRAPH, kinds=KINDS, scale=SCALE, shape=rows.shape)
    return pm.logp(field, rows).eval()


def test_predictions_are_those_of_the_joint_density(fitted):
    model, idata, x, draws = fitted
    found = pmrf.predict_nodes(idata, "x", model=model)
    for place, i, k in ((0, 0, 3), (1, 2, 4)):
        p = []
        for draw in draws:
            rows = np.repeat(x, k, axis=0)
            rows[:, i] = np.tile(np.arange(k), len(x))
            log_p = log_density(draw, rows).reshape(len(x), k)
            p.append(np.exp(log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True)))
        np.testing.assert_allclose(found["probability"][:, place, :k], np.mean(p, axis=0), atol=1e-10)
        np.testing.assert_allclose(found["probability"][:, place, k:], 0.0, atol=1e-12)
    for place, i in ((0, 1), (1, 3)):
        grid = np.linspace(-12, 12, 4001) * SCALE[place] + draws[0]["mean"][place]
        moments = []
        for draw in draws:
            rows = np.repeat(x, len(grid), axis=0)
            rows[:, i] = np.tile(grid, len(x))
            density = np.exp(log_density(draw, rows).reshape(len(x), -1))
            density /= density.sum(axis=1, keepdims=True)
            moments.append([density @ grid, density @ grid**2])
        first, second = np.mean(moments, axis=0)
        np.testing.assert_allclose(found["mean"][:, place], first, rtol=1e-6)
        np.testing.assert_allclose(found["sd"][:, place], np.sqrt(second - first**2), rtol=1e-5)


def test_scores_have_a_row_for_each_node(fitted):
    model, idata, x, _ = fitted
    table = pd.DataFrame(x, columns=KINDS.names)
    scores = pmrf.score_predictions(pmrf.predict_nodes(idata, "x", data=table, model=model), table)
    assert scores.index.tolist() == ["a", "n", "y", "z"]
    assert scores.loc["a", "accuracy"] >= 0 and scores.loc["y", "rmse"] > 0
    by_draw = pmrf.predict_nodes(idata, "x", model=model)
    assert by_draw["explained_variance"].dims == ("chain", "draw", "measurement")
    assert by_draw["accuracy"].sizes == {"chain": 1, "draw": 2, "answer": 2}
    with pytest.raises(TypeError, match="data must be a table with the names of the nodes"):
        pmrf.score_predictions(pmrf.predict_nodes(idata, "x", model=model), x)


def test_rows_with_missing_cells_are_refused(fitted):
    model, idata, x, _ = fitted
    rows = x.copy()
    rows[1, 1] = np.nan
    with pytest.raises(ValueError, match="row 1 of the data has missing cells, 1 in all"):
        pmrf.predict_nodes(idata, "x", data=rows, model=model)
