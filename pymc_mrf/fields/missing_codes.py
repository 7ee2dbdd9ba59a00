"""Numbers that stand for missing values by all appearances, such as 99 and -999."""

import re

import numpy as np

from pymc_mrf.fields.table_columns import Column, number_of

FORM = re.compile(r"9+|8+|77+|9+[678]")
"""Whole numbers that often stand for missing values, without their sign."""

NOT_MEASURED = "take the column in another unit, as x / 10, if it was measured"
NO_ANSWER = "if it is an answer, name the states, by n_states or an ordered categorical"


def missing_code(column: Column, otherwise: str) -> str:
    """Say which number of a column stands for missing values by all appearances, if one does.

    These are numbers such as 99 and -999, as far from all others as these from each other; those below 0 of
    two digits or more also where no other number is. `otherwise` is the remedy if it does not.
    """
    if isinstance(column.values, np.ndarray) and column.values.dtype.kind in "iuf":
        x = column.values[~column.is_missing].astype(np.float64)
    else:
        x = np.array([np.nan if (v := number_of(value)) is None else v for value in column.present()])
    distinct = np.unique(x[np.isfinite(x)])
    is_code = distinct == np.round(distinct)
    is_code[is_code] = [FORM.fullmatch(f"{abs(v):.0f}") is not None for v in distinct[is_code]]
    if not is_code.any() or (~is_code).sum() < 2:
        return ""
    others = distinct[~is_code]
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
