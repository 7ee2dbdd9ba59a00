"""States merged and renumbered in arrays and tables of every kind, missing cells being kept."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import pymc_mrf as pmrf

MERGE = [0, 1, 1, 2]
X = np.array([[0, 3, 1], [2, 1, 0], [3, 3, 2], [1, 0, 3]])
NEW = np.array([[0, 2, 1], [1, 1, 0], [2, 2, 1], [1, 0, 2]])
GONE = np.array([[0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]], dtype=bool)
FRAME = pd.DataFrame(X, columns=list("abc"), index=list("pqrs"))


def test_arrays_keep_masks_and_nan():
    masked = np.ma.masked_array(np.where(GONE, -9, X), GONE)
    for new_states in (MERGE, dict(enumerate(MERGE)), np.array(MERGE)):
        found = pmrf.recode_states(masked, new_states)
        np.testing.assert_array_equal(found.mask, GONE)
        np.testing.assert_array_equal(found.compressed(), NEW[~GONE])
        assert found.dtype == np.int64
    floats = pmrf.recode_states(np.where(GONE, np.nan, X), MERGE)
    np.testing.assert_array_equal(floats, np.where(GONE, np.nan, NEW))
    plain = pmrf.recode_states(X.tolist(), MERGE)
    np.testing.assert_array_equal(plain, NEW)
    assert plain.dtype == np.int64 and type(plain) is np.ndarray
    assert X[0, 1] == 3  # not in place


def test_single_columns_and_other_codes():
    found = pmrf.recode_states(X + 10, {10: 0, 11: 1, 12: 1, 13: 2}, columns=[0, 2])
    np.testing.assert_array_equal(found, np.where([True, False, True], NEW, X + 10))
    likert = pmrf.recode_states(FRAME.assign(id=["u"] * 4), MERGE, columns=["c"])
    np.testing.assert_array_equal(likert.c, NEW[:, 2])
    np.testing.assert_array_equal(likert[["a", "b"]], X[:, :2])
    assert likert.id.tolist() == ["u"] * 4 and likert.index.tolist() == list("pqrs")


@pytest.mark.parametrize(
    "table",
    [
        FRAME.astype("float").mask(GONE),
        FRAME.astype("Int64").mask(GONE),
        FRAME.astype("Int64").mask(GONE).set_axis([2, 0, 1], axis=1),
        FRAME.replace(dict(enumerate("vwyz")))
        .apply(lambda c: pd.Categorical(c, categories=list("vwyz"), ordered=True))
        .mask(GONE),
        pl.from_pandas(FRAME.astype("Int64").mask(GONE)),
        pa.Table.from_pandas(FRAME.astype("Int64").mask(GONE), preserve_index=False),
        xr.DataArray(np.where(GONE, np.nan, X), dims=("r", "n"), coords={"n": list("abc")}),
    ],
    ids=["floats", "nullable", "numbered columns", "categories", "polars", "pyarrow", "xarray"],
)
def test_tables_keep_missing_cells_names_and_kind(table):
    found = pmrf.recode_states(table, MERGE)
    assert type(found) is type(table)
    if not isinstance(found, xr.DataArray | pa.Table):
        assert list(found.columns) == list(table.columns)
    is_numbered = isinstance(table, pd.DataFrame) and 0 in table
    graph = pmrf.graphs.complete([2, 0, 1] if is_numbered else list("abc"))
    array, mask, _ = pmrf.fields.prepare(found, graph)
    np.testing.assert_array_equal(mask, GONE)
    np.testing.assert_array_equal(array[~GONE], NEW[~GONE])
    assert pmrf.recode_states(table, dict(enumerate(range(4)))) is not table


def test_complete_tables_have_integers():
    assert (pmrf.recode_states(FRAME, MERGE).dtypes == np.int64).all()
    array = xr.DataArray(X, dims=("r", "n"), coords={"n": list("abc")})
    assert pmrf.recode_states(array, MERGE).dtype == np.int64


@pytest.mark.parametrize(
    ("x", "new_states", "options", "error", "message"),
    [
        (
            X,
            [0, 1, 2],
            {},
            ValueError,
            r"x\[0, 1\] is 3, of which new_states says .* 0, 1, 2\); 4 such",
        ),
        (
            FRAME,
            {0: 0, 1: 1, 2: 2},
            {},
            ValueError,
            "x: row 2 of 'a' is 3, of which new_states says nothing",
        ),
        (X, [0, 1, 1.5, 2], {}, ValueError, r"new_states must be whole numbers, not 1\.5"),
        (X, {"a": 0}, {}, ValueError, "keys of new_states must be whole numbers, not 'a'"),
        (X, 3, {}, TypeError, "new_states must be a sequence of states, .*, not 3"),
        (
            X,
            MERGE,
            {"columns": ["a"]},
            ValueError,
            r"positions 0\.\.2 of the columns of an array",
        ),
        (FRAME, MERGE, {"columns": ["z"]}, ValueError, "x has no column 'z', which `columns` names"),
        (FRAME.assign(id="u"), MERGE, {}, ValueError, "x: column 'id' holds text, such as 'u'"),
    ],
)
def test_bad_input(x, new_states, options, error, message):
    with pytest.raises(error, match=message):
        pmrf.recode_states(x, new_states, **options)
