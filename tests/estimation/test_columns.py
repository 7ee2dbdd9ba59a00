"""Columns of data and graphs of them."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import pymc_mrf as pmrf
from pymc_mrf.estimation.columns import graph_of_columns, read_columns


def test_columns_and_their_labels():
    x, labels = read_columns([[0, 1], [1, 1]], None, 2)
    assert x.shape == (2, 2) and labels == [0, 1]
    assert read_columns([[0, 1], [1, 0]], "ab", 1)[1] == ["a", "b"]
    for bad, message in [
        ([[0], [1]], "at least two observations by at least 2 nodes"),
        ([0, 1], "at least 2 nodes"),
        ([[0, 1]], "at least two observations"),
        (np.zeros((0, 3)), "at least two observations"),
        (pd.DataFrame({"a": [0, 1], "b": [np.nan, 1]}), "column 'b' has 1 missing cells"),
        (np.ma.masked_equal([[0, 1]], 1), "x has 1 missing cells"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_columns(bad, None, 2)


def test_codes_of_missing_values():
    table = pd.DataFrame({"a": [0, 1, 99, 1], "b": [0, 1, 1, 0]})
    with pytest.raises(ValueError, match="x: column 'a' has the value 99 in 1 rows"):
        read_columns(table, None, 2)
    assert read_columns(table.replace(99, 2), None, 2)[0].max() == 2


def test_graph_of_columns():
    values = np.array([[0.0, 0.5, 2.0], [0.5, 0.0, 1.0], [2.0, 1.0, 0.0]])
    graph = graph_of_columns(["b", "a", "c"], [(0, 2), (1, 2)], values, "strength")
    assert list(graph) == ["b", "a", "c"]
    assert list(graph.edges(data="strength")) == [("b", "c", 2.0), ("a", "c", 1.0)]


def answers_of(k, seed=1):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(120, 3)) + rng.normal(size=(120, 1))
    cuts = {2: [0.0], 3: [-0.6, 0.6]}[k]
    return pd.DataFrame(np.digitize(z, cuts), columns=["b", "a", "c"])


def named(table, *, ordered):
    words = ["never", "often", "sometimes"][: table.to_numpy().max() + 1]
    return table.apply(lambda c: pd.Categorical([words[k] for k in c], words, ordered=ordered))


GRAPH = nx.complete_graph(["a", "b", "c"])
ESTIMATES = {
    "fit": (3, lambda x: pmrf.estimation.fit(x, GRAPH, "pseudo", "ordinal", n_states=3).parameter),
    "fit of agreement": (3, lambda x: pmrf.estimation.fit(x, GRAPH, "pseudo", n_states=3).parameter),
    "elasso": (2, lambda x: pmrf.estimation.elasso(x, GRAPH).edges["weight"]),
    "l1_pseudo_likelihood": (
        2,
        lambda x: pmrf.estimation.l1_pseudo_likelihood(x, GRAPH, penalties=[0.05]).parameter,
    ),
}


@pytest.mark.parametrize("name", list(ESTIMATES))
def test_estimates_of_odd_tables(name):
    """Codes from 1 and ordered categories are the same answers; texts have no order, and are refused."""
    k, estimate = ESTIMATES[name]
    table = answers_of(k)
    expected = estimate(table)
    np.testing.assert_array_equal(estimate(named(table, ordered=True)), expected)
    with pytest.warns(UserWarning, match="codes that start at 1 are counted from 0"):
        np.testing.assert_array_equal(estimate(table + 1), expected)
    with pytest.raises(ValueError, match=f"x.* is {k + 1}, which is not a state"):
        estimate(table + 2)
    with pytest.raises(ValueError, match=r"column 'a' holds text.* make it categorical"):
        estimate(named(table, ordered=True).astype(str).astype(object))


def test_codes_from_1_of_another_range_are_states():
    """Without the last code of any column the codes are states as they are, as of two of three answers."""
    table = answers_of(2) + 1
    found = pmrf.estimation.fit(table, GRAPH, "pseudo", n_states=3).parameter
    np.testing.assert_allclose(
        found, pmrf.estimation.fit(table - 1, GRAPH, "pseudo", n_states=3).parameter
    )


@pytest.mark.parametrize("ordered", [True, False, None])
def test_trees_and_neighbourhoods_of_texts(ordered):
    table = answers_of(2)
    words = named(table, ordered=bool(ordered))
    words = words.astype(str).astype(object) if ordered is None else words
    words["a"] = table["a"].map({0: "yes", 1: "no"})  # other texts, in another order
    nodes = list(table)
    expected = pmrf.estimation.chow_liu(table, nodes=nodes)
    found = pmrf.estimation.chow_liu(words, nodes=nodes)
    assert nx.utils.graphs_equal(found, expected)
    assert pmrf.estimation.neighborhood_selection(words, 2, nodes=nodes).edges == (
        pmrf.estimation.neighborhood_selection(table, 2, nodes=nodes).edges
    )
