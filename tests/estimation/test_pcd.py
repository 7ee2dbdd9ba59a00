"""PCD against exact maximum likelihood by enumeration; moments; infinite estimates."""

import warnings

import numpy as np
import pytest

from pymc_mrf.estimation import pcd
from pymc_mrf.estimation.point_estimates import fit
from pymc_mrf.fields.families import get_family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps, uniform_states
from tests.marks import slow
from tests.reference import maximum_likelihood as naive
from tests.statistics import Z

# a square with a diagonal and a pendant node
GRAPH = PairwiseGraph("abcde", [*zip("acccd", "bbdae", strict=True), ("d", "a")])
TRUE_ETA = np.array([1.2, 0.4, 0.8, -0.5, 0.3, 1.0])
FAMILIES = [
    ("agreement", 2),
    slow("agreement", 3),
    ("ising", 2),
    ("boltzmann", 2),
    slow("ordinal", 3),
    ("ordinal", (3, 2, 4, 2, 3)),
]
N_PARTICLES = 10_000


def data(family, n, rng):
    b = np.array([0.3, -0.2, 0.0, 0.4, -0.4])
    if family.node_axes:
        b = np.linspace(b, -b, family.n_states - 1, axis=1)
    x = np.empty((n, GRAPH.n_nodes), dtype=np.int8)
    uniform_states(x, family.n_states, rng)
    scale = {"ising": 0.5, "ordinal": 0.4}.get(family.name, 1.0)
    tables = family.edge_tables(scale * TRUE_ETA), family.node_tables(b)
    gibbs_sweeps(x, *tables, GRAPH.arrays, 100, rng)
    return x


@pytest.mark.parametrize("groups", [None, [7, 3, 7, 3, 3, 7]], ids=["free", "tied"])
@pytest.mark.parametrize(("name", "n_states"), FAMILIES)
@pytest.mark.ordinary("agreement-2-tied", "ising-2-free", "boltzmann-2-tied", "ordinal-n_states5-free")
def test_equals_the_exact_estimate(name, n_states, groups, rng):
    family = get_family(name, n_states)
    x = data(family, 400, rng)
    labels = np.arange(6) if groups is None else np.unique(groups, return_inverse=True)[1]
    g = family.node_basis if family.node_parameter else None
    cards = family.cards or None
    exact, fisher = naive.exact_mle(x, GRAPH.edges, family.edge_statistic, g, labels, cards)
    estimate = fit(
        np.array(family.states)[x], GRAPH, "pcd", name,
        groups=groups, n_states=n_states, random_seed=rng, n_particles=N_PARTICLES,
    )  # fmt: skip
    assert estimate.converged
    inverse = np.linalg.inv(fisher)
    # 150 averaged sweeps at least; ten of them count as one independent draw of all particles
    noise = Z * np.sqrt(np.diag(inverse) / (N_PARTICLES * 15))
    n_groups = labels.max() + 1
    np.testing.assert_array_less(np.abs(estimate.eta - exact[:n_groups][labels]), noise[labels])
    np.testing.assert_allclose(estimate.parameter, family.parameter(estimate.eta))
    error = np.sqrt(np.diag(inverse) / len(x))
    np.testing.assert_allclose(estimate.standard_error, error[:n_groups][labels], rtol=0.1)
    if g is None:
        assert estimate.node_parameter is None
        assert estimate.node_standard_error is None
    else:
        own = ~np.isnan(estimate.node_parameter)
        gap = np.abs(estimate.node_parameter[own] - exact[n_groups:])
        np.testing.assert_array_less(gap, noise[n_groups:])
        np.testing.assert_allclose(estimate.node_standard_error[own], error[n_groups:], rtol=0.1)
    # control: the noise bound tells this estimate from that of other data
    swapped = x.copy()  # nodes with equally many states
    swapped[:, [0, 1, 3, 4]] = x[:, [4, 3, 1, 0]]
    other, _ = naive.exact_mle(swapped, GRAPH.edges, family.edge_statistic, g, labels, cards)
    assert np.any(np.abs(estimate.eta - other[:n_groups][labels]) > noise[labels])


