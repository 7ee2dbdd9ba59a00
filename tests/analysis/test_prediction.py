"""Predictions of nodes from the others, beside the list of all states."""

import itertools

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from pymc.exceptions import ImputationWarning
from scipy.special import logsumexp

import pymc_mrf as pmrf
from pymc_mrf.analysis.prediction import SHARES
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.pairwise import PairwiseField

GRAPH = pmrf.graphs.complete(4)
CARDS = [3, 2, 4, 3]
X = np.array(
    [[0, 1, 3, 2], [2, 0, 0, 1], [1, -1, 2, 0], [-1, 1, -1, 2], [-1, -1, -1, -1], [2, 1, 1, -1]],
    dtype=float,
)
X[X < 0] = np.nan


def ordinal_model(x=X):
    with pm.Model() as model, pytest.warns(ImputationWarning):
        w = pm.Normal("w", 0, 1, shape=3)
        b = pm.Normal("b", 0, 1, shape=(4, 3))
        w = pm.math.concatenate([w, 0.5 * w])  # any expression
        scores = [np.linspace(-1, 1, k) for k in CARDS]
        pmrf.OrdinalMRF(
            "x", w, b, graph=GRAPH, n_states=CARDS, scores=scores, observed=np.ma.masked_invalid(x),
            likelihood="exact",
        )  # fmt: skip
    return model


def binary_model(x):
    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=6)
        b = pm.Normal("b", 0, 1, shape=4)
        pmrf.Ising("x", w, b, graph=GRAPH, observed=x, likelihood="exact")
    return model


def draws_of(rng, x, **shapes):
    posterior = {name: rng.normal(0, 1, (2, 5, *shape)) for name, shape in shapes.items()}
    return az.from_dict({"posterior": posterior, "observed_data": {"x": x}})


@pytest.fixture(scope="module")
def ordinal():
    return ordinal_model(), draws_of(np.random.default_rng(1), X, w=(3,), b=(4, 3))


def listed(w, b, x):
    """Probabilities (n, 4, 4) under one draw, by listing the states of all cells but the known others."""
    score = [np.linspace(-1, 1, k) for k in CARDS]
    w = np.concatenate([w, 0.5 * w])
    p = np.zeros((len(x), 4, 4))
    for n, row in enumerate(x):
        for i in range(4):
            free = [range(CARDS[j]) if j == i or np.isnan(row[j]) else [int(row[j])] for j in range(4)]
            logs = [[] for _ in range(4)]
            for state in itertools.product(*free):
                value = sum(b[j, a - 1] for j, a in enumerate(state) if a > 0)
                for (u, v), weight in zip(GRAPH.edges, w, strict=True):
                    value += weight * score[u][state[u]] * score[v][state[v]]
                logs[state[i]].append(value)
            total = np.array([logsumexp(one) if one else -np.inf for one in logs])
            p[n, i] = np.exp(total - logsumexp(total))
    return p


