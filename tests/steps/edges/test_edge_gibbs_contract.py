"""EdgeGibbs in PyMC: starts, which steps are beside it, and what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from pymc.step_methods.compound import CompoundStep

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.kernels.views.questions import centred
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import engine_in
from tests.statistics import assert_mean_close
from tests.steps.edges.small_models import GRAPH, data, edge_model
from tests.walks import walk

SAMPLE = {"progressbar": False, "quiet": True}


def test_chains_start_without_edges_unless_the_user_starts_them():
    model = edge_model("pseudo")
    with model:
        step = EdgeGibbs([model["w"], model["b"]])
    seen = []
    sweep = engine_in(step).sweep

    def watched(w, b, *rest, **told):
        seen.append((w.copy(), b.copy()))
        return sweep(w, b, *rest, **told)

    engine_in(step).sweep = watched
    point = model.initial_point()
    start = {**point, "w": np.array([0.0, 0.5, 0.0, -0.25, 0.0, 0.0]), "b": np.full(4, 0.125)}
    for value in (point, start):
        step.setup_chain(np.random.default_rng(1), 1, 1)
        step.step(value)
    share = data().mean(axis=0)
    np.testing.assert_array_equal(seen[0][0], 0.0)
    np.testing.assert_allclose(seen[0][1], np.log(share / (1.0 - share)), atol=0.5)
    np.testing.assert_array_equal(seen[1][0], start["w"])
    np.testing.assert_array_equal(seen[1][1], start["b"])


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_biases_at_the_start_go_with_terms_of_edges_that_are_given(likelihood):
    """The centred biases, of which edges are about independent, are those that fit without edges."""
    starts = []
    for given in (0.0, 0.75):
        with pm.Model() as model:
            w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
            b = pm.Normal("b", 0, 1, shape=4)
            terms = w + np.linspace(-given, given, 6) if given else w
            pmrf.BoltzmannMachine("x", terms, b, graph=GRAPH, observed=data(), likelihood=likelihood)
            step = EdgeGibbs([w, b])
        engine, seen = engine_in(step), []
        engine.sweep = lambda w, b, *rest, seen=seen, **told: seen.append(b.copy()) or (0, 0)
        step.setup_chain(np.random.default_rng(1), 1, 1)
        step.step(model.initial_point())
        field = getattr(engine.view, "whole", engine.view).field
        beta = np.zeros(4)
        centred(field, np.linspace(-given, given, 6), seen[0], beta)
        starts.append(beta)
    np.testing.assert_allclose(*starts)
    assert np.abs(seen[0] - beta).max() > 0.1


def test_biases_of_other_priors_are_left_to_other_steps():
    with pm.Model() as model:
        w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=6)
        b = pm.Deterministic("b", 2.0 * pm.Normal("z", 0, 1, shape=4))
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=data(), likelihood="pseudo")
        idata = pm.sample(50, tune=50, chains=1, cores=1, step=EdgeGibbs([w]), random_seed=1, **SAMPLE)
        assert idata.posterior.z.std() > 0.05
        with pytest.raises(ValueError, match="z is not: leave it out of `vars`"):
            EdgeGibbs([w, model["z"]])


def test_two_fields_get_a_step_each():
    with pm.Model() as model:
        for k in range(2):
            w = SpikeAndSlab(f"w{k}", 0.5, pm.Normal.dist(0, 1), shape=6)
            b = pm.Normal(f"b{k}", 0, 1, shape=4)
            pmrf.BoltzmannMachine(f"x{k}", w, b, graph=GRAPH, observed=data(), likelihood="pseudo")
        step = EdgeGibbs(model.free_RVs)
    assert isinstance(step, CompoundStep)
    assert [[v.name for v in method.vars] for method in step.methods] == [["w0", "b0"], ["w1", "b1"]]
    pm.sample(5, tune=5, chains=1, cores=1, random_seed=1, step=step, model=model, **SAMPLE)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo", "particles"])
@pytest.mark.parametrize("slab", [pm.Normal.dist(0, 1), pm.Cauchy.dist(0, 1)], ids=str)
@pytest.mark.filterwarnings("ignore:x. the nodes of 0--3 always agree")
def test_constant_and_separable_columns(likelihood, slab):
    x = data()
    x[:, 2] = 1
    x[:, 3] = x[:, 0]
    with pytest.warns(UserWarning, match="x never changes at 2: only the priors keep"):
        model = edge_model(likelihood, x, slab)
    with model:
        step = EdgeGibbs([model["w"], model["b"]])
    for point, stats in walk(step, model.initial_point(), 200, 50):
        assert np.isfinite(point["w"]).all() and np.isfinite(point["b"]).all()
        if likelihood == "particles":
            assert all(np.isfinite(value) for name, value in stats.items() if name != "warning")


def test_biases_with_an_order_are_left_to_nuts():
    x = np.random.default_rng(0).integers(2, size=(20, 3))
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        ordered = pm.distributions.transforms.ordered
        b = pm.Normal("b", 0, 1, shape=3, transform=ordered, initval=np.arange(3.0))
        pmrf.BoltzmannMachine("x", w, b, graph=pmrf.graphs.complete(3), observed=x, likelihood="exact")
        idata = pm.sample(10, tune=10, chains=1, cores=1, random_seed=1, **SAMPLE)
    assert {"edge_gibbs_n_active", "step_size"} <= set(idata.sample_stats)  # NUTS has the biases
    assert "b" in model.named_vars


def test_biases_without_their_edges_go_to_another_step():
    """The user gives the edges to a step that leaves the biases alone."""
    model = edge_model("exact")
    with model:
        edges = [pmrf.papers.ReversibleJump([model["w"]]), pmrf.papers.PersistentLangevin([model["w"]])]
        idata = pm.sample(10, tune=10, step=edges, chains=1, cores=1, random_seed=1, **SAMPLE)
    assert {"reversible_jump_n_active", "step_size"} <= set(idata.sample_stats)  # NUTS has the biases
    assert idata.posterior.w.dims == ("chain", "draw", "edge")
    model = edge_model("particles")
    with model:
        edges = [pmrf.papers.ReversibleJump([model["w"]]), pmrf.papers.PersistentLangevin([model["w"]])]
        with pytest.raises(ValueError, match="b is left to no step that can move it"):
            pm.sample(10, tune=10, step=edges, chains=1, cores=1, **SAMPLE)


@pytest.mark.slow
def test_biases_that_feed_another_likelihood_go_to_nuts():
    """Two nodes, one edge: posterior means on a grid."""
    graph, x, z = pmrf.graphs.complete(2), data()[:20, :2], np.array([1.5, -1.5])

    def shared_biases(likelihood):
        with pm.Model() as model:
            w = SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=1)
            b = pm.Normal("b", 0, 1, shape=2)
            pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
            pm.Normal("z", b, 0.5, observed=z)
        return model

    model, run = shared_biases("exact"), {"chains": 1, "cores": 1, "random_seed": 1, **SAMPLE}
    idata = pm.sample(10, tune=10, model=model, **run)  # without a context
    assert {"edge_gibbs_n_active", "step_size"} <= set(idata.sample_stats)
    with model:
        idata = pm.sample(600, tune=200, target_accept=0.9, **run)
    assert {"edge_gibbs_n_active", "step_size"} <= set(idata.sample_stats)
    b0, b1, w = np.meshgrid(*[np.linspace(-4, 4, 81)] * 3, indexing="ij")
    log_normal = np.log1p(np.exp(b0) + np.exp(b1) + np.exp(b0 + b1 + w))
    log_p = b0 * x[:, 0].sum() + b1 * x[:, 1].sum() + w * (x[:, 0] * x[:, 1]).sum() - 20 * log_normal
    log_p -= 0.5 * (b0**2 + b1**2) + 2.0 * ((z[0] - b0) ** 2 + (z[1] - b1) ** 2)
    # the slab in cells of width 0.1, the spike at w = 0
    mass = np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi) * 0.1 + (np.abs(w) < 1e-9)
    mass = mass * np.exp(log_p - log_p.max())
    for i, b in enumerate((b0, b1)):
        expected = (mass * b).sum() / mass.sum()
        draws = idata.posterior.b.values[0, :, i]
        assert_mean_close(draws, expected, ess=float(az.ess(draws[None])))
    model = shared_biases("particles")
    with pytest.raises(
        ValueError, match=r"b is left to no step .* or let z depend on something else than b"
    ):
        pm.sample(10, tune=10, model=model, **run)
    with model, pytest.raises(ValueError, match=r"that feeds nothing else, .* b is not: leave it out"):
        EdgeGibbs([model["w"], model["b"]])
