"""Tables of pandas, polars, pyarrow and xarray: their columns, missing cells, categories as numbers.

Numbers such as 99 and -999 stand for missing values by all appearances. Columns are linearly dependent where
one is a total of others, say.
"""

import re
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import axes_of_values, few, numeric_array, repeated, sequence

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)

FORM = re.compile(r"9+|8+|77+|9+[678]")
"""Whole numbers that often stand for missing values, without their sign."""

NOT_MEASURED = "take the column in another unit, as x / 10, if it was measured"
MEASURED_SO = "if it was measured, write it with a decimal place, as x + 0.001"
NO_ANSWER = "if it is an answer, name the states, by n_states or an ordered categorical"

LEFT = 1e-4
"""Share of its variance that others may leave of a column that depends on them, as where it is rounded."""

EXACT = 1e-10  # of the same where there are few rows, of which any number of columns leave little
MORE_ROWS = (
    5  # than columns, from which `LEFT` is no chance: it happens in about one of a million columns
)
MEMBER = 0.02  # standardised coefficient beyond which a column is one of those on which another depends


class Answers(NamedTuple):
    """Columns of a table in the order of the nodes.

    `values` (n, d) int64, or float64: floats only where a cell holds no whole number; 0 where it is
    missing. `is_missing` (n, d) bool. `rows`: labels of the rows, or their numbers.
    """

    values: np.ndarray
    is_missing: np.ndarray
    rows: list


class Column(NamedTuple):
    """A column as its library has it; `categories` are those of a categorical one if they are ordered."""

    values: Any
    is_missing: np.ndarray
    is_categorical: bool = False
    categories: list | None = None

    def present(self) -> list:
        return [v for v, gone in zip(self.values, self.is_missing.tolist(), strict=True) if not gone]


class Table(NamedTuple):
    """A table of any library; `column(k)` reads a column."""

    names: list
    rows: list
    column: Callable[[int], Column]

    def places(self, columns: Any, name: str) -> list[int]:
        """Find the columns that the argument `columns` names; `name` is what errors call the table."""
        wanted = sequence(columns, "columns", "names")
        absent = [label for label in wanted if label not in self.names]
        if absent:
            raise ValueError(f"{name} has no column {absent[0]!r}, which `columns` names")
        return [self.names.index(label) for label in wanted]


Numbers = Callable[[Column, int, Any], np.ndarray]
"""Makes numbers (n,) of a column, given the position of its node and its name."""


def as_table(value: Any) -> Table | None:
    """Find the columns of a table of any library; None if `value` is none whose columns have names."""
    if isinstance(value, Table):
        return value
    dims = getattr(value, "dims", None)
    if isinstance(dims, tuple) and hasattr(value, "coords"):
        return _of_labelled_array(value)
    import narwhals as nw

    if type(value).__module__.split(".")[0] == "pyarrow" and hasattr(value, "to_pandas"):
        value = value.to_pandas()  # which knows whether categories are ordered
    names, rows = None, None
    if nw.dependencies.is_pandas_dataframe(value):
        names, rows = value.columns.tolist(), value.index.tolist()
        value = value.set_axis([str(k) for k in range(len(names))], axis=1)  # names may be no texts
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None

    def column(k: int) -> Column:
        series = frame[frame.columns[k]]
        is_missing = series.is_null().to_numpy().astype(bool)
        if series.dtype.is_float():
            is_missing |= series.is_nan().fill_null(True).to_numpy().astype(bool)
        kind = series.dtype
        if kind.is_numeric() or kind == nw.Boolean:
            known = series.fill_null(False if kind == nw.Boolean else 0)
            return Column(known.to_numpy(), is_missing)
        if kind in (nw.Categorical, nw.Enum):
            categories = [str(v) for v in kind.categories] if isinstance(kind, nw.Enum) else None
            return Column([str(v) for v in series.to_list()], is_missing, True, categories)
        return Column(series.to_list(), is_missing)

    return Table(names or frame.columns, rows or list(range(len(frame))), column)


