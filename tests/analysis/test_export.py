"""The page on export: its code runs, and what it writes is read back as the page says."""

import contextlib
import importlib.util

import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from examples import pages
from tests.analysis.posteriors import as_posterior

# looks like a number, or a missing value; signs of the formats; one is never linked, one is in no pair
NODES = ["01", "NA", "a, b", 'say "é"', "<x & y>", "$5", "alone", "no pair"]
GRAPH = nx.empty_graph(NODES)
GRAPH.add_edges_from((u, v) for i, u in enumerate(NODES[:-1]) for v in NODES[:i])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Names that the page's code makes, without that of netCDF, from edges of all kinds."""
    rng = np.random.default_rng(41)
    share = rng.choice([0.2, 0.8], GRAPH.number_of_edges())
    share[["alone" in edge for edge in GRAPH.edges]] = 0.0
    share[0] = 1.0
    present = rng.random((2, 50, len(share))) < share
    draws = present * (rng.choice([-1.0, 1.0], len(share)) + 0.1 * rng.standard_normal(present.shape))
    idata = as_posterior(draws, edges=pmrf.coords(GRAPH)["edge"])
    idata["posterior"] = idata.posterior.to_dataset().rename(theta="weight")
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        pmrf.SpikeAndSlab("weight", p=0.5, slab=pm.Normal.dist(0, 1), dims="edge")
    names = {"idata": idata, "graph": GRAPH, "model": model, "folder": tmp_path_factory.mktemp("export")}
    run(pages.code_blocks(pages.DOCS / "export.md")[:-1], names)
    return names


def run(blocks, names):
    with contextlib.chdir(names["folder"]):
        for block in blocks:
            exec(block, names)


def test_tables_are_read_as_they_were_written(exported):
    edges = exported["edges"]
    assert np.isinf(edges["bayes_factor"]).any()
    assert edges["r_hat"].isna().any()
    pd.testing.assert_frame_equal(exported["edges_again"], edges, rtol=1e-14, check_dtype=False)
    # the control: without what the page says, names are taken for numbers and for missing values
    careless = pd.read_csv(exported["folder"] / "edges.csv", index_col="edge")
    assert careless["u"].isna().any() or careless["v"].isna().any()
    assert "no pair" not in edges[["u", "v"]].to_numpy()
    nodes = pd.read_csv(exported["folder"] / "nodes.csv", dtype={"node": str}, keep_default_na=False)
    assert set(nodes["node"]) == set(NODES)


def test_graphs_are_read_as_they_were_written(exported):
    network, again = exported["network"], exported["network_again"]
    assert list(again.nodes) == NODES
    assert {"alone", "no pair"} <= set(nx.isolates(network))
    assert dict(again.edges) == dict(network.edges)
    weights = nx.get_edge_attributes(again, "weight")
    assert min(weights.values()) < 0.0 < max(weights.values())
    mean = exported["edges"].set_index(["u", "v"])
    for (u, v), weight in weights.items():
        row = mean.loc[(u, v) if (u, v) in mean.index else (v, u)]
        assert row["mean"] == pytest.approx(weight * row["inclusion"])


def test_pairs_have_the_columns_of_the_table(exported):
    pairs = nx.read_graphml(exported["folder"] / "pairs.graphml")
    assert set(pairs.nodes) == set(NODES)
    assert set(map(frozenset, pairs.edges)) == set(map(frozenset, GRAPH.edges))
    for _, row in exported["edges"].iterrows():
        found = pairs.edges[row["u"], row["v"]]
        assert found.keys() == set(row.index) - {"u", "v"}
        texts = ["bayes_factor_text", "evidence"]
        assert [found.pop(name) for name in texts] == row[texts].tolist()
        np.testing.assert_array_equal(list(found.values()), row.drop(["u", "v", *texts]).astype(float))


def test_matrix_is_read_as_it_was_written(exported):
    matrix, again = exported["matrix"], exported["matrix_again"]
    assert list(matrix.columns) == NODES
    np.testing.assert_allclose(again, matrix, rtol=1e-14)
    assert list(again.columns) == NODES
    assert np.array_equal(matrix, matrix.T)
    assert (matrix.loc["alone"] == 0.0).all()


def test_arrows_of_several_lags_are_parallel():
    lagged = pmrf.LaggedGraph("ab", [("a", "a"), ("a", "b"), ("b", "a")], (1, 2))
    draws = as_posterior(np.ones((2, 10, lagged.n_edges)), edges=lagged.edge_labels)
    edges = pmrf.summarize_edges(draws, "theta", graph=lagged)
    [call] = [
        part
        for part in (pages.DOCS / "export.md").read_text(encoding="utf-8").split("`")
        if "MultiDiGraph" in part
    ]
    network = eval(call, {"nx": nx, "edges": edges})
    assert set(network.edges(keys=True)) == {
        (*pair, lag) for pair in (("a", "a"), ("a", "b"), ("b", "a")) for lag in (1, 2)
    }


@pytest.mark.skipif(
    not any(map(importlib.util.find_spec, ("h5netcdf", "netCDF4"))), reason="nothing writes netCDF"
)
def test_draws_are_read_as_they_were_written(exported):
    run(pages.code_blocks(pages.DOCS / "export.md")[-1:], exported)
    again = exported["idata_again"]
    assert again.identical(exported["idata"])
    found = pmrf.summarize_edges(again, "weight", graph=GRAPH, model=exported["model"])
    pd.testing.assert_frame_equal(found, exported["edges"])
