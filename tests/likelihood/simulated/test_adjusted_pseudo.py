"""Adjusted pseudo-likelihoods beside the likelihood itself, by enumeration and by the junction tree."""

import numpy as np
import pytest
from scipy import special

from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal, potts
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels.estimates.pseudo_likelihood import log_pseudo_likelihood
from pymc_mrf.likelihood.adjusted_pseudo import adjustment as adjusted_pseudo
from pymc_mrf.likelihood.adjusted_pseudo.adjustment import (
    BATCH,
    TOLERANCE,
    Adjustment,
    AffineProblem,
    _Simulation,
    adjust,
)
from tests.reference import enumeration
from tests.reference.pseudo_likelihood import finite_difference
from tests.reference.pseudo_likelihood import log_pseudo_likelihood as reference
from tests.statistics import Z

COMPLETE, LATTICE = as_graph(builders.complete(4)), as_graph(builders.grid(6, 6))
# weights and biases of a machine of 4 nodes that are mostly in the same state, either one
TOGETHER = np.r_[np.full(6, 1.2), np.full(4, -1.8)]


def random_points(size, function, rng):
    """Natural parameters at random points of a model with `size` variables."""
    return lambda m: np.array([function(rng.standard_normal(size)) for _ in range(m)])


def free_machine(x):
    """All weights and biases of a Boltzmann machine of 4 nodes; parameters are the natural ones."""
    every = np.arange(10)
    return AffineProblem(
        x, COMPLETE, BOLTZMANN, every[:6], every[:6], np.zeros(10), ties=every, basis=np.eye(10)
    )


def shared_coupling(x):
    """One coupling of a lattice without a field; the parameter is the coupling."""
    r, d = LATTICE.n_edges, LATTICE.n_nodes
    flat = lambda J: np.r_[np.full(r, J), np.zeros(d)]  # noqa: E731
    return AffineProblem.spanned(x, LATTICE, ISING, lambda m: np.array([flat(k) for k in range(m)]))


FEATURES = np.random.default_rng(8).standard_normal(6)
SPANS = {  # family, number of variables, natural parameters of them, number k that matter
    "free": (BOLTZMANN, 10, lambda z: z, 10),
    "one coupling": (ISING, 1, lambda z: np.r_[np.full(6, z[0]), [0.3, -0.2, 0.1, 0.0]], 1),
    "line in a feature": (ISING, 2, lambda z: np.r_[z[0] + z[1] * FEATURES, np.zeros(4)], 2),
    "not linear": (ISING, 1, lambda z: np.r_[np.exp(z[0] * FEATURES), np.zeros(4)], 6),
    "non-centred": (ISING, 8, lambda z: np.r_[z[0] + np.exp(z[1]) * z[2:], np.zeros(4)], 6),
    "gauge of Potts": (potts(3), 4, lambda z: np.r_[np.full(6, z[0]), np.tile(z[1:], 4)], 3),
    "seldom not zero": (ISING, 6, lambda z: np.r_[np.maximum(z - 1.3, 0.0), np.zeros(4)], 6),
    "states of nodes": (ordinal([2, 3, 3, 2]), 9, lambda z: np.r_[np.full(6, z[0]), z[1:]], 7),
}


@pytest.mark.parametrize("name", SPANS)
def test_parameters_that_matter_are_found(name, rng):
    family, size, function, k = SPANS[name]
    x = rng.integers(0, 2, (5, 4)).astype(np.int8)
    problem = AffineProblem.spanned(x, COMPLETE, family, random_points(size, function, rng))
    assert problem.n_parameters == k
    # another point of the model is a point of the span, up to what changes no probability
    flat = function(rng.standard_normal(size))
    same = Adjustment(problem, np.zeros(k), np.zeros(k), np.eye(k)).moved(flat)
    configs = enumeration.configurations(4, family.n_states)
    configs = configs[family.possible(4)[np.arange(4), configs].all(axis=1)]
    p, q = (
        enumeration.log_potentials(configs, COMPLETE.edges, *problem.tables_at(f)) for f in (flat, same)
    )
    np.testing.assert_allclose(p - p[0], q - q[0], atol=1e-7)