@pytest.mark.parametrize(("name", "n_states"), FAMILIES)
@pytest.mark.ordinary("agreement-2", "boltzmann-2")
def test_fitted_moments_equal_data_moments(name, n_states, rng):
    family = get_family(name, n_states)
    x = data(family, 400, rng)
    estimate = fit(np.array(family.states)[x], GRAPH, "pcd", name, n_states=n_states, random_seed=1)
    node = np.zeros(5) if estimate.node_parameter is None else np.nan_to_num(estimate.node_parameter)
    g = None if estimate.node_parameter is None else family.node_basis
    z = x[rng.integers(len(x), size=20_000)]
    tables = family.edge_tables(estimate.eta), family.node_tables(node)
    gibbs_sweeps(z, *tables, GRAPH.arrays, 100, rng)
    arguments = (GRAPH.edges, family.edge_statistic, g, np.arange(6), family.cards or None)
    fitted, observed = (naive.statistics(sample, *arguments) for sample in (z, x))
    sd = fitted.std(axis=0)
    # noise of these draws, and of the estimate: 150 sweeps of 1000 particles, ten count as one
    noise = Z * sd * np.sqrt(1 / 20_000 + 1 / (1000 * 15))
    np.testing.assert_array_less(np.abs(fitted.mean(axis=0) - observed.mean(axis=0)), noise)
    assert estimate.moment_gap < np.max(noise)


def test_same_seed_same_estimate(rng):
    x = data(get_family("agreement"), 100, rng)
    first, second, third = (fit(x, GRAPH, random_seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.eta, second.eta)
    assert np.any(first.eta != third.eta)


def test_an_edge_that_always_agrees_is_named(rng):
    x = data(get_family("agreement"), 100, rng)
    x[:, 4] = x[:, 3]
    for method in ("pcd", "pseudo"):
        with pytest.raises(ValueError, match=r"edge d--e never differ.*groups"):
            fit(x, GRAPH, method)
    tied = fit(x, GRAPH, groups=[0, 0, 1, 1, 1, 0], random_seed=1)
    assert tied.converged
    x[:, 4] = 1 - x[:, 3]
    with pytest.raises(ValueError, match="edge d--e never agree"):
        fit(x, GRAPH)


def test_a_constant_column_is_named_where_nodes_have_parameters(rng):
    x = data(get_family("boltzmann"), 100, rng)
    x[:, 1] = 1
    with pytest.raises(ValueError, match=r"node 'b' is constant.*bias is infinite"):
        fit(x, GRAPH, family="boltzmann")


def test_a_combination_on_its_bound_stays_finite_and_shows_in_the_standard_error():
    # a triangle on which every row has exactly one agreement: their sum is on its lower bound
    graph = PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
    x = np.tile([[0, 0, 1], [0, 1, 1], [0, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 1]], (5, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # whether moments agree here is a matter of chance
        estimate = fit(x, graph, groups=[0, 0, 0], random_seed=1)
    assert -30 <= estimate.eta[0] < -2
    assert estimate.standard_error[0] > 1.5


def test_a_spent_budget_warns(rng, monkeypatch):
    # no steps away from an empty start
    monkeypatch.setattr(pcd, "STEP", 0.0)
    x = data(get_family("agreement"), 400, rng)
    monkeypatch.setattr(pcd, "maximise", lambda problem, ridge: (np.zeros(6), True, 0))
    with pytest.warns(UserWarning, match=r"did not converge in \d+ sweeps.*edge .*max_iterations"):
        estimate = fit(x, GRAPH, max_iterations=500, random_seed=1)
    assert not estimate.converged
    assert estimate.n_iterations <= 500
    assert estimate.moment_gap > 0.05


@pytest.mark.parametrize("options", [{"n_particles": 0}, {"n_particles": True}, {"max_iterations": 150}])
def test_bad_options(options, rng):
    x = data(get_family("agreement"), 50, rng)
    with pytest.raises(ValueError, match=next(iter(options))):
        fit(x, GRAPH, **options)
