"""Kernels of the edge sampler: sums, terms of a node, tables, proposals, against plain formulas."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import vector_sums
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors import densities
from pymc_mrf.kernels.priors.densities import LAPLACE, STUDENT, TAIL_SHARE, Density, Fit
from pymc_mrf.kernels.views import enumerated_field, pseudo_rows, pseudo_terms, questions, split_field
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from pymc_mrf.steps.edges.edge_prior import flat
from tests.insides import norms_of
from tests.marks import slow
from tests.reference import enumeration
from tests.reference.priors import normal, normals
from tests.reference.spike_and_slab import pseudo_log_likelihood

EDGES = [(0, 1), (2, 1), (2, 3), (3, 4), (0, 4), (1, 4)]
GRAPH = PairwiseGraph(range(5), EDGES)


def parameters(rng):
    w = rng.normal(0, 1, 6)
    w[[1, 4]] = 0.0
    return w, rng.normal(0, 1, 5)


def student(location, scale, nu):
    return Density(STUDENT, location, scale, nu, stats.t(nu, location, scale).logpdf(location))


@pytest.mark.parametrize("n", [8, 24, 104])
def test_sums(n, rng):
    a, b, c, d = rng.normal(size=(4, n))
    np.testing.assert_allclose(vector_sums.dot(a, b), (a * b).sum())
    np.testing.assert_allclose(vector_sums.pair_dot(a, b, c, d), (a * b + c * d).sum())
    np.testing.assert_allclose(vector_sums.centred_dot(a, b, 0.3), (a * (b - 0.3)).sum())
    np.testing.assert_allclose(
        vector_sums.centred_pair_dot(a, b, 0.3, c, d, -2.0), (a * (b - 0.3) + c * (d + 2.0)).sum()
    )
    np.testing.assert_allclose(vector_sums.dot_square(a, b, 0.3), (a * (b - 0.3) ** 2).sum())
    np.testing.assert_allclose(vector_sums.dot_two(a, b, c), (a @ c, b @ c))
    np.testing.assert_allclose(vector_sums.total(a), a.sum())
    np.testing.assert_allclose(vector_sums.dot_positive(a, b), (a * np.maximum(b, 0.0)).sum())
    np.testing.assert_allclose(vector_sums.dot_three(a, b, c), (a * b * c).sum())
    np.testing.assert_allclose(vector_sums.weighted_logs(a, 1.0 + b**2), (a * np.log1p(b**2)).sum())
    np.testing.assert_allclose(vector_sums.product(a), a.prod())
    a[3] = np.inf
    assert vector_sums.dot_positive(b**2, a) == vector_sums.total(a) == np.inf


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 130, 700])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_places_of_what_is_not_zero(n, share, rng):
    a = np.where(rng.random(n) < share, rng.normal(size=n), 0.0)
    a[-1:] *= np.nan  # a place, too
    found, j = [], vector_sums.next_nonzero(a, 0)
    while j < n:
        found.append(j)
        j = vector_sums.next_nonzero(a, j + 1)
    assert found == list(np.flatnonzero(a != 0.0))


@pytest.mark.parametrize("family", [BOLTZMANN, ordinal(3)], ids=["binary", "ordinal"])
def test_joint_slopes_count_all_present_edges(family, rng):
    """Of some edges in any order they are those of all; those of two absent ones, asked for, are no zeros.

    Terms that sweeps keep stay as they are.
    """
    x = rng.integers(family.n_states, size=(60, 5)).astype(np.int8)
    engine = PseudoEdges(x, GRAPH, family, True)
    view, b = engine.view, rng.normal(size=engine.view.n_biases)
    w = parameters(rng)[0]
    engine.go_to(w, b)
    engine.refresh(rng)
    kept = [array.copy() for array in view.now]
    view.w[0] += 1.0
    every, some = np.arange(6), np.array([5, 0, 4])
    of_all, of_some = np.zeros(6 + len(b)), np.zeros(3 + len(b))
    value = questions.add_slopes(view, every, of_all)
    assert (of_all[:6] != 0.0).all()
    # the value has what the data say of the edges that are asked for only
    rest = view.w[[1, 2, 3]] @ view.sums.s[[1, 2, 3]]
    np.testing.assert_allclose(questions.add_slopes(view, some, of_some) + rest, value)
    np.testing.assert_allclose(of_some, np.r_[of_all[some], of_all[6:]], rtol=1e-12)
    for array, before in zip(view.now, kept, strict=True):
        np.testing.assert_array_equal(array, before)
    view.w[2] = 0.0  # were it not for this edge, its ends would look otherwise
    without = np.zeros_like(of_some)
    questions.add_slopes(view, some, without)
    assert not np.allclose(without, of_some)


# the pair is separable: no row has both in the second state, and the weight wanders far out
SEPARABLE = np.repeat([[0, 0], [0, 1], [1, 0]], [3, 5, 4], axis=0).astype(np.int8)
CUTS = np.array([-60.0, -8.0, -3.0, -1.0])


def pair_conditional(b):
    """Probabilities of w < CUTS and of w != 0 by quadrature, under a Cauchy(0, 2) slab and even odds."""
    log_likelihood = pseudo_log_likelihood(SEPARABLE, [(0, 1)], (0, 1))
    # x = 2 tan(t) takes the slab to a uniform density of t
    t = (np.arange(200_000) + 0.5) / 200_000 * np.pi - np.pi / 2
    x = 2.0 * np.tan(t)
    value = log_likelihood(np.column_stack([x, np.broadcast_to(b, (len(x), 2))]))
    absent = log_likelihood(np.array([[0.0, *b]]))[0]
    density = np.exp(value - absent) / len(x)
    cells = np.array([density[x < cut].sum() for cut in CUTS])
    return np.append(cells, density.sum()) / (1.0 + density.sum())


@pytest.mark.parametrize("joint", [False, slow(True)], ids=["edge moves", "and long trajectories"])
@pytest.mark.parametrize("corrected", [True, slow(False)])
def test_separable_pair(joint, corrected, rng):
    graph, b = PairwiseGraph(range(2), [(0, 1)]), np.array([-0.3, 0.2])
    engine = PseudoEdges(SEPARABLE, graph, BOLTZMANN, False)
    prior = EdgePrior(np.zeros(1), student(0.0, 2.0, 1.0), flat(2))
    if joint:
        *_, square = engine._places.of(engine.information)
        square[:] = 36.0
        assert engine.stretch(rng) == 6.0
    w, draws = np.zeros(1), np.empty(20_000)
    for k in range(len(draws)):
        engine.sweep(w, b, prior, rng, corrected)
        if joint:
            engine.joint(w, b, prior, 0.8 * rng.uniform(0.8, 1.2), 2, rng)
        draws[k] = w[0]
    events = np.column_stack([*(draws < cut for cut in CUTS), draws != 0.0])
    batches = events.reshape(50, -1, len(CUTS) + 1).mean(axis=1)
    z = (batches.mean(axis=0) - pair_conditional(b)) / (batches.std(axis=0, ddof=1) / np.sqrt(50))
    assert (np.abs(z).max() < 5.0) == corrected, z


def test_trajectories_stretch_to_the_norms(rng):
    """The deviation of the widest norms but a tenth, of recent draws: what came before counts no more."""
    engine = PseudoEdges(rng.integers(2, size=(21, 5)).astype(np.int8), GRAPH, BOLTZMANN, True)
    assert engine.stretch(rng) == 1.0
    prior = EdgePrior(np.zeros(6), student(0.0, 2.0, 1.0), normals(5, 2.0))
    w, b = parameters(rng)
    engine.sweep(w, b, prior, rng)
    engine.joint(w, b, prior, 0.5, 3, rng)
    for k in range(2000):
        norms_of(engine)[:] = np.full(5, 500.0 * (k < 100)) + rng.normal(50, 3, 5)
        engine.learn(1.0 / (k + 11.0))
    assert 2.7 < engine.stretch(rng) < 3.5


def test_exp_negative(rng):
    x = np.concatenate([-rng.uniform(0, 50, 500), [-700.0, 0.0, -1e-300]])
    got = np.array([vector_sums.exp_negative(v) for v in x])
    np.testing.assert_allclose(got, np.exp(x), rtol=1e-12)


def test_log_from_one(rng):
    y = np.concatenate(
        [1.0 + np.logspace(-17, 0, 300), rng.uniform(0, 4, 500), np.logspace(-305, 300, 600)]
    )
    got = np.array([vector_sums.log_from_one(v) for v in y])
    np.testing.assert_allclose(got, np.log(y), rtol=5e-16, atol=5e-16)


FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "Ising": ISING,
    "ordinal": ordinal([2, 4]),  # the node has two states of four
    "own scores": ordinal([2, 4], [[-1, 1], [0, 1, 2, 3]]),
    "Potts": potts(3),
}


@pytest.mark.parametrize("n", [1, 8, 13, 700])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_node_terms(family, n, rng):
    """At given local fields, one of them very strong: what follows from the conditional probabilities.

    Of rows that occur once, of others, and of rows that occur twice, which count as one.
    """
    x = rng.integers(family.cards * 3 or family.n_states, size=(n, 6)).astype(np.int8)
    x[n // 2 :] = x[n // 3]
    x[: min(n // 4, 2)] = x[0]
    graph = PairwiseGraph(range(6), [(i, i + 1) for i in range(5)])
    wide = {"cards": family.cards * 3, "scores": family.scores * 3} if family.cards else {}
    engine = PseudoEdges(x, graph, dataclasses.replace(family, **wide), True)
    view, F = engine.view, engine.view.field.features[0]
    (M, K), N, rows = F.shape, view.rows.T.shape[-1], view.rows
    engine.go_to(np.zeros(5), rng.normal(size=len(view.b)))
    pseudo_terms.refresh(view)
    different, counts = np.unique(x, axis=0, return_counts=True)
    order = np.argsort(counts > 1, kind="stable")
    x, counts = different[order], counts[order]
    n = len(counts)
    assert rows.once[0] == (counts == 1).sum() and (n < 8 or rows.once[0] < n)
    counts = 0.5 * counts
    np.testing.assert_array_equal(rows.n[0], np.pad(counts, (0, N - n)))
    L = np.full((M, N), np.nan)
    L[:, : rows.size[0]] = 0.0
    L[:, :n] = rng.normal(0, 20, (M, n))
    L[0, 0] = 1000.0
    R, p, v, C = np.empty((M, N)), np.empty(K), np.empty(K), np.empty((M, M))
    A = pseudo_rows.node_terms(view, 0, L, R, p, v, C)
    S, c = rows.T[1], rng.normal(size=M)
    information = pseudo_rows.information(view, 0, S, c)
    Z = S[:, :n] - c[:, None]
    scores = view.tables[0] + L[:, :n].T @ F
    P = special.softmax(scores, axis=1)
    others = 1.0 - np.eye(K)  # 1 - p as a sum: it may be tiny
    features = F - (P @ F.T)[:, :, None]  # (n, M, K), centred in each row
    covariance = np.einsum("n,na,nla,nka->nlk", counts, P, features, features)
    np.testing.assert_allclose(R[:, :n], counts * (F[:, x[:, 0]] - F @ P.T), atol=1e-11)
    np.testing.assert_array_equal(R[:, n : rows.size[0]], 0.0)
    np.testing.assert_allclose(p, counts @ P, atol=1e-10)
    np.testing.assert_allclose(v, counts @ (P * (P @ others)), atol=1e-10)
    np.testing.assert_allclose(C, covariance.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(A, counts @ special.logsumexp(scores, axis=1), rtol=1e-12)
    np.testing.assert_allclose(information, np.einsum("ln,nlk,kn->", Z, covariance, Z), atol=1e-9)


def test_enumerated_probabilities(rng):
    w, b = parameters(rng)
    tables = ISING.edge_tables(w), ISING.node_tables(b)
    # enumeration has the last node fastest; bit i of a number is node i
    p = enumeration.probabilities(EDGES, *tables).reshape((2,) * 5).T.ravel()
    nodes, states = np.arange(5), np.array([-1.0, 1.0])
    rows = split_field.allocate_rows(split_field.make_windows(GRAPH.edges, 5, 1))
    P, h = rows.P, rows.h
    A = split_field.fill_couplings(GRAPH.edges, states, w, b, rows.J, rows.a)
    A += split_field.list_configurations(rows, nodes)
    np.testing.assert_allclose(A, enumeration.log_partition(EDGES, *tables))
    np.testing.assert_allclose(P, p, rtol=1e-10)
    pair, configs = np.empty(4), enumeration.configurations(5, 2)[:, ::-1]
    for u, v in itertools.permutations(range(5), 2):
        enumerated_field.pair_probabilities(P, u, v, pair)
        expected = [p[(configs[:, u] == a) & (configs[:, v] == c)].sum() for a in (0, 1) for c in (0, 1)]
        np.testing.assert_allclose(np.exp(pair), expected, rtol=1e-10)
    changed = P.copy()
    enumerated_field.multiply_pair(changed, 3, 1, 2.0, 3.0, 5.0, 7.0)
    factor = np.array([[2.0, 3.0], [5.0, 7.0]])[configs[:, 3], configs[:, 1]]
    np.testing.assert_allclose(changed, P * factor)
    moments = np.empty((5, 5))
    enumerated_field.second_moments(P, moments, h)
    for u, v in itertools.combinations_with_replacement(range(5), 2):
        np.testing.assert_allclose(moments[u, v], p[(configs[:, u] == 1) & (configs[:, v] == 1)].sum())


@pytest.mark.parametrize("slab", [normal(0.8), student(-0.5, 1.5, 1.0)], ids=["normal", "cauchy"])
def test_proposals_have_the_density_they_claim(slab, rng):
    mode, precision = 0.7, 4.0
    fit = Fit(mode, precision, 0.0, 1.0, 0.0)
    draws = np.array([densities.propose_fit(slab, fit, rng) for _ in range(4000)])
    cuts = mode + np.array([-np.inf, -3.0, -1.0, -0.5, -0.2, 0.0, 0.3, 0.7, 1.5, np.inf])
    cells = [
        integrate.quad(lambda t: np.exp(densities.log_fit(slab, fit, t)), *ends)[0]
        for ends in itertools.pairwise(cuts)
    ]
    np.testing.assert_allclose(sum(cells), 1.0, rtol=1e-7)
    counts = np.histogram(draws, cuts)[0]
    assert stats.chisquare(counts, np.array(cells) / sum(cells) * len(draws)).pvalue > 1e-5


def test_proposals_reach_the_tails_of_the_slab():
    """Where the data set no limit the posterior over the proposal is bounded."""
    slab = student(0.0, 2.0, 1.0)
    weak = densities.slope_and_precision(slab, slab.location)[1]
    for precision, share in ((weak, TAIL_SHARE / 2.0), (4.0 * weak, TAIL_SHARE / 5.0)):
        fit = Fit(-1.0, precision, 0.0, 1.0, 0.0)
        for x in (-1e2, -1e4):
            log_weight = densities.log_density(slab, x) - densities.log_fit(slab, fit, x)
            assert log_weight < -np.log(share)


@pytest.mark.parametrize(
    ("slab", "exact"),
    [
        (student(0.3, 1.7, 3.0), stats.t(3, 0.3, 1.7)),
        (normal(0.8), stats.norm(0, 0.8)),
        (Density(LAPLACE, 0.1, 1.7, 1.0, -np.log(3.4)), stats.laplace(0.1, 1.7)),
    ],
    ids=["student", "normal", "laplace"],
)
def test_densities(slab, exact):
    for x in (-40.0, -4.0, 2.0):
        np.testing.assert_allclose(densities.log_density(slab, x), exact.logpdf(x))
        slope, precision = densities.slope_and_precision(slab, x)
        numerical = (exact.logpdf(x + 1e-5) - exact.logpdf(x - 1e-5)) / 2e-5
        # the corner of the Laplace density is rounded
        np.testing.assert_allclose(slope, numerical, rtol=0.03 if slab.kind == LAPLACE else 1e-6)
        assert precision > 0.0


def test_laplace_is_exact_for_a_normal_slab():
    slab, g, h = normal(0.9), 3.0, 7.0
    integrand = lambda t: stats.norm(0, 0.9).pdf(t) * np.exp(g * t - 0.5 * h * t * t)  # noqa: E731
    expected = np.log(integrate.quad(integrand, -10, 10)[0])
    np.testing.assert_allclose(densities.quadratic_fit(slab, g, h)[1], expected)
    # the same parabola, about another point
    x, value = 0.4, g * 0.4 - 0.5 * h * 0.4**2
    np.testing.assert_allclose(densities.expanded_fit(slab, x, value, g - h * x, h, 2.0)[1], expected)
