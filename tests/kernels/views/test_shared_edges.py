"""The view of a vector that is a part of edge parameters, over a likelihood whose answers are parabolas."""

from typing import NamedTuple

import numpy as np
import pytest

from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.shared_edges import SharedTerms, SharedView


class Parabolas(NamedTuple):
    """Edge e at y gains slope[e] y - bend[e] y^2 / 2; `seen` and `kept` are the edges that were looked at."""

    w: np.ndarray
    b: np.ndarray
    n_biases: int
    slope: np.ndarray
    bend: np.ndarray
    seen: np.ndarray
    kept: np.ndarray
    followed: np.ndarray


@questions.look_at.register(Parabolas)
def look(view, e, x):
    view.seen[0] = e
    return 0.5 * view.slope[e] ** 2 / view.bend[e], view.bend[e]


@questions.keep_look.register(Parabolas)
def keep(view, slot):
    view.kept[slot] = view.seen[0]


@questions.recall_look.register(Parabolas)
def recall(view, slot):
    view.seen[0] = view.kept[slot]


@questions.without_edge.register(Parabolas)
def score(view, e):
    return view.slope[e], view.bend[e]


@questions.likelihood_terms.register(Parabolas)
def terms(view, e, y):
    """Nothing is known of an edge that is not looked at."""
    known = 1.0 if view.seen[0] == e else np.nan
    value = view.slope[e] * y - 0.5 * view.bend[e] * y * y
    return known * value, view.slope[e] - view.bend[e] * y, view.bend[e]


@questions.gain.register(Parabolas)
def gain(view, e, y):
    known = 1.0 if view.seen[0] == e else np.nan
    return known * (view.slope[e] * y - 0.5 * view.bend[e] * y * y)


@questions.set_edge.register(Parabolas)
def set_edge(view, e, y):
    view.w[e] = y


@questions.follow.register(Parabolas)
def follow(view, e, old, new):
    view.followed[e] += new - old


@questions.set_parameters.register(Parabolas)
def set_parameters(view, active, place):
    for a in range(active.shape[0]):
        view.w[active[a]] = place[a]


@questions.without_slab.register(Parabolas)
def without_slab(view, active, bias, slope):
    value = 0.0
    for e in range(view.w.shape[0]):
        value += view.slope[e] * view.w[e] - 0.5 * view.bend[e] * view.w[e] ** 2
    for a in range(active.shape[0]):
        slope[a] = view.slope[active[a]] - view.bend[active[a]] * view.w[active[a]]
    return value


# entry 0 is a part of edges 2 and 0, entry 1 of edge 4 alone, entry 2 of edges 1 and 3
FIRST, EDGE = np.array([0, 2, 3, 5]), np.array([2, 0, 4, 1, 3])
ENTRY = np.repeat(np.arange(3), np.diff(FIRST))
FACTOR = np.array([1.0, -0.5, 2.0, 0.7, 1.5])


@pytest.fixture
def shared(rng):
    """The view, its vector, and the gain of all edges by the vector."""
    offset = np.array([0.0, 0.8, -0.3, 0.0, 1.1])
    slope, bend, w = rng.normal(size=5), rng.uniform(0.5, 2.0, 5), rng.normal(size=3)
    edges = np.zeros(5)
    edges[EDGE] = offset + FACTOR * w[ENTRY]
    whole = Parabolas(edges, np.zeros(0), 0, slope, bend, np.full(1, -1), np.full(5, -1), np.zeros(5))
    numbers = {name: np.zeros(3) for name in ("score", "information")}
    view = SharedView(
        field=SharedTerms(np.arange(3), 1.0, FIRST, EDGE, FACTOR),
        whole=whole,
        w=w.copy(),
        b=whole.b,
        beta=np.zeros(0),
        n_biases=0,
        offset=offset,
        base=np.zeros(5),
        edges=np.zeros(5, dtype=np.int64),
        slope=np.zeros(5),
        tilt=np.zeros(0),
        **numbers,
    )

    def value(vector):
        y = offset + FACTOR * vector[ENTRY]
        return (slope[EDGE] * y - 0.5 * bend[EDGE] * y**2).sum()

    return view, w, value


def at(w, k, x):
    moved = w.copy()
    moved[k] = x
    return moved


@pytest.mark.parametrize("k", [0, 1, 2])
def test_an_entry_is_the_sum_of_its_edges(k, shared):
    view, w, value = shared
    explained, information = questions.look_at(view, k, w[k])
    h, absent = 1e-4, value(at(w, k, 0.0))
    gained = [value(at(w, k, x)) - absent for x in (h, -h)]
    score, curvature = (gained[0] - gained[1]) / (2 * h), -(gained[0] + gained[1]) / h**2
    assert information == pytest.approx(curvature, rel=1e-6)
    assert explained == pytest.approx(0.5 * score**2 / curvature, rel=1e-6)
    np.testing.assert_allclose(questions.without_edge(view, k), (score, curvature), rtol=1e-6)
    for x in (0.0, 0.9, -1.7):
        expected = value(at(w, k, x)) - absent
        assert questions.gain(view, k, x) == pytest.approx(expected, abs=1e-12)
        gained, slope, bend = questions.likelihood_terms(view, k, x)
        assert gained == pytest.approx(expected, abs=1e-12)
        assert slope == pytest.approx(score - curvature * x, rel=1e-5)
        assert bend == pytest.approx(curvature, rel=1e-6)


def test_edges_follow_their_entry(shared):
    view, w, _ = shared
    before = view.whole.w.copy()
    questions.set_edge(view, 2, 0.4)
    np.testing.assert_array_equal(view.w, at(w, 2, 0.4))
    np.testing.assert_array_equal(view.whole.w, before)
    questions.follow(view, 2, w[2], 0.4)
    np.testing.assert_allclose(view.whole.w[EDGE], view.offset + FACTOR * view.w[ENTRY])
    np.testing.assert_allclose(view.whole.followed, view.whole.w - before)


def test_slopes_of_a_joint_move(shared):
    view, w, value = shared
    active, place, slope, h = np.array([2, 0]), np.array([0.3, -1.2]), np.empty(2), 1e-5
    questions.set_parameters(view, active, place)
    new = at(at(w, 2, 0.3), 0, -1.2)
    np.testing.assert_array_equal(view.w, new)
    np.testing.assert_allclose(view.whole.w[EDGE], view.offset + FACTOR * new[ENTRY])
    assert questions.without_slab(view, active, None, slope) == pytest.approx(value(new))
    for a, k in enumerate(active):
        up, down = (value(at(new, k, new[k] + step)) for step in (h, -h))
        assert slope[a] == pytest.approx((up - down) / (2 * h), abs=1e-6)
