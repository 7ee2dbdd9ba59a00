"""What samplers of edges and of latent fields say at the end of a chain: each warning, and silence."""

import logging

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.graph.builders import grid
from pymc_mrf.likelihood.pseudo.checks import false_edges, overstated_edges
from pymc_mrf.papers.persistent_langevin import PersistentLangevin
from pymc_mrf.papers.reversible_jump import ReversibleJump
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.insides import engine_in
from tests.steps.edges.binary_models import boltzmann_data, fixed_bias_model

START = np.array([1.2, 0.0, -0.8, 0.0, 0.6, 0.0])


def last_words(step, model, draws=100, tune=20, **start):
    """Warning of the last of these steps, which alone may have one; empty if there is none."""
    step.setup_chain(np.random.default_rng(1), tune, draws)
    point = {**model.initial_point(), **start}
    for i in range(tune + draws):
        if i == tune:
            step.stop_tuning()
        point, [stats] = step.step(point)
        assert stats["warning"] is None or i == tune + draws - 1
    return "" if stats["warning"] is None else stats["warning"].message


def grid_model(coupling, likelihood="pseudo"):
    """A 4 x 4 grid, 200 rows by the junction tree."""
    graph = grid(4, 4)
    tables = ISING.edge_tables(np.full(graph.n_edges, coupling)), ISING.node_tables(np.zeros(16))
    x = 2 * pmrf.PairwiseField(graph, *tables).sample(200, rng=np.random.default_rng(1)) - 1
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=graph.n_edges)
        pmrf.Ising("x", w, graph=graph, observed=x, likelihood=likelihood)
    return model


def weights_step(model, kind=EdgeGibbs, **options):
    with model:
        return kind([model["w"]], **options)


def test_pseudo_likelihood_of_a_strongly_coupled_field():
    model = grid_model(0.6)
    said = last_words(weights_step(model), model)
    assert said.startswith("The nodes of x are strongly coupled")
    value = float(said.split("neighbours is ")[1].split(",")[0])
    assert 1.3 < value < 2.2  # 1.75 at the true couplings
    assert 'Compare with likelihood="exact" if the junction tree is small, else "monte-carlo"' in said
    model = grid_model(0.6, "exact")
    assert last_words(weights_step(model), model, draws=60) == ""


def test_pseudo_likelihood_of_a_weakly_coupled_field():
    model = grid_model(0.1)
    assert last_words(weights_step(model), model) == ""


def chain_model(coupling, n, likelihood="pseudo"):
    """A chain of 16 nodes; all pairs are candidate edges, one in ten expected."""
    tables = ISING.edge_tables(np.full(15, coupling)), ISING.node_tables(np.zeros(16))
    field = pmrf.PairwiseField(pmrf.graphs.chain(16), *tables)
    x = 2 * field.sample(n, rng=np.random.default_rng(1)) - 1
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.1, pm.Normal.dist(0, 0.5), shape=120)
        graph = pmrf.graphs.complete(16)
        pmrf.Ising("x", w, graph=graph, observed=x, likelihood=likelihood)
    return model


def test_false_edges():
    """Posterior odds 9 with prior odds 1/9: Bayes factor 81, of which the root makes even odds."""
    log_odds = np.log([1 / 9, 1 / 9, 1 / 9, 1.0])
    inclusion = np.array([0.9, 1.0, 0.4, 0.8])
    n_found, claimed, expected = false_edges(inclusion, log_odds, 1.0)
    assert n_found == 3
    assert claimed == pytest.approx(0.1 + 0.0 + 0.2)
    assert expected == pytest.approx(0.5 + 0.0 + 1 / 3)  # odds 4 and 1: 2
    assert false_edges(np.zeros(4), log_odds, 1.0) == (0, 0.0, 0.0)
    n_found, claimed, expected = false_edges(inclusion, log_odds, 0.5)
    assert expected == pytest.approx(claimed)  # counted once


def test_claims_of_conditionals_of_a_weight():
    claims = np.full(20, 0.9), np.full(20, -2.0)
    [said] = overstated_edges("w", "x", *claims, 1.0)
    assert said.endswith('Declare with likelihood="pseudo", which counts each edge once')
    assert overstated_edges("w", "x", *claims, 0.5) == []
    assert overstated_edges("w", "x", *(v[:2] for v in claims), 1.0) == []  # few edges
    assert overstated_edges("w", "x", claims[0], np.full(20, 1.0), 1.0) == []  # likely a priori


