"""Flat arrays are of the same type to numba wherever they have been: nothing compiles once more for them."""

import copy
import pickle

import numba
import numpy as np
import pytest

from pymc_mrf.fields.sweeps import there_and_back
from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.forest_arrays import factor_forest_arrays, forest_arrays
from pymc_mrf.graph.junction_tree import junction_tree

GRID = builders.grid(3, 3)
FACTORS = FactorGraph([(0, 1, 2), (2, 3)], [2, 3, 2, 2])
ROWS = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
KINDS = {
    "graph": lambda: GRID.arrays,
    "junction tree": lambda: junction_tree(GRID, 2).arrays,
    "forest": lambda: forest_arrays(GRID, ROWS),
    "forest of factors": lambda: factor_forest_arrays(FACTORS, [[i] for i in range(4)]),
    "links": lambda: factor_links(FACTORS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_read_only_too(kind):
    arrays = KINDS[kind]()
    for other in (pickle.loads(pickle.dumps(arrays)), copy.deepcopy(arrays)):
        assert type(other) is type(arrays)
        assert numba.typeof(other) == numba.typeof(arrays)
        for one, same in zip(arrays, other, strict=True):
            if isinstance(one, np.ndarray):
                np.testing.assert_array_equal(one, same)
                assert not same.flags.writeable


def test_sweeps_there_and_back_are_sweeps_over_a_forest():
    forest = forest_arrays(GRID, ROWS)
    assert numba.typeof(there_and_back(forest)) == numba.typeof(forest)
