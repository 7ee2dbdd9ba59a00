"""Matrices of Gaussian fields, and the view of their edges, against numpy and finite differences."""

import numpy as np
import pytest

from pymc_mrf.fields.gaussian import GAUSSIAN
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import gaussian as kernels
from pymc_mrf.kernels.edges.edge_moves import NOT_TOLD, EdgePrior, sweep_edges
from pymc_mrf.kernels.priors.densities import NORMAL, Densities, Density
from pymc_mrf.kernels.views import gaussian_edges as views
from pymc_mrf.kernels.views import questions
from pymc_mrf.likelihood.gaussian.gaussian_edges import GaussianLikelihood
from tests.reference.derivatives import assert_gradients
from tests.reference.gaussian import log_likelihood_of, precision
from tests.statistics import Z

D = 5
GRAPH = PairwiseGraph(range(D), [(i, j) for i in range(D) for j in range(i)])
EDGES = [tuple(e) for e in GRAPH.edges.tolist()]
SLAB = Density(NORMAL, 0.0, 1.0, 1.0, -0.5 * np.log(2 * np.pi))
FLAT = Densities(np.zeros(D, dtype=np.int64), np.zeros(D), np.ones(D), np.ones(D), np.zeros(D))


def cone_point(rng, size=0.3):
    """Weights and log diagonal of a positive definite precision, some weights 0."""
    while True:
        w, b = (
            size * rng.standard_normal(len(EDGES)) * (rng.random(len(EDGES)) < 0.6),
            rng.normal(0, 0.3, D),
        )
        if np.linalg.eigvalsh(precision(EDGES, w, np.exp(b)))[0] > 0.02:
            return w, b


def engine_in(rng, n=12, moves=True):
    return GaussianLikelihood(rng.standard_normal((n, D)), GRAPH, None, moves)


def view_at(engine, w, b, rng):
    engine.go_to(w, b)
    engine.refresh(rng)
    return engine.view


def test_the_inverse_follows_a_weight_by_rank_two(rng):
    w, b = cone_point(rng)
    S, room = np.linalg.inv(precision(EDGES, w, np.exp(b))), np.empty((2, D))
    (i, j), moved = EDGES[3], w.copy()
    moved[3] += 0.05
    expected = precision(EDGES, moved, np.exp(b))
    own_i, both, own_j, factor = kernels.rank_two(S, i, j, 0.05)
    np.testing.assert_allclose(factor, np.linalg.det(expected) * np.linalg.det(S), rtol=1e-10)
    kernels.add_rank_two(S, i, j, own_i, both, own_j, room)
    np.testing.assert_allclose(S, np.linalg.inv(expected), atol=1e-10)


def test_factor_and_inverse(rng):
    w, b = cone_point(rng)
    expected = precision(EDGES, w, np.exp(b))
    K, S = np.empty((D, D)), np.empty((D, D))
    kernels.fill_precision(GRAPH.edges, w, np.exp(b), K)
    np.testing.assert_allclose(K, expected)
    np.testing.assert_allclose(kernels.factorise(K), np.linalg.slogdet(expected)[1])
    np.testing.assert_allclose(np.tril(K), np.linalg.cholesky(expected))
    kernels.invert_factorised(K, S)
    np.testing.assert_allclose(S, np.linalg.inv(expected))
    assert np.isnan(kernels.factorise(expected - 5.0 * np.eye(D)))


