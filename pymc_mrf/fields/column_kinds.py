"""What a table was: its columns, measurements or answers of either kind, and how rows of it are read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import check_option, quoted, repeated, warn_user
from pymc_mrf.fields.families import states_of
from pymc_mrf.fields.family import Family, contrasts
from pymc_mrf.fields.gaussian import check_measurements, measurements
from pymc_mrf.fields.table_columns import (
    MEASURED_SO,
    NOT_MEASURED,
    Answers,
    Column,
    Ends,
    as_numbered_table,
    as_table,
    column_numbers,
    dependent_columns,
    ends_of,
    missing_code,
    number_of,
    read_places,
)
from pymc_mrf.fields.tables import positions, read_nodes
from pymc_mrf.graph.structure import PairwiseGraph, as_graph

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("continuous", "ordinal", "nominal")

TRUTH = ("False", "True")
"""Labels of the states of truth values."""


@dataclass(frozen=True)
class ColumnKinds:
    """What each column of a table is: a measurement, or an answer with an order or without.

    It is the record of a table: by it `encode` reads further rows as the first ones were read.

    Attributes
    ----------
    names : tuple of d hashables
        Of the columns.
    kinds : tuple of d str
        "continuous", "ordinal" or "nominal".
    n_states : tuple of d int
        States of each, 0, 1, ...; none of continuous columns.
    labels : tuple of d tuples
        What the table writes for each state, a text or a number; nothing where these are the states
        themselves.
    ends : tuple of d pairs of float, or None
        Smallest and largest measurement of the first rows, by which further rows are checked for numbers that
        stand for missing values; None of answers, and where they are not known.
    """

    names: tuple[Any, ...]
    kinds: tuple[str, ...]
    n_states: tuple[int, ...]
    labels: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    ends: tuple[Ends | None, ...] = field(default=(), repr=False, compare=False)

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
        if not self.ends:
            object.__setattr__(self, "ends", (None,) * len(self.names))
        if not self.labels:
            object.__setattr__(self, "labels", ((),) * len(self.names))
        for name, k, labels in zip(self.names, self.n_states, self.labels, strict=True):
            if labels and len(set(map(_key, labels))) != k:
                raise ValueError(
                    f"column {name!r} has {k} states, but the labels {labels}: give one of each"
                )

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
            "state": self.state_labels,
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
                f"the columns are {quoted(self.names, 5)}, but the graph has the nodes "
                f"{quoted(graph.nodes, 5)}: make it with the names of the columns in their order, as "
                "pymc_mrf.graphs.complete(kinds.names)"
            )
        return graph

    @cached_property
    def state_labels(self) -> list:
        """What states are called in all answers, of which some may have fewer; numbers where they differ."""
        own = [self.labels[i] or tuple(range(self.n_states[i])) for i in self.answers]
        longest = max(own, key=len, default=())
        keys = list(map(_key, longest))
        agree = all(list(map(_key, labels)) == keys[: len(labels)] for labels in own)
        return list(longest if agree else range(len(longest)))

    def of_states(self) -> "ColumnKinds":
        """Return the same columns as read from tables of states 0, 1, ..., and of any measurements."""
        return replace(self, labels=(), ends=())

    def with_ends(self, rows: np.ndarray) -> "ColumnKinds":
        """Return the same record, with the ends of measurements of `rows` (n, d) where none are known."""
        x = np.ma.masked_invalid(np.ma.asarray(rows, dtype=np.float64))
        x = x.reshape(-1, len(self.names))
        found = [
            ends_of(Column(x.data[:, i], np.ma.getmaskarray(x)[:, i])) if is_measured else None
            for i, is_measured in enumerate(self.is_measured)
        ]
        pairs = zip(self.ends, found, strict=True)
        return replace(self, ends=tuple(own or other for own, other in pairs))

    def encode(self, table: Any) -> "pd.DataFrame":
        """Read further rows of the table as the first ones were read; NaN where a cell is missing.

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
            If it is no table, a column is missing or of another kind, or an answer is none of the first rows.
        """
        import pandas as pd

        read = self.read(table, "table", is_first=False)
        if read is None:
            raise TypeError(
                f"table must have named columns, as a data frame has, not {type(table).__name__}"
            )
        values = np.where(read.is_missing, np.nan, read.values)
        return pd.DataFrame(values, index=read.rows, columns=list(self.names))

    def decode(self, x: Any) -> "pd.DataFrame":
        """Write rows of states and measurements, such as predictive draws, as the table writes them.

        Parameters
        ----------
        x : (n, d) array_like, or masked array
            Columns in the order of `names`; masked cells and NaN are missing.

        Returns
        -------
        pandas.DataFrame
            Ordinal answers that are texts are ordered categories.

        Raises
        ------
        ValueError
            If a cell is no state of its column.
        """
        import pandas as pd

        read = self.of_states().read_rows(np.ma.asarray(x), "x")
        columns: dict = {}
        for i, name in enumerate(self.names):
            values, is_missing, labels = read.values[:, i], read.is_missing[:, i], self.labels[i]
            if not labels:
                columns[name] = np.where(is_missing, np.nan, values) if is_missing.any() else values
                if self.kinds[i] != "continuous" and not is_missing.any():
                    columns[name] = values.astype(np.int64)
                continue
            if labels == TRUTH:
                columns[name] = pd.array(np.where(is_missing, None, values == 1), dtype="boolean")
                continue
            codes = np.where(is_missing, -1, values).astype(np.int64)
            is_ordered = self.kinds[i] == "ordinal"
            of_codes = pd.Categorical.from_codes(codes, list(labels), ordered=is_ordered)
            is_text = any(isinstance(v, str) for v in labels)
            columns[name] = of_codes if is_text else np.asarray(of_codes)
        return pd.DataFrame(columns)

    def written(self, states: np.ndarray) -> np.ndarray:
        """Write states (..., d) of answers, counted from 0, as the table writes them.

        Returns
        -------
        (..., d) array
            Whole numbers if all labels are, texts if all are, else objects.
        """
        own = [self.labels[i] or tuple(range(k)) for i, k in enumerate(self.n_states)]
        every = [label for labels in own for label in labels]
        of_numbers = all(number_of(v) is not None and not isinstance(v, str) for v in every)
        is_whole = of_numbers and all(v == round(v) for v in every)
        of_texts = all(isinstance(v, str) for v in every)
        kind: Any = np.int64 if is_whole else str if of_texts else object
        columns = [np.array(labels, dtype=kind)[states[..., i]] for i, labels in enumerate(own)]
        return np.stack(columns, axis=-1)

    def read(
        self, table: Any, name: str, columns: Sequence | None = None, *, is_first: bool = True
    ) -> Answers | None:
        """Read states and measurements from a table; None if `table` is none whose columns can have names.

        Parameters
        ----------
        table : DataFrame of pandas or polars, pyarrow.Table or 2-d xarray.DataArray; or any
        name : str
            Of the argument, for messages.
        columns : sequence, optional
            What the columns are called in this table, in the same order, if that is anything else.
        is_first : bool
            Whether a field is made of the table: numbers that stand for missing values by all appearances are
            then refused in measurements. In further rows they are refused if the first ones with these rows
            would be; a warning tells of them where the ends of the first ones are not known.

        Raises
        ------
        ValueError
            If a column is missing, too many or of another kind, or has an answer that is none of its states.
        """

        def numbers(column: Column, i: int, label: Any) -> np.ndarray:
            what = f"{name}: column {label!r}"
            return self._numbers(column, i, what, is_first)

        if not is_first:
            self._check_columns(table, name)
        answers = read_nodes(table, self.names, name, columns, numbers)
        if answers is not None:
            self.check_states(answers.values, answers.is_missing, name)
        return answers

    def read_rows(self, data: Any, name: str) -> Answers:
        """Read rows from a table as `read` does, or from an array, whose columns go by position."""
        answers = self.read(data, name, is_first=False)
        if answers is not None:
            return answers
        table, d = as_numbered_table(data, name), len(self.names)
        if len(table.names) != d:
            shape = len(table.rows), len(table.names)
            raise ValueError(f"{name} has shape {shape}; give rows of the {d} nodes")

        def numbers(column: Column, i: int, label: Any) -> np.ndarray:
            return self._numbers(column, i, f"{name}: column {self.names[i]!r}", is_first=False)

        answers = read_places(table, range(d), numbers)
        self.check_states(answers.values, answers.is_missing, name)
        return answers

    def _check_columns(self, rows: Any, name: str) -> None:
        """Refuse further rows that lack some of the columns, or have others."""
        if (table := as_table(rows)) is None:
            return
        own, known = set(map(str, self.names)), set(map(str, table.names))
        absent = [label for label in self.names if str(label) not in known]
        other = [label for label in table.names if str(label) not in own]
        if 0 < len(absent) < len(self.names):
            is_mixed = 0 < self.kinds.count("continuous") < len(self.names)  # rows must be complete
            unknown = "" if is_mixed else ", with missing values where they are not known"
            raise ValueError(
                f"{name} lacks {quoted(absent, 5)}, columns of the table that the field was made of: add "
                f"them{unknown}"
            )
        if other and not absent:
            raise ValueError(
                f"{name} has {quoted(other, 5)}, no columns of the table that the field was made of: drop "
                "them"
            )

    def _numbers(self, column: Column, i: int, what: str, is_first: bool) -> np.ndarray:
        """Read states or measurements (n,) of column i, 0.0 where they are missing."""
        k, labels = self.n_states[i], self.labels[i]
        if self.kinds[i] == "continuous":
            found = measurements(column, what)
            ends = None if is_first else self.ends[i]
            if reason := missing_code(column, NOT_MEASURED if is_first else MEASURED_SO, ends):
                if is_first or ends is not None:
                    raise ValueError(f"{what} {reason}")
                warn_user(f"{what} {reason}")
            return found
        if not labels or (_is_of_numbers(column) and all(number_of(v) is None for v in labels)):
            return column_numbers(column, tuple(range(k)), what)
        of_label = {_key(label): state for state, label in enumerate(labels)}
        out = np.zeros(len(column.is_missing))
        present = column.present()
        keys = list(map(_key, present))
        strange = [v for v, key in zip(present, keys, strict=True) if key not in of_label]
        if strange:
            raise ValueError(
                f"{what} has the answer {_python_value(strange[0])!r}, which is none of those of the table "
                f"that it was read from ({quoted(labels)}); {len(strange)} such cells: recode them, "
                "or make them missing values"
            )
        out[~column.is_missing] = [of_label[key] for key in keys]
        return out

    def check_states(self, values: np.ndarray, is_missing: np.ndarray, name: str) -> None:
        """Refuse cells of `values` (n, d) that are no states of their columns; errors call these `name`."""
        for i in self.answers:
            x, k, column = values[:, i], self.n_states[i], self.names[i]
            wrong = ~np.isin(x, np.arange(k)) & ~is_missing[:, i]
            if wrong.any():
                row = int(wrong.argmax())
                raise ValueError(
                    f"{name} is {x[row]:g} in row {row} of {column!r}, which is {self.kinds[i]} with the "
                    f"states 0 to {k - 1}; {int(wrong.sum())} such cells: recode them, or tell how many "
                    "states there are when the field is declared, by n_states, as with "
                    f"pymc_mrf.column_kinds(..., n_states={{{column!r}: ...}})"
                )

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


def _key(value: Any) -> Any:
    """Return what tells an answer from others: a number, also if it is written as a text, or a text."""
    found = number_of(value)
    return str(value) if found is None else found


def _python_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_of_numbers(column: Column) -> bool:
    return isinstance(column.values, np.ndarray) and column.values.dtype.kind in "iuf"


def kinds_of_states(nodes: Sequence, family: Family) -> ColumnKinds:
    states = family.node_states(len(nodes))
    kind = "nominal" if family.is_categorical or family.has_blocks else "ordinal"
    labels = tuple(() if own == tuple(range(len(own))) else own for own in states)
    return ColumnKinds(tuple(nodes), (kind,) * len(nodes), tuple(map(len, states)), labels)


def kinds_of_measurements(nodes: Sequence) -> ColumnKinds:
    return ColumnKinds(tuple(nodes), ("continuous",) * len(nodes), (0,) * len(nodes))


def kinds_of_answers(
    value: Any, nodes: Sequence, family: Family, columns: Sequence | None, name: str
) -> ColumnKinds | None:
    """Return the record of a table of answers; None if `value` is none whose columns have names.

    For arguments see `pymc_mrf.fields.tables.read_answers`, which reads it.
    """
    table = as_table(value)
    if table is None:
        return None
    record = kinds_of_states(nodes, family)
    labels = list(record.labels)
    for i, k in enumerate(positions(table, list(nodes), columns, name)):
        categories = table.column(k).categories or []
        if any(number_of(text) is None for text in categories):
            labels[i] = tuple(categories)
    return replace(record, labels=tuple(labels))


def check_mixed(
    values: np.ndarray,
    is_missing: np.ndarray,
    kinds: ColumnKinds,
    name: str,
    *,
    needs_spread: bool = True,
) -> list[list[Any]]:
    """Refuse cells that are no states of their columns, and measurements that have no precision.

    `values` and `is_missing` are (n, d), `name` is that of the argument. Returns the `dependent_columns`
    among measurements and answers with an order, if one of them is measured.
    """
    kinds.check_states(values, is_missing, name)
    m = kinds.measurements
    measured = [kinds.names[i] for i in m]
    check_measurements(values[:, m], is_missing[:, m], measured, name, needs_spread=needs_spread)
    places = [i for i in kinds.answers if kinds.kinds[i] != "nominal"] + list(m)  # measurements last
    names = [kinds.names[i] for i in places]
    found = dependent_columns(values[:, places], is_missing[:, places], names)
    return [columns for columns in found if {kinds.names[i] for i in m}.intersection(columns)]
