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
    }
    # the density of the table in its units, and of the means in units that samplers move, is that of the
    # standardised table up to the constants of the units
    names = ["weight", "diagonal", "mean", "x"]
    own = logp(model, names, **point, mean_standardised__=np.ones(3))
    units = len(TABLE) * np.log(TABLE.std()).sum()
    np.testing.assert_allclose(own + units, logp(by_hand, names, **point, mean=np.ones(3)))
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
            "weight", 0.5, pm.Normal.dist(0, 1), blocks=pmrf.fields.table_sizes(graph, [3, 2, 3])
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
        (
            {"kind": "continuous", "columns": ["eyes", "code"]},
            "column 'eyes' is no measurement: it holds categories, such as",
        ),
        ({"kind": "continuous", "columns": ["eye", "code"]}, "table has no column 'eye'"),
        ({"kind": "continuous"}, "table has 1 columns that are measurements"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        pmrf.network_model(COLOURS, **options)


MIXED = TABLE.assign(
    score=TABLE["score"] % 3,
    party=pd.Categorical(["red", "blue", "green", "red"] * 5),
    works=[True, False, True, True, False] * 4,
)
SAID = {"score": "ordinal"}


def mixed_by_hand(table, kinds, slab):
    graph = pmrf.graphs.complete(kinds.names)
    y = table[["age", "time"]]
    with pm.Model(coords=kinds.coords(graph)) as model:
        w = pmrf.SpikeAndSlab("weight", 0.5, slab, blocks=kinds.block_sizes(graph), dims="entry")
        bias = pm.Normal("bias", 0, 3, dims=("answer", "state"))
        diagonal = pm.Exponential("diagonal", 0.5, dims="measurement")
        mean = pm.Normal("mean", y.mean(), 10 * y.std(), dims="measurement")
        pmrf.MixedMRF(
            "x", w, bias, diagonal, mean, graph=graph, kinds=kinds, scale=y.std(), observed=table
        )
    return model


@pytest.mark.parametrize("has_nominal", [True, False])
def test_columns_of_several_kinds(has_nominal):
    """Other columns of the table are left out; missing cells are drawn."""
    table = MIXED.assign(text="a")
    names = [*TABLE.columns, *(["party"] if has_nominal else []), "works"]
    kinds = pmrf.column_kinds(table[names], SAID, n_states={"score": 4})
    unseen = "x shows no observation in some states: 3 of score"
    with pytest.warns(UserWarning, match=unseen):
        model = pmrf.network_model(table, kind=kinds)
    with pytest.warns(UserWarning, match=unseen):
        by_hand = mixed_by_hand(
            table[names], kinds, pm.Normal.dist(0, 1) if has_nominal else pm.Cauchy.dist(0, 2)
        )
    rng = np.random.default_rng(2)
    point = {
        "weight": rng.normal(0, 0.2, model["weight"].eval().size),
        "bias": rng.normal(size=(len(kinds.answers), 4)),
        "diagonal_log__": np.log([1.1, 0.9]),
    }
    mean, y = np.array([41.0, 500.0]), table[["age", "time"]]
    names = ["weight", "bias", "diagonal", "mean", "x"]
    own = logp(model, names, **point, mean_standardised__=(mean - y.mean()) / y.std())
    np.testing.assert_allclose(own - np.log(y.std()).sum(), logp(by_hand, names, **point, mean=mean))
    assert model.named_vars_to_dims["weight"] == ("entry",)
    assert model.named_vars_to_dims["x"] == ("row", "node")
    np.testing.assert_allclose(model["column_sd"].get_value(), table[["age", "time"]].std())


def test_answers_of_both_kinds_in_an_array_with_missing_cells():
    x = np.ma.masked_array(COLOURS.assign(eyes=0, hair=[0, 1] * 3).to_numpy(), np.eye(6, 3, dtype=bool))
    x[2:, 0] = [1, 0, 1, 1]
    kinds = pmrf.column_kinds(x, ["ordinal", "ordinal", "nominal"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        model = pmrf.network_model(x, kind=kinds, communities="learn")
    names = {rv.name for rv in model.free_RVs}
    assert names == {"community", "p_within", "p_between", "weight", "bias", "x_unobserved"}
    with model:
        steps = pm.sampling.mcmc.assign_step_methods(model)[1]
    assert {"EdgeGibbs", "MixedGibbs"} <= {cls.__name__ for cls, of in steps.items() if of}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"groups": "works"},
            r"groups='works' is a column of the network as well: leave it out of kind",
        ),
        (
            {"n_states": 3},
            r"n_states has no meaning .*: tell them to .*column_kinds\(table, n_states=...\)",
        ),
        ({"columns": ["age"]}, "columns has no meaning .*: make kinds of these columns alone"),
        (
            {"kind": "mixed"},
            r"for columns of several kinds give what pymc_mrf.column_kinds\(table\) finds",
        ),
        ({"kind": pmrf.column_kinds(TABLE, {"score": "continuous"})}, 'say kind="continuous"'),
        ({"kind": pmrf.column_kinds(MIXED[["works"]])}, "one column, but a network has two at least"),
        (
            {"kind": pmrf.column_kinds(COLOURS[["eyes", "code"]], {"code": "nominal"})},
            "no column 'eyes'",
        ),
    ],
)
def test_refusals_beside_kinds(options, message):
    kinds = pmrf.column_kinds(MIXED, SAID)
    with pytest.raises(ValueError, match=message):
        pmrf.network_model(MIXED, **{"kind": kinds, **options})


