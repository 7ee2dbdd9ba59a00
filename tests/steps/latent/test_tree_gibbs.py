"""TreeGibbs: stationary distributions against enumeration, starts, messages."""

import re

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.insides import evidence_of, field_of, sweeps_of
from tests.marks import slow
from tests.reference import enumeration
from tests.reference import latent_field as reference
from tests.statistics import Z, assert_frequencies, assert_mean_close
from tests.steps.latent.models import (
    GRID,
    MU,
    Y,
    agreement_tables,
    assert_marginals,
    hidden_potts,
    make,
    run,
    tree_mode,
)

SAMPLE = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def ising_tables(J, n_edges):
    return np.full((n_edges, 1, 1), J) * np.array([[1.0, -1.0], [-1.0, 1.0]])


@pytest.fixture(scope="module")
def potts_posterior():
    tables = agreement_tables(0.6, GRID.n_edges, 3), np.zeros((9, 3))
    return reference.posterior(GRID.edges, *tables, lambda z: reference.normal(Y, MU[z], 0.9))


@pytest.mark.parametrize("exact", [True, False])
def test_hidden_potts(potts_posterior, monkeypatch, exact):
    if not exact:
        tree_mode(monkeypatch)
    model = hidden_potts()
    step = make(model, n_partitions=1 if exact else 2)
    assert field_of(step).exact is exact
    draws, accept = run(step, model, 4000)
    assert accept == 1.0
    assert_marginals(draws, *potts_posterior, GRID.edges, 3)


def test_a_step_that_ignores_the_evidence_is_noticed(potts_posterior, monkeypatch):
    model = hidden_potts()
    step = make(model)
    monkeypatch.setattr(step, "_residual", lambda *args: 0.0)
    read = evidence_of(step).read
    monkeypatch.setattr(evidence_of(step), "read", lambda p: read(p)._replace(table=np.zeros((9, 3))))
    draws, _ = run(step, model, 4000)
    with pytest.raises(AssertionError):
        assert_marginals(draws, *potts_posterior, GRID.edges, 3)


def test_exact_draws_are_independent(potts_posterior):
    model = hidden_potts()
    draws, _ = run(make(model), model, 5000)
    counts = np.bincount(enumeration.configuration_index(draws[:, :5], 3), minlength=3**5)
    configs, p = potts_posterior
    first = np.bincount(enumeration.configuration_index(configs[:, :5], 3), p, minlength=3**5)
    assert_frequencies(counts, first)


