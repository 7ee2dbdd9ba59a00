"""What group samplers say at the end of a chain: each warning provoked, and silence otherwise."""

import logging
import pickle

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import get_family
from pymc_mrf.graph.builders import grid
from pymc_mrf.likelihood.particles.particle_groups import ParticleGroups
from pymc_mrf.steps.common.base import ChainWarning
from pymc_mrf.steps.groups import particle_ratio_gibbs as module
from tests.steps.groups.models import agreement_data, agreement_model


@pytest.fixture
def messages(caplog):
    """Messages of a run of `step`."""

    def run(model, step, draws=60, cores=1, chains=1, **options):
        caplog.clear()
        with model, caplog.at_level(logging.WARNING, logger="pymc"):
            pm.sample(
                draws,
                tune=10,
                chains=chains,
                cores=cores,
                step=step([model["theta"]], **options),
                random_seed=1,
                progressbar=False,
                compute_convergence_checks=False,
            )
        said = [record.getMessage() for record in caplog.records]
        return [text for text in said if "Gibbs" in text or "AuxiliaryVariableMH" in text]

    return run


def test_silence_where_nothing_is_wrong(messages):
    model = agreement_model(agreement_data(100, seed=1))
    for step in (pmrf.steps.GroupGibbs, pmrf.steps.ParticleRatioGibbs):
        assert messages(model, step) == []


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 2])
def test_too_few_particles_are_told_of_once_in_every_run(messages, cores):
    model = agreement_model(agreement_data(200, seed=1))
    for _ in range(2):
        [text] = messages(model, pmrf.steps.ParticleRatioGibbs, n_particles=20, chains=2, cores=cores)
        assert "The 20 particles of ParticleRatioGibbs are too few for theta" in text
        assert "above 0.5" in text
        assert int(text.split("n_particles=")[1].split()[0]) > 20


def test_only_what_is_new_is_logged():
    """Numbers differ from chain to chain; numbers in names do not."""
    ChainWarning.begin_run()
    first, again, more, other, silent = (
        ChainWarning(texts)
        for texts in (
            ["noise of 0.62 for w1, try n=20"],
            ["noise of 1.7 for w1, try n=300"],
            ["noise of 0.9 for w1, try n=7", "w1 never changed in 60 draws"],
            ["noise of 0.62 for w2, try n=20"],
            ["noise of 3 for w2, try n=4"],
        )
    )
    silent = pickle.loads(pickle.dumps(silent))  # as it comes from another process
    assert [w.level for w in (first, again, more, other, silent)] == [
        "warn",
        "debug",
        "warn",
        "warn",
        "debug",
    ]
    assert (first.level, more.message) == ("warn", "w1 never changed in 60 draws")
    ChainWarning.begin_run()
    assert ChainWarning(["noise of 0.62 for w1, try n=20"]).level == "warn"


class Lagging(ParticleGroups):
    """Particles that are as they were drawn, from independent nodes, but when they are checked."""

    def start(self, eta, n_sweeps, rng):
        self._drawn = rng.integers(2, size=self._z.shape).astype(np.int8)
        super().start(eta, n_sweeps, rng)

    def _sweep(self, n_sweeps, rng):
        self._z[:] = self._drawn
        if n_sweeps > self._n_sweeps:
            super()._sweep(n_sweeps, rng)

    def change(self, eta, rng):
        super().change(eta, rng)
        self.renew(rng)


def test_particles_that_lag_behind(messages, monkeypatch):
    monkeypatch.setattr(module, "ParticleGroups", Lagging)
    model = agreement_model(agreement_data(200, seed=1))
    [said] = messages(model, pmrf.steps.ParticleRatioGibbs, n_sweeps=3)
    assert "have not kept up with theta" in said
    assert "Try n_sweeps=12" in said


@pytest.mark.slow
def test_a_step_that_never_moves(messages):
    """One group, no new ones, and values proposed outside (0, 1) only."""
    x = agreement_data(50, seed=1)
    model = agreement_model(x, alpha=1e-12)
    with model:
        model.set_initval(model["theta"], np.full(5, 0.6))
    [said] = messages(model, pmrf.papers.AuxiliaryVariableMH, sigma=1e6, n_value_steps=2)
    assert "theta never changed in 60 draws: AuxiliaryVariableMH accepted no proposal" in said
    assert "a smaller sigma" in said
    assert messages(model, pmrf.papers.AuxiliaryVariableMH, sigma=1e6, n_value_steps=2, draws=30) == []


def test_warnings_beside_other_steps_stay_out_of_the_results():
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 2)
        theta = pmrf.DirichletProcess("theta", alpha, pm.Uniform.dist(0, 1), shape=5)
        x = agreement_data(200, seed=1)
        graph = pmrf.PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
        pmrf.AgreementMRF("x", theta, graph=graph, observed=x)
        step = [pmrf.steps.ParticleRatioGibbs([theta], n_particles=20), pm.NUTS([alpha])]
        idata = pm.sample(
            20, tune=20, chains=1, cores=1, step=step, random_seed=1, progressbar=False, quiet=True
        )
    assert not [name for name in idata.sample_stats.data_vars if "warning" in name]
    assert idata.sample_stats["particle_ratio_drift"].dims == ("chain", "draw")


@pytest.mark.parametrize(("eta", "n_sweeps", "short"), [(1.2, 1, True), (0.2, 20, False)])
def test_auxiliary_chains_that_are_too_short(eta, n_sweeps, short):
    """A 6 x 6 grid, above the critical coupling of 0.88 and far below it."""
    graph = grid(6, 6)
    tables = get_family("agreement", 2).edge_tables(np.full(graph.n_edges, eta)), np.zeros((36, 2))
    x = pmrf.PairwiseField(graph, *tables).sample(60, rng=np.random.default_rng(1))
    with pm.Model() as model:
        pmrf.DirichletProcess("theta", 0.5, pm.Uniform.dist(0.1, 0.9), shape=graph.n_edges)
        pmrf.AgreementMRF("x", model["theta"], graph=graph, observed=x, likelihood="particles")
        step = pmrf.papers.AuxiliaryVariableMH(
            [model["theta"]], draws="gibbs", n_sweeps=n_sweeps, sigma=0.02, n_value_steps=20
        )
    said = []
    for seed in range(3):
        step.setup_chain(np.random.default_rng(seed), 10, 1)
        point = model.initial_point()
        for i in range(11):
            if i == 10:
                step.stop_tuning()
            point, [stats] = step.step(point)
        said += [stats["warning"].message] if stats["warning"] else []
    assert bool(said) == short
    for text in said:
        assert "AuxiliaryVariableMH: n_sweeps=1 is too small: 3 times as many Gibbs sweeps" in text
        assert 'Use AuxiliaryVariableMH(n_sweeps=10), or draws="exact"' in text
