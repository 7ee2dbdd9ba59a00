"""EdgeGibbs of vectors that are terms of the weights of Gaussian fields: groups, scales, covariates."""

import warnings

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.kernels.views import questions
from pymc_mrf.likelihood.edges.shared_edges import Share
from pymc_mrf.likelihood.gaussian.gaussian_edges import GaussianLikelihood
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.posteriors import HALVES, P, furthest, sparse_draws_of
from tests.reference.gaussian import log_likelihood_of, posterior_in_a_box, precision
from tests.statistics import Z
from tests.steps.edges.state_models import sum_of_fields

PAIR = pmrf.PairwiseGraph(range(2), [(0, 1)])
PATH = pmrf.PairwiseGraph(range(3), [(0, 1), (1, 2)])


def measurements(graph, weight, diagonal, n, seed):
    edges = graph.edges.tolist()
    S = np.linalg.inv(precision(edges, np.asarray(weight), np.asarray(diagonal)))
    return np.random.default_rng(seed).multivariate_normal(np.zeros(len(S)), S, size=n)


def terms_of(xs, graph, of_entries, of_nodes):
    """Log-likelihood of w, delta and what the log diagonals are sums of."""
    r, d = graph.n_edges, graph.n_nodes
    terms = []
    for x, entries, nodes in zip(xs, of_entries, of_nodes, strict=True):
        A = np.zeros((r + d, 2 * r + len(nodes) * d))
        A[:r, : 2 * r] = np.kron(entries, np.eye(r))
        A[r:, 2 * r :] = np.kron(nodes, np.eye(d))
        terms.append((log_likelihood_of(x, graph.edges.tolist()), A))
    return sum_of_fields(terms)


@pytest.mark.slow
def test_few_rows_fill_the_cone():
    """Weights w + delta and w / 4: where w is above 1 delta cannot be absent."""
    xs = [1.5 * measurements(PAIR, [w], np.ones(2), n, 3) for w, n in ((0.6, 2), (0.4, 3))]
    terms = [[1.0, 1.0], [0.25, 0.0]]
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=1)
        delta = pmrf.SpikeAndSlab("delta", P, pm.Normal.dist(0, 1), shape=1)
        for name, x, (of_w, of_delta) in zip("xy", xs, terms, strict=True):
            weight = of_w * w + of_delta * delta if of_delta else of_w * w
            pmrf.GaussianMRF(name, weight, 1.0, graph=PAIR, observed=x)
    draws, _ = sparse_draws_of(model, 6000)
    log_likelihood = terms_of(xs, PAIR, terms, np.eye(2))

    def posterior(p):
        return posterior_in_a_box(
            lambda v: log_likelihood(np.pad(v, ((0, 0), (0, 4)))), [4.0, 5.0], p, stats.norm(0, 1).logpdf
        )

    assert furthest(draws, posterior(P)) < Z
    assert furthest(draws, posterior(P + 0.3)) > Z  # negative control
    weights = draws.reshape(-1, 2) @ np.transpose(terms)
    assert (np.abs(weights) < 1).all() and (np.abs(draws[..., 0]) > 1).any()


def test_diagonals_that_are_sums_of_vectors_of_other_lengths_are_left_to_nuts():
    xs = [measurements(PAIR, [w], [1.0, 1.5], n, n) for w, n in ((0.7, 30), (0.1, 20))]
    with pm.Model() as model:
        w, delta = (pmrf.SpikeAndSlab(n, P, pm.Normal.dist(0, 0.4), shape=1) for n in ("w", "delta"))
        level, change = pm.Normal("level", 0, 1, shape=2), pm.Normal("change", 0, 0.3, shape=1)
        for name, x, (_, half) in zip("xy", xs, HALVES, strict=True):
            diagonal = pm.math.exp(level + half * change)
            pmrf.GaussianMRF(name, w + half * delta, diagonal, graph=PAIR, observed=x)
        chosen = pm.sampling.mcmc.assign_step_methods(model, None)[1]
    assert {step: {v.name for v in rvs} for step, rvs in chosen.items() if rvs} == {
        EdgeGibbs: {"w", "delta"},
        pm.NUTS: {"level", "change"},
    }


