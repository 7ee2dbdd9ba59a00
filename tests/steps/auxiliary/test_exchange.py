"""Exchange: exact posteriors, detailed balance by enumeration, starts, blocks."""

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.auxiliary.exchange import Exchange
from pymc_mrf.steps.auxiliary.exchange_proposals import connected
from pymc_mrf.steps.auxiliary.intractable_fields import IntractableField
from tests.insides import blocks_of, evaluate, fields_of, log_ratio
from tests.reference import enumeration
from tests.reference.exchange import acceptance, ising_tables, log_likelihood, quadrature
from tests.statistics import Z
from tests.steps.auxiliary.models import (
    COVARIATE,
    EDGES,
    GRAPH,
    SAMPLE,
    X,
    draw_data,
    gap,
    groups,
    moments_gaps,
    potts_model,
    regression,
    run,
    shared_coupling,
)


def log_posterior(J, x=X, sd=1.0):
    return log_likelihood(x, EDGES, *ising_tables(J, 0.0, 3, 3)) - 0.5 * (J / sd) ** 2


EXACT = quadrature(log_posterior, np.linspace(-1.5, 2.0, 1001))


@pytest.mark.slow
def test_shared_coupling_has_the_exact_posterior():
    model = shared_coupling()
    step = Exchange(model.free_RVs, model=model)
    assert max(np.abs(moments_gaps(run(step, model.initial_point(), 1500)[:, 0], *EXACT))) < Z


@pytest.mark.parametrize("mistake", ["no auxiliary data", "auxiliary data of the old field"])
@pytest.mark.ordinary("no auxiliary data")
def test_wrong_ratios_are_detected(mistake, monkeypatch):
    """Negative control: the comparison above tells wrong acceptance ratios."""
    model = shared_coupling()
    step = Exchange(model.free_RVs, model=model)

    def wrong(self, old, new, sampler_rng):
        old, new = old[0], new[0]
        z = self.sampler.draw(*self.tables(old), sampler_rng)
        used = 0.0 if mistake == "no auxiliary data" else self.statistics(z)
        return float((new - old) @ (self.statistics(self.x) - used))

    monkeypatch.setattr(IntractableField, "log_auxiliary_ratio", wrong)
    draws = run(step, model.initial_point(), 1500, tune=0)[:, 0]
    assert abs(draws.mean() - EXACT[0]) > 0.1 * EXACT[1] or abs(draws.std() / EXACT[1] - 1) > 0.1


@pytest.mark.parametrize("n", [1, 2])
def test_detailed_balance_on_a_grid_of_couplings(n):
    """Ratios of the step, averaged over all auxiliary data sets, against enumeration."""
    x = X[:n]
    model = shared_coupling(x)
    step = Exchange(model.free_RVs, model=model)
    [field] = fields_of(step)
    configs = enumeration.configurations(3, 2)
    cells = np.array(np.meshgrid(*[np.arange(8)] * n)).reshape(n, -1).T  # all data sets

    class Fixed:
        def draw(self, edge_tables, node_tables, rng, start):
            return configs[self.rows].astype(np.int8)

    fixed = Fixed()
    field._unit_samplers = [fixed]
    grid = np.linspace(-1.2, 1.2, 5)
    flow = np.zeros((5, 5))
    for i, old in enumerate(grid):
        for j, new in enumerate(grid):
            if i == j:
                continue
            tables = [ising_tables(J, 0.0, 3, 3) for J in (old, new)]
            p_z = enumeration.probabilities(EDGES, *tables[1])
            states = [evaluate(step, model.initial_point(), np.array([J])) for J in (old, new)]
            total = 0.0
            for rows in cells:
                fixed.rows = rows
                total += np.prod(p_z[rows]) * min(1.0, np.exp(log_ratio(step, *states)))
            prior = 0.5 * (old**2 - new**2)
            np.testing.assert_allclose(total, acceptance(x, EDGES, *tables, prior), rtol=1e-10)
            flow[i, j] = np.exp(log_posterior(old, x)) * total
    np.testing.assert_allclose(flow, flow.T, rtol=1e-10)


