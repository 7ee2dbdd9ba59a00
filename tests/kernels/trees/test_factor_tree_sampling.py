"""Tree-blocked Gibbs sweeps of factor graphs: block conditionals and transition matrix."""

import numpy as np
import pytest

from pymc_mrf.fields.factor_graph import FactorGraphField, factor_tables
from pymc_mrf.graph.forest_arrays import factor_forest_arrays
from pymc_mrf.kernels.trees import factor_tree_sampling as kernel
from tests.reference import factor_graph as enumeration
from tests.reference import tree_sampling as twin
from tests.reference.block_sweeps import sweep_matrix
from tests.statistics import assert_frequencies, chi_square_pvalue

SCOPES = [(0, 1, 2), (2, 3), (4, 3, 0), (5, 4), (1,), (3, 5)]
CARDS = (2, 3, 2, 2, 2, 2)
PARTITION = [[2, 0, 1, 5], [3], [4]]
NOTHING = np.zeros((0, 0, 0)), np.zeros((0, 0))


def random_field(rng, scopes=SCOPES, cards=CARDS, scale=1.0):
    tables = [scale * rng.normal(size=[cards[v] for v in scope]) for scope in scopes]
    return FactorGraphField(scopes, cards, tables)


def block_probability(field, z, forest, b):
    """P(z_block | rest) from the kernel's messages, clique by clique (eq. 4.3)."""
    tables = factor_tables(field)
    factors = kernel.Factors(tables, np.empty(len(tables)), np.empty(field.graph.n_factors))
    kernel.scale_factors(forest.table_ptr, factors)
    nu, pi = np.zeros((2, len(z), max(field.graph.cardinalities)))
    weights = np.empty(1024)
    messages = kernel.Messages(nu, pi, np.empty(1024), weights)
    z = np.array(z, dtype=np.int8)
    kernel.filter_block(messages, z, factors, forest, b)
    total = 1.0
    for i in forest.roots[forest.root_ptr[b] : forest.root_ptr[b + 1]]:
        p = np.exp(nu[i, : forest.cards[i]])
        total *= p[z[i]] / p.sum()
    for q in range(forest.clique_ptr[b], forest.clique_ptr[b + 1]):
        cell = kernel.fixed_offset(forest, q, forest.clique_factor[q], z)
        cell += z[forest.clique_parent[q]] * forest.parent_stride[q]
        scale = kernel.child_products(messages, forest, q)
        mass, _ = kernel.clique_weights(messages, scale, factors, forest, q, cell)
        k = 0
        for j in forest.children[forest.child_ptr[q] : forest.child_ptr[q + 1]]:
            k = k * forest.cards[j] + z[j]
        total *= weights[k] / mass
    return total


def enumerated(field):
    p = enumeration.probabilities(field.graph.scopes, field.graph.cardinalities, field.tables)
    return np.array(list(p)), np.array(list(p.values()))


def counted(x, configs):
    index = {tuple(z): k for k, z in enumerate(configs.tolist())}
    return np.bincount([index[tuple(z)] for z in x.tolist()], minlength=len(configs))


@pytest.mark.parametrize("partition", [PARTITION, [[i] for i in range(6)]], ids=["trees", "singles"])
def test_one_sweep_leaves_the_enumerated_field_invariant(partition, rng):
    field = random_field(rng)
    forest = factor_forest_arrays(field.graph, partition)
    configs, p = enumerated(field)
    for z in configs[rng.integers(len(configs), size=20)]:
        for b, block in enumerate(partition):
            expected = twin.factor_block_probability(z, block, SCOPES, CARDS, field.tables)
            assert block_probability(field, z, forest, b) == pytest.approx(expected)
    matrix = sweep_matrix(lambda z, b: block_probability(field, z, forest, b), configs, partition)
    np.testing.assert_allclose(p @ matrix, p, atol=1e-10)
    start = np.abs(matrix - p).sum(axis=1).argmax()
    x = np.tile(configs[start].astype(np.int8), (20_000, 1))
    kernel.factor_tree_sweeps(x, factor_tables(field), forest, 1, False, rng, *NOTHING)
    assert_frequencies(counted(x, configs), matrix[start])
    assert chi_square_pvalue(counted(x, configs), p) < 1e-10  # control: the start is not forgotten


def test_wrong_absorption_is_detected(rng):
    field = random_field(rng)
    forest = factor_forest_arrays(field.graph, PARTITION)
    # the control: variables outside the block absorbed as if they were in state 0
    wrong = forest._replace(fixed_stride=np.zeros_like(forest.fixed_stride))
    configs, p = enumerated(field)
    matrix = sweep_matrix(lambda z, b: block_probability(field, z, wrong, b), configs, PARTITION)
    assert np.abs(p @ matrix - p).max() > 1e-3


TREE = [(0, 1, 2), (2, 3), (3, 4, 5), (3, 6), (1,), (7,)]
TREE_CARDS = (2, 2, 3, 2, 2, 2, 2, 2)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_factor_tree_is_drawn_exactly_by_one_sweep(scale, rng):
    field = random_field(rng, TREE, TREE_CARDS, scale)
    forest = factor_forest_arrays(field.graph, [range(8)])
    x = np.zeros((30_000, 8), dtype=np.int8)
    kernel.factor_tree_sweeps(x, factor_tables(field), forest, 1, False, rng, *NOTHING)
    configs, p = enumerated(field)
    assert_frequencies(counted(x, configs), p)


