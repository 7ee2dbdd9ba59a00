"""View of the Monte Carlo likelihood: its formula, and exact likelihoods where all states are the sample."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, agreement, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges import hamiltonian
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.views import monte_carlo_edges as kernels
from pymc_mrf.kernels.views import questions
from pymc_mrf.kernels.views.log_partition_by_sample import log_partition_by_sample
from pymc_mrf.likelihood.edges.edge_field import HALF_ROW, edge_field
from pymc_mrf.likelihood.edges.shared_edges import Share, SharedEdges
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import MonteCarloEdges
from pymc_mrf.likelihood.monte_carlo.reference import Reference
from tests.reference.priors import normal, normals
from tests.reference.spike_and_slab import field_log_likelihood

EDGES = [(0, 1), (2, 1), (2, 3), (0, 3), (0, 2)]
GRAPH = PairwiseGraph(range(4), EDGES)
R, D, N, ABSENT = 5, 4, 21, 2
FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "ordinal": ordinal([3, 2, 4, 3], [-1.0, 0.0, 0.5, 1.0]),
    "own scores": ordinal([3, 2, 4, 3], [[-1, 0, 2.5], [-1, 1], [-1, 0, 0.5, 1], [0, 1, 2]]),
    "Potts": potts(3),
    "agreement": agreement(3),
}
SINGLE = 2e-4
"""Of single precision, in n times a log mean: a few roundings of some hundred terms."""


def data(family, rng):
    x = rng.integers(family.cards or family.n_states, size=(N, D)).astype(np.int8)
    x[:12, 1] = np.minimum(x[:12, 0], x[:12, 1])
    return x


def statistics(field, states):
    """Cells of the edges and basis of the nodes at states (m, d), (m, p)."""
    K = field.floor.shape[1]
    pairs = [
        cells[states[:, u] * K + states[:, v]]
        for cells, (u, v) in zip(field.cells, field.edges, strict=True)
    ]
    return np.stack([*pairs, *(g[states[:, i]] for i in range(D) for g in field.basis)], axis=1)


def listed(field, family, **changed):
    """Reference where all parameters are 0, of which all possible states make an exact sample."""
    states = np.array(list(itertools.product(range(family.n_states), repeat=D)))
    states = states[family.possible(D)[np.arange(D), states].all(axis=1)]
    f = statistics(field, states)
    p = f.shape[1]
    kept = {
        "place": np.zeros(p),
        "states": np.ascontiguousarray(states.T.astype(np.int8)),
        "mean": f.mean(axis=0),
        "covariance": np.cov(f.T, bias=True).astype(np.float32),
        "gap": np.zeros(p),
        "excess": np.zeros((p, p), np.float32),
        "apart": np.zeros(p),
        "centre": field.centre,
        "reach": kernels.REACH / f[:, :R].std(axis=0),
        "lag": 1.0,
        "n_squared": len(states),
    }
    return Reference(**(kept | changed))


def case(name, rng, changed=lambda field: {}):
    """Engine, data, and parameters (p,) of it that are neither 0 nor far."""
    family = FAMILIES[name]
    x, moves_biases = data(family, rng), len(family.node_basis) > 0
    field, _ = edge_field(x, GRAPH, family, moves_biases, np.arange(R))
    engine = MonteCarloEdges(x, GRAPH, family, moves_biases, [listed(field, family, **changed(field))])
    w, b = rng.normal(0, 0.3, R), rng.normal(0, 0.3, D * len(family.node_basis))
    w[ABSENT] = 0.0
    engine.go_to(w, b)
    engine.refresh(rng)
    return engine, family, x, w, b


def moved(engine, w, b, e, value):
    """Parameters (1, p) with edge e at `value`, centred biases being as they are."""
    view = engine.view
    view.w[:], view.b[:] = w, b
    questions.set_edge(view, e, value)
    found = np.r_[view.w, view.b][None].copy()
    view.w[:], view.b[:] = w, b
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_all_states_make_the_exact_likelihood(name, rng):
    """Of every edge, present or absent, before and after a change of another."""
    engine, family, x, w, b = case(name, rng)
    view = engine.view
    exact = field_log_likelihood(x, EDGES, family, "exact")
    for e, other in itertools.permutations(range(R), 2):
        engine.go_to(w, b)
        engine.refresh(rng)
        for changed in (False, True):
            if changed:
                questions.look_at(view, other, view.w[other])
                questions.gain(view, other, 0.2)
                old = view.w[other]
                questions.set_edge(view, other, 0.2)
                questions.follow(view, other, old, 0.2)
            here = view.w.copy(), view.b.copy()
            questions.look_at(view, e, view.w[e])
            zero = exact(moved(engine, *here, e, 0.0))[0]
            for value in (-0.4, 0.1, 0.5):
                expected = exact(moved(engine, *here, e, value))[0] - zero
                assert abs(questions.gain(view, e, value) - expected) < SINGLE
            h = 1e-4
            slopes = [exact(moved(engine, *here, e, v))[0] for v in (0.1 - h, 0.1, 0.1 + h)]
            _, slope, information = questions.likelihood_terms(view, e, 0.1)
            np.testing.assert_allclose(slope, (slopes[2] - slopes[0]) / (2 * h), atol=2e-3)
            np.testing.assert_allclose(
                information, (2 * slopes[1] - slopes[0] - slopes[2]) / h**2, rtol=2e-3
            )


@pytest.mark.parametrize("name", FAMILIES)
def test_bounds_of_absent_edges_are_those_of_the_table(name, rng):
    engine, *_ = case(name, rng)
    explained, information = questions.look_at(engine.view, ABSENT, 0.0)
    g, h = questions.without_edge(engine.view, ABSENT)
    np.testing.assert_allclose([explained, information], [0.5 * g * g / h, h], rtol=1e-4)


def perturbed(field):
    """Cumulants of a longer simulation that are not those of the sample."""
    rng, p = np.random.default_rng(7), len(field.edges) + len(field.lift)
    A = rng.normal(0, 0.1, (p, p))
    return {
        "gap": rng.normal(0, 0.05, p),
        "excess": ((A + A.T) / 10).astype(np.float32),
        "place": rng.normal(0, 0.1, p),
    }


def log_A(engine, reference, family, parameters):
    """The formula, in double precision, at centred parameters (p,)."""
    states = reference.states.T.astype(int)
    delta = parameters - reference.place
    y = statistics(engine.view.field, states) @ delta
    quadratic = 0.5 * delta @ reference.excess.astype(float) @ delta if reference.excess.size else 0.0
    return np.log(np.mean(np.exp(y))) + reference.gap @ delta + quadratic


@pytest.mark.parametrize("only_mean", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_longer_simulation_corrects_both_cumulants(name, only_mean, rng):
    """Value, slopes by differences, and gains of single edges."""

    def changed(field):
        found = perturbed(field)
        return found | ({"excess": np.zeros((0, 0), np.float32)} if only_mean else {})

    engine, family, _, w, _ = case(name, rng, changed)
    view, field = engine.view, engine.view.field
    reference = listed(field, family, **changed(field))
    beta = view.beta.copy()

    def log_likelihood(w, beta):
        return (
            w @ view.data.s + beta @ view.data.t - N * log_A(engine, reference, family, np.r_[w, beta])
        )

    active = np.flatnonzero(w)
    slope = np.zeros(len(active) + view.n_biases)
    value = questions.add_slopes(view, active, slope)
    assert abs(value - log_likelihood(w, beta)) < SINGLE
    h, units = 1e-5, np.eye(R + len(beta))
    for a, k in enumerate([*active, *range(R, R + view.n_biases)]):
        step = h * units[k]
        ends = [log_likelihood(w + s * step[:R], beta + s * step[R:]) for s in (1, -1)]
        np.testing.assert_allclose(slope[a], (ends[0] - ends[1]) / (2 * h), atol=2e-3)
    engine.refresh(rng)
    for e in range(R):
        questions.look_at(view, e, w[e])
        for value in (-0.2, 0.3):
            other = np.where(np.arange(R) == e, value, w)
            without = np.where(np.arange(R) == e, 0.0, w)
            expected = log_likelihood(other, beta) - log_likelihood(without, beta)
            assert abs(questions.gain(view, e, value) - expected) < SINGLE


def test_a_wall_keeps_edges_where_the_sample_tells_of_them(rng):
    """Where the excess is negative the formula grows for ever; with the wall it falls."""

    def changed(field):
        p = len(field.edges) + len(field.lift)
        return {"excess": (-0.1 * np.eye(p)).astype(np.float32)}

    engine, *_ = case("Boltzmann", rng, changed)
    questions.look_at(engine.view, 0, engine.view.w[0])
    reach = engine.view.walls.reach[0]
    inside, outside = (questions.gain(engine.view, 0, k * reach) for k in (1.0, 3.0))
    assert outside < inside - 10.0
    assert questions.likelihood_terms(engine.view, 0, 3.0 * reach)[1] < 0.0
    engine.view.walls.reach[0] = np.inf
    without = [questions.gain(engine.view, 0, k * reach) for k in (1.0, 3.0, 9.0)]
    assert without[1] < without[2]


@pytest.mark.parametrize("name", FAMILIES)
def test_log_partition_function_of_a_model(name, rng):
    """With gradient, at natural parameters that are not centred."""
    _, family, x, w, b = case(name, rng)
    field, _ = edge_field(x, GRAPH, family, False, np.arange(R))
    reference, natural = listed(field, family), np.r_[w, b]
    gradient, F = np.empty(len(natural)), field.features

    def evaluate(natural):
        return log_partition_by_sample(
            natural,
            GRAPH.edges,
            field.products,
            F,
            family.node_basis,
            np.stack([F[i][:, reference.states[i]] for i in range(D)], axis=1).astype(np.float32),
            reference.states,
            reference.place,
            reference.gap,
            reference.excess,
            reference.apart,
            np.full(len(natural), np.inf),
            gradient,
        )

    f = statistics(field, reference.states.T.astype(int))
    expected = np.log(np.mean(np.exp(f @ natural)))
    np.testing.assert_allclose(evaluate(natural), expected, atol=1e-5)
    weights = np.exp(f @ natural)
    np.testing.assert_allclose(gradient, weights @ f / weights.sum(), atol=1e-5)


def test_a_bias_that_all_states_share_changes_nothing(rng):
    """However far from the reference; and slopes are right where a state's own bias is beyond its limit."""
    _, family, x, w, _ = case("Potts", rng)
    field, _ = edge_field(x, GRAPH, family, False, np.arange(R))
    p, K = R + len(field.lift), family.n_states
    within = np.eye(p)
    within[R:, R:] -= np.kron(np.eye(D), np.full((K, K), 1.0 / K))
    cumulants = perturbed(field)
    excess = (within @ cumulants["excess"] @ within).astype(np.float32)
    reference = listed(field, family, gap=within @ cumulants["gap"], excess=excess)
    sampled = [field.features[i][:, reference.states[i]] for i in range(D)]
    sampled, limit = (
        np.stack(sampled, axis=1).astype(np.float32),
        np.r_[np.full(R, np.inf), np.full(p - R, 1.5)],
    )

    def evaluate(natural):
        gradient = np.empty(p)
        value = log_partition_by_sample(
            natural, GRAPH.edges, field.products, field.features, family.node_basis, sampled,
            reference.states, reference.place, reference.gap, reference.excess, reference.apart, limit,
            gradient,
        )  # fmt: skip
        return value, gradient

    natural = np.r_[w, rng.normal(0, 0.3, p - R)]
    natural[R] += 4.0  # beyond its limit, also about the mean of its node
    value, gradient = evaluate(natural)
    moved = natural.copy()
    moved[R : R + K] += 5.0
    assert abs(evaluate(moved)[0] - value - 5.0) < 1e-4
    np.testing.assert_allclose(evaluate(moved)[1], gradient, atol=1e-4)
    h = 0.01
    for k in (R, R + 1, R + K):
        step = h * np.eye(p)[k]
        slope = (evaluate(natural + step)[0] - evaluate(natural - step)[0]) / (2 * h)
        assert abs(gradient[k] - slope) < 1e-3


