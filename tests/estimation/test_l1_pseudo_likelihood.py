"""L1-penalised pseudo-likelihood: general optimisers, scikit-learn, paths, refused input."""

import numpy as np
import pytest

from pymc_mrf.estimation.l1 import l1_pseudo_likelihood
from pymc_mrf.estimation.neighborhood import neighborhood_selection
from pymc_mrf.fields.families import ISING
from pymc_mrf.graph import builders
from pymc_mrf.kernels.simulation.gibbs import gibbs_sweeps, uniform_states
from tests.marks import slow
from tests.reference import l1_pseudo_likelihood as reference

STATES = {"boltzmann": (0, 1), "ising": (-1, 1)}
COMPLETE = builders.complete(4)


@pytest.fixture
def x(rng):
    """40 rows of 4 nodes, as state indices."""
    x = rng.integers(2, size=(40, 4))
    x[:, 1] = np.where(rng.random(40) < 0.8, x[:, 0], x[:, 1])
    x[:, 3] = np.where(rng.random(40) < 0.5, 1 - x[:, 2], x[:, 3])
    return x


@pytest.mark.parametrize("bias_sd", [slow(np.inf), 0.5])
@pytest.mark.parametrize("family", STATES)
@pytest.mark.ordinary("ising-0.5")
def test_joint_estimate_is_the_minimum(x, family, bias_sd):
    states = np.array(STATES[family])
    penalties = [0.1, 0.02]
    path = l1_pseudo_likelihood(
        states[x], COMPLETE, family=family, penalties=penalties, bias_sd=bias_sd, tolerance=1e-9
    )
    for k, penalty in enumerate(penalties):
        weight, bias = reference.minimum(x, COMPLETE.edges, 4, states, penalty, bias_sd)
        np.testing.assert_allclose(path.parameter[k], weight, atol=2e-3)
        np.testing.assert_allclose(path.node_parameter[k], bias, atol=2e-3)
        ours = reference.objective(
            x, COMPLETE.edges, path.parameter[k], path.node_parameter[k], states, penalty, bias_sd
        )
        theirs = reference.objective(x, COMPLETE.edges, weight, bias, states, penalty, bias_sd)
        assert ours <= theirs + 1e-9
        # a general optimiser leaves small values where ours are exact zeros
        assert np.array_equal(path.parameter[k] != 0, np.abs(weight) > 1e-3)


def test_candidates_are_all_that_may_be_edges(x):
    chain = builders.chain(4)
    path = l1_pseudo_likelihood(x, chain, penalties=[0.01], tolerance=1e-9)
    weight, bias = reference.minimum(x, chain.edges, 4, (0, 1), 0.01, np.inf)
    np.testing.assert_allclose(path.parameter[0], weight, atol=2e-3)
    np.testing.assert_allclose(path.node_parameter[0], bias, atol=2e-3)


def test_separate_regressions_are_those_of_scikit_learn(x):
    from sklearn.linear_model import LogisticRegression

    penalty = 0.03
    path = l1_pseudo_likelihood(x, COMPLETE, combine="max", penalties=[penalty], tolerance=1e-9)
    beta = np.zeros((4, 4))
    for i in range(4):
        others = np.arange(4) != i
        model = LogisticRegression(
            l1_ratio=1.0, solver="saga", C=1.0 / (len(x) * penalty), tol=1e-10, max_iter=100_000
        )
        model.fit(x[:, others], x[:, i])
        beta[i, others] = model.coef_[0]
        assert path.node_parameter[0, i] == pytest.approx(model.intercept_[0], abs=1e-5)
    u, v = COMPLETE.edges.T
    np.testing.assert_allclose(path.directed[0], np.stack([beta[u, v], beta[v, u]], axis=1), atol=1e-5)
    larger = np.abs(beta[u, v]) >= np.abs(beta[v, u])
    np.testing.assert_allclose(
        path.parameter[0], path.directed[0][np.arange(6), np.where(larger, 0, 1)], atol=1e-9
    )
    smaller = path.combined("min")
    assert np.all(np.abs(smaller.parameter) <= np.abs(path.parameter))
    np.testing.assert_allclose(
        smaller.parameter[0], path.directed[0][np.arange(6), np.where(larger, 1, 0)], atol=1e-9
    )
    direct = l1_pseudo_likelihood(x, COMPLETE, combine="min", penalties=[penalty], tolerance=1e-9)
    np.testing.assert_allclose(direct.parameter, smaller.parameter, atol=1e-7)


