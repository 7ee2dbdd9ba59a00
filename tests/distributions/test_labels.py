"""Everything that has labels is read by them, or refused where they are in another order or of others."""

import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.initial_point import make_initial_point_fn

import pymc_mrf as pmrf
from pymc_mrf.plots._places import points

GRAPH = nx.path_graph(list("abcde"))
NODES, EDGES = pmrf.coords(GRAPH)["node"], pmrf.coords(GRAPH)["edge"]
MAP = pd.Series([1, 1, 0, 0, 1], index=NODES)
TABLE = pd.DataFrame(np.random.default_rng(0).integers(2, size=(6, 5)), columns=NODES, index=[*"uvwxyz"])


def shuffled(values):
    return values.sample(frac=1, random_state=3)


def as_array(series):
    return series.rename_axis("place").to_xarray()


def log_probability(observed, weight=0.7, bias=0.1, **options):
    with pm.Model() as model:
        pmrf.BoltzmannMachine("x", weight, bias, graph=GRAPH, observed=observed, **options)
    return model.compile_logp()({})


def test_a_map_is_read_by_the_names_of_its_places():
    expected = log_probability(MAP.to_numpy())
    wrong = log_probability(shuffled(MAP).to_numpy())
    assert abs(wrong - expected) > 0.5
    for observed in (MAP, shuffled(MAP), as_array(shuffled(MAP)), shuffled(MAP).astype(bool)):
        assert log_probability(observed) == pytest.approx(expected)
    with_gap = shuffled(MAP).astype("Int64")
    with_gap["b"] = pd.NA
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning, match="1 of 5 cells"):
        pmrf.BoltzmannMachine("x", 0.7, 0.1, graph=GRAPH, observed=with_gap)
    found = model.rvs_to_values[model["x"]].eval(mode="FAST_COMPILE")
    np.testing.assert_array_equal(found, [1, np.nan, 0, 0, 1])
    answers = pd.Series(pd.Categorical(["no", "yes"] * 2 + ["no"], ["no", "yes"], ordered=True), NODES)
    coded = log_probability(np.array([0, 1, 0, 1, 0]))
    assert log_probability(shuffled(answers)) == pytest.approx(coded)
    assert log_probability(MAP.reset_index(drop=True)) == pytest.approx(expected)  # numbers are no names


def test_maps_of_all_fields():
    measured = MAP * 1.5 + np.arange(5.0)
    states = pd.Series([0, 2, 1, 2, 0], NODES)
    fields = {
        "ising": lambda x: pmrf.Ising("x", 0.3, 0.2, graph=GRAPH, observed=2 * x - 1),
        "potts": lambda x: pmrf.Potts("x", 0.3, graph=GRAPH, n_states=3, observed=x),
        "agreement": lambda x: pmrf.AgreementMRF("x", 0.3, graph=GRAPH, observed=x),
        "gaussian": lambda x: pmrf.GaussianMRF("x", 0.1, 1.0, graph=GRAPH, observed=x),
        "factor graph": lambda x: pmrf.FactorGraphMRF(
            "x", [np.arange(4.0).reshape(2, 2)], scopes=[(0, 3)], cardinalities=[2] * 5, observed=x
        ),
    }
    for name, declare in fields.items():
        full = {"potts": states, "gaussian": measured}.get(name, MAP)
        full = full.set_axis(range(5)) if name == "factor graph" else full
        found = []
        for x in (full, shuffled(full)):
            with pm.Model() as model:
                declare(x)
            found.append(model.compile_logp()({}))
        assert found[0] == pytest.approx(found[1]), name


OTHERS = MAP.set_axis([*"pqrst"])
COUPLING = pd.Series(np.linspace(0.1, 0.4, 4), EDGES)
FIELD = pmrf.PairwiseField(GRAPH, np.zeros((4, 2, 2)), np.zeros((5, 2)))
X = TABLE.to_numpy()
ROWS = pd.Series([1, 2, 1, 1, 1, 3], TABLE.index)
KINDS = pmrf.column_kinds(TABLE.assign(e=np.linspace(0, 1, 6)), dict.fromkeys("abcd", "ordinal"))
PAIRS = pd.MultiIndex.from_tuples([tuple(edge.split("--")) for edge in EDGES])


def in_model(call):
    def run(values):
        with pm.Model(coords=pmrf.coords(GRAPH)):
            return call(values)

    return run


def mixed(**options):
    graph = pmrf.graphs.complete(KINDS.names)
    return pmrf.MixedMRF.dist(np.zeros(10), **{"diagonal": 1.0} | options, graph=graph, kinds=KINDS)


