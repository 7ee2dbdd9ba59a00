"""What engines and likelihoods of all kinds of fields have in common, and whom each field is served by."""

import inspect

import networkx as nx
import numpy as np
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.likelihood import registered
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal, potts
from pymc_mrf.fields.mixed import layout_of
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.wrapped_engine import WrappedEngine
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.likelihood.gaussian.likelihood import Normal
from pymc_mrf.likelihood.groups.group_engine import (
    ComputedGroups,
    EdgewiseGroups,
    GroupEngine,
    with_fewest_features,
)
from pymc_mrf.likelihood.mixed.likelihood import ExactOfMixed, MonteCarloOfMixed, PseudoOfMixed
from pymc_mrf.likelihood.mixed.mixed_edges import sample_size
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine, mixed_field, split_data
from pymc_mrf.likelihood.particles.likelihood import Particles, too_few_particles
from pymc_mrf.likelihood.particles.particle_groups import ParticleGroups
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo

KINDS = pmrf.fields.ColumnKinds(tuple("abc"), ("ordinal", "continuous", "nominal"), (2, 0, 3))
MIXED = {"graph": pmrf.graphs.complete(KINDS.names), "kinds": KINDS}
TABLE = np.array([[0.0, 1.5, 2.0], [1.0, -0.5, 0.0], [1.0, 0.2, 1.0], [0.0, 0.1, 0.0]])
FIELDS = {
    "few states": (lambda: pmrf.Ising.dist(0.1, graph=nx.path_graph(4)), Exact),
    "a dense graph": (lambda: pmrf.Ising.dist(0.1, graph=nx.complete_graph(40)), Particles),
    "pseudo": (lambda: pmrf.Ising.dist(0.1, graph=nx.path_graph(4), likelihood="pseudo"), Pseudo),
    "measurements": (lambda: pmrf.GaussianMRF.dist(0.1, 1.0, graph=nx.path_graph(4)), Normal),
    "mixed": (lambda: pmrf.MixedMRF.dist(0.1, 0.0, 1.0, **MIXED), ExactOfMixed),
    "mixed, pseudo": (
        lambda: pmrf.MixedMRF.dist(0.1, 0.0, 1.0, **MIXED, likelihood="pseudo"),
        PseudoOfMixed,
    ),
}


@pytest.mark.parametrize(("declare", "kind"), FIELDS.values(), ids=FIELDS)
def test_who_serves_a_field(declare, kind):
    assert type(field_node(declare()).op.likelihood) is kind
    assert issubclass(kind.edges, EdgeEngine)
    assert kind.groups is None or issubclass(kind.groups, GroupEngine)


def test_points_of_a_sample_of_answers():
    """For every row of data some, between a least and a largest number."""
    assert MonteCarloOfMixed in registered("mixed")
    sizes = [sample_size(n) for n in (0, 4000, 10**9)]
    assert sizes == sorted(set(sizes)) and sample_size(10**8) == sizes[-1]


@pytest.mark.parametrize("n_parts", [1, 2])
def test_engines_around_others_hand_on_what_they_do_not_answer(n_parts):
    """Every method of their own, with its arguments; answers of one are those of all, or the worst."""
    calls = []
    answers = {
        "statistics": [{"noise": 0.1, "ess": 0.4}, {"noise": 0.3, "ess": 0.9}][:n_parts],
        "measure_noise": [0.3, 0.4][:n_parts],
        "edge_parameters": [np.arange(2), np.arange(3)][:n_parts],
        "told_of_place": [[1], [2]][:n_parts],
        "stretch": [1.5, 1.7][:n_parts],
    }

    class Part:
        starts_at_default, information, correlations = False, np.ones(2), np.eye(2)

        def __init__(self, place):
            self.place = place

        def __getattr__(self, name):
            of_part = answers.get(name, [None] * n_parts)[self.place]
            return lambda *given: calls.append((name, given)) or of_part

    class Around(WrappedEngine):
        view = None

    outer = Around(*map(Part, range(n_parts)))
    assert not outer.starts_at_default and outer.information is Part.information
    assert len([name for name in vars(WrappedEngine) if not name.startswith("_")]) == 9
    for name in (
        "refresh",
        "remember",
        "told_of_place",
        "statistics",
        "measure_noise",
        "edge_parameters",
    ):
        given = tuple(range(len(inspect.signature(getattr(outer, name)).parameters)))
        found = getattr(outer, name)(*given)
        assert calls == [(name, given)] * n_parts
        calls.clear()
        if name == "statistics":
            assert found == {"noise": (0.1, 0.3)[n_parts - 1], "ess": 0.4}
        elif name == "measure_noise":
            assert found == pytest.approx((0.3, 0.5)[n_parts - 1])
        elif name in answers:
            np.testing.assert_array_equal(found, np.concatenate(answers[name]))
    data = ["x", "y"][:n_parts]
    outer.set_data(data if n_parts > 1 else "x")
    assert calls == [("set_data", (own,)) for own in data]
    assert outer.stretch(None) == 1.5 and outer.learn(0.1) is None
    assert calls[n_parts:] == [("stretch", (None,)), ("learn", (0.1,))]


@pytest.mark.parametrize("family", [BOLTZMANN, ISING, potts(3), ordinal(3)], ids=lambda one: one.name)
def test_groups_take_one_feature_where_states_are_two(family):
    found = with_fewest_features(family)
    np.testing.assert_array_equal(found.indicator[0], family.indicator[0])
    assert len(found.edge_features) <= len(family.edge_features)


def test_groups_by_particles_are_asked_edge_by_edge(rng):
    """Node tables of other values are those of an engine that is made with them."""
    graph, entries = pmrf.graphs.chain(3), np.arange(2)
    x, tables = rng.integers(2, size=(9, 3)).astype(np.int8), rng.normal(size=(2, 3, 2))
    assert issubclass(EdgewiseGroups, ComputedGroups)
    exact = Exact.groups(x, graph, ISING, tables[0], entries, 2)
    assert isinstance(exact, EdgewiseGroups)
    exact.set_node_tables(tables[1])
    again, eta = Exact.groups(x, graph, ISING, tables[1], entries, 2), rng.normal(size=2)
    for found, expected in zip(exact.log_likelihood(eta), again.log_likelihood(eta), strict=True):
        np.testing.assert_allclose(found, expected)
    assert issubclass(ParticleGroups, GroupEngine)


def test_data_of_mixed_fields_are_split():
    """Features of answers, then measurements; states apart; and room for sums over rows."""
    layout = layout_of(MIXED["graph"], KINDS)
    z, states = split_data(layout, KINDS, TABLE)
    np.testing.assert_array_equal(states, TABLE[:, [0, 2]])
    np.testing.assert_array_equal(z[:, -1], TABLE[:, 1])
    of_answers = [layout.features[p, states[:, i]] for p, i in enumerate(layout.owner)]
    np.testing.assert_array_equal(z[:, :-1].T, of_answers)
    field, data = mixed_field(layout, len(TABLE))
    assert field.features.shape[0] == len(data.n) == 3 and (data.n == 4).all()
    assert issubclass(ExactOfMixed.edges, MixedEngine)


def test_noise_of_few_particles_is_told():
    assert too_few_particles("EdgeGibbs", "w", 100, 0.01, 0.5) == []
    [said] = too_few_particles("EdgeGibbs", "w", 100, 5.0, 0.5)
    assert "n_particles" in said
