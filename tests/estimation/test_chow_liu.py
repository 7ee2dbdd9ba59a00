"""Chow-Liu against all spanning trees, and its options."""

import itertools

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.estimation.trees import chow_liu, mutual_information
from pymc_mrf.fields.families import agreement
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders


def plain_information(a, b, values, pseudo):
    table = np.full((len(values), len(values)), float(pseudo))
    for u, v in zip(a, b, strict=True):
        table[values.index(u), values.index(v)] += 1
    table /= table.sum()
    total = 0.0
    for i, j in itertools.product(range(len(values)), repeat=2):
        if table[i, j] > 0:
            total += table[i, j] * np.log(table[i, j] / table[i].sum() / table[:, j].sum())
    return total


@pytest.mark.parametrize("pseudo", [0.0, 0.5])
def test_is_the_best_of_all_spanning_trees(pseudo, rng):
    x = rng.integers(-1, 2, size=(40, 5))
    x[:, 3] = np.where(rng.random(40) < 0.7, x[:, 0], x[:, 3])
    weight = {
        (i, j): plain_information(x[:, i], x[:, j], [-1, 0, 1], pseudo)
        for i, j in itertools.combinations(range(5), 2)
    }
    best = max(
        sum(weight[e] for e in edges)
        for edges in itertools.combinations(weight, 4)
        if nx.is_tree(nx.Graph(edges)) and len(nx.Graph(edges)) == 5
    )
    tree = chow_liu(x, pseudo_count=pseudo)
    assert nx.is_tree(tree)
    assert sum(weight[e] for e in tree.edges) == pytest.approx(best)
    for u, v, information in tree.edges(data="mutual_information"):
        assert information == pytest.approx(weight[u, v])


def test_recovers_the_tree_of_a_field(rng):
    graph = builders.binary_tree(3)
    family = agreement(3)
    field = PairwiseField(graph, family.edge_tables(np.full(14, 2.0)), np.zeros((15, 3)))
    x = field.sample(3000, rng=rng)
    names = [f"n{i}" for i in range(15)]
    tree = chow_liu(x, nodes=names)
    assert list(tree.nodes) == names
    assert {frozenset(e) for e in tree.edges} == {
        frozenset((names[u], names[v])) for u, v in graph.edges
    }


def test_forest_leaves_out_what_does_not_pay(rng):
    x = rng.integers(0, 2, size=(500, 6))
    x[:, 1] = np.where(rng.random(500) < 0.9, x[:, 0], 1 - x[:, 0])
    x[:, 5] = 0  # a constant column carries no information
    assert chow_liu(x).number_of_edges() == 5
    forest = chow_liu(x, forest=True)
    assert next(iter(forest.edges)) == (0, 1)
    assert forest.number_of_edges() < 5
    assert forest.number_of_nodes() == 6
    for _, _, information in forest.edges(data="mutual_information"):
        assert 2 * 500 * information > np.log(500)


def test_states_that_do_not_occur_count_with_pseudo_counts():
    x = np.array([[0, 0], [1, 1], [1, 0]])
    two = chow_liu(x, pseudo_count=1.0).edges[0, 1]["mutual_information"]
    three = chow_liu(x, pseudo_count=1.0, n_states=3).edges[0, 1]["mutual_information"]
    assert three == pytest.approx(plain_information(x[:, 0], x[:, 1], [0, 1, 2], 1.0))
    assert two != pytest.approx(three)


def test_ties_go_to_the_first_columns():
    x = np.tile([[0], [1]], (1, 4))
    assert sorted(chow_liu(x).edges) == [(0, 1), (0, 2), (0, 3)]
    assert mutual_information(x, 2)[0, 1] == pytest.approx(np.log(2))


def test_single_column():
    assert list(chow_liu([[0], [1]]).nodes) == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(x=[0, 1]), "x must be a matrix"),
        (dict(x=np.zeros((0, 3))), "at least two observations"),
        (dict(x=[[0.0, np.nan], [1.0, 1.0]]), r"x\[0, 1\] is nan"),
        (dict(x=[["a", "b"], ["b", "a"]]), "numeric"),
        (dict(x=np.ma.masked_invalid([[0.0, np.nan], [1.0, 1.0]])), "1 missing cell"),
        (dict(x=[[0, 1], [2, 0]], n_states=2), "n_states is 2, but x has 3"),
        (
            dict(x=[[0, 1], [1, 0]], pseudo_count=-1.0),
            "pseudo_count must be a finite number of at least 0, not -1",
        ),
        (dict(x=[[0, 1], [1, 0]], nodes=["a", "a"]), "the label 'a' occurs twice"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        chow_liu(**arguments)