def test_missing_cells_are_normal_given_the_others(rng):
    w, b = cone_point(rng)
    K, n = precision(EDGES, w, np.exp(b)), 20000
    seen, missing = np.array([0, 3]), np.array([1, 2, 4])
    x = np.tile(rng.standard_normal(D), (n, 1))
    given = x[0, seen].copy()
    x[:, missing] = np.nan
    kernels.draw_missing(x, GRAPH.edges, w[None], np.exp(b)[None], rng)
    S = np.linalg.inv(K[np.ix_(missing, missing)])
    mean = -S @ K[np.ix_(missing, seen)] @ given
    np.testing.assert_array_equal(x[:, seen], np.tile(given, (n, 1)))
    drawn = x[:, missing]
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.5 * np.sqrt(np.diag(S) / n)).all()
    variance = np.outer(np.diag(S), np.diag(S)) + S**2
    assert (np.abs(np.cov(drawn.T) - S) < 4.5 * np.sqrt(variance / n)).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_about_an_edge(seed):
    rng = np.random.default_rng(seed)
    w, b = cone_point(rng)
    engine = engine_in(rng)
    view, T = view_at(engine, w, b, rng), engine.view.scatter

    def at(e, x):
        moved = w.copy()
        moved[e] = x
        K = precision(EDGES, moved, np.exp(b))
        if np.linalg.eigvalsh(K)[0] <= 0:
            return -np.inf
        return 0.5 * (12 * np.linalg.slogdet(K)[1] - np.sum(K * T))

    for e in range(len(EDGES)):
        questions.look_at(view, e, w[e])
        low, high = view.look[0].low, view.look[0].high
        inside, outside = np.array([0.999, -0.999]), np.array([1.001, -1.001])
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        assert np.isfinite([at(e, x) for x in middle + half * inside]).all()
        assert not np.isfinite([at(e, x) for x in middle + half * outside]).any()
        origin = 0.0 if low < 0 < high else middle
        for x in middle + half * np.array([-0.6, 0.1, 0.8]):
            value, slope, information = questions.likelihood_terms(view, e, x)
            np.testing.assert_allclose(value, at(e, x) - at(e, origin), atol=1e-9)
            np.testing.assert_allclose(questions.gain(view, e, x), at(e, x) - at(e, origin), atol=1e-9)
            h = 1e-4
            np.testing.assert_allclose(
                slope, (at(e, x + h) - at(e, x - h)) / (2 * h), rtol=1e-4, atol=1e-4
            )
            second = (at(e, x + h) + at(e, x - h) - 2 * at(e, x)) / h**2
            np.testing.assert_allclose(information, -second, rtol=1e-3)
        assert questions.gain(view, e, middle + 1.01 * half) == -np.inf
        absent = questions.bias_terms(view, e, 0.0, FLAT)[0]
        assert (absent == 0.0) == (low < 0 < high)


def test_what_a_proposal_is_made_from_does_not_depend_on_the_present_weight(rng):
    w, b = cone_point(rng)
    engine = engine_in(rng)
    view = view_at(engine, w, b, rng)
    for e in range(len(EDGES)):
        questions.look_at(view, e, w[e])
        points = np.linspace(view.look[0].low - 0.5, view.look[0].high + 0.5, 7)
        before = [questions.likelihood_terms(view, e, x) for x in points]
        moved = w.copy()
        moved[e] = 0.9 * view.look[0].low + 0.1 * view.look[0].high
        view = view_at(engine, moved, b, rng)
        questions.look_at(view, e, moved[e])
        after = [questions.likelihood_terms(view, e, x) for x in points]
        np.testing.assert_allclose(before, after, rtol=1e-6, atol=1e-6)
        view = view_at(engine, w, b, rng)


def test_the_inverse_follows_and_stays_positive_definite(rng):
    """Sweeps of few rows, which fill the cone: after every sweep, and every edge, K is positive definite."""
    engine = engine_in(rng, n=2)
    w, b = cone_point(rng)
    view, error, ends = view_at(engine, w, b, rng), 0.0, 0
    prior = EdgePrior(np.zeros(len(EDGES)), SLAB, FLAT)
    for _ in range(300):
        ends += sweep_edges(view, view.field.order, prior, True, rng, NOT_TOLD, rng, 1)[1]
        K = precision(EDGES, view.w, np.exp(view.b))
        assert np.linalg.eigvalsh(K)[0] > 0
        S = np.linalg.inv(K)
        error = max(error, np.abs(view.S - S).max() / np.abs(S).max())
        engine.refresh(rng)
    assert ends > 1000
    assert error < 1e-9


