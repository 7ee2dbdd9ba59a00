"""Scales undone: densities of the columns as they are, and what network_model keeps for it."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from tests.reference.gaussian import log_density, precision

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(RNG.normal([40, 3, 600], [12, 1, 200], (30, 3)), columns=["age", "score", "time"])
GRAPH = pmrf.graphs.complete(TABLE.columns)


@pytest.fixture(scope="module")
def sampled():
    with pmrf.network_model(TABLE, kind="continuous"):
        return pm.sample(
            4, tune=4, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip


def test_densities_differ_by_the_units_alone(sampled):
    """log p(x) = log p(z) - sum of log s, row by row and draw by draw."""
    found = pmrf.analysis.original_units(sampled, graph=GRAPH)
    z = ((TABLE - TABLE.mean()) / TABLE.std()).to_numpy()
    edges = GRAPH.edges.tolist()
    for i in range(4):
        w, a, m = (sampled.posterior[name].values[0, i] for name in ("weight", "diagonal", "mean"))
        standardised = log_density(z, precision(edges, w, a), (m - TABLE.mean()) / TABLE.std())
        w, a, m = (found[name].values[0, i] for name in ("weight", "diagonal", "mean"))
        of_data = log_density(TABLE.to_numpy(), precision(edges, w, a), m)
        np.testing.assert_allclose(of_data, standardised - np.log(TABLE.std()).sum())


def test_given_scales(sampled):
    """Columns that were standardised by hand: their means come back as well."""
    kept = pmrf.analysis.original_units(sampled, graph=GRAPH)
    by_hand = xr.DataTree.from_dict({"posterior": sampled.posterior.to_dataset()})
    by_hand.posterior["mean"] = (kept["mean"] - TABLE.mean().values) / TABLE.std().values
    given = pmrf.analysis.original_units(
        by_hand, graph=GRAPH, sd=TABLE.std().to_numpy(), mean=TABLE.mean()
    )
    for name in ("weight", "diagonal", "mean"):
        np.testing.assert_allclose(given[name], kept[name])
    model = pmrf.network_model(TABLE, kind="continuous")
    xr.testing.assert_identical(kept, pmrf.analysis.original_units(sampled, model=model))
    of_field = pmrf.analysis.original_units(by_hand, graph=GRAPH, model=model, diagonal=None, means=None)
    assert list(of_field) == ["weight"]
    np.testing.assert_allclose(of_field["weight"], kept["weight"])
    with pytest.raises(ValueError, match="field of the model has a scale of its own: leave sd out"):
        pmrf.analysis.original_units(by_hand, graph=GRAPH, model=model, sd=TABLE.std())


def test_a_mixed_field_without_a_scale_has_the_same_density():
    table = TABLE.assign(party=RNG.integers(3, size=30), likes=RNG.integers(3, size=30))
    kinds = pmrf.column_kinds(
        table, {"party": "nominal", "likes": "ordinal"} | dict.fromkeys(TABLE.columns, "continuous")
    )
    graph, sd = pmrf.graphs.complete(kinds.names), TABLE.std().to_numpy()
    coords = kinds.coords(graph)
    values = {
        "weight": RNG.normal(0, 0.2, len(coords["entry"])),
        "diagonal": RNG.uniform(1, 2, 3),
        "mean": TABLE.mean().to_numpy(),
    }
    dims = {"weight": ["entry"], "diagonal": ["measurement"], "mean": ["measurement"]}
    draws = xr.Dataset(
        {name: (["chain", "draw", *dims[name]], v[None, None]) for name, v in values.items()}, coords
    )
    idata = xr.DataTree.from_dict({"posterior": draws})
    found = pmrf.analysis.original_units(
        idata, graph=graph, kinds=kinds, sd=pd.Series(sd, TABLE.columns)
    )
    logp = []
    for parameters, scale in ((draws, sd), (found, 1.0)):
        w, a, m = (parameters[name].values[0, 0] for name in values)
        field = pmrf.MixedMRF.dist(w, 0.0, a, m, graph=graph, kinds=kinds, scale=scale)
        logp.append(pm.logp(field, table[list(kinds.names)].to_numpy(float)).eval(mode="FAST_COMPILE"))
    np.testing.assert_allclose(*logp)
    assert not np.allclose(found["weight"], draws["weight"])
    with pytest.raises(ValueError, match="those of a MixedMRF with 10 edges: say kinds="):
        pmrf.analysis.original_units(idata, graph=graph, sd=sd)
    with pytest.raises(ValueError, match="mean has no meaning beside kinds"):
        pmrf.analysis.original_units(idata, graph=graph, kinds=kinds, sd=sd, mean=sd)
    with pytest.raises(
        ValueError, match=r"diagonal='weight' has \d+ entries, but there are 3 measurements"
    ):
        pmrf.analysis.original_units(idata, graph=graph, kinds=kinds, sd=sd, diagonal="weight")
    with pytest.raises(
        ValueError, match="sd: its labels are the measurements of the graph in another order"
    ):
        pmrf.analysis.original_units(
            idata, graph=graph, kinds=kinds, sd=pd.Series(sd, TABLE.columns)[::-1]
        )


def test_refusals(sampled):
    bare = sampled.copy()
    del bare["constant_data"]
    with pytest.raises(ValueError, match="sd has the value 0; standard deviations are positive"):
        pmrf.analysis.original_units(bare, graph=GRAPH, sd=[1, 0, 1])
    with pytest.raises(ValueError, match=r"sd has the shape \(2,\)"):
        pmrf.analysis.original_units(bare, graph=GRAPH, sd=[1, 1])
    with pytest.raises(ValueError, match="keeps column_sd, by which its field divides the columns"):
        pmrf.analysis.original_units(sampled, graph=GRAPH, sd=[1, 1, 1])
    with pytest.raises(ValueError, match="mean is given without sd"):
        pmrf.analysis.original_units(sampled, graph=GRAPH, mean=TABLE.mean())
    with pytest.raises(ValueError, match="sd is missing: give the model, whose field has a scale"):
        pmrf.analysis.original_units(bare, graph=GRAPH)
    with pytest.raises(ValueError, match="no variable 'weight2'"):
        pmrf.analysis.original_units(sampled, graph=GRAPH, diagonal="weight2", means=None)
