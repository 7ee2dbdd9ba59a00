"""What every public function makes of an odd table, beside a plain one that says the same.

Codes from 1, texts, categories, labelled rows, units of 1e9 and 1e-9, -999 for a missing value, one row,
an empty column, three groups and a graph without edges. Models of both tables are sampled with the same
seed, and what each function makes of the one is compared with what it makes of the other, codes and units
put aside. A difference ends the script. The matrix goes into ``docs/_results/odd_tables.md``.
"""

import argparse
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_mrf as pmrf
from examples._report import SILENT, parse_sizes, table, write_fragment

N_ROWS, N_NEW = 60, 6
WORDS = ("agree", "doubt", "never")  # answers 0, 1, 2, in the order of the alphabet
ITEMS, SCALES = ["q1", "q2", "q3"], ["s1", "s2"]
COLUMNS = {
    "binary": ITEMS,
    "ordinal": ITEMS,
    "nominal": ITEMS,
    "continuous": [*SCALES, "s3"],
    "mixed": ["q1", "q2", *SCALES],
}
NOMINAL = {"binary": [], "ordinal": [], "nominal": ITEMS, "continuous": [], "mixed": ["q2"]}
REMEDY = re.compile(
    r"\b(give|say|drop|leave|recode|mask|name|rename|transpose|pass|make|tell|turn|set|use|declare|sample)\b"
)


def answers(rng: np.random.Generator, n_rows: int, kind: str) -> pd.DataFrame:
    """Make a plain table: linked answers 0, 1, 2, each of which occurs, and linked measurements."""
    names = COLUMNS[kind]
    z = rng.normal(size=(n_rows, len(names))) + rng.normal(size=(n_rows, 1))
    columns = {name: z[:, k] for k, name in enumerate(names)}
    for name in set(names) & set(ITEMS):
        columns[name] = np.digitize(columns[name], [0.0] if kind == "binary" else [-0.8, 0.8])
        columns[name][:3] = 0, 1, 1 if kind == "binary" else 2
    return pd.DataFrame({name: columns[name] for name in names})


@dataclass(frozen=True)
class Oddity:
    """What is odd about a table.

    `odd` changes a table of a kind, `plain` the one beside it; `labels` has the plain label of each odd one,
    and `unit` the factor of measurements.
    """

    name: str
    kinds: tuple[str, ...]
    odd: Callable[[pd.DataFrame, str], Any]
    labels: Mapping[Any, Any] = field(default_factory=dict)
    unit: float = 1.0
    plain_rows: Callable[[pd.DataFrame], Any] = lambda rows: rows
    n_states: int = 3
    column: str = ""


