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
        (boltzmann, X[:, [0, 2, 2]], "plain"),
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