def test_parameters_that_rounding_hides_are_refused(rng):
    x = rng.integers(0, 2, (5, 4)).astype(np.int8)
    for size in (1e3, 1e11):
        points = random_points(10, lambda z, size=size: np.r_[size * z[0], z[1:]], rng)
        if size == 1e3:
            assert AffineProblem.spanned(x, COMPLETE, BOLTZMANN, points).n_parameters == 10
            continue
        with pytest.raises(np.linalg.LinAlgError, match="rounding hides"):
            AffineProblem.spanned(x, COMPLETE, BOLTZMANN, points)


@pytest.mark.parametrize("name", ["free", "line in a feature", "gauge of Potts", "states of nodes"])
def test_statistics_and_scores_are_derivatives(name, rng):
    family, size, function, k = SPANS[name]
    x = rng.integers(0, 2, (6, 4)).astype(np.int8)
    problem = AffineProblem.spanned(x, COMPLETE, family, random_points(size, function, rng))
    z = 0.5 * rng.standard_normal(k)

    def potentials(z):
        return enumeration.log_potentials(x, COMPLETE.edges, *problem.tables(z))

    def pseudo(z):
        return reference(x, COMPLETE.edges, *problem.tables(z))

    np.testing.assert_allclose(problem.row_statistics(x).T, finite_difference(potentials, z), atol=1e-7)
    scores, information = problem.scores_and_information(x, np.ones(6), z)
    np.testing.assert_allclose(scores.T, finite_difference(pseudo, z), atol=1e-7)

    def total(z):
        return problem.scores_and_information(x, np.ones(6), z)[0].sum(axis=0)

    np.testing.assert_allclose(information, -finite_difference(total, z), atol=1e-6)


def covariance(f, p):
    """Of the columns of `f` (c, k), whose rows have probabilities `p` (c,)."""
    return (f * p[:, None]).T @ f - np.outer(p @ f, p @ f)


def configurations(problem, z):
    """Statistics (16, k) and probabilities of the states of 4 binary nodes; the log-partition function."""
    f = problem.row_statistics(enumeration.configurations(4, 2).astype(np.int8))
    log_partition = special.logsumexp(f @ z)
    return f, np.exp(f @ z - log_partition), log_partition


def likelihood(problem, z):
    """Log-likelihood, its gradient and negative Hessian by enumeration."""
    f, p, a = configurations(problem, z)
    total, n = problem.row_statistics(problem.x).sum(axis=0), len(problem.x)
    return z @ total - n * a, total - n * (p @ f), n * covariance(f, p)


def machine_data(n, rng, z=None):
    """Parameters and data of a strongly coupled machine."""
    z = np.r_[rng.normal(0, 1.5, 6), rng.normal(0, 0.5, 4)] if z is None else z
    field = PairwiseField(COMPLETE, BOLTZMANN.edge_tables(z[:6]), BOLTZMANN.node_tables(z[6:]))
    return z, field.sample(n, rng=rng)


def exact_mode(problem, precision=0.0):
    """Maximum of likelihood times a normal prior about 0, and the information there."""
    z = np.zeros(10)
    for _ in range(200):
        _, gradient, information = likelihood(problem, z)
        step = np.linalg.solve(information + precision * np.eye(10), gradient - precision * z)
        z = z + step / max(1.0, np.abs(step).max())
    assert np.abs(step).max() < 1e-9
    return z, information


