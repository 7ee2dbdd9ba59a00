"""Particle kernels of the edge sampler: a twin in plain Python, and exhaustive particles."""

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges import particle_moves
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.binary_particles import BinaryParticles
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.kernels.views.weighted_particles import (
    fill_shares,
    get_states,
    resample,
    sweep,
    tilt,
    update_probabilities,
    variance_of_share,
)
from pymc_mrf.likelihood.particles.particle_edges import ParticleEdges
from tests.insides import biases_of
from tests.kernels.plain import log_posterior
from tests.reference import enumeration
from tests.reference import particle_edges as reference
from tests.reference.priors import normal, normals
from tests.statistics import ALPHA, Z

EDGES = [(0, 1), (2, 1), (2, 3), (3, 4), (0, 4), (1, 4)]
GRAPH = PairwiseGraph(range(5), EDGES)
FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "Ising": ISING,
    "ordinal": ordinal([3, 2, 4, 3, 2]),
    "two scores": ordinal(2, [0.5, 2.0]),
    "own scores": ordinal([3, 2, 4, 3, 2], [[-1, 0, 2], [-1, 1], [0, 1, 2, 3], [2, 3, 5], [0, 1]]),
    "Potts": potts(3),
}
EACH = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
BINARY_AND_MORE = pytest.mark.parametrize(
    "family", [BOLTZMANN, ordinal([3, 2, 2, 3, 2])], ids=["binary", "more"]
)
PRIOR = EdgePrior(np.zeros(6), normal(0.8), normals(5, 2.0))


def random_states(rng, family, n):
    """States (n, 5) int8, of each node its own."""
    return rng.integers(family.cards or family.n_states, size=(n, 5)).astype(np.int8)


def engine_with_particles(rng, family=BOLTZMANN, m=40, moves_biases=True):
    """Engine whose particles are random states with random weights at random parameters."""
    x = random_states(rng, family, 21)
    engine = ParticleEdges(x, GRAPH, family, moves_biases, n_particles=m)
    w, b = rng.normal(0, 1, 6), rng.normal(0, 1, 5 * len(family.node_basis))
    w[[1, 4]] = 0.0
    W = rng.gamma(2.0, size=m)
    set_particles(engine, random_states(rng, family, m), W / W.mean(), w, b)
    seed_lanes(engine.view.particles.lanes, rng)
    return engine, w, b


def set_particles(engine, states, W, w, b):
    """States (m, 5) and weights of the particles, and their parameters."""
    states = np.ascontiguousarray(states.T, dtype=np.int8)
    engine.set_state(states, W, w, b, np.array([1.0, 0, 1]), np.full(len(w), np.nan))


def exhaustive(rng, copies, family=BOLTZMANN):
    """Engine with every configuration, `copies` times, weighted by its probability."""
    configs = np.array(enumeration.configurations(5, family.n_states))
    engine, w, b = engine_with_particles(rng, family, m=len(configs) * copies)
    p = enumeration.probabilities(EDGES, family.edge_tables(w, GRAPH.edges), tables_of_nodes(family, b))
    set_particles(engine, np.repeat(configs, copies, axis=0), np.repeat(p, copies) * len(p), w, b)
    seed_lanes(engine.view.particles.lanes, rng)
    return engine, w, b


def tables_of_nodes(family, b):
    """Log tables (5, K) of the nodes, from biases (5 q,)."""
    return family.node_tables(np.reshape(b, family.node_shape(5)))


def states_of(engine):
    """State indices (d, m)."""
    states = np.empty((5, engine.n_particles), dtype=np.int8)
    get_states(engine.view.particles, states)
    return states


def configurations_of(engine, nodes=range(5)):
    """Number of the configuration of these nodes in every particle, the last changing fastest."""
    K = engine.view.field.features.shape[2]
    return np.ravel_multi_index(states_of(engine)[list(nodes)], (K,) * len(nodes))


def estimated_pair(engine, e):
    """Pair probabilities without edge e, and all that `follow` needs."""
    questions.look_at(engine.view, e, engine.view.particles.w[e])
    return engine.view.pair.p


def change_edge(engine, e, new, family=BOLTZMANN):
    """Change edge e, and return the twin's weights."""
    field, particles, b, m = (
        engine.view.field,
        engine.view.particles,
        biases_of(engine),
        engine.n_particles,
    )
    old = particles.w[e]
    z = states_of(engine).tolist()
    weights = reference.changed_weights(z, particles.W[:m], new, e, EDGES, particles.w, b, field, family)
    estimated_pair(engine, e)
    questions.follow(engine.view._replace(least_size=0.0), e, old, new)  # without resampling
    b[:] = reference.change(new, e, EDGES, [*particles.w[:e], old, *particles.w[e + 1 :]], b, field)[1]
    return weights