# what takes the values, values with labels in the right order, and the axis with these
TAKES = {
    "coupling": (lambda v: pmrf.Ising.dist(v, graph=GRAPH), COUPLING),
    "coupling by pairs": (lambda v: pmrf.Ising.dist(v, graph=GRAPH), COUPLING.set_axis(PAIRS)),
    "coupling of Potts": (lambda v: pmrf.Potts.dist(v, graph=GRAPH, n_states=3), COUPLING),
    "field": (lambda v: pmrf.Ising.dist(0.1, v, graph=GRAPH), MAP),
    "bias": (lambda v: pmrf.BoltzmannMachine.dist(0.1, v, graph=GRAPH), MAP),
    "thresholds": (
        lambda v: pmrf.OrdinalMRF.dist(0.1, v, graph=GRAPH, n_states=3),
        pd.DataFrame(np.zeros((5, 2)), NODES),
    ),
    "diagonal": (lambda v: pmrf.GaussianMRF.dist(0.1, v + 1.0, graph=GRAPH), MAP),
    "mean": (lambda v: pmrf.GaussianMRF.dist(0.1, 1.0, v, graph=GRAPH), MAP),
    "biases of a mixed field": (lambda v: mixed(bias=v), pd.DataFrame(np.zeros((4, 2)), NODES[:4])),
    "weights of arrows": (
        lambda v: pmrf.KineticMRF.dist(v, graph=pmrf.graphs.lagged([*"ab"]), shape=(3, 2)),
        pd.Series(np.zeros(4), pmrf.coords(pmrf.graphs.lagged([*"ab"]))["edge"]),
    ),
    "p": (
        in_model(lambda v: pmrf.SpikeAndSlab("w", v / 2, pm.Normal.dist(0, 1), dims="edge")),
        COUPLING,
    ),
    "p of blocks": (
        in_model(lambda v: pmrf.SpikeAndSlab("w", v / 2, pm.Normal.dist(0, 1), blocks=[2, 1, 1, 4])),
        COUPLING,
    ),
    "p of a network": (
        lambda v: pmrf.network_model(TABLE[[*"abc"]].reset_index(drop=True), prior_inclusion=v),
        pd.Series([0.2, 0.3, 0.4], ["a--b", "a--c", "b--c"]),
    ),
    "start of weights": (
        in_model(lambda v: pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), dims="edge", initval=v)),
        COUPLING,
    ),
    "start of groups": (
        in_model(lambda v: pmrf.DirichletProcess("w", 1, pm.Normal.dist(0, 1), dims="edge", initval=v)),
        COUPLING,
    ),
    "start of a field": (in_model(lambda v: pmrf.Ising("x", 0.1, graph=GRAPH, initval=2 * v - 1)), MAP),
    "pm.do": (lambda v: pm.do(hidden(), {"x": v}), MAP),
    "labels of communities": (lambda v: pmrf.same_community(v, GRAPH), MAP),
    "energy": (FIELD.energy, MAP),
    "node tables": (
        lambda v: pmrf.PairwiseField(GRAPH, np.zeros((4, 2, 2)), v),
        pd.DataFrame(np.zeros((5, 2)), NODES),
    ),
    "edge probabilities": (
        lambda v: pmrf.estimation.tree_reweighted_bound(FIELD, edge_probabilities=v),
        pd.Series(np.ones(4), EDGES),
    ),
    "groups of edges": (
        lambda v: pmrf.estimation.fit(X, GRAPH, "pseudo", groups=v),
        pd.Series([0, 0, 1, 1], EDGES),
    ),
    "rows of contrasts": (
        in_model(lambda v: contrasts(v)),
        pd.DataFrame([[1.0], [-0.5], [-0.5]], [*"klm"]),
    ),
    "points": (
        lambda v: pmrf.graphs.nearest_neighbors(v, 1, nodes=NODES),
        pd.DataFrame(np.arange(10.0).reshape(5, 2) ** 2, NODES),
    ),
    "grouping": (lambda v: pmrf.analysis.variation_of_information(pd.Series([0, 0, 1, 1], EDGES), v),
                 pd.Series([0, 0, 1, 1], EDGES)),
    "weights of rows": (lambda v: log_probability(TABLE, weights=v), ROWS),
    "parameters of rows": (
        lambda v: log_probability(TABLE, bias=v), pd.DataFrame(np.zeros((6, 5)), TABLE.index, NODES)
    ),
    "series": (lambda v: kinetic(series=v), pd.Series([*"ppprrr"], TABLE.index)),
    "time": (lambda v: kinetic(time=v), pd.Series(np.arange(6), TABLE.index)),
}  # fmt: skip


def kinetic(**options):
    with pm.Model():
        pmrf.KineticMRF("x", 0.1, graph=pmrf.graphs.lagged(NODES), observed=TABLE, **options)


def hidden():
    with pm.Model() as model:
        pmrf.BoltzmannMachine("x", 0.1, graph=GRAPH)
    return model


def contrasts(values):
    weight = pm.Normal("weight", 0, 1, dims="edge")
    return pmrf.group_weights(weight, [*"klm"], 0.5, pm.Normal.dist(0, 1), contrasts=values)


