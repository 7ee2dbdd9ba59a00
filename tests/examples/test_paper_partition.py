"""The search for trees of Rivasseau (2005): its figures, and partitions against the definitions."""

import itertools

import networkx as nx
import pytest

from examples.rivasseau_2005.paper_partition import PaperGrowth, paper_factor_trees, paper_partition
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import as_graph
from tests.reference.tree_partition import (
    assert_way_out_stays_open,
    is_factor_tree_partition,
    is_tree_partition,
    neighbours,
    scopes_of_many_sizes,
)

OPTIONS = [
    dict(zip(("order", "backtrack"), values, strict=True))
    for values in itertools.product(["priority", "random"], [True, False])
]


def name(options):
    return "-".join(str(value) for value in options.values())


@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_partitions_graphs(options, simplify, rng):
    graphs = [builders.random(n, p, rng=rng) for n in (1, 3, 12, 40) for p in (0.0, 0.05, 0.2, 0.7, 1.0)]
    for graph in (*graphs, builders.grid(7, 9), as_graph(nx.petersen_graph())):
        partition = paper_partition(graph, rng, simplify=simplify, **options)
        assert is_tree_partition(graph.to_networkx(), partition)


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_partitions_factor_graphs(options, rng):
    for d, scopes in scopes_of_many_sizes(rng):
        assert is_factor_tree_partition(d, scopes, paper_factor_trees(d, scopes, rng, **options))


def test_queue_of_fig_5_6():
    # the thesis numbers from 1
    edges = "12 15 23 24 36 37 45 48 56 58 69 79 89"
    graph = nx.Graph([(int(u) - 1, int(v) - 1) for u, v in edges.split()])
    for rank in itertools.islice(itertools.permutations(range(9)), 0, None, 5000):
        growth = PaperGrowth(neighbours(graph), rank, order="priority", backtrack=True)
        assert [v + 1 for v in growth.grow(0)] == [1, 2, 4, 8, 9, 7]


@pytest.mark.parametrize("figure", ["5.7", "5.8"])
def test_backtracking_keeps_the_way_to_trapped_vertices_open(figure):
    assert_way_out_stays_open(PaperGrowth, figure)
