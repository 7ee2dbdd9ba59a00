"""Methods of fixed fields: against the exact engine, with evidence, what they refuse, chains in batches."""

import warnings

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.fields import methods as mc
from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.families import ISING, agreement
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders, junction_tree
from pymc_mrf.graph.lattice_partition import comb_partition
from tests.marks import slow
from tests.reference import enumeration
from tests.statistics import Z, assert_frequencies

SCOPES, CARDS = [(2, 0, 1), (3, 1), (2,), (4, 0, 3), (0, 4)], (2, 3, 2, 2, 4)

COUNTED = 10 / (64 * 200)
"""A state this rare may not be counted in 64 chains of 200 sweeps."""


@pytest.fixture
def pairwise(rng):
    graph = nx.Graph([("b", "a"), ("a", "c"), ("c", "b"), ("d", "c")])
    graph.add_node("alone")
    return PairwiseField(graph, rng.normal(size=(4, 3, 3)), rng.normal(size=(5, 3)))


@pytest.fixture
def factors(rng):
    tables = [rng.normal(size=[CARDS[v] for v in scope]) for scope in SCOPES]
    return FactorGraphField(SCOPES, CARDS, tables)


def assert_within_errors(estimate, exact, floor=1e-9):
    """Every probability within Z of its own standard errors; 64 chains: t and normal are close.

    Counts of rare states need a `floor`: where nothing was counted, chains do not differ.
    """
    errors = estimate.standard_error
    for name in ("nodes", "edges"):
        gap = np.abs(getattr(estimate, name) - getattr(exact, name))
        error = getattr(errors, name)
        assert np.all(gap <= 1.3 * Z * error + floor), f"{name}: {np.max(gap / (error + 1e-9))}"


def given(field, evidence):
    """Marginals under evidence by enumeration."""
    states = {field.graph.nodes.index(label): k for label, k in evidence.items()}
    configs = enumeration.configurations(field.graph.n_nodes, field.n_states)
    p = enumeration.probabilities(field.graph.edges, field.edge_tables, field.node_tables)
    for i, k in states.items():
        p = np.where(configs[:, i] == k, p, 0.0)
    p /= p.sum()
    nodes = np.array([[p[row == a].sum() for a in range(field.n_states)] for row in configs.T])
    edges = np.zeros(field.edge_tables.shape)
    for e, (u, v) in enumerate(field.graph.edges):
        np.add.at(edges[e], (configs[:, u], configs[:, v]), p)
    return nodes, edges, p


@pytest.mark.parametrize("evidence", [{}, {"a": 2}, {"a": 0, "c": 1}, {"alone": 1, "d": 0, "c": 2}])
def test_pairwise_evidence(pairwise, evidence, rng):
    nodes, edges, p = given(pairwise, evidence)
    exact = pairwise.marginals(evidence=evidence)
    np.testing.assert_allclose(exact.nodes, nodes, atol=1e-13)
    np.testing.assert_allclose(exact.edges, edges, atol=1e-13)
    assert exact.standard_error is None
    assert exact.convergence is None
    for method, floor in (("tree", 1e-9), ("gibbs", COUNTED)):
        estimate = pairwise.marginals(method, evidence=evidence, rng=rng)
        assert_within_errors(estimate, exact, floor)
    bp = pairwise.marginals("bp", evidence=evidence)
    assert bp.convergence.converged
    if bp.convergence.exact:
        np.testing.assert_allclose(bp.nodes, nodes, atol=1e-12)
        np.testing.assert_allclose(bp.edges, edges, atol=1e-12)
    assert bp.convergence.exact == bool(evidence.keys() & {"a", "c"})
    for method in ("exact", "tree", "gibbs"):
        options = {} if method == "exact" else {"n_sweeps": 30}
        x = pairwise.sample(20_000, method, evidence=evidence, rng=rng, **options)
        counts = np.bincount(enumeration.configuration_index(x, 3), minlength=3**5)
        assert counts[p == 0].sum() == 0
        assert_frequencies(counts[p > 0], p[p > 0])


