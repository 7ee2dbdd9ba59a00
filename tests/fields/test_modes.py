"""Modes of pairwise fields against enumeration: what each method promises, and what it refuses."""

import re

import numpy as np
import pytest

from pymc_mrf.fields import modes
from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.fields.pairwise_tables import PairwiseTables
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration

GRID = builders.grid(3, 3)
TREE = PairwiseGraph(range(7), [(1, 0), (1, 2), (3, 1), (3, 4), (6, 5)])
STATES = np.arange(3)
METRICS = {
    "Potts": 1.0 * (STATES[:, None] != STATES),
    "linear": 1.0 * np.abs(STATES[:, None] - STATES),
    "cut off": np.minimum(np.abs(STATES[:, None] - STATES), 1.5),
}


def exact(field):
    """Largest log potential, by enumeration."""
    configs = enumeration.configurations(field.graph.n_nodes, field.n_states)
    arguments = field.graph.edges, field.edge_tables, field.node_tables
    return enumeration.log_potentials(configs, *arguments).max()


def assert_local(field, states):
    """No change of one node helps."""
    value = -field.energy(states)
    for i in range(len(states)):
        for a in range(field.n_states):
            other = states.copy()
            other[i] = a
            assert -field.energy(other) <= value + 1e-9


def attractive(graph, rng, scale=1.0):
    """Random binary field of any four numbers per edge whose interaction is positive."""
    tables = rng.normal(size=(graph.n_edges, 2, 2))
    weight = tables[:, 1, 1] + tables[:, 0, 0] - tables[:, 0, 1] - tables[:, 1, 0]
    tables[:, STATES[:2], STATES[:2]] += ((scale * rng.exponential(size=graph.n_edges) - weight) / 2)[
        :, None
    ]
    return PairwiseField(graph, tables, 0.5 * rng.normal(size=(graph.n_nodes, 2)))


def metric(graph, shape, rng, scale=1.0):
    strength = scale * rng.exponential(size=graph.n_edges)
    return PairwiseField(
        graph, -strength[:, None, None] * METRICS[shape], rng.normal(size=(graph.n_nodes, 3))
    )


@pytest.fixture
def seen_cuts(monkeypatch):
    """Sizes of the networks that are left to be cut."""
    sizes, cut = [], modes.cut_network

    def recorded(half, field, edges):
        sizes.append(len(field))
        return cut(half, field, edges)

    monkeypatch.setattr(modes, "cut_network", recorded)
    return sizes


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_cuts_of_binary_fields_are_exact(scale, seen_cuts, rng):
    for graph in (GRID, builders.complete(6), builders.random(9, 0.3, rng=rng), TREE):
        for _ in range(4):
            field = attractive(graph, rng, scale)
            mode = field.mode("cut")
            assert mode.promise == "exact" and mode.factor == 1.0
            assert mode.log_potential == pytest.approx(exact(field), abs=1e-7)
            assert mode.log_potential == pytest.approx(-field.energy(mode.states), abs=1e-12)
            assert 0.0 <= mode.bound - mode.log_potential < 1e-6
    assert len(seen_cuts) > 4 or scale < 1  # not all are settled by their own fields


@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_cuts_of_larger_fields_equal_the_junction_tree(noise, seen_cuts, rng):
    """Nodes that are settled settle others, round after round, until few are."""
    graph = builders.grid(5, 200)
    weight, bias = rng.exponential(size=graph.n_edges), noise * rng.normal(size=1000)
    bias -= np.bincount(graph.edges.ravel(), np.repeat(weight / 2, 2))
    field = PairwiseField(graph, BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias))
    cut, tree = field.mode("cut"), field.mode("exact")
    assert cut.log_potential == pytest.approx(tree.log_potential, abs=1e-6)
    assert cut.log_potential <= tree.log_potential + 1e-9 <= cut.bound + 2e-9
    assert 0 < seen_cuts[0] < 1000


def test_cuts_need_the_network(monkeypatch, rng):
    """Negative control: without the couplings that are left, modes are wrong."""
    monkeypatch.setattr(modes, "cut_network", lambda half, field, edges: modes.Cut(field > 0, 0.0))
    fields = [attractive(GRID, rng, 4.0) for _ in range(10)]
    assert any(field.mode("cut").log_potential < exact(field) - 0.01 for field in fields)


def test_swapped_states_make_couplings_attractive(rng):
    u, v = GRID.edges.T
    side = rng.random(9) < 0.5
    weight = rng.exponential(size=12) * np.where(side[u] == side[v], 1.0, -1.0)
    field = PairwiseField(GRID, BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(rng.normal(size=9)))
    assert field.mode("cut").log_potential == pytest.approx(exact(field), abs=1e-7)


