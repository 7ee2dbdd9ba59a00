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


NO_EDGES = pmrf.graphs.from_weights({node: [] for node in "abc"})
ALONE = {
    "ising": lambda w: pmrf.Ising("x", w, graph=NO_EDGES, observed=2 * X - 1),
    "boltzmann": lambda w: pmrf.BoltzmannMachine("x", w, graph=NO_EDGES, observed=X),
    "agreement": lambda w: pmrf.AgreementMRF("x", pm.math.sigmoid(w), graph=NO_EDGES, observed=X),
    "potts": lambda w: pmrf.Potts("x", w, graph=NO_EDGES, observed=X, n_states=2),
    "ordinal": lambda w: pmrf.OrdinalMRF("x", w, graph=NO_EDGES, observed=X, n_states=2),
    "pm.Data": lambda w: pmrf.BoltzmannMachine("x", w, graph=NO_EDGES, observed=pm.Data("data", X)),
    "hidden": lambda w: pmrf.Ising("x", w, graph=NO_EDGES),
    "gaussian": lambda w: pmrf.GaussianMRF(
        "x", w, 1.0, graph=NO_EDGES, observed=np.random.default_rng(0).normal(size=(12, 3))
    ),
    "kinetic": lambda w: pmrf.KineticMRF("x", w, graph=pmrf.LaggedGraph("abc", []), observed=X),
}


@pytest.mark.parametrize("field", ALONE)
@pytest.mark.filterwarnings("ignore:x never changes:UserWarning")
def test_a_field_without_edges_says_nothing_of_its_coupling(field):
    with pm.Model():
        with pytest.warns(UserWarning, match="x: the graph has no edges, so .* learnt here of w, whose"):
            ALONE[field](pm.Normal("w", 0, 1))
    with warnings.catch_warnings(), pm.Model():
        warnings.simplefilter("error")
        ALONE[field](0.3 if field != "agreement" else 0.6)  # there is nothing to learn


def of_edges(declare, x):
    with warnings.catch_warnings(record=True) as found, pm.Model():
        warnings.simplefilter("always")
        declare(x)
    return [str(w.message) for w in found if "shows both nodes" in str(w.message)]


def test_edges_that_no_row_informs():
    """Of planned gaps: a and c are never seen together, then b is never seen with another node."""
    x = np.ma.masked_array(
        np.random.default_rng(0).integers(2, size=(12, 3)), mask=np.zeros((12, 3), bool)
    )
    x[::2, 0] = x[1::2, 2] = np.ma.masked
    y = np.ma.masked_array(x.data + np.linspace(0, 0.1, 36).reshape(12, 3), x.mask)
    own = {
        "boltzmann": lambda x: boltzmann(EDGES["plain"](), 0.1, x),
        "sparse": lambda x: boltzmann(EDGES["sparse"](), 0.1, x),
        "gaussian": lambda x: pmrf.GaussianMRF(
            "x", EDGES["plain"](), 1.0, graph=GRAPH, observed=y if x is not None else x
        ),
    }
    for name, declare in own.items():
        [told] = of_edges(declare, x)
        assert "x: no row shows both nodes of a--c: little but the prior" in told, name
        assert "says what w is there" in told
    assert not of_edges(lambda x: boltzmann(EDGES["one for all"](), 0.1, x), x)  # other edges tell of it
    x[::2, 2] = x[1::2, 0] = np.ma.masked
    [told] = of_edges(lambda x: boltzmann(EDGES["one for all"](), 0.1, x), x)
    assert "both nodes of any edge" in told


def test_arrows_that_no_row_informs():
    """b is seen in every third row, and nothing follows from it to itself."""
    x = np.ma.masked_array(
        np.random.default_rng(0).integers(2, size=(15, 2)), mask=np.zeros((15, 2), bool)
    )
    x[np.arange(15) % 3 > 0, 1] = np.ma.masked
    graph = pmrf.graphs.lagged(["a", "b"])
    [told] = of_edges(
        lambda x: pmrf.KineticMRF("x", pm.Normal("w", 0, 1, shape=4), graph=graph, observed=x), x
    )
    assert "both nodes of b->b: little" in told
