"""Functions of a point: what is filled in outside of what is compiled."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

from pymc_mrf.steps.common.expressions import PointFunction


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        pm.Normal("a")
        pm.Normal("b", shape=4)
        pm.Data("data", np.arange(3.0))
    return model


def test_arrays_of_one_number(model):
    a, b = model["a"], model["b"]
    # the shape of the second is that of a variable, whose values play no part
    f = PointFunction([pt.full((2, 3), a), pt.full(b.shape, a), b + a], model)
    assert f.names == ["a", "b"]
    first, second, third = f({"a": np.array(2.0), "b": np.arange(4.0)})
    np.testing.assert_array_equal(first, np.full((2, 3), 2.0))
    np.testing.assert_array_equal(second, np.full(4, 2.0))
    np.testing.assert_array_equal(third, np.arange(4.0) + 2.0)
    assert PointFunction(pt.full(b.shape, a), model).names == ["a"]


def test_functions_of_data_alone_follow_them(model):
    f = PointFunction(model["data"].sum(), model)
    assert f.names == [] and f({}) == 3.0
    pm.set_data({"data": np.ones(5)}, model=model)
    assert f({}) == 5.0
