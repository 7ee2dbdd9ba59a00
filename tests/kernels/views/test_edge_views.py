"""Views of the edge sampler: all that they say of a field and its edges, against sums over all states."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special, stats

from pymc_mrf.fields.families import BOLTZMANN, ISING, Family, agreement, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors import densities
from pymc_mrf.kernels.views import edge_values, questions
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from tests.kernels.plain import log_posterior
from tests.reference.priors import normal, normals
from tests.reference.spike_and_slab import field_log_likelihood

EDGES = [(0, 1), (2, 1), (2, 3), (0, 3), (0, 2)]
GRAPH = PairwiseGraph(range(4), EDGES)
R, D = len(EDGES), 4
ABSENT = 2
SLAB_SD, BIAS_SD = 0.8, 2.0
# of five equidistant values, times 12: exact for polynomials up to the fourth degree
SLOPE, CURVATURE = np.array([[1, -8, 0, 8, -1], [-1, 16, -30, 16, -1]])
FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "Ising": ISING,
    "ordinal": ordinal(3),
    "ordinal, scores": ordinal(3, [-1.0, 0.0, 2.5]),
    "ordinal, unequal": ordinal([3, 2, 4, 3]),
    "ordinal, own scores": ordinal([3, 2, 4, 3], [[-1, 0, 2.5], [-1, 1], [0, 1, 2, 3], [2, 3, 5]]),
    "ordinal, two own scores": ordinal(2, [[0, 1], [-1, 1], [0.5, 2], [0, 1]]),
    "Potts": potts(3),
    "agreement": agreement(3),
}
BINARY = ("Boltzmann", "Ising")
LIKELIHOODS = {"list": "exact", "tree": "exact", "rows": "pseudo"}
CASES = [
    pytest.param(kind, name, moves_biases, id=f"{kind}-{name}{'' if moves_biases else '-given biases'}")
    for kind in LIKELIHOODS
    for name, family in FAMILIES.items()
    for moves_biases in (True, False)
    if (kind != "list" or name in BINARY) and (len(family.node_basis) or not moves_biases)
]
VIEWS = pytest.mark.parametrize(("kind", "name", "moves_biases"), CASES)
TREES = pytest.mark.parametrize(
    ("kind", "name", "moves_biases"), [case for case in CASES if case.values[0] == "tree"]
)


def features_of(family):
    """Features (D, M, K) of the nodes."""
    F = family.edge_features
    return np.broadcast_to(F, (D, *F.shape[-2:]))


class Case(NamedTuple):
    """An engine at some parameters, and the log-likelihood (Q,) of parameters (Q, r + d q)."""

    engine: ExactEdges | PseudoEdges
    family: Family
    x: np.ndarray
    w: np.ndarray
    b: np.ndarray
    log_likelihood: Callable

    def moved(self, e, values, w=None, b=None):
        """Weights and biases (Q, r + d q) with edge e at `values` (Q,), centred biases being as they are."""
        field = self.engine.view.field
        w, b = self.w if w is None else w, self.b if b is None else b
        lift = field.lift.reshape(D, -1, field.features.shape[1])
        parameters = np.tile(np.r_[w, b], (len(values), 1))
        biases = parameters[:, R:].reshape(len(values), D, -1)  # a part of it
        for end, u in enumerate(EDGES[e]):
            biases[:, u] -= np.multiply.outer(values - w[e], lift[u] @ field.centre[e, 1 - end])
        parameters[:, e] = values
        return parameters


def make_engine(kind, family, x, moves_biases, graph=GRAPH):
    if kind == "rows":
        return PseudoEdges(x, graph, family, moves_biases)
    return ExactEdges(x, graph, family, moves_biases, enumerates=kind == "list")


def case(kind, name, moves_biases, rng):
    """Rows are not a multiple of what fits into one vector; edge `ABSENT` is absent."""
    family = FAMILIES[name]
    x = rng.integers(family.cards or family.n_states, size=(21, D)).astype(np.int8)
    x[:12, 1] = np.minimum(x[:12, 0], x[:12, 1])
    engine = make_engine(kind, family, x, moves_biases)
    w, b = rng.normal(0, 0.7, R), rng.normal(0, 0.7, D * len(family.node_basis))
    w[ABSENT] = 0.0
    engine.go_to(w, b)
    engine.refresh(rng)
    value = field_log_likelihood(x, EDGES, family, LIKELIHOODS[kind])
    return Case(engine, family, x, w, b, value)


@TREES
def test_data_of_a_field(kind, name, moves_biases, rng):
    """Sums, centred statistics, and how biases stand in for features, from the rows and the states."""
    this = case(kind, name, moves_biases, rng)
    field, data, family, x = this.engine.view.field, this.engine.view.data, this.family, this.x
    F, G = features_of(family), family.node_basis
    K, possible = family.n_states, family.possible(D)
    np.testing.assert_array_equal(field.features, F)
    np.testing.assert_array_equal(data.n, len(x))
    np.testing.assert_array_equal(field.floor, np.where(possible, 0.0, -np.inf))
    contrast = 0.0
    for e, (u, v) in enumerate(EDGES):
        f = F[u].T @ F[v]
        np.testing.assert_array_equal(field.statistic[e].reshape(K, K), f)
        odds = f[:, None, :, None] + f[None, :, None, :] - f[:, None, None, :] - f[None, :, :, None]
        contrast = max(contrast, odds.max())
        c_u, c_v = field.centre[e]
        cells = f - (c_v @ F[u])[:, None] - (c_u @ F[v])[None, :]
        np.testing.assert_allclose(field.cells[e].reshape(K, K), cells, atol=1e-12)
        np.testing.assert_allclose(data.sums[e], f[x[:, u], x[:, v]].sum())
        values = cells[x[:, u], x[:, v]]
        np.testing.assert_allclose(data.s[e], values.sum(), atol=1e-10)
        if moves_biases:  # uncorrelated with what the biases multiply in place of it
            features = np.concatenate([F[u][:, x[:, u]], F[v][:, x[:, v]]])
            np.testing.assert_allclose(features @ (values - values.mean()), 0.0, atol=1e-10)
        else:
            np.testing.assert_array_equal(field.centre[e], 0.0)
    t, lift = data.t.reshape(D, -1), field.lift.reshape(D, len(G), F.shape[1])
    for i in range(D):
        np.testing.assert_allclose(t[i], G[:, x[:, i]].sum(axis=1))
        if len(G):
            left = (F[i] - lift[i].T @ G)[:, possible[i]]
            np.testing.assert_allclose(left, np.tile(left[:, :1], left.shape[1]), atol=1e-12)
        # numbers without a meaning stay as they are
        np.testing.assert_array_equal(lift[i][(G[:, ~possible[i]] != 0).any(axis=1)], 0.0)
    assert field.contrast == contrast


@VIEWS
def test_log_posterior_and_its_slopes(kind, name, moves_biases, rng):
    """At constant centred biases; the value, and derivatives by weights and biases as differences."""
    this = case(kind, name, moves_biases, rng)
    view, q = this.engine.view, len(this.family.node_basis)
    active = np.flatnonzero(this.w)
    k, out = len(active), np.empty(len(active) + view.n_biases)
    assert view.n_biases == (D * q if moves_biases else 0)
    prior = EdgePrior(np.zeros(R), normal(SLAB_SD), normals(D * q, BIAS_SD))

    def expected(parameters):
        value = this.log_likelihood(parameters)
        value += stats.norm(0, SLAB_SD).logpdf(parameters[:, active]).sum(axis=1)
        if moves_biases:
            value += stats.norm(0, BIAS_SD).logpdf(parameters[:, R:]).sum(axis=1)
        return value

    here = np.r_[this.w, this.b]
    value = log_posterior(view, active, prior, out)
    np.testing.assert_allclose(value, expected(here[None])[0], rtol=1e-10)
    h = 1e-5
    for a in range(len(out)):
        if a < k:
            ends = this.moved(active[a], this.w[active[a]] + np.array([h, -h]))
        else:
            ends = here + np.multiply.outer([h, -h], np.eye(len(here))[R + a - k])
        high, low = expected(ends)
        np.testing.assert_allclose(out[a], (high - low) / (2 * h), rtol=1e-5, atol=1e-6)


def information_under_independence(this, e):
    """Information about edge e at 0 if both ends had the same variances whatever the other's state."""
    field, family = this.engine.view.field, this.family
    parameters = this.moved(e, np.zeros(1))[0]
    edge_tables = family.edge_tables(parameters[:R], GRAPH.edges)
    node_tables = parameters[R:].reshape(D, -1) @ family.node_basis + field.floor
    information = 0.0
    for end, (i, j) in enumerate((EDGES[e], EDGES[e][::-1])):
        scores = np.tile(node_tables[i], (len(this.x), 1))
        for table, (u, v) in zip(edge_tables, EDGES, strict=True):
            if i in (u, v):
                scores += table.T[this.x[:, v]] if i == u else table[this.x[:, u]]
        P = special.softmax(scores, axis=1)
        F, of_j = features_of(family)[[i, j]]
        covariance = np.einsum("ca,la,ka->lk", P, F, F) - np.einsum("cl,ck->lk", P @ F.T, P @ F.T)
        Z = of_j[:, this.x[:, j]].T - field.centre[e, 1 - end]
        information += 0.5 * (covariance * (Z.T @ Z) / len(this.x)).sum()
    return information


