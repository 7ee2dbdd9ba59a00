"""Fixed fields against enumeration, and what they refuse."""

import pickle

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.graph.factor_graph import FactorGraph
from tests.reference import enumeration, factor_graph
from tests.statistics import assert_frequencies

SCOPES, CARDS = [(2, 0, 1), (3, 1), (2,)], (2, 3, 2, 2, 4)


@pytest.fixture
def pairwise(rng):
    graph = nx.Graph([("b", "a"), ("a", "c"), ("c", "b")])
    graph.add_node("alone")
    return PairwiseField(graph, rng.normal(size=(3, 3, 3)), rng.normal(size=(4, 3)))


@pytest.fixture
def factors(rng):
    tables = [rng.normal(size=[CARDS[v] for v in scope]) for scope in SCOPES]
    return FactorGraphField(SCOPES, CARDS, tables)


def test_pairwise_answers_equal_enumeration(pairwise, rng):
    arguments = pairwise.graph.edges, pairwise.edge_tables, pairwise.node_tables
    configs = enumeration.configurations(4, 3)
    expected = enumeration.log_partition(*arguments)
    assert pairwise.log_partition() == pytest.approx(expected)
    p = enumeration.probabilities(*arguments)
    np.testing.assert_allclose(np.exp(-pairwise.energy(configs) - expected), p, atol=1e-14)
    assert pairwise.energy(configs[5]).shape == ()
    nodes, edges = enumeration.marginals(*arguments)
    np.testing.assert_allclose(pairwise.marginals().nodes, nodes, atol=1e-14)
    np.testing.assert_allclose(pairwise.marginals("exact").edges, edges, atol=1e-14)
    np.testing.assert_array_equal(pairwise.map(), configs[p.argmax()])
    x = pairwise.sample(20_000, rng=rng)
    assert_frequencies(np.bincount(enumeration.configuration_index(x, 3), minlength=81), p)


def test_factor_graph_answers_equal_enumeration(factors, rng):
    arguments = SCOPES, CARDS, factors.tables
    expected = factor_graph.log_partition(*arguments)
    assert factors.log_partition() == pytest.approx(expected)
    p = factor_graph.probabilities(*arguments)
    configs = np.array(list(p))
    values = np.array(list(p.values()))
    np.testing.assert_allclose(np.exp(-factors.energy(configs) - expected), values, atol=1e-14)
    # variable 4 is in no factor, so that each maximum is reached four times
    assert -factors.energy(factors.map()) == pytest.approx((-factors.energy(configs)).max())
    marginals = factors.marginals()
    assert [m.shape for m in marginals.variables] == [(k,) for k in CARDS]
    for i, m in enumerate(marginals.variables):
        exact = [factor_graph.marginal(p, (i,), (a,)) for a in range(CARDS[i])]
        np.testing.assert_allclose(m, exact, atol=1e-14)
    for scope, m in zip(SCOPES, marginals.factors, strict=True):
        for states in np.ndindex(m.shape):
            assert m[states] == pytest.approx(factor_graph.marginal(p, scope, states))
    x = factors.sample(20_000, rng=rng)
    index = {z: k for k, z in enumerate(p)}
    counts = np.bincount([index[tuple(z)] for z in x.tolist()], minlength=len(index))
    assert_frequencies(counts, values)


def test_seeds_and_copies(pairwise, factors):
    for field in (pairwise, factors):
        np.testing.assert_array_equal(field.sample(5, rng=3), field.sample(5, rng=3))
        again = pickle.loads(pickle.dumps(field))
        assert again.log_partition() == field.log_partition()
        assert field.sample(0).shape == (0, field.n_variables)
    with pytest.raises(ValueError, match="read-only"):
        pairwise.edge_tables[0, 0, 0] = 1.0


def test_fields_without_edges_or_factors():
    assert PairwiseField(
        nx.empty_graph(2), np.zeros((0, 2, 2)), np.zeros((2, 2))
    ).log_partition() == pytest.approx(np.log(4))
    assert FactorGraphField([], [2, 3], []).log_partition() == pytest.approx(np.log(6))


def test_a_factor_graph_of_ten_variables(rng):
    table = rng.normal(size=(2,) * 10)
    field = FactorGraphField([tuple(range(10))], [2] * 10, [table])
    assert field.log_partition() == pytest.approx(np.logaddexp.reduce(table.ravel()))
    assert field.map() == pytest.approx(np.unravel_index(table.argmax(), table.shape))


