"""Messages about graphs, generators of graphs and partitions."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.lattice_partition import comb_partition
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import check_tree_partition, tree_partition

PATH = nx.path_graph(3)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("nodes", "edges", "error", "message"),
    [
        (3, [], TypeError, "nodes must be a sequence of node labels, not 3"),
        ([[0]], [], TypeError, r"nodes holds \[0\], which cannot be a label"),
        ([np.nan, 1], [], ValueError, "nodes holds nan, which does not equal itself"),
        ([0, 1], None, TypeError, "edges must be a sequence of pairs of node labels, not None"),
        ([0, 1], [3], ValueError, "edges holds 3, which is no pair"),
        ([0, 1], [(0, 1, 2)], ValueError, r"edges holds \(0, 1, 2\), which is no pair"),
        (["a", "b"], ["ab"], ValueError, "edges holds 'ab', which is no pair"),
        ([0, 1], pd.DataFrame({"u": [0], "v": [1]}), ValueError, r"edges holds 'u'.*to_numpy\(\)"),
        ([0, 1], [([0], 1)], ValueError, r"names the node \[0\], which is not in `nodes`; add it"),
    ],
)
def test_pairwise_graph(nodes, edges, error, message):
    with pytest.raises(error, match=message):
        PairwiseGraph(nodes, edges)


@pytest.mark.parametrize("graph", [np.eye(2), None, "abc", [(0, 1)]])
def test_no_graph_of_networkx(graph):
    with pytest.raises(
        TypeError,
        match=r"graph must be a networkx\.Graph or a pymc_mrf\.PairwiseGraph, not .*networkx\.Graph\(pairs\)",
    ):
        PairwiseGraph.from_networkx(graph)


@pytest.mark.parametrize("value", ["x", None, True, [0.5], np.array([0.5, 0.2]), np.nan, 1.5])
def test_probabilities(value):
    with pytest.raises(ValueError, match=r"density must be a probability in \[0, 1\], not"):
        builders.random(5, value, rng=RNG)
    with pytest.raises(ValueError, match="within must be a probability"):
        builders.block_model([2, 2], value, 0.1, rng=RNG)


@pytest.mark.parametrize("rng", [None, 3, "a", np.random.RandomState(0)])
def test_generators(rng):
    for call in (
        lambda: builders.random(5, 0.5, rng=rng),
        lambda: builders.block_model([2, 2], 0.5, 0.5, rng=rng),
    ):
        with pytest.raises(
            TypeError, match=r"rng must be a numpy\.random\.Generator, not .*default_rng"
        ):
            call()


@pytest.mark.parametrize("value", [0, -1, True, 2.0, "3", None])
def test_counts(value):
    for call, name in (
        (lambda: builders.grid(value, 3), "rows"),
        (lambda: builders.chain(value), "n_nodes"),
        (lambda: builders.binary_tree(value), "height"),
        (lambda: builders.block_model([3, value], 0.5, 0.5, rng=RNG), r"sizes\[1\]"),
        (lambda: comb_partition(3, value), "columns"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be a positive integer, not"):
            call()
    with pytest.raises(TypeError, match="sizes must be a sequence of integers, not"):
        builders.block_model(3, 0.5, 0.5, rng=RNG)


@pytest.mark.parametrize(
    ("scopes", "cards", "message"),
    [
        ([(0, 1)], 2, "cardinalities must be a sequence of numbers of states, one per variable, not 2"),
        ([(0, 1)], [True, 2], r"cardinalities\[0\]: True is not an integer"),
        ([(0, 1)], [[2], [2, 2]], r"cardinalities\[0\]: \[2\] is not an integer"),
        (None, [2, 2], "scopes must be a sequence of sequences of variables, not None"),
        ([None], [2, 2], r"scopes\[0\] must be a sequence of variables, not None"),
        (["01"], [2, 2], r"scopes\[0\] must be a sequence of variables, not '01'"),
    ],
)
def test_factor_graph(scopes, cards, message):
    with pytest.raises(TypeError, match=message):
        FactorGraph(scopes, cards)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backtrack": "yes"}, "backtrack must be True or False, not 'yes'"),
        ({"simplify": None}, "simplify must be True or False, not None"),
        ({"rng": "x"}, "rng must be a numpy.random.Generator"),
    ],
)
def test_options_of_tree_partition(options, message):
    with pytest.raises(TypeError, match=message):
        tree_partition(PATH, **options)


@pytest.mark.parametrize(
    ("partition", "error", "message"),
    [
        (None, TypeError, "partition must be a sequence of sequences of nodes, not None"),
        ("012", TypeError, "partition must be a sequence"),
        ([[[0], 1], [2]], ValueError, r"partition\[0\] names \[0\], which is not a node"),
    ],
)
def test_partitions(partition, error, message):
    with pytest.raises(error, match=message):
        check_tree_partition(PATH, partition)
    with pytest.raises(TypeError, match="forests must be True or False"):
        check_tree_partition(PATH, [[0, 1, 2]], forests="no")
