"""Cells of rows that are to be predicted, from arrays, masked arrays and tables."""

import numpy as np
import pandas as pd
import pytest

from pymc_mrf.analysis.cells import measurements, state_indices

NODES = ["a", "b"]


@pytest.mark.parametrize(
    "data",
    [
        [[-1, 1], [1, np.nan]],
        np.ma.masked_array([[-1, 1], [1, -1]], [[0, 0], [0, 1]]),
        pd.DataFrame({"b": [1, np.nan], "a": [-1, 1]}),
    ],
)
def test_states(data):
    np.testing.assert_array_equal(state_indices(data, NODES, [-1, 1]), [[0, 1], [1, -1]])


def test_states_that_a_node_does_not_have():
    with pytest.raises(ValueError, match=r"data\[0, 1\] is 2, which is not a state of node 'b'"):
        state_indices([[0, 2]], NODES, [0, 1])
    of_nodes = [[0, 1, 2], [0, 1]]
    assert state_indices([[2, 1]], NODES, [0, 1, 2], of_nodes).tolist() == [[2, 1]]
    with pytest.raises(ValueError, match=r"data\[0, 1\] is 2"):
        state_indices([[2, 2]], NODES, [0, 1, 2], of_nodes)


def test_measurements():
    table = pd.DataFrame({"b": [0.5, np.nan], "a": [1.5, 2.0]})
    np.testing.assert_array_equal(measurements(table, NODES), [[1.5, 0.5], [2.0, np.nan]])
    masked = np.ma.masked_invalid([[1.5, 0.5], [2.0, np.nan]])
    np.testing.assert_array_equal(measurements(masked, NODES), [[1.5, 0.5], [2.0, np.nan]])


@pytest.mark.parametrize("read", [measurements, lambda *args: state_indices(*args, [0, 1])])
def test_rows_of_other_nodes(read):
    with pytest.raises(ValueError, match=r"data has shape \(1, 3\); give rows of the 2 nodes"):
        read([[0, 1, 0]], NODES)
