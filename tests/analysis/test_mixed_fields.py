"""What functions of the package say of a mixed field."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from tests.mixed_fields import GRAPH, KINDS, WEIGHT, model_of, rows

BLOCKS = KINDS.block_sizes(GRAPH)
W = np.where(np.random.default_rng(1).random((2, 50, 10)) < 0.5, 0.0, 1.0)
W = np.repeat(W, BLOCKS, axis=2) * np.random.default_rng(2).normal(WEIGHT, 0.1, (2, 50, len(WEIGHT)))


@pytest.fixture(scope="module")
def idata():
    return az.from_dict(
        {"posterior": {"w": W}}, dims={"w": ["entry"]}, coords={"entry": KINDS.entry_labels(GRAPH)}
    )


@pytest.fixture(scope="module")
def model():
    return model_of(rows(20))


def test_summary_of_edges(idata, model):
    table = pmrf.summarize_edges(idata, "w", graph=GRAPH, n_states=KINDS, model=model, sort="graph")
    heads = np.cumsum([0, *BLOCKS[:-1]])
    np.testing.assert_allclose(table["inclusion"], (W[..., heads] != 0).mean(axis=(0, 1)))
    assert list(table.index) == list(GRAPH.edge_labels)
    assert np.isfinite(table["bayes_factor"]).all()


def test_strengths(idata):
    strength = pmrf.edge_strength(idata, "w", graph=GRAPH, n_states=KINDS)
    e = GRAPH.edge_labels.index("age--income")
    np.testing.assert_allclose(strength[..., e], W[..., BLOCKS[:e].sum()])  # with its sign
    e = GRAPH.edge_labels.index("party--trust")
    of_trust = np.sqrt(np.sum(np.array([-1.5, -0.5, 0.5, 1.5]) ** 2))
    first = BLOCKS[:e].sum()
    expected = of_trust * np.linalg.norm(W[..., first : first + 2], axis=2)
    np.testing.assert_allclose(strength[..., e], expected)


def test_functions_of_one_number_per_edge_tell_of_strengths(idata):
    for function in (pmrf.median_graph, pmrf.node_measures, pmrf.plot_inclusion):
        with pytest.raises(ValueError, match=r"14 entries but the graph has 10 edges; .*edge_strength"):
            function(idata, "w", graph=GRAPH)


def test_counts_of_edges_are_those_of_strengths(idata, model):
    for count in (
        pmrf.edge_density, pmrf.edge_inclusion, pmrf.structure_probabilities, pmrf.complexity_probabilities,
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"several entries for an edge.*edge_strength"):
            count(idata, "w")
    strength = pmrf.edge_strength(idata, "w", graph=GRAPH, n_states=KINDS)
    of_edges = az.from_dict({"posterior": {"strength": strength.values}})
    heads = np.cumsum([0, *BLOCKS[:-1]])
    np.testing.assert_allclose(
        pmrf.edge_density(of_edges, "strength"), (W[..., heads] != 0).mean(axis=-1)
    )
    with pytest.raises(ValueError, match=r"one by one: sample again .*and compare by .*summarize_edges"):
        pmrf.prior_sensitivity(idata, "w", model=model)


def test_estimates_are_refused():
    x = rows(20)
    for fit in (pmrf.fit, pmrf.elasso):
        with pytest.raises(ValueError, match="is not a state of this field"):
            fit(x, GRAPH)
    with pm.Model(), pytest.raises(TypeError, match="truth must be a pairwise field"):
        truth = pmrf.MixedMRF.dist(0.0, 0.0, 1.0, graph=GRAPH, kinds=KINDS, size=(9,))
        pmrf.plan_study(truth, model_of, [9])