@pytest.mark.parametrize("name", ["Boltzmann", "ordinal", "own scores", "Potts"])
def test_the_same_reference_with_other_centres(name, rng):
    """The likelihood does not depend on what is taken from the statistics of edges."""
    family = FAMILIES[name]
    x = data(family, rng)
    centred, plain = (
        edge_field(x, GRAPH, family, is_centred, np.arange(R))[0] for is_centred in (True, False)
    )
    reference = listed(centred, family, **perturbed(centred))
    w, b = rng.normal(0, 0.3, R), rng.normal(0, 0.3, len(centred.lift))
    values = []
    for field, moves_biases in ((centred, True), (plain, False)):
        engine = MonteCarloEdges(x, GRAPH, family, moves_biases, [reference])
        np.testing.assert_array_equal(engine.view.field.centre, field.centre)
        for move in (0.0, 0.3):
            engine.go_to(w + move, b - move)
            values.append(
                questions.add_slopes(engine.view, np.arange(0), np.zeros(engine.view.n_biases))
            )
    np.testing.assert_allclose(values[1] - values[0], values[3] - values[2], atol=2 * SINGLE)


@pytest.mark.parametrize("name", ["Boltzmann", "ordinal"])
def test_moves_of_one_edge_and_of_all_have_one_likelihood(name, rng):
    """Also far away, where biases no longer count in the cumulants, and edges are beyond their walls."""
    engine, _, _, w, b = case(name, rng, perturbed)
    view = engine.view
    view.sample.limit[R:] = 0.5
    view.walls.reach[:] = 0.2
    engine.go_to(w, b + 3.0)
    for e in range(R):
        engine.refresh(rng)
        questions.look_at(view, e, w[e])
        gains = [questions.gain(view, e, value) for value in (0.0, 0.4)]
        joint = []
        for value in (0.0, 0.4):
            here, biases = view.w.copy(), view.b.copy()
            questions.set_edge(view, e, value)
            joint.append(questions.add_slopes(view, np.arange(0), np.zeros(view.n_biases)))
            view.w[:], view.b[:] = here, biases
        assert abs(gains[1] - gains[0] - (joint[1] - joint[0])) < SINGLE
    active = np.flatnonzero(w)
    slope = np.zeros(len(active) + view.n_biases)
    questions.add_slopes(view, active, slope)
    h, beta = 1e-2, view.beta.copy()
    for i in range(view.n_biases):
        ends = []
        for move in (h, -h):
            view.beta[i] = beta[i] + move
            ends.append(questions.add_slopes(view, active, np.zeros_like(slope)))
        view.beta[i] = beta[i]
        # the value reads the biases of the data's sums from beta alone
        np.testing.assert_allclose(slope[len(active) + i], (ends[0] - ends[1]) / (2 * h), atol=0.05)


