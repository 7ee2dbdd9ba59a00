"""EdgeGibbs under the Monte Carlo likelihood: posteriors by quadrature over all structures; warnings."""

from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.likelihood.edges.edge_field import edge_field
from pymc_mrf.likelihood.monte_carlo.reference import Chains
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import engine_in
from tests.marks import slow
from tests.posteriors import P, Question, furthest, sparse_draws_of
from tests.small_fields import pairwise
from tests.statistics import Z
from tests.steps.edges.state_models import field_data, node_parameters

EDGES = [(0, 1), (1, 2), (0, 2)]
GRAPH = PairwiseGraph(range(3), EDGES)
SLAB, BIAS = 0.7, 1.5
TRUE_BIASES = node_parameters(BOLTZMANN, 3)
ERROR = 0.01
"""What the likelihood may add to Monte-Carlo error: samples are large for fields of three nodes."""

pytestmark = pytest.mark.usefixtures("small_samples")


def data(n=60, seed=5):
    return field_data(BOLTZMANN, GRAPH, np.array([0.8, 0.0, -0.4]), TRUE_BIASES, n, seed)


def declare(x, likelihood="monte-carlo"):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, SLAB), shape=3)
        b = pm.Normal("b", 0, BIAS, shape=3)
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


def test_the_longer_simulation_decides_and_draws_tell_of_noise():
    """Control of the table of posteriors: with another mean of the longer simulation they differ."""
    question = Question(
        (pairwise(BOLTZMANN, GRAPH, [0.8, 0.0, -0.4], 60, 5, sd=BIAS),),
        pmrf.MonteCarlo(tolerance=0.05), nodes="random", sd=SLAB, n_nodes=7,
    )  # fmt: skip
    steps = []

    def mislead(step):
        engine_in(step).view.sample.gap[:] += 0.1
        steps.append(step)

    model = question.model()
    w, _ = sparse_draws_of(model, change=mislead)
    assert furthest(w, question.posterior(), slack=(ERROR, 0.0)) > Z
    _, [said] = steps[0].step(model.initial_point())
    assert said["edge_gibbs_ess"] > 0.3
    assert 0.0 < said["edge_gibbs_noise"] < 0.1


@pytest.mark.slow
def test_an_item_that_nobody_endorsed():
    """Its state is in the sample although it is not in the data."""
    x = data(80)
    x[:, 2] = 0
    with pytest.warns(UserWarning, match="x never changes at 2"):
        likelihoods = "exact", pmrf.MonteCarlo(tolerance=0.5)
        exact, sampled = (declare(x, likelihood) for likelihood in likelihoods)
    biases = []
    for model in (exact, sampled):
        with model:
            step = EdgeGibbs(list(model.free_RVs))
        step.setup_chain(np.random.default_rng(1), 300, 1500)
        point, rows = model.initial_point(), []
        for i in range(1800):
            if i == 300:
                step.stop_tuning()
            point, _ = step.step(point)
            rows.append(point["b"][2])
        biases.append(np.array(rows[300:]))
    errors = [float(az.mcse(b[None])) for b in biases]
    assert abs(biases[0].mean() - biases[1].mean()) < 3.5 * np.hypot(*errors) + 0.1 * biases[0].std()
    assert biases[0].mean() < -3.0


@pytest.mark.slow
def test_differences_between_two_groups():
    """Two sparse vectors, each with a step of its own, and two fields with a likelihood of each."""
    x = data(160)
    found = {}
    for likelihood in ("exact", "monte-carlo"):
        with pm.Model():
            w, d = (pmrf.SpikeAndSlab(name, P, pm.Normal.dist(0, SLAB), shape=3) for name in "wd")
            for k, sign in ((0, 0.5), (1, -0.5)):
                b = pm.Normal(f"b{k}", 0, BIAS, shape=3)
                own = x[80 * k :][:80]
                pmrf.BoltzmannMachine(
                    f"x{k}", w + sign * d, b, graph=GRAPH, observed=own, likelihood=likelihood
                )
            idata = pm.sample(
                1000, tune=300, chains=2, cores=1, random_seed=3, progressbar=False, quiet=True,
                compute_convergence_checks=False,
            )  # fmt: skip
        found[likelihood] = {name: idata.posterior[name].values != 0.0 for name in "wd"}
    for name in "wd":
        means, errors = zip(
            *(
                (v[name].mean(axis=(0, 1)), [float(az.mcse(v[name][..., e] * 1.0)) for e in range(3)])
                for v in found.values()
            ),
            strict=True,
        )
        assert (np.abs(means[0] - means[1]) < 3.5 * np.hypot(*errors) + ERROR).all()


def reference_at(x, w):
    """Small sample of the field with these weights and the biases of the data."""
    field, _ = edge_field(x, GRAPH, BOLTZMANN, True, np.arange(3))
    chains = Chains(x, GRAPH, BOLTZMANN, field, np.random.default_rng(0))
    b, beta = TRUE_BIASES, np.empty(3)
    centred(field, w, b, beta)
    return chains.at(w, b, np.r_[w, beta], 2000, 4)


@pytest.mark.parametrize("n_fields", [1, slow(2)])
@pytest.mark.parametrize("far", [False, True])
def test_a_far_reference_is_told_of(far, n_fields, monkeypatch):
    """Its weights are uneven, which ends in a warning with the remedy; a near one is not."""
    x = data(400)
    w = np.array([-6.0, 6.0, 6.0]) if far else np.array([0.8, 0.0, -0.4])
    sampled = SampledField("", reference_at(x.astype(np.int8), w))
    monkeypatch.setattr(SampledField, "of", lambda *arguments: sampled)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, SLAB), shape=3)
        for k in range(n_fields):
            b = pm.Normal(f"b{k}", 0, BIAS, shape=3)
            options = {"observed": x, "likelihood": "monte-carlo"}
            pmrf.BoltzmannMachine(f"x{k}", w, b, graph=GRAPH, **options)
        step = EdgeGibbs(list(model.free_RVs))
    step.setup_chain(np.random.default_rng(1), 10, 60)
    point = model.initial_point()
    for i in range(70):
        if i == 10:
            step.stop_tuning()
        point, said = step.step(point)
    message = "" if said[0]["warning"] is None else str(said[0]["warning"])
    assert ("is far from the draws" in message) == far
    assert ('use likelihood="particles"' in message) == far
    assert said[0]["edge_gibbs_noise"] > 0.0


def test_one_simulation_for_equal_fields_and_another_for_another_seed():
    x = data()
    nothing = np.zeros(x.shape, dtype=bool)
    first, same, other = (
        SampledField.of(x.astype(np.int8), nothing, GRAPH, BOLTZMANN, seed, 0.2) for seed in (0, 0, 1)
    )
    assert first == same and first.reference is same.reference
    assert other != first and repr(other) != repr(first)
    assert not np.array_equal(other.reference.states[:, :50], first.reference.states[:, :50])
    tighter = replace(pmrf.MonteCarlo(), tolerance=0.1)
    assert tighter != pmrf.MonteCarlo() == pmrf.MonteCarlo(tolerance=0.3, seed=0)
