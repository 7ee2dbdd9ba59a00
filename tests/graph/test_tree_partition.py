"""Tree partitions against the definitions, known optima, and refusals of what is no partition."""

import itertools
import sys

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.lattice_partition import (
    comb_partition,
    lattice_shape,
    lattice_trees,
    spiral_partition,
)
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_growth import PocketGrowth
from pymc_mrf.graph.tree_partition import check_tree_partition, tree_partition
from tests.reference.tree_partition import (
    assert_way_out_stays_open,
    is_factor_tree_partition,
    is_tree_partition,
    random_scopes,
    scopes_of_many_sizes,
)

OPTIONS = [
    dict(zip(("order", "backtrack", "simplify"), values, strict=True))
    for values in itertools.product(["priority", "random"], [True, False], [True, False])
]
FACTOR_OPTIONS = [options for options in OPTIONS if options["simplify"]]


def name(options):
    return "-".join(str(value) for value in options.values())


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_partitions_random_graphs_of_all_densities(options, rng):
    for n in (1, 2, 3, 7, 12, 40):
        for density in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.9, 1.0):
            graph = builders.random(n, density, rng=rng)
            partition = tree_partition(graph, rng=rng, **options)
            assert is_tree_partition(graph.to_networkx(), partition)
            check_tree_partition(graph, partition)


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_partitions_lattices_and_other_loops(options, rng):
    graphs = [
        nx.grid_2d_graph(7, 9),
        nx.grid_graph([3, 4, 3]),
        nx.triangular_lattice_graph(5, 6),
        nx.hexagonal_lattice_graph(4, 4),
        nx.cycle_graph(11),
        nx.circular_ladder_graph(8),
        nx.wheel_graph(9),
        nx.barbell_graph(5, 3),
        nx.petersen_graph(),
        nx.complete_bipartite_graph(4, 6),
        nx.disjoint_union(nx.complete_graph(5), nx.path_graph(4)),
    ]
    for graph in graphs:
        assert is_tree_partition(graph, tree_partition(graph, rng=rng, **options))


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_a_forest_is_cut_into_its_components(options, rng):
    forest = nx.disjoint_union_all(
        [nx.random_labeled_tree(30, seed=3), nx.path_graph(9), nx.star_graph(6), nx.empty_graph(3)]
    )
    partition = tree_partition(forest, rng=rng, **options)
    assert sorted(map(sorted, partition)) == sorted(map(sorted, nx.connected_components(forest)))