def as_row(value: Any) -> Table | None:
    """Read a vector with labels, such as a map by its places, as a table of one row; None if it is none."""
    axes = axes_of_values(value, "")
    if len(axes) != 1 or not axes[0] or axes[0][0].labels is None:
        return None
    import narwhals as nw

    if nw.dependencies.is_pandas_series(value):
        frame = as_table(value.to_frame())
        assert frame is not None
        column = frame.column(0)
    else:
        import pandas as pd

        column = Column(np.asarray(value.values), pd.isna(np.asarray(value.values)))

    def cell(k: int) -> Column:
        return column._replace(values=column.values[k : k + 1], is_missing=column.is_missing[k : k + 1])

    return Table(axes[0][0].labels, [0], cell)


def as_numbered_table(value: Any, name: str) -> Table:
    """Find the columns of a table of any library, or of an array (n, d), which are 0, 1, ..."""
    table = as_table(value)
    if table is not None:
        return table
    array = numeric_array(np.ma.getdata(value), name)
    if array.ndim != 2:
        raise ValueError(
            f"{name} has shape {array.shape}: give a data frame, or an array with a row for each observation "
            "and a column for each item"
        )
    is_missing = np.ma.getmaskarray(value) | np.isnan(array.astype(np.float64))
    n, d = array.shape
    return Table(list(range(d)), list(range(n)), lambda k: Column(array[:, k], is_missing[:, k]))


def _of_labelled_array(value: Any) -> Table | None:
    import pandas as pd

    if len(value.dims) != 2 or not set(value.dims) & set(value.coords):
        return None
    rows, labels = (
        value.coords[dim].values.tolist() if dim in value.coords else list(range(size))
        for dim, size in zip(value.dims, value.shape, strict=True)
    )
    array = np.asarray(value.values)

    def column(k: int) -> Column:
        is_missing = pd.isna(array[:, k])
        return Column(array[:, k] if array.dtype != object else array[:, k].tolist(), is_missing)

    return Table(labels, rows, column)


def check_names(table: Table, name: str) -> None:
    if twice := repeated(table.names):
        raise ValueError(f"{name} has two columns {twice[0]!r}: drop or rename one of them")


def read_places(table: Table, places: Sequence[int], numbers: Numbers) -> Answers:
    """Read the columns at `places` of a table, in this order, by `numbers`."""
    values, is_missing = [], []
    for i, k in enumerate(places):
        column = table.column(k)
        values.append(numbers(column, i, table.names[k]))
        is_missing.append(column.is_missing)
    return Answers(np.stack(values, axis=1), np.stack(is_missing, axis=1), table.rows)


def check_row_labels(vector: Any, table: Any, name: str, what: str = "`observed`") -> None:
    """Refuse a vector, such as weights or groups, with labels that are not those of a table's rows.

    Missing labels are alike; what has none goes by position.

    `table`: None where rows have no labels. `name` and `what`: of the vector and of the table, for
    messages.
    """
    import pandas as pd

    axes = axes_of_values(vector, name)
    labels = axes[0][0].labels if table is not None and axes and axes[0] else None
    if labels is not None and not pd.Index(labels).equals(pd.Index(table.rows)):
        short = name.split(": ")[-1]
        raise ValueError(
            f"{name}: its rows are labelled otherwise than those of {what}: use {short}.loc[table.index], or "
            f"{short}.to_numpy(), which goes by position"
        )


def column_numbers(column: Column, states: tuple | None, what: str) -> np.ndarray:
    """Values (n,) of a column as numbers, 0 where they are missing."""
    values, is_missing = column.values, column.is_missing
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return np.where(is_missing, 0.0, values)
    present = column.present()
    out = np.zeros(len(values))
    if column.is_categorical:
        out[~is_missing] = _of_categories(present, column.categories, states, what)
        return out
    text = next((value for value in present if isinstance(value, str)), None)
    if text is not None:
        raise ValueError(
            f"{what} holds text, such as {text!r}: make it categorical, its categories being the states in "
            "their order, as in pandas.Categorical(answers, categories=[...], ordered=True)"
        )
    out[~is_missing] = numeric_array(np.array(present), what) if present else 0.0
    return out


