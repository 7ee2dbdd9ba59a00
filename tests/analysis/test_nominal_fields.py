"""Functions of users and nominal fields: those that serve them, and what others say to do."""

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis.calibration import prediction_calibration
from pymc_mrf.analysis.edges import edge_density, edge_evidence
from pymc_mrf.analysis.predictive_checks import edge_agreement

NODES, CARDS = list("abc"), [3, 2, 3]
GRAPH = pmrf.graphs.complete(NODES)


def answered(n=60):
    rng = np.random.default_rng(1)
    x = np.stack([rng.integers(k, size=n) for k in CARDS], axis=1)
    copied = rng.random(n) < 0.6
    x[copied, 2] = x[copied, 0]
    table = pd.DataFrame(x, columns=NODES)
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab(
            "weight", 0.5, pm.Normal.dist(0, 1), blocks=pmrf.fields.table_sizes(GRAPH, CARDS)
        )
        bias = pm.Normal("bias", 0, 1.5, shape=(3, 3))
        options = {"observed": table, "likelihood": "pseudo"}
        pmrf.NominalMRF("x", weight, bias, graph=GRAPH, n_states=CARDS, **options)
    return model, table


class Fit:
    """A model of answers, its table, draws near the truth, and strengths of edges."""

    def __init__(self):
        (self.model, self.table), rng = answered(), np.random.default_rng(2)
        present = np.repeat(rng.random((2, 60, 3)) < [0.1, 2.0, 0.2], [2, 4, 2], axis=2)
        weight = np.array([0.2, -0.1, 1.5, -0.5, -0.5, 1.5, 0.1, -0.2]) + rng.normal(0, 0.3, (2, 60, 8))
        draws = {"weight": weight * present, "bias": rng.normal(0, 0.2, (2, 60, 3, 3))}
        told = {"posterior": draws, "observed_data": {"x": self.table.to_numpy()}}
        self.idata = az.from_dict(told, dims={"x": ["row", "item"]})
        drawn = rng.integers(CARDS, size=(2, 60, 60, 3))
        dims = ("chain", "draw", "row", "item")
        self.idata["posterior_predictive"] = xr.DataTree(xr.Dataset({"x": (dims, drawn)}))
        strength = pmrf.analysis.edge_strength(self.idata, "weight", graph=GRAPH, n_states=CARDS)
        self.idata.posterior["strength"] = strength
        self.idata.posterior["other"] = 0.5 * strength
        self.truth = pmrf.NominalMRF.dist(np.zeros(8), graph=GRAPH, n_states=CARDS)


@pytest.fixture(scope="module")
def fit():
    return Fit()


@pytest.mark.filterwarnings("ignore:.* effective draws carry the rarer answer")
@pytest.mark.filterwarnings("ignore:the draws hold")
def test_what_serves_answers_without_an_order(fit):
    idata, model = fit.idata, fit.model
    p = pmrf.predict_nodes(idata, "x", model=model)
    np.testing.assert_allclose(p["probability"].sum("state"), 1.0)
    assert pmrf.score_predictions(p, fit.table)["accuracy"].loc["c"] > 0.5
    assert prediction_calibration(p, fit.table)["n"].sum() == 60 * 8
    assert edge_agreement(idata, "x", graph=GRAPH).dims == ("chain", "draw", "edge")
    table = pmrf.summarize_edges(idata, "weight", graph=GRAPH, n_states=CARDS, model=model)
    assert {"inclusion", "bayes_factor"} <= set(table) and table["evidence"].loc["a--c"] == "for"
    assert ("a", "c") in pmrf.median_graph(idata, "strength", GRAPH).edges
    assert len(pmrf.summarize_nodes(idata, "strength", graph=GRAPH))
    assert pmrf.analysis.complexity_probabilities(idata, "strength").probability.sum() == pytest.approx(
        1
    )
    assert pmrf.analysis.structure_probabilities(idata, "strength").probability.max() <= 1
    names = ["strength", "other"]
    assert len(pmrf.summarize_differences(idata, names, graph=GRAPH)) == 3
    assert len(pmrf.compare_networks(idata, names, graph=GRAPH)) == 1
    for plot in (pmrf.plot_edges, pmrf.plots.plot_nodes, pmrf.plot_inclusion):
        assert plot(idata, "strength", graph=GRAPH).viz is not None
    pmrf.plots.plot_evidence(idata, "strength", graph=GRAPH, prior_inclusion=0.5, node_kind=model["x"])
    assert pmrf.plot_ppc_edges(idata, "x", graph=GRAPH).viz is not None
    assert pmrf.plots.plot_ppc_magnetisation(idata, "x").viz is not None
    assert "weight" in str(pmrf.diagnose(idata, model=model))


STRENGTHS = "strengths of tables .pymc_mrf.analysis.edge_strength. in place of their parameters"
COUNTS = "several entries for an edge.*summarize_edges with n_states; or make .*edge_strength"
REFUSED = {
    "network_model": (
        lambda f: pmrf.network_model(f.table.replace({0: "r", 1: "s", 2: "t"}).astype("category")),
        'categories without an order.*or say "nominal", as kind="nominal" of a network',
    ),
    "fit": (
        lambda f: pmrf.estimation.fit(f.table, GRAPH, family="nominal"),
        "declare a pymc_mrf.NominalMRF",
    ),
    "log_pseudo_likelihood": (
        lambda f: pmrf.analysis.log_pseudo_likelihood(
            f.table, GRAPH, f.idata, var_name="weight", family="nominal"
        ),
        "declare a pymc_mrf.NominalMRF",
    ),
    "plan_study": (
        lambda f: pmrf.plan_study(f.truth, answered, [20], random_seed=1),
        "truth is a NominalMRF.*pymc_mrf.replicate",
    ),
    "complexity_probabilities": (
        lambda f: pmrf.analysis.complexity_probabilities(f.idata, "weight", model=f.model),
        COUNTS,
    ),
    "edge_density": (lambda f: edge_density(f.idata, "weight"), COUNTS),
    "edge_inclusion": (lambda f: pmrf.analysis.edge_inclusion(f.idata, "weight", model=f.model), COUNTS),
    "edge_evidence": (
        lambda f: edge_evidence(f.idata, "weight", prior_inclusion=0.5),
        COUNTS,
    ),
    "structure_probabilities": (
        lambda f: pmrf.analysis.structure_probabilities(f.idata, "weight"),
        COUNTS,
    ),
    "summarize_edges": (lambda f: pmrf.summarize_edges(f.idata, "weight", graph=GRAPH), STRENGTHS),
    "median_graph": (lambda f: pmrf.median_graph(f.idata, "weight", GRAPH), STRENGTHS),
    "summarize_nodes": (lambda f: pmrf.summarize_nodes(f.idata, "weight", graph=GRAPH), STRENGTHS),
    "plot_edges": (lambda f: pmrf.plot_edges(f.idata, "weight", graph=GRAPH), STRENGTHS),
    "partial_correlations": (
        lambda f: pmrf.partial_correlations(f.idata, "weight", "bias", GRAPH),
        "pass the graph of the GaussianMRF that it was sampled for",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_refuses_them(name, fit):
    call, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call(fit)
