"""Functions of users and Gaussian fields: those for fields with states refuse them, all others serve them."""

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.calibration import prediction_calibration
from pymc_mrf.analysis.edges import edge_density, edge_evidence
from pymc_mrf.analysis.predictive_checks import edge_agreement, edge_correlation, run_lengths
from pymc_mrf.steps.latent.missing_cells import GaussianGibbs
from tests.reference.gaussian import precision
from tests.statistics import Z

NODES = list("abcd")
GRAPH = pmrf.graphs.complete(NODES)
EDGES = [tuple(e) for e in GRAPH.edges.tolist()]
WEIGHT = np.array([0.6, 0.0, 0.0, -0.4, 0.0, 0.0])


def measured(n=100):
    S = np.linalg.inv(precision(EDGES, WEIGHT, np.ones(4)))
    x = np.random.default_rng(1).multivariate_normal(np.zeros(4), S, size=n)
    table = pd.DataFrame(x, columns=NODES)
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 0.5), dims="edge")
        diagonal = pm.Gamma("diagonal", 2, 1, dims="node")
        pmrf.GaussianMRF("x", weight, diagonal, graph=GRAPH, observed=table)
    return model, table


OPTIONS = {
    "draws": 60, "tune": 60, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True,
    "compute_convergence_checks": False,
}  # fmt: skip


class Fit:
    """A model of measurements, its table and draws; models with a hidden field and of groups; a truth."""

    def __init__(self, store):
        self.store, (self.model, self.table) = store, measured()
        self.idata = pmrf.sample(model=self.model, store=store, **OPTIONS)
        pm.sample_posterior_predictive(
            self.idata, model=self.model, random_seed=1, progressbar=False, extend_inferencedata=True
        )
        with pm.Model() as self.hidden:
            z = pmrf.GaussianMRF("z", 0.1, 1.0, graph=GRAPH)
            pm.Normal("y", z.sum(), 1.0, observed=0.0)
        with pm.Model() as self.groups:
            for name in ("weight", "other"):
                w = pmrf.SpikeAndSlab(name, 0.5, pm.Normal.dist(0, 0.5), shape=GRAPH.n_edges)
                pmrf.GaussianMRF(f"x_{name}", w, 1.0, graph=GRAPH, observed=self.table)
        self.idata.posterior["other"] = self.idata.posterior["weight"]
        with pm.Model():
            self.truth = pmrf.GaussianMRF.dist(WEIGHT, 1.0, graph=GRAPH)


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    return Fit(tmp_path_factory.mktemp("gaussian") / "store")


def with_model(function):
    return lambda f: function(f.idata, "x", model=f.model)


