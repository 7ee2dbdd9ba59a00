"""Tables of answers: the columns of nodes, by their names, how many states they have, rows that are equal."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.checks import MEASUREMENTS, first_cell, numeric_array, quoted, repeated, sequence
from pymc_mrf.fields.table_columns import (
    NO_ANSWER,
    Answers,
    Column,
    Numbers,
    Table,
    as_row,
    as_table,
    check_names,
    column_numbers,
    missing_code,
    n_categories,
    read_places,
)
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import as_graph

LARGEST_KEY = 2**62


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
        without an order that are no numbers, numbers that are not whole, or one that stands for missing
        values by all appearances, such as -999.

    Examples
    --------
    >>> graph = pymc_mrf.graphs.complete(df.columns)
    >>> array, mask, coords = pymc_mrf.fields.prepare(df, graph)
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
    _refuse_missing_codes(table, graph.nodes, "table", columns)
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

    `table`: a series, or a DataArray of one dimension, that is labelled by nodes is one row. `nodes`
    sequence of d hashables. `states`: states of each node; ordered categories are 0, 1, ... without.
    `name`: of the argument, for messages. `columns`: names of the columns that are the nodes, in node
    order, if they are others; further columns are ignored. Raises a ValueError if a node has no column
    or a column no node, or a column holds text, unordered categories that are no numbers, or not as many
    categories as its node has states.
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
    found = as_table(table) or as_row(table)
    if found is None:
        if columns is not None:
            raise ValueError(
                f"{name} is no table whose columns have names, so that columns={columns!r} has no meaning: "
                "leave it out, or give a data frame"
            )
        return None
    check_names(found, name)
    return read_places(found, positions(found, list(nodes), columns, name), numbers)


def count_states(x: Any, nodes: Sequence, name: str, columns: Sequence | None = None) -> list[int]:
    """Count the states 0, 1, ... of each node in data (..., d), missing cells left out.

    They go up to the largest that a cell has; of ordered categories up to the last.

    `nodes` sequence of d hashables. `name`: of the argument, for messages. `columns`: as for
    `read_answers`. Raises a ValueError if a node has no cell with a value, or none has the state 0, or a
    column of a table has a number that stands for missing values by all appearances.
    """
    answers = read_answers(x, nodes, None, name, columns)
    if answers is None:
        values, is_missing = numeric_array(np.ma.getdata(x), name), np.ma.getmaskarray(x)
        fewest = [0] * len(nodes)
    else:
        values, is_missing = answers.values, answers.is_missing
        fewest = [n_categories(column) for column in _refuse_missing_codes(x, nodes, name, columns)]
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


def _refuse_missing_codes(x: Any, nodes: Sequence, name: str, columns: Sequence | None) -> list[Column]:
    """Return the columns of the nodes; refuse a number that seems to stand for missing values."""
    table = as_table(x) or as_row(x)
    if table is None:
        return []
    found = [table.column(k) for k in positions(table, list(nodes), columns, name)]
    for node, column in zip(nodes, found, strict=True):
        if not n_categories(column) and (reason := missing_code(column, NO_ANSWER)):
            raise ValueError(f"{name}: column {node!r} {reason}")
    return found


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
                f"{name} has columns that are no nodes of the graph ({quoted(extra, 5)}): "
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


class DistinctRows(NamedTuple):
    """Rows of a matrix (n, d), each once.

    `rows` (m, d): in lexicographic order; of the type of the matrix. `counts` (m,) float: how often each
    occurs. `where` (n,) int: which of them each row of the matrix is.
    """

    rows: np.ndarray
    counts: np.ndarray
    where: np.ndarray


def distinct_rows(x: np.ndarray) -> DistinctRows:
    """Count the rows of `x` (n, d), integers.

    A row is one number whose digits are its entries, which is much faster than `numpy.unique` along an axis.
    Where numbers would become too large, ranks take their place.
    """
    key, n_keys = np.zeros(len(x), dtype=np.int64), 1
    for column in x.T.astype(np.int64):
        low, base = int(column.min()), int(column.max()) - int(column.min()) + 1
        if n_keys * base > LARGEST_KEY:
            (key, n_keys), (column, base), low = _ranks(key), _ranks(column), 0
        key = key * base + (column - low)
        n_keys *= base
    _, first, where, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return DistinctRows(x.take(first, axis=0), counts.astype(np.float64), where)


def _ranks(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Which of the different values each of them is, and how many these are."""
    different, rank = np.unique(values, return_inverse=True)
    return rank, len(different)