@pytest.mark.parametrize("evidence", [{}, {1: 2}, {0: 0, 2: 1}, {3: 1, 4: 3, 0: 0}])
def test_factor_graph_evidence(factors, evidence, rng):
    exact = factors.marginals(evidence=evidence)
    configs = np.array(list(np.ndindex(CARDS)))
    p = np.exp(-factors.energy(configs))
    for v, state in evidence.items():
        p = np.where(configs[:, v] == state, p, 0.0)
    p /= p.sum()
    for v, m in enumerate(exact.variables):
        np.testing.assert_allclose(m, [p[configs[:, v] == a].sum() for a in range(CARDS[v])], atol=1e-13)
    for scope, m in zip(SCOPES, exact.factors, strict=True):
        table = np.zeros(m.shape)
        np.add.at(table, tuple(configs[:, v] for v in scope), p)
        np.testing.assert_allclose(m, table, atol=1e-13)
    for method in ("tree", "gibbs"):
        estimate = factors.marginals(method, evidence=evidence, rng=rng)
        for part in ("variables", "factors"):
            for ours, error, truth in zip(
                getattr(estimate, part), getattr(estimate.standard_error, part), getattr(exact, part),
                strict=True,
            ):  # fmt: skip
                assert np.all(np.abs(ours - truth) <= 1.3 * Z * error + COUNTED)
    bp = factors.marginals("bp", evidence=evidence)
    assert bp.convergence.converged
    for ours, truth in zip(bp.variables, exact.variables, strict=True):
        np.testing.assert_allclose(ours, truth, atol=1e-12 if bp.convergence.exact else 0.1)
    index = np.ravel_multi_index(configs.T, CARDS)
    for method in ("exact", "tree", "gibbs"):
        options = {} if method == "exact" else {"n_sweeps": 15}
        x = factors.sample(5000, method, evidence=evidence, rng=rng, **options)
        counts = np.bincount(np.ravel_multi_index(x.T.astype(int), CARDS), minlength=len(p))[index]
        assert counts[p == 0].sum() == 0
        assert_frequencies(counts[p > 0], p[p > 0])


def test_all_known(pairwise, factors):
    evidence = dict.fromkeys(pairwise.graph.nodes, 1)
    for method in ("exact", "bp", "tree", "gibbs"):
        m = pairwise.marginals(method, evidence=evidence)
        np.testing.assert_array_equal(m.nodes, np.tile([0, 1, 0], (5, 1)))
        assert np.all(m.edges[:, 1, 1] == 1)
        assert m.edges.sum() == 4
        v = factors.marginals(method, evidence=dict.fromkeys(range(5), 1))
        assert [a.argmax() for a in v.variables] == [1] * 5
        assert v.factors[0][1, 1, 1] == v.factors[0].sum() == 1
    assert np.all(pairwise.sample(3, "tree", evidence=evidence) == 1)
    assert np.all(factors.sample(3, "gibbs", evidence=dict.fromkeys(range(5), 1)) == 1)


@pytest.mark.parametrize("size", [5, 8, slow(12)])
def test_grid_of_three_states_against_the_junction_tree(size, rng, monkeypatch):
    # 12 x 12 needs 50 million cells, half as many again as the limit
    monkeypatch.setattr(junction_tree.check_tractable, "__defaults__", (2**26,))
    graph, family = builders.grid(size, size), agreement(3)
    field = PairwiseField(
        graph, family.edge_tables(rng.normal(0.4, 0.4, graph.n_edges)), rng.normal(size=(size**2, 3))
    )
    exact = field.marginals()
    options = dict(rng=rng, n_sweeps=100, n_burn_in=50)
    comb = field.marginals("tree", partition=comb_partition(size, size), **options)
    mixture = field.marginals("tree", n_partitions=3, **options)
    gibbs = field.marginals("gibbs", **options)
    for estimate, floor in ((comb, 1e-9), (mixture, 1e-9), (gibbs, 10 / 6400)):
        assert_within_errors(estimate, exact, floor)
    # trees mix faster, and their conditional probabilities vary less than counts
    assert comb.standard_error.nodes.mean() < 0.6 * gibbs.standard_error.nodes.mean()
    bp = field.marginals("bp")
    assert bp.convergence.converged
    assert np.abs(bp.nodes - exact.nodes).max() < 0.05
    other = PairwiseField(graph, 1.3 * field.edge_tables, field.node_tables)
    with pytest.raises(AssertionError):  # control: the errors are small enough to tell fields apart
        assert_within_errors(comb, other.marginals())