@pytest.mark.parametrize("n", range(1, 13))
def test_complete_graph_is_cut_into_pairs(n, rng):
    graph = builders.complete(n)
    assert len(tree_partition(graph, rng=rng)) == -(-n // 2)


@pytest.mark.parametrize("figure", ["5.7", "5.8"])
def test_backtracking_keeps_the_way_to_trapped_vertices_open(figure):
    assert_way_out_stays_open(PocketGrowth, figure)


@pytest.mark.slow
def test_backtracking_and_the_order_of_the_queue_save_trees(rng):
    def mean(graph, **options):
        return np.mean([len(tree_partition(graph, rng=rng, **options)) for _ in range(5)])

    sparse = builders.random(400, 0.02, rng=rng)
    lattice = builders.grid(30, 30)
    for graph in (sparse, lattice):
        assert mean(graph) < 0.8 * mean(graph, backtrack=False)
    assert mean(lattice) < mean(lattice, order="random")


@pytest.mark.parametrize("options", FACTOR_OPTIONS, ids=name)
def test_partitions_factor_graphs(options, rng):
    for d, scopes in scopes_of_many_sizes(rng):
        graph = FactorGraph(scopes, [2] * d)
        partition = tree_partition(graph, rng=rng, **options)
        assert is_factor_tree_partition(d, scopes, partition)
        check_tree_partition(graph, partition)


def test_one_factor_is_one_tree(rng):
    graph = FactorGraph([(0, 1, 2, 3)], [2] * 4)
    assert tree_partition(graph, rng=rng) == [[0, 1, 2, 3]]


def test_factors_of_two_variables_follow_the_rules_of_a_graph(rng):
    graph = builders.grid(6, 6)
    scopes = [tuple(edge) for edge in graph.edges.tolist()]
    partition = tree_partition(FactorGraph(scopes, [2] * 36), rng=rng)
    labelled = [[graph.nodes[v] for v in block] for block in partition]
    assert is_tree_partition(graph.to_networkx(), labelled)


@pytest.mark.parametrize("options", OPTIONS, ids=name)
def test_seed_decides(options):
    graph = builders.random(60, 0.1, rng=np.random.default_rng(5))
    factors = FactorGraph(random_scopes(np.random.default_rng(6), 60, 40, 4), [2] * 60)
    for one in (graph, factors):
        first, again = (
            [tree_partition(one, rng=rng, **options) for _ in range(5)]
            for rng in (np.random.default_rng(1), np.random.default_rng(1))
        )
        assert first == again
        assert tree_partition(one, rng=1, **options) == first[0]
        assert (
            len({repr(partition) for partition in first}) > 2
        )  # the best of some searches may coincide


def test_labels_and_order_are_those_of_the_graph():
    graph = PairwiseGraph(["d", "a", "c", "b"], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    partition = tree_partition(graph)
    assert {label for block in partition for label in block} == set("abcd")
    for block in partition:
        assert block == sorted(block, key=graph.nodes.index)


@pytest.mark.parametrize("make", [comb_partition, spiral_partition])
def test_lattice_partitions(make):
    for rows, columns in itertools.product(range(1, 16), range(1, 16)):
        partition = make(rows, columns)
        graph = builders.grid(rows, columns).to_networkx()
        assert len(partition) == (1 if min(rows, columns) == 1 else 2)
        assert is_tree_partition(graph, partition)
        if make is spiral_partition:
            assert all(d <= 2 for block in partition for _, d in graph.subgraph(block).degree)
    with pytest.raises(ValueError, match="rows must be a positive integer, not 0"):
        make(0, 3)
    with pytest.raises(ValueError, match=r"columns must be a positive integer, not 2\.5"):
        make(3, 2.5)


def test_lattices_are_recognised():
    for rows, columns in itertools.product(range(1, 5), range(1, 5)):
        graph = builders.grid(rows, columns)
        assert lattice_shape(graph) == ((rows, columns) if min(rows, columns) > 1 else None)
    graph = builders.grid(3, 4)
    turned = PairwiseGraph(range(12), graph.edges[::-1, ::-1].tolist())
    assert lattice_shape(turned) == (3, 4)
    trees = lattice_trees(turned)
    assert [len(tree) for tree in trees] == [7, 5]
    assert is_tree_partition(turned.to_networkx(), trees)


@pytest.mark.parametrize(
    "change", ["one edge less", "moved", "torus", "diagonal", "cube", "order", "cycle"]
)
def test_what_is_no_lattice(change):
    edges = builders.grid(3, 4).edges.tolist()
    graph = {
        "one edge less": PairwiseGraph(range(12), edges[1:]),
        "moved": PairwiseGraph(range(12), [*edges[1:], (3, 4)]),  # round the end of a row
        "torus": builders.grid(3, 4, periodic=True),
        "diagonal": builders.grid(3, 4, diagonal=True),
        "cube": builders.grid(3, 2, 2),
        "order": PairwiseGraph([*range(1, 12), 0], edges),
        "cycle": PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0)]),
    }[change]
    assert lattice_trees(graph) is None


