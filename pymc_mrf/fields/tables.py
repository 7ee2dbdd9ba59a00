"""Tables of answers: columns by name, missing cells, categories; of pandas, polars, pyarrow and xarray."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, first_cell, numeric_array, repeated, sequence
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import as_graph

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


class Answers(NamedTuple):
    """Columns of a table in the order of the nodes.

    Attributes
    ----------
    values : (n, d) int64 array, or float64 array
        Floats only where a cell holds no whole number; 0 where it is missing.
    is_missing : (n, d) bool array
    rows : list
        Labels of the rows, or their numbers.
    """

    values: np.ndarray
    is_missing: np.ndarray
    rows: list


class Prepared(NamedTuple):
    """A table as arrays and coordinates.

    Attributes
    ----------
    array : (n, d) int64 array
        States, columns in the order of the nodes; a masked array if cells are missing.
    mask : (n, d) bool array
        Which cells are missing.
    coords : dict
        "node", "edge" and "row", for `pymc.Model(coords=...)`.
    """

    array: np.ndarray
    mask: np.ndarray
    coords: dict[str, list]


class Column(NamedTuple):
    """A column as its library has it; `categories` are those of a categorical one if they are ordered."""

    values: Any
    is_missing: np.ndarray
    is_categorical: bool = False
    categories: list | None = None

    def present(self) -> list:
        """Return the values of the cells that are not missing."""
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


def prepare(table: Any, graph: Any, *, columns: Sequence | None = None) -> Prepared:
    """Read a table of answers by the names of its columns.

    `observed` of every field reads tables by itself; this is for those who want to see or to change the
    arrays before, or to put them into `pm.Data`, which forgets names and refuses missing cells.

    Parameters
    ----------
    table : pandas.DataFrame, polars.DataFrame, pyarrow.Table or xarray.DataArray (rows, nodes)
        One row for each observation. Columns are found by the names of the nodes, in any order. Cells
        without a value (NaN, None, ``pandas.NA``, null) are missing. Numbers are states, False and True are
        0 and 1. Categories that are numbers are these numbers; other ordered categories (``ordered=True`` in
        pandas, ``polars.Enum``) are 0, 1, ... in their order.
    graph : networkx.Graph or PairwiseGraph
    columns : sequence, optional
        Names of the columns that are the nodes, in node order, if they are others; further columns are
        ignored.

    Returns
    -------
    Prepared
        The named tuple (array, mask, coords).

    Raises
    ------
    TypeError
        If `table` has no named columns.
    ValueError
        If a node has no column or, without `columns`, a column no node; if a column holds text, categories
        without an order that are no numbers, or numbers that are not whole.

    Examples
    --------
    >>> graph = pymc_mrf.graphs.complete(df.columns)
    >>> array, mask, coords = pymc_mrf.prepare(df, graph)
    >>> with pm.Model(coords=coords):
    ...     weight = pm.Normal("weight", 0, 1, dims="edge")
    ...     pymc_mrf.BoltzmannMachine("x", weight, graph=graph, observed=array)
    """
    graph = as_graph(graph)
    answers = read_answers(table, graph.nodes, None, "table", columns)
    if answers is None:
        raise TypeError(
            f"table must be a data frame, a pyarrow table or a DataArray (rows, nodes) with coordinates, not "
            f"{type(table).__name__}: an array has no names, and its columns follow the order of the nodes"
        )
    array, is_missing = answers.values, answers.is_missing
    if array.dtype.kind == "f":
        row, node = first_cell(~np.isfinite(array) | (array != np.round(array)))
        raise ValueError(
            f"table: row {row} of {graph.nodes[node]!r} is {array[row, node]:g}, but states are "
            f"whole numbers: recode it, or, {MEASUREMENTS}"
        )
    if is_missing.any():
        array = np.ma.masked_array(array, is_missing)
    return Prepared(array, is_missing, {**coords(graph), "row": answers.rows})


def read_answers(
    table: Any,
    nodes: Sequence,
    states: Sequence[tuple] | None,
    name: str,
    columns: Sequence | None = None,
) -> Answers | None:
    """Read the columns of the nodes from a table; None if `table` is none whose columns can have names.

    Columns are found by the names of the nodes in any order, numbers and their texts being the same; columns
    that are only numbered, 0, 1, ..., stand for the nodes in their order.

    Cells without a value (NaN, None, ``pandas.NA``, null) are missing. Numbers are states themselves, False
    and True the numbers 0 and 1. Categories that are numbers are these numbers; other ordered categories
    (ordered in pandas and pyarrow, ``Enum`` in polars) are the states in their order.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray; or any
    nodes : sequence of d hashables
    states : sequence of d tuples, optional
        States of each node; ordered categories are 0, 1, ... without.
    name : str
        Of the argument, for messages.
    columns : sequence, optional
        Names of the columns that are the nodes, in node order, if they are others; further columns are
        ignored.

    Raises
    ------
    ValueError
        If a node has no column or a column no node, or a column holds text, unordered categories that are no
        numbers, or not as many categories as its node has states.
    """

    def numbers(column: Column, i: int, label: Any) -> np.ndarray:
        own = None if states is None else states[i]
        return column_numbers(column, own, f"{name}: column {label!r}")

    answers = read_nodes(table, nodes, name, columns, numbers)
    if answers is None:
        return None
    whole = np.where(np.isfinite(answers.values), answers.values, 0.0).astype(np.int64)
    return answers._replace(values=whole) if np.array_equal(whole, answers.values) else answers


def read_nodes(
    table: Any, nodes: Sequence, name: str, columns: Sequence | None, numbers: Numbers
) -> Answers | None:
    """Read the columns of the nodes from a table; None if `table` is none whose columns can have names.

    `numbers` reads each; for other arguments and errors see `read_answers`.
    """
    found = as_table(table)
    if found is None:
        if columns is not None:
            raise ValueError(
                f"{name} is no table whose columns have names, so that columns={columns!r} has no meaning: "
                "leave it out, or give a data frame"
            )
        return None
    check_names(found, name)
    return read_places(found, positions(found, list(nodes), columns, name), numbers)


def read_places(table: Table, places: Sequence[int], numbers: Numbers) -> Answers:
    """Read the columns at `places` of a table, in this order, by `numbers`."""
    values, is_missing = [], []
    for i, k in enumerate(places):
        column = table.column(k)
        values.append(numbers(column, i, table.names[k]))
        is_missing.append(column.is_missing)
    return Answers(np.stack(values, axis=1), np.stack(is_missing, axis=1), table.rows)


def check_names(table: Table, name: str) -> None:
    """Refuse a table of which two columns have one name."""
    if twice := repeated(table.names):
        raise ValueError(f"{name} has two columns {twice[0]!r}: drop or rename one of them")


def count_states(x: Any, nodes: Sequence, name: str, columns: Sequence | None = None) -> list[int]:
    """Count the states 0, 1, ... of each node in data (..., d), missing cells left out.

    They go up to the largest that a cell has; of ordered categories up to the last.

    Parameters
    ----------
    x : array_like, masked array or table
    nodes : sequence of d hashables
    name : str
        Of the argument, for messages.
    columns : sequence, optional
        As for `read_answers`.

    Raises
    ------
    ValueError
        If a node has no cell with a value, or none has the state 0.
    """
    answers, table = read_answers(x, nodes, None, name, columns), as_table(x)
    if answers is None or table is None:
        values, is_missing = numeric_array(np.ma.getdata(x), name), np.ma.getmaskarray(x)
        fewest = [0] * len(nodes)
    else:
        values, is_missing = answers.values, answers.is_missing
        where = positions(table, list(nodes), columns, name)
        fewest = [_n_categories(table.column(k)) for k in where]
    if values.ndim == 0 or values.shape[-1] != len(nodes):
        return [2] * len(nodes)  # of data that `observed_values` refuses
    is_missing = is_missing | ~np.isfinite(values)
    if (values[~is_missing] < 0).any():
        cell = first_cell(~is_missing & (values < 0))
        raise ValueError(
            f"{name}{list(cell)} is {values[cell]:g}, but states count from 0: mask it if it stands for a "
            "missing value, as with numpy.ma.masked_less(x, 0), recode it with pymc_mrf.recode_states, or "
            "give n_states"
        )
    rows = np.where(is_missing, -1.0, values).reshape(-1, len(nodes))
    highest = np.maximum(rows.max(axis=0, initial=-1.0), np.array(fewest) - 1)
    empty = np.flatnonzero(highest < 0)
    if len(empty):
        raise ValueError(
            f"{name} has no states 0, 1, ... at {nodes[empty[0]]!r}, from which to count them: give n_states"
        )
    if not any(fewest) and not (rows == 0).any():
        raise ValueError(
            f"{name} has the state 0 nowhere, but states count from 0: recode them, as with "
            "pymc_mrf.recode_states(x, {1: 0, 2: 1, ...}), or give n_states"
        )
    return [int(k) + 1 for k in highest]


def _n_categories(column: Column) -> int:
    """Count the states that ordered categories stand for; 0 without."""
    labels = column.categories or []
    if labels and all(_NUMBER.fullmatch(label.strip()) for label in labels):
        return int(max(map(float, labels))) + 1
    return len(labels)


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


def positions(table: Table, nodes: list, columns: Sequence | None, name: str) -> list[int]:
    """Which column is that of each node."""
    names = table.names
    if columns is not None:
        wanted = sequence(columns, "columns", "names")
        if len(wanted) != len(nodes) or repeated(wanted):
            raise ValueError(
                f"columns must name one column for each of the {len(nodes)} nodes, not {wanted!r}"
            )
        return table.places(wanted, name)
    numbers, texts = list(range(len(nodes))), set(map(str, nodes))
    place = _places(names, nodes)
    absent = [node for node in nodes if node not in place]
    if names == numbers != nodes and not absent:
        raise ValueError(
            f"{name} has the columns 0, 1, ..., which are numbers of columns, or the nodes in another order: "
            "name the columns of the nodes in `columns`, or pass df.to_numpy(), whose columns go by position"
        )
    if not absent:
        extra = [label for k, label in enumerate(names) if k not in place.values()]
        if extra:
            raise ValueError(
                f"{name} has columns that are no nodes of the graph ({', '.join(map(repr, extra[:5]))}): "
                "drop them, or name those of the nodes in `columns`"
            )
        return [place[node] for node in nodes]
    is_transposed = texts <= set(map(str, table.rows)) and table.rows != list(range(len(table.rows)))
    if names in (numbers, [f"column_{k}" for k in numbers]) and not is_transposed:
        return numbers
    remedy = (
        "give the graph the names of the columns, as in pymc_mrf.graphs.complete(df.columns), name the "
        "columns of the nodes in `columns`, or pass df.to_numpy(), whose columns go by position"
    )
    folded = {str(label).casefold().strip(): label for label in names}
    if is_transposed:
        remedy = "its rows are named like nodes: transpose it"
    elif (similar := folded.get(str(absent[0]).casefold().strip())) is not None:
        remedy = f"rename {similar!r}"
    raise ValueError(
        f"{name} has no column {absent[0]!r}, which is a node of the graph"
        + (f", nor {len(absent) - 1} others" if len(absent) > 1 else "")
        + f": {remedy}"
    )


def _places(names: list, nodes: list) -> dict:
    """Position of the column of each node that has one, by its name or, for numbers, by its text."""
    place = {label: k for k, label in enumerate(names)}
    texts = [str(label) for label in names]
    by_text = dict(zip(texts, range(len(names)), strict=True))
    if repeated(texts) or repeated([str(node) for node in nodes]):
        by_text = {}
    found = {node: place.get(node, by_text.get(str(node))) for node in nodes}
    return {node: k for node, k in found.items() if k is not None}


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
