"""Fields in time as distributions: log probabilities, draws, rows of series, and what is refused."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal
from tests.marks import slow
from tests.reference.derivatives import assert_gradients
from tests.reference.kinetic import kinetic_log_likelihood
from tests.statistics import assert_frequencies

ARROWS, LINKS = [(0, 0), (1, 0), (0, 1), (2, 2)], [(0, 2)]
CARDS, SCORES = [3, 2, 4], [[-1, 0, 2], [-1, 1], [0, 1, 2, 3]]
FAMILIES = {
    "boltzmann": (BOLTZMANN, {}),
    "ising": (ISING, {"family": "ising"}),
    "ordinal": (ordinal(CARDS, SCORES), {"family": "ordinal", "n_states": CARDS, "scores": SCORES}),
}
SERIES = np.array(["u"] * 6 + ["v", "u", "v", "v", "u", "v"])  # the second between rows of the first


def digraph(arrows=ARROWS, nodes=range(3)):
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(arrows)
    return graph


def data(family, n, rng):
    """State indices, and values."""
    z = rng.integers(family.cards or family.n_states, size=(n, 3))
    return z, np.array(family.states)[z]


@pytest.mark.parametrize("kind", ["arrows", "pseudo", "exact"])
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.ordinary("boltzmann-arrows", "ising-exact", "ordinal-pseudo")
def test_log_probability_and_gradient(name, kind, rng):
    family, options = FAMILIES[name]
    links = [] if kind == "arrows" else [*LINKS, (1, 2)]
    options = options | ({} if kind == "arrows" else {"likelihood": kind})
    z, x = data(family, len(SERIES), rng)
    graph = pmrf.LaggedGraph(range(3), ARROWS, (1, 3), links)
    edges = [(u, v, 0) for u, v in links] + [(*arrow, lag) for lag in (1, 3) for arrow in ARROWS]
    with pm.Model() as model:
        w = pm.Flat("w", shape=len(edges))
        b = pm.Flat("b", shape=family.node_shape(3))
        pmrf.KineticMRF("x", w, b, graph=graph, observed=x, series=SERIES, **options)
    value, slopes = model.compile_logp(), model.compile_dlogp()

    def f(w, b):
        point = {"w": w, "b": b}
        found = slopes(point)
        return value(point), found[: w.size], found[w.size :].reshape(b.shape)

    w, b = rng.normal(size=len(edges)), rng.normal(size=family.node_shape(3))
    neighbours = getattr(model["x"].owner.op.likelihood, "expected", None)
    constants = neighbours.constants if neighbours else None
    expected, other = (
        kinetic_log_likelihood(z, edges, family, SERIES, rows, constants=constants)(
            np.r_[w, b.ravel()][None]
        )
        for rows in (kind == "exact", kind != "exact")
    )
    assert bool(constants) == (kind == "pseudo")
    np.testing.assert_allclose(f(w, b)[0], expected[0], rtol=1e-10)
    assert np.isclose(f(w, b)[0], other[0]) == (kind == "arrows")
    assert_gradients(f, [w, b])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boltzmann", "ising", "ordinal"])
def test_parameters_of_each_row(name, rng):
    family, options = FAMILIES[name]
    _, x = data(family, 8, rng)
    graph, r, shape = pmrf.LaggedGraph(range(3), ARROWS, 1), len(ARROWS), family.node_shape(3)
    w, b = rng.normal(size=(8, r)), rng.normal(size=(8, *shape))

    def rows(w, b):
        with pm.Model() as model:
            pmrf.KineticMRF("x", w, b, graph=graph, observed=x, **options)
        [found] = model.logp(sum=False)
        return found.eval(mode="FAST_COMPILE")

    of_each = np.array([rows(w[t], b[t])[t - 1] for t in range(1, 8)])
    np.testing.assert_allclose(rows(w, b), of_each)
    np.testing.assert_allclose(rows(w[2], b), [rows(w[2], b[t])[t - 1] for t in range(1, 8)])
    np.testing.assert_allclose(rows(w, b[2]), [rows(w[t], b[2])[t - 1] for t in range(1, 8)])
    np.testing.assert_allclose(rows(w[:1], b[:1]), rows(w[0], b[0]))


@pytest.mark.parametrize("links", [[], [(0, 1)]], ids=["arrows", "and a link"])
@pytest.mark.ordinary("and a link")
def test_draws_are_those_of_the_series(links):
    """All series of three rows, the first of which is given but for one cell."""
    graph = pmrf.LaggedGraph(range(2), [(0, 0), (1, 0), (0, 1)], links=links)
    w, b = np.array([1.5] * len(links) + [1.0, -1.5, 0.8]), np.array([0.3, -0.4])
    x = np.ma.masked_array([[1, 0], [0, 0], [0, 0]], [[False, True], [True, False], [True, True]])
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        pmrf.KineticMRF("x", w, b, graph=graph, observed=x, n_sweeps=20)
        draws = pm.sample_prior_predictive(3000, random_seed=3, return_inferencedata=False)
    del model
    with pm.Model() as model:
        pmrf.KineticMRF("y", w, b, graph=graph, observed=x.filled(0), n_sweeps=20)
        given = pm.draw(model["y"], 2000, random_seed=3)
    np.testing.assert_array_equal(given[:, 0], [[1, 0]] * 2000)
    assert np.isnan(draws["x"]).sum() > 0  # missing cells have a variable of their own
    states = np.array(list(itertools.product(range(2), repeat=2)))
    F = np.array([0.0, 1.0])

    def next_row(before):
        field = np.array([w[-3] * before[0] + w[-2] * before[1], w[-1] * before[0]]) + b
        score = F[states] @ field + (w[0] * states.prod(axis=1) if links else 0.0)
        return np.exp(score) / np.exp(score).sum()

    p = {(i, j): next_row([1, 0])[i] * next_row(states[i])[j] for i in range(4) for j in range(4)}
    code = given[:, 1:] @ [2, 1]
    counts = [((code[:, 0] == i) & (code[:, 1] == j)).sum() for i, j in p]
    assert_frequencies(counts, list(p.values()))
    with pytest.raises(AssertionError):
        assert_frequencies(counts, np.full(16, 1 / 16))


def test_tables_and_their_columns(rng):
    _, x = data(BOLTZMANN, 12, rng)
    names = ["a", "b", "c"]
    graph = digraph([(names[u], names[v]) for u, v in ARROWS], names)
    day = np.r_[np.arange(6), 0, 6, 1, 2, 7, 3]
    frame = pd.DataFrame({"b": x[:, 1], "who": SERIES, "a": x[:, 0], "c": x[:, 2], "day": day})
    cases = [
        (x, {"series": SERIES, "time": day}),
        (frame, {"series": "who", "time": "day"}),
        (frame[names], {"series": frame["who"]}),
        (pl.from_pandas(frame), {"series": "who"}),
        (xr.DataArray(x, dims=("day", "item"), coords={"item": names}), {"series": list(SERIES)}),
        (
            xr.DataArray(
                x, dims=("t", "item"), coords={"item": names, "who": ("t", SERIES), "day": ("t", day)}
            ),
            {"series": "who", "time": "day"},
        ),
    ]
    found = []
    for observed, options in cases:
        with pm.Model() as model:
            pmrf.KineticMRF("x", 0.5, 0.1, graph=graph, observed=observed, **options)
        found.append(model.compile_logp()({}))
    with pm.Model() as model:
        pmrf.KineticMRF("x", 0.5, 0.1, graph=graph, observed=pm.Data("d", x), series=SERIES)
        found.append(model.compile_logp()({}))
        pm.set_data({"d": 1 - x})
        assert model.compile_logp()({}) != found[0]
        pm.set_data({"d": x[:5]})
        with pytest.raises(AssertionError, match="another shape"):
            model.compile_logp()({})
    np.testing.assert_allclose(found, found[0])


WEIGHTS = np.array([5, 1, 2, 0, 1, 3, 0, 1, 1, 2, 1, 1])


def one_by_one(x, weights, labels):
    """Each row that has an earlier one with it, as often as its weight says: a table of pairs, and labels."""
    pairs = [
        x[[before[-1], t]]
        for t, label in enumerate(labels)
        if len(before := np.flatnonzero(labels[:t] == label))
        for _ in range(weights[t])
    ]
    return np.concatenate(pairs), np.repeat(np.arange(len(pairs)), 2)


@pytest.mark.parametrize(
    ("name", "links"),
    [
        pytest.param("boltzmann", [], id="boltzmann-arrows"),
        pytest.param("ordinal", LINKS, id="ordinal-and links"),
        slow("ising", [], id="ising-arrows"),
        slow("ordinal", [], id="ordinal-arrows"),
        slow("boltzmann", LINKS, id="boltzmann-and links"),
        slow("ising", LINKS, id="ising-and links"),
    ],
)
def test_weights_are_rows_told_more_than_once(name, links, rng):
    family, options = FAMILIES[name]
    _, x = data(family, len(SERIES), rng)
    graph = pmrf.LaggedGraph(range(3), ARROWS, links=links)
    point = {"w": rng.normal(size=graph.n_edges), "b": rng.normal(size=family.node_shape(3))}
    pairs, labels = one_by_one(x, WEIGHTS, SERIES)
    found = []
    for observed, own in (
        (x, {"series": SERIES, "weights": WEIGHTS}),
        (pairs, {"series": labels}),
        (x, {"series": SERIES}),
    ):
        with pm.Model() as model:
            w, b = pm.Flat("w", shape=graph.n_edges), pm.Flat("b", shape=family.node_shape(3))
            pmrf.KineticMRF("x", w, b, graph=graph, observed=observed, **own, **options)
        found.append([model.compile_logp()(point), model.compile_dlogp()(point)])
    for one, other, unweighted in zip(*found, strict=True):
        np.testing.assert_allclose(one, other)
        assert not np.allclose(one, unweighted)
    frame = pd.DataFrame(x, columns=range(3)).assign(who=SERIES, n=WEIGHTS)
    with pm.Model() as model:
        b = pm.Flat("b", shape=family.node_shape(3))
        columns = {"series": "who", "weights": "n"}
        pmrf.KineticMRF("x", point["w"], b, graph=graph, observed=frame, **columns, **options)
    [terms] = model.logp(model["x"], sum=False)
    terms = model.compile_fn(terms + 0.0, inputs=model.value_vars)({"b": point["b"]})
    assert terms.shape == (len(pairs) // 2,)
    np.testing.assert_allclose(terms.sum(), found[0][0])


def test_rows_of_weight_0_are_drawn(rng):
    """Weights count what was observed, and change nothing of what may be."""
    with pm.Model() as model:
        x, weights = np.ones((40, 3), dtype=int), np.arange(40) % 2
        pmrf.KineticMRF("x", 0.0, -30.0, graph=digraph(), observed=x, weights=weights)
    np.testing.assert_array_equal(pm.draw(model["x"], random_seed=rng)[1:], np.zeros((39, 3)))


def diary(rng):
    """Two people, days of one to three prompts, in an order of the table that is not that of time."""
    person, day, beep = np.array(
        [(1, 1, 1), (1, 1, 2), (2, 1, 3), (1, 1, 4), (1, 2, 1), (2, 2, 1), (1, 2, 2), (2, 2, 2)]
    ).T
    x = rng.integers(2, size=(8, 2))
    return pd.DataFrame({"id": person, "day": day, "beep": beep, "a": x[:, 0], "b": x[:, 1]})


def test_several_columns_make_a_series(rng):
    """The day of one row is left out with a word, and the prompt that a day lacks is missing."""
    table, graph = diary(rng), pmrf.graphs.lagged(["a", "b"])
    nodes, keys = ["a", "b"], table[["id", "day"]]
    rows = xr.DataArray(
        table[nodes], dims=("row", "node"), coords={"node": nodes} | {k: ("row", table[k]) for k in keys}
    )
    cases = {
        "names": (table, ["id", "day"]),
        "tuples": (table, list(zip(table["id"], table["day"], strict=True))),
        "a table": (table, keys),
        "labels by hand": (table, ["u", "u", "v", "u", "w", "x", "w", "x"]),
        "polars": (pl.from_pandas(table), ["id", "day"]),
        "xarray": (rows, ["id", "day"]),
        "no names": (table[nodes].to_numpy(), keys.to_numpy()),
    }
    for name, (observed, series) in cases.items():
        columns = {} if name in ("xarray", "no names") else {"columns": nodes}
        with (
            pm.Model() as model,
            pytest.warns(UserWarning, match=r"1 of the 4 series .* such as .* learnt from these 1 rows"),
            pytest.warns(pm.exceptions.ImputationWarning, match="2 of 18 cells"),
        ):
            w = pm.Flat("w", shape=4)
            options = {"graph": graph, "observed": observed, "series": series, **columns}
            pmrf.KineticMRF("x", w, 0.1, time=table["beep"].to_numpy(), **options)
        windows = model["x"].owner.inputs[0].owner.op.rows.windows
        np.testing.assert_array_equal(windows, [[1, 0], [3, 1], [4, 3], [7, 5], [8, 6]], err_msg=name)


def test_the_unit_of_time_is_that_of_all_intervals(rng):
    """Rows at 0, 2 and 4 are neighbours; one interval of 1 makes 2 a gap."""
    _, x = data(BOLTZMANN, 6, rng)
    found = []
    for factor in (1, 2, 7):
        time = factor * np.array([0, 1, 2, 0, 2, 3])
        with pm.Model() as model, pytest.warns(UserWarning) as told:
            b = pm.Flat("b")
            pmrf.KineticMRF("x", 0.5, b, graph=digraph(), observed=x, series=[*"aaabbb"], time=time)
        messages = " ".join(str(w.message) for w in told)
        assert "3 of 21 cells" in messages
        assert (f"multiples of {factor} apart" in messages) == (factor > 1)
        found.append(model.compile_logp()({"b": 0.3, "x_unobserved": [0, 1, 0]}))
    np.testing.assert_array_equal(found, found[0])


def test_more_rows_put_in_than_there_are_is_told(rng):
    _, x = data(BOLTZMANN, 5, rng)
    with (
        pm.Model(),
        pytest.warns(UserWarning, match="time puts 7 rows of missing cells between the 5"),
        pytest.warns(pm.exceptions.ImputationWarning),
    ):
        pmrf.KineticMRF("x", 0.5, 0.1, graph=digraph(), observed=x, time=[0, 3, 6, 9, 11])


def test_rows_between_times_are_missing(rng):
    _, x = data(BOLTZMANN, 5, rng)
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        pmrf.KineticMRF("x", 0.5, 0.1, graph=digraph(), observed=x, time=[0, 1, 4, 5, 6])
    assert model["x_unobserved"].type.ndim == 1
    op = model["x"].owner.inputs[0].owner.op
    np.testing.assert_array_equal(op.rows.windows, [[t, t - 1] for t in range(1, 7)])
    assert model.initial_point()["x_unobserved"].shape == (6,)


def test_pointwise_log_likelihoods_are_those_of_complete_rows(rng):
    _, x = data(BOLTZMANN, 8, rng)
    masked = np.ma.masked_array(x, np.zeros(x.shape, dtype=bool))
    masked[3, 1] = np.ma.masked
    found = []
    for observed in (x, masked):
        with pm.Model(coords={"day": range(8), "item": range(3)}) as model:
            b = pm.Normal("b", 0, 1)
            if observed is masked:
                with pytest.warns(pm.exceptions.ImputationWarning):
                    pmrf.KineticMRF(
                        "x", 0.5, b, graph=digraph(), observed=observed, dims=("day", "item")
                    )
            else:
                pmrf.KineticMRF("x", 0.5, b, graph=digraph(), observed=observed, dims=("day", "item"))
            posterior = {"b": (("chain", "draw"), np.zeros((1, 2)))}
            if observed is masked:
                posterior["x_unobserved"] = (
                    ("chain", "draw", "cell"),
                    np.zeros((1, 2, 1), dtype=np.int8),
                )
            idata = xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})
            pm.compute_log_likelihood(idata, model=model, progressbar=False)
        found.append(idata["log_likelihood"]["x"].values[0, 0])
    assert found[0].shape == (7,)
    np.testing.assert_allclose(found[1], np.delete(found[0], [2, 3]))  # rows 3 and 4


GRAPH = digraph()
X = np.random.default_rng(1).integers(2, size=(6, 3))
DAYS = pd.date_range("2024-01-01", periods=6)
HOLE = np.ma.masked_array(X, np.arange(18).reshape(6, 3) == 4)  # in row 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": nx.Graph(GRAPH)}, "graph is undirected"),
        ({"graph": pmrf.graphs.complete(3)}, "graph is undirected"),
        ({"graph": nx.MultiDiGraph(GRAPH)}, "multigraph"),
        ({"observed": X[:1]}, "has 1 row"),
        ({"observed": X[:2], "lag": (1, 2)}, "has 2 rows, but at a lag of 2"),
        ({"series": range(6)}, "no series has more than 1 row, but at a lag of 1"),
        ({"series": [0, 0, 1]}, r"series has shape .* several, as in series=\[\"person\", \"day\"\]"),
        ({"series": [[0, 1]] * 5 + [[0, None]]}, "series has no label in row 5"),
        ({"series": ["who", "day"], "observed": pd.DataFrame(X)}, "series='who' names no column"),
        (
            {"series": pd.Series([0] * 6, index=range(1, 7)), "observed": pd.DataFrame(X)},
            r"series: its rows are labelled otherwise .* series.loc\[table.index\]",
        ),
        (
            {"time": pd.Series(range(6), index=range(5, -1, -1)), "observed": pd.DataFrame(X)},
            "time: its rows are labelled otherwise",
        ),
        (
            {"weights": xr.DataArray([1] * 6, [("row", range(1, 7))]), "observed": pd.DataFrame(X)},
            "weights: its rows are labelled otherwise",
        ),
        ({"time": [0, 1, None, 3, 4, 5]}, "time has no value in row 2"),
        ({"series": ["a", "a", "a", None, "a", "a"]}, "series has no label in row 3"),
        ({"series": "who"}, "names no column"),
        ({"time": [0, 1, 2, 4, 3, 5]}, "time 3 comes after 4, in row 4"),
        ({"time": [0, 1, 2, 2, 3, 4]}, "time 2 occurs twice, in row 3"),
        ({"time": [0, 1, 2, 3, 3, 4], "series": list("aabbbb")}, "of series 'b' occurs twice"),
        ({"time": [0, 1, 2, 2.5, 3, 4]}, r"time\[3\] is 2.5"),
        ({"time": [0, 1, 2]}, "time has shape"),
        ({"time": DAYS}, r"time holds dates or durations, such as 2024-01-01.* days from the first"),
        ({"time": pd.Series(DAYS)}, "time holds dates or durations"),
        ({"time": DAYS - DAYS[0]}, "time holds dates or durations, such as 0 "),
        ({"time": pl.Series(list(DAYS)).dt.date().to_list()}, "time holds dates or durations"),
        ({"time": [0, 1, 2, 3, 4, 10**12]}, r"time 1000000000000, in row 5, comes 9\d* intervals after"),
        ({"lag": 0}, "lag must be a positive integer"),
        ({"lag": (2, 1)}, "increasing"),
        ({"observed": X + 1}, "not a state"),
        ({"observed": X[:, :2]}, "last dimension must be"),
        ({"observed": X[None]}, "must be a table"),
        ({"family": "potts"}, "family must be"),
        ({"n_states": 3}, "two states"),
        ({"scores": [0, 1]}, "ordered states"),
        (
            {"observed": X * [1, 0, 1], "family": "ordinal"},
            r"n_states\[1\], of node 1, must be between 2",
        ),
        ({"weights": np.ones(5)}, r"weights has shape \(5,\)"),
        ({"weights": [1, 1, 0.5, 1, 1, 1]}, r"weights\[2\] is 0.5"),
        ({"weights": [3, 0, 0, 0, 0, 0]}, "weights are 0 in all rows that have earlier ones"),
        ({"weights": [1, 1, 2, 1, 1, 1], "observed": HOLE}, "row 2 has weight 2, but it, or an earlier"),
        ({"weights": [1, 1, 0, 1, 1, 1], "time": [0, 1, 3, 4, 5, 6]}, "row 3 has weight 0"),
        ({"weights": np.ones(6), "observed": None, "shape": (6, 3)}, "weights are those of rows"),
        ({"likelihood": "exact"}, 'likelihood="exact" is for links within rows'),
        ({"likelihood": pmrf.Pseudo()}, "is for links within rows"),
        (
            {"likelihood": "path", "links": nx.path_graph(3)},
            'likelihood must be one of "auto", "pseudo", "exact"',
        ),
        ({"links": nx.Graph([(0, 1)])}, "links has other nodes"),
        ({"weight": np.zeros(3)}, "weight has length 3"),
        (
            {"weight": np.zeros((5, 4))},
            "weight has 5 rows, but the table has 6.*put rows of missing cells",
        ),
        ({"bias": np.zeros((5, 3))}, "bias has 5 rows, but the table has 6"),
        ({"bias": np.zeros((2, 6, 3))}, "rows have one"),
        ({"bias": [0.0, np.nan, 0.0]}, "bias must be finite"),
        ({"observed": None}, "needs its rows"),
        ({"graph": None}, "needs graph="),
    ],
)
def test_bad_input(options, message):
    options = {"graph": GRAPH, "observed": X, "weight": 0.5, "bias": 0.0, **options}
    with pm.Model(), pytest.raises((ValueError, TypeError), match=message):
        pmrf.KineticMRF("x", options.pop("weight"), options.pop("bias"), **options)


@pytest.mark.parametrize("d", [22, 64])  # 2^64 is 0 as an integer of 64 bits
def test_too_many_states_of_a_row(d):
    graph = pmrf.LaggedGraph(range(d), [(0, 0)], links=[(0, 1)])
    x = np.random.default_rng(1).integers(2, size=(6, d))
    with pm.Model(), pytest.raises(ValueError, match=r"more than 4194304 together: use .pseudo."):
        pmrf.KineticMRF("x", 0.5, 0.0, graph=graph, observed=x, likelihood="exact")


def test_states_never_seen_are_warned_of():
    with pm.Model(), pytest.warns(UserWarning, match="no observation in some states: 2 of 0"):
        b = pm.Normal("b", 0, 1, shape=(3, 2))
        pmrf.KineticMRF("x", 0.5, b, graph=GRAPH, observed=X, family="ordinal", n_states=3)
