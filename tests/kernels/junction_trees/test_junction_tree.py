"""Exact inference against enumeration: every family, K = 2, 3, 4, factor graphs, extremes."""

import itertools

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement
from pymc_mrf.graph import builders
from pymc_mrf.graph.junction_tree import JunctionTree, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.junction_trees import junction_tree as kernel
from pymc_mrf.kernels.junction_trees import junction_tree_derivatives as derivatives
from pymc_mrf.kernels.junction_trees import junction_tree_loops as logs
from tests.reference import enumeration, factor_graph
from tests.statistics import assert_frequencies, chi_square_pvalue

FAMILIES = [agreement(2), agreement(3), agreement(4), ISING, BOLTZMANN]
# a triangle with a tail, a separate edge and two isolated nodes
DISCONNECTED = PairwiseGraph(range(8), [(1, 0), (2, 1), (0, 2), (2, 4), (7, 5)])
SINGLE = PairwiseGraph("ab", [("b", "a")])
FACTORS = [(3, 0, 1), (1, 2), (4,), (2, 4, 0), (5, 3)]
CARDS = (2, 3, 2, 4, 3, 2, 2)  # variable 6 is in no factor


def random_graph(rng):
    return builders.random(7, 0.4, rng=rng)


def prepared(tree, edge_tables, node_tables):
    work = kernel.allocate_workspace(tree.arrays)
    kernel.pack_pairwise(edge_tables, node_tables, work.tables)
    return tree.arrays, work


def solve(graph, edge_tables, node_tables):
    tree, work = prepared(junction_tree(graph, node_tables.shape[1]), edge_tables, node_tables)
    marginals = np.empty_like(work.tables)
    value = kernel.log_partition_and_marginals(tree, work.tables, work, marginals)
    r = edge_tables.size
    return value, marginals[:r].reshape(edge_tables.shape), marginals[r:].reshape(node_tables.shape)


def random_factors(rng, scale=1.0):
    tables = [scale * rng.normal(size=[CARDS[v] for v in scope]) for scope in FACTORS]
    singles = [scale * rng.normal(size=k) for k in CARDS]
    scopes = FACTORS + [(i,) for i in range(len(CARDS))]
    return scopes, tables + singles


def flat(tables):
    return np.concatenate([np.ravel(t) for t in tables])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.name}{f.n_states}")
@pytest.mark.parametrize("seed", range(4))
def test_families_equal_enumeration(family, seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng) if seed else DISCONNECTED
    if family.n_states == 4:
        graph = builders.grid(2, 3)
    edge_tables = family.edge_tables(rng.normal(size=graph.n_edges))
    node_tables = rng.normal(size=(graph.n_nodes, family.n_states))
    value, edge, node = solve(graph, edge_tables, node_tables)
    assert value == pytest.approx(
        enumeration.log_partition(graph.edges, edge_tables, node_tables), abs=1e-12
    )
    expected_node, expected_edge = enumeration.marginals(graph.edges, edge_tables, node_tables)
    np.testing.assert_allclose(edge, expected_edge, atol=1e-13)
    np.testing.assert_allclose(node, expected_node, atol=1e-13)


def test_single_edge_and_single_node(rng):
    for graph in (SINGLE, builders.chain(1)):
        edge_tables, node_tables = rng.normal(size=(graph.n_edges, 3, 3)), rng.normal(size=(2, 3))
        node_tables = node_tables[: graph.n_nodes]
        value, edge, node = solve(graph, edge_tables, node_tables)
        expected_node, expected_edge = enumeration.marginals(graph.edges, edge_tables, node_tables)
        np.testing.assert_allclose(edge, expected_edge, atol=1e-14)
        np.testing.assert_allclose(node, expected_node, atol=1e-14)
        assert value == pytest.approx(enumeration.log_partition(graph.edges, edge_tables, node_tables))