def test_evidence_makes_a_wide_field_tractable(rng):
    graph = nx.grid_2d_graph(30, 30)
    field = PairwiseField(graph, np.zeros((graph.number_of_edges(), 2, 2)), rng.normal(size=(900, 2)))
    with pytest.raises(ValueError, match='use method="tree", "gibbs" or "bp" instead'):
        field.marginals()
    evidence = {(i, j): 0 for i in range(30) for j in range(30) if i % 3 == 0}
    m = field.marginals(evidence=evidence)
    p = np.exp(field.node_tables) / np.exp(field.node_tables).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(m.nodes[45], p[45], atol=1e-12)


def test_perfect_draws(rng):
    graph = builders.grid(2, 3)
    field = PairwiseField(
        graph, ISING.edge_tables(np.full(7, 0.4)), ISING.node_tables(rng.normal(size=6))
    )
    p = enumeration.probabilities(graph.edges, field.edge_tables, field.node_tables)
    x = field.sample(20_000, "perfect", rng=rng)
    assert_frequencies(np.bincount(enumeration.configuration_index(x, 2), minlength=64), p)
    x = field.sample(20_000, "perfect", rng=rng, evidence={graph.nodes[1]: 1})
    p = given(field, {graph.nodes[1]: 1})[2]
    counts = np.bincount(enumeration.configuration_index(x, 2), minlength=64)
    assert_frequencies(counts[p > 0], p[p > 0])
    with pytest.raises(RuntimeError, match="max_sweeps=1"):
        PairwiseField(graph, 5 * field.edge_tables, field.node_tables).sample(9, "perfect", max_sweeps=1)


def test_belief_propagation_that_does_not_converge_says_so():
    graph = builders.complete(5)
    field = PairwiseField(
        graph, np.tile(-3.0 * np.eye(2), (graph.n_edges, 1, 1)), np.tile([0.0, 0.1], (5, 1))
    )
    with pytest.warns(UserWarning, match=r"did not converge: after 200 .*damping \(now 0\)"):
        m = field.marginals("bp", damping=0.0, max_iterations=200)
    assert not m.convergence.converged
    assert m.convergence.n_iterations == 200
    assert m.convergence.residual > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert field.marginals("bp", damping=0.8).convergence.converged
    chain = PairwiseField(nx.path_graph(3), np.zeros((2, 2, 2)), np.zeros((3, 2)))
    assert chain.marginals("bp").convergence.exact


def test_impossible_pairs_start_from_an_exact_draw(rng):
    graph = builders.grid(3, 3)
    tables = np.tile(np.where(np.eye(4) > 0, -np.inf, 0.0), (graph.n_edges, 1, 1))
    field = PairwiseField(graph, tables, rng.normal(size=(9, 4)))
    exact = field.marginals()
    for method, floor in (("tree", 1e-9), ("gibbs", COUNTED)):
        assert_within_errors(field.marginals(method, rng=rng), exact, floor)
        assert np.all(np.isfinite(field.energy(field.sample(50, method, rng=rng))))
    wide = PairwiseField(
        builders.complete(60),
        np.tile(np.where(np.eye(3) > 0, -np.inf, 0.0), (1770, 1, 1)),
        np.zeros((60, 3)),
    )
    with pytest.raises(ValueError, match="positive probability to start from"):
        wide.sample(1, "gibbs")


