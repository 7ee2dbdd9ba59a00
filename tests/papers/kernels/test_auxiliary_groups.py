"""Auxiliary-variable Metropolis: draws of statistics, ratios and transition matrices by enumeration."""

import arviz as az
import numpy as np
import pytest
from scipy import stats

from pymc_mrf.graph.junction_tree import junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.groups.crp import make_groups
from pymc_mrf.kernels.junction_trees.junction_tree import allocate_workspace, collect, pack_pairwise
from pymc_mrf.kernels.simulation import gibbs
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler
from pymc_mrf.papers.engines.liu_page import SimulatedDraws, exact_draws
from pymc_mrf.papers.kernels import auxiliary_draws
from pymc_mrf.papers.kernels import auxiliary_groups as kernel
from pymc_mrf.steps.common.density_series import envelope, tabulate
from tests.marks import slow
from tests.reference import auxiliary_variable as reference
from tests.reference import enumeration
from tests.statistics import Z, assert_frequencies, assert_mean_close

TRIANGLE = [(0, 1), (1, 2), (0, 2)]
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
AGREEMENT = np.eye(2)
PRODUCT = np.array([[0.0, 0.0], [0.0, 1.0]])


def auxiliary(graph, x, *, draws="exact", statistic=AGREEMENT, node_tables=None, n_sweeps=1):
    nodes = np.zeros((graph.n_nodes, len(statistic))) if node_tables is None else node_tables
    sampler = AuxiliarySampler(graph, len(statistic), len(x), draws=draws, n_sweeps=n_sweeps)
    if draws == "exact":
        return exact_draws(sampler, statistic, nodes)
    return SimulatedDraws(sampler, statistic, nodes, x)


def uniform_base():
    """Uniform theta = sigmoid(eta)."""

    def log_density(eta):
        return -np.abs(eta) - 2.0 * np.log1p(np.exp(-np.abs(eta)))

    return envelope(tabulate(log_density, (-700.0, 36.0), 0.0, np.zeros_like))


def sums_of(x, edges):
    """Agreements of the rows of x on each edge, (r,) float."""
    u, v = np.transpose(edges)
    return (x[:, u] == x[:, v]).sum(axis=0).astype(float)


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.3), (7, 0.6), (8, 0.97), (40, 0.5), (100, 0.02), (1000, 0.03), (1000, 0.4)]
)
def test_binomial(n, p, rng):
    draws = [auxiliary_draws.binomial(float(n), p, rng) for _ in range(20_000)]
    counts = np.bincount(np.array(draws, dtype=int), minlength=n + 1)
    assert_frequencies(counts, stats.binom.pmf(np.arange(n + 1), n, p))


def test_binomial_at_the_ends(rng):
    for n in (3.0, 50.0, 1000.0):
        assert auxiliary_draws.binomial(n, 0.0, rng) == 0.0
        assert auxiliary_draws.binomial(n, 1.0, rng) == n


@pytest.mark.parametrize("mirrored", [True, False])
def test_statistics_of_exact_draws_have_their_joint_distribution(mirrored, rng):
    eta = np.array([0.8, -0.5, 1.2, 0.3, -1.5])
    x = np.zeros((3, 4), dtype=np.int8)
    aux = auxiliary(PairwiseGraph(range(4), SQUARE), x)._replace(mirrored=mirrored)
    expected = reference.statistics_distribution(eta, SQUARE, 4, 3)
    seen = dict.fromkeys(expected, 0)
    out = np.empty(5)
    for _ in range(20_000):
        aux.draw_statistics(eta, out, rng)
        seen[tuple(out.astype(int))] += 1
    assert_frequencies(list(seen.values()), list(expected.values()))


