"""Cells of rows that are to be predicted, from arrays, masked arrays and tables."""

import numpy as np
import pandas as pd
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.cells import read_cells
from pymc_mrf.fields.column_kinds import kinds_of_measurements, kinds_of_states
from pymc_mrf.fields.families import ISING

NODES = ["a", "b"]
SIGNS = kinds_of_states(NODES, ISING)
NUMBERS = kinds_of_measurements(NODES)


@pytest.mark.parametrize(
    "data",
    [
        [[-1, 1], [1, np.nan]],
        np.ma.masked_array([[-1, 1], [1, -1]], [[0, 0], [0, 1]]),
        pd.DataFrame({"b": [1, np.nan], "a": [-1, 1]}),
    ],
)
def test_states(data):
    np.testing.assert_array_equal(read_cells(SIGNS, data).states, [[0, 1], [1, -1]])


def test_states_that_a_node_does_not_have():
    record = pmrf.fields.ColumnKinds(("a", "b"), ("ordinal", "ordinal"), (3, 2))
    assert read_cells(record, [[2, 1]]).states.tolist() == [[2, 1]]
    with pytest.raises(
        ValueError, match="data is 2 in row 0 of 'b', which is ordinal with the states 0"
    ):
        read_cells(record, [[2, 2]])
    with pytest.raises(
        ValueError, match="column 'b' has the answer 0, which is none of those of the table"
    ):
        read_cells(SIGNS, [[1, 0]])


def test_measurements():
    table = pd.DataFrame({"b": [0.5, np.nan], "a": [1.5, 2.0]})
    masked = np.ma.masked_invalid([[1.5, 0.5], [2.0, np.nan]])
    for data in (table, masked):
        measured = read_cells(NUMBERS, data).measured
        np.testing.assert_array_equal(measured, [[1.5, 0.5], [2.0, np.nan]])
    with pytest.raises(ValueError, match=r"data\[0, 1\] of node 'b' is inf"):
        read_cells(NUMBERS, [[0.0, np.inf]])


@pytest.mark.parametrize("record", [SIGNS, NUMBERS])
def test_rows_of_other_nodes(record):
    with pytest.raises(ValueError, match=r"data has shape \(1, 3\); give rows of the 2 nodes"):
        read_cells(record, [[1, 1, 1]])
