"""Particle kernels of the edge sampler: a twin in plain Python, and exhaustive particles."""

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels import binary_particles, edge_moves, hamiltonian, particle_joint
from pymc_mrf.kernels.edge_moves import EdgePrior, centred
from pymc_mrf.kernels.random_lanes import seed_lanes
from pymc_mrf.likelihood.particle_edges import ParticleEdges
from tests.reference import enumeration
from tests.reference import particle_edges as reference
from tests.reference.priors import normal, normals
from tests.statistics import ALPHA

EDGES = [(0, 1), (2, 1), (2, 3), (3, 4), (0, 4), (1, 4)]
GRAPH = PairwiseGraph(range(5), EDGES)
FAMILIES = pytest.mark.parametrize("family", [BOLTZMANN, ISING], ids=["Boltzmann", "Ising"])


PRIOR = EdgePrior(np.zeros(6), normal(0.8), normals(5, 2.0))


def engine_with_particles(rng, family=BOLTZMANN, m=40, moves_biases=True):
    """Engine whose particles are random states with random weights at random parameters."""
    x = rng.integers(2, size=(21, 5)).astype(np.int8)
    engine = ParticleEdges(x, GRAPH, family, moves_biases, n_particles=m)
    w, b = rng.normal(0, 1, 6), rng.normal(0, 1, 5)
    w[[1, 4]] = 0.0
    W = rng.gamma(2.0, size=m)
    engine.set_state(rng.integers(2, size=(5, m)), W / W.mean(), w, b, [1.0, 0], np.full(len(w), np.nan))
    seed_lanes(engine._particles.lanes, rng)
    return engine, w, b


def exhaustive(rng, copies, family=BOLTZMANN):
    """Engine with every configuration, `copies` times, weighted by its probability."""
    engine, w, b = engine_with_particles(rng, family, m=32 * copies)
    configs = np.repeat(enumeration.configurations(5, 2), copies, axis=0)
    p = enumeration.probabilities(EDGES, family.edge_tables(w), family.node_tables(b))
    engine.set_state(configs.T, np.repeat(p, copies) * 32, w, b, [1.0, 0], np.full(len(w), np.nan))
    seed_lanes(engine._particles.lanes, rng)
    return engine, w, b


def estimated_pair(engine, e):
    """Pair probabilities without edge e, and all that `follow` needs."""
    edge_moves.look_at(engine.view, e, engine._particles.w[e])
    return engine.view.pair.p


def change_edge(engine, e, new):
    """Change edge e, and return the twin's weights and biases."""
    field, particles, b, m = engine.view.field, engine._particles, engine._b, engine.n_particles
    old = particles.w[e]
    z = particles.T[:, :m].astype(int).tolist()
    arguments = (e, EDGES, particles.w, b, field.m, field.features[0])
    weights = reference.changed_weights(z, particles.W[:m], new, *arguments)
    estimated_pair(engine, e)
    edge_moves.follow(engine.view._replace(least_size=0.0), e, old, new)  # without resampling
    b[:] = reference.change(new, e, EDGES, [*particles.w[:e], old, *particles.w[e + 1 :]], b, field.m)[1]
    return weights


def assert_fields(engine):
    """Local fields are those of states and parameters, and the probabilities those of the fields."""
    particles, m = engine._particles, engine.n_particles
    z = particles.T[:, :m].astype(int).tolist()
    H = np.array(reference.local_fields(z, EDGES, particles.w, engine._b, engine.view.field.features[0]))
    np.testing.assert_allclose(particles.H[:, :m], H, atol=1e-9)
    fresh = ~particles.stale
    np.testing.assert_allclose(particles.P[fresh, :m], special.expit(H[fresh]), atol=1e-11)
    for i in range(5):
        start = particles.indptr[i]
        near = particles.near[start : start + particles.degree[i]]
        expected = [sum(edge) - i for e, edge in enumerate(EDGES) if i in edge and particles.w[e]]
        assert sorted(near) == sorted(expected)


