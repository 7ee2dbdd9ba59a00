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
from pymc_mrf.likelihood.groups.edgewise_groups import EdgewiseLikelihood
from pymc_mrf.likelihood.groups.group_engine import ComputedLikelihood, GroupEngine, with_fewest_features
from pymc_mrf.likelihood.mixed.likelihood import ExactOfMixed, MonteCarloOfMixed, PseudoOfMixed
from pymc_mrf.likelihood.mixed.mixed_edges import sample_size
from pymc_mrf.likelihood.mixed.mixed_engine import MixedEngine, mixed_field, split_data
from pymc_mrf.likelihood.particles.likelihood import Particles, too_few_particles
from pymc_mrf.likelihood.particles.particle_groups import ParticleLikelihood
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


def test_engines_around_another_hand_on_what_they_do_not_answer():
    """Every method of their own, with its arguments and what it returns."""
    calls = []

    class Whole:
        is_pseudo, starts_empty, information, correlations = True, False, np.ones(2), np.eye(2)

        def __getattr__(self, name):
            return lambda *given: calls.append((name, given)) or name

    class Around(WrappedEngine):
        view = None

    outer = Around(Whole())
    assert outer.is_pseudo and not outer.starts_empty and outer.information is Whole.information
    own = [name for name in vars(WrappedEngine) if not name.startswith("_")]
    assert len(own) > 8
    for name in own:
        given = tuple(range(len(inspect.signature(getattr(outer, name)).parameters)))
        answer = getattr(outer, name)(*given)
        assert calls.pop() == (name, given)
        assert answer in (name, None)


@pytest.mark.parametrize("family", [BOLTZMANN, ISING, potts(3), ordinal(3)], ids=lambda one: one.name)
def test_groups_take_one_feature_where_states_are_two(family):
    found = with_fewest_features(family)
    np.testing.assert_array_equal(found.indicator[0], family.indicator[0])
    assert len(found.edge_features) <= len(family.edge_features)


def test_groups_by_particles_are_asked_edge_by_edge(rng):
    """Node tables of other values are those of an engine that is made with them."""
    graph, entries = pmrf.graphs.chain(3), np.arange(2)
    x, tables = rng.integers(2, size=(9, 3)).astype(np.int8), rng.normal(size=(2, 3, 2))
    assert issubclass(EdgewiseLikelihood, ComputedLikelihood)
    exact = Exact.groups(x, graph, ISING, tables[0], entries, 2)
    assert isinstance(exact, EdgewiseLikelihood)
    exact.set_node_tables(tables[1])
    again, eta = Exact.groups(x, graph, ISING, tables[1], entries, 2), rng.normal(size=2)
    for found, expected in zip(exact.log_likelihood(eta), again.log_likelihood(eta), strict=True):
        np.testing.assert_allclose(found, expected)
    assert issubclass(ParticleLikelihood, GroupEngine)


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
    assert too_few_particles("w", 0.01, 100) == []
    [said] = too_few_particles("w", 5.0, 100)
    assert "n_particles" in said