@pytest.mark.slow
def test_unknown_means_in_pm_sample():
    prior, edges = np.array([-0.7, 0.8]), GRID.edges
    with pm.Model():
        mu = pm.Normal("mu", prior, 0.6)
        x = pmrf.Ising("x", np.float64(0.25), graph=GRID)
        pm.Normal("y", mu[(x + 1) // 2], 0.7, observed=Y)
        idata = pm.sample(400, tune=200, chains=2, cores=1, random_seed=3, **SAMPLE)
    assert {"tree_gibbs_changed", "tree_gibbs_accept", "step_size"} <= set(idata.sample_stats)
    tables = ising_tables(0.25, GRID.n_edges), np.zeros((9, 2))
    configs, p = reference.posterior(
        edges, *tables, lambda z: reference.unknown_means(Y, z, prior, 0.6, 0.7)
    )
    up = idata.posterior["x"].values == 1
    expected = reference.node_marginals(configs, p, 2)[:, 1]
    for i in range(9):
        draws = up[..., i].astype(float)
        assert az.ess(draws) > 200
        assert abs(draws.mean() - expected[i]) < Z * az.mcse(draws)


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
@pytest.mark.parametrize("exact", [slow(True), False])
def test_missing_cells(monkeypatch, exact):
    if not exact:
        tree_mode(monkeypatch)
    graph = builders.grid(2, 3)
    J, h = np.array([0.4, -0.3, 0.6, 0.2, 0.5, -0.2, 0.3]), np.array([0.2, 0.0, -0.3, 0.4, 0.1, 0.0])
    data = np.array([[1, -1, 1, 1, -1, 1], [1, 1, 1, -1, 1, 1], [-1, -1, 1, 1, 1, -1]])
    mask = np.zeros((3, 6), dtype=bool)
    mask[0, [0, 1, 3]] = mask[2, [0, 2, 3, 4]] = True  # node 5 is always known, row 1 complete
    means = np.array([[0.5, 0.0, 0.1, -0.3, 0.2, 0.0]] * 3)
    with pm.Model() as model:
        x = pmrf.Ising("x", J, h, graph=graph, observed=np.ma.masked_array(data, mask))
        pm.Normal("y", x, 1.2, observed=means)
    step = make(model, "x_unobserved")
    assert field_of(step).exact is exact
    draws, _ = run(step, model, 4000)
    tables = J[:, None, None] * np.array([[1, -1], [-1, 1]]), h[:, None] * np.array([-1, 1])
    start = 0
    for row in (0, 2):
        configs, p = reference.posterior(
            graph.edges, *tables, lambda z, row=row: reference.normal(means[row], 2 * z - 1, 1.2)
        )
        known = ~mask[row]
        fits = (2 * configs[:, known] - 1 == data[row, known]).all(axis=1)
        configs, p = configs[fits][:, mask[row]], p[fits] / p[fits].sum()
        part = (draws[:, start : start + mask[row].sum()] + 1) // 2
        start += mask[row].sum()
        pairs = [(0, 1), (1, 2)]
        assert_marginals(part, configs, p, pairs, 2)


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_whole_rows_missing():
    data = np.ma.masked_array(np.ones((3, 4), dtype=int), np.arange(3)[:, None] == [1] * 4)
    graph, J = builders.grid(2, 2), np.array([0.5, -0.4, 0.3, 0.2])
    with pm.Model() as model:
        pmrf.Ising("x", J, graph=graph, observed=data)
    draws, _ = run(make(model, "x_unobserved"), model, 5000)
    configs, p = reference.posterior(
        graph.edges, J[:, None, None] * np.array([[1, -1], [-1, 1]]), np.zeros((4, 2)), lambda z: 0.0
    )
    assert_marginals((draws.reshape(-1, 4) + 1) // 2, configs, p, graph.edges, 2)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_rows_with_parameters_of_their_own(monkeypatch, exact):
    if not exact:
        tree_mode(monkeypatch)
    graph = builders.grid(2, 2)
    J = np.array([[0.5, -0.4, 0.3, 0.2], [-0.6, 0.1, 0.8, 0.3]])
    y = np.array([[0.2, -0.7, 1.0, 0.1], [0.4, 0.3, -0.9, 0.0]])
    with pm.Model() as model:
        x = pmrf.BoltzmannMachine("x", 3 * J, -J, graph=graph, shape=(2, 4))
        pm.Normal("y", 1.5 * x, 0.8, observed=y)
    draws, _ = run(make(model), model, 4000)
    for row in range(2):
        tables = 3 * J[row, :, None, None] * np.diag([0, 1]), -J[row, :, None] * np.arange(2)
        configs, p = reference.posterior(
            graph.edges, *tables, lambda z, row=row: reference.normal(y[row], 1.5 * z, 0.8)
        )
        assert_marginals(draws[:, row], configs, p, graph.edges, 2)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "particles"])
def test_random_coupling(likelihood):
    graph, y = builders.grid(2, 2), np.array([0.8, 0.5, -0.2, 0.9])
    with pm.Model():
        J = pm.Normal("J", 0.2, 0.5)
        x = pmrf.Ising("x", J, graph=graph, likelihood=likelihood)
        pm.Normal("y", x, 1.0, observed=y)
        idata = pm.sample(600, tune=300, chains=2, cores=1, random_seed=4, **SAMPLE)
    couplings = np.linspace(-2.5, 3.0, 300)
    mass, up = np.empty(300), np.empty((300, 4))
    for k, value in enumerate(couplings):
        tables = ising_tables(value, 4), np.zeros((4, 2))
        configs = enumeration.configurations(4, 2)
        scores = enumeration.log_potentials(configs, graph.edges, *tables)
        scores += [reference.normal(y, 2 * z - 1, 1.0) for z in configs]
        scores -= enumeration.log_partition(graph.edges, *tables)
        weights = np.exp(scores - 0.5 * ((value - 0.2) / 0.5) ** 2)
        mass[k], up[k] = weights.sum(), weights @ configs / weights.sum()
    mass /= mass.sum()
    draws = idata.posterior["J"].values
    assert abs(draws.mean() - mass @ couplings) < Z * az.mcse(draws)
    for i in range(4):
        draws = (idata.posterior["x"].values[..., i] == 1).astype(float)
        assert abs(draws.mean() - mass @ up[:, i]) < Z * az.mcse(draws)


def sum_of_means(x):
    pm.Normal("y", pm.math.stack(list(MU))[x].sum(), 1.0, observed=1.5)
    return lambda z: reference.normal(1.5, MU[z].sum(), 1.0)


def product_of_two(x):
    pm.Potential("product", 0.7 * x[0] * x[1])
    pm.Normal("y", x, 1.0, observed=Y)
    return lambda z: 0.7 * z[0] * z[1] + reference.normal(Y, z, 1.0)


def blur(x):
    weights = 0.6 * np.eye(9) + 0.2 * np.eye(9, k=1)
    pm.Normal("y", pm.math.dot(weights, x), 1.0, observed=Y)
    return lambda z: reference.normal(Y, weights @ z, 1.0).sum()


@pytest.mark.slow
@pytest.mark.parametrize("rest", [sum_of_means, product_of_two, blur])
def test_terms_on_several_nodes_are_corrected_for(rest):
    with pm.Model() as model:
        log_likelihood = rest(pmrf.Potts("x", np.float64(0.4), graph=GRID, n_states=3))
    with pytest.warns(UserWarning, match=r"several of its nodes \(one of: (y|product, y|y, product)\)"):
        step = make(model)
    draws, accept = run(step, model, 1500)
    assert 0.1 < accept < 1.0
    tables = agreement_tables(0.4, GRID.n_edges, 3), np.zeros((9, 3))
    assert_marginals(draws, *reference.posterior(GRID.edges, *tables, log_likelihood), GRID.edges, 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the rest of the model seems to say nothing about x")
@pytest.mark.parametrize("exact", [True, False])
def test_a_dependence_that_the_search_misses_is_watched(monkeypatch, exact):
    if not exact:
        tree_mode(monkeypatch)
    pattern = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1])
    with pm.Model() as model:
        x = pmrf.BoltzmannMachine("x", 0.3, -0.4, graph=GRID)
        pm.Potential("pattern", 3.0 * pm.math.eq(x, pattern).all())
    step = make(model)
    assert evidence_of(step).separable  # one configuration in 512
    draws, accept = run(step, model, 10_000)  # it mixes slowly
    assert accept < 1.0
    tables = np.tile(np.diag([0, 0.3]), (GRID.n_edges, 1, 1)), np.tile([0, -0.4], (9, 1))
    configs, p = reference.posterior(GRID.edges, *tables, lambda z: 3.0 * np.array_equal(z, pattern))
    [expected] = p[(configs == pattern).all(axis=1)]
    hits = (draws == pattern).all(axis=1).reshape(50, -1).mean(axis=1)
    assert_mean_close(hits, expected)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_factor_graph(monkeypatch, exact):
    if not exact:
        tree_mode(monkeypatch)
    rng = np.random.default_rng(5)
    scopes, cards = [(0, 1, 2), (2, 3), (3, 0)], [2, 3, 2, 3]
    tables = [rng.normal(size=[cards[i] for i in scope]) for scope in scopes]
    y = np.array([0.5, 1.2, 0.3, 1.9])
    with pm.Model() as model:
        x = pmrf.FactorGraphMRF("x", tables, scopes=scopes, cardinalities=cards)
        pm.Normal("y", x, 0.9, observed=y)
    draws, _ = run(make(model), model, 4000)
    configs = np.array([z for z in np.ndindex(*cards)])
    scores = [
        sum(t[tuple(z[list(s)])] for t, s in zip(tables, scopes, strict=True))
        + reference.normal(y, z, 0.9)
        for z in configs
    ]
    p = np.exp(scores) / np.exp(scores).sum()
    assert_marginals(draws, configs, p, [(0, 2), (1, 3)], 3)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.slow
