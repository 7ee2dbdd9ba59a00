"""`fit`: refused arguments."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.estimation.fit import fit
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
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit(**({"x": X, "graph": nx.path_graph(3)} | arguments))


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
    for family, states in (("agreement", x), ("ising", 2 * x - 1), ("boltzmann", x)):
        exact, pcd = (
            fit(states, nx.cycle_graph(4), method, family, groups=[0, 1, 0, 1], random_seed=1)
            for method in ("exact", "pcd")
        )
        assert exact.converged
        assert exact.method == "exact"
        # PCD noise is a small part of the sampling error
        np.testing.assert_array_less(np.abs(exact.eta - pcd.eta), 0.25 * exact.standard_error)
        np.testing.assert_allclose(exact.standard_error, pcd.standard_error, rtol=0.15)
        if exact.node_parameter is not None:
            gap = np.abs(exact.node_parameter - pcd.node_parameter)
            np.testing.assert_array_less(gap, 0.25 * exact.node_standard_error)
