"""The counties of Georgia: figures of the census that are known from elsewhere, and the map."""

import networkx as nx
import numpy as np
import pytest

from pymc_mrf.datasets import load_georgia90


def test_figures_are_those_of_the_census():
    georgia = load_georgia90()
    assert repr(georgia) == "Georgia90(159 counties, 416 pairs of neighbours)"
    assert georgia.population.sum() == 6_478_216  # of the state, by the census
    share = np.average(georgia.poor, weights=georgia.population)
    assert share == pytest.approx(14.7, abs=0.2)  # of the state
    for name in ("rural", "bachelor", "elderly", "foreign_born", "poor", "black"):
        values = getattr(georgia, name)
        assert values.shape == (159,) and values.min() >= 0 and values.max() <= 100
    nodes = list(georgia.graph)
    assert nodes == sorted(nodes)
    assert georgia.population[nodes.index("13121")] == 648_951  # Fulton, with Atlanta


def test_neighbours_are_near_and_the_map_is_in_one_piece():
    georgia = load_georgia90()
    assert nx.is_connected(georgia.graph)
    assert set(georgia.graph["13083"]) == {"13295"}  # Dade, in the corner of the state, and Walker
    assert {"13089", "13063", "13067"} <= set(georgia.graph["13121"])  # around Atlanta
    place = dict(zip(georgia.graph, np.c_[georgia.longitude, georgia.latitude], strict=True))
    apart = [np.linalg.norm(place[u] - place[v]) for u, v in georgia.graph.edges]
    assert max(apart) < 1.0  # degrees; the state is 5 long
