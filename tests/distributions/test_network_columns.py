"""The standard model of measurements and of answers without an order, beside the same written by hand."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {"age": RNG.normal(40, 12, 20), "score": RNG.integers(50, size=20), "time": RNG.gamma(2, 300, 20)}
)
COLOURS = pd.DataFrame(
    {
        "eyes": pd.Categorical(["blue", "brown", "blue", "grey", "brown", "blue"]),
        "hair": ["red", "fair", "red", "fair", "red", "red"],
        "code": [0, 1, 2, 0, 1, 2],
    }
)


def logp(model, names, **values):
    return float(model.compile_logp([model[name] for name in names])(values))


def test_measurements():
    model = pmrf.network_model(TABLE, kind="continuous")
    scaled = ((TABLE - TABLE.mean()) / TABLE.std()).to_numpy()
    with pm.Model() as by_hand:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Cauchy.dist(0, 2), shape=3)
        diagonal, mean = pm.Exponential("diagonal", 0.5, shape=3), pm.Normal("mean", 0, 10, shape=3)
        pmrf.GaussianMRF("x", weight, diagonal, mean, graph=pmrf.graphs.complete(3), observed=scaled)
    point = {
        "weight": np.array([0.3, 0.0, -0.2]),
        "diagonal_log__": np.log([1.1, 0.9, 1.4]),
        "mean": np.ones(3),
    }
    names = ["weight", "diagonal", "mean", "x"]
    np.testing.assert_allclose(logp(model, names, **point), logp(by_hand, names, **point))
    assert model.named_vars_to_dims["x"] == ("row", "node")
    np.testing.assert_allclose(model["column_sd"].get_value(), TABLE.std())
    np.testing.assert_allclose(model["column_mean"].get_value(), TABLE.mean())


def test_groups_of_measurements_share_weights_and_scales():
    table = TABLE.assign(group=["b", "a"] * 10, name="x")
    table.loc[3, "age"] = np.nan
    with pytest.warns(
        UserWarning, match=r"left out as no measurements: 'name' [(]text, such as 'x'"
    ) as said:
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        model = pmrf.network_model(table, kind="continuous", groups="group")
    assert len(said) == 1
    names = {rv.name for rv in model.free_RVs}
    assert names >= {"weight", "weight_difference_1", "diagonal_a", "mean_b", "x_a_unobserved"}
    with model:
        steps = pm.sampling.mcmc.assign_step_methods(model)[1]
    found = {cls.__name__: {v.name for v in vs} for cls, vs in steps.items() if vs}
    assert found["EdgeGibbs"] == {
        "weight",
        "weight_difference_1",
        "diagonal_a_log__",
        "diagonal_b_log__",
    }


def test_answers_without_an_order():
    model = pmrf.network_model(COLOURS, kind="nominal", likelihood="exact")
    codes = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 2], [2, 0, 0], [1, 1, 1], [0, 1, 2]])
    graph = pmrf.graphs.complete(3)
    with pm.Model() as by_hand:
        weight = pmrf.SpikeAndSlab(
            "weight", 0.5, pm.Normal.dist(0, 1), blocks=pmrf.table_sizes(graph, [3, 2, 3])
        )
        bias = pm.Normal("bias", 0, 3, shape=(3, 3))
        pmrf.NominalMRF(
            "x", weight, bias, graph=graph, n_states=[3, 2, 3], observed=codes, likelihood="exact"
        )
    rng = np.random.default_rng(2)
    point = {"weight": rng.normal(size=8), "bias": rng.normal(size=(3, 3))}
    names = ["weight", "bias", "x"]
    np.testing.assert_allclose(logp(model, names, **point), logp(by_hand, names, **point))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "continuous", "n_states": 3}, "n_states=3 has no meaning for measurements"),
        ({"kind": "continuous", "likelihood": "exact"}, "likelihood='exact' has no meaning"),
        ({"kind": "continuous", "columns": ["eyes", "code"]}, "column 'eyes' holds categories, such as"),
        ({"kind": "continuous", "columns": ["eye", "code"]}, "table has no column 'eye'"),
        ({"kind": "continuous"}, "table has 1 columns of measurements"),
        (
            {"kind": "nominal", "groups": [0, 1] * 3},
            "declare the model of the rows of each group by itself",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        pmrf.network_model(COLOURS, **options)
