"""`fit`: refused arguments."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.estimation.point_estimates import fit
from pymc_mrf.estimation.problem import FitResult

X = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "pdc"}, r'method must be one of "pcd".*"pseudo".*\'pdc\''),
        ({"family": "potts"}, "family must be"),
        ({"groups": [0]}, r"groups has shape \(1,\) but the graph has 2 edges"),
        ({"groups": [0.0, 1.0]}, "groups must be integer"),
        ({"family": "ising"}, "not a state of this field"),
        ({"x": X[:, :2]}, "2 columns but the graph has 3 nodes"),
        ({"x": np.empty((0, 3))}, "no rows"),
        ({"x": X + np.nan}, "missing"),
        ({"graph": nx.empty_graph(3)}, "graph has no edges"),
        ({"family": "ordinal", "n_states": [2, 3]}, "n_states has 2 entries but the graph has 3 nodes"),
        ({"family": "ordinal", "n_states": 1}, "n_states must be between 2 and 127, not 1"),
        (
            {"family": "ordinal", "n_states": [2, 2, 3], "x": X + 1},
            r"x\[1, 0\] is 2, which is not a state of this node \(states: 0, 1\); 5 such cells",
        ),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit(**({"x": X, "graph": nx.path_graph(3)} | arguments))


LIKERT = np.random.default_rng(1).integers([3, 2, 4], size=(60, 3))


def recoded(column, old, new):
    x = LIKERT.copy()
    x[x[:, column] == old, column] = new
    return x


def least_product():
    x = LIKERT.copy()
    x[x[:, 0] > 0, 1] = 0
    return x


@pytest.mark.parametrize("method", ["exact", "pseudo", "pcd"])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            recoded(2, 3, 1),
            "node 2 is never in state 3, so .* threshold is infinite;.*join states",
        ),
        (recoded(2, 1, 0), "node 2 is never in state 1, so"),
        (recoded(1, 0, 1), "node 1 is never in state 0, so"),
        (
            least_product(),
            "the two ends of edge 0--1 have their least in every row, so .* weight is infinite",
        ),
    ],
)
def test_empty_categories_of_ordinal_data_are_named(x, message, method):
    with pytest.raises(ValueError, match=message):
        fit(x, nx.path_graph(3), method, "ordinal", n_states=[3, 2, 4])


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="n_particles"):
        fit(X, nx.path_graph(3), "pseudo", n_particles=3)


def test_result_says_what_it_is():
    estimate = fit(X, nx.Graph([("a", "b"), ("b", "c")]), "pseudo")
    assert isinstance(estimate, FitResult)
    assert estimate.nodes == ("a", "b", "c")
    assert estimate.edge_labels == ("a--b", "b--c")
    assert "agreement by pseudo: 2 edges in 2 groups, converged" in repr(estimate)
    with pytest.raises(AttributeError):
        estimate.eta = 0


def test_exact_and_pcd_agree(rng):
    x = rng.integers(0, 2, size=(200, 4))
    x[:, 1] = np.where(rng.random(200) < 0.6, x[:, 0], x[:, 1])
    graded = x.copy()
    graded[:, 2] += rng.integers(0, 2, size=200)  # the third node has three states, the others two
    for family, states, n_states in (
        ("agreement", x, 2),
        ("ising", 2 * x - 1, 2),
        ("boltzmann", x, 2),
        ("ordinal", graded, (2, 2, 3, 2)),
    ):
        options = {"groups": [0, 1, 0, 1], "n_states": n_states, "random_seed": 1}
        exact, pcd = (
            fit(states, nx.cycle_graph(4), method, family, **options) for method in ("exact", "pcd")
        )
        assert exact.converged
        assert exact.method == "exact"
        # PCD noise is a small part of the sampling error
        np.testing.assert_array_less(np.abs(exact.eta - pcd.eta), 0.25 * exact.standard_error)
        np.testing.assert_allclose(exact.standard_error, pcd.standard_error, rtol=0.15)
        if exact.node_parameter is not None:
            gap = np.abs(exact.node_parameter - pcd.node_parameter)
            own = ~np.isnan(exact.node_parameter)
            np.testing.assert_array_equal(np.isnan(pcd.node_parameter), ~own)
            np.testing.assert_array_less(gap[own], 0.25 * exact.node_standard_error[own])
