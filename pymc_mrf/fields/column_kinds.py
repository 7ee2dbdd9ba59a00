"""What the columns of a table are, measurements or answers of either kind, and tables of such columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import check_option, repeated
from pymc_mrf.fields.dependence import dependent_columns
from pymc_mrf.fields.family import contrasts
from pymc_mrf.fields.gaussian import check_measurements
from pymc_mrf.fields.state_numbers import states_of
from pymc_mrf.fields.table_columns import Answers, Column, as_numbered_table, column_numbers
from pymc_mrf.fields.tables import read_nodes
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("continuous", "ordinal", "nominal")


@dataclass(frozen=True)
class ColumnKinds:
    """What each column of a table is: a measurement, or an answer with an order or without.

    Attributes
    ----------
    names : tuple of d hashables
        Of the columns.
    kinds : tuple of d str
        "continuous", "ordinal" or "nominal".
    n_states : tuple of d int
        States of each, 0, 1, ...; none of continuous columns.
    labels : tuple of d tuples
        What each state is called, if that is anything but its number.
    """

    names: tuple[Any, ...]
    kinds: tuple[str, ...]
    n_states: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse kinds that there are not, numbers of states that they cannot have, and a name twice."""
        if not len(self.names) == len(self.kinds) == len(self.n_states):
            raise ValueError(
                f"names, kinds and n_states must have one entry for each column, but have {len(self.names)}, "
                f"{len(self.kinds)} and {len(self.n_states)}"
            )
        if twice := repeated(self.names):
            raise ValueError(f"there are two columns {twice[0]!r}: drop or rename one of them")
        for name, kind, k in zip(self.names, self.kinds, self.n_states, strict=True):
            check_option(kind, f"the kind of column {name!r}", KINDS)
            if kind == "continuous" and k:
                raise ValueError(f"column {name!r} is continuous and has no states, but n_states is {k}")
            if kind != "continuous":
                states_of(k, f"n_states of column {name!r}")

    @cached_property
    def is_measured(self) -> np.ndarray:
        """Whether each column holds measurements, (d,)."""
        return np.array(self.kinds) == "continuous"

    @cached_property
    def answers(self) -> np.ndarray:
        """Which columns hold answers, (a,)."""
        return np.flatnonzero(~self.is_measured)

    @cached_property
    def measurements(self) -> np.ndarray:
        """Which columns hold measurements, (c,)."""
        return np.flatnonzero(self.is_measured)

    @cached_property
    def n_features(self) -> np.ndarray:
        """Numbers of features of the columns, (d,): contrasts of the states of nominal ones, else one."""
        return np.where(
            np.array(self.kinds) == "nominal", np.array(self.n_states, dtype=np.int64) - 1, 1
        )

    def block_sizes(self, graph: Any) -> np.ndarray:
        """Count the parameters of each edge of a graph of these columns, (r,): `blocks` of a `SpikeAndSlab`.

        Parameters
        ----------
        graph : networkx.Graph or PairwiseGraph
        """
        graph = self.checked(graph)
        return np.prod(self.n_features[graph.edges], axis=1)

    def edge_kinds(self, graph: Any) -> np.ndarray:
        """Tell what is at the ends of each edge, (r,): 0 two answers, 1 one of each, 2 two measurements.

        Parameters
        ----------
        graph : networkx.Graph or PairwiseGraph
        """
        graph = self.checked(graph)
        return self.is_measured[graph.edges].sum(axis=1)

    def coords(self, graph: Any) -> dict[str, list]:
        """Return coordinates of a model: those of nodes and edges, and of the parameters of a `MixedMRF`.

        Parameters
        ----------
        graph : networkx.Graph or PairwiseGraph

        Returns
        -------
        dict
            "node", "edge", "entry" (of the weights), "answer" and "state" (of the biases), "measurement" (of
            the diagonal and the means).
        """
        graph = self.checked(graph)
        return {
            "node": list(graph.nodes),
            "edge": list(graph.edge_labels),
            "entry": self.entry_labels(graph),
            "answer": [self.names[i] for i in self.answers],
            "state": list(range(max(self.n_states))),
            "measurement": [self.names[i] for i in self.measurements],
        }

    def entry_labels(self, graph: PairwiseGraph) -> list[str]:
        """Labels "u--v" of the weights, "u--v[k,l]" where an edge has several, k and l counted from 1."""
        labels = []
        for name, (u, v) in zip(graph.edge_labels, graph.edges, strict=True):
            m, n = self.n_features[u], self.n_features[v]
            several = [f"{name}[{k + 1},{l + 1}]" for k in range(m) for l in range(n)]
            labels += several if m * n > 1 else [name]
        return labels

    def checked(self, graph: Any) -> PairwiseGraph:
        """Return the graph, refused if its nodes are other than the columns."""
        graph = as_graph(graph)
        if list(graph.nodes) != list(self.names):
            raise ValueError(
                f"the columns are {_few(self.names)}, but the graph has the nodes {_few(graph.nodes)}: make "
                "it with the names of the columns in their order, as pymc_mrf.graphs.complete(kinds.names)"
            )
        return graph

    def encode(self, table: Any) -> "pd.DataFrame":
        """Read states and measurements of a table, as a `MixedMRF` does; NaN where a cell is missing.

        Parameters
        ----------
        table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray
            With these columns, in any order.

        Returns
        -------
        pandas.DataFrame
            States 0, 1, ... of answers, and measurements, as floats.

        Raises
        ------
        TypeError, ValueError
            If it is no table, or a column is of another kind.
        """
        import pandas as pd

        read = read_mixed(table, self, "table")
        if read is None:
            raise TypeError(
                f"table must have named columns, as a data frame has, not {type(table).__name__}"
            )
        values = np.where(read.is_missing, np.nan, read.values)
        return pd.DataFrame(values, index=read.rows, columns=list(self.names))

    def feature_norms(self) -> np.ndarray:
        """Norm over the states of the features of each node, (d,): 1 of contrasts, and of measurements."""
        norms = np.ones(len(self.names))
        for i, F in zip(self.answers, self.features(), strict=True):
            norms[i] = np.linalg.norm(F[0])
        return norms

    def features(self) -> list[np.ndarray]:
        """Features (m, K) of each answer: contrasts of nominal states; else numbers about their middle."""
        found = []
        for i in self.answers:
            k = self.n_states[i]
            of_order = np.arange(k)[None] - 0.5 * (k - 1)
            found.append(contrasts(k, k) if self.kinds[i] == "nominal" else of_order)
        return found


