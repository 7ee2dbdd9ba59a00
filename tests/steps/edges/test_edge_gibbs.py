"""EdgeGibbs: posteriors by quadrature over all structures, the step contract, what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.graph.junction_tree import field_tree
from pymc_mrf.kernels.junction_trees import junction_tree as tree_kernels
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import engine_in, prior_of, uncorrected
from tests.posteriors import draws_of, fixed_p, furthest
from tests.reference.spike_and_slab import (
    structure_posterior,
)
from tests.reference.views import use_junction_tree
from tests.statistics import Z
from tests.steps.edges.binary_models import (
    BIAS,
    EDGES,
    GRAPH,
    REFERENCES,
    SAMPLE,
    TRIANGLE,
    assert_one_edge,
    beta_p,
    boltzmann_data,
    fixed_bias_model,
    random_bias_model,
    reference,
)


def test_the_reference_has_converged():
    x = boltzmann_data(80, seed=1)
    coarse, fine = (reference(x, "exact", fixed_p(0.4), n_nodes=n) for n in (5, 7))
    np.testing.assert_allclose(coarse.inclusion, fine.inclusion, atol=1e-4)
    np.testing.assert_allclose(coarse.weight, fine.weight, atol=1e-4)


def by_tree(step):
    use_junction_tree(engine_in(step), GRAPH)


def test_by_junction_tree():
    x = boltzmann_data(80, seed=2)
    [w] = draws_of(fixed_bias_model(x), ["w"], 2000, change=by_tree)
    assert furthest(w, reference(x, "exact", fixed_p(0.4))) < Z


def test_without_the_correction_the_posterior_is_another():
    x = boltzmann_data(80, seed=1)
    [w] = draws_of(fixed_bias_model(x), ["w"], 2000, change=uncorrected)
    assert furthest(w, reference(x, "exact", fixed_p(0.4))) > Z


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_random_p_by_nuts(likelihood):
    x = boltzmann_data(80, seed=1)
    model = fixed_bias_model(x, p=(2.0, 3.0), likelihood=likelihood)
    with model:
        idata = pm.sample(
            4000, tune=500, chains=2, cores=1, step=EdgeGibbs([model["w"]]), random_seed=1, **SAMPLE
        )
    assert furthest(idata.posterior.w.values, reference(x, likelihood, beta_p(2.0, 3.0))) < Z


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_ising_is_the_boltzmann_machine_in_other_words(likelihood):
    """y = (1 + x) / 2: w = 4 J, b_i = 2 h_i - 2 sum_j J_ij; an Ising field with constant h."""
    x = boltzmann_data(80, seed=1)
    model = fixed_bias_model(2 * x - 1, slab=pm.Normal.dist(0, 0.25), likelihood=likelihood, ising=True)
    [w] = draws_of(model, ["w"], 5000)
    exact = reference(2 * x - 1, likelihood, fixed_p(0.4), states=(-1, 1), sd=0.25)
    # the same by enumeration of the {0, 1} field
    boltzmann = REFERENCES[likelihood](x, EDGES, (0, 1))

    def converted(parameters):
        J, h = parameters[:, :6], parameters[:, 6:]
        b = 2 * h
        for e, (u, v) in enumerate(EDGES):
            b[:, u] -= 2 * J[:, e]
            b[:, v] -= 2 * J[:, e]
        return boltzmann(np.concatenate([4 * J, b], axis=1))

    same = structure_posterior(
        converted, 6, 4, fixed_p(0.4), stats.norm(0, 0.25).logpdf, bias=BIAS, n_nodes=5
    )
    np.testing.assert_allclose(exact.inclusion, same.inclusion, atol=1e-3)
    assert furthest(w, exact) < Z


SLABS = {
    "Cauchy": (lambda: pm.Cauchy.dist(0, 1), stats.cauchy(0, 1).logpdf),
    "Laplace": (lambda: pm.Laplace.dist(0, 0.7), stats.laplace(0, 0.7).logpdf),
    "StudentT": (lambda: pm.StudentT.dist(nu=3, mu=0.2, sigma=0.8), stats.t(3, 0.2, 0.8).logpdf),
    "Logistic": (lambda: pm.Logistic.dist(0, 0.5), stats.logistic(0, 0.5).logpdf),
}


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("name", SLABS)
def test_one_edge_under_any_slab(name, likelihood):
    slab, log_slab = SLABS[name]
    assert_one_edge(lambda model: draws_of(model, ["w"], 2000), slab(), log_slab, likelihood)


@pytest.mark.slow
@pytest.mark.compiled
def test_geweke_joint_distribution():
    """x | w, b and (w, b) | x in turn leave the prior invariant."""
    n_data, n_steps, p = 3, 12_000, 0.4
    x = boltzmann_data(n_data, 3, TRIANGLE.edges, np.zeros(3), np.zeros(3))
    x[0], x[1] = 0, 1  # no constant column
    model = random_bias_model(x, p=p)
    with model:
        step = EdgeGibbs([model["w"], model["b"]])
    rng = np.random.default_rng(8)
    step.setup_chain(rng, 0, n_steps)
    step.started = True
    engine, point = engine_in(step), model.initial_point()
    y = np.array(BOLTZMANN.states, dtype=float)
    draws = np.empty((n_data, 3), dtype=np.int8)
    kept = np.empty((n_steps, 4))
    u, v = TRIANGLE.edges.T
    c_u, c_v = engine.view.field.centre[:, :, 0].T
    tree = field_tree(TRIANGLE, 2).arrays
    work = tree_kernels.allocate_workspace(tree)
    for i in range(n_steps):
        point, _ = step.step(point)
        tree_kernels.pack_pairwise(
            BOLTZMANN.edge_tables(point["w"]), BOLTZMANN.node_tables(point["b"]), work.tables
        )
        tree_kernels.collect(tree, work.tables, work)
        tree_kernels.draw_rows(tree, work, draws, rng)
        values = y[draws]
        t = values.sum(axis=0)
        s = np.empty(3)
        gibbs.edge_statistics(draws, TRIANGLE.edges, BOLTZMANN.edge_statistic, s)
        engine.view.data.t[:] = t
        engine.view.data.sums[:] = s
        engine.view.data.s[:] = s - c_v * t[u] - c_u * t[v]
        w, b = point["w"], point["b"]
        kept[i] = np.count_nonzero(w), (w**2).sum(), b.mean(), (b**2).mean()
    for column, expected in zip(kept.T, (3 * p, 3 * p, 0.0, 4.0), strict=True):
        assert abs(column.mean() - expected) < Z * float(az.mcse(column[None, :])), expected


@pytest.mark.filterwarnings("ignore:x. the nodes of 0--1 always agree")
def test_very_strong_edges_under_both_ways_of_exact_evaluation():
    """Identical columns: weights run so far out that listed probabilities underflow."""
    rng = np.random.default_rng(3)
    x = rng.choice([-1, 1], size=(40, 3))
    x[:, 1] = x[:, 0]
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Cauchy.dist(0, 1), shape=3)
        pmrf.Ising("x", w, graph=pmrf.graphs.complete(3), observed=x, likelihood="exact")
        step = pmrf.steps.EdgeGibbs([w])
    engine = engine_in(step)
    prior, b = prior_of(step).read(model.initial_point())
    paths = []
    for enumerates in (True, False):
        if not enumerates:
            use_junction_tree(engine, pmrf.graphs.complete(3))
        rng, path = np.random.default_rng(1), []
        for start in (340.0, 400.0, 1000.0):
            weights = np.array([start, 0.3, 0.0])
            for _ in range(20):
                engine.sweep(weights, b.copy(), prior, rng)
                path.append(weights.copy())
        paths.append(path)
    np.testing.assert_allclose(*paths, rtol=1e-6, atol=1e-9)
