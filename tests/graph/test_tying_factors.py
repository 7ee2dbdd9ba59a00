"""Impossible combinations that tie trees: found exactly where trees cannot move alone; sampling."""

import itertools
import re
import warnings

import arviz as az
import networkx as nx
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.factor_trees import tying_factors
from pymc_mrf.steps.latent import latent_field
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.insides import field_of
from tests.reference import latent_field as reference
from tests.statistics import Z, assert_frequencies

EQUAL = np.array([[0.3, -np.inf], [-np.inf, 0.0]])
WEAK = np.array([[0.2, 0.0], [0.0, -0.1]])
SQUARE = [(0, 1), (1, 2), (2, 3), (0, 3)]
Y = np.array([0.5, 0.9, 0.1, 0.6])
ALL_UNKNOWN = np.full((1, 4), -1)


def ties(tables, trees, states=ALL_UNKNOWN, scopes=SQUARE, cards=(2, 2, 2, 2)):
    flat = np.concatenate([np.ravel(t) for t in tables])[None]
    return tying_factors(FactorGraph(scopes, cards), flat, states, trees)


def is_connected(tables, scopes, cards, trees):
    """Whether changes of one tree at a time lead from every possible configuration to every other."""
    configs = [
        z
        for z in itertools.product(*map(range, cards))
        if all(t[tuple(z[v] for v in s)] > -np.inf for t, s in zip(tables, scopes, strict=True))
    ]
    moves = nx.Graph()
    moves.add_nodes_from(configs)
    for a, b in itertools.combinations(configs, 2):
        differ = {v for v in range(len(cards)) if a[v] != b[v]}
        if any(differ <= set(tree) for tree in trees):
            moves.add_edge(a, b)
    return nx.is_connected(moves)


def test_trees_without_ties_reach_everything(rng):
    cards, n_free = (2, 3, 2, 2), 0
    scopes = [(0, 1), (1, 2, 3), (3, 0), (2,)]
    for _ in range(300):
        tables = []
        for scope in scopes:
            shape = [cards[v] for v in scope]
            if rng.random() < 0.5:  # states of single variables are excluded, each on its own
                possible = np.ones(shape, dtype=bool)
                for axis, n in enumerate(shape):
                    keep = np.where(rng.random(n) < 0.6, True, np.arange(n) == 0)
                    possible &= np.expand_dims(keep, [a for a in range(len(shape)) if a != axis])
            else:
                possible = rng.random(shape) < 0.7
                possible.flat[0] = True
            tables.append(np.where(possible, 0.0, -np.inf))
        trees = [[0, 1], [2, 3]] if rng.random() < 0.5 else [[0, 1, 2], [3]]
        if not ties(tables, trees, scopes=scopes, cards=cards):
            n_free += 1
            assert is_connected(tables, scopes, cards, trees)
    assert 30 < n_free < 270


def test_ties_are_between_trees():
    tables = [EQUAL, WEAK, WEAK, WEAK]
    assert ties(tables, [[0, 1], [2, 3]]) == []
    assert ties(tables, [[0, 2], [1, 3]]) == [0]
    assert ties([WEAK, WEAK, EQUAL, EQUAL], [[0, 1], [2, 3]]) == [3]


def test_states_excluded_one_by_one_tie_nothing():
    only_zero = np.array([[0.0, -np.inf], [0.4, -np.inf]])
    assert ties([only_zero, WEAK, WEAK, WEAK], [[0, 2], [1, 3]]) == []


def test_known_variables_tie_nothing():
    tables = [EQUAL, WEAK, WEAK, WEAK]
    one_known = np.array([[-1, 1, -1, -1]])
    assert ties(tables, [[0, 2], [3]], one_known) == []
    assert ties(tables, [[0, 2], [1, 3]], np.vstack([one_known, ALL_UNKNOWN])) == [0]
    assert ties(tables, [[2], [3]], np.array([[0, 1, -1, -1]])) == []  # impossible data, but no tie


