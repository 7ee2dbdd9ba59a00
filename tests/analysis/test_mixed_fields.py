"""What functions of the package say of a mixed field."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.centrality import node_measures
from pymc_mrf.analysis.edges import edge_density
from pymc_mrf.analysis.predictive_checks import edge_correlation
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
    options = {"graph": GRAPH, "n_states": KINDS, "sort": "graph"}
    table = pmrf.summarize_edges(idata, "w", prior_inclusion=0.4, **options)
    heads = np.cumsum([0, *BLOCKS[:-1]])
    np.testing.assert_allclose(table["inclusion"], (W[..., heads] != 0).mean(axis=(0, 1)))
    assert list(table.index) == list(GRAPH.edge_labels)
    assert np.isfinite(table["bayes_factor"]).all()
    table = pmrf.summarize_edges(idata, "w", model=model, **options)
    prior = 1 / (1 + table["bayes_factor"] * (1 / table["inclusion"] - 1))
    np.testing.assert_allclose(prior.drop("age--income"), 0.4)
    assert prior["age--income"] < 0.39


def test_strengths(idata):
    strength = pmrf.analysis.edge_strength(idata, "w", graph=GRAPH, n_states=KINDS)
    e = GRAPH.edge_labels.index("age--income")
    np.testing.assert_allclose(strength[..., e], W[..., BLOCKS[:e].sum()])  # with its sign
    e = GRAPH.edge_labels.index("party--trust")
    of_trust = np.sqrt(np.sum(np.array([-1.5, -0.5, 0.5, 1.5]) ** 2))
    first = BLOCKS[:e].sum()
    expected = of_trust * np.linalg.norm(W[..., first : first + 2], axis=2)
    np.testing.assert_allclose(strength[..., e], expected)


def test_functions_of_one_number_per_edge_tell_of_strengths(idata):
    for function in (pmrf.median_graph, node_measures, pmrf.plot_inclusion):
        with pytest.raises(ValueError, match=r"14 entries but the graph has 10 edges; .*edge_strength"):
            function(idata, "w", graph=GRAPH)


def test_counts_of_edges_are_those_of_strengths(idata, model):
    for count in (
        edge_density,
        pmrf.analysis.edge_inclusion,
        pmrf.analysis.structure_probabilities,
        pmrf.analysis.complexity_probabilities,
    ):
        with pytest.raises(ValueError, match=r"several entries for an edge.*edge_strength"):
            count(idata, "w")
    strength = pmrf.analysis.edge_strength(idata, "w", graph=GRAPH, n_states=KINDS)
    of_edges = az.from_dict({"posterior": {"strength": strength.values}})
    heads = np.cumsum([0, *BLOCKS[:-1]])
    np.testing.assert_allclose(edge_density(of_edges, "strength"), (W[..., heads] != 0).mean(axis=-1))


def test_estimates_are_refused():
    x = rows(20)
    for fit in (pmrf.estimation.fit, pmrf.estimation.elasso):
        with pytest.raises(ValueError, match="is not a state of this field"):
            fit(x, GRAPH)
    for family, message in (
        ("mixed", "for answers and measurements, declare a pymc_mrf.MixedMRF"),
        ("gaussian", "or, beside answers, a pymc_mrf.MixedMRF"),
    ):
        with pytest.raises(ValueError, match=message):
            pmrf.estimation.fit(x, GRAPH, family=family)
    for refused in (
        lambda: pmrf.estimation.chow_liu(x),
        lambda: pmrf.estimation.neighborhood_selection(x, 3),
        lambda: pmrf.estimation.elasso(x, GRAPH),
        lambda: pmrf.estimation.fit(x, GRAPH),
    ):
        with pytest.raises(ValueError, match=r"or, beside answers, a pymc_mrf.MixedMRF"):
            refused()
    with (
        pm.Model(),
        pytest.raises(TypeError, match=r"truth is a MixedMRF.*pymc_mrf.analysis.edge_strength"),
    ):
        truth = pmrf.MixedMRF.dist(0.0, 0.0, 1.0, graph=GRAPH, kinds=KINDS, size=(9,))
        pmrf.plan_study(truth, model_of, [9])


def test_predictive_checks_leave_states_without_an_order_out():
    x = rows(30)
    dims = {"x": ["row", "node"]}
    tree = az.from_dict(
        {"posterior_predictive": {"x": np.stack([[rows(30, seed) for seed in range(4)]])},
         "observed_data": {"x": x}}, dims=dims, coords={"node": list(KINDS.names)},
    )  # fmt: skip
    for group in ("observed_data", "posterior_predictive"):
        found = edge_correlation(tree, "x", graph=GRAPH, kinds=KINDS, group=group)
        assert found["edge"].values.tolist() == [
            name for name in GRAPH.edge_labels if "party" not in name
        ]
    found = edge_correlation(tree, "x", graph=GRAPH, kinds=KINDS, group="observed_data")
    expected = np.corrcoef(x[:, KINDS.names.index("age")], x[:, KINDS.names.index("income")])[0, 1]
    np.testing.assert_allclose(found.sel(edge="age--income"), expected)
    pc = pmrf.plot_ppc_edges(tree, "x", graph=GRAPH, kinds=KINDS, backend="matplotlib")
    assert "4 of answers without an order left out" in pc.get_target("x", {}).get_title()
    with pytest.warns(UserWarning, match="at 'party' a few whole numbers: .*give kinds"):
        edge_correlation(tree, "x", graph=GRAPH)
    with pytest.raises(ValueError, match="graph has no edges but of answers without an order"):
        pmrf.plot_ppc_edges(
            tree, "x", graph=pmrf.PairwiseGraph(KINDS.names, [("sex", "party")]), kinds=KINDS
        )
