"""Maximum pseudo-likelihood: optimality, closed forms, standard errors, flat directions."""

import numpy as np
import pytest

from pymc_mrf.estimation.fit import fit
from pymc_mrf.fields.families import get_family
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.reference import pseudo_likelihood as naive
from tests.statistics import Z

GRAPH = PairwiseGraph(range(4), [(0, 1), (2, 1), (2, 3), (3, 0), (0, 2)])
FAMILIES = [
    ("agreement", 2),
    ("agreement", 3),
    ("ising", 2),
    ("boltzmann", 2),
    ("ordinal", 3),
    ("ordinal", (3, 2, 4, 2)),
]


def exact_draws(family, eta, b, n, rng):
    """Independent state indices, (n, 4)."""
    tables = family.edge_tables(eta), family.node_tables(b)
    p = enumeration.probabilities(GRAPH.edges, *tables)
    return enumeration.configurations(4, family.n_states)[rng.choice(len(p), size=n, p=p)]


@pytest.mark.parametrize("groups", [None, [0, 1, 0, 1, 1]], ids=["free", "tied"])
@pytest.mark.parametrize(("name", "n_states"), FAMILIES)
def test_gradient_vanishes_at_the_estimate(name, n_states, groups, rng):
    family = get_family(name, n_states)
    shape = (4, family.n_states - 1) if family.node_axes else 4
    b = rng.normal(scale=0.3, size=shape)
    x = exact_draws(family, rng.normal(scale=0.3, size=5), b, 300, rng)
    states = np.array(family.states)
    estimate = fit(states[x], GRAPH, "pseudo", name, groups=groups, n_states=n_states)
    assert estimate.converged
    labels = np.arange(5) if groups is None else np.array(groups)
    eta = np.array([estimate.eta[labels == k][0] for k in range(labels.max() + 1)])
    np.testing.assert_array_equal(eta[labels], estimate.eta)
    # thresholds beyond the states of a node have no meaning, and no slope
    node = np.zeros(4) if estimate.node_parameter is None else np.nan_to_num(estimate.node_parameter)

    different, counts = np.unique(x, axis=0, return_counts=True)

    def mean_lpl(parameters):
        eta, b = np.split(parameters, [labels.max() + 1])
        tables = family.edge_tables(eta[labels]), family.node_tables(b.reshape(shape))
        return naive.log_pseudo_likelihood(different, GRAPH.edges, *tables) @ counts / len(x)

    at = np.concatenate([eta, node.ravel()])
    np.testing.assert_allclose(mean_lpl(at) * len(x), estimate.log_pseudo_likelihood)
    slope = naive.finite_difference(mean_lpl, at)
    slope = slope if estimate.node_parameter is not None else slope[: len(eta)]
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_one_edge_has_a_closed_form(rng):
    # one edge: lpl = 2 * log-likelihood, so theta is the share of agreements
    graph = builders.chain(2)
    x = rng.integers(0, 2, size=(60, 2))
    share = (x[:, 0] == x[:, 1]).mean()
    estimate = fit(x, graph, "pseudo")
    np.testing.assert_allclose(estimate.parameter, [share], rtol=1e-6)
    np.testing.assert_allclose(
        estimate.standard_error, [1 / np.sqrt(60 * share * (1 - share))], rtol=1e-5
    )


@pytest.mark.parametrize(
    ("name", "n_states"), [("agreement", 2), ("boltzmann", 2), ("ordinal", (3, 2, 3, 2))]
)
@pytest.mark.slow
def test_standard_errors_match_simulation(name, n_states, rng):
    family = get_family(name, n_states)
    eta, b = np.array([1.0, 0.5, -0.5, 0.3, 0.8]), np.array([0.2, -0.3, 0.1, 0.0])
    if name == "ordinal":
        eta, b = 0.4 * eta, np.stack([b, -b - 0.3], axis=1)
    own = family.node_entries(4) if family.node_axes else np.ones(4, dtype=bool)
    states, replicates, n = np.array(family.states), 300, 1000
    samples = states[exact_draws(family, eta, b, replicates * n, rng)].reshape(replicates, n, 4)
    estimates, errors = [], []
    for x in samples:
        fitted = fit(x, GRAPH, "pseudo", name, n_states=n_states)
        parts = [fitted.eta], [fitted.standard_error]
        if fitted.node_parameter is not None:
            parts[0].append(fitted.node_parameter[own])
            parts[1].append(fitted.node_standard_error[own])
        estimates.append(np.concatenate(parts[0]))
        errors.append(np.concatenate(parts[1]))
    estimates, sd = np.array(estimates), np.std(estimates, axis=0, ddof=1)
    true = eta if family.node_parameter is None else np.concatenate([eta, b[own]])
    # consistent: the bias of order 1 / n is below a tenth of a standard deviation
    bias = np.abs(estimates.mean(axis=0) - true)
    assert np.all(bias < (Z / np.sqrt(replicates) + 0.1) * sd)
    # a standard deviation from R replicates is known to 1 / sqrt(2 R)
    np.testing.assert_allclose(np.mean(errors, axis=0) / sd, 1.0, atol=Z / np.sqrt(2 * replicates))


def test_no_finite_maximum_warns():
    # every row has exactly one agreement on the triangle: a node between equals always differs
    triangle = builders.complete(3)
    x = np.tile([[0, 0, 1], [0, 1, 1], [0, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 1]], (5, 1))
    with pytest.warns(UserWarning, match="no finite maximum.*groups"):
        estimate = fit(x, triangle, "pseudo", groups=[0, 0, 0])
    assert not estimate.converged
    assert estimate.eta[0] < -5


def test_too_few_iterations_warn(rng):
    x = rng.integers(0, 2, size=(50, 4))
    with pytest.warns(UserWarning, match="max_iterations"):
        estimate = fit(x, GRAPH, "pseudo", max_iterations=1)
    assert not estimate.converged


def test_one_row_has_no_standard_error():
    x = np.array([[0, 0, 0, 1]])
    estimate = fit(x, GRAPH, "pseudo", groups=[0] * 5)
    assert estimate.standard_error is None