def test_impossible_combinations(monkeypatch, exact):
    if not exact:
        tree_mode(monkeypatch)
    with np.errstate(divide="ignore"):
        tables = [np.log([[0.0, 1.0], [1.0, 0.5]])] * 2
    y = np.array([0.2, 0.6, 0.9])
    with pm.Model() as model:
        x = pmrf.FactorGraphMRF("x", tables, scopes=[(0, 1), (1, 2)], cardinalities=[2, 2, 2])
        pm.Normal("y", x, 0.8, observed=y)
    if not exact:
        model.set_initval(model["x"], [0, 0, 0])
        with pytest.raises(ValueError, match=r"start of x has probability zero .*initvals="):
            make(model)
        model.set_initval(model["x"], None)
    draws, _ = run(make(model), model, 5000)
    configs = np.array([[0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 0, 1]])
    weights = np.array([1.0, 0.5, 0.5, 0.25, 1.0])
    weights *= [np.exp(reference.normal(y, z, 0.8)) for z in configs]
    assert_marginals(draws, configs, weights / weights.sum(), [(0, 2)], 2)


def test_what_is_kept_between_steps_is_renewed(monkeypatch):
    tree_mode(monkeypatch)
    with pm.Model() as model:
        J, mu = pm.Normal("J", 0.3, 0.1), pm.Normal("mu", 0.0, 1.0, initval=0.0)  # not fitted
        x = pmrf.Ising("x", J, graph=GRID)
        pm.Normal("y", mu * x, 0.9, observed=Y)
    kept = make(model)
    points = [model.initial_point()]
    points += [
        {**points[0], "mu": np.array(0.8)},
        {**points[0], "mu": np.array(0.8), "J": np.array(2.0)},
        {**points[0], "x": np.where(np.arange(9) % 2, 1, -1)},
    ]
    for point in [*points[1:], *points[:2]]:
        new = make(model, initial_point=point)
        draws = []
        for step in (kept, new):
            step.setup_chain(np.random.default_rng(5), 0, 1)
            draws.append(step.step(point)[0]["x"])
        np.testing.assert_array_equal(*draws)


