"""Edges that are visited in some draws only: the posterior is that of visits in every draw."""

import functools
from copy import deepcopy

import numpy as np
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.kernels.edges.edge_moves import NOT_TOLD, EdgePrior
from pymc_mrf.likelihood.pseudo import pseudo_edges, visits
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from pymc_mrf.likelihood.pseudo.visits import FIRST, PERIOD, RATE
from pymc_mrf.steps.edges import presence_record
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.edges.presence_record import read_batches
from tests.insides import engine_in, norms_of, rates_of
from tests.posteriors import draws_of, fixed_p, furthest
from tests.reference.priors import normal, normals
from tests.statistics import Z
from tests.steps.edges.binary_models import boltzmann_data, fixed_bias_model, reference


@pytest.fixture
def few_edges(monkeypatch):
    """Have panels and rates for any number of edges, and one sweep in a draw, as of many."""
    monkeypatch.setattr(pseudo_edges, "sweeps_in_a_draw", lambda n_edges, cost: 1)
    monkeypatch.setattr(visits, "FEWEST_EDGES", 0)
    monkeypatch.setattr(visits, "MOST", 0.0)


@pytest.fixture
def all_rare(few_edges, monkeypatch):
    """Have all edges rare, and each told of, and visited for that, in one draw of forty."""
    monkeypatch.setattr(presence_record, "period_of", lambda *sizes: 40)
    monkeypatch.setattr(visits, "RARE", 2.0)
    monkeypatch.setattr(visits, "OFTEN", 2.0)


def change_scan(engine, changed):
    """Have `changed(scan, ...)` choose the edges of a draw, which is told of the choice by rates."""
    engine._scan_by_rates = functools.partial(changed, engine._scan_by_rates)


def chosen_by_presence(engine):
    """Visit present edges in every draw, as no rule may."""
    change_scan(engine, lambda scan, left, *rest: scan(left & (engine.view.w == 0.0), *rest))


def without_weights(engine):
    """Let visits count once, whatever their rates."""
    change_scan(
        engine,
        lambda scan, left, presence, rng: ((edges, presence) for edges, _ in scan(left, presence, rng)),
    )


X = boltzmann_data(200, seed=1)


@pytest.mark.slow  # what is told of edges, below, is wrong too where visits are
@pytest.mark.usefixtures("all_rare")
def test_posterior_of_four_nodes():
    """By enumeration, where each edge is visited in a quarter of the draws, by rates that know no state."""
    exact, model = (
        reference(X, "pseudo", fixed_p(0.4)),
        fixed_bias_model(X, likelihood="pseudo"),
    )
    [w] = draws_of(model, ["w"], 2000, 300)
    assert furthest(w, exact) < Z
    present = w != 0.0
    still = (present[:, 1:] == present[:, :-1]).all(axis=2).mean()
    assert still > 1.0 - RATE  # all edges are in one panel
    [w] = draws_of(model, ["w"], 2000, 300, change=lambda step: chosen_by_presence(engine_in(step)))
    assert furthest(w, exact) > Z  # negative control


@pytest.mark.usefixtures("few_edges")
@pytest.mark.parametrize("weighted", [True, False])
def test_told_probabilities_count_visits_by_their_rates(weighted, monkeypatch):
    """Some edges are rare, each told of in one draw of three; without weights it is wrong."""
    exact = reference(X, "pseudo", fixed_p(0.4)).inclusion
    monkeypatch.setattr(visits, "RARE", 2.0)
    monkeypatch.setattr(visits, "OFTEN", 0.5)
    monkeypatch.setattr(presence_record, "period_of", lambda *sizes: 3)
    with fixed_bias_model(X, likelihood="pseudo") as model:
        step = EdgeGibbs([model["w"]])
    step.setup_chain(np.random.default_rng(1), 200, 4000)
    point, told = model.initial_point(), []
    for i in range(4200):
        if i == 200:
            step.stop_tuning()
            assert 0 < rates_of(engine_in(step)).rare().sum() < 6
            if not weighted:
                without_weights(engine_in(step))
        point, [stats] = step.step(point)
        told.append(stats["edge_gibbs_presence_w"])
    batches = read_batches(np.array(told[200:])[None], 6)
    parts = np.exp(batches.log_present[0])  # (batch, r)
    means = parts[: len(parts) // 40 * 40].reshape(40, -1, 6).mean(axis=1)
    z = (means.mean(axis=0) - exact) / (means.std(axis=0, ddof=1) / np.sqrt(len(means)))
    assert (np.abs(z).max() < Z) == weighted


def many_edges(rng):
    d = 40
    x = rng.integers(2, size=(300, d)).astype(np.int8)
    x[:, 1::8] = np.where(rng.random((300, d // 8)) < 0.7, x[:, ::8], x[:, 1::8])
    return PseudoEdges(x, pmrf.graphs.complete(d), BOLTZMANN, True)


@pytest.mark.usefixtures("few_edges")
def test_what_is_rare(rng):
    """Edges of the data are not; rules are those of the sweeps of tuning, and of a stored state."""
    engine = many_edges(rng)
    r = len(engine.view.w)
    prior = EdgePrior(np.full(r, special.logit(0.002)), normal(1.0), normals(40, 2.0))
    w, b = np.zeros(r), np.zeros(40)
    assert not rates_of(engine).rare().any()
    n_visits = []
    for _ in range(FIRST + 2 * PERIOD):
        engine.sweep(w, b, prior, rng)
        n_visits.append(tuple(rates_of(engine).n_sweeps))
    assert n_visits[-1] == (FIRST + 2 * PERIOD, FIRST + 2)
    rare = rates_of(engine).rare()
    u, v = engine.view.field.edges.T
    of_data = (u % 8 == 0) & (v == u + 1)
    assert not rare[of_data].any() and rare.mean() > 0.8
    parts = list(engine.scan(prior, NOT_TOLD, np.random.default_rng(3), True))
    np.testing.assert_array_equal(np.sort(parts[0][0]), np.flatnonzero(~rare))
    assert all(rare[edges].all() for edges, _ in parts[1:])
    told = NOT_TOLD._replace(period=7, turn=2, each=1.0)
    first, *others = engine.scan(prior, told, np.random.default_rng(3), True)
    np.testing.assert_array_equal(np.sort(first[0]), np.flatnonzero(~rare | (np.arange(r) % 7 == 2)))
    assert first[1].each == 1.0 and all(one.each == 1.0 / RATE for _, one in others)
    again = many_edges(np.random.default_rng(0))
    again.set_state(*deepcopy(engine.get_state()))
    np.testing.assert_array_equal(rates_of(again).rare(), rare)
    engine.forget()
    assert not rates_of(engine).rare().any()


@pytest.mark.usefixtures("few_edges")
def test_joint_moves_of_engines_that_learn_no_rates_are_stretched(rng):
    """Norms of weights leave out edges that come and go, where a sweep has told which do."""
    engine = many_edges(rng)
    prior = EdgePrior(np.zeros(len(engine.view.w)), normal(1.0), normals(40, 2.0))
    w = np.zeros(len(engine.view.w))
    w[3] = 1.0
    engine.go_to(w, np.zeros(40))
    engine.coordinates(np.array([3]), prior)
    assert np.count_nonzero(norms_of(engine)) == 2  # as around it `BlockEdges` sweeps
    rates_of(engine).begin_sweep()
    engine.coordinates(np.array([3]), prior)
    assert not norms_of(engine).any()


def test_fields_of_few_candidates_have_no_rates(rng):
    engine = many_edges(rng)
    assert engine.get_state() == () and not len(rates_of(engine).share)