@pytest.mark.parametrize("scale", [1.0, 50.0, 800.0])
def test_factor_graphs_of_mixed_cardinality(scale, rng):
    scopes, tables = random_factors(rng, scale)
    tree = JunctionTree(FACTORS, CARDS)
    assert tree.scopes == tuple(scopes)
    work = kernel.allocate_workspace(tree.arrays)
    out = np.empty_like(work.tables)
    value = kernel.log_partition_and_marginals(tree.arrays, flat(tables), work, out)
    assert value == pytest.approx(factor_graph.log_partition(scopes, CARDS, tables), rel=1e-13)
    p = factor_graph.probabilities(scopes, CARDS, tables)
    expected = [
        factor_graph.marginal(p, scope, states)
        for scope in scopes
        for states in itertools.product(*(range(CARDS[v]) for v in scope))
    ]
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("strength", [50.0, 800.0])
def test_extreme_parameters_stay_finite_and_right(strength, rng):
    graph = builders.grid(3, 3)
    for _ in range(5):
        eta = strength * rng.choice([-1.0, 1.0], size=graph.n_edges)
        tables = ISING.edge_tables(eta), ISING.node_tables(rng.normal(size=9) * strength / 10)
        value, edge, node = solve(graph, *tables)
        expected_node, expected_edge = enumeration.marginals(graph.edges, *tables)
        assert value == pytest.approx(enumeration.log_partition(graph.edges, *tables), rel=1e-13)
        np.testing.assert_allclose(edge, expected_edge, atol=1e-11)
        np.testing.assert_allclose(node, expected_node, atol=1e-11)


def test_impossible_states_have_no_probability(rng):
    graph = builders.grid(2, 3)
    edge_tables, node_tables = rng.normal(size=(7, 3, 3)), rng.normal(size=(6, 3))
    edge_tables[:, 0, 1] = -np.inf
    node_tables[2, 2] = -np.inf
    value, edge, node = solve(graph, edge_tables, node_tables)
    expected_node, expected_edge = enumeration.marginals(graph.edges, edge_tables, node_tables)
    assert value == pytest.approx(enumeration.log_partition(graph.edges, edge_tables, node_tables))
    np.testing.assert_allclose(edge, expected_edge, atol=1e-14)
    np.testing.assert_allclose(node, expected_node, atol=1e-14)


@pytest.mark.parametrize("n_states", [2, 3])
def test_a_parameter_that_is_not_a_number_shows(n_states):
    graph = builders.grid(2, 2)
    tree, work = prepared(
        junction_tree(graph, n_states), np.zeros((4, n_states, n_states)), np.zeros((4, n_states))
    )
    for k in range(len(work.tables)):
        tables = np.zeros_like(work.tables)
        tables[k] = np.nan
        assert np.isnan(kernel.collect(tree, tables, work))


def test_every_order_gives_the_same_answer(rng):
    scopes, tables = random_factors(rng)
    expected = factor_graph.log_partition(scopes, CARDS, tables)
    for _ in range(20):
        tree = JunctionTree(FACTORS, CARDS, order=rng.permutation(len(CARDS)).tolist()).arrays
        assert kernel.collect(tree, flat(tables), kernel.allocate_workspace(tree)) == pytest.approx(
            expected, abs=1e-12
        )


def test_marginals_are_the_gradient(rng):
    graph = builders.grid(3, 4)
    tree, work = prepared(
        junction_tree(graph, 2), rng.normal(size=(graph.n_edges, 2, 2)), rng.normal(size=(12, 2))
    )
    tables = work.tables.copy()
    gradient = np.empty_like(tables)
    kernel.log_partition_and_marginals(tree, tables, work, gradient)
    step = 1e-5
    for k in rng.choice(len(tables), 15, replace=False):
        up, down = tables.copy(), tables.copy()
        up[k] += step
        down[k] -= step
        slope = (kernel.collect(tree, up, work) - kernel.collect(tree, down, work)) / (2 * step)
        assert slope == pytest.approx(gradient[k], abs=1e-9)