@pytest.mark.slow
def test_default_number_of_sweeps():
    with pm.Model() as model:
        pmrf.Ising("x", np.float64(0.2), graph=builders.grid(16, 16))
        pmrf.Ising("z", np.float64(0.2), graph=builders.grid(40, 40))
    assert sweeps_of(make(model, n_sweeps=None)) == 8
    assert sweeps_of(make(model, "z", n_sweeps=None)) == 2
    assert sweeps_of(make(model, "z", n_sweeps=1)) == 1


def test_default_start_is_replaced_and_the_users_is_kept(monkeypatch):
    tree_mode(monkeypatch)
    graph = builders.grid(20, 20)
    with pm.Model() as model:
        pmrf.Potts("x", np.float64(3.0), graph=graph, n_states=3)
    step = make(model, clusters=False)
    step.setup_chain(np.random.default_rng(1), 0, 1)
    point, _ = step.step(model.initial_point())
    assert len(np.unique(point["x"])) > 1  # coupling 3 keeps a constant field as it is
    step.setup_chain(np.random.default_rng(1), 0, 1)
    point, _ = step.step({"x": np.full(400, 2)})
    assert (point["x"] == 2).mean() > 0.95


@pytest.mark.warm
def test_messages():
    model = hidden_potts()
    with model:
        z = pm.Normal("z")
    with pytest.raises(
        TypeError, match=re.escape("TreeGibbs samples latent fields such as pymc_mrf.Ising, but z")
    ):
        TreeGibbs([z], model=model)
    for option in ("n_sweeps", "n_partitions"):
        with pytest.raises(ValueError, match=f"{option} must be a positive integer, not 0"):
            make(model, **{option: 0})
    step = make(model)
    with pytest.raises(
        ValueError, match=r"start value of node .* of x is 5, but its states are .*initvals"
    ):
        step.step(model.initial_point() | {"x": np.full(9, 5)})
    with pm.Model() as model:
        x = pmrf.Ising("x", 0.2, graph=PairwiseGraph(range(3), [(0, 1), (1, 2)]))
        for name, state in (("p", 1), ("q", -1)):
            pm.Potential(name, pm.math.switch(pm.math.eq(x[1], state), -np.inf, 0.0))
    with pytest.raises(ValueError, match=r"no state of node 1 of x is possible: .* undefined \(p, q\)"):
        make(model)