def probabilities(particles, i, m):
    """Probabilities (K, m) of the states of node i."""
    P = particles.P[i]
    return np.array([1.0 - P[:m], P[:m]]) if P.ndim == 1 else P[:, :m]


def assert_fields(engine, family=BOLTZMANN):
    """Probabilities, where they are not stale and after that, are those of states and parameters."""
    particles, m = engine.view.particles, engine.n_particles
    P = reference.conditionals(states_of(engine).tolist(), EDGES, particles.w, biases_of(engine), family)
    for i in range(5):
        if not particles.stale[i]:
            np.testing.assert_allclose(probabilities(particles, i, m), P[i], atol=1e-11)
        update_probabilities(particles, engine.view.field, i)
        np.testing.assert_allclose(probabilities(particles, i, m), P[i], atol=1e-11)
        start = particles.neighbours.indptr[i]
        near = particles.neighbours.near[start : start + particles.neighbours.degree[i]]
        expected = [sum(edge) - i for e, edge in enumerate(EDGES) if i in edge and particles.w[e]]
        assert sorted(near) == sorted(expected)


def test_particles_of_two_states_are_binary_where_values_are_the_basis(rng):
    kinds = [
        type(engine_with_particles(rng, f)[0].view.particles) is BinaryParticles
        for f in FAMILIES.values()
    ]
    assert kinds == [True, True, *[False] * 4]


@EACH
@pytest.mark.parametrize("moves_biases", [True, False])
@pytest.mark.ordinary("True-Boltzmann", "False-Ising", "True-own scores")
def test_pair_probabilities_and_weights_are_the_twins(family, moves_biases, rng):
    engine, _, _ = engine_with_particles(rng, family, moves_biases=moves_biases)
    field, particles = engine.view.field, engine.view.particles
    assert_fields(engine, family)
    for e, new in ((0, 0.7), (1, -1.2), (2, 0.0), (1, 0.4), (5, -0.3)):
        z, W = states_of(engine).tolist(), particles.W[:40].tolist()
        p = reference.pair_probabilities(z, W, e, EDGES, particles.w, biases_of(engine), field, family)
        np.testing.assert_allclose(estimated_pair(engine, e), p, atol=1e-12)
        weights = change_edge(engine, e, new, family)
        np.testing.assert_allclose(particles.W[:40], weights, rtol=1e-9)
        assert_fields(engine, family)
        sweep(particles, field, 1)
        assert_fields(engine, family)
        possible = np.full(5, family.n_states) if not family.cards else np.array(family.cards)
        assert (states_of(engine).max(axis=1) < possible).all()


@EACH
def test_noise_of_the_mean_in_a_pair(family, rng):
    """Spread over the particles of the conditional mean of the statistic, without the edge."""
    engine, w, _ = engine_with_particles(rng, family)
    view, particles = engine.view, engine.view.particles
    view.w[:], view.means.expected[:] = w, 0.0
    z, W = states_of(engine).tolist(), particles.W[:40].tolist()
    for e in (0, 1):
        means, shares = [], []
        for column, weight in zip(zip(*z, strict=True), W, strict=True):
            one = [[a] for a in column]
            arguments = (e, EDGES, w, biases_of(engine), view.field, family)
            means.append(reference.pair_probabilities(one, [1.0], *arguments) @ view.field.cells[e])
            # relative weight without the edge
            shares.append(weight * reference_ratio(column, *arguments))
        shares = np.array(shares) / sum(shares)
        mean = shares @ means
        estimated_pair(engine, e)
        view.tally[0].noise = 0.0
        questions.without_edge(view, e)
        sums = view.pair.sums[0]
        np.testing.assert_allclose(sums["mean"], mean, atol=1e-12)
        expected = view.data.n[0] * (shares**2 @ (np.array(means) - mean) ** 2) / sums["variance"]
        np.testing.assert_allclose(view.tally[0].noise, expected, rtol=1e-9)


def reference_ratio(column, e, edges, w, b, field, family):
    """R(0) / R(x) of one particle."""
    two = [[a, 0] for a in column]  # the second one fixes the scale, which is that of mean 1
    first, second = reference.changed_weights(two, [1.0, 1.0], 0.0, e, edges, w, b, field, family)
    return first / second