THREE = pd.Series(
    np.resize(np.repeat(["a/b", "", "n/a"], 6), 36)
)  # labels that are no names of variables
NAMES = {"": "group", "a/b": "a_b", "n/a": "n_a"}


def weights_by_hand(point):
    """Weights of the groups, in sorted order of their labels: two sides of every division, one apart."""
    sides = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]])
    differences = [point[f"weight_difference_{j}"] for j in (1, 2, 3)]
    return point["weight"] + (sides - sides.mean(axis=0)) @ np.array(differences)


def point_of(model, n_weights, of_group):
    rng = np.random.default_rng(4)
    point = {
        name: rng.normal(0, 0.2, n_weights)
        for name in ("weight", *map("weight_difference_{}".format, (1, 2, 3)))
    }
    own = {name: {key: f(rng) for key, f in of_group.items()} for name in NAMES.values()}
    for name, values in own.items():
        point |= {key.replace("GROUP", name): value for key, value in values.items()}
    assert set(point) == set(model.initial_point())
    return point, own


def test_three_groups_of_answers_without_an_order():
    table = pd.concat([COLOURS] * 6, ignore_index=True).assign(place=THREE)
    model = pmrf.network_model(table, kind="nominal", groups="place", likelihood="exact")
    assert list(model.coords["group"]) == list(NAMES)
    assert model.named_vars_to_dims["weight_n_a"] == ("entry",)
    blocks = pmrf.fields.table_sizes(pmrf.graphs.complete(3), [3, 2, 3])
    assert model["weight_difference_2"].owner.op.blocks == tuple(blocks)
    point, own = point_of(model, blocks.sum(), {"bias_GROUP": lambda rng: rng.normal(size=(3, 3))})
    found = logp(model, [f"x_{name}" for name in NAMES.values()], **point)
    expected = 0.0
    codes = np.column_stack([pd.Categorical(table[c]).codes for c in ("eyes", "hair", "code")])
    for (label, name), w in zip(NAMES.items(), weights_by_hand(point), strict=True):
        options = {"graph": pmrf.graphs.complete(3), "n_states": [3, 2, 3], "likelihood": "exact"}
        field = pmrf.NominalMRF.dist(w, own[name]["bias_GROUP"], **options, size=12)
        expected += pm.logp(field, codes[THREE == label]).eval().sum()
    np.testing.assert_allclose(found, expected)