@pytest.mark.slow
def test_geweke_joint_distribution():
    """x | J exactly and J | x in turn leave the prior of the coupling invariant."""
    n_data, n_steps = 3, 4500
    model = shared_coupling(X[:n_data], sd=0.7)
    step = Exchange(model.free_RVs, model=model, draws="exact")
    step.setup_chain(np.random.default_rng(5), 0, n_steps)
    step.log_scale[:] = np.log(1.5)
    [field] = fields_of(step)
    sampler = field.sampler
    rng = np.random.default_rng(6)
    point, draws = {"J": np.array(0.1)}, np.empty(n_steps)
    for t in range(n_steps):
        point, _ = step.step(point)
        draws[t] = point["J"]
        natural = evaluate(step, point, np.atleast_1d(draws[t]))[1][0]
        field.x = sampler.draw(*field.tables(natural[0]), rng)
        field._unit_sums = [field.statistics(field.x)]
    assert max(np.abs(moments_gaps(draws, 0.0, 0.7))) < Z
    assert abs(gap(draws**4, 3 * 0.7**4)) < Z


@pytest.mark.slow
def test_covariates_and_vectors():
    """A regression of the couplings, and per-edge couplings with a random external field."""
    model = regression()
    step = Exchange(model.free_RVs, model=model)
    assert len(blocks_of(step)) == 1
    draws = run(step, model.initial_point(), 1500)
    grid = np.linspace(-2.0, 2.0, 41)
    scores = np.array(
        [
            [
                log_likelihood(X, EDGES, *ising_tables(b0 + b1 * COVARIATE, 0.0, 3, 3))
                - 0.5 * (b0**2 + b1**2)
                for b1 in grid
            ]
            for b0 in grid
        ]
    )
    p = np.exp(scores - scores.max())
    p /= p.sum()
    for axis in (0, 1):
        marginal = p.sum(axis=1 - axis)
        mean = marginal @ grid
        sd = np.sqrt(marginal @ (grid - mean) ** 2)
        assert max(np.abs(moments_gaps(draws[:, axis], mean, sd))) < Z


