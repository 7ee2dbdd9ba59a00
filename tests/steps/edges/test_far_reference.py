"""A reference three posterior standard deviations off: what it costs, that the weights hide it, who tells."""

import functools

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.model_checks import likelihood_findings
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.builders import complete
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels.views.questions import add_shifts, add_slopes
from pymc_mrf.likelihood.edges.edge_field import edge_field
from pymc_mrf.likelihood.monte_carlo.checks import FARTHEST, LEAST_SHARE
from pymc_mrf.likelihood.monte_carlo.monte_carlo_edges import MonteCarloEdges
from pymc_mrf.likelihood.monte_carlo.reference import Chains, Reference
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField
from tests.marks import slow
from tests.reference.spike_and_slab import field_log_likelihood

GRAPH = as_graph(complete(4))
W, B = np.array([0.8, 0.5, -0.8, 0.6, 0.9, -0.5]), np.array([-0.5, 0.2, 0.1, -0.3])
N, SIZE = 400, 20_000


@functools.cache
def case(seed: int) -> tuple[np.ndarray, Reference]:
    """Data, and the reference that is found for them."""
    rng = np.random.default_rng(seed)
    field = PairwiseField(GRAPH, BOLTZMANN.edge_tables(W), BOLTZMANN.node_tables(B))
    x = field.sample(N, rng=rng).astype(np.int8)
    return x, SampledField.of(x, np.zeros(x.shape, dtype=bool), GRAPH, BOLTZMANN, 0, 0.3).reference


def placed(seed: int, distance: float) -> Reference:
    """Make a reference so many standard deviations off, in all directions that are independent."""
    (x, found), rng = case(seed), np.random.default_rng(seed)
    root = np.linalg.cholesky(np.linalg.inv(N * found.covariance.astype(float)))
    place = found.place + distance * root @ rng.choice([-1.0, 1.0], len(root))
    field, _ = edge_field(x, GRAPH, BOLTZMANN, True, np.arange(6))
    b = place[6:].copy()
    add_shifts(field, place[:6], -1.0, b)
    return Chains(x, GRAPH, BOLTZMANN, field, rng).at(place[:6], b, place, SIZE, 20, 4)


def error(seed: int, distance: float) -> tuple[float, float]:
    """Standard deviation of the error over the likelihood, in nats, and the smallest share of the weights."""
    (x, found), rng = case(seed), np.random.default_rng(seed)
    engine = MonteCarloEdges(x, GRAPH, BOLTZMANN, True, [placed(seed, distance)])
    exact = field_log_likelihood(x, GRAPH.edges, BOLTZMANN, "exact")
    root = np.linalg.cholesky(np.linalg.inv(N * found.covariance.astype(float)))
    gaps, shares = [], []
    for _ in range(60):
        draw = found.place + root @ rng.standard_normal(len(root))
        b = draw[6:].copy()
        add_shifts(engine.view.field, draw[:6], -1.0, b)
        engine.go_to(draw[:6], b)
        value = add_slopes(engine.view, np.arange(0), np.zeros(4))
        gaps.append(value - exact(np.r_[draw[:6], b][None])[0])
        shares.append(engine.view.at.share[0])
    return float(np.std(gaps)), min(shares)


@pytest.mark.slow
def test_a_far_reference_errs_more_although_its_weights_are_even():
    """By enumeration, over some seeds; so its distance has to be told by itself."""
    near, far = (np.array([error(seed, distance) for seed in range(4)]) for distance in (0.0, 3.0))
    assert np.sqrt(np.mean(far[:, 0] ** 2)) > 1.5 * np.sqrt(np.mean(near[:, 0] ** 2))
    assert far[:, 1].min() > 2.0 * LEAST_SHARE


