import numpy as np

from pymc_mrf.parts import Parts


def test_parts_are_views_in_their_order():
    parts = Parts([(2, 3), (), (0, 4), (2,)])
    assert parts.size == 9 and parts.ends.tolist() == [0, 6, 7, 7, 9]
    vector = np.arange(9.0)
    table, number, nothing, pair = parts.of(vector)
    np.testing.assert_array_equal(table, [[0, 1, 2], [3, 4, 5]])
    assert number == 6.0 and nothing.shape == (0, 4)
    pair[:] = -1.0
    assert vector[7:].tolist() == [-1.0, -1.0]
