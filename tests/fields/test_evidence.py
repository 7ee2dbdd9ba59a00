"""The log-partition function and the mode given evidence, and evidence that excludes everything."""

import networkx as nx
import numpy as np
import pytest
from scipy.special import logsumexp

from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.pairwise import PairwiseField

EQUAL = np.where(np.eye(2) > 0, 0.0, -np.inf)
GRID = PairwiseField(nx.grid_2d_graph(3, 3), [EQUAL] * 12, np.zeros((9, 2)))
CHAIN = FactorGraphField([(0, 1), (1, 2), (2, 3)], [2] * 4, [EQUAL] * 3)


def pairwise(rng):
    graph = nx.Graph([("b", "a"), ("a", "c"), ("c", "b"), ("d", "c")])
    graph.add_node("alone")
    nodes = rng.normal(size=(5, 3))
    nodes[0, 1] = -np.inf
    return PairwiseField(graph, rng.normal(size=(4, 3, 3)), nodes)


def factors(rng):
    scopes, cards = [(2, 0, 1), (3, 1), (2,), (4, 0, 3), (0, 4)], (2, 3, 2, 2, 4)
    tables = [rng.normal(size=[cards[v] for v in scope]) for scope in scopes]
    tables[0][1, 1, 2] = -np.inf
    return FactorGraphField(scopes, cards, tables)


@pytest.mark.parametrize("make", [pairwise, factors])
@pytest.mark.parametrize(
    "known", [{}, {1: 2}, {0: 0, 4: 2}, {0: 0, 1: 2, 2: 1}, {0: 0, 1: 1, 2: 1, 3: 0, 4: 2}]
)
def test_log_partition_and_mode_of_what_agrees(make, known, rng):
    field = make(rng)
    cards = field.junction_tree.cardinalities
    x = np.array(list(np.ndindex(*cards)))
    x = x[(x[:, list(known)] == list(known.values())).all(axis=1)]
    energy = field.energy(x)
    labels = field.graph.nodes if make is pairwise else range(5)
    evidence = {labels[i]: state for i, state in known.items()}
    assert field.log_partition(evidence=evidence) == pytest.approx(logsumexp(-energy), abs=1e-12)
    mode = field.map(evidence=evidence)
    assert mode.dtype == np.int8
    np.testing.assert_array_equal(mode, x[energy.argmin()])


def test_log_probability_of_the_evidence(rng):
    field = factors(rng)
    ratio = field.log_partition(evidence={1: 2}) - field.log_partition()
    assert np.exp(ratio) == pytest.approx(field.marginals().variables[1][2])


@pytest.mark.parametrize(
    ("field", "evidence", "named"),
    [
        (GRID, {(0, 0): 0, (2, 2): 1}, r"\{\(0, 0\): 0, \(2, 2\): 1\}"),
        (CHAIN, {0: 0, 3: 1}, r"\{0: 0, 3: 1\}"),
    ],
)
def test_contradictory_evidence_is_blamed(field, evidence, named):
    calls = [lambda m=m: field.marginals(m, evidence=evidence) for m in ("exact", "bp", "tree", "gibbs")]
    calls += [lambda m=m: field.sample(2, m, evidence=evidence) for m in ("exact", "tree", "gibbs")]
    calls += [lambda: field.map(evidence=evidence), lambda: field.log_partition(evidence=evidence)]
    for call in calls:
        with pytest.raises(
            ValueError,
            match=f"^evidence has probability zero: no possible configuration agrees with {named}; drop or",
        ):
            call()


def test_contradictory_evidence_next_to_each_other():
    with pytest.raises(
        ValueError, match=r"evidence has probability zero: with it, .* all states of node"
    ):
        GRID.map(evidence={(0, 0): 0, (0, 2): 1})
    with pytest.raises(ValueError, match="evidence names 9"):
        CHAIN.log_partition(evidence={9: 0})
    many = FactorGraphField([(i, i + 1) for i in range(8)], [2] * 9, [EQUAL] * 8)
    with pytest.raises(ValueError, match=r"with \{0: 0, 1: 0, 2: 0, 3: 0, 4: 0 and 2 more\}; drop"):
        many.marginals(evidence={**dict.fromkeys(range(6), 0), 8: 1})


def test_warning_of_belief_propagation_points_at_the_call(rng):
    field = PairwiseField(nx.cycle_graph(4), rng.normal(size=(4, 2, 2)), np.zeros((4, 2)))
    with pytest.warns(UserWarning, match="did not converge") as caught:
        field.marginals("bp", max_iterations=1)
    assert caught[0].filename == __file__