@pytest.mark.parametrize("n_states", [2, 3])
def test_counts_down_the_tree_are_consistent_and_unbiased(n_states, rng):
    """A disconnected field with node terms: every clique counts n draws, means equal marginals."""
    graph = PairwiseGraph(range(6), [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5)])
    edge_tables = rng.normal(size=(5, n_states, n_states))
    edge_tables[0, 0, 1] = -np.inf  # an impossible pair of states
    node_tables = rng.normal(size=(6, n_states))
    tree = junction_tree(graph, n_states).arrays
    work = allocate_workspace(tree)
    pack_pairwise(edge_tables, node_tables, work.tables)
    collect(tree, work.tables, work)
    n, cells = 50, n_states * n_states
    counts, out = np.zeros(tree.n_factor_cells), np.empty(5)
    draws = np.empty((4000, 5 * cells))
    statistic = np.eye(n_states).ravel()
    for t in range(len(draws)):
        auxiliary_draws.draw_edge_statistics(tree, work, statistic, float(n), False, counts, out, rng)
        draws[t] = counts[: 5 * cells]
        assert np.all(counts[: 5 * cells].reshape(5, -1).sum(axis=1) == n)
        np.testing.assert_array_equal(out, counts[: 5 * cells].reshape(5, -1) @ statistic)
    assert np.all(draws[:, 1] == 0)
    _, edge_marginals = enumeration.marginals(graph.edges, edge_tables, node_tables)
    assert_mean_close(draws, n * edge_marginals.ravel())


@pytest.mark.parametrize("draws", ["perfect", "gibbs"])
def test_simulated_statistics_have_the_right_mean(draws, rng):
    """Many sweeps: independent of the start; with the product statistic and biases."""
    graph = PairwiseGraph(range(4), SQUARE)
    bias = np.array([0.3, -0.4, 0.1, -0.8])
    weight = np.array([0.6, 0.9, 0.2, 0.5, 1.1])
    node_tables = bias[:, None] * np.array([0.0, 1.0])
    edge_tables = weight[:, None, None] * PRODUCT
    aux = auxiliary(
        graph,
        np.ones((200, 4), dtype=np.int8),
        draws=draws,
        statistic=PRODUCT,
        node_tables=node_tables,
        n_sweeps=30,
    )
    sums = np.empty((500, 5))
    for out in sums:
        aux.draw_statistics(weight, out, rng)
    _, edge_marginals = enumeration.marginals(SQUARE, edge_tables, node_tables)
    assert_mean_close(sums, 200 * edge_marginals[:, 1, 1])


def test_ratios_are_antisymmetric(rng):
    eta, proposal, tilde = rng.normal(size=(3, 5))
    s, s_old, s_new = rng.integers(0, 50, size=(3, 5)).astype(float)
    forward = kernel.log_moller_ratio(eta, proposal, tilde, s, s_old, s_new)
    backward = kernel.log_moller_ratio(proposal, eta, tilde, s, s_new, s_old)
    assert forward == pytest.approx(-backward, abs=1e-10)
    # exchange: the same auxiliary data, read backwards
    forward = kernel.log_exchange_ratio(eta, proposal, s, s_new)
    assert forward == pytest.approx(-kernel.log_exchange_ratio(proposal, eta, s, s_new), abs=1e-10)
    assert forward == pytest.approx((proposal - eta) @ (s - s_new))


def one_edge_frequencies(states, start, values, others, edge, s, aux, tilde, rng, n_draws=20_000):
    """How often one proposal of the kernel leads from `states[start]` to each state."""
    base, sweep_labels = uniform_base(), kernel.propose_labels
    if isinstance(aux, SimulatedDraws):
        aux.order, sweep_labels = np.array([edge]), sweep_labels.py_func
    else:
        aux = aux._replace(order=np.array([edge]))
    counts = np.zeros(len(states))
    place = {state: i for i, state in enumerate(states)}
    moller = tilde is not None
    group, z = states[start] if moller else (states[start], None)
    for _ in range(n_draws):
        labels = np.array(others)
        labels[edge] = group
        groups = make_groups(labels, values)
        s_auxiliary = np.array(z, dtype=float) if moller else np.zeros(len(others))
        # alpha = 0: no new groups, the state space is finite
        sweep_labels(
            groups,
            s,
            0.0,
            1,
            moller,
            tilde if moller else s,
            s_auxiliary,
            base,
            aux,
            rng,
        )
        new = int(np.flatnonzero(np.array(values) == groups.values[groups.labels[edge]])[0])
        counts[place[(new, tuple(s_auxiliary.astype(int))) if moller else new]] += 1
    return counts


VALUES = (0.9, -0.6, 2.0)
OTHERS = (0, 1, 1, 2, 0)  # of the square's edges; the last is the one that moves