@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw x at once")
def test_a_term_without_a_density_is_named():
    with pm.Model() as model:
        x = pmrf.Ising("x", 0.2, graph=pmrf.graphs.chain(3), shape=(3,))
        pm.Potential("root", pm.math.sqrt(pm.math.sum(x)))
    with pytest.raises(
        ValueError, match=r"a term that depends on x \(one of: root\) is NaN or infinite .*; write"
    ):
        make(model).step(model.initial_point())


def noisy_or(observed=1):
    """Without leak: the observation is impossible if all causes are absent."""
    q = np.array([0.6, 0.5, 0.7])
    with pm.Model() as model:
        x = pmrf.BoltzmannMachine("x", np.float64(0.4), -0.3, graph=pmrf.graphs.chain(3), shape=(3,))
        absent = pm.math.prod(pm.math.switch(pm.math.eq(x, 1), 1 - q, 1.0))
        pm.Bernoulli("y", 1 - absent, observed=observed)
    z = np.array(np.meshgrid(*[[0, 1]] * 3, indexing="ij")).reshape(3, -1).T
    energy = 0.4 * (z[:, 0] * z[:, 1] + z[:, 1] * z[:, 2]) - 0.3 * z.sum(axis=1)
    p = np.exp(energy) * (1 - np.where(z == 1, 1 - q, 1.0).prod(axis=1))
    return model, z, p / p.sum()


@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw x at once")
def test_a_term_that_is_impossible_where_all_nodes_agree():
    model, z, p = noisy_or()
    with model:
        idata = pm.sample(
            2000, tune=10, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
            initvals={"x": np.array([1, 0, 0])}, compute_convergence_checks=False,
        )  # fmt: skip
    draws = idata.posterior["x"].values[0]
    for row, probability in zip(z, p, strict=True):
        here = np.all(draws == row, axis=1).astype(float)
        error = float(az.mcse(here[None])) if here.any() else 0.0
        assert abs(here.mean() - probability) < Z * error + 1e-12, row


@pytest.mark.warm
@pytest.mark.filterwarnings("ignore:TreeGibbs cannot draw x at once")
def test_hard_constraints_on_several_nodes_are_kept():
    with pm.Model():
        x = pmrf.BoltzmannMachine("x", 0.2, 0.0, graph=pmrf.graphs.chain(40), shape=(40,))
        pm.Potential("few", pm.math.switch(pm.math.le(x.sum(), 3), 0.0, -np.inf))
        options = {"tune": 5, "chains": 1, "cores": 1, "progressbar": False, "quiet": True}
        idata = pm.sample(100, random_seed=1, compute_convergence_checks=False, **options)
        assert idata.posterior["x"].values.sum(axis=-1).max() <= 3
        with pytest.raises(ValueError, match="the start of x has probability zero"):
            pmrf.steps.TreeGibbs([x], initial_point={"x": np.ones(40, dtype=np.int64)})


def test_a_latent_field_that_parametrises_an_intractable_one_is_refused():
    with pm.Model():
        x = pmrf.Ising("x", 0.2, graph=pmrf.graphs.chain(3), shape=(3,))
        data = np.ones((4, 3), dtype=int)
        pmrf.Ising("y", 0.3, 0.5 * x, graph=pmrf.graphs.chain(3), observed=data, likelihood="particles")
        with pytest.raises(ValueError, match="it parametrises y, whose partition function"):
            pmrf.steps.TreeGibbs([x])
