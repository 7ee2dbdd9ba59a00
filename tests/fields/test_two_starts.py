"""Chains from order and from disorder: fixed fields whose sweeps are enough, and those whose are not."""

import numpy as np
import pytest

from pymc_mrf.fields.factor_graph import FactorGraphField
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.fields.two_starts import LEAST_SWEEPS, starts_meet
from pymc_mrf.graph import builders

GRID = builders.grid(24, 24)
TREE = builders.grid(1, 300)


def agreement(graph, coupling, n_states=2):
    coupling = np.broadcast_to(coupling, graph.n_edges)
    tables = coupling[:, None, None] * np.eye(n_states)
    return PairwiseField(graph, tables, np.zeros((graph.n_nodes, n_states)))


def as_factors(field):
    return FactorGraphField(
        field.graph.edges, np.full(field.graph.n_nodes, field.n_states), field.edge_tables
    )


def glass(graph):
    return 8.0 * np.random.default_rng(1).choice([-1.0, 1.0], graph.n_edges)


SLOW = {
    "domains": agreement(GRID, 1.6),
    "domains of order in turns": agreement(GRID, -1.6),
    "first order": agreement(GRID, 1.5, 10),
    "frustrated": agreement(GRID, glass(GRID)),
}
QUICK = {
    "nothing": agreement(GRID, 0.0),
    "weak": agreement(GRID, 0.6),
    "weak, of many states": agreement(GRID, 0.6, 10),
    "weak, frustrated": agreement(GRID, glass(GRID) / 16),
    "one node": agreement(builders.grid(1, 1), 0.0),
    "in a field": PairwiseField(GRID, agreement(GRID, 1.6).edge_tables, [[0.0, 2.0]] * GRID.n_nodes),
}


@pytest.mark.parametrize("name", SLOW)
def test_draws_that_show_their_start_are_told_of(name):
    with pytest.warns(
        UserWarning, match=r'method="gibbs": chains show where they start: in 50 sweeps.*n_sweeps=500'
    ):
        SLOW[name].sample(2, "gibbs", n_sweeps=50, rng=1)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("n_sweeps", [1, 100])
def test_others_are_not(name, n_sweeps):
    QUICK[name].sample(2, "gibbs", n_sweeps=n_sweeps, rng=1)


def test_more_sweeps_are_enough():
    field = agreement(TREE, 4.0)
    with pytest.warns(UserWarning, match="n_sweeps=200"):
        field.sample(2, "gibbs", n_sweeps=20, rng=1)
    field.sample(2, "gibbs", n_sweeps=20_000, rng=1)


def test_trees_are_judged_by_their_own_sweeps():
    chain = agreement(TREE, 6.0)
    with pytest.warns(UserWarning, match="in 50 sweeps"):
        chain.sample(2, "gibbs", n_sweeps=50, rng=1)
    chain.sample(2, "tree", n_sweeps=50, rng=1)  # the whole tree at once
    with pytest.warns(UserWarning, match='method="tree"'):
        SLOW["frustrated"].sample(2, "tree", n_sweeps=50, rng=1)


@pytest.mark.parametrize("method", ["gibbs", "tree"])
def test_marginals(method):
    with pytest.warns(UserWarning, match=f'method="{method}".* in 60 sweeps.*n_burn_in=200'):
        SLOW["frustrated"].marginals(method, n_chains=2, n_burn_in=20, n_sweeps=40, rng=1)
    QUICK["weak"].marginals(method, n_chains=2, n_burn_in=20, n_sweeps=40, rng=1)


def test_factor_graphs():
    # few variables: sweeps over factors take longer
    field = agreement(builders.grid(12, 12), glass(builders.grid(12, 12)))
    with pytest.warns(UserWarning, match='method="gibbs"'):
        as_factors(field).sample(2, "gibbs", n_sweeps=50, rng=1)
    for name in ("nothing", "weak"):
        as_factors(QUICK[name]).sample(2, "gibbs", n_sweeps=50, rng=1)


def test_evidence_leaves_less_to_forget():
    field = SLOW["domains"]
    evidence = dict.fromkeys(GRID.nodes[::2], 1)
    field.sample(2, "gibbs", n_sweeps=50, rng=1, evidence=evidence)


def test_exact_starts_and_no_draws_need_no_check():
    impossible = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    field = PairwiseField(TREE, np.array([impossible] * 299), np.zeros((300, 2)))
    field.sample(2, "gibbs", n_sweeps=50, rng=1)
    SLOW["frustrated"].sample(0, "gibbs", n_sweeps=50, rng=1)


def test_draws_do_not_depend_on_the_check(monkeypatch):
    first = QUICK["weak"].sample(5, "gibbs", n_sweeps=5, rng=1)
    monkeypatch.setattr(PairwiseField, "_check_sweeps", lambda *args, **kwargs: None)
    np.testing.assert_array_equal(first, QUICK["weak"].sample(5, "gibbs", n_sweeps=5, rng=1))


@pytest.mark.parametrize("after", [0, 1, LEAST_SWEEPS, LEAST_SWEEPS + 1])
def test_chains_are_stopped_where_they_meet(after):
    n_done = 0

    def sweep(x):
        nonlocal n_done
        n_done += 1

    def potential(x):  # the second chain is there for one sweep
        return np.array([1.0, float(n_done == after) - 1.0, 0.0])

    assert starts_meet(np.zeros((3, 4), dtype=np.int8), sweep, potential, 2) == (after <= LEAST_SWEEPS)
    assert n_done == min(after, LEAST_SWEEPS)