DECLARE = "if these are measurements, declare a pymc_mrf.GaussianMRF"
REFUSED = {
    "network_model": (lambda f: pmrf.network_model(f.table), DECLARE),
    "network_model, columns": (lambda f: pmrf.network_model(f.table, columns=NODES), DECLARE),
    "prepare": (lambda f: pmrf.fields.prepare(f.table, GRAPH), DECLARE),
    "observed": (lambda f: in_model(pmrf.Ising, f), DECLARE),
    "fit": (lambda f: pmrf.estimation.fit(f.table, GRAPH), DECLARE),
    "fit, family": (lambda f: pmrf.estimation.fit(f.table, GRAPH, family="gaussian"), DECLARE),
    "elasso": (lambda f: pmrf.estimation.elasso(f.table, GRAPH), DECLARE),
    "l1_pseudo_likelihood": (lambda f: pmrf.estimation.l1_pseudo_likelihood(f.table, GRAPH), DECLARE),
    "neighborhood_selection": (
        lambda f: pmrf.estimation.neighborhood_selection(f.table, n_edges=3),
        DECLARE,
    ),
    "chow_liu": (lambda f: pmrf.estimation.chow_liu(f.table), f"put them into classes.*{DECLARE}"),
    "log_pseudo_likelihood": (
        lambda f: pmrf.analysis.log_pseudo_likelihood(f.table, GRAPH, f.idata, var_name="weight"),
        DECLARE,
    ),
    "conditional_log_likelihood": (
        lambda f: pmrf.analysis.conditional_log_likelihood(
            f.table, GRAPH, f.idata, ["a"], var_name="weight"
        ),
        DECLARE,
    ),
    "tree_reweighted_bound": (
        lambda f: pmrf.estimation.tree_reweighted_bound(f.truth),
        "must be a .*PairwiseField",
    ),
    "score_predictions": (
        lambda f: pmrf.score_predictions(f.idata.posterior_predictive, f.table),
        "must be what predict_nodes returns",
    ),
    "prediction_calibration": (
        lambda f: prediction_calibration(pmrf.predict_nodes(f.idata, "x", model=f.model), f.table),
        "must have probabilities of states",
    ),
    "edge_agreement": (
        lambda f: edge_agreement(f.idata, "x", graph=GRAPH),
        "x of the posterior_predictive group is float64.*: compare measurements by",
    ),
    "plot_ppc_magnetisation": (
        lambda f: pmrf.plots.plot_ppc_magnetisation(f.idata, "x"),
        "compare measurements",
    ),
    "plot_ppc_runs": (with_model(pmrf.plots.plot_ppc_runs), "compare measurements by"),
    "run_lengths": (with_model(run_lengths), "compare measurements by"),
    "forecast": (lambda f: pmrf.forecast(f.idata, f.model, 2), "is no KineticMRF of the model"),
    "LatentMarginals": (
        lambda f: pmrf.LatentMarginals(f.hidden["z"], f.hidden),
        "z is a GaussianMRF, whose nodes have none",
    ),
    "plot_latent_field": (
        lambda f: pmrf.plot_latent_field(f.idata, "x", graph=GRAPH, group="posterior_predictive"),
        "x is float64.*: show measurements by",
    ),
    "TreeGibbs": (
        lambda f: pmrf.steps.TreeGibbs([f.hidden["z"]], model=f.hidden),
        "z is a GaussianMRF: leave",
    ),
    "GaussianGibbs": (
        lambda f: GaussianGibbs([f.hidden["z"]], model=f.hidden),
        "GaussianMRF that is observed, but z is something else: leave",
    ),
    "compare_networks": (
        lambda f: pmrf.compare_networks(f.idata, ["weight", "other"], graph=GRAPH, model=f.groups),
        "too small for its simulation.*Give prior_equal",
    ),
}


def test_bayes_factors_need_no_prior_probability_from_the_user(fit):
    options = {"graph": GRAPH, "model": fit.model}
    table = pmrf.summarize_edges(fit.idata, "weight", **options)
    found = pmrf.analysis.edge_inclusion(fit.idata, "weight", model=fit.model)
    odds = table["inclusion"] / (1 - table["inclusion"])
    prior = (odds / table["bayes_factor"])[np.isfinite(table["bayes_factor"]) & (odds > 0)]
    assert (
        len(prior) and ((prior > 0.1) & (prior < 0.99)).all()
    )  # less than the odds of the SpikeAndSlab
    np.testing.assert_allclose(found["bayes_factor"].sel(edge=list(table.index)), table["bayes_factor"])
    for function in (edge_evidence, pmrf.analysis.complexity_probabilities):
        function(fit.idata, "weight", model=fit.model)
    pmrf.plots.plot_evidence(fit.idata, "weight", **options)
    differences = pmrf.summarize_differences(
        fit.idata, ["weight", "other"], graph=GRAPH, model=fit.groups
    )
    assert differences["bayes_factor"].notna().all()


def in_model(field, f):
    with pm.Model():
        return field("x", 0.1, 0.0, graph=GRAPH, observed=f.table)


@pytest.mark.parametrize("name", REFUSED)
def test_functions_of_states_refuse_measurements(name, fit):
    call, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call(fit)


