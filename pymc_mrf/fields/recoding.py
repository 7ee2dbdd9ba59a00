"""States merged or renumbered: in arrays and tables, cells without a value staying without one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pymc_mrf.checks import few, first_cell, is_integer, numeric_array, sequence
from pymc_mrf.fields.table_columns import Table, as_table, column_numbers


def recode_states(x: Any, new_states: Any, *, columns: Sequence | None = None) -> Any:
    """Replace states by others, as to merge rare categories; missing cells stay missing.

    Parameters
    ----------
    x : array_like or masked array of any shape; or a table of pandas, polars, pyarrow or xarray
        States are whole numbers. Cells that are masked or without a value (NaN, None, null) are missing. In
        tables ordered categories are 0, 1, ... in their order, False and True 0 and 1, as in `prepare`.
    new_states : sequence of int, or mapping of int to int
        What becomes of each state: ``new_states[k]`` of state k.
    columns : sequence, optional
        Those to recode: names in a table, positions on the last axis of an array. The others stay as they
        are. By default all are recoded.

    Returns
    -------
    array, masked array or table
        What `x` is, with integers; a masked array keeps its mask, an array of floats with NaN stays one.

    Raises
    ------
    ValueError
        If a cell holds a state that `new_states` does not name, or a new state is no whole number.

    Examples
    --------
    The four answers 0, 1, 2, 3 become three, as "often" and "always" are merged:

    >>> x = numpy.ma.masked_array([[0, 3], [2, 1]], mask=[[False, False], [False, True]])
    >>> recode_states(x, [0, 1, 2, 2]).tolist()
    [[0, 2], [2, None]]

    Answers that are coded from 1, some items having fewer of them:

    >>> x = pymc_mrf.recode_states(df, {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}, columns=likert)
    """
    codes = _codes(new_states)
    table = as_table(x)
    if table is not None:
        return _recoded_table(x, table, codes, columns)
    masked = isinstance(x, np.ma.MaskedArray)
    array = numeric_array(np.ma.getdata(x), "x")
    is_missing = np.ma.getmaskarray(x) | (np.isnan(array) if array.dtype.kind == "f" else False)
    chosen = np.ones(array.shape, dtype=bool)
    if columns is not None:
        chosen[:] = False
        chosen[..., _positions(columns, array.shape)] = True
    values = np.where(chosen, _recoded(array, is_missing | ~chosen, codes, None), array)
    if masked:
        return np.ma.masked_array(_whole(np.where(is_missing, 0, values)), is_missing)
    return values if is_missing.any() else _whole(values)


def _codes(new_states: Any) -> dict[int, int]:
    """Map each state to what becomes of it."""
    if isinstance(new_states, Mapping):
        old, new = list(new_states), list(new_states.values())
    else:
        new = sequence(new_states, "new_states", "states, the new one of each state, or a mapping")
        old = list(range(len(new)))
    for name, states in (("keys of new_states", old), ("new_states", new)):
        for state in states:
            if not is_integer(state):
                raise ValueError(f"{name} must be whole numbers, not {state!r}")
    return dict(zip(map(int, old), map(int, new), strict=True))


def _recoded(
    values: np.ndarray, skip: np.ndarray, codes: dict[int, int], column: Any = None
) -> np.ndarray:
    """Replace values, except those of the cells to `skip`."""
    new, known = np.array(values, dtype=np.result_type(values, np.int64)), skip.copy()
    for old, state in codes.items():
        here = (values == old) & ~skip
        new[here] = state
        known |= here
    if not known.all():
        cell = first_cell(~known)
        where = f"x{list(cell)}" if column is None else f"x: row {cell[0]} of {column!r}"
        raise ValueError(
            f"{where} is {values[cell]:g}, of which new_states says nothing (it names {few(codes, None)}); "
            f"{int((~known).sum())} such cells"
        )
    return new


def _recoded_table(x: Any, table: Table, codes: dict[int, int], columns: Sequence | None) -> Any:
    """Return the table with other columns, as integers that may be missing."""
    import narwhals as nw

    new = {}
    for k in table.places(table.names if columns is None else columns, "x"):
        column, name = table.column(k), table.names[k]
        values = column_numbers(column, None, f"x: column {name!r}")
        new[k] = _whole(_recoded(values, column.is_missing, codes, name)), column.is_missing
    if nw.dependencies.is_pandas_dataframe(x):
        import pandas as pd

        x = x.copy()
        for k, (values, is_missing) in new.items():
            x.isetitem(k, pd.array(values, dtype="Int64") if is_missing.any() else values)
            if is_missing.any():
                x.iloc[is_missing, k] = pd.NA
        return x
    if hasattr(x, "coords"):
        array = np.array(x.values, dtype=np.float64)
        for k, (values, is_missing) in new.items():
            array[:, k] = np.where(is_missing, np.nan, values)
        return x.copy(data=array if np.isnan(array).any() else _whole(array))
    frame = nw.from_native(x, eager_only=True)
    made = [
        nw.new_series(
            frame.columns[k],
            [None if gone else v for v, gone in zip(values.tolist(), is_missing, strict=True)],
            nw.Int64,
            backend=frame.implementation,
        )
        for k, (values, is_missing) in new.items()
    ]
    return frame.with_columns(*made).to_native()


def _positions(columns: Sequence, shape: tuple[int, ...]) -> list[int]:
    wanted = sequence(columns, "columns", "positions")
    d = shape[-1] if shape else 0
    if any(not is_integer(k) or not 0 <= k < d for k in wanted):
        raise ValueError(
            f"columns must be positions 0..{d - 1} of the columns of an array, not {wanted!r}"
        )
    return wanted


def _whole(values: np.ndarray) -> np.ndarray:
    """Integers, where all are."""
    whole = values.astype(np.int64)
    return whole if np.array_equal(whole, values) else values
