"""Random draws of fields: right where defaults reach, told of where not, compiled or not."""

import warnings

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions import draw_checks

GRID = pmrf.graphs.grid(16, 16)
COMPLAINT = r"random draws of {} show where their chains start: in n_sweeps=100 sweeps.*n_sweeps=1000"


@pytest.fixture(autouse=True)
def first_draws(monkeypatch):
    draw_checks.n_draws_so_far.clear()


def glass():
    return 4.0 * np.random.default_rng(1).choice([-1.0, 1.0], GRID.n_edges)


@pytest.mark.parametrize("family", ["Ising", "BoltzmannMachine", "AgreementMRF"])
def test_negative_couplings_of_a_bipartite_graph_are_positive_ones_turned(family):
    u, v = GRID.edges.T
    degree = np.bincount(GRID.edges.ravel())

    def agree(J):
        if family == "Ising":
            rv = pmrf.Ising.dist(J, graph=GRID, size=(60,))
        elif family == "AgreementMRF":
            theta = 1 / (1 + np.exp(-2 * J))
            rv = pmrf.AgreementMRF.dist(np.full(GRID.n_edges, theta), graph=GRID, size=(60,))
        else:
            rv = pmrf.BoltzmannMachine.dist(4 * J, -2 * J * degree, graph=GRID, size=(60,))
        x = pm.draw(rv, random_seed=1)
        return (x[:, u] == x[:, v]).mean(axis=1)

    for J in (0.5, 0.8):
        up, down = agree(J), 1 - agree(-J)
        error = np.hypot(up.std(), down.std()) / np.sqrt(60)
        assert abs(up.mean() - down.mean()) < 4.5 * error


@pytest.mark.compiled
@pytest.mark.slow
def test_a_first_order_transition_is_told_of_where_the_draw_is_made():
    rv = pmrf.Potts.dist(1.5, graph=pmrf.graphs.grid(32, 32), n_states=10, size=(3,))
    with pytest.warns(UserWarning, match=COMPLAINT.format("Potts")) as found:
        pm.draw(rv, random_seed=1)
    assert {warning.filename for warning in found} == {__file__}


@pytest.mark.compiled
@pytest.mark.slow
def test_warnings_can_be_errors():
    with pytest.raises(UserWarning, match=COMPLAINT.format("Ising")):
        pm.draw(pmrf.Ising.dist(glass(), graph=GRID), random_seed=1)


def test_draws_do_not_depend_on_the_check(monkeypatch):
    draw = pm.compile([], pmrf.Ising.dist(glass(), graph=GRID, size=(20,)), random_seed=1)
    with pytest.warns(UserWarning) as found:
        draw()
    assert 4 <= len(found) <= 13  # of the first seven draws, and of some later ones
    monkeypatch.setattr(draw_checks, "is_due", lambda n: False)
    x = pm.compile([], pmrf.Ising.dist(glass(), graph=GRID, size=(20,)), random_seed=1)()
    draw_checks.n_draws_so_far.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        monkeypatch.undo()
        again = pm.compile([], pmrf.Ising.dist(glass(), graph=GRID, size=(20,)), random_seed=1)()
    np.testing.assert_array_equal(x, again)


def test_without_compilation():
    with pytest.warns(UserWarning, match=COMPLAINT.format("Ising")):
        pm.draw(pmrf.Ising.dist(glass(), graph=GRID), random_seed=1)
    pm.draw(pmrf.Ising.dist(0.2 * np.sign(glass()), graph=GRID), random_seed=1)


def test_factor_graphs():
    edges = GRID.edges.tolist()
    strong, weak = ([J * np.eye(2) for J in scale * glass()] for scale in (2.0, 0.1))
    for tables, told in ((weak, False), (strong, True)):
        rv = pmrf.FactorGraphMRF.dist(
            tables, scopes=edges, cardinalities=[2] * GRID.n_nodes, likelihood="particles", size=(2,)
        )
        if told:
            with pytest.warns(UserWarning, match=COMPLAINT.format("FactorGraphMRF")):
                pm.draw(rv, random_seed=1)
        else:
            pm.draw(rv, random_seed=1)


def test_predictive_draws():
    with pm.Model():
        J = pm.Normal("J", 0.0, 3.0, shape=GRID.n_edges)
        pmrf.Ising("x", J, graph=GRID, likelihood="particles")
        with pytest.warns(UserWarning, match=COMPLAINT.format("Ising")):
            pm.sample_prior_predictive(20, random_seed=1)


def test_checks_become_rare():
    due = [n for n in range(1, 4000) if draw_checks.is_due(n)]
    assert due[:12] == [*range(1, 8), 8, 10, 12, 14, 16]
    assert len(due) < 50