def test_rounding_is_within_the_gap(monkeypatch, rng):
    """With few units the cut is wrong at times, and says by how much at most."""
    monkeypatch.setattr(modes, "UNITS", 3)
    errors, gaps = [], []
    for _ in range(20):
        field = attractive(GRID, rng, 2.0)
        mode = field.mode("cut")
        errors.append(exact(field) - mode.log_potential)
        gaps.append(mode.bound - mode.log_potential)
    assert max(errors) > 0.01
    assert np.all(np.array(errors) <= np.array(gaps) + 1e-9)


def test_certain_nodes(rng):
    node_tables = rng.normal(size=(9, 2))
    node_tables[4, 0] = node_tables[0, 1] = -np.inf
    field = PairwiseField(GRID, attractive(GRID, rng, 3.0).edge_tables, node_tables)
    mode = field.mode("cut")
    assert mode.states[4] == 1 and mode.states[0] == 0
    assert mode.log_potential == pytest.approx(field.mode("exact").log_potential, abs=1e-7)
    evidence = {(0, 1): 1, (2, 2): 0}
    given = [field.mode(method, evidence=evidence) for method in ("exact", "cut")]
    np.testing.assert_array_equal(given[0].states, given[1].states)
    assert given[1].states[1] == 1 and given[1].states[8] == 0
    assert given[0].log_potential == pytest.approx(-field.energy(given[0].states))
    assert given[1].log_potential == pytest.approx(given[0].log_potential)
    assert given[1].bound == pytest.approx(given[0].bound, abs=1e-7)
    everything = dict(zip(GRID.nodes, given[0].states.tolist(), strict=True))
    assert field.mode(evidence=everything).log_potential == pytest.approx(given[0].log_potential)


@pytest.mark.parametrize("shape", METRICS)
def test_expansion_keeps_its_promise(shape, rng):
    graph = builders.hexagonal(3, 2)
    gaps = []
    for scale in (0.3, 1.0, 3.0):
        for _ in range(3):
            field = metric(graph, shape, rng, scale)
            mode, best = field.mode("cut"), exact(field)
            assert mode.promise == "factor"
            assert mode.factor == pytest.approx(
                4.0 if shape == "linear" else 3.0 if "cut" in shape else 2.0
            )
            assert mode.log_potential == pytest.approx(-field.energy(mode.states), abs=1e-12)
            assert mode.log_potential <= best + 1e-9 <= mode.bound + 2e-9
            top = field.node_tables.max(axis=1).sum()  # equal states have energy zero
            assert top - mode.log_potential <= mode.factor * (top - best) + 1e-7
            assert_local(field, mode.states)
            for state in range(3):  # no move to one state helps
                moves = enumeration.configurations(6, 2)
                moved = np.where(moves == 1, state, mode.states)
                assert np.max(-field.energy(moved)) <= mode.log_potential + 1e-7
            gaps.append(best - mode.log_potential)
    assert np.mean(np.array(gaps) < 1e-7) > 0.6  # usually it is the mode


def test_expansion_of_two_states_is_exact(rng):
    for _ in range(10):
        field = attractive(GRID, rng, 2.0)
        found = modes.alpha_expansion(PairwiseTables(GRID, field.edge_tables, field.node_tables))
        assert -field.energy(found.x) == pytest.approx(exact(field), abs=1e-7)


def test_terms_of_single_nodes_do_not_change_the_factor(rng):
    """Tables that are a metric plus terms of either node have the same factor, and a bound that holds."""
    field = metric(GRID, "Potts", rng)
    a, b = 2.0 * rng.normal(size=(2, GRID.n_edges, 3))
    moved = PairwiseField(GRID, field.edge_tables + a[:, :, None] + b[:, None, :], field.node_tables)
    mode = moved.mode("cut")
    assert mode.factor == pytest.approx(2.0)
    assert mode.log_potential <= exact(moved) + 1e-9 <= mode.bound + 2e-9


def test_states_that_do_not_differ_leave_no_factor(rng):
    same = np.abs(np.array([0.0, 0.0, 1.0])[:, None] - [0.0, 0.0, 1.0])  # to edges 0 and 1 are the same
    field = PairwiseField(GRID, -np.tile(same, (12, 1, 1)), rng.normal(size=(9, 3)))
    mode = field.mode("cut")
    assert mode.promise == "local" and mode.factor == np.inf
    assert_local(field, mode.states)
    assert mode.log_potential <= exact(field) + 1e-9 <= mode.bound + 2e-9


def test_tables_that_are_no_metric_are_named(rng):
    tables = np.zeros((12, 3, 3))
    tables[5] = -((STATES[:, None] - STATES) ** 2)
    field = PairwiseField(GRID, tables, rng.normal(size=(9, 3)))
    with pytest.raises(
        ValueError,
        match=rf"the table of the edge {re.escape(GRID.edge_labels[5])} is not metric: with theta\[0, 2\] \+ "
        r"theta\[1, 1\] = -4 below theta\[0, 1\] \+ theta\[1, 2\] = -2.*method=\"bp\" or \"icm\"",
    ):
        field.mode("cut")
    repulsive = PairwiseField(GRID, np.tile(np.eye(3) * -1.0, (12, 1, 1)), np.zeros((9, 3)))
    with pytest.raises(ValueError, match="is not metric"):
        repulsive.map("cut")


