"""Perfect samples of fixed fields: flips, enumeration, refusals."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement
from pymc_mrf.fields.pairwise_tables import attractive_flips
from pymc_mrf.fields.perfect import perfect_sample
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph, as_graph
from pymc_mrf.kernels.simulation.gibbs import binary_form
from tests.reference import enumeration
from tests.statistics import assert_frequencies, chi_square_pvalue

GRID = builders.grid(3, 3)
TRIANGLE = PairwiseGraph(["a", "b", "c", "d"], [("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")])


def ising(graph, coupling, rng):
    return ISING.edge_tables(coupling), ISING.node_tables(rng.normal(0, 0.3, graph.n_nodes))


def frequencies(x):
    return np.bincount(enumeration.configuration_index(x, 2), minlength=2 ** x.shape[1])


@pytest.mark.parametrize("sign", [1, -1], ids=["attractive", "repulsive"])
def test_grid_has_the_enumerated_probabilities(sign, rng):
    tables = ising(GRID, sign * rng.uniform(0.1, 0.6, GRID.n_edges), rng)
    x = perfect_sample(GRID, *tables, 40_000, rng)
    assert x.dtype == np.int8
    p = enumeration.probabilities(GRID.edges, *tables)
    assert_frequencies(frequencies(x), p)
    assert chi_square_pvalue(frequencies(1 - x), p) < 1e-10  # control: the other states


def test_random_tables_on_a_tree_with_an_isolated_node(rng):
    graph = PairwiseGraph(range(7), [(1, 0), (1, 2), (3, 1), (3, 4), (5, 4)])
    tables = rng.normal(size=(5, 2, 2)), rng.normal(size=(7, 2))
    x = perfect_sample(graph, *tables, 40_000, rng)
    assert_frequencies(frequencies(x), enumeration.probabilities(graph.edges, *tables))


def test_nodes_of_high_degree(rng):
    graph = as_graph(nx.complete_graph(10))
    weight = rng.uniform(0, 0.4, graph.n_edges)
    side = rng.random(10) < 0.5  # a balanced signing
    weight[side[graph.edges[:, 0]] != side[graph.edges[:, 1]]] *= -1
    tables = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(rng.normal(0, 0.5, 10))
    x = perfect_sample(graph, *tables, 40_000, rng)
    assert_frequencies(frequencies(x), enumeration.probabilities(graph.edges, *tables))


def test_fields_without_edges_and_samples_without_rows(rng):
    graph = PairwiseGraph(range(2), [])
    x = perfect_sample(graph, np.empty((0, 2, 2)), [[0.0, 900.0], [0.0, 0.0]], 1000, rng)
    assert np.all(x[:, 0] == 1) and 300 < x[:, 1].sum() < 700
    assert perfect_sample(graph, np.empty((0, 2, 2)), np.zeros((2, 2)), 0, rng).shape == (0, 2)


def test_seed_decides(rng):
    tables = ising(GRID, np.full(GRID.n_edges, 0.3), rng)
    x = [perfect_sample(GRID, *tables, 600, seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(x[0], x[1])
    assert (x[0] != x[2]).any()


def test_flips_make_all_weights_non_negative(rng):
    graph = builders.grid(5, 4)
    side = rng.random(graph.n_nodes) < 0.5
    weight = rng.uniform(0.1, 1, graph.n_edges)
    u, v = graph.edges.T
    weight[side[u] != side[v]] *= -1
    weight[3] = 0.0
    flips = attractive_flips(graph, weight)
    assert np.all(np.where(flips[u] != flips[v], -weight, weight) >= 0)
    np.testing.assert_array_equal(flips, side != side[0])
    assert not attractive_flips(graph, np.abs(weight)).any()


def test_an_edge_of_weight_zero_joins_nothing():
    weight = np.array([1.0, -1.0, 1.0, 0.0])
    np.testing.assert_array_equal(attractive_flips(TRIANGLE, weight), [False, True, True, False])


def test_rounding_is_no_coupling(rng):
    """Tables that are sums of node terms have interactions that are zero up to rounding."""
    a, b = rng.normal(size=(2, 4, 2))
    edge_tables = a[:, :, None] + b[:, None, :]
    node_tables = rng.normal(size=(4, 2))
    weight, _ = binary_form(edge_tables, node_tables, TRIANGLE.edges)
    assert np.any(weight != 0.0)
    x = perfect_sample(TRIANGLE, edge_tables, node_tables, 40_000, rng)
    p = enumeration.probabilities(TRIANGLE.edges, edge_tables, node_tables)
    assert_frequencies(frequencies(x), p)


def test_frustrated_cycle_is_named():
    weight = np.array([1.0, 1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"frustrated: the cycle .*(b--c|c--b)"):
        attractive_flips(TRIANGLE, weight)
    tables = BOLTZMANN.edge_tables(weight), np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"odd number of repulsive edges.*junction tree") as error:
        perfect_sample(TRIANGLE, *tables, 10, 0)
    cycle = str(error.value).split("cycle ")[1].split(" ")[0].split("--")
    assert cycle[0] == cycle[-1] and set(cycle) == {"a", "b", "c"}


def test_named_cycle_is_a_cycle_with_an_odd_number_of_negative_weights(rng):
    graph = builders.grid(6, 6)
    weight = rng.choice([-1.0, 1.0], size=graph.n_edges)
    with pytest.raises(ValueError, match="frustrated") as error:
        attractive_flips(graph, weight)
    names = str(error.value).split("cycle ")[1].split(" has")[0].split("--")
    of = {str(label): i for i, label in enumerate(graph.nodes)}
    cycle = [of[name] for name in names]
    sign = {frozenset(e): w for e, w in zip(graph.edges.tolist(), weight, strict=True)}
    assert len(set(cycle)) == len(cycle) - 1 and cycle[0] == cycle[-1]
    assert np.prod([sign[frozenset(pair)] for pair in pairwise(cycle)]) == -1


def test_more_states_are_refused():
    family = agreement(3)
    with pytest.raises(ValueError, match=r"3 states per node.*binary"):
        perfect_sample(GRID, family.edge_tables(np.ones(12)), np.zeros((9, 3)), 10, 0)


def test_impossible_entries_are_refused(rng):
    edge_tables, node_tables = ising(GRID, np.full(12, 0.2), rng)
    edge_tables[3, 0, 1] = -np.inf
    with pytest.raises(ValueError, match=r"edge_tables\[3, 0, 1\] is -inf.*finite"):
        perfect_sample(GRID, edge_tables, node_tables, 10, 0)


@pytest.mark.parametrize(
    ("name", "value"), [("n", -1), ("n", 2.5), ("n", True), ("max_sweeps", 0), ("max_sweeps", "8")]
)
def test_counts_are_checked(name, value):
    arguments = {"n": 10, "max_sweeps": 8} | {name: value}
    with pytest.raises(
        ValueError, match=rf"{name} must be a (non-negative|positive) integer, not .*{value}"
    ):
        perfect_sample(GRID, np.zeros((12, 2, 2)), np.zeros((9, 2)), rng=0, **arguments)


def test_weights_are_checked():
    with pytest.raises(ValueError, match=r"weight must have shape \(12,\)"):
        attractive_flips(GRID, np.ones(3))
    with pytest.raises(ValueError, match=r"weight\[2\] is nan"):
        attractive_flips(GRID, [1.0, 1.0, np.nan] + [1.0] * 9)


def test_a_cap_that_is_hit_is_named(rng):
    tables = ising(GRID, np.full(12, 3.0), rng)
    with pytest.raises(RuntimeError, match=r"not met within max_sweeps=32 sweeps.*raise max_sweeps"):
        perfect_sample(GRID, *tables, 1000, rng, max_sweeps=32)
    with pytest.raises(ValueError, match=r"max_sweeps=.* is too large"):
        perfect_sample(GRID, *tables, 1000, rng, max_sweeps=2**60)