def test_joint_slopes(rng):
    w, b = cone_point(rng)
    engine, x = engine_in(rng), rng.standard_normal((12, D))
    engine.set_data(x)
    view, active = view_at(engine, w, b, rng), np.flatnonzero(w)
    expected = log_likelihood_of(x, EDGES)

    def at(place):
        slope = np.zeros(len(place))
        questions.set_parameters(view, active, place)
        return questions.without_slab(view, active, FLAT, slope), slope

    place = np.concatenate([w[active], b])
    np.testing.assert_allclose(at(place)[0], expected(np.concatenate([w, b])[None])[0])
    assert_gradients(at, [place])
    place[0] = 50.0
    assert at(place)[0] == -np.inf


@pytest.mark.parametrize("moves_diagonal", [True, False])
def test_the_expansion_is_the_gradient_and_the_fisher_information(rng, moves_diagonal):
    """At a reference: precision times (mean - reference) is the gradient, precision the information."""
    w, b = cone_point(rng)
    x = rng.standard_normal((12, D))
    engine = GaussianLikelihood(x, GRAPH, GAUSSIAN, moves_diagonal)
    engine.set_offset(0.05 * rng.standard_normal(len(EDGES)))
    engine.go_to(w - engine.offset, b)
    active, r = np.array([3, 0]), len(EDGES)
    absent = np.setdiff1d(np.arange(r), active)
    reference = np.concatenate([w, np.exp(b)])
    reference[absent] = engine.offset[absent]  # or the gradient were that of other edges as well
    K = precision(EDGES, reference[:r], reference[r:])
    S, derivatives = np.linalg.inv(K), []
    for i in range(r + D):
        dK = np.zeros((D, D))
        if i < r:
            u, v = EDGES[i]
            dK[u, v] = dK[v, u] = -1.0
        else:
            dK[i - r, i - r] = K[i - r, i - r]
        derivatives.append(dK)
    moved = np.concatenate([active, np.arange(r, r + D)]) if moves_diagonal else active
    information = np.array(
        [[6.0 * np.trace(S @ derivatives[i] @ S @ derivatives[j]) for j in moved] for i in moved]
    )
    gradient = np.array([0.5 * np.sum((12 * S - x.T @ x) * derivatives[i]) for i in moved])
    found, shift = np.zeros((len(moved), len(moved))), np.zeros(len(moved))
    views.expand(engine.view, reference, active, found, shift)
    np.testing.assert_allclose(found, information, atol=1e-9)
    place = np.concatenate([reference[:r] - engine.offset, np.log(reference[r:])])[moved]
    np.testing.assert_allclose(shift - found @ place, gradient, atol=1e-9)


def test_the_scatter_about_other_means(rng):
    x, shift = 5.0 + rng.standard_normal((12, D)), rng.standard_normal(D)
    engine = GaussianLikelihood(x, GRAPH, GAUSSIAN, True)
    engine.set_means([shift])
    np.testing.assert_allclose(engine.view.scatter, (x - shift).T @ (x - shift), rtol=1e-12)


def test_shifts_are_normal_of_the_precision_and_the_score(rng):
    w, b = cone_point(rng)
    K = precision(EDGES, w, np.exp(b))
    prior, score = np.array([0.0, 1.0, 3.0, *np.ones(D - 3)]), rng.standard_normal(D)
    P = 7 * K + np.diag(prior)
    draws = np.empty((4000, D))
    for draw in draws:
        kernels.draw_shift(GRAPH.edges, w, np.exp(b), 7, score, prior, draw, rng)
    S = np.linalg.inv(P)
    z = (draws - S @ score) @ np.linalg.cholesky(P)
    assert np.abs(z.mean(axis=0)).max() * np.sqrt(len(z)) < Z
    second = z.T @ z / len(z)
    assert np.abs((second - np.eye(D)) / np.sqrt(1 + np.eye(D))).max() * np.sqrt(len(z)) < Z
    # negative control: another number of rows
    other = np.linalg.cholesky(6 * K + np.diag(prior))
    z = (draws - S @ score) @ other
    assert np.abs(np.diag(z.T @ z / len(z)) - 1).max() * np.sqrt(len(z) / 2) > Z
