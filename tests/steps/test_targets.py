"""Targets of steps are those of the model: nothing is left out, and no conditional weighed twice or not.

Differences of the log-likelihood between points, as the engine of a step has it and as the model has it, for
every kind of field, and for rows, cells and vectors that are weighed in ways of their own.
"""

import networkx as nx
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.kernels.groups import edge_terms
from pymc_mrf.kernels.groups.edgewise_groups import describe_edgewise, follow_edgewise
from pymc_mrf.kernels.views import (
    exact_edges,
    listed_rows,
    mixed_edges,
    mixed_pseudo,
    pseudo_edges,
    questions,
)
from pymc_mrf.likelihood.edges.shared_blocks import SharedBlocks
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import engine_in, engines_of, terms_of, whole_of

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
N, D = 40, 4
GRAPH = nx.cycle_graph(3)  # and a node without edges, which keeps its weight
GRAPH.add_node(3)
LAGGED = pmrf.LaggedGraph(range(3), [(0, 0), (1, 0), (2, 1)], (1,), [(0, 1), (1, 2)])
RNG = np.random.default_rng(4)
X = RNG.integers(2, size=(N, D))
X[:, 1] = np.where(RNG.random(N) < 0.4, X[:, 0], X[:, 1])
ITEMS = RNG.integers(3, size=(N, D))
MEASURED = RNG.normal(size=(N, 2))
GONE = np.ma.masked_array(X, RNG.random((N, D)) < 0.06)
HALF = (np.arange(N) % 2 - 0.5)[:, None]


def sparse(n):
    return pmrf.SpikeAndSlab("w", 0.6, pm.Normal.dist(0, 0.7), shape=n)


def ising(likelihood, **options):
    b = pm.Normal("b", 0, 1, shape=D)
    pmrf.Ising("x", sparse(3), b, graph=GRAPH, observed=2 * X - 1, likelihood=likelihood, **options)


def row_weights(likelihood):
    ising(likelihood, weights=np.arange(N) % 3)


def boltzmann_of_rows(likelihood):
    b = pm.Normal("b", 0, 1, shape=D) + HALF * pm.Normal("c", 0, 1, shape=D)
    pmrf.BoltzmannMachine("x", sparse(3), b, graph=GRAPH, observed=X, likelihood=likelihood)


def missing_cells(likelihood):
    b = pm.Normal("b", 0, 1, shape=D)
    pmrf.BoltzmannMachine("x", sparse(3), b, graph=GRAPH, observed=GONE, likelihood=likelihood)


def ordinal(likelihood):
    b = pm.Normal("b", 0, 1, shape=(D, 2))
    pmrf.OrdinalMRF("x", sparse(3), b, n_states=3, graph=GRAPH, observed=ITEMS, likelihood=likelihood)


def potts(likelihood):
    pmrf.Potts("x", sparse(3), n_states=3, graph=GRAPH, observed=ITEMS, likelihood=likelihood)


def nominal(likelihood):
    graph = nx.cycle_graph(3)
    b = pm.Normal("b", 0, 1, shape=(3, 3))
    w = pmrf.SpikeAndSlab("w", 0.6, pm.Normal.dist(0, 0.7), shape=12, blocks=[4, 4, 4])
    pmrf.NominalMRF("x", w, b, n_states=3, graph=graph, observed=ITEMS[:, :3], likelihood=likelihood)


def mixed(likelihood):
    kinds = pmrf.fields.ColumnKinds(
        tuple("abcd"), ("ordinal", "continuous", "nominal", "continuous"), (2, 0, 3, 0)
    )
    graph = pmrf.graphs.complete(kinds.names)
    w = pmrf.SpikeAndSlab("w", 0.6, pm.Normal.dist(0, 0.5), blocks=kinds.block_sizes(graph))
    b = pm.Normal("b", 0, 1, shape=(2, 3))
    diagonal = pm.Gamma("diagonal", 2, 1, shape=2)
    table = np.stack([X[:, 0], MEASURED[:, 0], ITEMS[:, 0], MEASURED[:, 1]], axis=1)
    x = {"graph": graph, "kinds": kinds, "observed": table, "likelihood": likelihood}
    pmrf.MixedMRF("x", w, b, diagonal, **x)


def two_fields(likelihood):
    w = sparse(3)
    for name, rows in (("x", slice(25)), ("y", slice(25, N))):
        b = pm.Normal(f"b_{name}", 0, 1, shape=D)
        pmrf.BoltzmannMachine(name, w, b, graph=GRAPH, observed=X[rows], likelihood=likelihood)


def differences(likelihood):
    w = sparse(3)
    delta = pmrf.SpikeAndSlab("delta", 0.6, pm.Normal.dist(0, 0.7), shape=3)
    b = pm.Normal("b", 0, 1, shape=D)
    x = {"graph": GRAPH, "observed": X, "likelihood": likelihood}
    pmrf.BoltzmannMachine("x", w + HALF * delta, b, **x)