def square_model(tables=(EQUAL, EQUAL, EQUAL, WEAK), child=None, **options):
    with pm.Model() as model:
        x = pmrf.FactorGraphMRF("x", list(tables), scopes=SQUARE, cardinalities=[2] * 4, **options)
        pm.Normal("y", x, 1.0, observed=Y)
        if child is not None:
            child(x)
    return model


def square_posterior(tables=(EQUAL, EQUAL, EQUAL, WEAK), child=lambda z: 0.0):
    configs = np.array(list(itertools.product(range(2), repeat=4)))
    scores = [
        sum(t[z[u], z[v]] for t, (u, v) in zip(tables, SQUARE, strict=True))
        + reference.normal(Y, z, 1.0)
        + child(z)
        for z in configs
    ]
    p = np.exp(scores)
    return p / p.sum()


def frequencies(model, n):
    step = TreeGibbs([model["x"]], model=model, rng=1, n_sweeps=1)
    step.setup_chain(np.random.default_rng(3), 0, n)
    point, counts = model.initial_point(), np.zeros(16, dtype=int)
    for k in range(n):
        point, _ = step.step(point)
        if k % 5 == 0:
            counts[point["x"] @ [8, 4, 2, 1]] += 1
    return step, counts


def trees_only(monkeypatch, cells=0):
    for limit in ("EXACT_CELLS", "AUTO_CELLS"):
        monkeypatch.setattr(latent_field, limit, cells)


def test_tied_fields_are_drawn_as_a_whole(monkeypatch):
    monkeypatch.setattr(latent_field, "EXACT_CELLS", 0)
    step, counts = frequencies(square_model(), 10_000)
    assert field_of(step).exact and field_of(step).ties
    assert_frequencies(counts, square_posterior())


@pytest.mark.slow
def test_fields_whose_trees_hold_all_ties_are_drawn_tree_by_tree(monkeypatch):
    monkeypatch.setattr(latent_field, "EXACT_CELLS", 0)
    found = set()
    for k in range(4):  # a cycle: some edge is in no tree
        tables = [EQUAL if e == k else WEAK for e in range(4)]
        model = square_model(tables)
        step, _ = frequencies(model, 1)
        assert field_of(step).exact is bool(field_of(step).ties)
        if field_of(step).exact not in found:
            found.add(field_of(step).exact)
            _, counts = frequencies(model, 10_000)
            assert_frequencies(counts, square_posterior(tables))
    assert found == {True, False}


def triple(x):
    pm.Potential("triple", -0.7 * (x[0] + x[1]) * x[2])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw x at once")
def test_tied_fields_are_proposed_as_a_whole_too():
    _, counts = frequencies(square_model(child=triple), 8000)
    assert_frequencies(counts, square_posterior(child=lambda z: -0.7 * (z[0] + z[1]) * z[2]))


def test_warning_where_tied_fields_are_too_large(monkeypatch):
    trees_only(monkeypatch)
    message = (
        "TreeGibbs may not reach all configurations of x: .* of 2 factors, the first over variables .* "
        "unasked. Declare x with likelihood=.exact.; or join .*initvals=.* Large finite penalties"
    )
    tables = [EQUAL, EQUAL, EQUAL, EQUAL]
    with pytest.warns(UserWarning, match=message):
        step, counts = frequencies(square_model(tables, likelihood="particles"), 500)
    assert not field_of(step).exact
    assert np.count_nonzero(counts) == 1  # the warning is right: half of the probability is not reached
    step, counts = frequencies(square_model(tables, likelihood="exact"), 500)
    assert field_of(step).exact and np.count_nonzero(counts) == 2
    monkeypatch.setattr(latent_field, "MAX_CELLS", 0)
    with pytest.warns(UserWarning, match=re.escape("draw all of them at once. Join variables")):
        frequencies(square_model(tables, likelihood="exact"), 5)