def test_pseudo_likelihood_that_is_too_sure_of_edges():
    model = chain_model(0.3, 100, pmrf.Pseudo(weight=1))
    step = weights_step(model)
    said = last_words(step, model, draws=200)
    inclusion = step.record.included / 200
    n_found, claimed, expected = false_edges(inclusion, np.full(120, np.log(1 / 9)), 1.0)
    assert said == (
        f"The pseudo-likelihood of x with weight=1 is too sure of its edges: of the {n_found} entries of w "
        f"with an inclusion probability above 0.5 it claims that {claimed / n_found:.0%} are zero, but about "
        f"{expected / n_found:.0%} are to be expected, because both ends of an edge count the same rows. "
        'Declare with likelihood="pseudo", which counts each edge once'
    )
    u, v = pmrf.graphs.complete(16).edges.T
    false = (inclusion > 0.5) & (v - u > 1)
    assert false.sum() > 2 * claimed
    model = chain_model(0.3, 100)  # each edge counted once
    step = weights_step(model)
    assert last_words(step, model, draws=200) == ""
    inclusion = step.record.included / 200
    assert ((inclusion > 0.5) & (v - u > 1)).sum() < false.sum() / 2


def test_pseudo_likelihood_of_plain_edges():
    model = chain_model(0.4, 1000)
    assert last_words(weights_step(model), model, draws=200) == ""


def test_the_warning_reaches_the_user(caplog):
    model = grid_model(0.6)
    with model, caplog.at_level(logging.WARNING, logger="pymc"):
        idata = pm.sample(
            30,
            tune=20,
            chains=1,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
    assert [r for r in caplog.records if "strongly coupled" in r.getMessage()]
    found = pmrf.diagnose(idata, model=model)
    assert [f for f in found.findings if f.level == "against" and "strongly coupled" in f.text]


def test_draws_at_which_couplings_are_looked_at():
    for draws in (1, 20, 39, 100, 1000):
        model = fixed_bias_model(boltzmann_data(20, seed=1), likelihood="pseudo")
        step = weights_step(model, n_joint=0)
        last_words(step, model, draws=draws, tune=1)
        assert min(draws, 20) <= len(step.record.weights) <= 39


def test_edge_gibbs_that_never_moves(monkeypatch):
    model = fixed_bias_model(boltzmann_data(80, seed=1))
    step = weights_step(model, n_joint=0)
    monkeypatch.setattr(engine_in(step), "sweep", lambda *args, **told: (5, 0))
    said = last_words(step, model, w=START)
    assert "w never changed in 100 draws: EdgeGibbs changed neither an edge nor a weight" in said
    assert "initvals={...}" in said
    assert last_words(step, model, draws=40, w=START) == ""
    # no edges and none proposed: the data leave no doubt
    monkeypatch.setattr(engine_in(step), "sweep", lambda *args, **told: (0, 0))
    step._default_start = {}
    assert last_words(step, model) == ""


@pytest.mark.parametrize("likelihood", ["exact", "particles"])
def test_edge_samplers_that_move_are_silent(likelihood):
    model = fixed_bias_model(boltzmann_data(80, seed=1), likelihood=likelihood)
    assert last_words(weights_step(model), model, w=START) == ""
    width = {} if likelihood == "exact" else {"width": 1.5}
    assert last_words(weights_step(model, ReversibleJump, **width), model, w=START) == ""
    size = {} if likelihood == "exact" else {"step_size": 0.1}
    assert last_words(weights_step(model, PersistentLangevin, **size), model, w=START) == ""


def test_reversible_jump_that_never_moves():
    model = fixed_bias_model(boltzmann_data(80, seed=1), likelihood="particles")
    step = weights_step(model, ReversibleJump, width=1e-6)
    said = last_words(step, model, w=START)
    assert "ReversibleJump neither added nor deleted an edge of w in 100 draws" in said
    assert "take a larger width than 1e-06" in said
    assert last_words(step, model, draws=40, w=START) == ""


@pytest.mark.parametrize("likelihood", ["exact", "particles"])
def test_langevin_dynamics_that_hardly_move(likelihood):
    model = fixed_bias_model(boltzmann_data(80, seed=1), likelihood=likelihood)
    step = weights_step(model, PersistentLangevin, step_size=1e-9)
    said = last_words(step, model, w=START)
    assert "PersistentLangevin moved no value of w further than" in said
    assert float(said.split("further than ")[1].split()[0]) < 1e-6
    assert "larger step_size than 1e-09" in said
    assert last_words(step, model, draws=40, w=START) == ""
    said = last_words(step, model)
    assert "w had no edges in 100 draws: PersistentLangevin neither adds nor removes any" in said
    assert "Combine it with pymc_mrf.papers.ReversibleJump([w])" in said
    assert last_words(step, model, draws=40) == ""


def test_particles_that_do_not_keep_up():
    """Noise alone adds step_size^2 N / (n (1 - alpha^2)) = 1 to the mean square of the momenta."""
    model = fixed_bias_model(boltzmann_data(80, seed=1), likelihood="particles")
    options = {"step_size": 0.2, "n_particles": 17}
    said = last_words(weights_step(model, PersistentLangevin, **options), model, draws=2000, w=START)
    assert "The 17 particles of PersistentLangevin have not kept up with w" in said
    assert 1.5 < float(said.split("momenta is ")[1].split()[0]) < 3.0
    assert "smaller step_size than 0.2, or n_particles=68" in said
    options["n_particles"] = 1000
    for draws in (20, 2000):  # few draws tell nothing
        step = weights_step(model, PersistentLangevin, **options)
        assert last_words(step, model, draws=draws, w=START) == ""


def test_langevin_dynamics_that_hardly_move_are_diagnosed():
    model = fixed_bias_model(boltzmann_data(80, seed=1), likelihood="particles")
    for size, level in ((1e-9, "against"), (0.3, "for")):
        idata = pm.sample(
            60,
            tune=10,
            chains=1,
            cores=1,
            step=weights_step(model, PersistentLangevin, step_size=size),
            initvals={"w": START},
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
            model=model,
        )
        found = pmrf.diagnose(idata, model=model).findings
        mine = [f for f in found if f.subject == "PersistentLangevin"]
        [moved] = [f for f in mine if "range of the value" in f.text]
        assert moved.level == level
        assert not [f for f in mine if "acceptance" in f.text]


@pytest.mark.slow
def test_exact_momenta_are_no_finding():
    """The mean square of the one momentum of one edge varies much; acceptance makes up for it."""
    x = np.random.default_rng(2).integers(2, size=(60, 2))
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=1)
        graph = pmrf.graphs.chain(2)
        pmrf.BoltzmannMachine("x", w, graph=graph, observed=x, likelihood="exact")
        idata = pm.sample(
            200,
            tune=50,
            chains=2,
            cores=1,
            step=PersistentLangevin([w]),
            initvals={"w": np.ones(1)},
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )
    assert np.isnan(idata.sample_stats["persistent_langevin_momentum_error"]).all()
    means = idata.sample_stats["persistent_langevin_momentum"].mean("draw")
    assert (abs(means - 1.0) > 0.2).any()  # for the test to say something
    found = pmrf.diagnose(idata, model=model).findings
    assert not [f for f in found if "momentum" in f.text]