def test_covariance_equals_enumeration_and_differences_of_marginals(rng):
    scopes, tables = random_factors(rng)
    tree = JunctionTree(FACTORS, CARDS).arrays
    work = kernel.allocate_workspace(tree)
    marginals = np.empty_like(work.tables)
    kernel.log_partition_and_marginals(tree, flat(tables), work, marginals)
    shapes = [t.shape for t in tables]
    statistics = [[rng.normal(size=shape) for shape in shapes] for _ in range(3)]
    out, tangent, product = np.empty((3, 3)), np.empty_like(work.belief), np.empty_like(marginals)
    stacked = np.array([flat(s) for s in statistics])
    derivatives.covariance(tree, work, stacked, tangent, product, out)
    p = factor_graph.probabilities(scopes, CARDS, tables)

    def value(statistic):
        return lambda z: sum(
            t[tuple(z[v] for v in scope)] for scope, t in zip(scopes, statistic, strict=True)
        )

    for g, h in itertools.product(range(3), repeat=2):
        expected = factor_graph.covariance(p, value(statistics[g]), value(statistics[h]))
        assert out[g, h] == pytest.approx(expected, abs=1e-11)

    derivatives.covariance_product(tree, work, stacked[0], tangent, product)
    up, down = np.empty_like(marginals), np.empty_like(marginals)
    step = 1e-5
    kernel.log_partition_and_marginals(tree, flat(tables) + step * stacked[0], work, up)
    kernel.log_partition_and_marginals(tree, flat(tables) - step * stacked[0], work, down)
    np.testing.assert_allclose(product, (up - down) / (2 * step), atol=1e-8)


def test_draws_have_the_enumerated_frequencies(rng):
    scopes, tables = random_factors(rng, 0.5)
    tree = JunctionTree(FACTORS, CARDS).arrays
    work = kernel.allocate_workspace(tree)
    kernel.collect(tree, flat(tables), work)
    x = np.empty((40_000, len(CARDS)), dtype=np.int8)
    kernel.draw_rows(tree, work, x, rng)
    probability = factor_graph.probabilities(scopes, CARDS, tables)
    index = {z: k for k, z in enumerate(probability)}
    counts = np.bincount([index[tuple(z)] for z in x.tolist()], minlength=len(index))
    p = np.array(list(probability.values()))
    assert_frequencies(counts, p)
    flattened = p**0.8 / (p**0.8).sum()
    assert chi_square_pvalue(counts, flattened) < 1e-10  # control: a nearby field is refused


def test_draws_never_take_impossible_states(rng):
    graph = builders.chain(3)
    edge_tables, node_tables = np.zeros((2, 3, 3)), np.zeros((3, 3))
    edge_tables[:, :, 0] = -np.inf
    node_tables[0, 2] = -np.inf
    tree, work = prepared(junction_tree(graph, 3), edge_tables, node_tables)
    kernel.collect(tree, work.tables, work)
    x = np.empty((2000, 3), dtype=np.int8)
    kernel.draw_rows(tree, work, x, rng)
    assert x[:, 0].max() == 1
    assert x[:, 1:].min() == 1


@pytest.mark.parametrize("scale", [1.0, 800.0])
def test_mode_is_the_enumerated_maximum(scale, rng):
    for _ in range(5):
        scopes, tables = random_factors(rng, scale)
        tree = JunctionTree(FACTORS, CARDS).arrays
        z = np.empty(len(CARDS), dtype=np.int8)
        value = kernel.mode(tree, flat(tables), kernel.allocate_workspace(tree), z)
        weights = factor_graph.weights(scopes, CARDS, tables)
        best = max(weights, key=weights.get)
        assert tuple(z.tolist()) == best
        assert value == pytest.approx(weights[best], rel=1e-13)