def test_the_bound_of_an_absent_edge_beyond_its_wall(rng):
    engine, *_ = case("Boltzmann", rng, lambda field: {"place": np.full(len(field.edges) + D, 0.5)})
    engine.view.walls.reach[:] = 0.2
    explained, information = questions.look_at(engine.view, ABSENT, 0.0)
    g, h = questions.without_edge(engine.view, ABSENT)
    np.testing.assert_allclose([explained, information], [0.5 * g * g / h, h], rtol=1e-4)


def test_trajectories_about_a_normal_density(rng):
    """Its covariance, its own slopes, which are not counted twice, and its energy, which is kept."""
    A = rng.normal(size=(6, 9))
    centre, precision = rng.normal(size=6), A @ A.T
    x = hamiltonian.normal_coordinates(precision @ centre, precision)
    np.testing.assert_array_equal(x.root, np.tril(x.root))
    np.testing.assert_allclose(x.root @ x.root.T @ precision, np.eye(6), atol=1e-9)
    x.place[:] = rng.normal(size=6)
    other = rng.normal(size=6)
    x.slope[:] = other - precision @ (x.place - centre)
    hamiltonian.turn_slopes(x, 2)
    np.testing.assert_allclose(x.slope, x.root.T @ other, atol=1e-9)
    hamiltonian.draw_momentum(x, rng)

    def energy():
        return 0.5 * (x.place - centre) @ precision @ (x.place - centre) + hamiltonian.kinetic_energy(x)

    before = energy()
    hamiltonian.drift(x, 2, 0.7)
    np.testing.assert_allclose(energy(), before)