def test_edges_are_those_of_neighborhood_selection(rng):
    grid = builders.grid(3, 3)
    x = np.empty((500, 9), dtype=np.int8)
    uniform_states(x, 2, rng)
    tables = ISING.edge_tables(np.full(grid.n_edges, 0.4)), ISING.node_tables(np.full(9, 0.1))
    gibbs_sweeps(x, *tables, grid.arrays, 200, rng)
    path = l1_pseudo_likelihood(2 * x - 1, builders.complete(9), family="ising", combine="max")
    k = int(np.flatnonzero(path.n_edges >= 6)[0])
    chosen = {(int(u), int(v)) for u, v in builders.complete(9).edges[path.parameter[k] != 0]}
    assert set(neighborhood_selection(x, len(chosen)).edges) == chosen


def test_path_starts_empty_and_is_reproducible(x):
    path = l1_pseudo_likelihood(x, COMPLETE)
    assert path.penalties.shape == (20,)
    assert path.n_edges[0] == 0
    assert path.n_edges[1] > 0
    assert path.gap.max() <= 1e-6
    again = l1_pseudo_likelihood(x, COMPLETE)
    np.testing.assert_array_equal(path.parameter, again.parameter)
    # a warm start changes nothing but the time
    alone = l1_pseudo_likelihood(x, COMPLETE, penalties=path.penalties[-1:])
    np.testing.assert_allclose(alone.parameter[0], path.parameter[-1], atol=1e-3)
    assert "SparsePath(boltzmann, joint: 20 penalties" in repr(path)


def test_boltzmann_and_ising_paths_are_one_model(x):
    """w = 4 J, so that a penalty on J four times that on w says the same."""
    weights = l1_pseudo_likelihood(x, COMPLETE, penalties=[0.05], tolerance=1e-10)
    couplings = l1_pseudo_likelihood(
        2 * x - 1, COMPLETE, family="ising", penalties=[0.2], tolerance=1e-10
    )
    np.testing.assert_allclose(weights.parameter, 4.0 * couplings.parameter, atol=1e-6)
    bias = 2.0 * couplings.node_parameter[0]
    for end in COMPLETE.edges.T:
        bias -= 2.0 * np.bincount(end, couplings.parameter[0], minlength=4)
    np.testing.assert_allclose(weights.node_parameter[0], bias, atol=1e-6)


def test_prior_of_biases_lets_columns_be_constant(x):
    x[:, 2] = 1
    with pytest.raises(ValueError, match=r"column of node 2 is constant.*bias_sd"):
        l1_pseudo_likelihood(x, COMPLETE)
    path = l1_pseudo_likelihood(x, COMPLETE, bias_sd=10.0)
    assert np.all(np.isfinite(path.node_parameter))
    assert path.node_parameter[0, 2] > 3.0


def test_too_few_iterations_are_reported(x):
    with pytest.warns(UserWarning, match="max_iterations=1 did not suffice at 1 of 1 penalties"):
        path = l1_pseudo_likelihood(x, COMPLETE, penalties=[1e-3], max_iterations=1)
    assert path.gap[0] > 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"combine": "or"}, 'combine must be one of "joint", "max", "min"'),
        ({"family": "agreement"}, 'family must be one of "boltzmann", "ising"'),
        ({"bias_sd": 0.0}, "bias_sd must be a number above 0, or infinite, not 0.0"),
        ({"bias_sd": np.nan}, "bias_sd must be a number above 0, or infinite, not nan"),
        ({"tolerance": -1.0}, "tolerance must be a finite number above 0, not -1.0"),
        ({"tolerance": "a"}, "tolerance must be a finite number above 0, not 'a'"),
        ({"max_iterations": 0}, "max_iterations must be a positive integer"),
        ({"penalties": [0.1, 0.2]}, "penalties must decrease"),
        ({"penalties": [0.1, 0.0]}, "finite positive numbers"),
        ({"penalties": []}, "finite positive numbers"),
        ({"x": np.full((3, 4), 2)}, "not a state"),
        ({"x": np.zeros((3, 5))}, "5 columns but the graph has 4 nodes"),
        ({"x": np.array([[0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 1, 1]])[:, [0, 1, 0, 1]],
          "graph": builders.chain(4)}, "no candidate edge has any covariance"),
    ],
)  # fmt: skip
def test_refused(x, arguments, message):
    with pytest.raises(ValueError, match=message):
        l1_pseudo_likelihood(**({"x": x, "graph": COMPLETE} | arguments))


def test_joint_path_cannot_be_combined_otherwise(x):
    path = l1_pseudo_likelihood(x, COMPLETE, penalties=[0.1])
    with pytest.raises(ValueError, match="only separate regressions can be combined"):
        path.combined("max")