def diary(likelihood, x=X[:, :3], **options):
    b = pm.Normal("b", 0, 1, shape=3)
    pmrf.KineticMRF("x", sparse(5), b, graph=LAGGED, observed=x, likelihood=likelihood, **options)


def diary_with_gaps(likelihood):
    diary(likelihood, GONE[:, :3])


def ordinal_diary(likelihood):
    b = pm.Normal("b", 0, 1, shape=(3, 2))
    pmrf.KineticMRF(
        "x", sparse(5), b, graph=LAGGED, observed=ITEMS[:, :3], family="ordinal", n_states=3,
        weights=1 + np.arange(N) % 2, likelihood=likelihood,
    )  # fmt: skip


def two_diaries(likelihood):
    """One of them without arrows into nodes with links."""
    w = sparse(5)
    apart = pmrf.LaggedGraph(range(3), [(0, 2)], (1,), [(0, 1)])
    b = [pm.Normal(f"b_{k}", 0, 1, shape=3) for k in range(2)]
    x = {"observed": X[:, :3], "likelihood": likelihood}
    pmrf.KineticMRF("x", w, b[0], graph=LAGGED, **x)
    pmrf.KineticMRF("y", w[:2], b[1], graph=apart, **x)


def grouped(declare, n):
    def make(likelihood):
        theta = pmrf.DirichletProcess("w", 1.0, pm.Normal.dist(0, 1), shape=n)
        declare(theta, likelihood)

    return make


def grouped_ising(theta, likelihood):
    b = np.array([0.2, -0.3, 0.0, 0.4])
    pmrf.Ising("x", theta, b, graph=GRAPH, observed=2 * X - 1, likelihood=likelihood)


def grouped_fields(theta, likelihood):
    """The second has entries in an order of its own, the first has none of the last."""
    pmrf.Ising("x", theta[:3], 0.3, graph=GRAPH, observed=2 * X - 1, likelihood=likelihood)
    y = {"observed": 2 * X[:25, 1:] - 1, "likelihood": likelihood}
    pmrf.Ising("y", theta[[3, 0, 2]], -0.2, graph=nx.cycle_graph(3), **y)


def grouped_gaps(theta, likelihood):
    b = np.array([0.2, -0.3, 0.0, 0.4])
    pmrf.BoltzmannMachine("x", theta, b, graph=GRAPH, observed=GONE, likelihood=likelihood)


def grouped_items(theta, likelihood):
    pmrf.OrdinalMRF("x", theta, np.array([[0.3, -0.4]] * D), n_states=3, graph=GRAPH, observed=ITEMS,
                    likelihood=likelihood)  # fmt: skip


def grouped_diary(family, x):
    def declare(theta, likelihood):
        pmrf.KineticMRF("x", theta, 0.2, graph=LAGGED, observed=x, family=family, likelihood=likelihood)

    return declare


def engines_within(engine):
    """Engines of the fields themselves, which know their log-likelihood."""
    if isinstance(engine, SharedBlocks):
        return [inner for part in engine._parts for inner in engines_within(part)]
    return engines_within(whole_of(engine)) if hasattr(engine, "_whole") else [engine]


def edge_target(step, point):
    found = []

    def look(w, b, prior):
        engine_in(step).go_to(w, b)
        engine_in(step).refresh(step.rng)
        for engine in engines_within(engine_in(step)):
            view = engine.view
            active = np.flatnonzero(view.w)
            slope = np.zeros(len(active) + view.n_biases)
            found.append(questions.add_slopes(view, active, slope))
        return {}, False

    step._move = look
    step._update(point)
    return sum(found)


def natural_at(step, point):
    """Natural parameters of a step of groups at a point, of which it has read all else."""
    step._read_point(point)
    step._read_data(point)
    return step._link.natural(point["w"])


def group_target(step, point):
    eta = natural_at(step, point)
    return sum(engine.log_likelihood(eta)[0] for engine in engines_of(step))


EDGES = {
    one.__name__: one
    for one in (
        ising, row_weights, boltzmann_of_rows, missing_cells, ordinal, potts, nominal, mixed, two_fields,
        differences, diary, diary_with_gaps, ordinal_diary, two_diaries,
    )
}  # fmt: skip
GROUPS = {
    "grouped_ising": grouped(grouped_ising, 3),
    "grouped_fields": grouped(grouped_fields, 4),
    "grouped_gaps": grouped(grouped_gaps, 3),
    "grouped_items": grouped(grouped_items, 3),
    "grouped_diary": grouped(grouped_diary("boltzmann", X[:, :3]), 5),
    "grouped_ising_diary": grouped(grouped_diary("ising", 2 * X[:, :3] - 1), 5),
}


