"""The standard model: its columns, names and density, beside the same model written by hand."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytest
import xarray as xr
from pymc.exceptions import ImputationWarning

import pymc_mrf as pmrf

ANSWERS = ["never", "sometimes", "often"]
X = np.array([[0, 1, 2], [2, 0, 1], [1, 1, 0], [0, 2, 2], [2, 2, 1], [1, 0, 0]])
BITS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1]])


def frame(x, names=("sleep", "mood", "worry")):
    return pd.DataFrame(x, columns=list(names))


def logp(model, **values):
    """Log density of a model at constrained values of its free variables."""
    return float(model.compile_logp(model.basic_RVs)(values))


def test_names_and_density_of_ordinal_items(rng):
    model = pmrf.network_model(frame(X))
    assert dict(model.coords) == {
        "node": ("sleep", "mood", "worry"),
        "edge": ("sleep--mood", "sleep--worry", "mood--worry"),
        "state": (1, 2),
        "row": tuple(range(6)),
    }
    assert model.named_vars_to_dims["x"] == ("row", "node")
    with pm.Model() as by_hand:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Cauchy.dist(0, 2), shape=3)
        threshold = pm.Normal("threshold", 0, 3, shape=(3, 2))
        pmrf.OrdinalMRF(
            "x",
            weight,
            threshold,
            graph=pmrf.graphs.complete(3),
            n_states=3,
            scores=[-1, 0, 1],
            observed=X,
        )
    point = {"weight": np.array([0.3, 0.0, -0.7]), "threshold": rng.normal(size=(3, 2))}
    expected = logp(by_hand, **point)
    assert np.isclose(logp(model, **point), expected, rtol=1e-12)
    # scores from 0 are another model at the same thresholds
    other = pmrf.network_model(frame(X), slab=pm.Cauchy.dist(0, 1))
    assert not np.isclose(logp(other, **point), expected)


def test_density_of_binary_items(rng):
    model = pmrf.network_model(BITS)
    assert model.coords["node"] == (0, 1, 2) and "state" not in model.coords
    with pm.Model() as by_hand:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Cauchy.dist(0, 2), shape=3)
        bias = pm.Normal("bias", 0, 3, shape=3)
        pmrf.BoltzmannMachine("x", weight, bias, graph=pmrf.graphs.complete(3), observed=BITS)
    point = {"weight": np.array([0.3, 0.0, -0.7]), "bias": rng.normal(size=3)}
    assert np.isclose(logp(model, **point), logp(by_hand, **point), rtol=1e-12)


def test_terms_of_blume_and_capel(rng):
    model = pmrf.network_model(frame(X), kind="blume-capel")
    ordinal = pmrf.network_model(frame(X))
    linear, quadratic = rng.normal(size=(2, 3))
    # about the middle state, 1: from state 0 to 1 the square falls by one, from 0 to 2 it is the same
    threshold = np.column_stack([linear - quadratic, 2 * linear])
    terms = model.compile_logp(model.observed_RVs)
    free = ordinal.compile_logp(ordinal.observed_RVs)
    w = np.array([0.5, -0.2, 0.0])
    found = terms({"weight": w, "linear": linear, "quadratic": quadratic})
    assert np.isclose(found, free({"weight": w, "threshold": threshold}), rtol=1e-12)


def test_two_groups_have_the_weights_less_and_more_half_the_difference(rng):
    table = frame(np.concatenate([X, X[::-1, ::-1]]))
    table["shift"] = ["yes", "no"] * 6
    model = pmrf.network_model(table, groups="shift")
    assert [rv.name for rv in model.free_RVs] == [
        "weight",
        "weight_difference_1",
        "threshold_no",
        "threshold_yes",
    ]
    weight, delta = np.array([0.4, 0.0, -0.3]), np.array([0.0, 0.6, 0.2])
    b = {name: rng.normal(size=(3, 2)) for name in ("threshold_no", "threshold_yes")}
    found = model.compile_logp(model.observed_RVs)({"weight": weight, "weight_difference_1": delta, **b})
    expected = 0.0
    for name, w in (("no", weight - 0.5 * delta), ("yes", weight + 0.5 * delta)):
        alone = pmrf.network_model(table.loc[table["shift"] == name, ["sleep", "mood", "worry"]])
        values = {"weight": w, "threshold": b[f"threshold_{name}"]}
        expected += alone.compile_logp(alone.observed_RVs)(values)
    assert np.isclose(found, expected, rtol=1e-12)
    by_vector = pmrf.network_model(table.drop(columns="shift"), groups=table["shift"].to_numpy())
    assert [rv.name for rv in by_vector.observed_RVs] == ["x_no", "x_yes"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["a", "b", "c"], ["a", "b", "c"]),
        (["urban/rural", "n/a", ""], ["group", "n_a", "urban_rural"]),
        ([2.0, 1.0, 10.0], ["1", "2", "10"]),
        ([True, False, "x"], ["False", "True", "x"]),
        (pd.to_datetime(["2021-05-01", "2020-05-01", "2022-05-01"]), None),
        (pd.Categorical(["low", "mid", "high"]), ["high", "low", "mid"]),
    ],
)
def test_labels_of_three_groups_are_data(labels, names):
    table = frame(np.tile(X, (3, 1)))
    column = pd.Series(labels).repeat(6).reset_index(drop=True)
    names = names or [f"{year}_05_01_00_00_00" for year in (2020, 2021, 2022)]
    for model in (
        pmrf.network_model(table, groups=column),
        pmrf.network_model(table.assign(group=column), groups="group"),
    ):
        assert [rv.name for rv in model.observed_RVs] == [f"x_{name}" for name in names]
        assert {f"weight_{name}" for name in names} <= set(model.named_vars)
        assert {f"weight_difference_{k}" for k in (1, 2, 3)} <= set(model.named_vars)
        assert len(model.coords["group"]) == 3


def test_names_of_groups_do_not_matter(rng):
    """The same rows under other labels, in another order, have the same weights with the same probability."""
    table = frame(np.tile(X, (3, 1)))
    codes, renamed = np.repeat([0, 1, 2], 6), np.array(["b", "c", "a"])
    first = pmrf.network_model(table, groups=codes)
    other = pmrf.network_model(table, groups=renamed[codes])
    # the class of 1 and 2 is apart from 0 by division 3 of the first; 0 is "b", alone on a side by division 1
    assert first["weight_contrasts"].get_value()[:, 2].round(2).tolist() == [-0.67, 0.33, 0.33]
    assert other["weight_contrasts"].get_value()[:, 0].round(2).tolist() == [-0.33, 0.67, -0.33]
    w, delta = rng.normal(size=3), np.array([0.4, 0.0, -0.2])
    threshold = rng.normal(size=(3, 3, 2))
    zero = np.zeros(3)
    point = {
        "weight": w,
        "weight_difference_1": zero,
        "weight_difference_2": zero,
        "weight_difference_3": delta,
    }
    point |= {f"threshold_{k}": threshold[k] for k in range(3)}
    same = {
        "weight": w,
        "weight_difference_1": -delta,
        "weight_difference_2": zero,
        "weight_difference_3": zero,
    }
    same |= {f"threshold_{renamed[k]}": threshold[k] for k in range(3)}
    np.testing.assert_allclose(first.compile_logp()(point), other.compile_logp()(same))


def test_communities(rng):
    given = {"sleep": "body", "mood": "mind", "worry": "mind"}
    model = pmrf.network_model(frame(X), communities=given)
    p = {"p_within": 0.8, "p_between": 0.1}
    w, b = np.array([1.0, 0.0, 1.0]), np.zeros((3, 2))
    drawn = model.compile_logp([model["weight"]])(
        {"weight": w, "threshold": b, **{f"{k}_logodds__": np.log(v / (1 - v)) for k, v in p.items()}}
    )
    slab = -np.log(np.pi * 2.0 * 1.25)
    # sleep--mood and sleep--worry are between, mood--worry within
    assert np.isclose(drawn, np.log(0.1) + np.log(0.9) + np.log(0.8) + 2 * slab)
    learnt = pmrf.network_model(frame(X), communities="learn")
    assert learnt.named_vars_to_dims["community"] == ("node",)


def test_prior_inclusion_may_be_a_distribution():
    model = pmrf.network_model(BITS, prior_inclusion=pm.Beta.dist(1, 1))
    assert [rv.name for rv in model.free_RVs] == ["p", "weight", "bias"]


def test_what_is_no_item_is_named_once_and_codes_from_1_are_counted_from_0():
    table = frame(X + 1).assign(
        person=[f"p{k}" for k in range(6)],
        height=[1.5, 1.7, 1.8, 1.6, 1.7, 1.9],
        wave=1,
        day=pd.Timestamp("2020-01-01"),
        where=pd.Categorical(list("abcabc")),
        empty=np.nan,
    )
    with pytest.warns(UserWarning) as caught:
        model = pmrf.network_model(table)
    (said,) = [str(w.message) for w in caught]
    for name in ("person", "height", "wave", "day", "where", "empty"):
        assert f"{name!r} (" in said
    assert "codes that start at 1 are counted from 0" in said
    assert model.coords["node"] == ("sleep", "mood", "worry") and model.coords["state"] == (2, 3)
    np.testing.assert_array_equal(model.rvs_to_values[model["x"]].data, X)
    for name, why in (
        ("person", "text"),
        ("height", "not whole"),
        ("wave", "same value"),
        ("day", "Time"),
    ):
        with pytest.raises(ValueError, match=rf"column '{name}' is no item.*{why}"):
            pmrf.network_model(table, columns=["sleep", "mood", name])
    many = pd.DataFrame(np.tile(X, (5, 1)), columns=list("abc")).assign(id=range(30))
    with pytest.warns(UserWarning, match=r"'id' \(a number of its own in every row: drop it, or"):
        assert pmrf.network_model(many).coords["node"] == ("a", "b", "c")


def test_items_with_fewer_answers_have_scores_of_their_own():
    table = frame(X).assign(smokes=[True, False, True, True, False, False])
    model = pmrf.network_model(table)
    op = model["x"].owner.op
    assert [len(s) for s in op.family.node_states(4)] == [3, 3, 3, 2]
    with pytest.raises(
        ValueError, match="column 'sleep' is binary, but has 3 answers: say another kind"
    ):
        pmrf.network_model(table, kind="binary")
    with pytest.warns(UserWarning, match="no observation in some states: 3 of sleep"):
        assert pmrf.network_model(table, n_states=4).coords["state"] == (1, 2, 3)
    with pytest.raises(ValueError, match=r"n_states of 'sleep' is 2"):
        pmrf.network_model(table, n_states=2)


@pytest.mark.filterwarnings("ignore:table. codes that start at 1:UserWarning")
@pytest.mark.parametrize("is_mixed", [False, True])
def test_answers_that_nobody_gave_are_called_as_in_the_table(is_mixed):
    said = {item: "ordinal" for item in "abc"}
    coded = pd.DataFrame(np.random.default_rng(1).integers(1, 4, size=(30, 3)), columns=list(said))
    coded["b"] = coded["b"].replace(2, 4)
    words = pd.Categorical(["no", "yes"] * 15, ["no", "perhaps", "yes"], ordered=True)
    for table, unseen in (
        (coded, "2 of b"),
        (coded[["a"]].assign(b=words, c=coded["b"] > 1), "perhaps of b"),
    ):
        kind = pmrf.column_kinds(table, said) if is_mixed else "auto"
        with pytest.warns(UserWarning, match=f"in some states: .*{unseen}"):
            pmrf.network_model(table, kind=kind)


@pytest.mark.parametrize("library", ["pandas", "polars", "xarray"])
def test_tables_of_all_libraries_with_missing_cells(library):
    x = X.astype(float)
    x[1, 2] = np.nan
    names = ["sleep", "mood", "worry"]
    table = {
        "pandas": lambda: frame(x),
        "polars": lambda: pl.DataFrame(x, schema=names),
        "xarray": lambda: xr.DataArray(x, dims=("row", "item"), coords={"item": names}),
    }[library]()
    with pytest.warns(ImputationWarning, match="1 of 18 cells"):
        model = pmrf.network_model(table)
    assert "x_unobserved" in model.named_vars and model.coords["node"] == tuple(names)


def test_ordered_categories_name_the_states():
    codes = {
        name: pd.Categorical.from_codes(column, ANSWERS, ordered=True)
        for name, column in frame(X).items()
    }
    model = pmrf.network_model(pd.DataFrame(codes))
    assert model.coords["state"] == ("sometimes", "often")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sleep": [-9, 1, 2, 0, 1, 2]}, r"'sleep' has the code -9: replace it"),
        (
            {"sleep": [99, 1, 2, 0, 1, 2]},
            r"'sleep' has the value 99 in 1 rows .* from 0 to 2: replace it",
        ),
        ({"sleep": [1, 1, 2, 1, 1, 2]}, r"codes of 'sleep' start at 1, those of other items at 0"),
        (
            {"sleep": [3, 4, 4, 3, 3, 5], "mood": [2, 3, 2, 3, 2, 2], "worry": [2, 3, 2, 3, 2, 2]},
            "is 2, of",
        ),
    ],
)
def test_codes_that_cannot_be_read_are_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        pmrf.network_model(frame(X).assign(**change))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["sleep", "mud"]}, "no column 'mud'"),
        ({"columns": ["sleep", "sleep"]}, "twice"),
        ({"columns": ["sleep"]}, "1 columns that are items"),
        ({"groups": [1] * 6}, "groups has 1 different values"),
        ({"groups": "place"}, "groups must be the name of a column"),
        ({"groups": [0, 1]}, "groups has 2 entries, but the table 6 rows"),
        ({"groups": [0, 0, 0, 1, np.nan, 1]}, "groups has no value in row 4"),
        ({"groups": ["a", None, "a", "b", "b", "b"]}, "groups has no value in row 1"),
        ({"groups": pd.Series([0, 0, 0, 1, 1, 1], index=range(5, -1, -1))}, "labelled otherwise"),
        ({"communities": {"sleep": 1}}, "no entry for item 'mood'"),
        ({"communities": "learn", "prior_inclusion": 0.2}, "no meaning beside communities"),
        ({"kind": "gaussian"}, "kind must be one of"),
        ({"n_states": [3, 3]}, "n_states has 2 numbers, but there are 3 items"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        pmrf.network_model(frame(X), **options)
    with pytest.raises(TypeError, match="communities must be a dictionary"):
        pmrf.network_model(frame(X), communities=3)


@pytest.mark.compiled
def test_it_is_sampled_as_it_is(rng):
    x = rng.integers(0, 2, (200, 3))
    x[:, 1] = np.where(rng.random(200) < 0.9, x[:, 0], x[:, 1])
    with pmrf.network_model(x), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        idata = pm.sample(
            100, tune=50, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    present = (idata.posterior["weight"] != 0.0).mean(("chain", "draw"))
    assert present.sel(edge="0--1") == 1.0 and present.sel(edge="0--2") < 0.6


DAYS = pd.date_range("2026-01-01", periods=6)


@pytest.mark.parametrize(
    ("told", "when"),
    [
        (lambda table: table.set_axis(DAYS), "the labels of the rows increase"),
        (lambda table: table.assign(at=DAYS), "column 'at' increases"),
        (lambda table: table.assign(at=[*DAYS[:3], *DAYS[:3]]), "column 'at' increases"),
        (lambda table: table.assign(Day=[0, 1, 2, 0, 1, 2]), "column 'Day' increases"),
    ],
)
def test_a_diary_is_told_of_arrows(told, when):
    with pytest.warns(UserWarning) as warned:
        pmrf.network_model(told(frame(X)))
    [message] = [str(w.message) for w in warned if "diary" in str(w.message)]
    assert when in message and "pymc_mrf.KineticMRF" in message


@pytest.mark.parametrize(
    "told",
    [
        lambda table: table.set_axis([0, 1, 2, 0, 1, 2]),  # of tables that were put together
        lambda table: table.assign(at=DAYS[[3, 0, 5, 1, 4, 2]]),
        lambda table: table.assign(at=DAYS[[0, 0, 1, 1, 2, 2]]),
        lambda table: table.assign(day=[0, 1, 0, 2, 1, 0]),
        lambda table: table.assign(index=range(6)),
        lambda table: table.assign(at=[*DAYS.date[:5], "later"]),
    ],
)
def test_other_tables_are_not_told_of_arrows(told):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        pmrf.network_model(told(frame(X)))
    assert not [w for w in warned if "diary" in str(w.message)]