def agreement_model(x, likelihood):
    with pm.Model() as model:
        theta = pm.Beta("theta", 2.0, 2.0)
        pmrf.AgreementMRF("x", theta, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


def boltzmann_model(x, likelihood):
    with pm.Model() as model:
        w, b = pm.Normal("w", 0, 1), pm.Normal("b", 0, 1)
        pmrf.BoltzmannMachine("x", w, b, graph=GRAPH, observed=x, likelihood=likelihood)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("make", [agreement_model, boltzmann_model, potts_model])
def test_other_families_agree_with_the_exact_likelihood(make):
    """Transformed variables, Jacobians and node parameters: same posterior as by the exact logp."""
    model, exact = make(X, "particles"), make(X, "exact")
    step = Exchange(model.free_RVs, model=model)
    draws = run(step, model.initial_point(), 1500)
    logp = exact.compile_logp()
    names = [v.name for v in step.vars]
    axes = [
        np.linspace(m - 6 * s, m + 6 * s, 25) for m, s in zip(draws.mean(0), draws.std(0), strict=True)
    ]
    mesh = np.array(np.meshgrid(*axes, indexing="ij"))
    flat = mesh.reshape(len(axes), -1).T
    scores = np.array([logp(dict(zip(names, v, strict=True))) for v in flat])
    p = np.exp(scores - scores.max())
    p /= p.sum()
    for k in range(len(axes)):
        mean = p @ flat[:, k]
        assert max(np.abs(moments_gaps(draws[:, k], mean, np.sqrt(p @ (flat[:, k] - mean) ** 2)))) < Z


def posterior_gaps(a, b, names):
    """Differences of posterior means and variances in Monte-Carlo standard errors."""
    found = {}
    for name in names:
        x, y = a.posterior[name], b.posterior[name]
        x, y = (v.values.reshape(*v.shape[:2], -1) for v in (x, y))
        center = y.mean(axis=(0, 1))
        for power in (1, 2):
            for k in range(x.shape[-1]):
                u, w = ((v[..., k] - (power - 1) * center[k]) ** power for v in (x, y))
                assert az.ess(u) > 150 and az.ess(w) > 150, (name, k)
                error = np.hypot(float(az.mcse(u)), float(az.mcse(w)))
                found[name, k, power] = (u.mean() - w.mean()) / error
    return found


@pytest.mark.compiled
@pytest.mark.slow
def test_groups_with_nuts_on_the_hyperparameters():
    """Chains start at equal couplings, where NUTS alone would run away with their scale."""
    options = {"chains": 2, "cores": 1, "random_seed": 2, "tune": 500}
    with groups("exact"):
        exact = pm.sample(1000, **options, **SAMPLE)
    with groups():
        idata = pm.sample(1500, **options, **SAMPLE)
    assert {"step_size", "exchange_accept"} <= set(idata.sample_stats)
    gaps = posterior_gaps(idata, exact, ["mu", "tau", "J", "field"])
    assert max(np.abs(list(gaps.values()))) < Z, gaps


@pytest.mark.slow
def test_rows_with_different_parameters():
    """One field of (n, r) parameters is the same model as one field per group of rows."""
    label = np.repeat([0, 1], [10, 20])
    with pm.Model() as model:
        J = pm.Normal("J", 0, 1, shape=2)
        rows = pt.ones((30, 3)) * J[label][:, None]
        pmrf.Ising("x", rows, graph=GRAPH, observed=2 * X - 1, likelihood="particles")
    step = Exchange(model.free_RVs, model=model)
    [field] = fields_of(step)
    assert [len(unit) for unit in field.units] == [10, 20]
    assert [list(block) for block in blocks_of(step)] == [[0], [1]]
    draws = run(step, model.initial_point(), 1000)
    for g in (0, 1):
        exact = quadrature(lambda v, x=X[label == g]: log_posterior(v, x), np.linspace(-2, 3, 1001))
        assert max(np.abs(moments_gaps(draws[:, g], *exact))) < Z
    # parameters that differ inside a unit are told apart
    zeros = [np.zeros((30, 3)), np.zeros(3)]
    old, new = (
        field.natural(zeros),
        field.natural([0.5 * (np.arange(30) < 5)[:, None] + zeros[0], zeros[1]]),
    )
    rng = np.random.default_rng(0)
    z = field._sampler(5).draw(*field.tables(new[0]), np.random.default_rng(0))
    expected = new[0] @ (field.statistics(X[:5]) - field.statistics(z))
    assert field.log_auxiliary_ratio(old, new, rng) == pytest.approx(expected)


@pytest.mark.slow
def test_blocks():
    model = groups(n_groups=3)
    step = Exchange([model["J"], model["field"]], model=model)
    assert [list(b) for b in blocks_of(step)] == [[0, 3], [1, 4], [2, 5]]
    model = regression()
    step = Exchange(model.free_RVs, model=model, blocks=[["b0"], [model["b1"]]])
    assert [list(b) for b in blocks_of(step)] == [[0], [1]]
    with pytest.raises(ValueError, match="blocks must hold each of b0, b1 exactly once"):
        Exchange(model.free_RVs, model=model, blocks=[["b0"]])
    with pytest.raises(ValueError, match=r"draws must be one of .*, not 'bethe'"):
        Exchange(model.free_RVs, model=model, draws="bethe")
    with pytest.raises(ValueError, match="block_size must be a positive integer, not 0"):
        Exchange(model.free_RVs, model=model, block_size=0)
    touched = np.array([[1, 1, 0, 0, 0], [0, 1, 0, 1, 0]], dtype=bool)
    assert [list(b) for b in connected(touched)] == [[0, 1, 3], [2], [4]]


@pytest.mark.slow
@pytest.mark.compiled
def test_many_coordinates_in_random_parts():
    """More coordinates than fit in one proposal: couplings of their own against the exact posterior."""
    edges = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    graph = PairwiseGraph(range(4), edges)
    x = draw_data(0.2, 200, seed=4, edges=edges, d=4)

    def make(likelihood):
        with pm.Model() as model:
            J = pm.Normal("J", 0, 1, shape=6)
            pmrf.Ising("x", J, graph=graph, observed=2 * x - 1, likelihood=likelihood)
        return model

    model = make("particles")
    step = Exchange(model.free_RVs, model=model, block_size=2)
    draws = run(step, model.initial_point(), 10_000)
    with make("exact"):
        exact = pm.sample(750, tune=300, chains=2, cores=1, random_seed=1, **SAMPLE).posterior["J"]
    for k in range(6):
        error = float(az.mcse(exact[..., k].values))
        scale = np.hypot(1.0, error / float(az.mcse(draws[None, :, k])))
        assert abs(gap(draws[:, k], float(exact[..., k].mean()))) < Z * scale


def test_bad_starts_are_left():
    """A user's start twenty posterior standard deviations away is kept, and left in tuning."""
    model = shared_coupling(draw_data(0.3, 400, seed=2))
    step = Exchange(model.free_RVs, model=model)
    exact = quadrature(lambda v: log_posterior(v, fields_of(step)[0].x), np.linspace(0, 0.6, 601))
    far = {"J": np.array(exact[0] + 20 * exact[1])}
    step.setup_chain(np.random.default_rng(0), 200, 0)
    first, _ = step.step(far)
    assert first["J"] > exact[0] + 10 * exact[1]
    draws = run(step, far, 200, tune=200)
    assert abs(draws.mean() - exact[0]) < 2 * exact[1]


def test_default_starts_are_replaced():
    model = groups(n_groups=2)
    step = Exchange([model["J"], model["field"]], model=model)
    step.setup_chain(np.random.default_rng(0), 1, 1)
    point = {**model.initial_point(), "tau_log__": np.array(-300.0)}
    new, _ = step.step(point)
    assert new["tau_log__"] == model.initial_point()["tau_log__"]
    assert np.all(new["J"] != 0) and len(np.unique(new["J"])) == 2


def one_edge(n=50):
    x = 2 * np.random.default_rng(0).integers(2, size=(n, 1)) - 1
    x = np.concatenate([x, np.where(np.random.default_rng(1).random((n, 1)) < 0.72, x, -x)], axis=1)
    return x, lambda J: (x[:, 0] * x[:, 1]).sum() * J - n * np.log(2 * np.cosh(J))


@pytest.mark.slow
@pytest.mark.compiled
def test_a_hyperparameter_of_a_transform_moves_with_it():
    """J ~ Uniform(0, b) is sampled as a share of b: whoever moves b moves J, and the field."""
    x, log_likelihood = one_edge()
    with pm.Model():
        b = pm.Uniform("b", np.float64(0.2), np.float64(3.0))
        J = pm.Uniform("J", np.float64(0.0), b)
        pmrf.Ising("x", J, graph=pmrf.graphs.chain(2), observed=x, likelihood="particles")
        idata = pm.sample(1000, tune=300, chains=2, cores=1, random_seed=3, **SAMPLE)
    b, J = np.linspace(0.2, 3, 401)[:, None], np.linspace(0, 3, 601)[None]
    p = np.where(J < b, np.exp(log_likelihood(J) - log_likelihood(J).max()) / b, 0.0)
    for name, grid in (("b", b), ("J", J)):
        draws = idata.posterior[name].values
        assert abs(draws.mean() - (p * grid).sum() / p.sum()) < Z * float(az.mcse(draws)), name


def test_every_term_that_a_value_reaches_is_counted():
    """c ~ Uniform(0, J) is sampled as a share of J: moving J moves c, and what is observed of c."""
    x, _ = one_edge()
    with pm.Model() as model:
        J = pm.HalfNormal("J", np.float64(1.0))
        c = pm.Uniform("c", np.float64(0.0), J)
        pm.Normal("y", c, np.float64(0.1), observed=0.3)
        pmrf.Ising("x", J, graph=pmrf.graphs.chain(2), observed=x, likelihood="particles")
        other = pm.Normal("other", 0, 1)
        pm.Normal("z", other, np.float64(1.0), observed=0.1)
    step = Exchange([J], model=model)
    everything = model.compile_fn(
        model.logp() - model.logp(vars=[model["x"]]), inputs=model.value_vars, on_unused_input="ignore"
    )
    point = model.initial_point()
    here, there = np.array([-1.0]), np.array([0.4])
    found = evaluate(step, point, there)[0] - evaluate(step, point, here)[0]
    expected = np.diff([everything(point | {"J_log__": v[0]}) for v in (here, there)])
    np.testing.assert_allclose(found, expected)
    assert "other" not in step._f.names