def test_momenta_are_diagnosed_as_the_step_judges_them():
    model = fixed_bias_model(boltzmann_data(80, seed=1), likelihood="particles")
    options = {"step_size": 0.2, "alpha": 0.9}
    for n_particles, level in ((17, "against"), (1000, "for")):
        idata = pm.sample(
            1000,
            tune=20,
            chains=1,
            cores=1,
            step=weights_step(model, PersistentLangevin, n_particles=n_particles, **options),
            initvals={"w": START},
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
            model=model,
        )
        [found] = [f for f in pmrf.diagnose(idata, model=model).findings if "momentum" in f.text]
        assert found.level == level


def latent_model(strength):
    """Every state but one of a latent field of eight nodes is `strength` less likely, by one joint term."""
    graph = grid(2, 4)
    with pm.Model() as model:
        x = pmrf.Ising("x", 0.0, graph=graph, initval=np.ones(8, dtype=np.int64))
        pm.Potential("all", strength * pm.math.prod((1 + x) / 2))
    return model


@pytest.mark.parametrize(("strength", "speaks"), [(300.0, True), (1.0, False)])
def test_latent_fields_whose_proposals_are_refused(strength, speaks):
    model = latent_model(strength)
    with model, pytest.warns(UserWarning, match="TreeGibbs cannot draw x at once"):
        step = TreeGibbs([model["x"]])
    said = last_words(step, model, x=np.ones(8, dtype=np.int64))
    assert ("x never changed in 100 draws: TreeGibbs refused all changes" in said) == speaks
    assert ("write the terms that depend on it (all) node by node" in said) == speaks


def test_latent_fields_that_are_certain_are_not_spoken_of():
    with pm.Model() as model:
        x = pmrf.Ising("x", 0.1, graph=grid(2, 4))
        pm.Normal("y", x, 0.01, observed=np.ones(8))
        step = TreeGibbs([x])
    assert last_words(step, model) == ""