def test_seeds(pairwise, factors):
    for field in (pairwise, factors):
        for method in ("tree", "gibbs"):
            a, b = (field.sample(50, method, rng=3, n_sweeps=2) for _ in range(2))
            np.testing.assert_array_equal(a, b)
            assert field.sample(0, method).shape == (0, 5)
    a, b = (pairwise.marginals("tree", rng=4, n_chains=3, n_sweeps=2, n_partitions=2) for _ in range(2))
    np.testing.assert_array_equal(a.nodes, b.nodes)
    assert pairwise.marginals("tree", n_chains=2, n_burn_in=0, n_sweeps=1).nodes.shape == (5, 3)


def test_refusals(pairwise, factors):
    hard = PairwiseField(
        nx.path_graph(3),
        [[[0, -np.inf], [0, 0]], [[0, -np.inf], [0, 0]]],
        [[0, 0], [-np.inf, 0], [0, 0]],
    )
    empty = PairwiseField(nx.path_graph(2), np.full((1, 2, 2), -np.inf), np.zeros((2, 2)))
    one_block = [["a", "b", "c", "d", "alone"]]
    for call, error, message in [
        (
            lambda: pairwise.marginals("guess"),
            ValueError,
            'method must be one of "exact", "bp", "tree", "gibbs"',
        ),
        (
            lambda: pairwise.sample(3, "bp"),
            ValueError,
            'must be one of "exact", "tree", "gibbs", "perfect"',
        ),
        (
            lambda: pairwise.sample(3, "perfect"),
            ValueError,
            'is for binary fields.* 3 states .*"exact", "tree" or',
        ),
        (
            lambda: pairwise.marginals("bp", rng=3),
            ValueError,
            'rng is an option of method="tree" or "gibbs", not of method="bp"',
        ),
        (lambda: factors.sample(3, "perfect"), ValueError, 'must be one of "exact", "tree", "gibbs"'),
        (
            lambda: factors.sample(3, max_sweeps=9),
            ValueError,
            'max_sweeps is no option of method="exact"',
        ),
        (
            lambda: pairwise.marginals("bp", n_chains=3),
            ValueError,
            'n_chains is an option of method="tree" or "gi',
        ),
        (lambda: pairwise.sample(2, n_sweeps=3), ValueError, 'not of method="exact"'),
        (
            lambda: pairwise.marginals("tree", n_chains=1),
            ValueError,
            "n_chains must be an integer of at least 2",
        ),
        (
            lambda: pairwise.marginals("gibbs", n_sweeps=0),
            ValueError,
            "n_sweeps must be a positive integer",
        ),
        (
            lambda: pairwise.marginals("gibbs", n_burn_in=-1),
            ValueError,
            "n_burn_in must be a non-negative",
        ),
        (
            lambda: pairwise.marginals("bp", damping=1.0),
            ValueError,
            "damping must be a number of at least",
        ),
        (lambda: pairwise.marginals("bp", tolerance=0), ValueError, "tolerance must be a finite numb"),
        (
            lambda: pairwise.marginals("bp", max_iterations=0),
            ValueError,
            "max_iterations must be a positive",
        ),
        (lambda: pairwise.marginals("tree", partition=one_block), ValueError, r"partition\[0\].*cycle"),
        (lambda: pairwise.sample(1, "tree", partition=[["a"]]), ValueError, "is in no block"),
        (lambda: pairwise.sample(1, "tree", partition=[["z"]]), ValueError, "'z'"),
        (
            lambda: pairwise.sample(1, "tree", partition=one_block, n_partitions=2),
            ValueError,
            "pass one of the two",
        ),
        (lambda: factors.marginals("tree", partition=[range(5)]), ValueError, r"partition\[0\].*cycle"),
        (lambda: pairwise.marginals(evidence={"z": 0}), ValueError, "evidence names 'z'.*'b', 'a'"),
        (lambda: pairwise.marginals(evidence={"a": 3}), ValueError, r"evidence\['a'\] is 3.*0..2"),
        (lambda: pairwise.sample(1, evidence={"a": 1.0}), TypeError, "integer state index, not 1.0"),
        (lambda: pairwise.sample(1, evidence=["a"]), TypeError, "must be a dictionary"),
        (lambda: factors.sample(1, evidence={5: 0}), ValueError, "evidence names 5"),
        (lambda: hard.sample(1, evidence={1: 0}), ValueError, "node table of 1 is -inf at state 0"),
        (
            lambda: hard.sample(1, evidence={0: 0, 1: 1}),
            ValueError,
            "0 = 0 and 1 = 1 exclude each other",
        ),
        (lambda: hard.marginals("tree", evidence={0: 0}), ValueError, "exclude all states of node 1"),
    ]:
        with pytest.raises(error, match=message):
            call()
    for method in ("exact", "bp", "tree", "gibbs"):
        with pytest.raises(ValueError, match="no configuration of the field is possible"):
            empty.marginals(method)
    impossible = FactorGraphField([(0, 1), (1,)], [2, 2], [[[0, -np.inf], [0, -np.inf]], [0, 0]])
    with pytest.raises(ValueError, match=r"evidence has .*: factor 0 is -inf throughout given 1 = 1"):
        impossible.marginals("tree", evidence={1: 1})
    cut = nx.cycle_graph(4)  # a cycle that known nodes cut is no cycle
    field = PairwiseField(cut, np.zeros((4, 2, 2)), np.zeros((4, 2)))
    assert field.sample(2, "tree", evidence={0: 1}, partition=[[1, 2, 3]]).shape == (2, 4)