@FAMILIES
@pytest.mark.parametrize("moves_biases", [True, False])
def test_pair_probabilities_and_weights_are_the_twins(family, moves_biases, rng):
    engine, _, _ = engine_with_particles(rng, family, moves_biases=moves_biases)
    field, particles = engine.view.field, engine._particles
    assert_fields(engine)
    for e, new in ((0, 0.7), (1, -1.2), (2, 0.0), (1, 0.4), (5, -0.3)):
        z, W = particles.T[:, :40].astype(int).tolist(), particles.W[:40].tolist()
        p = reference.pair_probabilities(
            z, W, e, EDGES, particles.w, engine._b, field.m, field.features[0]
        )
        np.testing.assert_allclose(estimated_pair(engine, e), p, atol=1e-12)
        weights = change_edge(engine, e, new)
        np.testing.assert_allclose(particles.W[:40], weights, rtol=1e-9)
        assert_fields(engine)
        binary_particles.sweep_particles(field, particles, 1)
        assert_fields(engine)


@FAMILIES
def test_exhaustive_particles_give_exact_pairs_and_follow_changes(family, rng):
    engine, _, _ = exhaustive(rng, 1, family)
    field, particles = engine.view.field, engine._particles
    for e in range(6):
        bare = reference.change(0.0, e, EDGES, particles.w, engine._b, field.m)
        tables = family.edge_tables(np.array(bare[0])), family.node_tables(np.array(bare[1]))
        _, pairs = enumeration.marginals(EDGES, *tables)
        np.testing.assert_allclose(estimated_pair(engine, e), pairs[e].ravel(), atol=1e-12)
    # the marginal of the nodes that are not drawn anew is exact as well
    change_edge(engine, 1, -0.8)
    tables = family.edge_tables(particles.w), family.node_tables(engine._b)
    p = enumeration.probabilities(EDGES, *tables).reshape((2,) * 5).sum(axis=(1, 2)).ravel()
    rest = np.array([4, 2, 1]) @ particles.T[[0, 3, 4], :32]
    np.testing.assert_allclose(np.bincount(rest.astype(int), particles.W[:32]) / 32, p, atol=1e-12)


def test_without_weights_particles_lag_behind(rng):
    """Negative control: the pair is redrawn, but the marginals of the other nodes stay where they were."""
    gaps = []
    for weighted in (True, False):
        engine, _, _ = exhaustive(np.random.default_rng(1), 64)
        particles = engine._particles
        if not weighted:  # equal weights from the start, as after resampling
            binary_particles.resample(particles)
        for e, new in ((0, 3.0), (1, 3.0)):
            change_edge(engine, e, new)
            if not weighted:
                particles.W[: engine.n_particles] = 1.0
        tables = BOLTZMANN.edge_tables(particles.w), BOLTZMANN.node_tables(engine._b)
        nodes, _ = enumeration.marginals(EDGES, *tables)
        W = particles.W[: engine.n_particles]
        means = particles.T[:, : engine.n_particles] @ W / W.sum()
        gaps.append(np.abs(means - np.asarray(nodes)[:, 1])[3:].max())
    assert gaps[0] < 0.02 < gaps[1]


def test_redrawn_pairs_have_their_conditional_distribution(rng):
    engine, _, _ = engine_with_particles(rng, m=4096)
    particles, field = engine._particles, engine.view.field
    z = np.array([1, 0, 0, 1, 1])
    states = np.repeat(z[:, None], 4096, axis=1)
    engine.set_state(
        states, np.ones(4096), particles.w, engine._b, [1.0, 0], np.full(len(EDGES), np.nan)
    )
    change_edge(engine, 2, 1.3)
    configs = reference.pair_states(z.tolist(), *EDGES[2])
    scores = [
        reference.log_potential(s, EDGES, particles.w, engine._b, field.features[0]) for s in configs
    ]
    u, v = EDGES[2]
    counts = np.bincount((2 * particles.T[u, :4096] + particles.T[v, :4096]).astype(int), minlength=4)
    assert stats.chisquare(counts, special.softmax(scores) * 4096).pvalue > ALPHA


def test_sweeps_of_particles_leave_the_field_invariant(rng):
    engine, w, b = exhaustive(rng, 256)
    p = enumeration.probabilities(EDGES, BOLTZMANN.edge_tables(w), BOLTZMANN.node_tables(b))
    particles = engine._particles
    binary_particles.resample(particles)
    m = engine.n_particles
    counts = np.bincount((particles.T[:, :m].T @ (2 ** np.arange(4, -1, -1))).astype(int), minlength=32)
    assert np.all(np.abs(counts - p * m) < 1.0)  # systematic resampling of sorted particles
    assert (particles.W[:m] == 1.0).all()
    binary_particles.sweep_particles(engine.view.field, particles, 20)
    counts = np.bincount((particles.T[:, :m].T @ (2 ** np.arange(4, -1, -1))).astype(int), minlength=32)
    assert stats.chisquare(counts, p * m).pvalue > ALPHA