def warned(model: pm.Model, step) -> tuple[float, str]:
    """Root mean square distance over 100 draws, and the warning at the end."""
    step.setup_chain(np.random.default_rng(1), 50, 100)
    point, distances = model.initial_point(), []
    for i in range(150):
        if i == 50:
            step.stop_tuning()
        point, [said] = step.step(point)
        distances.append(said[f"{step.prefix}_distance"])
    return float(np.sqrt(np.mean(np.square(distances[50:])))), str(said["warning"] or "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("distance", [0.0, 3.0])
def test_a_far_reference_is_told_of_by_steps(distance, groups, seed, monkeypatch):
    x, _ = case(seed)
    sampled = SampledField("", placed(seed, distance))
    monkeypatch.setattr(SampledField, "of", lambda *arguments: sampled)
    with pm.Model() as model:
        if groups:
            w, b = pmrf.DirichletProcess("w", 5.0, pm.Normal.dist(0, 1), shape=6), B
        else:
            w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
            b = pm.Normal("b", 0, 3, shape=4)
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood="monte-carlo")
        step = pmrf.steps.GroupGibbs([w]) if groups else pmrf.steps.EdgeGibbs([w, b])
    found, message = warned(model, step)
    assert (found > FARTHEST) == (distance > 2.0)
    assert ("was simulated for other parameters" in message) == (distance > 2.0)
    assert ("MonteCarlo(seed=1)" in message) == (distance > 2.0)
    if not groups:  # whose biases are given, and values fewer than the parameters
        assert abs(found - np.hypot(1.0, distance)) < 0.4 + 0.4 * distance


@pytest.mark.parametrize("distance", [0.0, 3.0])
@pytest.mark.slow
def test_a_far_reference_is_told_of_where_nuts_moves_the_parameters(distance, monkeypatch):
    """By `diagnose` with the model; the draws here are of a normal approximation of the posterior."""
    (x, found), rng = case(0), np.random.default_rng(0)
    sampled = SampledField("", placed(0, distance))
    monkeypatch.setattr(SampledField, "of", lambda *arguments: sampled)
    with pm.Model() as model:
        w, b = pm.Normal("w", 0, 1, shape=6), pm.Normal("b", 0, 3, shape=4)
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood="monte-carlo")
    root = np.linalg.cholesky(np.linalg.inv(N * found.covariance.astype(float)))
    draws = found.place + rng.standard_normal((50, 10)) @ root.T
    field, _ = edge_field(x, GRAPH, BOLTZMANN, True, np.arange(6))
    for draw in draws:
        add_shifts(field, draw[:6], -1.0, draw[6:])
    idata = az.from_dict({"posterior": {"w": draws[None, :, :6], "b": draws[None, :, 6:]}})
    [told] = likelihood_findings(idata, model, "posterior")
    assert ("the draws are far from the reference" in told.text) == (distance > 2.0)
    assert ("MonteCarlo(seed=1)" in told.remedy) == (distance > 2.0)


@pytest.mark.parametrize("shared", [False, slow(True)])
def test_refused_joint_moves_tell_of_the_place_that_is_kept(shared):
    """The move is too long to be accepted, and ends where the sample says nothing."""
    x, _ = case(0)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
        b = [pm.Normal(f"b_{k}", 0, 1, shape=4) for k in range(1 + shared)]
        for k, rows in enumerate(np.split(x, 1 + shared)):
            pmrf.BoltzmannMachine(
                f"x_{k}", w, b[k], graph=GRAPH, observed=rows, likelihood="monte-carlo"
            )
        step = pmrf.steps.EdgeGibbs([w, *b])
    step.setup_chain(np.random.default_rng(1), 20, 20)
    point = model.initial_point()
    for _ in range(20):
        point, _ = step.step(point)
    step.stop_tuning()
    for _ in range(5):
        step.log_step = 3.0
        point, [said] = step.step(point)
        assert said["edge_gibbs_joint_accept"] < 0.01
        assert said["edge_gibbs_ess"] > 0.3
        assert said["edge_gibbs_distance"] < FARTHEST