def two_blocks(name, moves_biases, rng):
    """Engine of a field of two blocks by references whose cumulants are not those of their samples."""
    family = FAMILIES[name]
    x = [data(family, rng), data(family, rng)[:15]]
    moves_biases = moves_biases and len(family.node_basis) > 0
    graph = PairwiseGraph(range(2 * D), [*EDGES, *((u + D, v + D) for u, v in EDGES)])
    fields = [edge_field(block, GRAPH, family, moves_biases, np.arange(R))[0] for block in x]
    references = []
    for field in fields:
        longer, sample = perturbed(field), listed(field, family)
        longer["excess"] *= np.float32(0.2)
        longer["place"][[1, 3]] = 0.0
        longer["mean"] = sample.mean + longer["gap"]
        longer["covariance"] = sample.covariance + longer["excess"]
        references.append(replace(sample, **longer))
    if family.cards:
        family = family.of_nodes(np.tile(np.arange(D), 2))
    return MonteCarloEdges(x, graph, family, moves_biases, references)


def forces(view, coordinates, active, prior):
    """Function of a place: the slopes of the log posterior less those of its normal approximation."""

    def force(at):
        questions.set_parameters(view, active, at)
        coordinates.place[:] = at
        hamiltonian.log_posterior(view, active, prior, coordinates.slope)
        hamiltonian.turn_slopes(coordinates, len(active))
        return np.linalg.solve(coordinates.root.T, coordinates.slope)

    return force