def n_calls(function):
    """Function calls that `function` causes: work that does not depend on the machine or its load."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(previous)
    return count


def test_work_is_linear_on_sparse_graphs():
    def work(side):
        graph = nx.grid_2d_graph(side, side)
        return n_calls(lambda: tree_partition(graph, rng=np.random.default_rng(1)))

    small, large = work(15), work(60)  # 16 times the nodes
    assert large < 2 * 16 * small  # quadratic work would be 256 times


@pytest.mark.slow
@pytest.mark.compiled
def test_large_random_graph():
    graph = builders.random(10_000, 0.01, rng=np.random.default_rng(3))
    partition = tree_partition(graph, rng=np.random.default_rng(1))
    assert len(partition) <= 22
    check_tree_partition(graph, partition)


SQUARE = nx.cycle_graph(4)


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ([[0, 1, 2, 3]], r"partition\[0\] is not a tree: it contains the cycle .* - .*; move one"),
        ([[0, 1], [2]], "node 3 is in no block"),
        ([[0, 1], [1, 2, 3]], "node 1 is in blocks 0 and 1"),
        ([[0, 1], [2, 3, 2]], r"partition\[1\] names node 2 twice"),
        ([[0, 1], [2, 3, 9]], r"partition\[1\] names 9, which is not a node"),
        ([[0, 1], [2, 3], []], r"partition\[2\] is empty"),
        ([0, 1, 2, 3], r"partition\[0\] must be a sequence of nodes, not 0"),
        ([[0, 2], [1, 3]], r"partition\[0\] falls apart: nodes 0 and 2 are not connected"),
        (["01", "23"], r"partition\[0\] must be a sequence of nodes, not '01'"),
    ],
)
def test_checker_names_the_offender(partition, message):
    error = TypeError if "sequence" in message else ValueError
    with pytest.raises(error, match=message):
        check_tree_partition(SQUARE, partition)


def test_checker_names_the_cycle(rng):
    lattice = nx.grid_2d_graph(4, 4)
    ring = [(0, 0), (0, 1), (1, 0), (1, 1)]
    blocks = [[*ring, (0, 2)], *[[v] for v in lattice if v not in [*ring, (0, 2)]]]
    with pytest.raises(ValueError, match="contains the cycle") as caught:
        check_tree_partition(lattice, blocks)
    assert all(str(v) in str(caught.value) for v in ring)
    assert "(0, 2)" not in str(caught.value)


FACTORS = FactorGraph([(0, 1, 2, 3), (0, 1), (3, 4)], [2] * 5)


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ([[0, 2], [1, 3], [4]], r"factor 0 joins variables \[0, 2\] of block 0 and variables \[1, 3\]"),
        ([[0, 1], [2], [3], [4]], r"partition\[0\] is not a tree: it contains the cycle .*factor"),
        ([[0, 4], [1], [2], [3]], r"partition\[0\] falls apart: nodes 0 and 4"),
        ([[0, 2, 3, 4]], "node 1 is in no block"),
        ([[0, 2, 3, 4], [1, 5]], r"partition\[1\] names 5"),
    ],
)
def test_checker_of_factor_graphs_names_the_offender(partition, message):
    with pytest.raises(ValueError, match=message):
        check_tree_partition(FACTORS, partition)
    assert not is_factor_tree_partition(5, FACTORS.scopes, partition)


def test_forests_need_no_connection():
    check_tree_partition(SQUARE, [[0, 2], [1, 3]], forests=True)
    check_tree_partition(FACTORS, [[0, 2], [1, 3], [4]], forests=True)
    for graph, partition in ((SQUARE, [[0, 1, 2, 3]]), (FACTORS, [[0, 1], [2, 3, 4]])):
        with pytest.raises(ValueError, match="contains the cycle"):
            check_tree_partition(graph, partition, forests=True)


def test_checker_agrees_with_the_definition(rng):
    agreed = {True: 0, False: 0}
    for _ in range(400):
        d = int(rng.integers(2, 7))
        labels = rng.integers(3, size=d)
        partition = [block for k in range(3) if (block := np.flatnonzero(labels == k).tolist())]
        graph = nx.gnp_random_graph(d, rng.random(), seed=int(rng.integers(2**31)))
        scopes = random_scopes(rng, d, int(rng.integers(1, 5)), min(d, 4))
        for checked, valid in (
            (graph, is_tree_partition(graph, partition)),
            (FactorGraph(scopes, [2] * d), is_factor_tree_partition(d, scopes, partition)),
        ):
            agreed[valid] += 1
            if valid:
                check_tree_partition(checked, partition)
            else:
                with pytest.raises(ValueError, match="partition"):
                    check_tree_partition(checked, partition)
    assert min(agreed.values()) > 50


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match=r"graph must be a networkx\.Graph"):
        tree_partition([[0, 1]])
    with pytest.raises(ValueError, match="directed"):
        tree_partition(nx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="self-loop at node 1"):
        tree_partition(nx.Graph([(0, 1), (1, 1)]))
    with pytest.raises(ValueError, match='order must be one of "priority", "random", not \'fifo\''):
        tree_partition(SQUARE, order="fifo")
