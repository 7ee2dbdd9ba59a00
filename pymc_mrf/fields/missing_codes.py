"""Numbers that stand for missing values by all appearances, such as 99 and -999."""

import re

import numpy as np

from pymc_mrf.fields.table_columns import Column, number_of

Ends = tuple[float, float]
"""Smallest and largest value of a column of measurements."""

FORM = re.compile(r"9+|8+|77+|9+[678]")
"""Whole numbers that often stand for missing values, without their sign."""

NOT_MEASURED = "take the column in another unit, as x / 10, if it was measured"
MEASURED_SO = "if it was measured, write it with a decimal place, as x + 0.001"
NO_ANSWER = "if it is an answer, name the states, by n_states or an ordered categorical"


def missing_code(column: Column, otherwise: str, known: Ends | None = None) -> str:
    """Say which number of a column stands for missing values by all appearances, if one does.

    These are numbers such as 99 and -999, as far from all others as these from each other; those below 0 of
    two digits or more also where no other number is. `otherwise` is the remedy if it does not. Rows that
    follow others are taken together with the ends of these, which are `known`.
    """
    x = _numbers(column)
    distinct = np.unique(x[np.isfinite(x)])
    if known is not None:
        distinct = distinct[(distinct < known[0]) | (distinct > known[1])]
    is_code = distinct == np.round(distinct)
    is_code[is_code] = [FORM.fullmatch(f"{abs(v):.0f}") is not None for v in distinct[is_code]]
    others = np.unique(np.append(distinct[~is_code], [] if known is None else known))
    if not is_code.any() or len(others) < 2:
        return ""
    low, high, is_whole = float(others[0]), float(others[-1]), (others == np.round(others)).all()
    for v in distinct[is_code]:
        is_far = max(v - high, low - v) >= max(high - low, 2.0 * is_whole)
        if is_far or (v <= -77 and low >= 0):
            return (
                f"has the value {v:g} in {int((x == v).sum())} rows and all others from {low:g} to {high:g}: "
                f"replace it by a missing value if it stands for one, as with table.mask(table == {v:g}); "
                f"{otherwise}"
            )
    return ""


def ends_of(column: Column) -> Ends | None:
    """Smallest and largest number of a column; None if it has fewer than two."""
    x = _numbers(column)
    x = x[np.isfinite(x)]
    return (float(x.min()), float(x.max())) if len(x) and x.min() < x.max() else None


def _numbers(column: Column) -> np.ndarray:
    """Numbers of the cells that are not missing; NaN of what is none."""
    if isinstance(column.values, np.ndarray) and column.values.dtype.kind in "iuf":
        return column.values[~column.is_missing].astype(np.float64)
    return np.array([np.nan if (v := number_of(value)) is None else v for value in column.present()])