def test_probabilities_with_missing_cells(ordinal):
    model, idata = ordinal
    found = pmrf.predict_nodes(idata, "x", model=model)["probability"]
    assert found.dims == ("obs", "node", "state")
    w, b = (
        idata.posterior[name].values.reshape(10, *shape) for name, shape in (("w", (3,)), ("b", (4, 3)))
    )
    expected = np.mean([listed(w[s], b[s], X) for s in range(10)], axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_new_rows_and_tables(ordinal):
    model, idata = ordinal
    table = pd.DataFrame(X, columns=GRAPH.nodes)[[3, 1, 0, 2]]
    with model:
        found = pmrf.predict_nodes(idata, "x", data=table)
    same = pmrf.predict_nodes(idata, "x", model=model)
    xr.testing.assert_equal(found.drop_vars("obs"), same.drop_vars("obs"))
    rows = pmrf.predict_nodes(idata, "x", data=np.ma.masked_invalid(X[2:4]), model=model)
    np.testing.assert_allclose(rows["probability"], found["probability"][2:4], atol=1e-12)


def test_each_draw(ordinal):
    model, idata = ordinal
    found = pmrf.predict_nodes(idata, "x", model=model, max_draws=4)
    assert list(found) == ["probability", *SHARES[:3]]
    assert dict(found["accuracy"].sizes) == {"chain": 2, "draw": 2, "node": 4}
    assert list(found.draw.values) == [0, 3]
    w, b = (idata.posterior[name].values[1, 1] for name in ("w", "b"))
    single = az.from_dict(
        {"posterior": {"w": w[None, None], "b": b[None, None]}, "observed_data": {"x": X}}
    )
    one = pmrf.predict_nodes(single, "x", model=model)
    table = pmrf.score_predictions(one, X)
    for name in SHARES[:3]:
        np.testing.assert_allclose(one[name][0, 0], table[name])
    last = found.isel(chain=1, draw=1)
    assert not np.array_equal(last["explained_log_score"], one["explained_log_score"][0, 0])


def test_scores_against_plain_formulas(rng):
    x = rng.choice([-1, 1], (50, 4))
    model, idata = binary_model(x), draws_of(rng, x, w=(6,), b=(4,))
    p = pmrf.predict_nodes(idata, "x", model=model)
    table = pmrf.score_predictions(p, x)
    for i in range(4):
        high, q = x[:, i] == 1, p["probability"].values[:, i, 1]
        of_right = np.where(high, q, 1 - q)
        share = high.mean()
        entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        accuracy = ((q > 0.5) == high).mean()
        pairs = np.sign(q[high][:, None] - q[~high])
        expected = {
            "n": 50,
            "accuracy": accuracy,
            "explained_accuracy": (accuracy - max(share, 1 - share)) / min(share, 1 - share),
            "log_score": np.log(of_right).mean(),
            "explained_log_score": 1 + np.log(of_right).mean() / entropy,
            "brier": 2 * ((1 - of_right) ** 2).mean(),
            "auc": 0.5 * (1 + pairs.mean()),
        }
        assert list(table.columns) == list(expected)
        np.testing.assert_allclose(table.iloc[i], list(expected.values()))


def test_nothing_is_explained_of_a_node_in_one_state():
    p = xr.DataArray(
        np.full((3, 1, 2), 0.5), dims=("obs", "node", "state"), coords={"node": [7], "state": [0, 1]}
    )
    table = pmrf.score_predictions(p.to_dataset(name="probability"), np.ones((3, 1)))
    assert np.isnan(
        table.loc[7, ["explained_accuracy", "explained_log_score", "auc"]].astype(float)
    ).all()


def test_nodes_keep_integer_labels():
    graph = pmrf.PairwiseGraph(list(np.arange(3)), [(0, 1), (1, 2)])
    x = np.array([[0, 1, 1], [1, 0, 1]])
    with pm.Model() as model:
        J = pm.Normal("J")
        pmrf.BoltzmannMachine("x", J, graph=graph, observed=x, likelihood="exact")
    idata = az.from_dict({"posterior": {"J": np.zeros((3, 10))}})
    p = pmrf.predict_nodes(idata, "x", data=x, model=model, max_draws=5)
    assert p.node.values.tolist() == [0, 1, 2]
    assert pmrf.score_predictions(p, pd.DataFrame(x)).loc[0, "n"] == 2
    assert pmrf.predict_nodes(idata, "x", data=x, model=model, max_draws=5).sizes["draw"] == 1


def test_the_truth_predicts_as_well_as_it_says(rng):
    """Calibration: of cells of probability q a share q is in the state; another field's are not."""
    w, b = rng.normal(0, 0.7, 6), rng.normal(0, 0.5, 4)
    field = PairwiseField(GRAPH, ISING.edge_tables(w), ISING.node_tables(b))
    x = 2 * np.asarray(field.sample(4000, rng=rng)) - 1
    model = binary_model(x)

    def excess(w):
        idata = az.from_dict({"posterior": {"w": w[None, None], "b": b[None, None]}})
        q = pmrf.predict_nodes(idata, "x", data=x, model=model)["probability"].values[:, :, 1]
        z = ((x == 1) - q) / np.sqrt(q * (1 - q))
        return np.abs(z.mean(axis=0) * np.sqrt(len(x))).max()

    assert excess(w) < 4.0 < excess(w + 0.5)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("w", {}, "'w' is no field of the model with weights on pairs; it has 'x'"),
        ("x", {"data": np.zeros((2, 3))}, r"data has shape \(2, 3\); give rows of the 4 nodes"),
        (
            "x",
            {"data": [[0, 2, 0, 0]]},
            "data is 2 in row 0 of 1, which is ordinal with the states 0 to 1",
        ),
        ("x", {"data": [[0, 0.5, 0, 0]]}, "data is 0.5 in row 0 of 1"),
        ("x", {"max_draws": 0}, "max_draws"),
    ],
)
def test_bad_arguments(ordinal, name, given, message):
    model, idata = ordinal
    with pytest.raises(ValueError, match=message):
        pmrf.predict_nodes(idata, name, model=model, **given)


def test_too_many_missing_cells_are_refused():
    x = np.zeros((3, 20))
    graph = pmrf.graphs.chain(20)
    with pm.Model() as model:
        J = pm.Normal("J")
        pmrf.BoltzmannMachine("x", J, graph=graph, observed=x, likelihood="exact")
    idata = az.from_dict({"posterior": {"J": np.zeros((1, 2))}})
    x[1, :15] = np.nan
    with pytest.raises(ValueError, match=r"row 1 of the data lacks 15 cells, whose 2\^15 states"):
        pmrf.predict_nodes(idata, "x", data=x, model=model)