def test_bayes_factors_know_the_prior_within_the_cone(fit):
    idata, model = fit.idata, fit.model
    table = pmrf.summarize_edges(idata, "weight", graph=GRAPH, model=model)
    prior = pmrf.analysis.prior_in_cone(model, draws=400, random_seed=2)["weight"] != 0
    odds = table["inclusion"] / (1 - table["inclusion"]) / table["bayes_factor"]
    p = (odds / (1 + odds)).reindex(list(GRAPH.edge_labels))
    known = np.isfinite(p.to_numpy())
    assert known.any()
    error = np.hypot(0.02, [float(az.mcse(prior[..., e].astype(float))) for e in range(GRAPH.n_edges)])
    difference = p.to_numpy() - prior.mean(("chain", "draw")).values
    assert (np.abs(difference[known]) < Z * error[known]).all()
    edge_evidence(idata, "weight", model=model)
    assert pmrf.plots.plot_evidence(idata, "weight", graph=GRAPH, model=model).viz is not None
    complexity = pmrf.analysis.complexity_probabilities(idata, "weight", model=model)
    n_edges = prior.sum("edge")
    for k, share in complexity["prior"].items():
        error = np.hypot(0.02, float(az.mcse((n_edges == k).astype(float))))
        assert abs(share - float((n_edges == k).mean())) < Z * error
    found = pmrf.prior_sensitivity(idata, "weight", model=model, prior_inclusion=[0.5], slab_scale=[1.0])
    # of 1,000 draws from the prior
    again = found.inclusion / (1 - found.inclusion) / found.bayes_factor
    again = (again / (1 + again)).values[0, 0]
    known &= np.isfinite(again)  # draws alone tell nothing of edges that are in all of them
    assert known.any()
    np.testing.assert_allclose(again[known], p[known], atol=Z * 0.016)  # of 1,000 draws
    differences = pmrf.summarize_differences(idata, ["weight", "other"], graph=GRAPH, model=fit.groups)
    assert "bayes_factor" in differences


def test_tables_and_pictures_serve_measurements(fit):
    idata, edges = fit.idata, list(GRAPH.edge_labels)
    table = pmrf.summarize_edges(idata, "weight", graph=GRAPH, prior_inclusion=0.4)
    assert set(table.index) == set(edges) and {"inclusion", "bayes_factor"} <= set(table)
    assert set(pmrf.median_graph(idata, "weight", GRAPH).edges) >= {("a", "b"), ("b", "c")}
    nodes = pmrf.summarize_nodes(idata, "weight", graph=GRAPH)
    assert set(nodes.index.get_level_values("node")) == set(NODES)
    density = edge_density(idata, "weight")
    np.testing.assert_allclose(density, (idata.posterior["weight"] != 0).mean("edge"))
    assert pmrf.analysis.complexity_probabilities(idata, "weight").probability.sum() == pytest.approx(1)
    assert pmrf.analysis.structure_probabilities(idata, "weight").probability.max() <= 1
    assert edge_evidence(idata, "weight", prior_inclusion=0.4).sel(edge="a--b") == "for"
    idata.posterior["partial"] = pmrf.partial_correlations(idata, "weight", "diagonal", GRAPH)
    for name in ("weight", "partial"):
        for plot in (pmrf.plot_edges, pmrf.plots.plot_nodes, pmrf.plot_inclusion):
            assert plot(idata, name, graph=GRAPH).viz is not None
    pmrf.plots.plot_evidence(idata, "weight", graph=GRAPH, prior_inclusion=0.4)
    pmrf.plots.plot_complexity(idata, "weight")
    pmrf.plot_diagnostics(idata)
    assert pmrf.plot_ppc_edges(idata, "x", graph=GRAPH).viz is not None
    assert "weight" in str(pmrf.diagnose(idata, model=fit.model))


def test_correlations_of_the_ends(fit):
    observed = edge_correlation(fit.idata, "x", graph=GRAPH, group="observed_data")
    u, v = GRAPH.edges.T
    np.testing.assert_allclose(observed, fit.table.corr().to_numpy()[u, v])
    predicted = edge_correlation(fit.idata, "x", graph=GRAPH)
    assert predicted.dims == ("chain", "draw", "edge")
    x = fit.idata.posterior_predictive["x"].values[1, 2]
    np.testing.assert_allclose(predicted[1, 2], np.corrcoef(x.T)[u, v])
    table = fit.table.copy()
    table.iloc[3:, 0], table.iloc[5, 1] = np.nan, np.nan
    found = edge_correlation(tree_of(table), "x", graph=GRAPH, group="observed_data")
    np.testing.assert_allclose(found, table.corr().to_numpy()[u, v])
    with pytest.raises(ValueError, match="x has 4 nodes but the graph has 3"):
        edge_correlation(tree_of(table), "x", graph=pmrf.graphs.complete(3), group="observed_data")


def tree_of(table):
    import arviz as az

    return az.from_dict({"observed_data": {"x": table.to_numpy()}})


def test_draws_of_a_store(fit):
    plain = pm.sample(model=fit.model, **OPTIONS)
    again = pmrf.sample(model=fit.model, store=fit.store, **OPTIONS)
    for name in ("weight", "diagonal"):
        draws = fit.idata.posterior[name].values
        np.testing.assert_array_equal(plain.posterior[name].values, draws)
        np.testing.assert_array_equal(again.posterior[name].values, draws)
