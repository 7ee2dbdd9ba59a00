"""Vectors with many edges, of which a run keeps those present: the draws of `pymc.sample` all the same."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.analysis import _posterior
from pymc_mrf.analysis.edges import edge_density
from pymc_mrf.runs import chain, present_edges
from pymc_mrf.runs.present_edges import with_many_edges
from tests.marks import slow
from tests.steps.edges.binary_models import GRAPH, boltzmann_data

OPTIONS = dict(
    draws=120, tune=30, chains=2, cores=1, random_seed=3, progressbar=False, quiet=True,
    compute_convergence_checks=False,
)  # fmt: skip


@pytest.fixture
def many(monkeypatch):
    """Take six edges for many, and three for many that are judged."""
    monkeypatch.setattr(present_edges, "MANY_EDGES", 6)
    monkeypatch.setattr(present_edges, "MOST_JUDGED", 3)


def model(labelled=False):
    coords = pmrf.coords(GRAPH) if labelled else {}
    with pm.Model(coords=coords) as made:
        shape = {"dims": "edge"} if labelled else {"shape": 6}
        w = pmrf.SpikeAndSlab("w", pm.Beta("p", 1, 1), pm.Normal.dist(0, 1), **shape)
        x = boltzmann_data(80, seed=1)
        pmrf.BoltzmannMachine("x", w, pm.Normal("b", 0, 1, shape=4), graph=GRAPH, observed=x)
    return made


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("labelled", [True, slow(False)])
def test_draws_are_those_of_pymc(labelled, monkeypatch):
    given, options = model(labelled), OPTIONS | {"draws": 60, "discard_tuned_samples": False}
    assert with_many_edges(given) == ("w",)
    expected = pm.sample(model=given, **options)
    with monkeypatch.context() as patch:
        patch.setattr(chain, "MOST_BYTES", 8 * 11 * 17)  # some draws at a time
        found = pmrf.sample(model=given, **options)
    w, dense = found.posterior["w"], expected.posterior["w"]
    assert not isinstance(w.variable._data, np.ndarray)
    assert (dense == 0.0).any() and (dense != 0.0).any()
    for group in ("posterior", "warmup_posterior"):
        xr.testing.assert_equal(found[group].to_dataset().load(), expected[group].to_dataset())
    dim = w.dims[-1]
    assert dim == ("edge" if labelled else "w_dim_0")
    for part in (
        {"chain": 1},
        {"draw": slice(3, 50, 7), dim: [4, 1]},
        {"chain": [1, 0], dim: 2},
        {"draw": -1, dim: slice(1, 3)},
        {dim: []},
        {"chain": 0, "draw": 5, dim: 3},
    ):
        np.testing.assert_array_equal(w.isel(part).values, dense.isel(part).values)
    if labelled:
        np.testing.assert_array_equal(w.sel(edge="1--2").values, dense.sel(edge="1--2").values)
        assert_same_results(given, found, expected, monkeypatch)


def assert_same_results(given, found, expected, monkeypatch):
    """Of analyses of draws of the edges that are present, and of all."""
    with monkeypatch.context() as patch:
        patch.setattr(_posterior, "AT_ONCE", 2 * 120)  # two edges
        tables = [pmrf.analysis.edge_inclusion(idata, "w", model=given) for idata in (found, expected)]
        frames = [
            pmrf.summarize_edges(idata, "w", graph=GRAPH, model=given) for idata in (found, expected)
        ]
        densities = [edge_density(idata, "w") for idata in (found, expected)]
    tables.append(pmrf.analysis.edge_inclusion(expected, "w", model=given))
    frames.append(pmrf.summarize_edges(expected, "w", graph=GRAPH, model=given))
    for table, frame in zip(tables[1:], frames[1:], strict=True):
        xr.testing.assert_allclose(tables[0], table)
        np.testing.assert_allclose(frames[0].select_dtypes("number"), frame.select_dtypes("number"))
        assert frames[0]["bayes_factor_text"].tolist() == frame["bayes_factor_text"].tolist()
    xr.testing.assert_equal(*densities)


@pytest.mark.slow
@pytest.mark.usefixtures("many")
def test_a_run_goes_on_and_is_judged(tmp_path):
    given = model()
    whole = pmrf.sample(model=given, **OPTIONS)
    first = pmrf.sample(model=given, store=tmp_path / "run", **OPTIONS)
    again = pmrf.sample(model=given, store=tmp_path / "run", **OPTIONS)
    for one in (first, again):
        xr.testing.assert_equal(one.posterior.to_dataset().load(), whole.posterior.to_dataset().load())
    stored = pmrf.read_store(tmp_path / "run")
    assert stored.warmup_posterior["w"].shape == (2, 30, 6)
    progress = pmrf.run_progress(tmp_path / "run")
    assert progress.n_draws == 120 and "w_edge_density" in progress.summaries
    few = present_edges.some_entries(whole)
    assert few.posterior["w"].shape == (2, 120, 3)
    assert float(az.rhat(few.posterior["w"]).max()) < 1.2
    assert present_edges.some_entries(pm.sample(model=given, **OPTIONS)).posterior["w"].shape[-1] == 6


@pytest.mark.usefixtures("many")
def test_nothing_but_edges():
    with pm.Model() as given:
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 1), shape=6)
        x = boltzmann_data(80, seed=1)
        pmrf.BoltzmannMachine("x", w, np.zeros(4), graph=GRAPH, observed=x)
    found, expected = pmrf.sample(model=given, **OPTIONS), pm.sample(model=given, **OPTIONS)
    xr.testing.assert_equal(found.posterior.to_dataset().load(), expected.posterior.to_dataset())


def test_vectors_with_few_edges_are_arrays():
    assert with_many_edges(model()) == ()
