"""Tree-blocked Gibbs sweeps: block conditionals and transition matrix against enumeration."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.fields.sweeps import there_and_back
from pymc_mrf.graph import builders
from pymc_mrf.graph.forest_arrays import forest_arrays
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.trees import tree_marginals, tree_potentials, tree_sampling, tree_sampling_tile
from tests.reference import enumeration
from tests.reference import tree_sampling as twin
from tests.reference.block_sweeps import sweep_matrix
from tests.statistics import assert_frequencies, chi_square_pvalue

# a square with a diagonal, a tail and an isolated node
GRAPH = PairwiseGraph(range(6), [(0, 1), (2, 1), (2, 3), (3, 0), (0, 2), (4, 3)])
PARTITION = [[3, 4, 0], [1, 2], [5]]


def random_tables(graph, n_states, rng):
    edge = rng.normal(size=(graph.n_edges, n_states, n_states))
    return edge, rng.normal(size=(graph.n_nodes, n_states))


def filtered(form, z, edge_tables, node_tables, forest, graph, b, is_single):
    """What the kernel's filter says of each node of block b: log weights (d, K), parents aside."""
    log, z = np.zeros(node_tables.shape), z.astype(np.int8)
    potentials = tree_potentials.tree_potentials(edge_tables, node_tables[None], graph.edges, 1, form)
    _, edges, nodes = potentials
    if form == "log" or is_single:
        messages = tree_sampling.chain_messages(potentials, len(forest.nodes))
    else:
        uniforms = tree_sampling_tile.seeded_uniforms(np.random.default_rng(1), 1)
        messages = tree_sampling.TILES[form](edges, nodes, len(forest.nodes), 1, uniforms)
        z = z[:, None].astype(np.uint8)
    messages[0][:] = np.nan  # other blocks are not looked at
    tree_sampling.filter_block(messages, z, forest, b, 0)
    if form == "odds":
        log[forest.nodes, 1] = np.log(messages.odds.ravel())
        return log, np.log(edges)[:, None, None] * np.outer([0, 1], [0, 1])
    nu = messages.nu.reshape(len(forest.nodes), -1)
    log[forest.nodes] = nu if form == "log" else np.log(nu)
    return log, edge_tables if form == "log" else np.log(edges[:, 0])


def block_probability(form, z, edge_tables, node_tables, forest, graph, b, is_single=True):
    """P(z_block | rest) from the kernel's messages, along its order of the nodes (eq. 4.1)."""
    nu, psi = filtered(form, z, edge_tables, node_tables, forest, graph, b, is_single)
    total = 0.0
    for p in range(forest.block_ptr[b], forest.block_ptr[b + 1]):
        i, parent, e = forest.nodes[p], forest.parent[p], forest.parent_link[p] >> 1
        scores = nu[i].copy()
        if parent >= 0:
            j = forest.nodes[parent]
            scores += psi[e][:, z[j]] if graph.edges[e, 0] == i else psi[e][z[j]]
        total += scores[z[i]] - np.logaddexp.reduce(scores)
    return np.exp(total)


@pytest.mark.parametrize("is_single", [True, False], ids=["chain", "tile"])
@pytest.mark.parametrize("form, n_states", [("odds", 2), ("scaled", 2), ("scaled", 3), ("log", 3)])
def test_one_sweep_leaves_the_enumerated_field_invariant(form, n_states, is_single, rng):
    tables = random_tables(GRAPH, n_states, rng)
    forest = forest_arrays(GRAPH, PARTITION)
    configs = enumeration.configurations(6, n_states)
    p = enumeration.probabilities(GRAPH.edges, *tables)
    for z in configs[rng.integers(len(configs), size=20)]:
        for b, block in enumerate(PARTITION):
            ours = block_probability(form, z, *tables, forest, GRAPH, b, is_single)
            assert ours == pytest.approx(twin.block_probability(z, block, GRAPH.edges, *tables))
    if n_states == 2:
        matrix = sweep_matrix(
            lambda z, b: block_probability(form, z, *tables, forest, GRAPH, b, is_single),
            configs,
            PARTITION,
        )
        np.testing.assert_allclose(p @ matrix, p, atol=1e-10)


def test_wrong_absorption_is_detected(rng):
    tables = random_tables(GRAPH, 2, rng)
    forest = forest_arrays(GRAPH, PARTITION)
    # the control: each outside neighbour absorbed through the next edge
    wrong = forest._replace(out_links=np.roll(forest.out_links, 2))
    configs = enumeration.configurations(6, 2)
    p = enumeration.probabilities(GRAPH.edges, *tables)
    matrix = sweep_matrix(
        lambda z, b: block_probability("odds", z, *tables, wrong, GRAPH, b), configs, PARTITION
    )
    assert np.abs(p @ matrix - p).max() > 1e-3


