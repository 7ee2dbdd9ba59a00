"""Linearly dependent columns: found by name, whatever their units, and no others."""

import numpy as np
import pytest

from pymc_mrf.fields.table_columns import dependent_columns, told_of

NAMES = list("abcdef")


def found(x, is_missing=None):
    is_missing = np.zeros(x.shape, dtype=bool) if is_missing is None else is_missing
    return dependent_columns(x, is_missing, NAMES[: x.shape[1]])


@pytest.mark.parametrize("unit", [1.0, 1e9, 1e-9, 1e-200])
@pytest.mark.parametrize("digits", [None, 2])
def test_a_total_beside_its_items(rng, unit, digits):
    x = rng.normal(size=(100, 5)) + 1e3
    x = x if digits is None else np.round(x, digits)
    total = x[:, [0, 1, 3]].sum(axis=1) + (
        0 if digits is None else np.round(rng.normal(size=100) / 200, 2)
    )
    x = np.column_stack([x, total])
    x[:, ::2] *= unit  # other columns in units of their own
    assert found(x) == [["a", "b", "d", "f"]]
    assert found(np.column_stack([x[:, :5], rng.normal(size=100)])) == []


def test_shares_copies_and_several_sets(rng):
    shares = rng.dirichlet([2, 3, 4], 150)
    assert found(shares) == [["a", "b", "c"]] and found(np.round(shares, 3)) == [["a", "b", "c"]]
    x = np.column_stack([shares, 3 - 2 * shares[:, 0], rng.normal(size=150), shares[:, 1]])
    sets = found(x)
    assert sets == [["a", "b", "c"], ["a", "d"], ["b", "f"]]
    assert told_of(sets[:2]) == (
        "c is a sum of multiples of a and b, up to a constant; d is a multiple of a, up to a constant"
    )


def test_missing_cells(rng):
    x = rng.normal(size=(60, 4))
    x[:, 3] = x[:, 0] - x[:, 2]
    is_missing = rng.random(x.shape) < 0.1
    assert found(np.where(is_missing, 0.0, x), is_missing) == [["a", "c", "d"]]


@pytest.mark.parametrize(("n", "d"), [(4, 6), (6, 6), (7, 6), (12, 6), (8, 2)])
def test_few_rows_are_not_taken_for_dependence(rng, n, d):
    for _ in range(300):
        assert found(rng.normal(size=(n, d))) == []


def test_strong_ties_are_not_taken_for_dependence(rng):
    common = rng.normal(size=(200, 1))
    assert found(common + 0.03 * rng.normal(size=(200, 6))) == []
