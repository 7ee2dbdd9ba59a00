"""Predictions of measurements from the others, beside the conditional normal density of scipy's kind."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from tests.reference.gaussian import precision

GRAPH = pmrf.graphs.complete(list("abcd"))
EDGES = GRAPH.edges.tolist()


@pytest.fixture(scope="module")
def fitted():
    import arviz as az

    rng = np.random.default_rng(1)
    x = rng.normal(2, 1, (30, 4))
    x[3, 1], x[7, [0, 2]], x[9] = np.nan, np.nan, np.nan
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        w, a = pm.Normal("w", 0, 0.1, shape=6), pm.Gamma("a", 5, 5, shape=4)
        m = pm.Normal("m", 0, 1, shape=4)
        pmrf.GaussianMRF("x", w, a, m, graph=GRAPH, observed=x)
    posterior = {
        "w": rng.normal(0, 0.15, (2, 3, 6)),
        "a": rng.gamma(20, 0.05, (2, 3, 4)),
        "m": rng.normal(2, 0.1, (2, 3, 4)),
    }
    return model, az.from_dict({"posterior": posterior, "observed_data": {"x": x}}), x


def conditional(K, mu, row, i):
    """Mean and variance of cell i given the other known cells, by the covariance."""
    S, others = np.linalg.inv(K), [j for j in range(len(mu)) if j != i and not np.isnan(row[j])]
    B = S[i, others] @ np.linalg.inv(S[np.ix_(others, others)])
    return mu[i] + B @ (row - mu)[others], S[i, i] - B @ S[others, i]


def test_mixtures_of_conditional_densities(fitted):
    model, idata, x = fitted
    found = pmrf.predict_nodes(idata, "x", model=model)
    w, a, m = (idata.posterior[name].values.reshape(6, -1) for name in ("w", "a", "m"))
    draws = list(zip(precision(EDGES, w, a), m, strict=True))
    for row in (0, 3, 7, 9):
        for i in range(4):
            each = np.array([conditional(K, m, x[row], i) for K, m in draws])
            np.testing.assert_allclose(found["mean"][row, i], each[:, 0].mean())
            variance = each[:, 1].mean() + each[:, 0].var()
            np.testing.assert_allclose(found["sd"][row, i], np.sqrt(variance))
    by_draw = pmrf.predict_nodes(idata, "x", model=model)["explained_variance"]
    K, m = draws[0]
    mean = np.array([[conditional(K, m, row, i)[0] for i in range(4)] for row in x])
    residual = np.nansum((x - mean) ** 2, axis=0)
    total = np.nansum((x - np.nanmean(x, axis=0)) ** 2, axis=0)
    np.testing.assert_allclose(by_draw[0, 0], 1 - residual / total)
    assert by_draw.dims == ("chain", "draw", "node") and by_draw.node.values.tolist() == list("abcd")


def test_scores_of_new_rows(fitted):
    model, idata, _ = fitted
    new = pd.DataFrame(np.random.default_rng(2).normal(2, 1, (20, 4)), columns=list("abcd"))
    found = pmrf.predict_nodes(idata, "x", data=new[["d", "c", "b", "a"]], model=model, max_draws=4)
    scores = pmrf.score_predictions(found, new)
    mean, sd = found["mean"].values, found["sd"].values
    expected = stats.norm(mean, sd).logpdf(new.to_numpy()).mean(axis=0)
    np.testing.assert_allclose(scores["log_score"], expected)
    np.testing.assert_allclose(scores["rmse"], np.sqrt(((new - mean) ** 2).mean()))
    new.iloc[0, 0] = np.nan
    assert pmrf.score_predictions(found, new)["n"].tolist() == [19, 20, 20, 20]


def test_bad_data(fitted):
    model, idata, x = fitted
    with pytest.raises(ValueError, match=r"data\[0, 1\] of node 'b' is inf"):
        pmrf.predict_nodes(idata, "x", data=[[0, np.inf, 1, 2]], model=model)
    with pytest.raises(ValueError, match="give rows of the 4 nodes"):
        pmrf.predict_nodes(idata, "x", data=x[:, :2], model=model)
    with pytest.raises(ValueError, match="has 29 rows"):
        pmrf.score_predictions(pmrf.predict_nodes(idata, "x", model=model), x[1:])
    with pm.Model() as other:
        w = pm.Normal("w", 0, 0.1, shape=6)
        pmrf.GaussianMRF("x", w, 1.0, np.zeros((30, 1)), graph=GRAPH, observed=np.nan_to_num(x))
    with pytest.raises(
        ValueError, match="mean, which differ between rows, have 30 rows, but data has 2"
    ):
        pmrf.predict_nodes(idata, "x", data=x[:2], model=other)