def test_no_warning_without_ties(monkeypatch):
    trees_only(monkeypatch)

    def impossible_state(x):
        pm.Bernoulli("z", pm.math.switch(pm.math.eq(x[0], 1), 1.0, 0.5), observed=0)

    single = np.array([[0.0, -np.inf], [0.4, -np.inf]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frequencies(square_model([WEAK] * 4), 5)
        frequencies(square_model([WEAK] * 4, impossible_state), 5)
        frequencies(square_model([single] * 4), 5)


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_observed_cells_cut_ties(monkeypatch):
    trees_only(monkeypatch)
    data = np.ma.masked_array([[1, 1, 1, 1], [0, 0, 0, 0]], [[1, 0, 1, 0], [1, 0, 1, 0]])
    with pm.Model() as model:
        pmrf.FactorGraphMRF("x", [EQUAL] * 4, scopes=SQUARE, cardinalities=[2] * 4, observed=data)
    step = TreeGibbs(
        [model["x_unobserved"]], model=model, initial_point={"x_unobserved": np.array([1, 1, 0, 0])}
    )
    assert field_of(step).ties == [] and not field_of(step).exact


def test_many_hard_links_in_a_graph_with_cycles():
    graph = nx.random_regular_graph(4, 40, seed=1)
    scopes = [tuple(map(int, e)) for e in graph.edges]
    hard = [e for e in scopes if min(e) < 6]
    equal, weak = np.where(np.eye(2) > 0, 0.0, -np.inf), 0.1 * np.eye(2)
    with pm.Model() as model:
        x = pmrf.FactorGraphMRF(
            "x", [equal if e in hard else weak for e in scopes], scopes=scopes, cardinalities=[2] * 40
        )
    step = TreeGibbs([x], model=model, rng=1)
    assert field_of(step).exact and x.owner.op.tree.n_cells > latent_field.EXACT_CELLS
    point, ups = model.initial_point(), []
    for _ in range(200):
        point, _ = step.step(point)
        assert all(point["x"][u] == point["x"][v] for u, v in hard)
        ups.append(point["x"][hard[0][0]])
    assert 60 < np.sum(ups) < 140  # symmetric: 100 expected, standard error 7


@pytest.mark.filterwarnings("error")
def test_hard_core_fields_have_no_ties(monkeypatch):
    """Every node may always go to state 0: single changes reach all independent sets."""
    trees_only(monkeypatch)
    graph = nx.grid_2d_graph(3, 3)
    number = {node: i for i, node in enumerate(graph)}
    scopes = [(number[u], number[v]) for u, v in graph.edges]
    apart = np.array([[0.0, 0.0], [0.0, -np.inf]])
    with pm.Model() as model:
        x = pmrf.FactorGraphMRF("x", [apart] * 12, scopes=scopes, cardinalities=[2] * 9)
    step = TreeGibbs([x], model=model, rng=2, n_sweeps=5)
    assert field_of(step).ties == [] and not field_of(step).exact
    sets = [
        states
        for states in itertools.product((0, 1), repeat=9)
        if not any(states[u] and states[v] for u, v in scopes)
    ]
    point, draws = model.initial_point(), np.empty((2000, 9))
    for t in range(2000):
        point, _ = step.step(point)
        draws[t] = point["x"]
    error = np.array([float(az.mcse(column[None])) for column in draws.T])
    assert error.max() < 0.06 / Z
    assert np.all(np.abs(draws.mean(axis=0) - np.mean(sets, axis=0)) < Z * error)


def test_a_safe_state_of_more_than_two_is_no_excuse():
    """Evidence may exclude it and leave states that are tied."""
    table = np.where((np.eye(3) > 0) | (np.arange(3) == 0) | (np.arange(3)[:, None] == 0), 0.0, -np.inf)
    graph = FactorGraph([(0, 1), (1, 2), (0, 2)], [3, 3, 3])
    found = tying_factors(graph, np.tile(table.ravel(), 3)[None], np.full((1, 3), -1), [[0, 1], [2]])
    assert found == [1, 2]