def _few(labels: Sequence) -> str:
    more = f", ... ({len(labels)})" if len(labels) > 4 else ""
    return ", ".join(map(repr, list(labels)[:4])) + more


def column_kinds(
    table: Any, kinds: Mapping | Sequence | None = None, *, n_states: Mapping | None = None
) -> ColumnKinds:
    """Read from a table what each of its columns is.

    Columns of numbers with decimal places are continuous; truth values and ordered categories are ordinal;
    categories without an order are nominal. Whole numbers may be any of the three: `kinds` tells.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray; or (n, d) array
    kinds : mapping or sequence, optional
        "continuous", "ordinal" or "nominal" for each column, by its name, or for all in their order. Columns
        that a mapping leaves out are read from the table.
    n_states : mapping, optional
        Numbers of states of answers that are whole numbers, by the names of their columns; of others up to
        their largest number.

    Returns
    -------
    ColumnKinds

    Raises
    ------
    ValueError
        If a column holds text or dates, whole numbers of which `kinds` says nothing, or what its kind cannot
        have; if `kinds` or `n_states` names a column that there is not, or a number of states is not that
        of the column.

    Examples
    --------
    >>> pymc_mrf.column_kinds(table, {"age": "continuous", "trust": "ordinal"})
    """
    found = as_numbered_table(table, "table")
    given = dict(zip(found.names, _kinds_in_order(kinds, found.names), strict=True))
    known = _numbers_of_states(n_states, found.names)
    read = [
        _kind_of(found.column(k), given[name], name, known.get(name, 0))
        for k, name in enumerate(found.names)
    ]
    what, counts, labels = zip(*read, strict=True)
    for name, kind, k in zip(found.names, what, counts, strict=True):
        if known.get(name, k) != k:
            has = "is continuous and has no states" if kind == "continuous" else f"has {k} states"
            raise ValueError(
                f"n_states[{name!r}] is {known[name]}, but the column {has}: leave it out, or recode the "
                "column, as with pymc_mrf.recode_states"
            )
    return ColumnKinds(tuple(found.names), what, counts, labels)


def _numbers_of_states(n_states: Any, names: Sequence) -> dict:
    """Return the numbers of states that were given, by the names of columns."""
    if n_states is None:
        return {}
    if not isinstance(n_states, Mapping):
        raise TypeError(f"n_states must be a mapping, numbers by the names of columns, not {n_states!r}")
    _check_named(n_states, "n_states", names)
    return {name: len(states_of(k, f"n_states[{name!r}]")) for name, k in n_states.items()}


def _check_named(given: Mapping, option: str, names: Sequence) -> None:
    """Refuse a mapping by columns that names one which there is not."""
    strange = [name for name in given if name not in names]
    if strange:
        raise ValueError(f"{option} names {strange[0]!r}, but the table has no such column")


def _kinds_in_order(kinds: Any, names: Sequence) -> list:
    """Return the kind of each column that was given, None of others."""
    if kinds is None:
        return [None] * len(names)
    if isinstance(kinds, Mapping):
        _check_named(kinds, "kinds", names)
        return [kinds.get(name) for name in names]
    if isinstance(kinds, str) or len(kinds) != len(names):
        raise ValueError(
            f"kinds must be a mapping, or a sequence with one entry for each of the {len(names)} columns, "
            f"not {kinds!r}"
        )
    return list(kinds)