@EACH
def test_exhaustive_particles_give_exact_pairs_and_follow_changes(family, rng):
    engine, _, _ = exhaustive(rng, 1, family)
    field, particles, m = engine.view.field, engine.view.particles, engine.n_particles
    K = family.n_states
    for e in range(6):
        w, b = reference.change(0.0, e, EDGES, particles.w, biases_of(engine), field)
        tables = family.edge_tables(np.array(w), GRAPH.edges), tables_of_nodes(family, b)
        _, pairs = enumeration.marginals(EDGES, *tables)
        np.testing.assert_allclose(estimated_pair(engine, e), pairs[e].ravel(), atol=1e-12)
    # the marginal of the nodes that are not drawn anew is exact as well
    questions.look_at(engine.view, 1, 0.0)
    questions.follow(engine.view._replace(least_size=0.0), 1, 0.0, -0.8)
    w, b = reference.change(
        -0.8, 1, EDGES, [*particles.w[:1], 0.0, *particles.w[2:]], biases_of(engine), field
    )
    p = enumeration.probabilities(
        EDGES, family.edge_tables(np.array(w), GRAPH.edges), tables_of_nodes(family, b)
    )
    p = p.reshape((K,) * 5).sum(axis=(1, 2)).ravel()
    found = np.bincount(configurations_of(engine, [0, 3, 4]), particles.W[:m], len(p)) / m
    np.testing.assert_allclose(found, p, atol=1e-12)


@pytest.mark.slow
def test_without_weights_particles_lag_behind(rng):
    """Negative control: the pair is redrawn, but the marginals of the other nodes stay where they were."""
    gaps = []
    for weighted in (True, False):
        engine, _, _ = exhaustive(np.random.default_rng(1), 64)
        particles = engine.view.particles
        if not weighted:  # equal weights from the start, as after resampling
            resample(particles)
        for e, new in ((0, 3.0), (1, 3.0)):
            change_edge(engine, e, new)
            if not weighted:
                particles.W[: engine.n_particles] = 1.0
        tables = BOLTZMANN.edge_tables(particles.w), BOLTZMANN.node_tables(biases_of(engine))
        nodes, _ = enumeration.marginals(EDGES, *tables)
        W = particles.W[: engine.n_particles]
        means = states_of(engine) @ W / W.sum()
        gaps.append(np.abs(means - np.asarray(nodes)[:, 1])[3:].max())
    assert gaps[0] < 0.02 < gaps[1]


@EACH
@pytest.mark.parametrize("before", [0.0, -0.7], ids=["added", "changed"])
def test_redrawn_pairs_have_their_conditional_distribution(family, before, rng):
    m = 4096
    engine, w, b = engine_with_particles(rng, family, m=m)
    w[2] = before
    set_particles(engine, np.tile([1, 0, 0, 1, 1], (m, 1)), np.ones(m), w, b)
    estimated_pair(engine, 2)
    questions.follow(engine.view._replace(least_size=0.0), 2, before, 0.9)
    new = reference.change(0.9, 2, EDGES, w, b, engine.view.field)
    configs = reference.pair_states([1, 0, 0, 1, 1], *EDGES[2], family.n_states)
    p = special.softmax([reference.log_potential(s, EDGES, *new, family) for s in configs])
    counts = np.bincount(configurations_of(engine, EDGES[2]), minlength=len(p))
    assert (counts[p == 0.0] == 0).all()
    assert stats.chisquare(counts[p > 0.0], p[p > 0.0] * m).pvalue > ALPHA
    # negative control: the pair without its edge
    w, b = reference.change(0.0, 2, EDGES, w, b, engine.view.field)
    p = special.softmax([reference.log_potential(s, EDGES, w, b, family) for s in configs])
    assert stats.chisquare(counts[p > 0.0], p[p > 0.0] * m).pvalue < ALPHA


