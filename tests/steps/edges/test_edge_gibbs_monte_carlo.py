"""EdgeGibbs under the Monte Carlo likelihood: posteriors by quadrature over all structures; warnings."""

from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.likelihood.edges.edge_field import edge_field
from pymc_mrf.likelihood.monte_carlo.reference import Chains
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.marks import slow
from tests.reference import enumeration
from tests.reference.spike_and_slab import field_log_likelihood, structure_posterior

EDGES = [(0, 1), (1, 2), (0, 2)]
GRAPH = PairwiseGraph(range(3), EDGES)
FAMILIES = {
    "Boltzmann": BOLTZMANN,
    "ordinal": ordinal([3, 2, 3]),
    "own scores": ordinal([3, 2, 3], [[-1, 0, 1], [-1, 1], [0, 1, 2]]),
    "Potts": potts(3),
}
P, SLAB, BIAS = 0.4, 0.7, 1.5
ERROR = 0.01
"""What the likelihood may add to Monte-Carlo error: samples are large for fields of three nodes."""

pytestmark = pytest.mark.usefixtures("small_samples")


def true_biases(family):
    return np.random.default_rng(3).normal(0, 0.4, size=(3, len(family.node_basis)))


def data(family, n=60, seed=5):
    b = true_biases(family)
    tables = (
        family.edge_tables(np.array([0.8, 0.0, -0.4]), GRAPH.edges),
        family.node_tables(b if family.node_axes else b[:, 0]),
    )
    p = enumeration.probabilities(EDGES, *tables)
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(3, family.n_states)[rows]


def declare(family, x, likelihood="monte-carlo"):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, SLAB), shape=3)
        shape = family.node_shape(3)
        b = pm.Normal("b", 0, BIAS, shape=shape)
        options = {"graph": GRAPH, "observed": x, "likelihood": likelihood}
        if family.name == "boltzmann":
            pmrf.BoltzmannMachine("x", w, b, **options)
        elif family.name == "potts":
            pmrf.Potts("x", w, b, n_states=family.n_states, **options)
        else:
            own = [s[:k] for s, k in zip(family.scores, family.cards, strict=False)]
            pmrf.OrdinalMRF("x", w, b, n_states=list(family.cards), scores=own or None, **options)
    return model


def draws_of(model, n_draws=1500, tune=200, change=lambda step: None):
    """Draws (2, n_draws, r) of the weights."""
    with model:
        step = EdgeGibbs(list(model.free_RVs))
    change(step)
    chains = []
    for chain in range(2):
        step.setup_chain(np.random.default_rng(chain), tune, n_draws)
        point, rows = model.initial_point(), []
        for i in range(tune + n_draws):
            if i == tune:
                step.stop_tuning()
            point, stats = step.step(point)
            rows.append(point["w"])
        chains.append(rows[tune:])
    return np.array(chains), stats[0]


def exact_posterior(family, x):
    return structure_posterior(
        field_log_likelihood(x, EDGES, family, "exact"),
        3,
        3 * len(family.node_basis),
        lambda k: k * np.log(P) + (3 - k) * np.log1p(-P),
        stats.norm(0, SLAB).logpdf,
        log_bias=stats.norm(0, BIAS).logpdf,
        n_nodes=3 if family.n_states > 2 else 7,
    )


def excess(w, exact):
    """By how much probabilities of edges are off beyond Monte-Carlo error, at most."""
    present = (w != 0.0).astype(float)
    off = np.abs(present.mean(axis=(0, 1)) - exact.inclusion)
    noise = [float(az.mcse(present[..., e])) if present[..., e].std() else 0.0 for e in range(3)]
    return float((off - 3.5 * np.array(noise)).max())


@pytest.mark.parametrize(
    "name", ["Boltzmann", *(slow(name) for name in ("own scores", "ordinal", "Potts"))]
)
def test_all_structures_of_three_nodes(name):
    family = FAMILIES[name]
    x = data(family)
    exact = exact_posterior(family, x)
    precise = pmrf.MonteCarlo(
        tolerance=0.05
    )  # beside enumeration, little noise of the sample may be left
    w, said = draws_of(declare(family, x, precise))
    assert excess(w, exact) < ERROR
    assert said["edge_gibbs_ess"] > 0.3
    assert 0.0 < said["edge_gibbs_noise"] < 0.1

    def mislead(step):  # negative control: the mean of the longer simulation is another
        step._engine.view.sample.gap[:] += 0.1

    assert excess(draws_of(declare(family, x, precise), 500, change=mislead)[0], exact) > ERROR


@pytest.mark.slow
def test_an_item_that_nobody_endorsed():
    """Its state is in the sample although it is not in the data."""
    x = data(BOLTZMANN, 80)
    x[:, 2] = 0
    with pytest.warns(UserWarning, match="x never changes at 2"):
        likelihoods = "exact", pmrf.MonteCarlo(tolerance=0.5)
        exact, sampled = (declare(BOLTZMANN, x, likelihood) for likelihood in likelihoods)
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
    x = data(BOLTZMANN, 160)
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
    b, beta = true_biases(BOLTZMANN)[:, 0], np.empty(3)
    centred(field, w, b, beta)
    return chains.at(w, b, np.r_[w, beta], 2000, 4)


@pytest.mark.parametrize("n_fields", [1, 2])
@pytest.mark.parametrize("far", [False, True])
def test_a_far_reference_is_told_of(far, n_fields, monkeypatch):
    """Its weights are uneven, which ends in a warning with the remedy; a near one is not."""
    x = data(BOLTZMANN, 400)
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
    x = data(BOLTZMANN)
    nothing = np.zeros(x.shape, dtype=bool)
    first, same, other = (
        SampledField.of(x.astype(np.int8), nothing, GRAPH, BOLTZMANN, seed, 0.2) for seed in (0, 0, 1)
    )
    assert first == same and first.reference is same.reference
    assert other != first and repr(other) != repr(first)
    assert not np.array_equal(other.reference.states[:, :50], first.reference.states[:, :50])
    tighter = replace(pmrf.MonteCarlo(), tolerance=0.1)
    assert tighter != pmrf.MonteCarlo() == pmrf.MonteCarlo(tolerance=0.3, seed=0)