@pytest.mark.parametrize("what", TAKES)
def test_labels_are_those_of_the_graph_or_the_table(what):
    call, values = TAKES[what]
    call(values)
    call(np.asarray(values))
    reverse = values.iloc[::-1]
    with pytest.raises(ValueError, match=r"another order|labelled otherwise|other labels or sizes"):
        call(reverse)
    named = values.set_axis([f"place {k}" for k in range(len(values))], axis=0)
    with pytest.raises(
        ValueError, match=r"is no (node|edge|answer|entry|group|arrow)|labelled otherwise|other labels"
    ):
        call(named)
    if values.ndim == 1 and values.index.nlevels == 1:
        with pytest.raises(ValueError, match=r"another order|labelled otherwise|other labels or sizes"):
            call(as_array(reverse))


def as_frame(xy, names):
    return pd.DataFrame(xy, names, ["x", "y"])


def as_places(xy, names):
    return pd.Series(list(xy), names)


def test_maps_of_other_places_are_refused():
    with pytest.raises(ValueError, match="observed has no column 'a', which is a node of the graph"):
        log_probability(OTHERS)


@pytest.mark.parametrize("values", [as_frame, as_places])
def test_places_of_nodes_are_found_by_name(values):
    xy = np.arange(10.0).reshape(5, 2)
    np.testing.assert_array_equal(points(NODES, values(xy, NODES)), xy)
    np.testing.assert_array_equal(points(NODES, values(xy[::-1], NODES[::-1])), xy)
    np.testing.assert_array_equal(points(NODES, values(xy, range(5))), xy)
    with pytest.raises(ValueError, match="pos has no position for node 'a'"):
        points(NODES, values(xy, [*"pqrst"]))


def test_evidence_is_a_dictionary():
    with pytest.raises(TypeError, match="evidence must be a dictionary of nodes and their states"):
        FIELD.marginals(evidence=MAP)


def sampled(model, store, **options):
    """Draw by both functions that take starts."""
    options = {"chains": 1, "model": model, "progressbar": False, "random_seed": 1} | options
    yield lambda: pm.sample(2, tune=2, quiet=True, compute_convergence_checks=False, cores=1, **options)
    yield lambda: pmrf.sample(2, tune=2, quiet=True, store=store, **options)


@pytest.mark.parametrize("name", ["x", "w"])
def test_starts_have_the_labels_of_the_model(name, tmp_path):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pm.Normal("w", 0, 1, dims="edge")
        pmrf.BoltzmannMachine("x", weight, graph=GRAPH, likelihood="pseudo")
    start = {"x": MAP, "w": COUPLING}[name]
    for starts in ({name: start[::-1]}, [{model[name]: start[::-1]}]):
        for sample in sampled(model, tmp_path / "run", initvals=starts):
            with pytest.raises(ValueError, match=rf"initvals: {name}: its labels .* in another order"):
                sample()
    with pytest.raises(ValueError, match=rf"initvals: {name}: its labels"):
        make_initial_point_fn(model=model, overrides={name: start[::-1]})
    found = make_initial_point_fn(model=model, overrides={name: start})(1)[name]
    np.testing.assert_array_equal(found, start.to_numpy())


def test_labels_of_starts_of_variables_without_dims():
    with pm.Model() as model:
        weight = pm.Normal("w", 0, 1, shape=len(EDGES))
        pmrf.BoltzmannMachine("x", weight, graph=GRAPH, likelihood="pseudo")
    with pytest.raises(ValueError, match=r"w has labels, beginning .* no dims"):
        make_initial_point_fn(model=model, overrides={"w": COUPLING})
    make_initial_point_fn(model=model, overrides={"w": COUPLING.reset_index(drop=True)})


def test_starts_of_models_without_anything_of_this_package_are_left_to_pymc():
    with pm.Model(coords={"edge": list("ab")}) as model:
        pm.Normal("w", 0, 1, dims="edge")
    start = pd.Series([1.0, 2.0], index=["b", "a"])
    found = make_initial_point_fn(model=model, overrides={"w": start})(1)["w"]
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_dates_of_starts_are_those_of_the_model_whatever_their_type(unit):
    days = pd.date_range("2020-01-01", periods=4).as_unit(unit)
    start = pd.Series(np.arange(4.0), days)
    for labels in (days, list(days), days.to_numpy()):
        with pm.Model(coords={"day": labels}) as model:
            pm.Normal("trend", 0, 1, dims="day")
            pmrf.BoltzmannMachine("x", 0.1, graph=GRAPH, likelihood="pseudo")
        found = make_initial_point_fn(model=model, overrides={"trend": start})(1)["trend"]
        np.testing.assert_array_equal(found, start.to_numpy())
        with pytest.raises(ValueError, match=r"initvals: trend: its labels .* in another order"):
            make_initial_point_fn(model=model, overrides={"trend": start[::-1]})
