"""Columns of data and graphs of them."""

import numpy as np
import pandas as pd
import pytest

from pymc_mrf.estimation.columns import graph_of_columns, read_columns


def test_columns_and_their_labels():
    x, labels = read_columns([[0, 1], [1, 1]], None, 2)
    assert x.shape == (2, 2) and labels == [0, 1]
    assert read_columns([[0, 1], [1, 0]], "ab", 1)[1] == ["a", "b"]
    for bad, message in [
        ([[0], [1]], "at least two observations by at least 2 nodes"),
        ([0, 1], "at least 2 nodes"),
        ([[0, 1]], "at least two observations"),
        (np.zeros((0, 3)), "at least two observations"),
        (pd.DataFrame({"a": [0, 1], "b": [np.nan, 1]}), "column 'b' has no value in 1 rows"),
        (np.ma.masked_equal([[0, 1]], 1), "masked cells"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_columns(bad, None, 2)


def test_codes_of_missing_values():
    table = pd.DataFrame({"a": [0, 1, 99, 1], "b": [0, 1, 1, 0]})
    with pytest.raises(ValueError, match="x: column 'a' has the value 99 in 1 rows"):
        read_columns(table, None, 2)
    assert read_columns(table.replace(99, 2), None, 2)[0].max() == 2


def test_graph_of_columns():
    values = np.array([[0.0, 0.5, 2.0], [0.5, 0.0, 1.0], [2.0, 1.0, 0.0]])
    graph = graph_of_columns(["b", "a", "c"], [(0, 2), (1, 2)], values, "strength")
    assert list(graph) == ["b", "a", "c"]
    assert list(graph.edges(data="strength")) == [("b", "c", 2.0), ("a", "c", 1.0)]