@VIEWS
def test_one_edge(kind, name, moves_biases, rng):
    """Identity (A2), or passes over the rows: gain, slope and information of every edge over its range."""
    this = case(kind, name, moves_biases, rng)
    view, h = this.engine.view, 1e-3
    for e in range(R):
        values = np.array([0.0, 0.7, -0.4, this.w[e]])
        near = np.array([this.log_likelihood(this.moved(e, values + k * h)) for k in range(-2, 3)])
        here, slope, information = near[2], SLOPE @ near / (12 * h), -CURVATURE @ near / (12 * h**2)
        explained, bound = questions.look_at(view, e, this.w[e])
        score, at_zero = questions.without_edge(view, e)
        np.testing.assert_allclose(score, slope[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(explained, score**2 / (2.0 * at_zero))
        assert bound == at_zero
        if kind == "rows":
            np.testing.assert_allclose(at_zero, information_under_independence(this, e))
        else:
            np.testing.assert_allclose(at_zero, information[0], rtol=1e-4)
        for x, value, first, second in zip(values, here - here[0], slope, information, strict=True):
            if x != 0.0:
                np.testing.assert_allclose(questions.gain(view, e, x), value, atol=1e-10)
                found = questions.likelihood_terms(view, e, x)
                np.testing.assert_allclose(found[0], value, atol=1e-10)
                np.testing.assert_allclose(found[1], first, rtol=1e-6, atol=1e-8)
                np.testing.assert_allclose(found[2], second, rtol=1e-4)


def said_of(view, e):
    """All answers of a view about edge e."""
    looked = questions.look_at(view, e, view.w[e])
    terms = questions.likelihood_terms(view, e, 0.3)
    return [*looked, *questions.without_edge(view, e), *terms]


@VIEWS
def test_changes_are_followed(kind, name, moves_biases, rng):
    """After moves of edges the view says what one says that is made anew, and centred biases have stayed."""
    this = case(kind, name, moves_biases, rng)
    view, again = this.engine.view, make_engine(kind, this.family, this.x, moves_biases)
    w, b, beta = this.w, this.b, view.beta.copy()
    for e, new in ((0, 0.9), (ABSENT, -0.6), (1, 0.0), (0, -0.3), (4, 1.1), (ABSENT, 0.0)):
        questions.look_at(view, e, w[e])
        if new != 0.0:
            questions.gain(view, e, new)
        old, [parameters] = w[e], this.moved(e, np.array([new]), w, b)
        w, b = np.split(parameters, [R])
        questions.set_edge(view, e, new)
        questions.follow(view, e, old, new)
        np.testing.assert_array_equal(view.w, w)
        np.testing.assert_allclose(view.b, b, atol=1e-12)
        questions.centred(view.field, view.w, view.b, view.beta)
        np.testing.assert_allclose(view.beta, beta, atol=1e-12)
        again.go_to(w, b)
        again.refresh(rng)
        for other in range(R):
            said = [said_of(one, other) for one in (view, again.view)]
            np.testing.assert_allclose(*said, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n_rows", [13, 21], ids=["other rows", "as many rows"])
@pytest.mark.parametrize("name", ["Boltzmann", "ordinal, unequal", "ordinal, own scores", "Potts"])
@pytest.mark.parametrize("kind", ["tree", "rows"])
def test_blocks(kind, name, n_rows, rng):
    """Two fields as blocks of one: its view says what their own say, also after changes of edges."""
    family, cards = FAMILIES[name], [3, 2, 4, 3, 4, 3, 2]
    if family.cards:
        own = [np.arange(k) - i for i, k in enumerate(cards)] if family.has_own_scores else None
        family = ordinal(cards, own)
    path = [(0, 1), (2, 1)]
    graphs = GRAPH, PairwiseGraph(range(3), path)
    data, parts = [], []
    for nodes, graph, n in zip((np.arange(D), np.arange(D, 7)), graphs, (21, n_rows), strict=True):
        own = family.of_nodes(nodes)
        x = rng.integers(own.cards or own.n_states, size=(n, len(nodes))).astype(np.int8)
        data.append(x)
        parts.append(make_engine(kind, own, x, True, graph))
    graph = PairwiseGraph(range(7), [*EDGES, *((u + D, v + D) for u, v in path)])
    whole = make_engine(kind, family, data, True, graph)
    view = whole.view
    w, b = rng.normal(0, 0.7, len(view.w)), rng.normal(0, 0.7, len(view.b))
    w[ABSENT] = 0.0
    whole.go_to(w, b)
    whole.refresh(rng)

    def assert_same():
        value, slopes, edge, bias = 0.0, [], 0, 0
        for part in parts:
            r, k = len(part.view.w), len(part.view.b)
            part.go_to(view.w[edge : edge + r], view.b[bias : bias + k])
            part.refresh(rng)
            for e in range(r):
                said = said_of(view, edge + e), said_of(part.view, e)
                np.testing.assert_allclose(*said, rtol=1e-8, atol=1e-10)
            active = np.flatnonzero(part.view.w)
            slope = np.zeros(len(active) + k)
            value += questions.add_slopes(part.view, active, slope)
            slopes.append(np.split(slope, [len(active)]))
            edge, bias = edge + r, bias + k
        found = np.zeros(np.count_nonzero(view.w) + len(view.b))
        total = questions.add_slopes(view, np.flatnonzero(view.w), found)
        np.testing.assert_allclose(total, value, rtol=1e-10)
        expected = np.concatenate([own[i] for i in range(2) for own in slopes])  # weights, then biases
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)

    assert_same()
    for e, new in ((1, 0.5), (R, 0.0)):
        old = view.w[e]
        questions.look_at(view, e, old)
        questions.gain(view, e, 0.5)
        questions.set_edge(view, e, new)
        questions.follow(view, e, old, new)
        assert_same()


def test_modes_that_are_far_away():
    """Both ends are nearly always 1 without the edge, and never both are: the mode is near the biases."""
    x = np.repeat([[0, 1], [1, 0]], 10, axis=0).astype(np.int8)
    engine = make_engine("tree", BOLTZMANN, x, False, PairwiseGraph(range(2), [(0, 1)]))
    view, prior = engine.view, EdgePrior(np.zeros(1), normal(100.0), normals(2, BIAS_SD))
    engine.go_to(np.zeros(1), np.full(2, 50.0))
    engine.refresh(None)
    questions.look_at(view, 0, 0.0)
    fit, _ = densities.quadratic_fit(prior.slab, *questions.without_edge(view, 0))
    fit, _ = edge_values.refined_fit(view, 0, fit, prior)
    values = np.linspace(-100.0, 0.0, 10_001)
    posterior = [questions.gain(view, 0, y) - 0.5 * (y / 100.0) ** 2 for y in values]
    # roughly is enough for a proposal with heavy tails; steps of equal length would not come half as far
    assert abs(fit.mode - values[np.argmax(posterior)]) < 2.0 * fit.precision**-0.5
    assert edge_values.MAX_NEWTON * edge_values.MAX_SHIFT < 0.5 * abs(fit.mode)


@pytest.mark.parametrize("empty", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("name", BINARY)
def test_data_set_no_limit_to_an_edge_with_an_empty_cell(name, empty, rng):
    """If two states never occur together, a weight can grow without bounds at the same centred biases."""
    x = rng.integers(2, size=(60, 2)).astype(np.int8)
    x = x[(x != empty).any(axis=1)]
    field = make_engine("tree", FAMILIES[name], x, True, PairwiseGraph(range(2), [(0, 1)])).view.field
    cells = field.cells.reshape(2, 2)
    others = np.delete(cells.ravel(), 2 * empty[0] + empty[1])
    np.testing.assert_allclose(others, others[0], atol=1e-12)
    assert abs(cells[empty] - others[0]) > 0.5
