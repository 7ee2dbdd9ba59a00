"""Checks that all layers share."""

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytest
import xarray as xr

from pymc_mrf import checks

ROWS = [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "x must be numeric, not of dtype object: it is None; give real numbers"),
        ("ab", "x must be numeric, not of dtype <U2: it is 'ab'; recode text as numbers"),
        ([["0", "1"]], r"entry \[0, 0\] is '0'; recode text as numbers"),
        (np.array([[0, None]]), r"entry \[0, 1\] is None; missing cells are"),
        ({0: 1}, r"it is \{0: 1\}"),
        ([1 + 0j], r"not of dtype complex128: entry \[0\] is \(1\+0j\)"),
        ([[0], [0, 1]], "a rectangular array without symbolic entries, not"),
        (np.ma.masked_array([0, 1], mask=[0, 1]), "x has 1 masked cells"),
        (np.array([pm.math.constant(0.5)], dtype=object), r"stacked with pymc\.math\.stack"),
        (
            pd.DataFrame(ROWS, dtype="Int64").where(pd.DataFrame(ROWS) > 0),
            r"\[0, 0\] is <NA>; missing .*masked_inv",
        ),
    ],
)
def test_what_is_not_numeric(value, message):
    with pytest.raises(ValueError, match=message):
        checks.numeric_array(value, "x")


def test_numbers_in_any_wrapping():
    for value in (ROWS, pd.DataFrame(ROWS), pd.DataFrame(ROWS, dtype="Int64"), xr.DataArray(ROWS)):
        np.testing.assert_array_equal(checks.numeric_array(value, "x"), ROWS)
    with pytest.raises(ValueError, match="it is True; give numbers instead of truth values"):
        checks.numeric_array(True, "x", "iuf")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            pd.DataFrame([[0, 1, 1]], columns=list("cba")),
            r"another order, beginning 'c', 'b', 'a' .*x\[lab",
        ),
        (
            pd.DataFrame([[0, 1, 1, 1]], columns=["id", *"abc"]),
            "x has 'id', which is no node of the graph",
        ),
        (
            pd.DataFrame([[0, 1, 1]], columns=list("xyz")),
            r"x has 'x', which is no node of the graph, such as 'a': .* numpy.asarray\(x\)",
        ),
        (pd.DataFrame([[0, 1]], columns=list("ab")), "x lacks 'c', a node of the graph"),
        (pd.DataFrame([[0, 1, 1]], columns=list("aab")), "x lacks 'c'"),
        (pd.DataFrame([[0, 1, 1, 1]], columns=list("abca")), "x names a label twice"),
        (pd.Series([0, 1, 1], index=list("bac")), r"use x\.loc\[labels\]"),
        (
            xr.DataArray([[0, 1, 1]], dims=("o", "n"), coords={"n": list("bac")}),
            r"x\.sel\(\{'n': labels\}\)",
        ),
    ],
)
def test_labels_that_disagree_with_the_graph(values, message):
    with pytest.raises(ValueError, match=message):
        checks.check_labels(values, "abc", "x", "node")


def test_labels_that_agree_or_say_nothing():
    frame = pd.DataFrame([[0, 1, 1]])
    for values in (frame, frame.set_axis(list("abc"), axis=1)):
        checks.check_labels(values, "abc", "x", "node")
    checks.check_labels(frame, (1, 2, 3), "x", "node")  # columns without names
    checks.check_labels(frame.set_axis(list("123"), axis=1), (1, 2, 3), "x", "node")
    checks.check_labels(frame.set_axis(list("xyz"), axis=1), "abc", "x", "node", own_names=True)
    pairs = pd.Series([0, 1], index=[("a", "b"), ("b", "c")])
    checks.check_labels(pairs, ["a--b", "b--c"], "x", "edge")
    checks.check_labels(xr.DataArray([0, 1, 1]), "abc", "x", "node")
    checks.check_labels(pm.math.constant(1.0), "abc", "x", "node")


