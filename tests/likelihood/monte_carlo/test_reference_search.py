"""Search for the reference of a Monte Carlo likelihood: what it stands for, and fields that have none."""

import numpy as np
import pytest

from pymc_mrf.datasets import load_house84
from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.builders import complete, grid
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.likelihood.monte_carlo import reference_search
from pymc_mrf.likelihood.monte_carlo.likelihood import filled
from pymc_mrf.likelihood.monte_carlo.reference_search import NoReferenceError, tolerance_for
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField

GRAPH = as_graph(complete(4))
W, B = np.array([1.0, 0.0, -0.8, 0.0, 0.9, 0.0]), np.array([-0.5, 0.2, 0.1, -0.3])


def rows(n, rng):
    field = PairwiseField(GRAPH, BOLTZMANN.edge_tables(W), BOLTZMANN.node_tables(B))
    return field.sample(n, rng=rng).astype(np.int8)


def reference_of(x, missing=None, graph=GRAPH, family=BOLTZMANN, seed=0, tolerance=0.2):
    missing = np.zeros(x.shape, dtype=bool) if missing is None else missing
    return SampledField.of(x, missing, graph, family, seed, tolerance).reference


def test_moments_of_the_longer_simulation(rng):
    """Against enumeration at the place: means and covariances of the sample with `gap` and `excess`."""
    x = rows(300, rng)
    found = reference_of(x)
    plain = found.recentred(np.zeros_like(found.centre), np.ones((4, 1)), GRAPH.edges)
    field = PairwiseField(
        GRAPH, BOLTZMANN.edge_tables(plain.place[:6]), BOLTZMANN.node_tables(plain.place[6:])
    )
    marginals = field.marginals(method="exact")
    exact = np.r_[marginals.edges[:, 1, 1], marginals.nodes[:, 1]]
    states = plain.states
    own = np.r_[[(states[u] * states[v]).mean() for u, v in GRAPH.edges], states.mean(axis=1)]
    spread = np.sqrt(plain.variances)
    assert (np.abs(own + plain.gap - exact) < 5.0 * spread / np.sqrt(found.n_squared) + 1e-4).all()
    assert (np.abs(own - exact) > np.abs(own + plain.gap - exact)).mean() > 0.5
    assert found.lag < 4.0 and 0.0 < found.noise < 0.2
    np.testing.assert_allclose(found.place[:6], W, atol=1.0)


def test_missing_cells_do_not_weaken_edges(rng):
    x = rows(1000, rng)
    missing = rng.random(x.shape) < 0.3
    filled = x.copy()
    for i in range(4):
        filled[missing[:, i], i] = rng.choice(x[~missing[:, i], i], missing[:, i].sum())
    drawn, taken = reference_of(filled, missing), reference_of(filled)
    strong = np.abs(W) > 0.5
    assert np.abs(drawn.place[:6] - W)[strong].mean() < np.abs(taken.place[:6] - W)[strong].mean()


def test_states_that_nobody_chose_are_in_the_sample(rng):
    x = rows(100, rng)
    x[:, 3] = 0
    share = reference_of(x).states[3].mean()
    assert 0.02 < share < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("coupling", [0.6, 3.0])
def test_fields_whose_states_hardly_change_are_refused(coupling, rng):
    graph = as_graph(grid(5, 5))
    tables = ISING.edge_tables(np.full(40, coupling))
    x = PairwiseField(graph, tables, np.zeros((25, 2))).sample(500, method="exact", rng=rng)
    with pytest.raises(NoReferenceError, match=r"change too slowly|anywhere else do not meet"):
        reference_of((x > 0).astype(np.int8), graph=graph, family=ISING)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [8, 4, 24])
def test_a_polarised_field_with_few_rows_has_a_reference(seed):
    """Draws by a small sample run away; parties change slowly, which single statistics hardly tell."""
    votes = load_house84().x
    x, missing = filled(votes, as_graph(complete(16)), BOLTZMANN)
    found = reference_of(x, missing, as_graph(complete(16)), seed=seed, tolerance=0.3)
    assert found.noise < 0.3 and np.abs(found.place[:120]).max() < 8.0


def test_families_without_node_parameters_and_edges(rng):
    x = rng.integers(0, 3, (2000, 2)).astype(np.int8)
    for seed in range(3):
        found = reference_of(x, graph=as_graph(complete(2)), family=agreement(3), seed=seed)
        assert abs(found.place[0]) < 0.3


@pytest.mark.slow
def test_the_tolerance_of_the_remedy_halves_the_noise(monkeypatch):
    """Also where the size of the sample did not follow from the tolerance, and half of it changes nothing."""
    monkeypatch.setattr(reference_search, "PILOT_SIZE", 1000)
    monkeypatch.setattr(reference_search, "MOST_CHEAP", (1000, 2_000_000))
    x, loose = rows(60, np.random.default_rng(0)), 3.0
    found, half = (reference_of(x, tolerance=tolerance) for tolerance in (loose, loose / 2))
    assert found.states.shape[1] == half.states.shape[1] == 1000
    wanted = tolerance_for(found, 0.5)
    assert wanted is not None and wanted < loose / 2
    better = reference_of(x, tolerance=wanted)
    assert better.states.shape[1] > 2000 and better.noise < 0.6 * found.noise
    monkeypatch.setattr(reference_search, "LARGEST_SIZE", 3000)
    assert tolerance_for(found, 0.5) is None
