"""Which expressions are seen to be one number times constants."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

from pymc_mrf.distributions.symbolic_tables import as_multiple, sigmoid_argument

W = np.array([0.5, 2.0, 1.0])

MULTIPLES = {
    "right": lambda J: J * W,
    "left": lambda J: pt.as_tensor(W[None]) * J,
    "integers": lambda J: J * np.array([1, 4, 2]) / 2,
    "divided": lambda J: -(2.0 * J) * W / (-2.0 * pt.exp(pt.zeros(3))),
    "function of constants": lambda J: J * pt.exp(np.log(W)),
    "named": lambda J: pm.Deterministic("named", J * W),
    "length 1": lambda J: J[None] * W,
    "filled": lambda J: pt.full((3,), J) * W,
    "shape": lambda J: pt.specify_shape(J * W, (3,)),
    "indexed": lambda J: J * pt.as_tensor(W[::-1])[np.array([2, 1, 0])],
}


@pytest.mark.parametrize("make", MULTIPLES.values(), ids=MULTIPLES)
def test_number_and_constants_are_told_apart(make):
    with pm.Model():
        J = pm.Normal("J")
        array = make(J)
    number, constants = as_multiple(array)
    assert number.type.ndim == 0
    found, expected = pm.draw([number * constants, array], random_seed=1, mode="FAST_COMPILE")
    assert found.ravel() == pytest.approx(np.ravel(expected))
    assert pm.draw(array, random_seed=1, mode="FAST_COMPILE").ravel()[:2] == pytest.approx(
        W[:2] * pm.draw(J, random_seed=1, mode="FAST_COMPILE")
    )


OTHERS = {
    "changing": lambda J: J * pm.Data("weights", W),
    "random": lambda J: pm.Normal("w", shape=3),
    "random weights": lambda J: J * pm.Normal("w", shape=3),
    "sum": lambda J: J * W + 1.0,
    "power": lambda J: (J * W) ** 2,
    "stacked": lambda J: pt.stack([J, 2.0 * J, J]),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_others_are_not(make):
    with pm.Model():
        assert as_multiple(make(pm.Normal("J"))) is None


def test_constants_and_numbers():
    number, constants = as_multiple(pt.constant(W))
    assert float(number.eval(mode="FAST_COMPILE")) == 1.0
    assert constants.tolist() == W.tolist()
    scalar = pt.scalar("t")
    assert as_multiple(scalar)[1].shape == ()


def test_arguments_of_sigmoids():
    x = pt.vector("x")
    assert sigmoid_argument(pt.specify_shape(pm.math.sigmoid(x), (3,))) is x
    assert sigmoid_argument(pt.exp(x)) is None
    assert sigmoid_argument(x) is None