def test_three_groups_of_columns_of_several_kinds():
    table = pd.concat([MIXED] * 2, ignore_index=True).iloc[:36].assign(place=THREE)
    kinds = pmrf.column_kinds(table.drop(columns="place"), SAID)
    model = pmrf.network_model(table, kind=kinds, groups="place", likelihood="exact")
    graph = pmrf.graphs.complete(kinds.names)
    of_group = {
        "bias_GROUP": lambda rng: rng.normal(size=(len(kinds.answers), max(kinds.n_states))),
        "diagonal_GROUP_log__": lambda rng: rng.normal(0, 0.1, len(kinds.measurements)),
        "mean_GROUP_standardised__": lambda rng: rng.normal(size=len(kinds.measurements)),
    }  # fmt: skip
    blocks = kinds.block_sizes(graph)
    point, own = point_of(model, blocks.sum(), of_group)
    found = logp(model, [f"x_{name}" for name in NAMES.values()], **point)
    rows, expected = kinds.encode(table.drop(columns="place")).to_numpy(), 0.0
    for (label, name), w in zip(NAMES.items(), weights_by_hand(point), strict=True):
        values = own[name]
        mean, sd = (model[f"column_{of}"].get_value() for of in ("mean", "sd"))
        field = pmrf.MixedMRF.dist(
            w, values["bias_GROUP"], np.exp(values["diagonal_GROUP_log__"]),
            mean + sd * values["mean_GROUP_standardised__"],
            graph=graph, kinds=kinds, scale=sd, likelihood="exact", size=12,
        )  # fmt: skip
        expected += pm.logp(field, rows[THREE == label]).eval().sum()
    np.testing.assert_allclose(found, expected)
    by_vector = pmrf.network_model(table, kind=kinds, groups=THREE.to_numpy(), likelihood="exact")
    np.testing.assert_allclose(logp(by_vector, ["x_a_b"], **point), logp(model, ["x_a_b"], **point))


def test_infinite_and_constant_columns_of_several_kinds():
    kinds = pmrf.column_kinds(MIXED, SAID)
    for table, message in (
        (MIXED.assign(age=np.inf), "table has inf in row 0 of 'age'"),
        (MIXED.assign(time=1.5), "table: 'time' is 1.5 in all rows"),
    ):
        with pytest.raises(ValueError, match=message):
            pmrf.network_model(table, kind=kinds)


@pytest.mark.parametrize("make", [pd.DataFrame, lambda table: table.to_numpy()])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(age=np.nan), "holds no values: drop it"),
        (lambda t: t.assign(age=t.age.where(t.index == 0)), "has one value, "),
        (lambda t: t.assign(age=3.0), "is 3 in all rows"),
        (lambda t: t[:1], "table has one row, which tells no precision"),
    ],
)
def test_measurements_without_spread_are_refused(make, change, message):
    with pytest.raises(ValueError, match=message):
        pmrf.network_model(make(change(TABLE)), kind="continuous")


def test_empty_items_are_left_out_by_name():
    items = pd.DataFrame(RNG.integers(3, size=(30, 3)), columns=list("abc")).assign(d=np.nan)
    for kind in ("ordinal", "nominal"):
        with pytest.warns(UserWarning, match="left out as no items: 'd' [(]no values: drop it"):
            assert pmrf.network_model(items, kind=kind).coords["node"] == ("a", "b", "c")


def test_shares_are_warned_of():
    shares = pd.DataFrame(RNG.dirichlet([2, 3, 4], 60), columns=["work", "home", "sleep"])
    with pytest.warns(UserWarning, match="x: sleep is a sum of multiples of work and home, up to"):
        pmrf.network_model(shares, kind="continuous")
    pmrf.network_model(shares[["work", "home"]], kind="continuous")
