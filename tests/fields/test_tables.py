"""Tables of answers in every library, against the array that they were made from."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal
from pymc_mrf.fields.tables import read_answers
from pymc_mrf.graph.structure import PairwiseGraph

NODES = ["a", "b", "c"]
GRAPH = PairwiseGraph(NODES, [("a", "b"), ("b", "c")])
X = np.array([[0, 1, 2], [1, 1, 0], [2, 0, 1], [0, 0, 1]])
MASK = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
ORDER = ["c", "a", "b"]
HOLES = np.where(MASK, np.nan, X)[:, [2, 0, 1]]
NULLS = pd.DataFrame(HOLES, columns=ORDER).astype("Int64")

TABLES = {
    "pandas": pd.DataFrame(HOLES, columns=ORDER),
    "pandas nullable": NULLS,
    "pandas objects": NULLS.astype(object).where(NULLS.notna(), None),
    "polars": pl.from_pandas(NULLS),
    "polars NaN": pl.DataFrame({c: HOLES[:, k] for k, c in enumerate(ORDER)}),
    "pyarrow": pa.Table.from_pandas(NULLS),
    "xarray objects": xr.DataArray(
        NULLS.astype(object).to_numpy(), dims=("row", "node"), coords={"node": ORDER}
    ),
    "xarray": xr.DataArray(HOLES, dims=("row", "node"), coords={"node": ORDER}),
}


@pytest.mark.parametrize("library", TABLES)
def test_columns_are_found_by_name_and_cells_without_values_are_missing(library):
    array, mask, coords = pmrf.fields.prepare(TABLES[library], GRAPH)
    assert array.dtype == np.int64
    np.testing.assert_array_equal(mask, MASK)
    np.testing.assert_array_equal(np.ma.getmaskarray(array), MASK)
    np.testing.assert_array_equal(array.data, np.where(MASK, 0, X))
    assert coords == {"node": NODES, "edge": ["a--b", "b--c"], "row": [0, 1, 2, 3]}


def test_arrays_with_missing_cells_do_not_pass_for_complete_ones():
    array = pmrf.fields.prepare(TABLES["xarray"], GRAPH).array
    with pm.Model(), pytest.raises(NotImplementedError, match="Masked arrays"):
        pm.Data("data", array)


def test_rows_keep_their_labels():
    df = pd.DataFrame(X, columns=NODES, index=["p", "q", "r", "s"])
    assert pmrf.fields.prepare(df, GRAPH).coords["row"] == ["p", "q", "r", "s"]


ANSWERS = ["no", "yes", None, "no"]
EXPECTED = [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("column", "states", "expected"),
    [
        (pd.Categorical(ANSWERS, categories=["no", "yes"], ordered=True), (0, 1), EXPECTED),
        (pd.Categorical(ANSWERS, categories=["no", "yes"], ordered=True), (-1, 1), [-1, 1, 0, -1]),
        (pd.Categorical(ANSWERS, categories=["yes", "no"], ordered=True), (0, 1), [1, 0, 0, 1]),
        (pl.Series(ANSWERS, dtype=pl.Enum(["no", "yes"])), (0, 1), EXPECTED),
        (pl.Series(["0", "1", None, "0"], dtype=pl.Categorical), (0, 1), EXPECTED),
        (pd.Categorical([3, 5, None, 3]), (3, 5), [3, 5, 0, 3]),
        ([False, True, None, False], (0, 1), EXPECTED),
        (pd.array([False, True, None, False], dtype="boolean"), (0, 1), EXPECTED),
        (pd.Categorical(["1", "2", "2", "1"], ["1", "2", "3+"], ordered=True), (0, 1, 2), [0, 1, 1, 0]),
        (pd.Categorical([True, False, None, True], [True, False], ordered=True), (0, 1), [0, 1, 0, 0]),
        (np.array([False, True, True, False]), (0, 1), [0, 1, 1, 0]),
    ],
)
def test_categories_and_truth_values_become_states(column, states, expected):
    make = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    answers = read_answers(make({"a": column}), ["a"], [states], "x")
    np.testing.assert_array_equal(answers.values[:, 0], expected)
    np.testing.assert_array_equal(answers.is_missing[:, 0], pd.isna(list(column)))


def test_categories_that_only_float_reads_are_no_numbers():
    for names in (["1_0", "2"], ["nan", "1"], ["infinity", "0"]):
        ordered = pd.DataFrame({"a": pd.Categorical(names, categories=names, ordered=True)})
        np.testing.assert_array_equal(read_answers(ordered, ["a"], [(0, 1)], "x").values[:, 0], [0, 1])


def test_infinite_answers_are_refused():
    table = pd.DataFrame(np.where(X == 2, np.inf, X), columns=NODES)
    with pytest.raises(ValueError, match="table: row 0 of 'c' is inf, but states are whole numbers"):
        pmrf.fields.prepare(table, GRAPH)


def test_ordered_categories_of_arrow_are_the_states_in_their_order():
    ordered = pd.DataFrame({"a": pd.Categorical(ANSWERS, categories=["yes", "no"], ordered=True)})
    answers = read_answers(pa.Table.from_pandas(ordered), ["a"], [(0, 1)], "x")
    np.testing.assert_array_equal(answers.values[:, 0], [1, 0, 0, 1])


def test_numbers_and_their_texts_are_the_same_name():
    df = pd.DataFrame(X, columns=["3", "1", "2"])
    array = pmrf.fields.prepare(df, PairwiseGraph([1, 2, 3], [(1, 2)])).array
    np.testing.assert_array_equal(array, X[:, [1, 2, 0]])


@pytest.mark.parametrize("table", [pd.DataFrame(X), pl.DataFrame(X)])
def test_numbered_columns_are_the_nodes_in_their_order(table):
    np.testing.assert_array_equal(pmrf.fields.prepare(table, GRAPH).array, X)


def test_numbers_of_columns_may_be_nodes():
    graph = PairwiseGraph([2, 0, 1], [(2, 0)])
    with pytest.raises(ValueError, match=r"columns 0, 1, .*, or the nodes in another order"):
        pmrf.fields.prepare(pd.DataFrame(X), graph)
    np.testing.assert_array_equal(
        pmrf.fields.prepare(pd.DataFrame(X), graph, columns=[2, 0, 1]).array, X[:, [2, 0, 1]]
    )
    with pytest.raises(ValueError, match="its rows are named like nodes: transpose it"):
        pmrf.fields.prepare(pd.DataFrame(X[:3], index=NODES), GRAPH)
    with pytest.raises(ValueError, match="its rows are named like nodes: transpose it"):
        pmrf.fields.prepare(xr.DataArray(X[:3], dims=("node", "row"), coords={"node": NODES}), GRAPH)


def test_named_columns_among_others():
    df = pd.DataFrame(np.c_[X, X], columns=[*"uvwxyz"])
    with pytest.raises(
        ValueError, match="table has no column 'a', which is a node of the graph, nor 2 o"
    ):
        pmrf.fields.prepare(df, GRAPH)
    np.testing.assert_array_equal(
        pmrf.fields.prepare(df, GRAPH, columns=["w", "u", "y"]).array, X[:, [2, 0, 1]]
    )


NAMED = pd.DataFrame(X, columns=NODES)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (
            NAMED.assign(age=3),
            {},
            r"columns that are no nodes of the graph \('age'\): drop them, or name",
        ),
        (NAMED.rename(columns=str.upper), {}, "has no column 'a'.*nor 2 others: rename 'A'"),
        (
            NAMED.rename(columns={"b": "B "}),
            {},
            "has no column 'b', which is a node of the graph: rename 'B '",
        ),
        (
            NAMED.iloc[:3].set_axis(NODES).set_axis([*"pqr"], axis=1),
            {},
            "its rows are named like nodes: tr",
        ),
        (pd.DataFrame(X, columns=[*"pqr"]), {}, r"graphs.complete\(df.columns\), name the columns"),
        (NAMED[["a", "b", "c", "a"]], {}, "has two columns 'a'"),
        (NAMED, {"columns": ["a", "b"]}, "one column for each of the 3 nodes"),
        (NAMED, {"columns": ["a", "b", "d"]}, "has no column 'd', which `columns` names"),
        (
            NAMED.assign(b=["u", "v", "w", "u"]),
            {},
            "column 'b' holds text, such as 'u': make it categorical",
        ),
        (NAMED.assign(b=pd.Categorical([*"uvwu"])), {}, "column 'b' has categories without an order"),
        (NAMED.assign(b=pd.date_range("2020", periods=4)), {}, "column 'b' must be numeric"),
        (NAMED.assign(b=0.5), {}, "row 0 of 'b' is 0.5, but states are whole numbers"),
    ],
)
def test_tables_that_are_refused(table, options, message):
    with pytest.raises(ValueError, match=message):
        pmrf.fields.prepare(table, GRAPH, **options)


def test_as_many_categories_as_states_are_needed():
    column = pd.Categorical([*"uvwu"], ordered=True)
    with pytest.raises(ValueError, match="has 3 categories, but its node has 2 states: give as many"):
        read_answers(pd.DataFrame({"a": column}), ["a"], [(0, 1)], "x")


def test_arrays_have_no_names():
    assert read_answers(X, NODES, [(0, 1, 2)] * 3, "x") is None
    with pytest.raises(TypeError, match=r"must be a data frame.*not ndarray"):
        pmrf.fields.prepare(X, GRAPH)
    with pytest.raises(ValueError, match=r"x is no table whose columns have names, so that columns="):
        read_answers(X, NODES, [(0, 1, 2)] * 3, "x", columns=NODES)


def test_complete_data_by_name():
    x = ordinal(3).encode_table(NAMED[ORDER], NODES)
    np.testing.assert_array_equal(x, X)
    with pytest.raises(ValueError, match="x has 2 missing cells; complete data are needed here"):
        ordinal(3).encode_table(TABLES["pandas"], NODES)
    np.testing.assert_array_equal(ISING.encode_table(2 * (NAMED > 0) - 1, NODES), X > 0)
    assert BOLTZMANN.node_states(2) == [(0, 1)] * 2 and ordinal([2, 3]).node_states(2) == [
        (0, 1),
        (0, 1, 2),
    ]


def test_complete_graph_of_columns():
    graph = pmrf.graphs.complete(NAMED.columns)
    assert graph.nodes == tuple(NODES) and graph.edge_labels == ("a--b", "a--c", "b--c")
    assert pmrf.graphs.complete(3).edge_labels == ("0--1", "0--2", "1--2")


def test_codes_of_missing_values_are_refused():
    table = pd.DataFrame({"a": [0, 1, -999, 1], "b": [0, 1, 1, 0]})
    graph = pmrf.graphs.complete(table.columns)
    with pytest.raises(
        ValueError, match=r"table: column 'a' has the value -999 in 1 rows .* replace it"
    ):
        pmrf.fields.prepare(table, graph)
    assert pmrf.fields.prepare(table.mask(table == -999), graph).mask.sum() == 1