def test_pairwise_refusals():
    graph, nodes, edges = nx.path_graph(3), np.zeros((3, 2)), np.zeros((2, 2, 2))
    for bad, message in [
        (dict(node_tables=np.zeros((4, 2))), r"node_tables must have shape \(3, 2\), not \(4, 2\)"),
        (dict(node_tables=np.zeros(3)), r"node_tables must have shape \(3, K\)"),
        (dict(node_tables=np.zeros((3, 1))), "2 to 127 states"),
        (dict(edge_tables=np.zeros((2, 2, 3))), r"edge_tables must have shape \(2, 2, 2\)"),
        (dict(edge_tables=np.full((2, 2, 2), np.nan)), r"edge_tables\[0, 0, 0\] is nan"),
        (dict(node_tables=np.full((3, 2), np.inf)), r"node_tables\[0, 0\] is inf"),
        (dict(node_tables=np.full((3, 2), 1e308)), "1e\\+308.*overflows"),
    ]:
        with pytest.raises(ValueError, match=message):
            PairwiseField(**(dict(graph=graph, edge_tables=edges, node_tables=nodes) | bad))
    field = PairwiseField(graph, edges, nodes)
    for call, error, message in [
        (lambda: field.marginals("guess"), ValueError, 'method must be one of "exact"'),
        (lambda: field.sample(3, "guess"), ValueError, 'method must be one of "exact"'),
        (lambda: field.sample(-1), ValueError, "n must be a non-negative integer, not -1"),
        (lambda: field.energy([0, 1]), ValueError, "each of the 3 variables"),
        (lambda: field.energy([0, 1, 2]), ValueError, r"x\[2\] is 2.*variable 2 are 0..1"),
        (lambda: field.energy([0.0, 1.0, 1.0]), TypeError, "integer state indices"),
    ]:
        with pytest.raises(error, match=message):
            call()
    impossible = PairwiseField(graph, np.full((2, 2, 2), -np.inf), nodes)
    for call in (impossible.log_partition, impossible.marginals, impossible.map):
        with pytest.raises(ValueError, match="no configuration of the field is possible"):
            call()


def test_a_wide_field_is_refused_before_it_costs_anything():
    graph = builders.complete(70)
    field = PairwiseField(graph, np.zeros((graph.n_edges, 2, 2)), np.zeros((70, 2)))
    for call, remedy in (
        (field.log_partition, "; only a sparser graph, or evidence"),
        (lambda: field.map("exact"), '; use method="cut", "bp" or "icm" instead, or a sparser graph'),
        (field.marginals, '; use method="tree", "gibbs" or "bp" instead, or a sparser graph'),
        (lambda: field.sample(1), '; use method="tree" or "gibbs" instead, or a sparser graph'),
    ):
        with pytest.raises(ValueError, match=rf"width 69.*GB.*{remedy}"):
            call()
    known = dict.fromkeys(range(66), 1)
    assert field.log_partition(evidence=known) == pytest.approx(4 * np.log(2))


def test_factor_graph_refusals():
    for scopes, cards, error, message in [
        ([tuple(range(11))], [2] * 11, ValueError, r"scopes\[0\] has 11 variables.*limit of 10"),
        ([(0, 1), ()], [2, 2], ValueError, r"scopes\[1\] is empty"),
        ([(0, 2)], [2, 2], ValueError, r"scopes\[0\] names variable 2, but there are 2"),
        ([(0, -1)], [2, 2], ValueError, "names variable -1"),
        ([(0, 0)], [2, 2], ValueError, "names a variable twice"),
        ([(0, 0.5)], [2, 2], TypeError, "0.5 is not an integer"),
        ([0], [2, 2], TypeError, r"scopes\[0\] must be a sequence"),
        ([(0,)], [], ValueError, "cardinalities is empty"),
        ([(0,)], [1], ValueError, r"cardinalities\[0\] must be between 2 and 127, not 1"),
        ([(0,)], [2.5], TypeError, r"cardinalities\[0\]: .*2.5.* is not an integer"),
    ]:
        with pytest.raises(error, match=message):
            FactorGraph(scopes, cards)
    with pytest.raises(ValueError, match="tables has 1 entries but scopes has 2"):
        FactorGraphField([(0,), (1,)], [2, 2], [[0, 0]])
    with pytest.raises(ValueError, match=r"tables\[0\] must have shape \(2, 3\), not \(3, 2\)"):
        FactorGraphField([(0, 1)], [2, 3], [np.zeros((3, 2))])


def test_factor_graph_identity():
    graph = FactorGraph(SCOPES, CARDS)
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert repr(graph) == repr(FactorGraph(SCOPES, CARDS))
    assert graph != FactorGraph(SCOPES[::-1], CARDS)
    assert len({graph, FactorGraph(SCOPES, CARDS)}) == 1
    with pytest.raises(AttributeError, match="frozen"):
        graph.scopes = ()
