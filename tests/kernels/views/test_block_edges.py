"""Blocks of parameters: what views say of them, against sums over all states, and the proposals."""

import numpy as np
import pytest
from scipy import stats

from pymc_mrf.fields.families import nominal
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.views import block_edges as blocks
from pymc_mrf.kernels.views import block_fits, edge_values, questions
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from tests.insides import whole_of
from tests.marks import slow
from tests.reference.priors import normal, normals
from tests.reference.spike_and_slab import field_log_likelihood

GRAPH = PairwiseGraph(range(3), [(0, 1), (2, 1), (0, 2)])
FAMILY = nominal([3, 2, 4])
FIRST = np.array([0, 2, 5, 11])
ENGINES = {"exact": ExactEdges, "pseudo": PseudoEdges}
KINDS = pytest.mark.parametrize("kind", ["pseudo", slow("exact")])


def case(kind, rng, edge_is_present=True):
    x = np.stack([rng.integers(k, size=31) for k in (3, 2, 4)], axis=1).astype(np.int8)
    x[:14, 2] = x[:14, 0]
    engine = BlockEdges(ENGINES[kind](x, GRAPH, FAMILY, True))
    w, b = rng.normal(0, 0.6, 11), rng.normal(0, 0.5, 12)
    if not edge_is_present:
        w[5:] = 0.0
    whole_of(engine).go_to(w, b)
    whole_of(engine).refresh(rng)
    return engine, w, b, field_log_likelihood(x, GRAPH.edges, FAMILY, kind)


def moved(engine, w, b, e, values):
    """Parameters (Q, 23) with block e at `values` (Q, W), the centred biases being as they are."""
    field = engine.view.whole.field
    w_new, lift = np.tile(w, (len(values), 1)), field.lift.reshape(3, 4, 3)
    biases = np.tile(b.reshape(1, 3, 4), (len(values), 1, 1))
    for k, p in enumerate(range(FIRST[e], FIRST[e + 1])):
        w_new[:, p] = values[:, k]
        for end, u in enumerate(field.edges[p]):
            biases[:, u] -= np.multiply.outer(values[:, k] - w[p], lift[u] @ field.centre[p, 1 - end])
    return np.hstack([w_new, biases.reshape(len(values), -1)])


@KINDS
@pytest.mark.parametrize("edge_is_present", [True, False])
def test_gain_slope_and_information(kind, edge_is_present, rng):
    engine, w, b, value = case(kind, rng, edge_is_present)
    view, e, W = engine.view, 2, 6
    old = edge_values.present_value(view, e)
    np.testing.assert_array_equal(old.x, w[5:])
    explained, _ = questions.look_at(view, e, old)
    zero = value(moved(engine, w, b, e, np.zeros((1, W))))[0]
    score, information = view.room.score[:W].copy(), view.room.information[:W, :W].copy()
    if kind == "exact":
        expected = 0.5 * score @ np.linalg.solve(information, score)
        np.testing.assert_allclose(explained, expected, rtol=1e-8)
    for x, g, H in ((np.zeros(W), score, information), (rng.normal(0, 0.5, W), None, None)):
        if g is None:
            g, H = np.zeros(W), np.zeros((W, W))
            gain = blocks.block_terms(view.whole, view, e, x, g, H)
            at_x = value(moved(engine, w, b, e, x[None]))[0]
            np.testing.assert_allclose(gain, at_x - zero, atol=1e-8)
            np.testing.assert_allclose(blocks.block_gain(view.whole, view, e, x), gain)
        h = 1e-4
        steps = np.concatenate([x + h * np.eye(W), x - h * np.eye(W)])
        up, down = value(moved(engine, w, b, e, steps)).reshape(2, W)
        np.testing.assert_allclose(g, (up - down) / (2 * h), atol=1e-5)
        centre = value(moved(engine, w, b, e, x[None]))[0]
        diagonal = -(up + down - 2 * centre) / h**2
        # rows taken together, the information is an approximation
        np.testing.assert_allclose(np.diag(H), diagonal, rtol=1e-3 if kind == "exact" else 0.3)
        assert np.linalg.eigvalsh(H).min() > 0.0


@pytest.mark.slow
@KINDS
def test_following_is_as_good_as_beginning_anew(kind, rng):
    engine, _, _, _ = case(kind, rng)
    view, e = engine.view, 1
    old = edge_values.present_value(view, e)
    questions.look_at(view, e, old)
    new = blocks.Value(rng.normal(size=3))
    questions.gain(view, e, new)
    questions.set_edge(view, e, new)
    questions.follow(view, e, old, new)
    other = 2
    followed = questions.look_at(view, other, edge_values.present_value(view, other))
    whole_of(engine).go_to(view.w.copy(), view.b.copy())
    whole_of(engine).refresh(rng)
    anew = questions.look_at(view, other, edge_values.present_value(view, other))
    np.testing.assert_allclose(followed, anew, rtol=1e-8)


@pytest.mark.slow
def test_proposals_have_their_density(rng):
    """Of the shares of draws within ellipsoids, and of the density where it is Student's alone."""
    engine, _, _, _ = case("exact", rng)
    view, prior = engine.view, EdgePrior(np.zeros(3), normal(1.0), normals(12, 2.0))
    e, W = 2, 6
    questions.look_at(view, e, edge_values.present_value(view, e))
    fit, _, _ = edge_values.rough_fit(view, e, prior.slab)
    fit, _ = edge_values.refined_fit(view, e, fit, prior)
    mode, L = fit.mode.copy(), np.tril(fit.root[:W, :W])
    draws = np.array([edge_values.propose(view, prior.slab, fit, rng).x.copy() for _ in range(4000)])
    squared = (((draws - mode) @ L) ** 2).sum(axis=1) / W
    cut = np.array([0.5, 1.0, 2.0])
    narrow = stats.f(W, block_fits.NU * W).cdf(cut)
    expected = 0.95 * narrow + 0.05 * stats.f(W, 1).cdf(cut / 9.0)
    seen = (squared[:, None] < cut).mean(axis=0)
    assert (np.abs(seen - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 4000)).all()
    x = draws[0]
    covariance = np.linalg.inv(L @ L.T)
    density = 0.95 * stats.multivariate_t(mode, covariance, df=block_fits.NU * W).pdf(x)
    density += 0.05 * stats.multivariate_t(mode, 9.0 * covariance, df=1).pdf(x)
    found = edge_values.log_proposed(view, prior.slab, fit, blocks.Value(x))
    np.testing.assert_allclose(found, np.log(density), rtol=1e-8)
