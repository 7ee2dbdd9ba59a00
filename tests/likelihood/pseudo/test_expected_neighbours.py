"""Expected neighbours of fields in time: their constants, and that arrows and links are counted once."""

import pickle

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.fields.families import BOLTZMANN, ordinal
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.likelihood.conditional.likelihood import PseudoOfLinks
from pymc_mrf.likelihood.pseudo.conditional_weights import rest_weights
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours

GRAPH = LaggedGraph(range(3), [(0, 0), (0, 1)], (1,), [(0, 1), (1, 2)])


def test_what_conditionals_lack():
    np.testing.assert_array_equal(rest_weights(GRAPH, 0.5), [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(rest_weights(GRAPH, 1.0), [0.0, 0.0, 0.0])
    apart = LaggedGraph(range(4), [(0, 3)], (1,), [(0, 1)])
    np.testing.assert_array_equal(rest_weights(apart, 0.5), np.zeros(4))  # no arrow leads to a link


def test_constants_of_many_rows():
    """Expected scores as the rows are simulated, and weights near those of the conditionals."""
    rng, n = np.random.default_rng(2), 40_000
    past = rng.integers(2, size=(n, 3))
    own = np.empty((n, 3), dtype=int)
    own[:, 0] = rng.random(n) < 0.3 + 0.4 * past[:, 0]
    own[:, 1] = rng.random(n) < 0.5
    log_odds = -1.0 + 2.0 * own[:, 1]
    own[:, 2] = rng.random(n) < 1 / (1 + np.exp(-log_odds))
    found = ExpectedNeighbours(np.concatenate([own, past], axis=1).astype(np.int8), GRAPH, BOLTZMANN)
    mean, slope, weight = found.constants
    np.testing.assert_allclose(mean[:2], [0.3, 0.5], atol=0.02)
    np.testing.assert_allclose(slope[0, :2], [0.4, 0.0], atol=0.02)
    np.testing.assert_allclose(weight[[1, 2], [2, 1]], 2.0, atol=0.12)
    np.testing.assert_allclose(weight[[0, 1], [1, 0]], 0.0, atol=0.12)
    np.testing.assert_array_equal(weight[[0, 2], [2, 0]], 0.0)  # no candidates
    expected = found.expected(past[:5])
    np.testing.assert_allclose(expected, mean + past[:5] @ slope)
    np.testing.assert_allclose(found.given(own[:5], expected), (own[:5] - expected) @ weight)


@pytest.mark.parametrize("n", [0, 1])
def test_constants_without_rows_are_those_of_the_prior(n):
    family = ordinal([3, 2, 4], [[-1, 0, 2.5], [-1, 1], [0, 1, 2, 3]])
    mean, slope, weight = ExpectedNeighbours(np.zeros((n, 6), dtype=np.int8), GRAPH, family).constants
    assert all(np.isfinite(one).all() for one in (mean, slope, weight))
    if n == 0:
        np.testing.assert_allclose(mean, [0.5, 0.0, 1.5])
        np.testing.assert_allclose(slope, 0.0, atol=1e-12)
        np.testing.assert_allclose(weight, 0.0, atol=1e-12)


def test_it_is_equal_by_content():
    x = np.random.default_rng(1).integers(2, size=(20, 6)).astype(np.int8)
    one, other = (ExpectedNeighbours(x.copy(), GRAPH, BOLTZMANN) for _ in range(2))
    assert one == other and pickle.loads(pickle.dumps(one)) == one
    assert one != ExpectedNeighbours(1 - x, GRAPH, BOLTZMANN)


def test_slopes_at_no_weights_are_those_of_the_likelihood():
    """Where nodes are independent the slopes by links, arrows and biases are the same."""
    x = np.random.default_rng(3).integers(2, size=(400, 3))

    def slopes(likelihood):
        with pm.Model() as model:
            w, b = pm.Flat("w", shape=GRAPH.n_edges), pm.Flat("b", shape=3)
            pmrf.KineticMRF("x", w, b, graph=GRAPH, observed=x, likelihood=likelihood)
        p = x[1:].mean(axis=0)
        return model.compile_dlogp()({"w": np.zeros(4), "b": np.log(p / (1 - p))})[:4]

    exact, scale = slopes("exact"), np.sqrt(400) / 4
    np.testing.assert_allclose(slopes("pseudo") / scale, exact / scale, atol=0.02)
    once = np.array([2.0, 2.0, 1.0, 1.0])  # links are counted twice by the usual one
    np.testing.assert_allclose(slopes(pmrf.Pseudo(weight=1)) / scale, once * exact / scale, atol=0.02)


def test_data_are_those_without_missing_cells():
    x = np.ma.masked_array(np.random.default_rng(1).integers(2, size=(12, 3)), mask=False)
    x[4, 1] = np.ma.masked
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        pmrf.KineticMRF("x", np.zeros(4), 0.0, graph=GRAPH, observed=x)
    expected = field_node(model["x_unobserved"]).op.likelihood.expected
    assert len(expected.windows) == 9  # of 11: that row, and the next one


def test_blocks_without_expected_neighbours_may_come_first():
    """Fields of one vector, the first of which has no node with both arrows and links."""
    expected = ExpectedNeighbours(np.zeros((4, 6), dtype=np.int8), GRAPH, BOLTZMANN)
    blocks = [PseudoOfLinks(), PseudoOfLinks(expected=expected)]
    for first in (blocks, blocks[::-1]):
        found = first[0].of_edges(first)["expected"]
        assert found == [one.expected for one in first]
    assert blocks[0].of_edges(blocks[:1])["expected"] == []