def _each(change: Callable[[pd.Series], Any], wanted: Callable[[str, str], bool]) -> Callable:
    """Change the columns of a table that are wanted, by name and kind of the table."""

    def odd(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
        return rows.assign(**{name: change(rows[name]) for name in rows if wanted(name, kind)})

    return odd


GIVEN = {"q1": "ordinal", "q2": "nominal", "s1": "continuous", "s2": "continuous"}
STATES = {"binary": 2, "ordinal": 3, "nominal": 3}


def _is_item(name: str, kind: str) -> bool:
    return name in ITEMS


def _is_nominal(name: str, kind: str) -> bool:
    return name in NOMINAL[kind]


def _is_scale(name: str, kind: str) -> bool:
    return name not in ITEMS


def _words(column: pd.Series) -> pd.Series:
    return column.map(dict(enumerate((*WORDS, "often")))).astype(object)


def _categories(column: pd.Series, ordered: bool, further: tuple = ()) -> pd.Categorical:
    return pd.Categorical(_words(column), [*WORDS, *further], ordered=ordered)


def _first(value: Any) -> Callable:
    """Put a value into one cell of the first column."""

    def odd(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
        rows = rows.copy()
        rows.iloc[3, 0] = value
        return rows

    return odd


def _empty(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    return rows.assign(**{rows.columns[0]: np.nan})


TEXTS = {word: k for k, word in enumerate(WORDS)}
ALL = tuple(COLUMNS)
ODDITIES = (
    Oddity(
        "codes from 1",
        ("binary", "ordinal", "nominal", "mixed"),
        _each(lambda c: c + 1, _is_item),
        {k + 1: k for k in range(3)},
    ),
    Oddity("text", ("nominal", "mixed"), _each(_words, _is_nominal), TEXTS),
    Oddity(
        "unordered categories",
        ("nominal", "mixed"),
        _each(lambda c: _categories(c, False), _is_nominal),
        TEXTS,
    ),
    Oddity(
        "ordered categories",
        ("ordinal",),
        _each(lambda c: _categories(c, True), _is_item),
        TEXTS,
    ),
    Oddity(
        "unused categories",
        ("ordinal", "mixed"),
        _each(lambda c: _categories(c, True, ("often",)), lambda name, kind: name == "q1"),
        {**TEXTS, "often": 3},
        n_states=4,
        column="q1",
    ),
    Oddity(
        "units of 1e9", ("continuous", "mixed"), _each(lambda c: c * 2.0**30, _is_scale), unit=2.0**30
    ),
    Oddity(
        "units of 1e-9", ("continuous", "mixed"), _each(lambda c: c * 2.0**-30, _is_scale), unit=2.0**-30
    ),
    Oddity("-999", ALL, _first(-999)),
    Oddity(
        "one row",
        ALL,
        lambda rows, kind: rows.iloc[:1],
        plain_rows=lambda rows: (
            rows.iloc[:1] if "q2" in rows and "s1" in rows else rows.iloc[:1].to_numpy()
        ),
    ),
    Oddity(
        "an empty column",
        ALL,
        _empty,
        plain_rows=lambda rows: rows.assign(**{rows.columns[0]: np.nan}).to_numpy(),
    ),
)


@dataclass(frozen=True)
class Run:
    """A model and its draws; `rows` are further ones."""

    oddity: Oddity
    kind: str
    table: Any
    rows: Any
    is_odd: bool
    model: Any = None
    idata: Any = None

    @property
    def graph(self) -> Any:
        """Pairs of all nodes."""
        return pmrf.graphs.complete(self.model.coords["node"])

    @property
    def unit(self) -> float:
        """Factor of its measurements."""
        return self.oddity.unit if self.is_odd else 1.0

    @property
    def kinds(self) -> Any:
        """What `column_kinds` finds, where the table is mixed."""
        if self.kind != "mixed":
            return self.kind
        n_states = (
            {"q1": self.oddity.n_states} if self.oddity.n_states != 3 and not self.is_odd else None
        )
        return pmrf.column_kinds(self.table, GIVEN, n_states=n_states)

    def n_states(self) -> list[int]:
        """Answers of each node, where they are to be told."""
        given = self.oddity.n_states if self.oddity.column == "q1" else 3
        nodes = COLUMNS[self.kind] if self.model is None else self.model.coords["node"]
        return [given if name == "q1" else 3 for name in nodes]

    def declare(self) -> pm.Model:
        """Declare the standard model of the table."""
        options = {}
        if self.kind in ("ordinal", "nominal") and self.oddity.n_states != 3 and not self.is_odd:
            options["n_states"] = self.n_states()
        return pmrf.network_model(self.table, kind=self.kinds, **options)

    def sampled(self, draws: int) -> "Run":
        """Add a model and its draws."""
        model = self.declare()
        with model:
            idata = pm.sample(draws, tune=draws, chains=2, random_seed=1, **SILENT)
            idata.update(
                pm.sample_posterior_predictive(idata, var_names=["x"], random_seed=2, progressbar=False)
            )
        return replace(self, model=model, idata=idata)


def _predicted(run: Run) -> Any:
    return pmrf.predict_nodes(run.idata, "x", data=run.rows, model=run.model)


def _in_units(run: Run, found: Any) -> Any:
    """Put the units of predictions aside."""
    if isinstance(found, xr.Dataset):
        factor = {"mean": run.unit, "sd": run.unit, "variance": run.unit**2}
        return found.assign({name: found[name] / factor[name] for name in found if name in factor})
    return found


def _of_items(
    function: Callable[[Run], Any], *kinds: str
) -> tuple[Callable[[Run], Any], tuple[str, ...]]:
    return function, kinds or ALL


def _kinds(run: Run) -> Any:
    given = GIVEN if run.kind == "mixed" else dict.fromkeys(COLUMNS[run.kind], run.kind)
    further = {} if run.is_odd or run.oddity.n_states == 3 else {"q1": run.oddity.n_states}
    found = pmrf.column_kinds(run.table, given, n_states=further or None)
    return pd.DataFrame({"kind": found.kinds, "n_states": found.n_states}, index=list(found.names))


def _plain_codes(run: Run, array: np.ndarray) -> np.ndarray:
    """Put the codes of an array aside."""
    labels = {k: v for k, v in run.oddity.labels.items() if run.is_odd and not isinstance(k, str)}
    return np.vectorize(lambda code: labels.get(code, code))(array)


def _prepared(run: Run) -> np.ndarray:
    """Rows as an array, -1 where a cell is missing."""
    if run.is_odd:
        return _plain_codes(run, np.ma.filled(pmrf.fields.prepare(run.rows, _complete(run)).array, -1))
    rows = np.asarray(run.rows, dtype=float)
    return np.where(np.isnan(rows), -1, rows).astype(int)


def _complete(run: Run) -> Any:
    return nx.complete_graph(COLUMNS[run.kind])


def _scores(run: Run) -> pd.DataFrame:
    """Scores of the rows, units put aside."""
    found = pmrf.score_predictions(_predicted(run), run.rows)
    if "rmse" in found:
        measured = found["rmse"].notna()
        found["rmse"] /= run.unit
        found.loc[measured, "log_score"] += np.log(run.unit)
    return found


TABLES = {
    "column_kinds": _of_items(_kinds, "binary", "ordinal", "mixed"),
    "prepare": _of_items(_prepared, "binary", "ordinal"),
    "chow_liu": _of_items(
        lambda run: pmrf.estimation.chow_liu(run.table, nodes=list(run.table)),
        "binary",
        "ordinal",
        "nominal",
    ),
    "neighborhood_selection": _of_items(
        lambda run: pmrf.estimation.neighborhood_selection(run.table, 2, nodes=list(run.table)),
        "binary",
        "continuous",
    ),
    "fit": _of_items(
        lambda run: (
            pmrf.estimation.fit(
                run.table, _complete(run), "pseudo", "ordinal", n_states=STATES[run.kind]
            ).parameter
        ),
        "binary",
        "ordinal",
    ),
    "elasso": _of_items(lambda run: pmrf.estimation.elasso(run.table, _complete(run)).edges, "binary"),
    "l1_pseudo_likelihood": _of_items(
        lambda run: (
            pmrf.estimation.l1_pseudo_likelihood(run.table, _complete(run), penalties=[0.1]).parameter
        ),
        "binary",
    ),
}
ROWS = {
    "predict_nodes": _of_items(lambda run: _in_units(run, _predicted(run))),
    "score_predictions": _of_items(_scores),
    "plot_calibration": _of_items(
        lambda run: pmrf.plot_calibration(_predicted(run), run.rows), "ordinal", "nominal", "mixed"
    ),
    "log_pseudo_likelihood": _of_items(
        lambda run: pmrf.analysis.log_pseudo_likelihood(run.rows, parameters=run.idata, model=run.model),
        "ordinal",
    ),
    "conditional_log_likelihood": _of_items(
        lambda run: pmrf.analysis.conditional_log_likelihood(
            run.rows, parameters=run.idata, group_of_nodes=["q3"], model=run.model
        ),
        "ordinal",
    ),
}


def _blocks(run: Run) -> dict[str, Any]:
    """How the functions of edges are told the entries of tables of parameters."""
    return (
        {"n_states": run.kinds if run.kind == "mixed" else run.n_states()} if NOMINAL[run.kind] else {}
    )


def _result(function: Callable, **options: Any) -> Callable[[Run], Any]:
    """Call a function of draws, a variable and a graph."""
    return lambda run: function(run.idata, "weight", graph=run.graph, **options)


def _original(run: Run) -> Any:
    """Parameters of measurements, units put aside."""
    kinds = {"kinds": run.kinds} if run.kind == "mixed" else {}
    found = pmrf.analysis.original_units(run.idata, graph=run.graph, model=run.model, **kinds)
    factor = {"weight": run.unit**-2, "diagonal": run.unit**-2, "mean": run.unit}
    return {name: found[name] / factor[name] for name in found}


def _planned(run: Run) -> Any:
    """Plan a study of such tables, with a truth in their units."""
    graph = _complete(run)
    weight = np.array([0.8, 0.0, 0.4])
    if run.kind == "continuous":
        scale = np.full(3, run.unit)
        truth = pmrf.GaussianMRF.dist(
            weight / 4.0 / run.unit**2, scale**-2.0, 0.0, graph=graph, scale=scale
        )
    else:
        scores = [np.arange(k) - 0.5 * (k - 1) for k in run.n_states()]
        threshold = np.zeros((3, max(run.n_states()) - 1))
        truth = pmrf.OrdinalMRF.dist(
            weight, threshold, graph=graph, n_states=run.n_states(), scores=scores
        )

    def build(rows: np.ndarray) -> pm.Model:
        table = pd.DataFrame(rows, columns=COLUMNS[run.kind])
        if run.is_odd and run.kind != "continuous":  # the truth is in the units of the table
            table = run.oddity.odd(table, run.kind)
        return replace(run, table=table).declare()

    study = pmrf.plan_study(
        truth, build, [40], replicates=1, random_seed=1, draws=6, tune=6, chains=1, progressbar=False
    )
    return study.drop_vars("seconds").assign(
        {
            name: study[name] * run.unit**2
            for name in ("mean", "true_weight", "strength", "true_strength")
        }
        if run.kind == "continuous"
        else {}
    )


def _read_again(run: Run, read: Callable[[Path], Any]) -> Any:
    """Predict and summarise by draws that were written to a folder and read again."""
    with tempfile.TemporaryDirectory() as folder:
        again = replace(run, idata=read(Path(folder)))
        return {
            "predictions": _in_units(run, _predicted(again)),
            "presence": again.idata.posterior["weight"] != 0.0,
        }


def _saved(run: Run) -> Any:
    def read(folder: Path) -> Any:
        run.idata.to_netcdf(folder / "run.nc")
        return xr.load_datatree(folder / "run.nc")

    return _read_again(run, read)


def _stored(run: Run) -> Any:
    def read(folder: Path) -> Any:
        options = {**SILENT, "random_seed": 1, "model": run.model, "store": folder / "run"}
        pmrf.sample(4, tune=4, chains=1, **options)
        return pmrf.read_store(folder / "run")

    return _read_again(run, read)


EDGES = ("ordinal", "continuous")
RESULTS = {
    "summarize_edges": _of_items(
        lambda run: pmrf.summarize_edges(
            run.idata, "weight", graph=run.graph, model=run.model, prior_inclusion=0.5, **_blocks(run)
        )
    ),
    "edge_inclusion": _of_items(
        lambda run: pmrf.analysis.edge_inclusion(
            run.idata, "weight", model=run.model, prior_inclusion=0.5
        )
    ),
    "edge_strength": _of_items(
        lambda run: pmrf.analysis.edge_strength(run.idata, "weight", graph=run.graph, **_blocks(run)),
        "nominal",
        "mixed",
    ),
    "Network.table": _of_items(
        lambda run: pmrf.Network(run.idata, run.model).table("q1", "q2"), "nominal", "mixed"
    ),
    "plot_edge_table": _of_items(
        lambda run: pmrf.plots.plot_edge_table(
            run.idata, "weight", ("q1", "q2"), graph=run.graph, **_blocks(run)
        ),
        "nominal",
        "mixed",
    ),
    "median_graph": _of_items(lambda run: pmrf.median_graph(run.idata, "weight", run.graph)),
    "structure_probabilities": _of_items(
        lambda run: pmrf.analysis.structure_probabilities(run.idata, "weight")
    ),
    "complexity_probabilities": _of_items(
        lambda run: pmrf.analysis.complexity_probabilities(run.idata, "weight", model=run.model), *EDGES
    ),
    "summarize_nodes": _of_items(_result(pmrf.summarize_nodes), *EDGES),
    "plot_nodes": _of_items(_result(pmrf.plots.plot_nodes), *EDGES),
    "plot_edges": _of_items(_result(pmrf.plot_edges)),
    "plot_evidence": _of_items(
        lambda run: pmrf.plots.plot_evidence(
            run.idata, "weight", graph=run.graph, model=run.model, prior_inclusion=0.5
        )
    ),
    "plot_inclusion": _of_items(_result(pmrf.plot_inclusion)),
    "plot_complexity": _of_items(
        lambda run: pmrf.plots.plot_complexity(run.idata, "weight", model=run.model), *EDGES
    ),
    "plot_diagnostics": _of_items(lambda run: pmrf.plot_diagnostics(run.idata)),
    "diagnose": _of_items(lambda run: str(pmrf.diagnose(run.idata, model=run.model))),
    "prior_sensitivity": _of_items(
        lambda run: pmrf.prior_sensitivity(run.idata, "weight", model=run.model)
    ),
    "plot_prior_sensitivity": _of_items(
        lambda run: pmrf.plots.plot_prior_sensitivity(run.idata, "weight", model=run.model)
    ),
    "original_units": _of_items(_original, "continuous"),
    "partial_correlations": _of_items(
        lambda run: pmrf.partial_correlations(
            run.idata,
            "weight",
            "diagonal",
            run.graph,
            **({"kinds": run.kinds} if run.kind == "mixed" else {}),
        ),
        "continuous",
        "mixed",
    ),
    "predictive_check": _of_items(
        lambda run: pmrf.analysis.predictive_check(run.idata, "x", model=run.model)
    ),
    "plot_ppc_edges": _of_items(
        lambda run: pmrf.plot_ppc_edges(
            run.idata,
            "x",
            graph=run.graph,
            model=run.model,
            **({"kinds": run.kinds} if run.kind == "mixed" else {}),
        )
    ),
    "plot_ppc_magnetisation": _of_items(
        lambda run: pmrf.plots.plot_ppc_magnetisation(run.idata, "x", model=run.model),
        "ordinal",
        "nominal",
    ),
    "prior_in_cone": _of_items(
        lambda run: pmrf.analysis.prior_in_cone(run.model, draws=10, random_seed=1),
        "continuous",
        "mixed",
    ),
    "plan_study": _of_items(_planned, "ordinal", "continuous"),
    "to_netcdf": _of_items(_saved),
    "read_store": _of_items(_stored),
}


def normal(value: Any, run: Run) -> list:
    """Parts of a result that can be compared, labels of states as the plain table has them."""
    labels = run.oddity.labels if run.is_odd else {}
    by_text = {str(label): plain for label, plain in labels.items()}

    def label(name: Any) -> Any:
        if isinstance(name, str) and name.startswith("state "):
            state = name.removeprefix("state ")
            return f"state {by_text.get(state, state)}"
        if isinstance(name, str):
            return " ".join(str(labels.get(word, word)) for word in name.split(" ")) or name
        return labels.get(name, name)

    if isinstance(value, xr.DataArray):
        own = []
        if "state" in value.dims and "obs" in value.dims:
            of_nodes = value.isel(obs=0, drop=True)
            of_states = value["label"] if "label" in value.coords else value["state"]
            words = of_states.broadcast_like(of_nodes).values[(value > 0).any("obs").values]
            own = [[str(label(v)) for v in words]]
        rest = [
            np.ravel(value[name].values).astype(str).tolist()
            for name in ("node", "edge")
            if name in value.coords
        ]
        drawn = np.asarray(value)
        if drawn.dtype.kind in "OU":  # states as the table writes them
            drawn = np.array([str(label(state)) for state in drawn.flat]).reshape(drawn.shape)
        return [drawn, *own, *rest]
    if isinstance(value, xr.Dataset):
        return [part for name in sorted(value) for part in [name, *normal(value[name], run)]]
    if isinstance(value, pd.DataFrame):
        columns = [
            Rough(value[name].to_numpy())
            if name == "r_hat"
            else value[name].to_numpy()
            if value[name].dtype.kind in "fiub"
            else list(map(str, value[name]))
            for name in value
        ]
        return [list(map(str, value.index)), list(map(str, value)), *columns]
    if isinstance(value, nx.Graph):
        edges = sorted(value.edges(data=True), key=lambda edge: tuple(map(str, edge[:2])))
        numbers = [list(data.values()) for *_, data in edges]
        return [list(map(str, value.nodes)), [str(edge[:2]) for edge in edges], np.array(numbers)]
    if isinstance(value, dict):
        return [part for name in value for part in [name, *normal(value[name], run)]]
    if isinstance(value, list):
        return [part for each in value for part in normal(each, run)]
    if isinstance(value, str):
        # entries of parameters of nodes, as bias[q1,2], end in the labels of states
        said = re.sub(
            r"(?<=bias\[|hold\[)(\w+), ?(\w+)(?=\])",
            lambda found: f"{found[1]},{by_text.get(found[2], found[2])}",
            value,
        )
        # as above: R-hats
        said = re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.1f}", said)
        return [" ".join(said.split())]
    if isinstance(value, np.ndarray):
        return [value]
    figure = value.viz["figure"].item()
    parts: list = []
    for ax in figure.axes:
        parts += [line.get_xydata() for line in ax.lines]
        parts += [np.ma.filled(c.get_offsets(), np.nan) for c in ax.collections]
        parts += [[label(text.get_text()) for text in [ax.title, *ax.texts]]]
    plt.close(figure)
    return parts


class Rough(NamedTuple):
    """Numbers, such as R-hats, that differ in the third digit where draws differ by rounding."""

    values: np.ndarray


def is_same(a: Any, b: Any) -> bool:
    """Whether two parts are equal, numbers but for rounding."""
    if isinstance(a, Rough) and isinstance(b, Rough):
        return bool(np.allclose(a.values, b.values, rtol=0.05, equal_nan=True))
    if isinstance(a, list) or isinstance(b, list):
        return bool(a == b)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "fiub" and b.dtype.kind in "fiub":
        return bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool((a.astype(str) == b.astype(str)).all())


def attempt(function: Callable[[Run], Any], run: Run) -> tuple[Any, list[str], Exception | None]:
    """Return the result, the words of warnings and the error of a function."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value, error = function(run), None
        except (ValueError, TypeError) as caught:
            value, error = None, caught
    return value, [str(w.message) for w in said if issubclass(w.category, UserWarning)], error


def outcome(name: str, function: Callable[[Run], Any], odd: Run, plain: Run) -> str:
    """Return the cell of a function: same, warned, refused, or what is wrong."""
    expected, before, failed = attempt(function, plain)
    found, said, error = attempt(function, odd)
    plt.close("all")
    if failed is not None and str(failed) == str(error):
        return (
            "-"  # refused for another reason, as weights of nominal answers, which `edge_strength` reads
        )
    if failed is not None and error is None:
        return f"WRONG: the plain table is refused: {failed}"
    if error is not None:
        text = str(error)
        names_it = any(str(c) in text for c in COLUMNS[odd.kind]) or re.match(r"\w+[:\[ ]", text)
        return "refused" if names_it and REMEDY.search(text) else f"WRONG: unclear error: {error!r}"
    new = [text for text in said if text not in before]
    is_told = any(str(c) in text for text in new for c in COLUMNS.get(odd.kind, ()))
    a, b = normal(expected, plain), normal(found, odd)
    if len(a) != len(b) or not all(map(is_same, a, b)):
        wrong = next((pair for pair in zip(a, b, strict=False) if not is_same(*pair)), (a, b))
        return f"WRONG: silently other: {str(wrong[0])[:300]} became {str(wrong[1])[:300]}"
    return "warned" if is_told else "same"


def compare(oddity: Oddity, kind: str, plain: Run, draws: int) -> dict[str, str]:
    """Cells of all functions, by name, for a kind of table."""
    odd = Run(oddity, kind, oddity.odd(plain.table, kind), oddity.odd(plain.rows, kind), is_odd=True)
    plain = replace(plain, oddity=oddity, rows=oddity.plain_rows(plain.rows))
    cells = {
        name: outcome(name, function, odd, plain)
        for name, (function, kinds) in TABLES.items()
        if kind in kinds
    }
    if kind == "binary":
        return cells
    if oddity.n_states != 3:
        plain = plain.sampled(draws)
    _, said, error = attempt(Run.declare, odd)
    if error is not None:
        cells["network_model"] = (
            "refused" if REMEDY.search(str(error)) else f"WRONG: unclear error: {error!r}"
        )
        reader = replace(plain, is_odd=True, rows=odd.rows, table=odd.table)
        functions = ROWS
    else:
        cells["network_model"] = (
            "warned" if any(c in text for text in said for c in COLUMNS[kind]) else "same"
        )
        reader, functions = odd.sampled(draws), ROWS | RESULTS
        if list(reader.model.coords["node"]) != COLUMNS[kind]:
            # columns without a value have been left out, with a warning
            left = [name for name in COLUMNS[kind] if name in reader.model.coords["node"]]
            plain = replace(plain, table=plain.table[left], rows=plain.rows[:, 1:]).sampled(draws)
            reader = replace(reader, rows=odd.rows[left])
    for name, (function, kinds) in functions.items():
        if kind in kinds:
            cells[name] = outcome(name, function, reader, plain)
    return cells


# --- declared by hand -------------------------------------------------------------------------------------


def _posterior(model: pm.Model, draws: int) -> Any:
    with model:
        return pm.sample(draws, tune=draws, chains=2, random_seed=1, **SILENT)


def grouped(labels: tuple, draws: int, order: list[int] | None = None) -> Run:
    """Three groups of these names, which have one order when sorted; of the rows in another `order`."""
    rng = np.random.default_rng(4)
    rows = answers(rng, 3 * N_ROWS, "binary").assign(
        site=np.repeat(np.array(labels, dtype=object), N_ROWS)
    )
    blocks = [rows.iloc[k * N_ROWS : (k + 1) * N_ROWS] for k in order or range(3)]
    rows = pd.concat(blocks, ignore_index=True)
    oddity = Oddity("three groups", (), lambda rows, kind: rows, dict(zip(labels, "ABC", strict=True)))
    model = pmrf.network_model(rows, groups="site", kind="binary")
    return Run(oddity, "binary", rows, rows, labels[0] != "A", model, _posterior(model, draws))


def _between(run: Run) -> list:
    labels = list(run.oddity.labels)
    return [labels[0], labels[2]]


def _differences(function: Callable) -> Callable[[Run], Any]:
    def found(run: Run) -> Any:
        frame = function(run.idata, "weight", graph=run.graph, between=_between(run), model=run.model)
        return [frame[column].to_numpy() for column in frame if frame[column].dtype.kind in "fiub"]

    return found


GROUPS = {
    "network_model": lambda run: np.array([run.model.compile_logp()(run.model.initial_point())]),
    "summarize_differences": _differences(pmrf.summarize_differences),
    "compare_networks": _differences(pmrf.compare_networks),
    "prior_sensitivity": lambda run: np.array(
        pmrf.prior_sensitivity(run.idata, "weight", between=_between(run), model=run.model)["inclusion"]
    ),
    "plot_prior_sensitivity": lambda run: pmrf.plots.plot_prior_sensitivity(
        run.idata, "weight", between=_between(run), model=run.model
    ),
}


def mapped(observed: Any, graph: nx.Graph, weight: Any, is_odd: bool, draws: int) -> Run:
    """One picture of an Ising field, of the couplings `weight`, or one unknown coupling."""
    oddity = Oddity("labels", (), lambda rows, kind: rows)
    rows = observed if isinstance(observed, pd.Series) else np.atleast_2d(observed)
    with pm.Model(coords=pmrf.coords(graph)) as model:
        weight = pm.Normal("weight", 0, 1) if weight is None else weight
        bias = pm.Normal("bias", 0, 1, dims="node")
        pmrf.Ising("x", weight, bias, graph=graph, observed=observed)
    return Run(oddity, "map", observed, rows, is_odd, model, _posterior(model, draws))


MAPS = {
    "Ising": lambda run: np.array(run.idata.posterior["bias"]),
    "predict_nodes": _predicted,
    "score_predictions": lambda run: pmrf.score_predictions(_predicted(run), run.rows),
}


def diary(
    change: Callable[[pd.DataFrame], pd.DataFrame], oddity: Oddity, is_odd: bool, draws: int
) -> Run:
    """Days of four persons, with what a day does to the next."""
    rows = answers(np.random.default_rng(5), 40, "binary")
    graph, person = pmrf.graphs.lagged(list(rows)), np.repeat(np.arange(4), 10)
    rows = change(rows)
    with pm.Model(coords=pmrf.coords(graph)) as model:
        weight = pm.Normal("weight", 0, 1, dims="edge")
        bias = pm.Normal("bias", 0, 2, dims="node")
        pmrf.KineticMRF("x", weight, bias, graph=graph, observed=rows, series=person)
    idata = _posterior(model, draws)
    with model:
        idata.update(
            pm.sample_posterior_predictive(idata, var_names=["x"], random_seed=2, progressbar=False)
        )
    return Run(oddity, "binary", rows, rows, is_odd, model, idata)


DIARY = {
    "KineticMRF": lambda run: np.array(run.idata.posterior["weight"]),
    "forecast": lambda run: pmrf.forecast(run.idata, run.model, 2, random_seed=1),
    "predictive_check": lambda run: pmrf.analysis.predictive_check(
        run.idata, "x", "runs", model=run.model
    ),
    "plot_ppc_runs": lambda run: pmrf.plots.plot_ppc_runs(run.idata, "x", model=run.model),
    "predict_nodes": _predicted,
}


def pairs(
    odd: Callable[[], Run], plain: Callable[[], Run], functions: Mapping[str, Callable], door: str
) -> dict[str, str]:
    """Cells of functions of a model that is declared by hand; `door` is what takes the table."""
    beside = plain()
    try:
        run = odd()
    except (ValueError, TypeError) as error:
        return {door: "refused" if REMEDY.search(str(error)) else f"WRONG: unclear error: {error!r}"}
    return {name: outcome(name, function, run, beside) for name, function in functions.items()}


def by_hand(draws: int) -> list[tuple[str, dict[str, str]]]:
    """Cells of models that are declared by hand, by oddity."""
    grid = nx.relabel_nodes(nx.path_graph(6), "county{}".format)
    poor = pd.Series([1, 1, 1, -1, -1, 1], index=list(grid))
    empty = nx.create_empty_copy(grid)
    found = [
        (
            "three groups",
            pairs(
                lambda: grouped(("1 year", "n/a", "über"), draws),
                lambda: grouped(("A", "B", "C"), draws),
                GROUPS,
                "network_model",
            ),
        ),
        (
            "groups in another order",
            pairs(
                lambda: grouped(("A", "B", "C"), draws, order=[2, 0, 1]),
                lambda: grouped(("A", "B", "C"), draws),
                GROUPS,
                "network_model",
            ),
        ),
        (
            "a Series by labels",
            pairs(
                lambda: mapped(poor.sample(frac=1, random_state=1), grid, None, True, draws),
                lambda: mapped(poor.to_numpy(), grid, None, False, draws),
                MAPS,
                "Ising",
            ),
        ),
        (
            "a graph without edges",
            pairs(
                lambda: mapped(poor.to_numpy()[None], empty, np.zeros(0), True, draws),
                lambda: mapped(poor.to_numpy()[None], grid, np.zeros(5), False, draws),
                MAPS,
                "Ising",
            ),
        ),
    ]
    changes = {
        "codes from 1": lambda rows: rows + 1,
        "text": lambda rows: rows.replace({0: "no", 1: "yes"}).astype(object),
        "unordered categories": lambda rows: rows.replace({0: "no", 1: "yes"}).astype("category"),
        "ordered categories": lambda rows: rows.apply(
            lambda c: pd.Categorical(c.map({0: "no", 1: "yes"}), ["no", "yes"], ordered=True)
        ),
        "-999": lambda rows: rows.assign(q1=[-999 if k == 3 else v for k, v in enumerate(rows["q1"])]),
    }
    for name, change in changes.items():
        oddity = Oddity(name, (), lambda rows, kind: rows, {"no": 0, "yes": 1})
        cells = pairs(
            lambda change=change, oddity=oddity: diary(change, oddity, True, draws),
            lambda oddity=oddity: diary(lambda rows: rows, oddity, False, draws),
            DIARY,
            "KineticMRF",
        )
        found.append((name, cells))
    return found


def main(argv: list[str] | None = None) -> None:
    """Compare all, and write the fragment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument(
        "--kinds", nargs="*", choices=[*COLUMNS, "by hand"], default=[*COLUMNS, "by hand"]
    )
    args = parse_sizes(parser, argv, draws=12)
    found: dict[str, dict[str, list[str]]] = {}
    for kind in args.kinds:
        if kind == "by hand":
            for name, cells in by_hand(args.draws):
                for function, cell in cells.items():
                    if cell.startswith("WRONG"):
                        print(f"{name} / {kind} / {function}: {cell[:1500]}", flush=True)
                    found.setdefault(function, {}).setdefault(name, []).append(cell)
            continue
        rng = np.random.default_rng(1)
        plain = Run(
            ODDITIES[0], kind, answers(rng, N_ROWS, kind), answers(rng, N_NEW, kind), is_odd=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = plain if kind == "binary" else plain.sampled(args.draws)
        for oddity in ODDITIES:
            if kind in oddity.kinds:
                for name, cell in compare(oddity, kind, plain, args.draws).items():
                    if cell.startswith("WRONG"):
                        print(f"{oddity.name} / {kind} / {name}: {cell[:1500]}", flush=True)
                    found.setdefault(name, {}).setdefault(oddity.name, []).append(cell)
    wrong = [
        cell for row in found.values() for cells in row.values() for cell in cells if "WRONG" in cell
    ]
    if wrong:
        raise RuntimeError(
            f"{len(wrong)} functions make something else of an odd table; they are named above"
        )
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    order = [o.name for o in ODDITIES if o.name in names]
    order += [name for name in names if name not in order]
    rows = [
        [f"`{name}`", *(_cell(row.get(other, [])) for other in order)] for name, row in found.items()
    ]
    text = table(["", *order], rows)
    text += (
        f"\nTables of these kinds: {', '.join(args.kinds)}, {N_ROWS} rows, further ones of {N_NEW}; "
        f"{args.draws} draws of two chains, of the same seed for both tables. "
        "Units are 2 to the 30th and -30th. What is same is equal but for rounding, R-hats to 5 %; "
        "warned is equal after a warning that names the column; refused is an error that says what to "
        "do. Functions of graphs, groups of parameters and communities are left out.\n"
    )
    write_fragment(text, args.output, "odd_tables.md")


def _cell(found: list[str]) -> str:
    """Say what a function makes of the tables of all kinds that have an oddity."""
    return ", ".join(sorted(set(found) - {"-"}, key=("same", "warned", "refused").index)) or "-"


if __name__ == "__main__":
    main()
