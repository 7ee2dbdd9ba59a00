"""Scores of many absent edges at once: bounds of what a pass over the rows tells, and the same draws."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal, potts
from pymc_mrf.kernels.edges.edge_moves import NOT_TOLD, EdgePrior, sweep_edges
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.pseudo_scores import NoScores
from pymc_mrf.likelihood.pseudo import visits
from pymc_mrf.likelihood.pseudo.pseudo_edges import ConditionalEdges, PseudoEdges
from tests.insides import panels_of
from tests.posteriors import draws_of, fixed_p, furthest
from tests.reference.priors import normal, normals
from tests.statistics import Z
from tests.steps.edges.binary_models import GRAPH, boltzmann_data, fixed_bias_model, reference

D, N = 40, 90  # two panels
FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "Ising": ISING,
    "ordinal": ordinal(3, [-1.0, 0.0, 2.5]),
    "Potts": potts(3),
}


@pytest.fixture
def few_edges(monkeypatch):
    """Make scores at once for any number of edges."""
    monkeypatch.setattr(visits, "FEWEST_EDGES", 0)


def engine_in(name, rng):
    """Engine of a field whose neighbours depend on each other, some rows occurring more than once."""
    family = FAMILIES.get(name, BOLTZMANN)
    x = rng.integers(family.n_states, size=(N, D)).astype(np.int8)
    for i in range(1, D):
        x[:, i] = np.where(rng.random(N) < 0.4, x[:, i - 1], x[:, i])
    x[: N // 5] = x[N // 5 : 2 * (N // 5)]
    if name == "arrows":
        graph = pmrf.graphs.lagged(D)
        return ConditionalEdges(np.hstack([x, np.roll(x, 1, axis=0)]), graph, family, True)
    edges = [(i, j) for i in range(D) for j in range(i)]  # the first end has the larger number
    rng.shuffle(edges)
    return PseudoEdges(x, pmrf.PairwiseGraph(range(D), edges), family, True)


def prior_of(engine):
    r, n = len(engine.view.w), len(engine.view.b)
    return EdgePrior(np.full(r, -3.0), normal(1.0), normals(n, 2.0))


NAMES = [*FAMILIES, "arrows"]


@pytest.mark.usefixtures("few_edges")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.ordinary("Boltzmann")
def test_scores_known_at_once_bound_those_of_the_rows(name, rng):
    engine = engine_in(name, rng)
    view, prior, start = engine.view, prior_of(engine), np.zeros(len(engine.view.w))
    some = rng.permutation(len(start))[: D // 2]
    start[some] = rng.normal(size=len(some))
    engine.go_to(start, np.zeros(len(view.b)))
    engine.refresh(rng)
    n_seen, n_changed, largest = 0, 0, 0.0
    for edges in engine.visits():
        for before in (True, False):  # and after edges of the panel have changed
            absent = edges[view.w[edges] == 0.0]
            bounds = np.array([questions.glance(view, e) for e in absent])
            looks = np.array([questions.look_at(view, e, 0.0) for e in absent])
            np.testing.assert_array_equal(bounds[:, 1], looks[:, 1])
            assert (bounds[:, 0] >= looks[:, 0]).all()
            gap = np.sqrt(2 * bounds[:, 0]) - np.sqrt(2 * looks[:, 0])
            if before:
                assert gap.max() < 0.01
                n_changed += sweep_edges(view, edges[::7], prior, True, rng, NOT_TOLD, rng, 1)[1]
            else:
                largest = max(largest, gap.max())
        n_seen += len(edges)
    assert n_seen == len(view.w) and n_changed > 0
    assert largest > 0.1  # negative control: scores that were known have changed
    assert questions.glance(view, 0) == (np.inf, 1.0)


@pytest.mark.usefixtures("few_edges")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.ordinary("Boltzmann")
def test_scores_are_of_other_data_with_fewer_different_rows(name, rng):
    engine = engine_in(name, rng)
    view, (w, b) = engine.view, (np.zeros(len(engine.view.w)), np.zeros(len(engine.view.b)))
    engine.sweep(w, b, prior_of(engine), rng)
    n_before = view.rows.size.max()
    x = rng.integers(view.field.features.shape[2], size=(N, len(view.rows.S))).astype(np.int8)
    engine.set_data(np.repeat(x[: N // 3], 3, axis=0))
    assert view.rows.size.max() < n_before
    engine.go_to(w, b)
    engine.refresh(rng)
    for edges in engine.visits():
        for e in edges[w[edges] == 0.0]:
            bound, look = questions.glance(view, e)[0], questions.look_at(view, e, 0.0)[0]
            assert 0.0 <= np.sqrt(2 * bound) - np.sqrt(2 * look) < 0.01


@pytest.mark.usefixtures("few_edges")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.ordinary("Boltzmann", "arrows")
def test_draws_are_those_of_looks_at_every_edge(name, rng):
    engine = engine_in(name, rng)
    prior, ends = prior_of(engine), []
    for kind in ("scores", "rows", "wrong scores"):
        w, b = np.zeros(len(engine.view.w)), np.zeros(len(engine.view.b))
        if kind == "rows":
            panels = panels_of(engine).copy()
            panels_of(engine).clear()
            # in the same order
            engine.view.field.order[:] = np.concatenate([panel.edges for panel in panels])
        elif kind == "wrong scores":
            panels_of(engine).extend(panels)
            engine.view.scores.columns[:] = 0.0
            engine.view.scores.norm[:] = 0.0
        for sweep in range(5):
            engine.sweep(w, b, prior, np.random.default_rng(sweep))
        ends.append(np.concatenate([w, b]))
    assert np.count_nonzero(ends[0][: len(w)])
    np.testing.assert_array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])  # negative control: they decide


@pytest.mark.slow  # draws are those of looks at every edge, of which the posterior is asked elsewhere
@pytest.mark.usefixtures("few_edges")
def test_posterior_of_four_nodes():
    """By enumeration, with scores known at once."""
    x = boltzmann_data(200, seed=1)
    model = fixed_bias_model(x, likelihood="pseudo")
    [w] = draws_of(model, ["w"], 3000)
    for p, agrees in ((0.4, True), (0.5, False)):
        assert (furthest(w, reference(x, "pseudo", fixed_p(p))) < Z) == agrees


def test_few_candidates_are_looked_at_one_by_one(rng):
    few = PseudoEdges(rng.integers(2, size=(9, 4)).astype(np.int8), GRAPH, BOLTZMANN, True)
    assert [len(edges) for edges in few.visits()] == [6]
    assert isinstance(few.view.scores, NoScores)
