"""Group engine of fields in time with links: likelihood, slopes, curvature, single edges, by the formula."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ordinal
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.kernels.groups.edge_terms import (
    allocate_level_terms,
    allocate_terms,
    clear,
    log_likelihood,
)
from pymc_mrf.kernels.groups.edgewise_groups import describe_edgewise, follow_edgewise
from pymc_mrf.likelihood.conditional.listed_rows import ListedRowGroups
from tests.reference.kinetic import kinetic_log_likelihood

D, ARROWS, LINKS, LAGS = 3, [(0, 0), (0, 1), (2, 1)], [(2, 0), (1, 2)], (1, 3)
EDGES = [(u, v, 0) for u, v in LINKS] + [(*arrow, lag) for lag in LAGS for arrow in ARROWS]
GRAPH = LaggedGraph(range(D), ARROWS, LAGS, LINKS)
ENTRIES = np.array([4, 1, 8, 0, 3, 6, 5, 7])  # of 9 parameters
LABELS = np.array([0, 1, 0, 2, 1, 0, 2, 1, 0])
FAMILIES = {"binary": BOLTZMANN, "states": ordinal([3, 2, 3], [0, 1, 2.5])}


class Case:
    """An engine, and the log-likelihood (Q,) of its data as a function of parameters (Q, 9)."""

    def __init__(self, name, rng, n=30):
        self.family, self.b = FAMILIES[name], rng.normal(size=D * len(FAMILIES[name].node_basis))
        self.tables = self.family.node_tables(self.b.reshape(self.family.node_shape(D)))
        x = self.states(n, rng)
        arguments = GRAPH, self.family, self.tables, ENTRIES, 9
        self.engine = ListedRowGroups(self.windows(x), *arguments)
        self.take(x)

    def states(self, n, rng):
        return rng.integers(self.family.cards or 2, size=(n, D)).astype(np.int8)

    @staticmethod
    def windows(x):
        return np.array(
            [np.concatenate([x[t], *(x[t - lag] for lag in LAGS)]) for t in range(3, len(x))]
        )

    def take(self, x):
        value = kinetic_log_likelihood(x, EDGES, self.family, whole_rows=True)
        self.log_likelihood = lambda eta: value(
            np.column_stack([eta[:, ENTRIES], np.tile(self.b, (len(eta), 1))])
        )


@pytest.fixture(params=FAMILIES)
def case(request, rng):
    return Case(request.param, rng)


def test_log_likelihood_slopes_and_other_data(case, rng):
    for x in (None, case.states(30, rng)):
        if x is not None:
            case.engine.set_data(case.windows(x))
            case.take(x)
        eta, h = rng.normal(size=9), 1e-5
        value, slope = case.engine.log_likelihood(eta)
        np.testing.assert_allclose(value, case.log_likelihood(eta[None])[0], rtol=1e-10)
        high, low = (case.log_likelihood(eta + sign * h * np.eye(9)) for sign in (1, -1))
        np.testing.assert_allclose(slope, (high - low) / (2 * h), atol=1e-5)


def test_curvature_by_groups(case, rng):
    """Minus the derivative of the slopes, at what was learnt."""
    values, h = rng.normal(size=3), 1e-5
    case.engine.learn(values[LABELS], rng)
    grouped = case.engine.grouped(LABELS, values)
    expected = [-(grouped(values + h * e)[1] - grouped(values - h * e)[1]) / (2 * h) for e in np.eye(3)]
    found = case.engine.information(LABELS, 3)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    case.engine.learn(values[LABELS] + 1.0, rng)
    assert np.abs(case.engine.information(LABELS, 3) - found).max() > 0.1


def test_one_edge_at_a_time(case, rng):
    """Each as a function of its parameter, also after others have moved far; the last has no edge."""
    engine, grid, eta = case.engine, np.array([-2.5, -0.4, 0.0, 0.9, 3.0]), rng.normal(size=9)
    view = engine.view(eta)
    room = (engine.n_terms,) if engine.is_binary else (engine.n_terms, engine.n_levels)
    terms = (allocate_terms if engine.is_binary else allocate_level_terms)(*room)
    for e, value in ((4, -1.3), (8, 2.0), (6, -150.0), (4, 0.4), (6, 0.7)):
        for other in range(9):
            there = np.tile(eta, (len(grid), 1))
            there[:, other] = grid
            clear(terms)
            describe_edgewise(view, other, eta[other], terms)
            got = np.array([log_likelihood(terms, x) for x in grid])
            expected = case.log_likelihood(there)
            np.testing.assert_allclose(np.diff(got), np.diff(expected), rtol=1e-7, atol=1e-8)
        assert not follow_edgewise(view, e, eta[e], value)
        eta[e] = value
    clear(terms)
    describe_edgewise(view, 2, eta[2], terms)
    assert terms.size[0] == 0 and terms.total[0] == 0.0
