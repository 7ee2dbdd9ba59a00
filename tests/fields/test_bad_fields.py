"""Messages about fixed fields and about estimates."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from pymc_mrf.estimation.bounds import tree_reweighted_bound
from pymc_mrf.estimation.point_estimates import fit
from pymc_mrf.estimation.trees import chow_liu
from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.pairwise import PairwiseField

PATH, CYCLE = nx.path_graph(3), nx.cycle_graph(3)
EDGES, NODES = np.tile(np.eye(2), (2, 1, 1)), np.zeros((3, 2))
PAIRWISE = PairwiseField(PATH, EDGES, NODES)
FACTORS = FactorGraphField([(0, 1), (1, 2)], [2, 2, 2], [np.eye(2)] * 2)
X = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 1, 1]])


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        (EDGES, [["a", "b"]] * 3, "node_tables must be numeric"),
        (EDGES, None, "node_tables must be numeric, .* it is None"),
        (EDGES, [[0, 0], [0], [0, 0]], "node_tables must be numeric, a rectangular array"),
        (EDGES > 0, NODES, "edge_tables must be numeric, not of dtype bool"),
        (EDGES + 1j, NODES, "edge_tables must be numeric, not of dtype complex128"),
        (np.ma.masked_equal(EDGES, 0.0), NODES, "edge_tables has 4 masked cells"),
    ],
)
def test_tables_of_pairs(edges, nodes, message):
    with pytest.raises(ValueError, match=message):
        PairwiseField(PATH, edges, nodes)


@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        (None, TypeError, "tables must be a sequence of log tables, one per factor, not None"),
        ({0: np.eye(2)}, TypeError, "tables must be a sequence of tables in the order of scopes"),
        ([None], ValueError, r"tables\[0\] must be numeric, .* it is None"),
        ([[[0], [0, 1]]], ValueError, r"tables\[0\] must be numeric, a rectangular array"),
    ],
)
def test_tables_of_factors(tables, error, message):
    with pytest.raises(error, match=message):
        FactorGraphField([(0, 1)], [2, 2], tables)


@pytest.mark.parametrize("field", [PAIRWISE, FACTORS])
@pytest.mark.parametrize(
    ("method", "options", "error", "message"),
    [
        (["exact"], {}, ValueError, r'method must be one of "exact", .*not \[\'exact\'\]'),
        (
            "tree",
            {"partition": 3},
            TypeError,
            "partition must be a sequence of sequences of nodes, not 3",
        ),
        (
            "tree",
            {"partition": [0, 1, 2]},
            TypeError,
            r"partition\[0\] must be a sequence of nodes, not 0",
        ),
        ("gibbs", {"rng": "x"}, TypeError, "rng must be a numpy.random.Generator"),
        ("gibbs", {"rng": -1}, ValueError, "rng must be .*, not -1"),
        (
            "bp",
            {"damping": "a"},
            ValueError,
            r"damping must be a number of at least 0 and below 1, not 'a'",
        ),
        ("bp", {"tolerance": np.inf}, ValueError, "tolerance must be a finite number above 0, not inf"),
        ("bp", {"tolerance": [1]}, ValueError, r"tolerance must be a finite number above 0, not \[1\]"),
    ],
)
def test_options_of_methods(field, method, options, error, message):
    with pytest.raises(error, match=message):
        field.marginals(method, **options)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([0.0, 1.0, 1.0], TypeError, r"integer state indices, not float64; .*x\.astype\(int\)"),
        (["0", "1", "1"], ValueError, "x must be numeric"),
        (np.ma.masked_array([0, 1, 1], mask=[1, 0, 0]), ValueError, "x has 1 masked cells"),
        ([[0, 1], [0]], ValueError, "x must be numeric, a rectangular array"),
    ],
)
@pytest.mark.parametrize("field", [PAIRWISE, FACTORS])
def test_configurations(field, x, error, message):
    with pytest.raises(error, match=message):
        field.energy(x)


def test_columns_in_another_order():
    frame = pd.DataFrame(X, columns=[2, 1, 0])
    for call in (
        lambda: PAIRWISE.energy(frame),
        lambda: chow_liu(frame, nodes=range(3)),
    ):
        with pytest.raises(
            ValueError, match=r"x: its labels are the nodes of the graph in another order"
        ):
            call()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"x": X.astype(float) / [1, 1, np.nan]}, ValueError, r"is nan, .*drop rows with missing cells"),
        ({"x": None}, ValueError, "x must be numeric, .* it is None"),
        ({"x": X[None]}, ValueError, r"use x\.reshape\(-1, 3\)"),
        ({"method": ["pcd"]}, ValueError, r"method must be one of .*not \['pcd'\]"),
        ({"family": ["ising"]}, ValueError, r"family must be .*not \['ising'\]"),
        (
            {"method": "exact", "n_particles": 5},
            TypeError,
            'n_particles is no option of method="exact"; it',
        ),
        ({"foo": 5}, TypeError, 'foo is no option of method="pcd"; it has n_particles, max_iterations'),
        (
            {"method": "pseudo", "max_iterations": 0},
            ValueError,
            "max_iterations must be a positive integer",
        ),
        ({"groups": [[0], [1, 2], 3]}, ValueError, "groups must be a vector of integer labels"),
        ({"random_seed": "a"}, TypeError, "random_seed must be a numpy.random.Generator"),
    ],
)
def test_arguments_of_fit(options, error, message):
    with pytest.raises(error, match=message):
        fit(**({"x": X, "graph": CYCLE} | options))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"nodes": [[0], [1], [2]]}, TypeError, r"nodes holds \[0\], which cannot be a label"),
        ({"nodes": 3}, TypeError, "nodes must be a sequence of labels, not 3"),
        ({"nodes": ["a", "b"]}, ValueError, "nodes has 2 labels but x has 3 columns"),
        ({"nodes": ["a", "b", "a"]}, ValueError, "the label 'a' occurs twice"),
        ({"n_states": 2.5}, ValueError, "n_states must be a positive integer, not 2.5"),
        ({"n_states": 1}, ValueError, "n_states is 1, but x has 2 distinct values; raise n_states"),
        (
            {"pseudo_count": "a"},
            ValueError,
            "pseudo_count must be a finite number of at least 0, not 'a'",
        ),
        ({"forest": "no"}, TypeError, "forest must be True or False, not 'no'"),
    ],
)
def test_arguments_of_chow_liu(options, error, message):
    with pytest.raises(error, match=message):
        chow_liu(X, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"field": CYCLE}, TypeError, r"field must be a pymc_mrf\.PairwiseField, not Graph"),
        ({"tolerance": np.nan}, ValueError, "tolerance must be a finite number of at least 0, not nan"),
        ({"tolerance": -1}, ValueError, "tolerance must be"),
        ({"max_iterations": 1.5}, ValueError, "max_iterations must be a positive integer, not 1.5"),
        ({"edge_probabilities": ["a", "b"]}, ValueError, "edge_probabilities must be numeric"),
    ],
)
def test_arguments_of_the_bound(options, error, message):
    with pytest.raises(error, match=message):
        tree_reweighted_bound(**({"field": PAIRWISE} | options))