def _of_categories(
    present: list, categories: list | None, states: tuple | None, what: str
) -> np.ndarray:
    """Numbers that categories are, or the states that ordered ones stand for."""
    if all(_NUMBER.fullmatch(value.strip()) for value in categories or present):
        return np.array([float(value) for value in present])
    if categories is None:
        raise ValueError(
            f"{what} has categories without an order, such as {present[0]!r}: order them as the states "
            "(ordered=True in pandas, polars.Enum), or recode them as numbers"
        )
    states = tuple(range(len(categories))) if states is None else states
    if len(categories) != len(states):
        raise ValueError(
            f"{what} has {len(categories)} categories, but its node has {len(states)} states: give as many, "
            "those included that no cell has, or recode them as numbers"
        )
    number = dict(zip(categories, states, strict=True))
    return np.array([number[value] for value in present], dtype=np.float64)


def number_of(value: Any) -> float | None:
    """Return the number that a value is, or that its text is; None of truth values and other texts."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    is_number = isinstance(value, Number) and not isinstance(value, bool | np.bool_)
    return float(value) if is_number else None


def n_categories(column: Column) -> int:
    """Count the states that ordered categories stand for; 0 without."""
    labels = column.categories or []
    if labels and all(_NUMBER.fullmatch(label.strip()) for label in labels):
        return int(max(map(float, labels))) + 1
    return len(labels)


Ends = tuple[float, float]
"""Smallest and largest value of a column of measurements."""


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


def dependent_columns(values: np.ndarray, is_missing: np.ndarray, names: Sequence) -> list[list[Any]]:
    """Find sets of columns (n, d) of which one is a linear function of the others, up to rounding.

    Told from the complete rows; where there are no more than columns, nothing is.

    `values` (n, d): finite where not missing. `is_missing` (n, d) bool. `names` sequence of d: of the
    columns. Returns list of lists of names: the column that depends on the others of its set comes last,
    and is in no other set.
    """
    complete = values[~is_missing.any(axis=1)]
    n, d = complete.shape
    if d < 2 or n <= max(2, d):
        return []
    deviations = complete - complete.mean(axis=0)
    scale = np.abs(deviations).max(axis=0)  # squares of columns in units of 1e-200 would vanish
    varies = np.flatnonzero(scale > 0.0)
    z = deviations[:, varies] / scale[varies]
    z /= np.sqrt((z**2).sum(axis=0))
    least = LEFT if n > d + MORE_ROWS else EXACT
    C = z.T @ z
    if not len(varies) or np.linalg.eigvalsh(C)[0] > least:  # no column has less left
        return []
    found, basis = [], np.zeros(0, dtype=np.int64)
    for j in range(len(varies)):
        slopes = np.linalg.solve(C[np.ix_(basis, basis)], C[basis, j])
        left = z[:, j] - z[:, basis] @ slopes
        if left @ left > least:
            basis = np.append(basis, j)
            continue
        members = [*basis[np.abs(slopes) > MEMBER].tolist(), j]
        found.append([names[varies[k]] for k in members])
    return found


def told_of(dependent: list[list[Any]]) -> str:
    """Say which sets of `dependent_columns` there are."""
    sets = [
        f"{c[-1]} is a multiple of {c[0]}, up to a constant"
        if len(c) == 2
        else f"{c[-1]} is a sum of multiples of {_sum_of(c[:-1])}, up to a constant"
        for c in dependent[:3]
    ]
    more = f"; {len(dependent) - 3} more are such sums" if len(dependent) > 3 else ""
    return "; ".join(sets) + more


def _sum_of(names: list) -> str:
    return few(names, 8) if len(names) > 8 else f"{few(names[:-1], 8)} and {names[-1]}"