@pytest.mark.parametrize("moves_biases", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_joint_moves_know_slopes_and_curvatures_at_the_reference(name, moves_biases, rng):
    """Of a field of two blocks: of the likelihood and the priors no linear force is left there."""
    engine = two_blocks(name, moves_biases, rng)
    view, active = engine.view, np.delete(np.arange(2 * R), [1, R + 3])
    prior = EdgePrior(np.zeros(2 * R), normal(0.7), normals(len(view.b), 1e4))
    place = view.sample.place
    engine.go_to(np.zeros(2 * R), np.zeros(len(view.b)))
    view.beta[:] = place[2 * R :]
    moved = np.concatenate([active, np.arange(2 * R, 2 * R + view.n_biases)])
    force = forces(view, engine.coordinates(active, prior), active, prior)
    scale = np.sqrt(engine.information[moved])
    left = force(place[moved])
    h, direction = 0.02, rng.normal(size=len(moved))
    bent = (force(place[moved] + h * direction) - force(place[moved] - h * direction)) / (2 * h)
    assert np.abs(left / scale).max() < 1e-6
    assert np.abs((bent - HALF_ROW * direction) / scale).max() < 0.01


@pytest.mark.parametrize("moves_biases", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_joint_moves_of_a_vector_in_both_blocks_know_them_too(name, moves_biases, rng):
    """At offsets with which the vector, times its factors, leads to the reference."""
    whole = two_blocks(name, moves_biases, rng)
    place, factors = whole.view.sample.place, np.repeat([1.0, -0.5], R)
    w, active = np.array([0.3, 0.0, -0.4, 0.2, 0.5]), np.array([3, 0, 4, 2])
    engine = SharedEdges(whole, Share(np.tile(np.arange(R), 2), factors), R)
    engine.set_offset(place[: 2 * R] - factors * np.tile(w, 2))
    view = engine.view
    prior = EdgePrior(np.zeros(R), normal(0.7), normals(len(view.b), 1e4))
    engine.go_to(w, np.zeros(len(view.b)))
    view.beta[:] = place[2 * R :]
    there = np.concatenate([w[active], place[2 * R :][: view.n_biases]])
    force = forces(view, engine.coordinates(active, prior), active, prior)
    of_edges, of_biases = engine.likelihood_precisions()
    scale = np.sqrt(np.concatenate([of_edges[active], of_biases[: view.n_biases]]))
    h, direction = 0.02, rng.normal(size=len(there))
    bent = (force(there + h * direction) - force(there - h * direction)) / (2 * h)
    own = np.concatenate([np.full(4, 1.0 + 0.5**2), np.ones(view.n_biases)]) * HALF_ROW
    assert np.abs(force(there) / scale).max() < 1e-6
    assert np.abs((bent - own * direction) / scale).max() < 0.01