def test_mode_and_curvature_are_those_of_the_likelihood(rng):
    _, x = machine_data(600, rng, TOGETHER)
    problem = free_machine(x)
    adjusted = adjust(problem, "x")
    z_ml, information = exact_mode(problem)
    scale = np.sqrt(np.diag(np.linalg.inv(information)))
    far = np.zeros(10)
    assert np.abs((far - z_ml) / scale).max() > 50 * TOLERANCE
    for found in (adjusted.z_ml, _Simulation(problem, "x").maximise(far)[0]):
        assert np.abs((found - z_ml) / scale).max() < 5 * TOLERANCE
    H = problem.scores_and_information(*problem.distinct_rows[:2], adjusted.z_pl)[1]
    root = np.linalg.inv(np.linalg.cholesky(information))

    def extremes(curvature):
        return np.linalg.eigvalsh(root @ curvature @ root.T)[[0, -1]]

    # as of covariances from independent rows of one batch
    f, p, _ = configurations(problem, z_ml)
    drawn = [extremes(600 * covariance(f, rng.multinomial(BATCH, p) / BATCH)) for _ in range(1000)]
    (low, _), (_, high) = np.min(drawn, axis=0), np.max(drawn, axis=0)
    least, most = extremes(adjusted.W @ H @ adjusted.W)
    assert low < least and most < high
    least, most = extremes(H)  # of the pseudo-likelihood itself
    assert not (low < least and most < high)
    assert max(abs(least - 1), abs(most - 1)) > 0.6


def test_the_same_data_are_adjusted_in_the_same_way(rng):
    _, x = machine_data(300, rng, TOGETHER)
    problem = free_machine(x)
    a, b = adjust(problem, "x"), adjust(problem, "x")
    np.testing.assert_array_equal(a.z_ml, b.z_ml)
    np.testing.assert_array_equal(a.W, b.W)


def log_pseudo_likelihoods(problem, draws):
    """Of the data of a machine of 4 nodes, at parameters (m, 10)."""
    rows, counts, _ = problem.distinct_rows
    slopes = np.zeros((len(rows), 4, 10))  # of the log odds of 1 in its conditional
    for e, (u, v) in enumerate(COMPLETE.edges):
        slopes[:, u, e], slopes[:, v, e] = rows[:, v], rows[:, u]
    slopes[:, range(4), range(6, 10)] = 1.0
    odds = np.einsum("cik,mk->mci", slopes, draws)
    return ((odds * rows - np.logaddexp(0.0, odds)).sum(axis=2) * counts).sum(axis=1)


def covers(draws, log_weights, z):
    """Share of the entries of z (k,) within the central 90 % intervals of weighted draws (m, k)."""
    w = np.exp(log_weights - log_weights.max())
    inside = 0
    for column, value in zip(draws.T, z, strict=True):
        inside += 0.05 < w[column < value].sum() / w.sum() < 0.95
    return inside / len(z)


@pytest.mark.slow
def test_intervals_cover_with_many_rows(rng):
    """Parameters from the prior, so that the posterior is calibrated; the pseudo-likelihood is too narrow."""
    n_fields, m, precision = 80, 2000, np.r_[np.full(6, 1.5), np.full(4, 0.5)] ** -2.0
    covered = {"adjusted": [], "pseudo": []}
    for _ in range(n_fields):
        z, x = machine_data(300, rng)
        problem = free_machine(x)
        try:
            adjusted = adjust(problem, "x")
        except ValueError as error:  # the posterior is calibrated for those that are left as well
            assert "finite maximum" in str(error)
            continue
        mode, information = exact_mode(problem, precision)
        L = np.linalg.cholesky(np.linalg.inv(information + np.diag(precision)))
        t = rng.standard_normal((m, 10)) / np.sqrt(rng.chisquare(8, (m, 1)) / 8)
        draws = mode + 1.3 * t @ L.T
        others = -0.5 * draws**2 @ precision + 9.0 * np.log1p((t**2).sum(axis=1) / 8)
        start = adjusted.moved(np.zeros(10))
        slope = np.array([adjusted.moved(unit) - start for unit in np.eye(10)])
        for name, at in (("adjusted", start + draws @ slope), ("pseudo", draws)):
            covered[name].append(covers(draws, log_pseudo_likelihoods(problem, at) + others, z))
    assert len(covered["pseudo"]) > n_fields / 2
    means = {name: np.mean(c) for name, c in covered.items()}
    errors = {name: np.std(c) / np.sqrt(len(c)) for name, c in covered.items()}
    assert abs(means["adjusted"] - 0.9) < Z * errors["adjusted"]
    assert means["pseudo"] < 0.9 - Z * errors["pseudo"]
    print(means, errors)