def _kind_of(
    column: Column, kind: str | None, name: Any, least: int = 0
) -> tuple[str, int, tuple[str, ...]]:
    """Kind of a column, its number of states, `least` of numbers, and what these are called."""
    what = f"column {name!r}"
    if kind is not None:
        check_option(kind, f"kinds[{name!r}]", KINDS)
    present = np.array(column.present())
    if not len(present):
        raise ValueError(f"{what} has no values: drop it")
    if column.is_categorical:
        has_order = column.categories is not None
        if kind == "continuous" or (kind == "ordinal" and not has_order):
            remedy = 'order them (ordered=True in pandas), or say "nominal"'
            raise ValueError(
                f"{what} has categories{'' if has_order else ' without an order'}: {remedy}"
            )
        labels = tuple(column.categories or sorted(set(map(str, present))))
        return kind or ("ordinal" if has_order else "nominal"), _at_least_two(len(labels), what), labels
    if present.dtype.kind == "b":
        if kind == "continuous":
            raise ValueError(f'{what} holds truth values, which are no measurements: say "ordinal"')
        return kind or "ordinal", 2, ("False", "True")
    if present.dtype.kind not in "iuf":
        if isinstance(present[0], str):
            raise ValueError(
                f"{what} holds text, such as {str(present[0])!r}: make it categorical, as with "
                "table.astype('category'), ordered if it is ordinal, or drop it"
            )
        raise ValueError(
            f"{what} holds {present[0]!r}, which is no number and no category: make dates and durations "
            "numbers, as the days since the first of them, or drop it"
        )
    whole = bool((present == np.round(present)).all())
    if kind is None:
        if whole:
            raise ValueError(
                f"{what} holds whole numbers, which may be measurements or answers: say which, as in "
                f'kinds={{{name!r}: "continuous"}}, "ordinal" or "nominal"'
            )
        kind = "continuous"
    if kind == "continuous":
        return kind, 0, ()
    if not whole or present.min() < 0:
        wrong = present[(present != np.round(present)) | (present < 0)][0]
        raise ValueError(
            f"{what} is {kind}, whose states are 0, 1, ..., but has the value {wrong:g}: recode it, as with "
            'pymc_mrf.recode_states, or say "continuous"'
        )
    return kind, _at_least_two(max(int(present.max()) + 1, least), what), ()


def _at_least_two(n: int, what: str) -> int:
    if n < 2:
        raise ValueError(f"{what} has one state only: drop it")
    return n


def read_mixed(
    table: Any, kinds: ColumnKinds, name: str, columns: Sequence | None = None
) -> Answers | None:
    """Read states and measurements of the nodes from a table; None if `table` is none with named columns.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray; or any
    kinds : ColumnKinds
    name : str
        Of the argument, for messages.
    columns : sequence, optional
        Names of the columns that are the nodes, in node order, if they are others.

    Raises
    ------
    ValueError
        If a node has no column or a column no node, or a column is of another kind than `kinds` say.
    """

    def numbers(column: Column, i: int, label: Any) -> np.ndarray:
        what = f"{name}: column {label!r}"
        labels = kinds.labels[i] if kinds.labels else ()
        if not (column.is_categorical and labels):
            _kind_of(column, kinds.kinds[i], label, kinds.n_states[i])
            return column_numbers(column, None, what).astype(np.float64)
        present = list(map(str, column.present()))
        strange = [v for v in present if v not in labels]
        if strange:
            raise ValueError(
                f"{what} has the category {strange[0]!r}, which is none of those of `kinds`: "
                f"{', '.join(map(repr, labels))}"
            )
        states = np.zeros(len(column.is_missing))
        states[~column.is_missing] = [labels.index(v) for v in present]
        return states

    return read_nodes(table, kinds.names, name, columns, numbers)


def check_mixed(
    values: np.ndarray, is_missing: np.ndarray, kinds: ColumnKinds, name: str
) -> list[list[Any]]:
    """Refuse cells that are no states of their columns, and measurements that have no precision.

    Parameters
    ----------
    values : (n, d) array
    is_missing : (n, d) bool array
    kinds : ColumnKinds
    name : str
        Of the argument, for messages.

    Returns
    -------
    list of lists of names
        The `dependent_columns` among measurements and answers with an order, if one of them is measured.

    Raises
    ------
    ValueError
        That names the first such cell.
    """
    for i in kinds.answers:
        x, k = values[:, i], kinds.n_states[i]
        wrong = ~np.isin(x, np.arange(k)) & ~is_missing[:, i]
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{name} is {x[row]:g} in row {row} of {kinds.names[i]!r}, which is {kinds.kinds[i]} with "
                f"the states 0 to {k - 1}; {int(wrong.sum())} such cells: recode them, or tell how many "
                f"states there are, pymc_mrf.column_kinds(..., n_states={{{kinds.names[i]!r}: ...}})"
            )
    m = kinds.measurements
    check_measurements(values[:, m], is_missing[:, m], [kinds.names[i] for i in m], name)
    places = [i for i in kinds.answers if kinds.kinds[i] != "nominal"] + list(m)  # measurements last
    names = [kinds.names[i] for i in places]
    found = dependent_columns(values[:, places], is_missing[:, places], names)
    return [columns for columns in found if {kinds.names[i] for i in m}.intersection(columns)]
