"""Incremental calibration: every answer equals a fresh full pass under the present parameters."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.junction_tree import JunctionTree, junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.junction_trees import junction_tree as kernel
from pymc_mrf.kernels.junction_trees import junction_tree_focus as focus

FACTORS = [(3, 0, 1), (1, 2), (4,), (2, 4, 0), (5, 3), (7, 8)]
CARDS = (2, 3, 2, 4, 3, 2, 2, 3, 3)
TREES = {
    "grid": junction_tree(builders.grid(3, 4), 2),
    "grid of three states": junction_tree(builders.grid(3, 3), 3),
    "tree": junction_tree(builders.binary_tree(3), 2),
    "pieces": junction_tree(PairwiseGraph(range(7), [(0, 1), (1, 2), (2, 0), (5, 4)]), 3),
    "factors": JunctionTree(FACTORS, CARDS),
    "one node": junction_tree(builders.chain(1), 2),
}


def factor_marginal(tree, state, f, out):
    """Marginal probabilities of factor f, from the log table that the kernel gives."""
    focus.factor_log_table(tree, state, f, out)
    p = np.exp(out - out.max())
    out[:] = p / p.sum()


def block(tree, f):
    first, n_cells = tree.factors[f][["first", "n_cells"]]
    return slice(first, first + n_cells)


@pytest.mark.parametrize("scale", [1.0, 50.0, 800.0])
@pytest.mark.parametrize("name", TREES)
def test_marginals_follow_updates_in_any_order(name, scale, rng):
    tree = TREES[name].arrays
    work, state = kernel.allocate_workspace(tree), focus.allocate_focus(tree)
    tables = scale * rng.normal(size=len(work.tables))
    expected = np.empty_like(tables)
    focus.calibrate(tree, tables, state)
    order = [*TREES[name].factor_order, *rng.integers(0, len(tree.factors), size=40)]
    for f in order:
        kernel.log_partition_and_marginals(tree, tables, work, expected)
        marginal = np.empty(block(tree, f).stop - block(tree, f).start)
        factor_marginal(tree, state, f, marginal)
        np.testing.assert_allclose(marginal, expected[block(tree, f)], atol=2e-13 * max(scale, 5))
        delta = scale * rng.normal(size=len(marginal))
        focus.update_factor(tree, state, f, delta)
        tables[block(tree, f)] += delta


def test_impossible_states_stay_impossible(rng):
    tree = TREES["grid of three states"].arrays
    work, state = kernel.allocate_workspace(tree), focus.allocate_focus(tree)
    tables = rng.normal(size=len(work.tables))
    tables[rng.choice(len(tables), 8, replace=False)] = -np.inf
    expected = np.empty_like(tables)
    focus.calibrate(tree, tables, state)
    for f in [*TREES["grid of three states"].factor_order, 0, 5, 3]:
        kernel.log_partition_and_marginals(tree, tables, work, expected)
        marginal = np.empty(block(tree, f).stop - block(tree, f).start)
        factor_marginal(tree, state, f, marginal)
        np.testing.assert_allclose(marginal, expected[block(tree, f)], atol=1e-12)
        delta = rng.normal(size=len(marginal))
        focus.update_factor(tree, state, f, delta)
        tables[block(tree, f)] += delta


def test_one_visit_of_all_factors_crosses_each_link_at_most_twice():
    junction = TREES["grid"]
    tree = junction.arrays
    depth, parent = tree.cliques["depth"], tree.cliques["parent"]
    clique = len(parent) - 1  # the root
    crossings = 0
    for f in junction.factor_order:
        a, b = clique, tree.factors["clique"][f]
        clique = b
        while a != b:
            crossings += 1
            if depth[a] >= depth[b]:
                a = parent[a]
            else:
                b = parent[b]
    assert crossings <= 2 * (len(tree.cliques) - 1)


def test_rounding_does_not_build_up_over_many_sweeps(rng):
    junction = TREES["grid"]
    tree = junction.arrays
    work, state = kernel.allocate_workspace(tree), focus.allocate_focus(tree)
    tables = rng.normal(size=len(work.tables))
    focus.calibrate(tree, tables, state)
    delta = np.array([0.5, 0.0, 0.0, 0.5])
    for sweep in range(300):
        for f in junction.factor_order[junction.factor_order < 17]:
            focus.update_factor(tree, state, f, delta if sweep % 2 else -delta)
    expected, marginal = np.empty_like(tables), np.empty(4)
    kernel.log_partition_and_marginals(tree, tables, work, expected)
    factor_marginal(tree, state, 3, marginal)
    np.testing.assert_allclose(marginal, expected[block(tree, 3)], atol=1e-11)


@pytest.mark.parametrize("scale", [1.0, 800.0])
def test_logs_serve_only_where_products_would_lose_an_entry(scale, rng):
    tree = TREES["grid of three states"].arrays
    state, tables = focus.allocate_focus(tree), rng.normal(size=tree.n_factor_cells)
    focus.calibrate(tree, scale * tables, state)
    assert state.in_logs[0] == (scale == 800.0)
    focus.calibrate(tree, tables, state)
    assert not state.in_logs[0]


@pytest.mark.parametrize("name", ["grid", "grid of three states", "factors"])
def test_a_change_beyond_the_range_of_products_is_followed(name, rng):
    tree = TREES[name].arrays
    work, state = kernel.allocate_workspace(tree), focus.allocate_focus(tree)
    tables = rng.normal(size=len(work.tables))
    expected = np.empty_like(tables)
    focus.calibrate(tree, tables, state)
    for step, f in enumerate(rng.integers(0, len(tree.factors), size=30)):
        delta = (900.0 if step == 10 else 40.0) * rng.uniform(-1, 1, size=len(tables[block(tree, f)]))
        focus.update_factor(tree, state, f, delta)
        tables[block(tree, f)] += delta
        kernel.log_partition_and_marginals(tree, tables, work, expected)
        marginal = np.empty(len(delta))
        factor_marginal(tree, state, f, marginal)
        np.testing.assert_allclose(marginal, expected[block(tree, f)], atol=1e-11)
    assert state.in_logs[0]


def test_logs_of_marginals_are_right_far_below_one(rng):
    # edges that force each other: the small entries decide where a label goes
    tree = TREES["grid"].arrays
    state, tables = focus.allocate_focus(tree), 20.0 * rng.normal(size=tree.n_factor_cells)
    in_products, in_logs = np.empty(4), np.empty(4)
    for f in range(17):
        focus.calibrate(tree, tables, state)
        assert not state.in_logs[0]
        focus.factor_log_table(tree, state, f, in_products)
        state.in_logs[0] = True
        focus.restart(tree, state)
        focus.factor_log_table(tree, state, f, in_logs)
        np.testing.assert_allclose(np.diff(in_products), np.diff(in_logs), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("eta", [-738.0, -760.0, 600.0, 740.0, 760.0, 877.0])
def test_entries_below_the_smallest_numbers_are_not_lost(eta):
    """One edge of a square with a diagonal is far stronger than the others, which force it as well."""
    graph = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    tree = junction_tree(graph, 2).arrays
    strengths = np.array([83.4, 83.4, 83.4, eta, 83.4])
    tables = np.zeros(tree.n_factor_cells)
    tables[:20] = (strengths[:, None, None] * np.eye(2)).ravel()
    state, out = focus.allocate_focus(tree), np.empty(4)
    focus.calibrate(tree, tables, state)
    focus.factor_log_table(tree, state, 3, out)
    # log odds of agreement: eta and what the path through node 2 and the detour through 1 and 2 add
    z = np.array([[(k >> i) & 1 for i in range(4)] for k in range(16)])
    agree = np.stack([z[:, u] == z[:, v] for u, v in graph.edges], axis=1)  # (16, 5)
    scores = agree @ strengths
    expected = [np.logaddexp.reduce(scores[agree[:, 3] == value]) for value in (True, False)]
    assert out[0] - out[1] == pytest.approx(expected[0] - expected[1], rel=1e-12)
    work = kernel.allocate_workspace(tree)
    log_partition = kernel.collect(tree, tables, work)
    assert log_partition == pytest.approx(np.logaddexp.reduce(scores), rel=1e-13)


@pytest.mark.parametrize("n_states", [2, 3])
def test_messages_whose_entries_lie_far_apart(n_states, rng):
    """Changes that tables can follow, while a message scaled to its largest entry would lose another."""
    pairs = [(i, j) for i in range(5) for j in range(i) if (i, j) != (4, 0)]
    junction = junction_tree(PairwiseGraph(range(5), pairs), n_states)  # two cliques of four nodes
    tree = junction.arrays
    work, state = kernel.allocate_workspace(tree), focus.allocate_focus(tree)
    tables, expected = np.zeros((2, len(work.tables)))
    marginal, left = np.empty(n_states**2), 0
    for _ in range(200):
        tables[:] = 0.0
        focus.calibrate(tree, tables, state)
        for f in rng.integers(len(pairs), size=20):
            delta = 320.0 * rng.choice([-1.0, 1.0]) * np.eye(n_states).ravel()
            focus.update_factor(tree, state, f, delta)
            tables[block(tree, f)] += delta
            kernel.log_partition_and_marginals(tree, tables, work, expected)
            factor_marginal(tree, state, f, marginal)
            np.testing.assert_allclose(marginal, expected[block(tree, f)], atol=1e-11)
            left += state.in_logs[0]
    assert 0 < left < 200 * 20


def test_a_message_tells_when_scaling_loses_an_entry():
    for message, least in (
        ([4.0, 1e-200, 0.0], 2.5e-201),
        ([1e200, 1e-200, 0.0], 0.0),  # 1e-400 is no number
        ([1.0, np.nan, 0.0], 0.0),
        ([1.0, np.inf, 0.0], 0.0),
        ([0.0, 0.0, 0.0], 0.0),
    ):
        assert focus.keep_message(np.array(message), np.ones(3), 0, 3) == pytest.approx(least, rel=1e-12)
