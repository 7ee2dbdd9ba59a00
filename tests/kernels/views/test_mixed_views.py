"""Views of mixed fields: what they say of every edge, against sums over all states; moves in the cone."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.mixed import layout_of, mixed
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.mixed import list_states
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import questions
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.mixed.mixed_edges import MixedLikelihood
from pymc_mrf.likelihood.mixed.mixed_pseudo import MixedPseudoLikelihood
from tests.insides import whole_of
from tests.marks import slow
from tests.mixed_fields import BIAS, DIAGONAL, GRAPH, KINDS, REFERENCE, WEIGHT, rows
from tests.reference.priors import normal, normals

ENGINES = {"exact": MixedLikelihood, "pseudo": MixedPseudoLikelihood}
FIRST = np.cumsum([0, *REFERENCE.blocks])
EDGES = pytest.mark.parametrize("e", range(len(REFERENCE.edges)), ids=GRAPH.edge_labels)
A, K = BIAS.shape
OF_CONE = GRAPH.edge_labels.index("age--income")
Y = rows(25) / np.where(np.array(KINDS.kinds) == "continuous", [1, 10, 1, 0.5, 1], 1) - [0, 4, 0, -2, 0]


@pytest.fixture(params=["exact", slow("pseudo")])
def case(request):
    """Engine of blocks at parameters w (P,) and b (a K + c,), and its log-likelihood by the reference."""
    engine = BlockEdges(ENGINES[request.param](Y, GRAPH, mixed(KINDS), True))
    w, b = WEIGHT.copy(), np.concatenate([BIAS.ravel(), np.log(DIAGONAL)])
    whole_of(engine).go_to(w, b)
    whole_of(engine).refresh(None)
    return engine, w, b, REFERENCE.log_likelihood_of(Y, request.param)


def moved(engine, w, b, e, values):
    """Parameters (Q, P + a K + c) with block e at `values` (Q, W), the centred biases being as they are."""
    field = engine.view.whole.field
    lift, w_new = field.lift.reshape(A, K, -1), np.tile(w, (len(values), 1))
    biases = np.tile(b[: A * K].reshape(1, A, K), (len(values), 1, 1))
    for k, p in enumerate(range(FIRST[e], FIRST[e + 1])):
        w_new[:, p] = values[:, k]
        for end, u in enumerate(field.edges[p]):
            if u < A:
                away = lift[u] @ field.centre[p, 1 - end]
                biases[:, u] -= np.multiply.outer(values[:, k] - w[p], away)
    others = np.tile(b[A * K :], (len(values), 1))
    return np.hstack([w_new, biases.reshape(len(values), -1), others])


def present(view, e):
    return blocks.Value(view.w[FIRST[e] : FIRST[e + 1]].copy())


@EDGES
def test_gain_slope_and_information(case, e, rng):
    engine, w, b, value = case
    view, W = engine.view, REFERENCE.blocks[e]
    old = present(view, e)
    np.testing.assert_array_equal(old.x, w[FIRST[e] : FIRST[e + 1]])
    questions.look_at(view, e, old)
    at_zero = value(moved(engine, w, b, e, np.zeros((1, W))))[0]
    for x in (np.zeros(W), rng.normal(0, 0.3, W), old.x.copy()):
        g, H = np.zeros(W), np.zeros((W, W))
        gain = blocks.block_terms(view.whole, view, e, x, g, H)
        at_x = value(moved(engine, w, b, e, x[None]))[0]
        np.testing.assert_allclose(gain, at_x - at_zero, atol=1e-8)
        np.testing.assert_allclose(blocks.block_gain(view.whole, view, e, x), gain, atol=1e-10)
        h = 1e-4
        steps = np.concatenate([x + h * np.eye(W), x - h * np.eye(W)])
        up, down = value(moved(engine, w, b, e, steps)).reshape(2, W)
        np.testing.assert_allclose(g, (up - down) / (2 * h), atol=1e-5)
        assert np.linalg.eigvalsh(H).min() > 0.0
        if isinstance(whole_of(engine), MixedLikelihood):  # of pseudo-likelihoods it is an approximation
            np.testing.assert_allclose(np.diag(H), -(up + down - 2 * at_x) / h**2, rtol=1e-3)
        else:
            assert (np.diag(H) / (-(up + down - 2 * at_x) / h**2) < 3.0).all()


def test_slopes_of_all_parameters(case):
    engine, w, b, value = case
    view, P = engine.view.whole, len(w)
    place, slope = np.concatenate([w, view.beta]), np.zeros(P + len(b))

    def at(where):
        questions.set_parameters(view, np.arange(P), where)
        return value(np.concatenate([view.w, view.b])[None])[0]

    np.testing.assert_allclose(at(place), value(np.concatenate([w, b])[None])[0])
    numeric = [(at(place + step) - at(place - step)) / 2e-5 for step in 1e-5 * np.eye(len(place))]
    questions.set_parameters(view, np.arange(P), place)
    flat = normals(len(b), 1e6)
    found = questions.without_slab(view, np.arange(P), flat, slope)
    np.testing.assert_allclose(slope, numeric, atol=1e-5)
    slope[:] = 0.0
    np.testing.assert_allclose(
        found - questions.add_slopes(view, np.arange(P), slope), flat.constant.sum()
    )


@EDGES
def test_following_is_as_good_as_beginning_anew(case, e, rng):
    engine, *_ = case
    view, W = engine.view, REFERENCE.blocks[e]
    for scale in (0.2, 0.0):
        old = present(view, e)
        questions.look_at(view, e, old)
        new = blocks.Value(scale * rng.normal(size=W))
        questions.gain(view, e, new)
        questions.set_edge(view, e, new)
        questions.follow(view, e, old, new)
        followed = looks(view)
        whole_of(engine).go_to(view.w.copy(), view.b.copy())
        whole_of(engine).refresh(rng)
        np.testing.assert_allclose(followed, looks(view), rtol=1e-8, atol=1e-10)


def looks(view):
    """What the view says of every edge."""
    return [questions.look_at(view, e, present(view, e))[0] for e in range(len(REFERENCE.edges))]


def test_limits_of_the_cone(case):
    engine, *_ = case
    view, limit, e = engine.view, np.sqrt(DIAGONAL.prod()), OF_CONE
    questions.look_at(view, e, present(view, e))
    for x, is_inside in ((0.999, True), (1.001, False), (-0.999, True), (-1.001, False)):
        gain = blocks.block_gain(view.whole, view, e, np.array([x * limit]))
        assert np.isfinite(gain) == is_inside


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("kind", list(ENGINES))
@pytest.mark.ordinary("exact-2")
def test_moves_stay_in_the_cone(kind, n):
    """Of four measurements under a wide prior, after every sweep and joint move of chains from many seeds."""
    kinds = pmrf.fields.ColumnKinds(tuple("abcde"), ("nominal",) + ("continuous",) * 4, (3, 0, 0, 0, 0))
    graph = kinds.checked(pmrf.graphs.complete(kinds.names))
    x = np.random.default_rng(n).normal(size=(n, 5))
    x[:, 0] = np.arange(n) % 3
    is_off = np.repeat(kinds.edge_kinds(graph) == 2, kinds.block_sizes(graph))
    ends = np.triu_indices(4, 1)
    least = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        engine = BlockEdges(ENGINES[kind](x, graph, mixed(kinds), True))
        prior = EdgePrior(np.zeros(graph.n_edges), normal(2.0), normals(3 + 4, 1.5))
        w, b = np.zeros(len(is_off)), np.zeros(3 + 4)
        for step in range(50):
            if step % 2:
                engine.joint(w, b, prior, 0.5, 4, rng)
            else:
                engine.sweep(w, b, prior, rng)
            assert np.isfinite(w).all() and np.isfinite(b).all()
            K = np.diag(np.exp(b[3:]))
            K[ends] = K.T[ends] = -w[is_off]
            root = np.exp(0.5 * b[3:])
            least.append(np.linalg.eigvalsh(K / root / root[:, None])[0])
    assert min(least) > 0
    assert min(least) < 0.25  # they have been near the edge: 1 is without correlations


def test_a_sample_without_a_pair_of_states():
    """What moves compare does not depend on the present edge, although the sample lacks what it favours."""
    kinds = pmrf.fields.ColumnKinds(tuple("aby"), ("ordinal", "ordinal", "continuous"), (5, 5, 0))
    graph, rng = kinds.checked(pmrf.graphs.complete(kinds.names)), np.random.default_rng(0)
    shares = np.array([0.05, 0.2, 0.5, 0.2, 0.05])

    def answers(n):
        a, b = rng.choice(5, (2, n), p=shares)
        return a, np.where(np.abs(a - b) == 4, 2, b)

    x = np.column_stack([*answers(500), rng.normal(size=500)])
    states = np.array(answers(4000), dtype=np.int8)
    sample = list_states(layout_of(graph, kinds), states, np.zeros(4000))
    engine = BlockEdges(MixedLikelihood(x, graph, mixed(kinds), True, states=sample))
    found = []
    for present_value in (0.0, 1.5):
        w, b = np.array([present_value, 0.0, 0.0]), np.append(np.tile(np.log(shares), 2), 0.0)
        whole_of(engine).go_to(np.zeros(3), b)
        whole_of(engine).refresh(None)
        questions.set_edge(engine.view, 0, blocks.Value(w[:1]))
        whole_of(engine).refresh(None)
        questions.look_at(engine.view, 0, blocks.Value(w[:1]))
        gains = [
            blocks.block_gain(engine.view.whole, engine.view, 0, np.array([y])) for y in (0.0, 0.5, 1.5)
        ]
        found.append([*np.diff(gains), engine.view.room.score[0], engine.view.room.information[0, 0]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)