def test_converged_messages_do_not_show_that_a_field_is_possible():
    unequal = np.where(np.eye(2) > 0, -np.inf, 0.0)
    field = PairwiseField(nx.cycle_graph(7), np.stack([unequal] * 7), np.zeros((7, 2)))
    assert field.marginals("bp").convergence.converged  # as `Convergence` says
    with pytest.raises(ValueError, match="no configuration of the field is possible"):
        field.marginals("exact")


def test_batches_are_pooled(rng):
    sums = 100.0 + rng.normal(size=(13, 4))
    whole = mc.moments(sums.copy(), 50, 0)
    parts = mc.pooled(mc.moments(sums[:4].copy(), 50, 0), mc.moments(sums[4:].copy(), 50, 0))
    assert parts.n == whole.n == 13
    np.testing.assert_allclose(parts.mean, sums.mean(axis=0) / 50)
    np.testing.assert_allclose(parts.squares, whole.squares)
    np.testing.assert_allclose(
        parts.standard_error(), (sums / 50).std(axis=0, ddof=1) / np.sqrt(13), rtol=1e-9
    )


def test_marginals_from_several_batches(monkeypatch, rng):
    graph = builders.grid(2, 3)
    field = PairwiseField(graph, rng.normal(size=(graph.n_edges, 3, 3)), rng.normal(size=(6, 3)))
    exact = field.marginals().nodes
    monkeypatch.setattr(mc, "MOST_CHAINS", 30)
    for method in ("gibbs", "tree"):
        found = field.marginals(method, n_chains=100, rng=rng)
        assert np.abs((found.nodes - exact) / found.standard_error.nodes).max() < 5.0


@pytest.mark.parametrize(("n_bytes", "sizes"), [(1, [512, 188]), (3, [333, 333, 34]), (5000, [1] * 700)])
def test_batches_fill_memory(n_bytes, sizes, monkeypatch):
    monkeypatch.setattr(mc, "MOST_BYTES", 1000)
    found = []

    def run(x):
        found.append(len(x))
        return mc.moments(x, 1, 0), mc.moments(x, 1, 0)

    mc.estimates(lambda m: np.ones((m, 2)), run, n_bytes, 700)
    assert found == sizes