@EACH
def test_tilted_nodes_are_the_twins(family, rng):
    """Shares of a node's states, their noise, and what follows a change of its biases."""
    engine, w, b = engine_with_particles(rng, family)
    particles, field, m, i = engine.view.particles, engine.view.field, engine.n_particles, 1
    z, K, q = states_of(engine), family.n_states, len(family.node_basis)
    P = np.array(reference.conditionals(z.tolist(), EDGES, w, b, family)[i])
    W, g, p = particles.W[:m].copy(), np.ascontiguousarray(family.node_basis[0]), np.zeros(K)
    update_probabilities(particles, field, i)
    fill_shares(particles, i, p)
    np.testing.assert_allclose(p, P @ W / m, atol=1e-11)
    spread = np.sum((W * (g @ P - g @ p)) ** 2) / m**2
    np.testing.assert_allclose(variance_of_share(particles, i, g, g @ p), spread, rtol=1e-9)
    tilt(particles, i, -3.0, g)
    twins = W * (np.exp(-3.0 * g) @ P)  # known up to a factor
    np.testing.assert_allclose(particles.W[:m] / particles.W[:m].sum(), twins / twins.sum(), atol=1e-12)
    biases_of(engine)[i * q] -= 3.0
    assert_fields(engine, family)


@BINARY_AND_MORE
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_shares_of_states_that_are_all_but_impossible(family, sign, rng):
    """In their ratio to others, so that a bias comes back from far away as it went there."""
    engine, *_ = engine_with_particles(rng, family)
    particles, field, i = engine.view.particles, engine.view.field, 1
    g, shares = np.ascontiguousarray(family.node_basis[0]), np.zeros((3, family.n_states))
    update_probabilities(particles, field, i)
    for p, move in zip(shares, (60.0 * sign, -60.0 * sign, 0.0), strict=True):
        fill_shares(particles, i, p)
        tilt(particles, i, move, g)
    assert np.ptp(np.log(shares[1][:2])) > 50.0
    expected = shares[0] * np.exp(60.0 * sign * g)
    np.testing.assert_allclose(shares[1], expected / expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(shares[2], shares[0], rtol=1e-9, atol=1e-200)


@pytest.mark.parametrize("count", [0.0, 7.0])
@pytest.mark.ordinary("0.0")
def test_slices_along_a_line_of_biases(count, rng):
    """Of a binary node, in its second state in `count` of 40 rows, with probability 0.3 at bias 0."""
    line = particle_moves.Line(0, np.ones(1), np.array([0.0, 1.0]), np.array([0.7, 0.3]), count, 40.0)
    x = np.linspace(-30.0, 15.0, 9001)

    def moments(n):
        density = np.exp(stats.norm(0, 2).logpdf(x) + x * count - n * np.log(0.7 + 0.3 * np.exp(x)))
        mean = x @ density / density.sum()
        return mean, np.sqrt((x - mean) ** 2 @ density / density.sum())

    b, draws = np.zeros(1), np.empty(2000)
    for k in range(len(draws)):
        move = particle_moves.draw_along(line, b, normals(1, 2.0), rng)
        line.p[:] *= np.exp(move * line.g)
        line.p[:] /= line.p.sum()
        b[0] += move
        draws[k] = b[0]
    error = float(az.mcse(draws[None]))
    assert abs(draws.mean() - moments(40.0)[0]) < Z * error
    assert abs(np.log(draws.std() / moments(40.0)[1])) < 0.15
    assert abs(draws.mean() - moments(60.0)[0]) > Z * error  # negative control


@pytest.mark.parametrize(
    "family", [BOLTZMANN, ISING, ordinal(3), potts(3)], ids=["Boltzmann", "Ising", "ordinal", "Potts"]
)
def test_moves_of_a_node_leave_its_posterior_invariant(family, rng):
    """Where particles are all configurations; along every line the biases move."""
    q, n_repeats = len(family.node_basis), 300
    engine, w, b = exhaustive(rng, 16, family)
    view, m, prior = engine.view, engine.n_particles, normals(5 * q, 2.0)
    states, W = states_of(engine).T, engine.view.particles.W[: engine.n_particles].copy()
    state = states[:, 0]
    p = np.array([W[state == a].sum() for a in range(family.n_states)]) / W.sum()

    def weights(draws, t):
        """Of draws of the node's biases from their prior."""
        h = (draws - b[:q]) @ family.node_basis
        log_w = draws @ t - view.data.n[0] * np.log(np.exp(h) @ p)
        return special.softmax(log_w)

    draws = rng.normal(0.0, 2.0, size=(100_000, q))
    first = draws[rng.choice(len(draws), n_repeats, p=weights(draws, view.data.t[:q]))]
    last = np.empty_like(first)
    for k in range(n_repeats):
        here = b.copy()
        here[:q] = first[k]
        factors = np.exp((first[k] - b[:q]) @ family.node_basis)
        set_particles(engine, states, W * factors[state] * m / (W @ factors[state]), w, here)
        engine.go_to(w, here)
        engine.refresh(rng)
        particle_moves.move_biases(
            view, np.array([0]), particle_moves.lines(view.field.basis), prior, rng
        )
        np.testing.assert_allclose(view.beta - engine.view.particles.beta, 0.0, atol=1e-12)
        last[k] = view.b[:q]
    assert np.linalg.eigvalsh(np.atleast_2d(np.cov((last - first).T)))[0] > 0.01

    def gap(t):
        """Of first and second moments, in standard errors."""
        share = weights(draws, t)
        of = [
            np.concatenate([x, x**2, x.sum(axis=1, keepdims=True) ** 2], axis=1) for x in (draws, last)
        ]
        return np.abs(
            (of[1].mean(axis=0) - share @ of[0]) / (of[1].std(axis=0) / np.sqrt(n_repeats))
        ).max()

    assert gap(view.data.t[:q]) < Z
    assert gap(view.data.t[:q] + 3.0) > Z  # negative control


@BINARY_AND_MORE
def test_sweeps_of_particles_leave_the_field_invariant(family, rng):
    engine, w, b = exhaustive(rng, 256, family)
    p = enumeration.probabilities(EDGES, family.edge_tables(w, GRAPH.edges), tables_of_nodes(family, b))
    particles, m = engine.view.particles, engine.n_particles
    resample(particles)
    counts = np.bincount(configurations_of(engine), minlength=len(p))
    assert np.all(np.abs(counts - p * m) < 1.0)  # systematic resampling of sorted particles
    assert (particles.W[:m] == 1.0).all()
    assert_fields_of_some(engine, family)
    sweep(particles, engine.view.field, 20)
    counts = np.bincount(configurations_of(engine), minlength=len(p))
    often = p * m >= 5.0
    counts, expected = (np.append(v[often], v[~often].sum()) for v in (counts, p * m))
    kept = expected > 0.0
    assert stats.chisquare(counts[kept], expected[kept]).pvalue > ALPHA


def assert_fields_of_some(engine, family):
    """As `assert_fields`, of forty particles: the twin is slow."""
    particles, z = engine.view.particles, states_of(engine)
    some = np.linspace(0, engine.n_particles - 1, 40).astype(int)
    P = reference.conditionals(z[:, some].tolist(), EDGES, particles.w, biases_of(engine), family)
    for i in range(5):
        update_probabilities(particles, engine.view.field, i)
        found = probabilities(particles, i, engine.n_particles)[:, some]
        np.testing.assert_allclose(found, P[i], atol=1e-11)


@EACH
@pytest.mark.parametrize("moves_biases", [True, False])
def test_frozen_likelihood_and_its_gradient(family, moves_biases, rng):
    engine, w, b = engine_with_particles(rng, family, moves_biases=moves_biases)
    view, particles, m = engine.view, engine.view.particles, engine.n_particles
    field, active, n_biases = view.field, np.flatnonzero(w), view.n_biases
    k, q = len(active) + n_biases, len(family.node_basis)
    z, x = states_of(engine), engine._x.astype(int).T
    lift, centre = field.lift.reshape(5, q, -1), field.centre
    weights = particles.W[:m]

    def energy(new_w, new_b, rows):
        """Log potentials of the columns of `rows` (5, .), up to what is impossible."""
        by_node = new_b.reshape(5, q) @ family.node_basis
        f = np.broadcast_to(family.edge_statistics(GRAPH.edges), (6, family.n_states, family.n_states))
        value = sum(by_node[i, rows[i]] for i in range(5))
        return value + sum(
            y * f[e][rows[u], rows[v]] for e, (y, (u, v)) in enumerate(zip(new_w, EDGES, strict=True))
        )

    def moved(move):
        """Parameters at a move, the frozen log-partition there, log prior plus likelihood, weights."""
        beta = particles.beta + (move[len(active) :] if moves_biases else 0.0)
        new_w = w.copy()
        new_w[active] += move[: len(active)]
        new_b = beta.copy().reshape(5, q)
        for e, (u, v) in enumerate(EDGES):
            new_b[u] -= new_w[e] * lift[u] @ centre[e, 1]
            new_b[v] -= new_w[e] * lift[v] @ centre[e, 0]
        new_b = new_b.ravel()
        gap = energy(new_w, new_b, z) - energy(w, b, z)
        A = special.logsumexp(gap, b=weights / m)
        value = energy(new_w, new_b, x).sum() - view.data.n[0] * A
        value += stats.norm(0, 0.8).logpdf(new_w[active]).sum()
        if moves_biases:
            value += stats.norm(0, 2).logpdf(new_b).sum()
        return new_w, new_b, A, value, special.softmax(gap + np.log(weights))

    def estimate(move, slope):
        new_w, new_b, *_ = moved(move)
        view.w[:], view.b[:] = new_w, new_b
        centred(field, new_w, new_b, view.beta)
        prior = PRIOR._replace(bias=normals(len(b), 2.0))
        return log_posterior(view, active, prior, slope)

    move, out = 0.2 * rng.normal(size=k), np.empty(k)
    view.joint.n[0], view.joint.s[:], view.joint.t[:] = view.data.n[0], view.data.s, view.data.t
    gap = estimate(move, out) - estimate(np.zeros(k), np.empty(k))
    np.testing.assert_allclose(gap, moved(move)[3] - moved(np.zeros(k))[3], atol=1e-9)
    estimate(move, out)
    np.testing.assert_allclose(view.joint.W[:m] / view.joint.W[:m].sum(), moved(move)[4], atol=1e-12)
    for a in range(k):
        h = 1e-5 * np.eye(k)[a]
        numerical = (moved(move + h)[3] - moved(move - h)[3]) / 2e-5
        np.testing.assert_allclose(out[a], numerical, rtol=1e-5, atol=1e-6)


@BINARY_AND_MORE
@pytest.mark.parametrize("moves_biases", [True, False])
@pytest.mark.ordinary("True-binary", "False-binary")
def test_joint_moves_carry_particles_along(family, moves_biases, rng):
    engine, w, b = engine_with_particles(rng, family, m=512, moves_biases=moves_biases)
    engine.view.w[:], engine.view.b[:] = w, b
    centred(engine.view.field, w, b, engine.view.beta)
    beta, before = engine.view.particles.beta.copy(), w.copy()
    engine._reach = 0.1  # far from the posterior weights become uneven soon
    accept = engine.joint(w, b, PRIOR._replace(bias=normals(len(b), 2.0)), 0.1, 1, rng)
    assert 0.0 < accept <= 1.0
    assert np.array_equal(w == 0.0, before == 0.0)
    assert not np.array_equal(w, before)
    assert moves_biases != np.array_equal(beta, engine.view.particles.beta)
    np.testing.assert_array_equal(engine.view.particles.w, w)
    np.testing.assert_array_equal(biases_of(engine), b)
    assert_fields_of_some(engine, family)


@pytest.mark.slow
def test_rejected_pieces_of_joint_moves_keep_the_posterior(rng):
    """Two nodes and their biases, many particles, pieces of one long leapfrog step: many rejections."""
    n, m, n_steps = 20, 2000, 3000
    x = np.array([[0, 0]] * 7 + [[0, 1]] * 3 + [[1, 0]] * 4 + [[1, 1]] * 6, dtype=np.int8)
    engine = ParticleEdges(x, PairwiseGraph(range(2), [(0, 1)]), BOLTZMANN, True, n_particles=m)
    prior = EdgePrior(np.zeros(1), normal(1.0), normals(2, 2.0))
    w, b = np.array([0.5]), np.zeros(2)
    engine.start(w, b, 30, rng)
    view, active = engine.view._replace(least_size=0.3 * m), np.array([0])
    view.w[:], view.b[:] = w, b
    centred(view.field, w, b, view.beta)
    x = engine.coordinates(active, prior)
    draws, accepted = np.empty(n_steps), np.empty(n_steps)
    for t in range(n_steps):
        step = 0.8 * rng.uniform(0.8, 1.2)
        accepted[t] = particle_moves.hamiltonian_pieces(view, active, prior, x, step, 1, 8, rng)
        draws[t] = view.w[0]
    assert accepted.mean() < 0.8
    W, B, C = np.meshgrid(np.linspace(-4, 5, 61), *[np.linspace(-4, 4, 61)] * 2, indexing="ij")
    A = np.log(1 + np.exp(B) + np.exp(C) + np.exp(B + C + W))
    log_p = 6 * W + 10 * B + 9 * C - n * A - 0.5 * W**2 - (B**2 + C**2) / 8
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = (p * W).sum()
    variance = (p * (W - mean) ** 2).sum()
    # 100 n particles: their noise adds a hundredth to the variance at most
    for found, exact, slack in ((draws, mean, 0.0), ((draws - mean) ** 2, variance, 0.01 * variance)):
        error = float(az.mcse(found[None, :]))
        assert abs(found.mean() - exact) < 4.0 * error + slack, (found.mean(), exact, error)