GRID = np.linspace(-0.5, 1.3, 91)


def lattice_field(J):
    r, d = LATTICE.n_edges, LATTICE.n_nodes
    return PairwiseField(LATTICE, ISING.edge_tables(np.full(r, J)), ISING.node_tables(np.zeros(d)))


def moments(log_density):
    """Mean and standard deviation under a Normal(0, 1) prior, by quadrature."""
    p = np.exp(log_density - log_density.max() - 0.5 * GRID**2)
    p /= p.sum()
    mean = p @ GRID
    return mean, np.sqrt(p @ (GRID - mean) ** 2)


@pytest.mark.slow
def test_posterior_of_one_lattice_is_that_of_the_likelihood(rng):
    """The pseudo-likelihood is too wide, and about another value."""
    A = np.array([lattice_field(J).log_partition() for J in GRID])
    found = {"adjusted": [], "pseudo": []}
    for x in lattice_field(0.35).sample(60, rng=rng)[:, None]:
        problem = shared_coupling(x)
        try:
            adjusted = adjust(problem, "x")
        except ValueError as error:  # nearly all pixels agree
            assert "finite maximum" in str(error)
            continue
        statistic = problem.row_statistics(x)[0, 0]
        mean, sd = moments(GRID * statistic - A)
        for name in found:
            lpl, log_density = np.empty(1), np.empty(len(GRID))
            for k, J in enumerate(GRID):
                flat = np.r_[np.full(LATTICE.n_edges, J), np.zeros(LATTICE.n_nodes)]
                at = adjusted.moved(flat) if name == "adjusted" else flat
                log_pseudo_likelihood(x, *problem.tables_at(at), LATTICE.arrays, lpl)
                log_density[k] = lpl[0]
            other, width = moments(log_density)
            found[name].append((abs(other - mean) / sd, np.log(width / sd)))
    shift, width = np.mean(found["adjusted"], axis=0)
    assert shift < 0.35
    assert abs(width) < 0.1
    worse = np.abs(found["pseudo"]) - np.abs(found["adjusted"])
    assert len(worse) > 50
    assert np.all(worse.mean(axis=0) > 2.0 * worse.std(axis=0) / np.sqrt(len(worse)))


def test_data_without_a_maximum(rng):
    x = rng.integers(0, 2, (100, 4)).astype(np.int8)
    message = (
        r"x: .* needs a finite maximum, and the {} of these data has none: .*; let parameters share"
    )
    for rows in (np.where([True, False, False, False], 1, x), x[~(x[:, :2] == 1).all(axis=1)]):
        with pytest.raises(ValueError, match=message.format("pseudo-likelihood")):
            adjust(free_machine(rows.astype(np.int8)), "x")
    with pytest.raises(ValueError, match="pseudo-likelihood of these data has none"):
        adjust(shared_coupling(np.ones((1, LATTICE.n_nodes), dtype=np.int8)), "x")
    with pytest.raises(ValueError, match="the likelihood of these data has none"):
        _Simulation(free_machine(np.ones((50, 4), dtype=np.int8)), "x").maximise(np.zeros(10))


def test_a_search_that_does_not_settle(monkeypatch):
    monkeypatch.setattr(adjusted_pseudo, "MAX_STEPS", 1)
    x = lattice_field(0.2).sample(1, rng=1)
    with pytest.raises(
        ValueError, match=r"x: .* did not find the maximum .* in 1 steps .*; use likelihood="
    ):
        _Simulation(shared_coupling(x), "x").maximise(np.array([1.0]))
