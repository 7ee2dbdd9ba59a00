"""Columns that say too little of their nodes, found when a field is declared."""

import warnings

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf

GRAPH = pmrf.graphs.complete(list("abc"))
X = np.tile([[0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]], (3, 1))  # b never changes
EDGES = {
    "plain": lambda: pm.Normal("w", 0, 1, shape=3),
    "sparse": lambda: pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3),
    "grouped": lambda: pmrf.DirichletProcess("w", 1.0, pm.Normal.dist(0, 1), shape=3),
    "one for all": lambda: pm.Normal("w", 0, 1),
    "numbers": lambda: 0.5,
}
BIASES = {"plain": lambda: pm.Normal("b", 0, 1, shape=3), "numbers": lambda: 0.1}


def said(declare, x, edges, biases):
    with warnings.catch_warnings(record=True) as found, pm.Model():
        warnings.simplefilter("always")
        declare(EDGES[edges](), BIASES[biases](), x)
    return [str(w.message) for w in found if w.category is UserWarning]


def boltzmann(w, b, x):
    pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x)


def agreement(w, b, x):
    pmrf.AgreementMRF("x", pm.math.sigmoid(w), graph=GRAPH, observed=x)


@pytest.mark.parametrize(
    ("edges", "biases"),
    [
        *[(edges, "numbers") for edges in ("plain", "sparse", "grouped")],
        ("one for all", "plain"),
        ("numbers", "plain"),
    ],
)
def test_a_constant_column_is_warned_of_whatever_samples_the_field(edges, biases):
    [message] = said(boltzmann, X, edges, biases)
    assert message == (
        "x never changes at b: only the priors keep the parameters of such nodes and of their edges finite"
    )


@pytest.mark.parametrize(
    ("declare", "x", "edges"),
    [
        (boltzmann, X, "numbers"),
        (boltzmann, X, "one for all"),
        (boltzmann, X[:9], "plain"),
        (boltzmann, np.c_[X[:, [0, 2]], X[:, 0] ^ X[:, 2]], "plain"),
        (agreement, X, "plain"),
    ],
    ids=["no parameter", "one parameter", "few rows", "all change", "no node parameters"],
)
def test_silence_where_nothing_is_infinite(declare, x, edges):
    assert said(declare, x, edges, "numbers") == []


def test_missing_cells_do_not_vary_a_column():
    x = np.ma.masked_array(X, mask=np.tile([[0, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0]], (3, 1)))
    [message] = said(boltzmann, x, "plain", "numbers")
    assert message.startswith("x never changes at b:")


COLUMNS = np.c_[X[:, 0], X[:, 0], X[:, 2]]  # a and b are the same
TWINS = "x: the nodes of a--b always agree: only the prior keeps the "


@pytest.mark.parametrize("edges", ["plain", "sparse", "grouped"])
def test_nodes_that_always_agree_or_differ(edges):
    [message] = said(boltzmann, COLUMNS, edges, "plain")
    assert message == (
        TWINS
        + "weight of such an edge finite; leave one of the two nodes out, or give the prior some thought"
    )
    [message] = said(boltzmann, np.c_[1 - COLUMNS[:, 0], COLUMNS[:, 1:]], edges, "plain")
    assert message.startswith("x: the nodes of a--b always differ: only the prior keeps the weight")
    for edges in ("one for all", "numbers"):
        assert said(boltzmann, COLUMNS, edges, "plain") == []
    assert said(boltzmann, COLUMNS[:9], "plain", "plain") == []  # by chance
    assert said(agreement, COLUMNS, "plain", "plain") == []  # theta ends at 1


def test_twins_by_the_cells_that_are_there():
    hide = np.zeros(COLUMNS.shape, dtype=bool)
    hide[[1, 5], 0] = True
    x = np.ma.masked_array(np.where(hide, 1 - COLUMNS, COLUMNS), hide)
    [message] = said(boltzmann, x, "plain", "plain")
    assert message.startswith(TWINS)
    hide[:3, 1] = True  # 8 rows with both are left
    assert said(boltzmann, np.ma.masked_array(COLUMNS, hide), "plain", "plain") == []
    late = np.tile(COLUMNS, (100, 1))
    late[-1, 0] = 1 - late[-1, 1]
    assert said(boltzmann, late, "plain", "plain") == []


def test_twins_of_more_states():
    x = np.random.default_rng(0).integers(0, 3, (20, 3))
    x[:, 1] = x[:, 0]

    def potts(w, b, x):
        pmrf.Potts("x", w, graph=GRAPH, observed=x, n_states=3)

    def ordinal(w, b, x):
        pmrf.OrdinalMRF("x", w, pm.Normal("t", 0, 1, shape=(3, 2)), graph=GRAPH, observed=x, n_states=3)

    assert said(potts, x, "plain", "numbers")[0].startswith(TWINS + "coupling")
    assert said(ordinal, x, "plain", "numbers")[0].startswith(TWINS + "weight")
    x[:, 1] = 2 - x[:, 0]  # not of two states
    assert said(ordinal, x, "plain", "numbers") == []