def test_what_cuts_refuse(rng):
    weight = np.ones(12)
    weight[0] = -1.0
    frustrated = PairwiseField(GRID, BOLTZMANN.edge_tables(weight), np.zeros((9, 2)))
    with pytest.raises(ValueError, match=r"the cycle .* odd number of repulsive .*Use method=\"bp\""):
        frustrated.mode("cut")
    tables = np.zeros((12, 2, 2))
    tables[3, 0, 1] = -np.inf
    field = PairwiseField(GRID, tables, np.zeros((9, 2)))
    with pytest.raises(
        ValueError, match=rf"edge {re.escape(GRID.edge_labels[3])} has -inf entries.* such as -50"
    ):
        field.mode("cut")
    with pytest.raises(
        ValueError, match='method must be one of "auto", "exact", "cut", "bp", "icm", not \'cuts\''
    ):
        field.mode("cuts")
    with pytest.raises(ValueError, match='damping is an option of method="auto" or "bp", not of'):
        field.mode("cut", damping=0.1)
    factors = FactorGraphField([(0, 1)], [2, 2], [np.zeros((2, 2))])
    with pytest.raises(ValueError, match='method must be one of "auto", "exact", not \'cut\''):
        factors.map("cut")


@pytest.mark.parametrize("n_states", [2, 3])
def test_max_product_is_exact_on_forests(n_states, rng):
    for ties in (False, True):
        edge_tables = rng.normal(size=(TREE.n_edges, n_states, n_states))
        node_tables = rng.normal(size=(TREE.n_nodes, n_states))
        if ties:  # every edge prefers different states, no node prefers any
            edge_tables[:], node_tables[:] = -np.eye(n_states), 0.0
        field = PairwiseField(TREE, edge_tables, node_tables)
        mode = field.mode("bp")
        assert mode.promise == "exact"
        assert mode.log_potential == pytest.approx(exact(field), abs=1e-9)
        assert mode.bound == mode.log_potential
    icm = field.mode("icm")  # control: not every configuration that no node improves is a mode
    assert icm.promise == "local"


def test_local_modes_of_frustrated_fields(rng):
    short = {"bp": [], "icm": []}
    for _ in range(15):
        field = PairwiseField(GRID, 2.0 * rng.normal(size=(12, 3, 3)), rng.normal(size=(9, 3)))
        best = field.mode("exact").log_potential
        for method, gaps in short.items():
            mode = field.mode(method)
            assert mode.promise == "local" and mode.factor == np.inf and mode.method == method
            assert_local(field, mode.states)
            assert mode.log_potential <= best + 1e-9 <= mode.bound + 2e-9
            gaps.append(best - mode.log_potential)
    assert np.mean(short["bp"]) < np.mean(short["icm"])
    assert max(short["icm"]) > 0.1


def test_impossible_pairs_leave_local_methods_a_way(rng):
    tables = np.where(np.eye(2), -np.inf, 0.0)  # neighbours must differ
    field = PairwiseField(GRID, np.tile(tables, (12, 1, 1)), rng.normal(size=(9, 2)))
    assert field.mode("bp").log_potential == pytest.approx(field.mode("exact").log_potential)
    impossible = PairwiseField(builders.complete(3), field.edge_tables[:3], np.zeros((3, 2)))
    for method, message in (
        ("icm", 'method="icm" has found no configuration that is possible'),
        ("exact", "no configuration of the field is possible"),
    ):
        with pytest.raises(ValueError, match=message):
            impossible.mode(method)


def test_auto_takes_the_first_that_applies(monkeypatch, rng):
    attracted, states = attractive(GRID, rng), metric(GRID, "Potts", rng)
    weight = rng.normal(size=12)
    weight[0] = -np.prod(np.sign(weight[1:]))
    tables = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(rng.normal(size=9))
    glass = PairwiseField(builders.grid(3, 3), *tables)
    assert [field.mode().method for field in (attracted, states, glass)] == ["exact"] * 3
    monkeypatch.setattr(modes, "MAX_CELLS", 4)
    found = [field.mode() for field in (attracted, states)]
    assert [mode.method for mode in found] == ["cut", "cut"]
    assert [mode.promise for mode in found] == ["exact", "factor"]
    np.testing.assert_array_equal(states.map(), found[1].states)
    frustrated = PairwiseField(GRID, -np.tile(np.eye(3), (12, 1, 1)), rng.normal(size=(9, 3)))
    assert frustrated.mode().method == "bp"
    with pytest.warns(
        UserWarning, match="map has found a local mode: .*too large and graph cuts do not"
    ):
        frustrated.map()
    frustrated.map("bp")  # asked for: no warning
