"""Kinds of columns, read from tables of every library or given, and the tables that fields read by them."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf

N = 6
FRAME = pd.DataFrame(
    {
        "age": [31.5, 40.25, 22.0, 60.5, 18.0, 45.0],
        "works": [True, False, True, True, False, False],
        "trust": pd.Categorical(
            ["low", "high", "low", "middle", "high", "low"],
            categories=["low", "middle", "high"],
            ordered=True,
        ),
        "party": pd.Categorical(["red", "blue", "green", "red", "blue", "red"]),
        "items": [0, 2, 1, 2, 0, 1],
    }
)
STATES = np.array([[0, 1, 0], [2, 0, 2], [0, 1, 1], [1, 1, 2], [2, 0, 0], [0, 0, 1]], dtype=float)


def test_pandas():
    kinds = pmrf.column_kinds(FRAME, {"items": "ordinal"})
    assert kinds.names == ("age", "works", "trust", "party", "items")
    assert kinds.kinds == ("continuous", "ordinal", "ordinal", "nominal", "ordinal")
    assert kinds.n_states == (0, 2, 3, 3, 3)
    assert kinds.labels[1:4] == (("False", "True"), ("low", "middle", "high"), ("blue", "green", "red"))
    answers = kinds.read(FRAME, "x")
    np.testing.assert_array_equal(answers.values[:, 2], [0, 2, 0, 1, 2, 0])
    np.testing.assert_array_equal(answers.values[:, 3], [2, 0, 1, 2, 0, 2])
    np.testing.assert_array_equal(answers.values[:, [0, 4]], FRAME[["age", "items"]])
    # columns are found by name, in any order, or by other names
    np.testing.assert_array_equal(kinds.read(FRAME.iloc[:, ::-1], "x").values, answers.values)
    other = FRAME.rename(columns=str.upper).iloc[:, ::-1]
    found = kinds.read(other, "x", [name.upper() for name in kinds.names])
    np.testing.assert_array_equal(found.values, answers.values)


def test_missing_cells():
    table = FRAME.astype({"works": "boolean", "items": "Int64"})
    for k, name in enumerate(table):
        table.loc[k, name] = None
    kinds = pmrf.column_kinds(table, {"items": "nominal"})
    assert kinds.kinds == ("continuous", "ordinal", "ordinal", "nominal", "nominal")
    assert kinds.n_states == (0, 2, 3, 3, 3)
    answers = kinds.read(table, "x")
    np.testing.assert_array_equal(answers.is_missing, np.eye(6, 5, dtype=bool))
    whole = kinds.read(FRAME, "x")
    seen = ~answers.is_missing
    np.testing.assert_array_equal(answers.values[seen], whole.values[seen])


def polars_table():
    return pl.DataFrame(
        {
            "age": FRAME["age"].to_list(),
            "works": FRAME["works"].to_list(),
            "trust": pl.Series(FRAME["trust"].to_list(), dtype=pl.Enum(["low", "middle", "high"])),
            "party": pl.Series(FRAME["party"].to_list(), dtype=pl.Categorical),
            "items": FRAME["items"].to_list(),
        }
    )


TABLES = {"polars": polars_table, "pyarrow": lambda: pa.Table.from_pandas(FRAME)}


@pytest.mark.parametrize("library", list(TABLES))
def test_other_libraries(library):
    table, expected = TABLES[library](), pmrf.column_kinds(FRAME, {"items": "ordinal"})
    kinds = pmrf.column_kinds(table, {"items": "ordinal"})
    assert (kinds.names, kinds.kinds, kinds.n_states, kinds.labels) == (
        expected.names, expected.kinds, expected.n_states, expected.labels,
    )  # fmt: skip
    values = kinds.read(table, "x").values
    np.testing.assert_array_equal(values, expected.read(FRAME, "x").values)


def test_arrays():
    x = np.column_stack([FRAME["age"], FRAME["items"]])
    array = xr.DataArray(x, dims=("row", "item"), coords={"item": ["age", "items"]})
    for table, names in ((array, ("age", "items")), (x, (0, 1))):
        kinds = pmrf.column_kinds(table, ["continuous", "nominal"])
        assert (kinds.names, kinds.n_states, kinds.labels) == (names, (0, 3), ((), ()))
    gaps = x.copy()
    gaps[0] = np.nan
    for table in (gaps, np.ma.masked_invalid(gaps)):
        assert pmrf.column_kinds(table, {1: "ordinal"}).kinds == ("continuous", "ordinal")


def test_further_rows_with_codes_of_missing_values():
    """They are refused where the first rows would be with them: also a single one, and in arrays."""
    kinds = pmrf.column_kinds(pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": [0.5, 98.5, 0.0]}))
    assert kinds.ends == ((1.5, 3.5), (0.0, 98.5))
    rows = pd.DataFrame({"a": [1.5, -999.0, 2.5], "b": [99.0, 0.5, 1.0]})
    for data in (rows, rows.to_numpy(), rows.iloc[[1]]):
        with pytest.raises(
            ValueError, match=r"x: column 'a' has the value -999 .* from 1.5 to 3.5.*0.001"
        ):
            kinds.read_rows(data, "x")
    with pytest.raises(ValueError, match="column 'a' has the value -999"):
        kinds.encode(rows.iloc[[1]])
    seen = rows.iloc[[0, 2]]
    np.testing.assert_array_equal(kinds.read_rows(seen, "x").values, seen)  # 99 is next to 98.5
    measured = rows.replace(-999.0, -998.999)
    np.testing.assert_array_equal(kinds.read_rows(measured, "x").values, measured)
    unknown = kinds.of_states()
    with pytest.warns(UserWarning, match=r"x: column 'a' has the value -999 .* replace it"):
        unknown.read_rows(rows.assign(b=1.0), "x")
    found = unknown.with_ends(np.ma.masked_equal([[1.0, 5.0], [2.0, -9.0], [0.0, 6.0]], -9.0))
    assert found.ends == ((0.0, 2.0), (5.0, 6.0)) and kinds.with_ends(rows.to_numpy()).ends == kinds.ends


def test_objects_are_read_by_their_values():
    table = pd.DataFrame({"a": [1.5, None, 2.5], "b": [0, 1, None]}, dtype=object)
    kinds = pmrf.column_kinds(table, {"b": "ordinal"})
    assert kinds.kinds == ("continuous", "ordinal") and kinds.n_states == (0, 2)


def test_features_blocks_and_labels():
    kinds = pmrf.column_kinds(FRAME, {"items": "ordinal"})
    graph = pmrf.PairwiseGraph(
        kinds.names,
        [("age", "works"), ("party", "items"), ("age", "party"), ("works", "items"), ("trust", "party")],
    )
    np.testing.assert_array_equal(kinds.block_sizes(graph), [1, 2, 2, 1, 2])
    np.testing.assert_array_equal(kinds.edge_kinds(graph), [1, 0, 1, 0, 0])
    coords = kinds.coords(graph)
    assert coords["entry"][:3] == ["age--works", "party--items[1,1]", "party--items[2,1]"]
    assert coords["answer"] == ["works", "trust", "party", "items"] and coords["measurement"] == ["age"]
    with pytest.raises(
        ValueError, match=r"the columns are 'age'.*make it with the names of the columns"
    ):
        kinds.block_sizes(pmrf.graphs.complete(5))


def column(values):
    return pd.DataFrame({"x": values, "y": np.linspace(0, 1, len(values))})


DAYS = pd.date_range("2020-01-01", periods=3)
BAD = {
    "text": (column(["a", "b", "a"]), None, "column 'x' holds text, such as 'a'"),
    "dates": (column(DAYS), None, "column 'x' holds dates, such as 2020-01-01 00:00:00: make them numbers"),
    "durations": (column(DAYS - DAYS[0]), None, "column 'x' holds durations"),
    "whole": (column([1, 2, 3]), None, "column 'x' holds whole numbers, which may be measurements or answ"),
    "whole floats": (column([1.0, 2.0, np.nan]), None, 'as in kinds=dict.fromkeys([\'x\'], "ordinal")'),
    "kind": (column([1, 2, 3]), {"x": "count"}, "kinds['x'] must be one of \"continuous\", \"ordinal\""),
    "no column": (column([1, 2, 3]), {"z": "ordinal"}, "kinds names 'z', but the table has no such col"),
    "length": (column([1, 2, 3]), ["ordinal"], "one entry for each of the 2 columns"),
    "string": (column([1, 2, 3]), "ordinal", "kinds must be a mapping, or a sequence"),
    "negative": (column([-1, 2, 3]), {"x": "ordinal"}, "column 'x' has the code -1: replace it"),
    "halves": (column([0.5, 1, 2]), {"x": "nominal"}, "'x' holds numbers that are not whole, such as 0.5"),
    "one state": (column([0, 0, 0]), {"x": "ordinal"}, "column 'x' holds the same value, 0, in every row"),
    "nothing": (column([np.nan] * 3), None, "column 'x' holds no values: drop it"),
    "truth": (column([True, False, True]), {"x": "continuous"}, "column 'x' holds truth values"),
    "unordered": (
        column(pd.Categorical(["a", "b", "a"])), {"x": "ordinal"},
        "column 'x' holds categories without an order, such as 'a': order them as the answers",
    ),
    "measured": (column(pd.Categorical(["a", "b", "a"])), {"x": "continuous"}, "column 'x' holds categories"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_bad_tables(name):
    table, kinds, message = BAD[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        pmrf.column_kinds(table, kinds)


def test_two_columns_of_one_name():
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(3, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns 'a': drop or rename one of them"):
        pmrf.column_kinds(table)


def test_kinds_by_hand():
    with pytest.raises(ValueError, match="one entry for each column, but have 2, 1 and 1"):
        pmrf.fields.ColumnKinds(("a", "b"), ("ordinal",), (2,))
    with pytest.raises(ValueError, match=r"kind of column 'a' must be .*, not 'binary'"):
        pmrf.fields.ColumnKinds(("a",), ("binary",), (2,))
    with pytest.raises(
        ValueError, match="column 'a' is continuous and has no states, but n_states is 2"
    ):
        pmrf.fields.ColumnKinds(("a",), ("continuous",), (2,))
    with pytest.raises(ValueError, match="n_states of column 'a' must be between 2 and 127, not 1"):
        pmrf.fields.ColumnKinds(("a",), ("nominal",), (1,))
    with pytest.raises(ValueError, match="two columns 'a'"):
        pmrf.fields.ColumnKinds(("a", "a"), ("nominal", "nominal"), (2, 2))


def test_categories_that_the_kinds_do_not_know():
    kinds = pmrf.column_kinds(FRAME, {"items": "ordinal"})
    other = FRAME.assign(party=FRAME["party"].cat.rename_categories({"green": "pink"}))
    with pytest.raises(ValueError, match="column 'party' has the answer 'pink', which is none of those"):
        kinds.read(other, "x: observed")


def test_numbers_of_states_that_are_told():
    """States that nobody has given are states; later tables need not have them all."""
    kinds = pmrf.column_kinds(FRAME, {"items": "ordinal"}, n_states={"items": 5, "party": 3})
    assert kinds.n_states == (0, 2, 3, 3, 5)
    assert kinds.encode(FRAME.assign(items=0))["items"].eq(0).all()
    for n_states, error, message in (
        (
            {"items": 2},
            ValueError,
            r"n_states of 'items' is 2, but its answers need .* at least 3",
        ),
        (
            {"trust": 4},
            ValueError,
            r"n_states of 'trust' is 4, but the column has 3 answers: name",
        ),
        ({"age": 4}, ValueError, r"column 'age' is continuous, but n_states is 4: leave it out"),
        ({"item": 4}, ValueError, "n_states names 'item', but the table has no such column"),
        ({"items": 1}, ValueError, r"n_states\['items'\] must be between 2 and 127, not 1"),
        ([0, 2, 3, 3, 5], TypeError, "n_states must be a mapping, numbers by the names of columns"),
    ):
        with pytest.raises(error, match=message):
            pmrf.column_kinds(FRAME, {"items": "ordinal"}, n_states=n_states)


def test_a_state_beyond_the_kinds_tells_how_to_say_so():
    kinds = pmrf.column_kinds(FRAME, {"items": "ordinal"})
    graph, other = pmrf.graphs.complete(kinds.names), FRAME.assign(items=3)
    message = r"pymc_mrf.column_kinds\(..., n_states=\{'items': ...\}\)"
    with pm.Model(), pytest.raises(ValueError, match=message):
        pmrf.MixedMRF("x", 0.0, 0.0, 1.0, graph=graph, kinds=kinds, observed=other)


def test_mixed_rows_are_not_advised_to_be_incomplete():
    kinds = pmrf.fields.ColumnKinds(("a", "b"), ("ordinal", "continuous"), (2, 0))
    with pytest.raises(ValueError, match=r"rows lacks 'b', columns of the table .*: add them$"):
        kinds.read_rows(pd.DataFrame({"a": [0, 1]}), "rows")