@pytest.mark.parametrize("draws", ["exact", "gibbs"])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.ordinary("1-exact", "2-gibbs")
def test_exchange_transition_matrix(draws, n, rng):
    x = np.array([[0, 0, 1, 1], [0, 1, 0, 0]], dtype=np.int8)[:n]
    s = sums_of(x, SQUARE)
    aux = auxiliary(PairwiseGraph(range(4), SQUARE), x, draws=draws, n_sweeps=40)
    states, matrix, target = reference.one_edge_chain(4, VALUES, OTHERS, s, SQUARE, 4, n)
    flow = target[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-10)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    for start in range(len(states)):
        counts = one_edge_frequencies(states, start, VALUES, OTHERS, 4, s, aux, None, rng, 5000)
        assert_frequencies(counts, matrix[start])


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.ordinary("1")
def test_moller_transition_matrix(n, rng):
    x = np.array([[0, 0, 0], [0, 0, 1]], dtype=np.int8)[:n]
    s = sums_of(x, TRIANGLE)
    values, others = (0.9, -0.6), (0, 1, 0)
    tilde = np.array([0.5, 0.2, -0.3])
    aux = auxiliary(PairwiseGraph(range(3), TRIANGLE), x)
    states, matrix, target = reference.one_edge_chain(2, values, others, s, TRIANGLE, 3, n, tilde)
    flow = target[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-10)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    for start in range(len(states)):
        counts = one_edge_frequencies(states, start, values, others, 2, s, aux, tilde, rng, 3000)
        assert_frequencies(counts, matrix[start])


def test_wrong_ratios_are_told_apart(rng):
    """Negative control: half the data term breaks reversibility, and the kernel differs from it."""
    x = np.array([[0, 0, 1, 1], [0, 1, 0, 0]], dtype=np.int8)
    s = sums_of(x, SQUARE)
    aux = auxiliary(PairwiseGraph(range(4), SQUARE), x)
    states, wrong, target = reference.one_edge_chain(4, VALUES, OTHERS, s, SQUARE, 4, 2, data_power=0.5)
    flow = target[:, None] * wrong
    assert np.abs(flow - flow.T).max() > 1e-3
    p_values = []
    for start in range(len(states)):
        counts = one_edge_frequencies(states, start, VALUES, OTHERS, 4, s, aux, None, rng, 20_000)
        expected = wrong[start] * counts.sum()
        p_values.append(stats.chisquare(counts, expected).pvalue)
    assert min(p_values) < 1e-8


@pytest.mark.parametrize(("moller", "draws"), [(False, "exact"), (True, "exact"), slow(False, "gibbs")])
def test_values_given_labels(moller, draws, rng):
    """Random-walk steps against quadrature on the triangle with two groups."""
    x = rng.integers(2, size=(6, 3), dtype=np.int8)
    aux = auxiliary(PairwiseGraph(range(3), TRIANGLE), x, draws=draws, n_sweeps=20)
    move_values = kernel.walk_values if draws == "exact" else kernel.walk_values.py_func
    s, labels = np.empty(3), np.array([0, 1, 0])
    gibbs.edge_statistics(x, PairwiseGraph(range(3), TRIANGLE).edges, AGREEMENT, s)
    mean, square = reference.fixed_labels_moments(labels, s, TRIANGLE, 3, 6)
    base = uniform_base()
    values = np.empty((8000 if draws == "exact" else 2000, 2))
    eta, tilde = np.zeros(2), np.array([0.4, -0.1, 0.4])
    n_accepted, walk = 0, kernel.Walk(10, 0.3, 0.0)
    for t in range(len(values)):
        n_accepted += move_values(labels, eta, s, walk, base, moller, tilde, aux, rng)
        values[t] = 1.0 / (1.0 + np.exp(-eta))
    ess = min(float(az.ess(values[None, :, k])) for k in range(2))
    assert ess > len(values) / 8
    assert 0.1 < n_accepted / (10 * len(values)) < 0.95
    assert_mean_close(values, mean, ess=ess)
    assert_mean_close(values**2, square, ess=ess)
    # negative control: one agreement more is another posterior
    other, _ = reference.fixed_labels_moments(labels, s + np.array([1, 0, 1]), TRIANGLE, 3, 6)
    assert np.abs(values.mean(axis=0) - other).max() > Z * values.std() / np.sqrt(ess)
