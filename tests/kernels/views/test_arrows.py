"""Views of fields in time: all that they say of arrows and links, against sums over rows."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.kernels.views import questions
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from tests.reference.kinetic import kinetic_log_likelihood

D, ARROWS, LINKS, LAGS = 3, [(0, 0), (0, 1), (2, 1), (1, 0)], [(2, 0), (1, 2)], (1, 3)
FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "Ising": ISING,
    "ordinal": ordinal([3, 2, 4], [[-1, 0, 2.5], [-1, 1], [0, 1, 2, 3]]),
}
SLOPE, CURVATURE = np.array([[1, -8, 0, 8, -1], [-1, 16, -30, 16, -1]])
KINDS = {"arrows": ([], False), "and links": (LINKS, False), "expected": (LINKS, True)}


def edges_of(links):
    return [(u, v, 0) for u, v in links] + [(*arrow, lag) for lag in LAGS for arrow in ARROWS]


def windows(x):
    return np.array([np.concatenate([x[t], *(x[t - lag] for lag in LAGS)]) for t in range(3, len(x))])


def states(family, n, rng):
    return rng.integers(family.cards or family.n_states, size=(n, D)).astype(np.int8)


class Case:
    """An engine at some parameters, of which edge 1 is absent."""

    def __init__(self, name, kind, rng):
        links, expects = kind
        self.family, self.edges = FAMILIES[name], edges_of(links)
        self.x, self.r = states(self.family, 24, rng), len(self.edges)
        self.graph = LaggedGraph(range(D), ARROWS, LAGS, links)
        self.expected = []
        if expects:
            self.expected = [ExpectedNeighbours(windows(self.x), self.graph, self.family)]
        self.engine = self.make()
        self.w = rng.normal(0, 0.7, self.r)
        self.w[1] = 0.0
        self.b = rng.normal(0, 0.7, D * len(self.family.node_basis))
        self.go_to()
        constants = self.expected[0].constants if expects else None
        self.log_likelihood = kinetic_log_likelihood(
            self.x, self.edges, self.family, constants=constants
        )

    def make(self):
        return PseudoEdges(windows(self.x), self.graph, self.family, True, expected=self.expected)

    def go_to(self):
        self.engine.go_to(self.w, self.b)
        self.engine.refresh(None)

    def moved(self, e, values):
        """Parameters (Q, r + d q) with edge e at `values` (Q,); the biases of its targets follow."""
        field = self.engine.view.field
        lift = field.lift.reshape(D, -1, 1)[:, :, 0]
        parameters = np.tile(np.r_[self.w, self.b], (len(values), 1))
        biases = parameters[:, self.r :].reshape(len(values), D, -1)
        j, i, lag = self.edges[e]
        ends = [(i, 1)] if lag else [(j, 1), (i, 0)]
        for node, other in ends:
            biases[:, node] -= np.multiply.outer(
                values - self.w[e], lift[node] * field.centre[e, other, 0]
            )
        parameters[:, e] = values
        return parameters


CASES = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
NAMES = pytest.mark.parametrize("name", FAMILIES)


@CASES
@NAMES
def test_one_edge(name, kind, rng):
    this, h = Case(name, kind, rng), 1e-3
    view = this.engine.view
    for e, (*_, lag) in enumerate(this.edges):
        if lag:
            np.testing.assert_array_equal(view.field.centre[e, 0], 0.0)
        values = np.array([0.0, 0.7, -0.4, this.w[e]])
        near = np.array([this.log_likelihood(this.moved(e, values + k * h)) for k in range(-2, 3)])
        here, slope, information = near[2], SLOPE @ near / (12 * h), -CURVATURE @ near / (12 * h**2)
        questions.look_at(view, e, this.w[e])
        np.testing.assert_allclose(questions.without_edge(view, e)[0], slope[0], rtol=1e-6, atol=1e-8)
        for x, value, first, second in zip(values, here - here[0], slope, information, strict=True):
            if x != 0.0:
                np.testing.assert_allclose(questions.gain(view, e, x), value, atol=1e-10)
                found = questions.likelihood_terms(view, e, x)
                np.testing.assert_allclose(found[0], value, atol=1e-10)
                np.testing.assert_allclose(found[1], first, rtol=1e-6, atol=1e-8)
                np.testing.assert_allclose(found[2], second, rtol=1e-4)


@CASES
@NAMES
def test_log_likelihood_and_its_slopes(name, kind, rng):
    this, h = Case(name, kind, rng), 1e-5
    active, k = np.flatnonzero(this.w), np.count_nonzero(this.w)
    here = np.r_[this.w, this.b]
    slope = np.zeros(k + len(this.b))
    value = questions.add_slopes(this.engine.view, active, slope)
    rows = this.engine.view.rows
    if len(rows.given):  # no parameter moves what the data say of expected neighbours
        value += np.einsum("ij,ilj,ilj->", rows.n[rows.block], rows.T, rows.given)
    np.testing.assert_allclose(value, this.log_likelihood(here[None])[0], rtol=1e-10)
    for a in range(len(slope)):
        if a < k:
            ends = this.moved(active[a], this.w[active[a]] + np.array([h, -h]))
        else:
            ends = here + np.multiply.outer([h, -h], np.eye(len(here))[this.r + a - k])
        high, low = this.log_likelihood(ends)
        np.testing.assert_allclose(slope[a], (high - low) / (2 * h), rtol=1e-5, atol=1e-6)


def said_of(view, e):
    looked = questions.look_at(view, e, view.w[e])
    return [*looked, *questions.without_edge(view, e), *questions.likelihood_terms(view, e, 0.3)]


@CASES
@NAMES
def test_changes_are_followed(name, kind, rng):
    this = Case(name, kind, rng)
    view, beta = this.engine.view, this.engine.view.beta.copy()
    for e, new in ((0, 0.9), (1, -0.6), (2, 0.0), (this.r - 1, 1.1), (1, 0.0)):
        questions.look_at(view, e, this.w[e])
        if new != 0.0:
            questions.gain(view, e, new)
        old, [parameters] = this.w[e], this.moved(e, np.array([new]))
        this.w, this.b = np.split(parameters, [this.r])
        questions.set_edge(view, e, new)
        questions.follow(view, e, old, new)
        np.testing.assert_allclose(view.b, this.b, atol=1e-12)
        questions.centred(view.field, view.w, view.b, view.beta)
        np.testing.assert_allclose(view.beta, beta, atol=1e-12)
        this.engine = this.make()
        this.go_to()
        for other in range(this.r):
            said = [said_of(one, other) for one in (view, this.engine.view)]
            np.testing.assert_allclose(*said, rtol=1e-8, atol=1e-10)
            questions.look_at(view, other, view.w[other])  # the view that goes on


@pytest.mark.parametrize("expects", [False, True])
def test_blocks_and_other_data(expects, rng):
    """Two blocks say what an engine of each says; and other data are taken over."""
    family, graph = BOLTZMANN, LaggedGraph(range(D), ARROWS, LAGS, LINKS)
    data = [windows(states(family, n, rng)) for n in (24, 17)]
    expected = [ExpectedNeighbours(x, graph, family) for x in data] if expects else []
    own = [[one] for one in expected] or [[], []]
    parts = [PseudoEdges(x, graph, family, True, expected=e) for x, e in zip(data, own, strict=True)]
    labels, ends = range(2 * D), [[(D * k + u, D * k + v) for k in range(2) for u, v in pairs]
                                  for pairs in (ARROWS, LINKS)]  # fmt: skip
    whole_graph = LaggedGraph(labels, ends[0], LAGS, ends[1])
    whole = PseudoEdges(data, whole_graph, family, True, expected=expected)
    mine = [np.flatnonzero(whole_graph.edges[:, 0] // D == k) for k in range(2)]
    w, b = rng.normal(size=whole_graph.n_edges), rng.normal(size=2 * D)

    def assert_same():
        whole.go_to(w, b)
        whole.refresh(rng)
        for k, part in enumerate(parts):
            part.go_to(w[mine[k]], b[k * D : (k + 1) * D])
            part.refresh(rng)
            for e, edge in enumerate(mine[k]):
                said = said_of(whole.view, edge), said_of(part.view, e)
                np.testing.assert_allclose(*said, rtol=1e-8, atol=1e-10)

    assert_same()
    np.testing.assert_allclose(whole.correlations, np.concatenate([p.correlations for p in parts]))
    new = [windows(states(family, n, rng)) for n in (24, 17)]
    whole.set_data(data)
    whole.set_data(new)
    for part, before, after in zip(parts, data, new, strict=True):
        part.set_data(before)
        part.set_data(after)
    assert_same()