def add_up(field, x, forest, n_sweeps, rng):
    tables = factor_tables(field)
    shape = len(x), field.graph.n_variables, max(field.graph.cardinalities)
    variable_sum, factor_sum = np.zeros(shape), np.zeros((len(x), len(tables)))
    kernel.factor_tree_sweeps(x, tables, forest, n_sweeps, False, rng, variable_sum, factor_sum)
    return variable_sum / n_sweeps, factor_sum / n_sweeps


def test_marginals_of_a_factor_tree_are_exact_in_every_sweep(rng):
    field = random_field(rng, TREE, TREE_CARDS)
    forest = factor_forest_arrays(field.graph, [range(8)])
    variables, factors = add_up(field, np.zeros((2, 8), dtype=np.int8), forest, 3, rng)
    exact = field.marginals()
    for i, expected in enumerate(exact.variables):
        np.testing.assert_allclose(variables[1, i, : len(expected)], expected, atol=1e-13)
    flat = np.concatenate([table.ravel() for table in exact.factors])
    np.testing.assert_allclose(factors[0], flat, atol=1e-13)


def test_clamped_variables_are_absorbed(rng):
    field = random_field(rng)
    forest = factor_forest_arrays(field.graph, [[2, 0, 1]], clamped=[3, 4, 5])
    x = np.array([[0, 2, 1, 1, 0, 1]], dtype=np.int8)
    variables, factors = add_up(field, x, forest, 1, rng)
    assert x[0, 3:].tolist() == [1, 0, 1]
    exact = field.marginals(evidence={3: 1, 4: 0, 5: 1})
    for i in range(3):
        np.testing.assert_allclose(variables[0, i, : CARDS[i]], exact.variables[i], atol=1e-13)
    start = 0
    for f, table in enumerate(exact.factors):
        ours = factors[0, start : start + table.size].reshape(table.shape)
        start += table.size
        # factors without a free variable are the caller's
        expected = table if set(SCOPES[f]) & {0, 1, 2} else np.zeros(table.shape)
        np.testing.assert_allclose(ours, expected, atol=1e-13)


def test_strong_and_impossible_combinations(rng):
    # a penalty of 900 unless x0 = x1, pulls of 899 on x0 to 0 and x1 to 1, and x3 = x1 xor x2
    equal = np.array([[0.0, -900.0], [-900.0, 0.0]])
    parity = np.full((2, 2, 2), -np.inf)
    for a, b in np.ndindex(2, 2):
        parity[a, b, a ^ b] = 0.0
    field = FactorGraphField(
        [(0, 1), (1, 2, 3), (1,), (0,)], [2, 2, 2, 2], [equal, parity, [0.0, 899.0], [899.0, 0.0]]
    )
    by_hand = (1 + np.exp(-1.0)) / (2 + np.exp(-1.0))  # weights 899 and 898 against 899
    assert field.marginals().variables[0][0] == pytest.approx(by_hand)
    forest = factor_forest_arrays(field.graph, [range(4)])
    x = np.zeros((20_000, 4), dtype=np.int8)
    kernel.factor_tree_sweeps(x, factor_tables(field), forest, 1, False, rng, *NOTHING)
    configs, p = enumerated(field)
    counts = counted(x, configs)
    assert counts[p < 1e-100].sum() == 0
    assert_frequencies(counts[p > 1e-100], p[p > 1e-100])
    variables, _ = add_up(field, x[:1], forest, 1, rng)
    for i, expected in enumerate(field.marginals().variables):
        np.testing.assert_allclose(variables[0, i], expected, atol=1e-12)


def test_compiled_equals_python_and_repeats(rng):
    field = random_field(rng)
    forest = factor_forest_arrays(field.graph, PARTITION)
    start = np.zeros((20, 6), dtype=np.int8)
    runs = []
    function = kernel.factor_tree_sweeps
    for f in (function, function.py_func, function):
        x = start.copy()
        f(x, factor_tables(field), forest, 2, True, np.random.default_rng(1), *NOTHING)
        runs.append(x)
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_every_second_sweep_turns(rng):
    field = random_field(rng)
    there, back = (factor_forest_arrays(field.graph, order) for order in (PARTITION, PARTITION[::-1]))
    expected, other, found = np.zeros((3, 1, 6), dtype=np.int8)
    one, two, three = (np.random.default_rng(1) for _ in range(3))
    for forest in (there, back, there, back):
        kernel.factor_tree_sweeps(expected, factor_tables(field), forest, 1, False, one, *NOTHING)
    kernel.factor_tree_sweeps(found, factor_tables(field), there, 4, True, two, *NOTHING)
    np.testing.assert_array_equal(found, expected)
    kernel.factor_tree_sweeps(other, factor_tables(field), there, 4, False, three, *NOTHING)
    assert np.any(other != expected)


def test_a_clique_of_ten_variables(rng):
    field = random_field(rng, [tuple(range(10))], (2,) * 10)
    forest = factor_forest_arrays(field.graph, [range(10)])
    variables, factors = add_up(field, np.zeros((1, 10), dtype=np.int8), forest, 1, rng)
    np.testing.assert_allclose(factors[0].reshape((2,) * 10), field.marginals().factors[0], atol=1e-13)
    np.testing.assert_allclose(variables[0], field.marginals().variables, atol=1e-13)