@FAMILIES
@pytest.mark.parametrize("moves_biases", [True, False])
def test_frozen_likelihood_and_its_gradient(family, moves_biases, rng):
    engine, w, b = engine_with_particles(rng, family, moves_biases=moves_biases)
    view, particles, m = engine.view, engine._particles, engine.n_particles
    field, active, n_biases = view.field, np.flatnonzero(w), view.n_biases
    k = len(active) + n_biases
    states = field.features[0][particles.T[:, :m].astype(int)]  # (d, m)
    weights = particles.W[:m]

    def moved(q):
        """Parameters at a move q, the frozen log-partition there, log prior plus likelihood, weights."""
        beta = particles.beta + (q[len(active) :] if moves_biases else 0.0)
        new_w = w.copy()
        new_w[active] += q[: len(active)]
        new_b = beta.copy()
        for e, (u, v) in enumerate(EDGES):
            new_b[u] -= new_w[e] * field.m[v]
            new_b[v] -= new_w[e] * field.m[u]
        energy = (new_b - b) @ states
        for e, (u, v) in enumerate(EDGES):
            energy = energy + (new_w[e] - w[e]) * states[u] * states[v]
        A = special.logsumexp(energy, b=weights / m)
        rows = field.features[0][engine._x.astype(int)].T
        value = (new_b @ rows).sum() - field.n[0] * A + stats.norm(0, 0.8).logpdf(new_w[active]).sum()
        value += sum(x * (rows[u] @ rows[v]) for x, (u, v) in zip(new_w, EDGES, strict=True))
        if moves_biases:
            value += stats.norm(0, 2).logpdf(new_b).sum()
        return new_w, new_b, A, value, special.softmax(energy + np.log(weights))

    def estimate(q, slope):
        new_w, new_b, *_ = moved(q)
        view.w[:], view.b[:] = new_w, new_b
        centred(field, new_w, new_b, view.beta)
        return hamiltonian.log_posterior(view, active, PRIOR, slope)

    q, out = 0.2 * rng.normal(size=k), np.empty(k)
    view.joint.n[0], view.joint.s[:], view.joint.t[:] = field.n[0], field.s, field.t
    gap = estimate(q, out) - estimate(np.zeros(k), np.empty(k))
    np.testing.assert_allclose(gap, moved(q)[3] - moved(np.zeros(k))[3], atol=1e-9)
    estimate(q, out)
    np.testing.assert_allclose(view.joint.W[:m] / view.joint.W[:m].sum(), moved(q)[4], atol=1e-12)
    for a in range(k):
        h = 1e-5 * np.eye(k)[a]
        numerical = (moved(q + h)[3] - moved(q - h)[3]) / 2e-5
        np.testing.assert_allclose(out[a], numerical, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("moves_biases", [True, False])
def test_joint_moves_carry_particles_along(moves_biases, rng):
    engine, w, b = engine_with_particles(rng, m=512, moves_biases=moves_biases)
    engine.view.w[:], engine.view.b[:] = w, b
    centred(engine.view.field, w, b, engine.view.beta)
    beta, before = engine._particles.beta.copy(), w.copy()
    accept = engine.joint(w, b, PRIOR, 0.3, 1, rng)
    assert 0.0 < accept <= 1.0
    assert np.array_equal(w == 0.0, before == 0.0)
    assert not np.array_equal(w, before)
    assert moves_biases != np.array_equal(beta, engine._particles.beta)
    np.testing.assert_array_equal(engine._particles.w, w)
    np.testing.assert_array_equal(engine._b, b)
    assert_fields(engine)


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
    x = hamiltonian.allocate_coordinates(engine.variances(active, prior))
    draws, accepted = np.empty(n_steps), np.empty(n_steps)
    for t in range(n_steps):
        step = 0.8 * rng.uniform(0.8, 1.2)
        accepted[t] = particle_joint.hamiltonian_pieces(view, active, prior, x, step, 1, 8, rng)
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
