"""Log tables of a pairwise field, and the influence of neighbours by its largest eigenvalue."""

import itertools

import numpy as np
import pytest
from scipy import linalg

from pymc_mrf.fields.families import get_family
from pymc_mrf.fields.pairwise_tables import PairwiseTables, influence_radius
from pymc_mrf.graph.builders import grid
from pymc_mrf.graph.structure import PairwiseGraph


def test_log_potentials(rng):
    graph = PairwiseGraph("abc", [("b", "a"), ("b", "c")])
    tables = PairwiseTables(graph, rng.normal(size=(2, 2, 2)), rng.normal(size=(3, 2)))
    states = np.array(list(itertools.product((0, 1), repeat=3)))
    by_hand = [
        tables.edges[0, b, a]
        + tables.edges[1, b, c]
        + sum(tables.nodes[i, k] for i, k in enumerate(row))
        for row in states.tolist()
        for a, b, c in [row]
    ]
    np.testing.assert_allclose(tables.log_potential(states), by_hand)
    np.testing.assert_allclose(tables.log_potential(states[5]), by_hand[5])
    assert tables.largest() >= max(by_hand)
    edges, nodes, arrays = tables.arrays
    assert edges is tables.edges and nodes is tables.nodes and arrays is graph.arrays


@pytest.mark.parametrize("family", ["ising", "boltzmann", "agreement"])
def test_influence_is_the_spectral_radius(family, rng):
    graph = grid(3, 4)
    kind = get_family(family, 3 if family == "agreement" else 2)
    eta = rng.normal(size=graph.n_edges)
    C = np.zeros((12, 12))
    for (u, v), value in zip(graph.edges, eta, strict=True):
        # the largest log odds ratio: 4 |J| of Ising; |w|; of agreement, |eta| on either side
        odds = {"ising": 4.0, "boltzmann": 1.0, "agreement": 2.0}[family] * abs(value)
        C[u, v] = C[v, u] = np.tanh(odds / 4.0)
    parameter = kind.edge_tables(eta)
    assert influence_radius(graph.edges, parameter, 12) == pytest.approx(
        linalg.eigvalsh(C).max(), rel=1e-3
    )


def test_fields_without_edges_are_weakly_coupled():
    assert influence_radius(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2, 2)), 3) == 0.0