@pytest.mark.parametrize("n_states", [2, 3])
def test_compiled_equals_python(n_states, rng):
    graph = builders.grid(2, 2)
    edge_tables = rng.normal(size=(4, n_states, n_states))
    tree, work = prepared(junction_tree(graph, n_states), edge_tables, np.zeros((4, n_states)))
    first, second = np.empty_like(work.tables), np.empty_like(work.tables)
    value = kernel.log_partition_and_marginals(tree, work.tables, work, first)
    python = kernel.log_partition_and_marginals.py_func
    assert python(tree, work.tables, work, second) == value
    np.testing.assert_array_equal(first, second)
    draws = np.empty((2, 10, 4), dtype=np.int8)
    for function, x in zip((kernel.draw_rows, kernel.draw_rows.py_func), draws, strict=True):
        function(tree, work, x, np.random.default_rng(3))
    np.testing.assert_array_equal(*draws)


@pytest.mark.slow
def test_large_grid_and_large_tree_agree_with_known_values():
    # without fields, an Ising tree has log Z = d log 2 + sum log cosh J
    graph = builders.binary_tree(12)
    eta = np.linspace(-2, 2, graph.n_edges)
    value, edge, _ = solve(graph, ISING.edge_tables(eta), np.zeros((graph.n_nodes, 2)))
    expected = graph.n_nodes * np.log(2) + np.log(np.cosh(eta)).sum()
    assert value == pytest.approx(expected, rel=1e-13)
    moments = (edge * ISING.edge_statistic).sum(axis=(1, 2))
    np.testing.assert_allclose(moments, np.tanh(eta), atol=1e-12)

    # 16 x 16 by powers of the transfer matrix between columns, in the even sector: log Z directly
    n, coupling = 16, 0.3
    value, edge, _ = solve(
        builders.grid(n, n), ISING.edge_tables(np.full(480, coupling)), np.zeros((256, 2))
    )
    spins = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    inner = np.exp(coupling * (spins[:, 1:] * spins[:, :-1]).sum(axis=1))
    step = np.array([[np.exp(coupling), np.exp(-coupling)], [np.exp(-coupling), np.exp(coupling)]])
    vector, log_scale = inner.copy(), 0.0
    for _ in range(n - 1):
        tensor = vector.reshape((2,) * n)
        for axis in range(n):
            tensor = np.moveaxis(np.tensordot(step, tensor, axes=(1, axis)), 0, axis)
        vector = tensor.ravel() * inner
        log_scale += np.log(vector.max())
        vector /= vector.max()
    assert value == pytest.approx(log_scale + np.log(vector.sum()), rel=1e-12)


def products_and_logs(tree, tables):
    """Log-partition by products, NaN if they refuse; by logs; the marginals of `collect` and of logs."""
    work = kernel.allocate_workspace(tree)
    by_products = kernel.collect_products(tree, tables, work)
    marginals, from_logs = np.empty_like(tables), np.empty_like(tables)
    value = kernel.log_partition_and_marginals(tree, tables, work, marginals)
    by_logs = logs.collect_in_logs(tree, tables, work)
    kernel.distribute(tree, work, from_logs)
    assert value == pytest.approx(by_logs, rel=1e-12)
    return by_products, by_logs, marginals, from_logs


@pytest.mark.parametrize("n_states", [2, 3, 4])
@pytest.mark.parametrize("strength", [1.0, 10.0, 50.0])
def test_strong_fields_equal_enumeration(n_states, strength, rng):
    graph = builders.grid(2, 3) if n_states == 4 else builders.grid(2, 4)
    family = agreement(n_states)
    for _ in range(5):
        eta = strength * rng.uniform(-1, 1, size=graph.n_edges)
        tables = family.edge_tables(eta), strength * rng.normal(size=(graph.n_nodes, n_states))
        value, edge, node = solve(graph, *tables)
        expected_node, expected_edge = enumeration.marginals(graph.edges, *tables)
        assert value == pytest.approx(enumeration.log_partition(graph.edges, *tables), rel=1e-12)
        np.testing.assert_allclose(edge, expected_edge, atol=1e-12)
        np.testing.assert_allclose(node, expected_node, atol=1e-12)


