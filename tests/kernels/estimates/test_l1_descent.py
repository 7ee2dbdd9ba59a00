"""Coordinate descent against the conditions that a minimum of the penalised quadratic model meets."""

import numpy as np
import pytest

from pymc_mrf.kernels.estimates import l1_descent

D, N = 4, 30
PAIRS = np.array([(i, j) for i in range(D) for j in range(i + 1, D)])
BOTH = np.array([(i, j) for i in range(D) for j in range(D) if i != j])


class Case:
    """A quadratic model, its objective by the definition, and where descent ends."""

    def __init__(self, symmetric, rng, ridge=0.3, c=2.0, penalty=0.4):
        values = rng.normal(size=(D, N)) + np.array([0.5, -1.0, 0.0, 2.0])[:, None]
        self.m = values.mean(axis=1)
        self.Z, self.c, self.ridge, self.symmetric = values - self.m[:, None], c, ridge, symmetric
        self.ends = PAIRS if symmetric else BOTH
        self.V, self.r = rng.uniform(0.05, 0.25, (D, N)), rng.normal(0, 0.5, (D, N))
        self.penalty = np.full(len(self.ends), penalty)
        self.penalty[1] = 0.0
        self.w, self.beta, self.b = np.zeros(len(self.ends)), np.zeros(D), np.zeros(D)

    def descend(self, active=None):
        active = np.arange(len(self.ends)) if active is None else active
        model = l1_descent.Regressions(
            self.ends, self.symmetric, self.Z, self.m, self.c, self.ridge, self.V, self.r.copy()
        )
        parameters = self.w, self.beta, self.b
        l1_descent.descend(model, active, self.penalty, *parameters, 1e-10, 10_000)
        return parameters

    def smooth(self, w, beta):
        """Objective without the penalty."""
        weights = np.zeros((D, D))
        weights[self.ends[:, 0], self.ends[:, 1]] = w
        if self.symmetric:
            weights += weights.T
        moved = self.c * (beta[:, None] + weights @ self.Z)
        b = beta - weights @ self.m
        return (0.5 * self.V * moved**2 - self.r * moved).sum() / N + 0.5 * self.ridge * (b**2).sum()

    def slopes(self, w, beta, h=1e-5):
        point = np.concatenate([w, beta])
        steps = h * np.eye(len(point))
        split = [np.split(point + sign * step, [len(w)]) for step in steps for sign in (1, -1)]
        values = np.array([self.smooth(*parts) for parts in split]).reshape(-1, 2)
        return np.split((values[:, 0] - values[:, 1]) / (2 * h), [len(w)])


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_end_is_a_minimum(symmetric, rng):
    case = Case(symmetric, rng)
    w, beta, b = case.descend()
    by_w, by_beta = case.slopes(w, beta)
    zero = w == 0.0
    assert 0 < zero.sum() < len(w)
    np.testing.assert_allclose(by_beta, 0.0, atol=1e-7)
    np.testing.assert_allclose(by_w[~zero], -(case.penalty * np.sign(w))[~zero], atol=1e-7)
    assert np.all(np.abs(by_w[zero]) <= case.penalty[zero] + 1e-7)
    weights = np.zeros((D, D))
    weights[case.ends[:, 0], case.ends[:, 1]] = w
    weights += weights.T if symmetric else 0.0
    np.testing.assert_allclose(b, beta - weights @ case.m, atol=1e-9)
    # control: without the penalty no slope is left, and no weight is zero
    free = Case(symmetric, np.random.default_rng(5), penalty=0.0)
    w, beta, _ = free.descend()
    assert np.all(w != 0.0)
    np.testing.assert_allclose(np.concatenate(free.slopes(w, beta)), 0.0, atol=1e-7)


def test_other_coordinates_stay(rng):
    case = Case(True, rng)
    w, beta, _ = case.descend(np.array([1, 4]))
    assert np.flatnonzero(w).tolist() in ([1], [1, 4])
    np.testing.assert_allclose(case.slopes(w, beta)[1], 0.0, atol=1e-7)


@pytest.mark.parametrize(("x", "expected"), [(1.0, 0.75), (-1.0, -0.75), (0.2, 0.0), (-0.25, 0.0)])
def test_shrinking(x, expected):
    assert l1_descent.soft_threshold(x, 0.25) == expected
