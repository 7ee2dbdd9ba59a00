"""Columns of tables of any library."""

import pandas as pd
import polars as pl
import pytest

from pymc_mrf.fields.table_columns import as_table, check_names, column_numbers, read_places

TABLES = {
    "pandas": pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", None]}),
    "polars": pl.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", None]}),
}


@pytest.mark.parametrize("library", TABLES)
def test_columns_by_place(library):
    table = as_table(TABLES[library])
    assert table.places(["b", "a"], "x") == [1, 0]
    assert table.column(0).present() == [1.0, 3.0] and table.column(1).present() == ["x", "y"]
    seen = []

    def numbers(column, i, label):
        seen.append((i, label))
        return column_numbers(column, None, "x")

    answers = read_places(table, [0, 0], numbers)
    assert seen == [(0, "a"), (1, "a")]
    assert answers.values.tolist() == [[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]]
    assert answers.is_missing.tolist() == [[False] * 2, [True] * 2, [False] * 2]
    assert as_table(table) is table
    with pytest.raises(ValueError, match="x has no column 'c', which `columns` names"):
        table.places(["a", "c"], "x")


def test_names_that_occur_twice():
    with pytest.raises(ValueError, match="x has two columns 'a': drop or rename one of them"):
        check_names(as_table(pd.DataFrame([[0, 1]], columns=["a", "a"])), "x")