@pytest.mark.slow
def test_groups_that_differ_in_their_means_only():
    """One vector of weights feeds both groups; missing cells are drawn, and pm.sample finds the steps."""
    xs = [measurements(PATH, [0.5, 0.0], np.ones(3), n, n) + n for n in (20, 30)]
    xs[1][::4, 0] = np.nan
    with pm.Model(), warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.5), shape=2)
        diagonal = pm.Gamma("diagonal", 2, 1, shape=3)
        for name, x in zip("xy", xs, strict=True):
            mean = pm.Normal(f"mean_{name}", 0, 30, shape=3)
            pmrf.GaussianMRF(name, w, diagonal, mean, graph=PATH, observed=x)
        idata = pm.sample(300, tune=300, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True)
    found = idata.posterior.dataset.mean(("chain", "draw"))
    assert found["w"][0] > 0.2
    np.testing.assert_allclose(found["mean_x"], xs[0].mean(axis=0), atol=1)
    np.testing.assert_allclose(found["mean_y"], np.nanmean(xs[1], axis=0), atol=1)


def test_blocks_of_several_sizes(rng):
    """Answers about an entry with a term in each of two blocks, against numpy; the inverses follow it."""
    graphs = [pmrf.graphs.complete(4), pmrf.PairwiseGraph(range(3), [(0, 1), (0, 2)])]
    edges = np.concatenate([graphs[0].edges, graphs[1].edges + 4])
    graph = pmrf.PairwiseGraph(range(7), edges.tolist())
    entries, factors = np.array([0, 1, 2, 3, 4, 5, 2, 0]), np.array([1, 1, 0.5, 1, 1, 1, -2.0, 0.5])
    xs = [rng.standard_normal((n, d)) for n, d in ((9, 4), (5, 3))]
    engine = GaussianLikelihood(xs, graph, None, True, share=Share(entries, factors))
    engine.offset, b = 0.05 * rng.standard_normal(8), 0.2 * rng.standard_normal(7)
    w, view = 0.1 * rng.standard_normal(6), engine.view

    def at(w):
        weight, value = engine.offset + factors * w[entries], 0.0
        for x, own, nodes, part in zip(
            xs, graphs, (slice(4), slice(4, 7)), (slice(6), slice(6, 8)), strict=True
        ):
            K = precision(own.edges.tolist(), weight[part], np.exp(b[nodes]))
            if np.linalg.eigvalsh(K)[0] <= 0:
                return -np.inf
            value += 0.5 * (len(x) * np.linalg.slogdet(K)[1] - np.sum(K * (x.T @ x)))
        return value

    engine.go_to(w, b)
    engine.refresh(rng)
    for e in (0, 2, 5):
        questions.look_at(view, e, w[e])
        unit = np.eye(6)[e]
        low, high = view.look[0].low - w[e], view.look[0].high - w[e]
        assert np.isfinite([at(w + 0.999 * v * unit) for v in (low, high)]).all()
        assert not np.isfinite([at(w + 1.001 * v * unit) for v in (low, high)]).any()
        y = 0.4 * high
        expected = at(w + y * unit) - at(w * (1 - unit))
        np.testing.assert_allclose(questions.gain(view, e, w[e] + y), expected)
        value, slope, information = questions.likelihood_terms(view, e, w[e] + y)
        np.testing.assert_allclose(value, expected)
        h = 1e-4
        ends = [at(w + (y + s * h) * unit) for s in (-1, 0, 1)]
        np.testing.assert_allclose(slope, (ends[2] - ends[0]) / (2 * h), rtol=1e-5)
        np.testing.assert_allclose(information, (2 * ends[1] - ends[0] - ends[2]) / h**2, rtol=1e-3)
    questions.set_edge(view, 2, w[2] + 0.05)
    questions.follow(view, 2, w[2], w[2] + 0.05)
    followed = view.S.copy()
    engine.refresh(rng)
    np.testing.assert_allclose(followed[:4], view.S[:4])
    np.testing.assert_allclose(followed[4:, :3], view.S[4:, :3])
    expected = engine.offset[[2, 6]] + np.array([0.5, -2.0]) * view.w[2]
    np.testing.assert_allclose(engine.edge_parameters()[[2, 6]], expected)