@pytest.mark.parametrize("n_states", [2, 3, 4])
def test_hard_constraints_stay_products_where_nothing_is_lost(n_states, rng):
    graph = builders.grid(2, 3)
    edge_tables = rng.normal(size=(7, n_states, n_states))
    node_tables = rng.normal(size=(6, n_states))
    edge_tables[:, 0, 1] = -np.inf
    node_tables[2, 0] = -np.inf
    tree, work = prepared(junction_tree(graph, n_states), edge_tables, node_tables)
    by_products, _, marginals, _ = products_and_logs(tree, work.tables)
    expected_node, expected_edge = enumeration.marginals(graph.edges, edge_tables, node_tables)
    assert by_products == pytest.approx(
        enumeration.log_partition(graph.edges, edge_tables, node_tables), rel=1e-13
    )
    expected = np.concatenate([expected_edge.ravel(), expected_node.ravel()])
    np.testing.assert_allclose(marginals, expected, atol=1e-14)


def test_no_possible_state():
    tree, work = prepared(
        junction_tree(builders.chain(3), 2), np.zeros((2, 2, 2)), np.full((3, 2), -np.inf)
    )
    assert np.isnan(kernel.collect_products(tree, work.tables, work))
    assert kernel.collect(tree, work.tables, work) == -np.inf


@pytest.mark.parametrize("strength", [0.5, 50.0])
def test_large_fields_fall_back_to_logs_only_if_they_must(strength, rng):
    graph = builders.grid(11, 11)
    eta = strength * rng.choice([-1.0, 1.0], size=graph.n_edges)
    tree, work = prepared(
        junction_tree(graph, 2), ISING.edge_tables(eta), ISING.node_tables(rng.normal(size=121))
    )
    by_products, by_logs, marginals, from_logs = products_and_logs(tree, work.tables)
    assert np.isnan(by_products) == (strength == 50.0)
    if strength == 0.5:
        assert by_products == pytest.approx(by_logs, rel=1e-13)
    np.testing.assert_allclose(marginals, from_logs, rtol=1e-12, atol=1e-300)


def test_products_without_the_check_are_wrong(monkeypatch):
    # control: what is possible at all has a potential below the smallest normal number, of three digits
    graph = builders.chain(3)
    edge_tables = np.array([[[-740.0, 0.0], [-740.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    node_tables = np.array([[0.0, 0.0], [0.0, -np.inf], [0.0, 0.0]])
    tree, work = prepared(junction_tree(graph, 2), edge_tables, node_tables)
    expected = enumeration.log_partition(graph.edges, edge_tables, node_tables)
    assert kernel.collect(tree, work.tables, work) == pytest.approx(expected, rel=1e-13)
    assert np.isnan(kernel.collect_products(tree, work.tables, work))
    monkeypatch.setattr(kernel, "TINY", 0.0)
    with np.errstate(all="ignore"):
        unchecked = kernel.collect_products.py_func(tree, work.tables, work)
    assert not unchecked == pytest.approx(expected, rel=1e-9)


def test_subcliques_gather_the_factors_of_large_cliques(rng):
    graph = builders.complete(9)
    tree, work = prepared(junction_tree(graph, 2), rng.normal(size=(36, 2, 2)), rng.normal(size=(9, 2)))
    assert (tree.cliques["n_rows"] == 1).sum() > 0
    assert np.bincount(tree.factors["clique"])[-1] < 9  # of 45 factors, few meet the whole table
    tables = work.tables[:144].reshape(36, 2, 2), work.tables[144:].reshape(9, 2)
    assert kernel.collect(tree, work.tables, work) == pytest.approx(
        enumeration.log_partition(graph.edges, *tables), rel=1e-13
    )