FORMS = "odds", "scaled", "log"


def sweep(form, x, edge_tables, node_tables, forest, graph, n_sweeps, rng):
    """`tree_sampling.tree_sweeps` in the representation `form`."""
    potentials = tree_potentials.tree_potentials(edge_tables, node_tables, graph.edges, len(x), form)
    tree_sampling.sweep_potentials(x, potentials, forest, n_sweeps, rng)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("together", [20_000, 2], ids=["many", "few"])
def test_sweeps_have_the_transition_matrix_of_the_twin(form, together, rng):
    tables = random_tables(GRAPH, 2, rng)
    configs = enumeration.configurations(6, 2)
    p = enumeration.probabilities(GRAPH.edges, *tables)
    matrix = sweep_matrix(
        lambda z, b: twin.block_probability(z, PARTITION[b], GRAPH.edges, *tables), configs, PARTITION
    )
    np.testing.assert_allclose(p @ matrix, p, atol=1e-10)
    forest = forest_arrays(GRAPH, PARTITION)
    start = np.abs(matrix - p).sum(axis=1).argmax()
    x = np.tile(configs[start].astype(np.int8), (20_000, 1))
    for part in np.split(x, len(x) // together):
        sweep(form, part, tables[0], tables[1][None], forest, GRAPH.arrays, 1, rng)
    counts = np.bincount(enumeration.configuration_index(x, 2), minlength=len(configs))
    assert_frequencies(counts, matrix[start])
    assert chi_square_pvalue(counts, p) < 1e-10  # control: one sweep has not forgotten its start


@pytest.mark.parametrize("form, n_states", [("odds", 2), ("scaled", 2), ("scaled", 3), ("log", 3)])
def test_a_tree_is_drawn_exactly_by_one_sweep(form, n_states, rng):
    graph = PairwiseGraph(range(6), [(3, 0), (3, 1), (2, 3), (4, 2)])  # and node 5 alone
    tables = random_tables(graph, n_states, rng)
    forest = forest_arrays(graph, [range(6)])
    x = np.zeros((30_000, 6), dtype=np.int8)
    sweep(form, x, tables[0], tables[1][None], forest, graph.arrays, 1, rng)
    counts = np.bincount(enumeration.configuration_index(x, n_states), minlength=n_states**6)
    assert_frequencies(counts, enumeration.probabilities(graph.edges, *tables))


MARGINALS = "scaled", "log"


def add_marginals(form, x, edge_tables, node_tables, forest, graph, *args):
    """`tree_marginals.tree_marginals` in the representation `form`."""
    potentials = tree_potentials.tree_potentials(
        edge_tables, node_tables[None], graph.edges, len(x), form
    )
    tree_marginals.sweeps_with_marginals(x, potentials, forest, *args)


@pytest.mark.parametrize("form", MARGINALS)
def test_marginals_of_a_tree_are_exact_in_every_sweep(form, rng):
    graph = PairwiseGraph(range(5), [(3, 0), (3, 1), (2, 3), (4, 2)])
    tables = random_tables(graph, 3, rng)
    x = np.zeros((4, 5), dtype=np.int8)
    node_sum, edge_sum = np.zeros((5, 3, 4)), np.zeros((4, 3, 3, 4))
    forest = forest_arrays(graph, [range(5)])
    add_marginals(form, x, *tables, forest, graph, 3, rng, node_sum, edge_sum)
    nodes, edges = enumeration.marginals(graph.edges, *tables)
    for c in range(4):
        np.testing.assert_allclose(node_sum[..., c] / 3, nodes, atol=1e-13)
        np.testing.assert_allclose(edge_sum[..., c] / 3, edges, atol=1e-13)


def test_more_chains_than_random_numbers_are_made_at_once(rng):
    graph, n = PairwiseGraph(range(5), [(3, 0), (3, 1), (2, 3), (4, 2)]), 2 * tree_sampling_tile.BUFFER
    tables = random_tables(graph, 2, rng)
    x, node_sum, edge_sum = np.zeros((n, 5), np.int8), np.zeros((5, 2, n)), np.zeros((4, 2, 2, n))
    add_marginals(
        "scaled", x, *tables, forest_arrays(graph, [range(5)]), graph, 1, rng, node_sum, edge_sum
    )
    index = enumeration.configuration_index(x[n // 2 :], 2)
    assert_frequencies(np.bincount(index, minlength=32), enumeration.probabilities(graph.edges, *tables))


@pytest.mark.parametrize("form", MARGINALS)
def test_marginals_given_the_outside_equal_enumeration(form, rng):
    tables = random_tables(GRAPH, 2, rng)
    partition, start = [[3, 4, 0]], [1, 0, 1, 1, 0, 1]  # the other nodes are clamped
    forest = forest_arrays(GRAPH, partition, clamped=[1, 2, 5])
    x = np.array([start], dtype=np.int8)
    node_sum, edge_sum = np.zeros((6, 2, 1)), np.zeros((6, 2, 2, 1))
    add_marginals(form, x, *tables, forest, GRAPH, 1, rng, node_sum, edge_sum)
    assert x[0, [1, 2, 5]].tolist() == [0, 1, 1]
    configs = enumeration.configurations(6, 2)
    p = enumeration.probabilities(GRAPH.edges, *tables)
    possible = np.all(configs[:, [1, 2, 5]] == [0, 1, 1], axis=1)
    p = np.where(possible, p, 0.0) / p[possible].sum()
    for i in (0, 3, 4):
        assert node_sum[i, 1, 0] == pytest.approx(p[configs[:, i] == 1].sum())
    for e, (u, v) in enumerate(GRAPH.edges):
        expected = [
            [p[(configs[:, u] == a) & (configs[:, v] == b)].sum() for b in (0, 1)] for a in (0, 1)
        ]
        if (u, v) == (2, 1):
            expected = np.zeros((2, 2))  # clamped at both ends: the caller's
        np.testing.assert_allclose(edge_sum[e, :, :, 0], expected, atol=1e-13)


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("n_chains", [2, 100])
def test_node_tables_per_chain(n_states, n_chains, rng):
    edge_tables, node_tables = random_tables(GRAPH, n_states, rng)
    forest = forest_arrays(GRAPH, PARTITION)
    start = rng.integers(0, n_states, size=(n_chains, 6)).astype(np.int8)
    runs = []
    for nodes in (node_tables[None], np.tile(node_tables, (n_chains, 1, 1))):
        x = start.copy()
        tree_sampling.tree_sweeps(
            x, edge_tables, nodes, forest, GRAPH.arrays, 3, np.random.default_rng(1)
        )
        runs.append(x)
    np.testing.assert_array_equal(*runs)
    # a tree with a table of its own for each row: two fields in one call
    graph = builders.chain(3)
    edge_tables, one = random_tables(graph, n_states, rng)
    two = rng.normal(size=one.shape)
    x = np.zeros((30_000, 3), dtype=np.int8)
    nodes = np.stack([one, two])[np.arange(30_000) % 2]
    tree_sampling.tree_sweeps(
        x, edge_tables, nodes, forest_arrays(graph, [range(3)]), graph.arrays, 1, rng
    )
    for k, tables in enumerate((one, two)):
        counts = np.bincount(enumeration.configuration_index(x[k::2], n_states), minlength=n_states**3)
        assert_frequencies(counts, enumeration.probabilities(graph.edges, edge_tables, tables))


def test_strong_couplings_and_impossible_states(rng):
    graph = builders.chain(40)
    forest = forest_arrays(graph, [range(40)])
    agree = np.tile(np.array([[0.0, -900.0], [-900.0, 0.0]]), (39, 1, 1))
    nodes = np.zeros((40, 2))
    nodes[7] = [0.0, 1.0]
    assert tree_potentials.representation(agree, nodes[None], graph.edges, 1) == "log"
    x = np.zeros((4000, 40), dtype=np.int8)
    tree_sampling.tree_sweeps(x, agree, nodes[None], forest, graph.arrays, 1, rng)
    assert np.all(x == x[:, :1])
    ones = int(x[:, 0].sum())
    assert_frequencies([4000 - ones, ones], [1 / (1 + np.e), np.e / (1 + np.e)])
    # proper colourings of a chain with three colours, the first node fixed by its table
    different = np.tile(np.where(np.eye(3) > 0, -np.inf, 0.0), (4, 1, 1))
    nodes = np.zeros((5, 3))
    nodes[0] = [-np.inf, 0.0, -np.inf]
    graph = builders.chain(5)
    x = np.zeros((20_000, 5), dtype=np.int8)
    forest = forest_arrays(graph, [range(5)])
    tree_sampling.tree_sweeps(x, different, nodes[None], forest, graph.arrays, 1, rng)
    counts = np.bincount(enumeration.configuration_index(x, 3), minlength=3**5)
    assert_frequencies(counts[counts > 0], np.full(16, 1 / 16))
    node_sum, edge_sum = np.zeros((5, 3, 1)), np.zeros((4, 3, 3, 1))
    tree_marginals.tree_marginals(
        x[:1], different, nodes[None], forest, graph.arrays, 1, rng, node_sum, edge_sum
    )
    np.testing.assert_allclose(edge_sum[0, :, :, 0], [[0, 0, 0], [0.5, 0, 0.5], [0, 0, 0]], atol=1e-14)


def test_impossible_states_of_nodes_without_logarithms(rng):
    graph = builders.chain(4)
    edge_tables, nodes = random_tables(graph, 2, rng)
    nodes[2] = [-np.inf, 3.0]
    assert tree_potentials.representation(edge_tables, nodes[None], graph.edges, 1) == "scaled"
    x = np.zeros((20_000, 4), dtype=np.int8)
    forest = forest_arrays(graph, [range(4)])
    tree_sampling.tree_sweeps(x, edge_tables, nodes[None], forest, graph.arrays, 1, rng)
    p = enumeration.probabilities(graph.edges, edge_tables, nodes)
    counts = np.bincount(enumeration.configuration_index(x, 2), minlength=16)
    assert counts[p == 0].sum() == 0
    assert_frequencies(counts[p > 0], p[p > 0])


def test_huge_biases_of_binary_fields(rng):
    graph = builders.chain(3)
    edge_tables, nodes = random_tables(graph, 2, rng)
    nodes[0], nodes[2] = [0.0, 1e6], [1e6, 0.0]
    assert tree_potentials.representation(edge_tables, nodes[None], graph.edges, 1) == "odds"
    x = np.zeros((100, 3), dtype=np.int8)
    forest = forest_arrays(graph, [range(3)])
    tree_sampling.tree_sweeps(x, edge_tables, nodes[None], forest, graph.arrays, 2, rng)
    assert np.all(x[:, 0] == 1)
    assert np.all(x[:, 2] == 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_chains", [3, 70])
def test_compiled_equals_python_and_repeats(form, n_chains, rng, monkeypatch):
    tables = random_tables(GRAPH, 2, rng)
    forest = forest_arrays(GRAPH, PARTITION)
    start = rng.integers(0, 2, size=(n_chains, 6)).astype(np.int8)
    runs = []
    for interpreted in (False, True, False):
        if interpreted:
            for kernel in ("sweep", "sweep_tiles", "sweep_chains"):
                monkeypatch.setattr(tree_sampling, kernel, getattr(tree_sampling, kernel).py_func)
        x = start.copy()
        sweep(form, x, tables[0], tables[1][None], forest, GRAPH.arrays, 2, np.random.default_rng(1))
        monkeypatch.undo()
        runs.append(x)
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_long_trees_do_not_underflow(rng):
    graph = PairwiseGraph.from_networkx(nx.random_labeled_tree(3000, seed=5))
    edge_tables, nodes = random_tables(graph, 3, rng)
    forest = forest_arrays(graph, [range(3000)])
    node_sum, edge_sum = np.zeros((3000, 3, 1)), np.zeros((2999, 3, 3, 1))
    x = np.zeros((1, 3000), dtype=np.int8)
    results = []
    for form in MARGINALS:
        node_sum[:], edge_sum[:] = 0.0, 0.0
        add_marginals(form, x, edge_tables, nodes, forest, graph, 1, rng, node_sum, edge_sum)
        results.append((node_sum.copy(), edge_sum.copy()))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-12)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-12)


def test_near_the_limits_of_odds_and_probabilities(rng):
    # a star and a chain, as strong as is done outside the log domain, with biases beyond any limit
    graph = PairwiseGraph(range(9), [(0, k) for k in range(1, 7)] + [(7, 6), (8, 7)])
    forest = forest_arrays(graph, [range(9)])
    for sign in (-1.0, 1.0):
        edge_tables = np.tile(sign * 19.0 * np.array([[0.5, -0.5], [-0.5, 0.5]]), (8, 1, 1))
        nodes = np.zeros((9, 2))
        nodes[:, 1] = [0, 40, -40, 39, -39, 1e5, -1e5, 20, 0]
        assert tree_potentials.representation(edge_tables, nodes[None], graph.edges, 1) == "odds"
        expected = enumeration.marginals(graph.edges, edge_tables, nodes)[0][:, 1]
        x = np.zeros((20_000, 9), dtype=np.int8)
        tree_sampling.tree_sweeps(x, edge_tables, nodes[None], forest, graph.arrays, 1, rng)
        error = np.sqrt(expected * (1 - expected) / len(x))
        assert np.all(np.abs(x.mean(axis=0) - expected) <= 5 * error + 1e-9)
        node_sum, edge_sum = np.zeros((9, 2, 1)), np.zeros((8, 2, 2, 1))
        tree_marginals.tree_marginals(
            x[:1], edge_tables, nodes[None], forest, graph.arrays, 1, rng, node_sum, edge_sum
        )
        np.testing.assert_allclose(node_sum[:, 1, 0], expected, atol=1e-12)


def agreement_tables(graph, n_states, coupling, rng):
    """Tables of agreement on a level of its own for each edge, node 1 being in no state 0."""
    level = rng.normal(size=graph.n_edges)
    edges = level[:, None, None] + coupling[:, None, None] * np.eye(n_states)
    nodes = rng.normal(size=(graph.n_nodes, n_states))
    nodes[1, 0] = -np.inf
    return edges, nodes


@pytest.mark.parametrize("cell", [None, (0, 0, 1), (0, 2, 2), (5, 0, 1), (5, 2, 2)])
def test_tables_are_surveyed_to_the_last_cell(cell):
    """Of three states: unequal where one cell differs, and of agreement no longer."""
    edges, load = np.tile(np.eye(3), (6, 1, 1)), np.zeros(6)
    if cell is not None:
        edges[cell] = -1.0
    assert tree_potentials.survey(edges, GRAPH.edges, load) == (cell is None, cell is None)
    ranges = np.ptp(edges, axis=(1, 2))
    np.testing.assert_array_equal(load, [ranges[(GRAPH.edges == i).any(axis=1)].sum() for i in range(6)])
    columns = np.asfortranarray(edges)
    found = tree_potentials.tree_potentials(columns, np.zeros((1, 6, 3)), GRAPH.edges, 9)
    expected = tree_potentials.tree_potentials(edges, np.zeros((1, 6, 3)), GRAPH.edges, 9)
    np.testing.assert_array_equal(found.edges, expected.edges)


@pytest.mark.parametrize("shared", [True, False], ids=["one table", "tables"])
@pytest.mark.parametrize("form", ["agreement", "scaled"])
def test_chains_with_tables_of_agreement(form, shared, rng):
    coupling = np.full(6, 0.9) if shared else rng.normal(0.0, 1.5, size=6)
    edges, nodes = agreement_tables(GRAPH, 3, coupling, rng)
    if shared:
        edges[:] = edges[0]
    assert tree_potentials.representation(edges, nodes[None], GRAPH.edges, 1) == "agreement"
    assert tree_potentials.representation(edges, nodes[None], GRAPH.edges, 64) == "scaled"
    configs = enumeration.configurations(6, 3)
    p = enumeration.probabilities(GRAPH.edges, edges, nodes)
    start = configs[rng.choice(len(configs), p=p, size=20_000)].astype(np.int8)
    potentials = tree_potentials.tree_potentials(edges, nodes[None], GRAPH.edges, 1, form)
    weights = potentials.edges
    assert len(weights) == (1 if shared else 6)
    forest = there_and_back(forest_arrays(GRAPH, PARTITION))

    def counts(weights):
        x = start.copy()
        given = potentials._replace(edges=weights)
        messages = tree_sampling.chain_messages(given, len(forest.nodes))
        tree_sampling.sweep_chains(x, messages, forest, 1, rng)
        assert (x != start).any(axis=1).mean() > 0.5
        return np.bincount(enumeration.configuration_index(x, 3), minlength=len(configs))

    right = counts(weights)  # exact draws stay exact
    assert right[p == 0].sum() == 0
    assert_frequencies(right[p > 0], p[p > 0])
    assert chi_square_pvalue(counts(weights**1.3)[p > 0], p[p > 0]) < 1e-6  # control: other couplings


@pytest.mark.parametrize("n_states", [2, 3])
def test_single_chains_of_a_tree_are_exact(n_states, rng):
    graph = builders.chain(3)
    tables = random_tables(graph, n_states, rng)
    forest = forest_arrays(graph, [range(3)])
    x = np.zeros((10_000, 3), dtype=np.int8)
    for row in x:
        tree_sampling.tree_sweeps(row[None], tables[0], tables[1][None], forest, graph.arrays, 1, rng)
    counts = np.bincount(enumeration.configuration_index(x, n_states), minlength=n_states**3)
    assert_frequencies(counts, enumeration.probabilities(graph.edges, *tables))