@pytest.mark.parametrize("value", ["no", 1, None, [True]])
def test_flags(value):
    with pytest.raises(TypeError, match="option must be True or False, not"):
        checks.flag(value, "option")


def test_numbers_in_a_range():
    assert checks.number(np.float32(0.5), "x", 0.0) == 0.5
    assert type(checks.number(1, "x", 0.0)) is float
    assert checks.number(0, "x", 0.0, closed=True) == 0.0
    assert checks.number(-1e300, "x", -np.inf) == -1e300
    for value in (0.0, -1, np.inf, np.nan, "1", None, True, [1.0], np.array(1.0)):
        with pytest.raises(ValueError, match=r"^x must be a finite number above 0, not "):
            checks.number(value, "x", 0.0)
    with pytest.raises(ValueError, match=r"^x must be a number of at least 0\.5 and below 2, not 2$"):
        checks.number(2, "x", 0.5, 2.0, closed=True)
    with pytest.raises(ValueError, match=r"^x must be a finite number, not inf$"):
        checks.number(np.inf, "x", -np.inf)


@pytest.mark.parametrize("value", ["x", -1, 1.5, np.nan])
def test_seeds(value):
    with pytest.raises(
        (TypeError, ValueError), match=r"rng must be a numpy\.random\.Generator, a non-neg"
    ):
        checks.random_generator(value, "rng")


@pytest.mark.parametrize("value", ["ab", 3, None])
def test_sequences(value):
    with pytest.raises(TypeError, match="blocks must be a sequence of nodes, not"):
        checks.sequence(value, "blocks", "nodes")


def test_integers_and_options():
    assert checks.is_integer(np.int8(3)) and checks.is_integer(-2)
    assert not any(map(checks.is_integer, (True, 2.0, "2", None, np.array([1]))))
    checks.check_option("b", "kind", ("a", "b"))
    for value in ("c", None, ["a"]):
        with pytest.raises(ValueError, match=r'^kind must be one of "a", "b", not .*: say why$'):
            checks.check_option(value, "kind", ("a", "b"), ": say why")


def test_what_occurs_twice_and_where_it_is_wrong():
    assert checks.repeated(["b", "a", "b", 1, "a", "b"]) == ["b", "a"] and checks.repeated([]) == []
    wrong = np.zeros((2, 3), dtype=bool)
    wrong[1, 1:] = True
    assert checks.first_cell(wrong) == (1, 1)
    checks.check_array_shape(wrong, (2, 3), "x")
    with pytest.raises(ValueError, match=r"^x must have shape \(3,\), one per node, not \(2, 3\)$"):
        checks.check_array_shape(wrong, (3,), "x", "one per node")


def test_axes_of_tables():
    frame = pd.DataFrame([[0, 1]], index=pd.Index(["r"], name="row"), columns=["a", "b"])
    rows, columns = checks.axes_of_values(frame, "x")
    assert [axis.dim for axis in rows + columns] == ["row", "columns"]
    assert columns[0].labels == ["a", "b"] and rows[0].labels == ["r"]
    rows, columns = checks.axes_of_values(pl.DataFrame({"a": [0], "b": [1]}), "x")
    assert rows == [] and columns[0].labels == ["a", "b"]
    assert checks.axes_of_values([0, 1], "x") == [] == checks.axes_of_values(pm.math.constant(1.0), "x")


def test_entries():
    x = np.array([[1.0, -2.0], [np.nan, 0.5]])
    checks.check_entries(x[:, 1], x[:, 1] < 1, "x", "give less")
    with pytest.raises(ValueError, match=r"^x has the value nan; give numbers$"):
        checks.check_entries(x, np.isfinite(x), "x", "give numbers")
    with pytest.raises(ValueError, match=r"^x has the value -2 and 1 more; give positive numbers$"):
        checks.check_entries(x, x > 0, "x", "give positive numbers")