def random_point(model, rng):
    """Draw parameters; missing cells are not those of the start, and the same at all points.

    Engines leave out what the cells alone say.
    """
    point, of_cells = model.initial_point(), np.random.default_rng(5)
    for name, value in point.items():
        if name.endswith("unobserved"):
            point[name] = of_cells.integers(2, size=value.shape).astype(value.dtype)
        else:
            # precisions of mixed fields are positive definite
            point[name] = rng.normal(0, 0.2 if "diagonal_log__" in point else 0.6, value.shape)
    return point


VIEWS = {  # what answers the moves of edges
    ("ising", "exact"): exact_edges.ListedView,
    ("ordinal", "exact"): exact_edges.TreeView,
    ("nominal", "exact"): exact_edges.TreeView,
    ("mixed", "exact"): mixed_edges.MixedView,
    ("diary", "exact"): listed_rows.ListedRowView,
    ("ising", "pseudo"): pseudo_edges.PseudoView,
    ("nominal", "pseudo"): pseudo_edges.PseudoView,
    ("mixed", "pseudo"): mixed_pseudo.MixedPseudoView,
}
LIKELIHOODS = {"exact": "exact", "1/2": "pseudo", "1": pmrf.Pseudo(weight=1)}
OF_GROUPS = LIKELIHOODS | {"simulated": pmrf.MonteCarlo(tolerance=0.3)}
QUICK = (
    "ising-1/2", "ising-1", "missing_cells-1/2", "ordinal-1/2", "diary-1/2", "grouped_ising-1/2",
    "grouped_fields-1/2",
)  # fmt: skip
GROUP_CASES = [
    pytest.param(name, likelihood, id=f"{name}-{id}")
    for name in GROUPS
    for id, likelihood in OF_GROUPS.items()
    if id != "simulated" or "diary" not in name  # of which rows are listed, or seen one by one
]
CASES = [
    *(
        pytest.param(name, likelihood, id=f"{name}-{id}")
        for name in EDGES
        for id, likelihood in LIKELIHOODS.items()
    ),
    *GROUP_CASES,
]


@pytest.mark.parametrize(("name", "likelihood"), CASES)
@pytest.mark.ordinary(*QUICK)
def test_steps_have_the_density_of_the_model(name, likelihood, rng):
    with pm.Model() as model:
        (EDGES | GROUPS)[name](likelihood)
        kind = EdgeGibbs if name in EDGES else pmrf.steps.GroupGibbs
        moved = ["w", "b", "diagonal"] if name == "mixed" else ["w"]
        step = kind([model[one] for one in moved])
    if view := VIEWS.get((name, likelihood)):
        assert {type(engine.view) for engine in engines_within(engine_in(step))} == {view}
    target = edge_target if name in EDGES else group_target
    fields = [rv for rv in model.basic_RVs if rv not in model.free_RVs or rv.name.endswith("unobserved")]
    log_density = model.compile_logp(vars=fields)
    points = [random_point(model, rng) for _ in range(3)]
    if name in EDGES:  # an absent edge
        points[1]["w"][: 4 if name == "nominal" else 1] = 0.0
    said = [(target(step, point), float(log_density(point))) for point in points]
    mine, right = np.diff(said, axis=0).T
    rounding = (
        1e-3 if isinstance(likelihood, pmrf.MonteCarlo) else 1e-8
    )  # points are weighed in single precision
    np.testing.assert_allclose(mine, right, rtol=rounding, atol=rounding)
    assert np.abs(right).min() > 0.1


@pytest.mark.parametrize(("name", "likelihood"), GROUP_CASES)
@pytest.mark.ordinary("grouped_ising-1/2", "grouped_fields-1/2", "grouped_fields-exact")
def test_labels_are_drawn_by_the_density_of_the_values(name, likelihood, rng):
    """One entry at a time, all others fixed, before and after another one has moved."""
    with pm.Model() as model:
        GROUPS[name](likelihood)
        step = pmrf.steps.GroupGibbs([model["w"]])
    point, terms = random_point(model, rng), terms_of(step)
    eta, spans = np.array(natural_at(step, point)), []
    engines = engines_of(step)
    views = [engine.view(eta) for engine in engines]
    places = np.array([-0.8, 0.1, 0.5])
    rounding = 1e-3 if isinstance(likelihood, pmrf.MonteCarlo) else 1e-8
    for e, moved in ((0, 0.4), (2, -0.3), (1, 0.2), (0, -0.1)):
        edge_terms.clear(terms)
        for view in views:
            describe_edgewise(view, e, eta[e], terms)
        found = [edge_terms.log_likelihood(terms, x) for x in places]
        at = np.where(np.arange(len(eta)) == e, places[:, None], eta)
        right = np.diff([sum(engine.log_likelihood(there)[0] for engine in engines) for there in at])
        for view, engine in zip(views, engines, strict=True):
            engine.view(eta)  # the same arrays
            assert not follow_edgewise(view, e, eta[e], moved)
        np.testing.assert_allclose(np.diff(found), right, rtol=rounding, atol=rounding)
        spans.append(np.abs(right).max())
        eta[e] = moved
    assert min(spans) > 0.05
