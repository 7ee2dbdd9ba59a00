"""Draws whose precision is not positive definite are told by every function that reads them."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.centrality import node_measures
from tests import mixed_fields
from tests.analysis.posteriors import as_posterior

GRAPH = pmrf.graphs.complete(list("abc"))
INSIDE, OUTSIDE = 0.2, 0.8  # of all three weights, which are below .5 where diagonals are 1


def gaussian(rng):
    """A field of three measurements, and draws of which the first two of a chain are outside."""
    rows = rng.normal(size=(30, 3))
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        theta = pm.Normal("theta", 0, 1, dims="edge")
        pmrf.GaussianMRF("x", theta, 1.0, 0.0, graph=GRAPH, observed=rows)
    theta = np.full((2, 8, 3), INSIDE) + rng.normal(0, 0.01, (2, 8, 3))
    theta[1, :2] = OUTSIDE
    return model, as_posterior(theta, edges=list(GRAPH.edge_labels)), rows


def mixed(rng, **options):
    """The same of a field of answers and two measurements."""
    f, rows = mixed_fields, mixed_fields.rows(30)
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1, shape=len(f.WEIGHT))
        pmrf.MixedMRF(
            "x", theta, f.BIAS, f.DIAGONAL, f.MEAN, graph=f.GRAPH, kinds=f.KINDS, scale=f.SCALE,
            observed=rows, **options,
        )  # fmt: skip
    theta = np.tile(f.WEIGHT, (2, 8, 1)) + rng.normal(0, 0.01, (2, 8, len(f.WEIGHT)))
    at = int(
        np.flatnonzero(np.repeat(f.KINDS.edge_kinds(f.GRAPH), f.KINDS.block_sizes(f.GRAPH)) == 2)[0]
    )
    theta[1, :2, at] = 2.0
    return model, as_posterior(theta), rows


CASES = {
    "gaussian": gaussian,
    "mixed": mixed,
    "mixed, pseudo-likelihood": lambda rng: mixed(rng, likelihood="pseudo"),
}
OUT = r"not positive definite.* 1 of 2 chains, up to draw 1.*slice\(2, None\)"


@pytest.mark.parametrize("case", CASES)
def test_what_diagnose_and_predictions_say(case, rng):
    model, idata, rows = CASES[case](rng)
    inside = idata.isel(draw=slice(2, None))
    [told] = [f for f in pmrf.diagnose(idata, model=model).findings if "positive" in f.text]
    assert told.level == "against" and told.value == 2 and "2 of 16 draws" in told.text
    assert "slice(2, None)" in told.remedy
    assert not any("positive" in f.text for f in pmrf.diagnose(inside, model=model).findings)
    for function in (pmrf.predict_nodes, pmrf.predict_nodes):
        with pytest.raises(ValueError, match=r"x: draw 0 of chain 1 has a precision.*isel"):
            function(idata, "x", data=rows, model=model)
        function(inside, "x", data=rows, model=model)


def test_what_else_reads_weights_says(rng):
    model, idata, _ = gaussian(rng)
    inside = idata.isel(draw=slice(2, None))
    with pytest.warns(UserWarning, match=OUT):
        pmrf.partial_correlations(idata, "theta", 1.0, GRAPH)
    pmrf.partial_correlations(inside, "theta", 1.0, GRAPH)
    with model, pytest.warns(UserWarning, match=OUT):
        pmrf.summarize_edges(idata, "theta", graph=GRAPH)
    with model, pytest.warns(UserWarning, match=OUT):
        node_measures(idata, "theta", graph=GRAPH)
    with pytest.warns(UserWarning, match=OUT):
        pmrf.Network(idata, model)
    with model:
        pmrf.summarize_edges(inside, "theta", graph=GRAPH)
        node_measures(inside, "theta", graph=GRAPH)
    pmrf.Network(inside, model)


def test_chains_that_never_came_inside(rng):
    model, idata, _ = gaussian(rng)
    idata["posterior"]["theta"][0] = OUTSIDE
    [told] = [f for f in pmrf.diagnose(idata, model=model).findings if "positive" in f.text]
    assert "smaller weights" in told.remedy and "slice" not in told.remedy


def test_first_draws_without_tuning(rng):
    """Chains start where PyMC's jitter puts them."""
    graph, d = pmrf.graphs.complete(25), 25
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1, shape=graph.n_edges)
        pmrf.GaussianMRF("x", theta, 1.0, 0.0, graph=graph, observed=rng.normal(size=(50, d)))
        options = {"chains": 2, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
        idata = pm.sample(5, tune=0, random_seed=1, **options)
    [told] = [f for f in pmrf.diagnose(idata, model=model).findings if "positive" in f.text]
    K = np.tile(np.eye(d), (2, 5, 1, 1))
    u, v = graph.edges.T
    K[..., u, v] = K[..., v, u] = -idata.posterior["theta"].values
    assert told.value == (np.linalg.eigvalsh(K)[..., 0] <= 0).sum() > 0
