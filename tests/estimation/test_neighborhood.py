"""Neighbourhood selection: recovery, exact edge counts, determinism, refused input."""

import sys

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.estimation.neighborhood import neighborhood_selection
from pymc_mrf.fields.families import ISING
from pymc_mrf.graph import builders
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps, uniform_states

GRID = builders.grid(3, 3)


@pytest.fixture
def x(rng):
    x = np.empty((2000, 9), dtype=np.int8)
    uniform_states(x, 2, rng)
    tables = ISING.edge_tables(np.full(GRID.n_edges, 0.4)), ISING.node_tables(np.full(9, 0.1))
    gibbs_sweeps(x, *tables, GRID.arrays, 200, rng)
    return x


def pairs(graph):
    return {frozenset(edge) for edge in graph.edges}


def test_finds_the_edges_of_a_grid(x):
    found = neighborhood_selection(x, 12, nodes=GRID.nodes)
    assert list(found.nodes) == list(GRID.nodes)
    assert pairs(found) == pairs(GRID.to_networkx())
    assert all(strength > 0 for _, _, strength in found.edges.data("strength"))


@pytest.mark.parametrize("n_edges", [0, 5, 36])
def test_gives_exactly_the_number_of_edges(x, n_edges):
    found = neighborhood_selection(x, n_edges)
    assert found.number_of_edges() == n_edges
    assert found.number_of_nodes() == 9


@pytest.mark.slow
def test_is_deterministic_and_blind_to_coding(x):
    first = neighborhood_selection(x, 10)
    for other in (neighborhood_selection(x, n_edges=10), neighborhood_selection(2 * x - 1, 10)):
        assert nx.utils.graphs_equal(first, other)


def test_one_edge_is_the_strongest_pair(rng):
    x = rng.integers(0, 2, size=(200, 4))
    x[:, 3] = np.where(rng.random(200) < 0.9, x[:, 1], x[:, 3])
    assert pairs(neighborhood_selection(x, 1)) == {frozenset({1, 3})}


def test_equal_strengths_are_broken_by_column_order():
    # all pairs of these columns are alike, so that all three edges enter at once
    rows = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 1]]
    x = np.array(rows + rows[:2] * 4)
    found = neighborhood_selection(x, 1)
    assert found.number_of_edges() == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_edges": 37}, ValueError, "n_edges must be between 0 and 36"),
        ({"n_edges": -1}, ValueError, "n_edges must be between 0 and 36"),
        ({"n_edges": 3.0}, TypeError, "n_edges must be an integer"),
        ({"nodes": "abc"}, ValueError, "nodes has 3 labels but x has 9 columns"),
        ({"nodes": "abcdefghh"}, ValueError, "the label 'h' occurs twice"),
        ({"x": np.zeros((3, 3, 3))}, ValueError, "x must be a matrix"),
        ({"x": np.arange(9).reshape(3, 3)}, ValueError, "two states"),
        ({"x": np.array([[0.0, np.nan], [1.0, 0.0]])}, ValueError, "two states"),
        ({"x": np.array([["a", "b"]])}, ValueError, "numeric"),
        ({"x": np.ma.masked_equal([[0, 1], [1, 0]], 1)}, ValueError, "missing cells"),
    ],
)
def test_refused(x, arguments, error, message):
    with pytest.raises(error, match=message):
        neighborhood_selection(**({"x": x, "n_edges": 3} | arguments))


def test_constant_column_is_named(x):
    x[:, 4] = 1
    with pytest.raises(ValueError, match=r"column of node \(1, 1\) is constant"):
        neighborhood_selection(x, 3, nodes=GRID.nodes)


def test_data_that_show_too_few_edges():
    alternating = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    with pytest.raises(ValueError, match="all columns are uncorrelated"):
        neighborhood_selection(alternating, 1)
    third = np.column_stack([np.repeat(alternating, 2, axis=0), np.tile([0, 1], 4)])
    third[:, 1] = third[:, 0]
    with pytest.raises(
        ValueError, match="n_edges=2 cannot be reached: the regressions use only 1 pairs"
    ):
        neighborhood_selection(third, 2)


def test_missing_scikit_learn_names_the_extra(x, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(ImportError, match=r"pymc-mrf\[structure\]"):
        neighborhood_selection(x, 3)
