import re

import arviz as az
import networkx as nx
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.predictive_checks import edge_agreement, field_rows, run_lengths, state_counts
from pymc_mrf.graph.structure import as_graph

GRAPH = as_graph(nx.Graph([("a", "b"), ("b", "c"), ("c", "a")]))


@pytest.fixture
def tree(rng):
    groups = {
        "posterior_predictive": {"x": rng.integers(3, size=(2, 5, 4, 3))},
        "observed_data": {"x": rng.integers(3, size=(4, 3))},
    }
    return az.from_dict(groups)


def test_agreement_edge_by_edge(tree):
    found = edge_agreement(tree, "x", graph=GRAPH)
    assert found.dims == ("chain", "draw", "edge")
    assert list(found.edge.values) == list(GRAPH.edge_labels)
    x = tree.posterior_predictive["x"].values
    for e, (u, v) in enumerate(GRAPH.edges):
        for c, s in np.ndindex(2, 5):
            share = sum(row[u] == row[v] for row in x[c, s]) / 4
            assert found.values[c, s, e] == pytest.approx(share)
    observed = edge_agreement(tree, "x", graph=GRAPH, group="observed_data")
    assert observed.dims == ("edge",)
    assert edge_agreement(tree, "x", graph=nx.empty_graph(3)).shape == (2, 5, 0)


def test_rows_of_one_observation_and_of_batches(rng):
    tree = az.from_dict({"observed_data": {"x": np.arange(4), "y": np.zeros((2, 3, 4), dtype=int)}})
    assert field_rows(tree, "x", "observed_data").shape == (1, 4)
    assert field_rows(tree, "y", "observed_data").sizes == {"obs": 6, "node": 4}


def gaps(rng, with_empty_row=False):
    """A data set with missing cells, predictive draws of the same cells, and which cells are missing."""
    mask = rng.random((40, 3)) < 0.3
    mask[:, 2] = False
    mask[3], mask[4, 0], mask[5, 1] = with_empty_row, True, True
    x = np.where(mask, np.nan, rng.integers(3, size=(40, 3))).astype(np.float32)
    drawn = np.where(mask, np.nan, rng.integers(3, size=(2, 5, 40, 3))).astype(np.float32)
    return az.from_dict({"posterior_predictive": {"x": drawn}, "observed_data": {"x": x}}), x, drawn


def test_agreement_where_both_ends_are_seen(rng):
    tree, x, drawn = gaps(rng)
    observed = edge_agreement(tree, "x", graph=GRAPH, group="observed_data")
    predicted = edge_agreement(tree, "x", graph=GRAPH)
    for e, (u, v) in enumerate(GRAPH.edges):
        both = ~np.isnan(x[:, [u, v]]).any(axis=1)
        assert observed.values[e] == pytest.approx((x[both, u] == x[both, v]).mean())
        np.testing.assert_allclose(
            predicted.values[..., e], (drawn[:, :, both, u] == drawn[:, :, both, v]).mean(axis=-1)
        )
    x[:, :2] = np.nan
    tree["observed_data"]["x"].values[:] = x
    never = edge_agreement(tree, "x", graph=GRAPH, group="observed_data")
    assert np.isnan(never).all()


def test_counts_of_the_cells_that_are_seen(rng):
    tree, x, _ = gaps(rng, with_empty_row=True)
    counts = state_counts(field_rows(tree, "x", "observed_data"), np.arange(3))
    assert counts.sizes["obs"] == 39
    for row, found in zip(np.delete(x, 3, axis=0), counts.values, strict=True):
        seen = row[~np.isnan(row)]
        share = np.array([(seen == state).mean() for state in range(3)])
        np.testing.assert_array_equal(found, np.rint(3 * share))


def test_counts_of_states(tree):
    rows = field_rows(tree, "x", "posterior_predictive")
    counts = state_counts(rows, np.arange(3))
    assert counts.dims == ("chain", "draw", "obs", "state")
    np.testing.assert_array_equal(counts.sum("state"), 3)
    assert int(counts[1, 2, 3, 0]) == int((rows[1, 2, 3] == 0).sum())


def test_bad_input_is_named(tree):
    with pytest.raises(ValueError, match="x has 3 nodes but the graph has 4"):
        edge_agreement(tree, "x", graph=nx.path_graph(4))
    with pytest.raises(ValueError, match="the observed_data group has no variable 'y'; it has 'x'"):
        edge_agreement(tree, "y", graph=GRAPH, group="observed_data")
    with pytest.raises(ValueError, match="the DataTree has no group 'prior_predictive'"):
        edge_agreement(tree, "x", graph=GRAPH, group="prior_predictive")
    with pytest.raises(TypeError, match=r"xarray\.DataTree"):
        edge_agreement({}, "x", graph=GRAPH)
    scalar = az.from_dict({"posterior": {"k": np.zeros((1, 5), dtype=int)}})
    with pytest.raises(ValueError, match="k of the posterior group has no dimension of nodes"):
        field_rows(scalar, "k", "posterior")


LAGGED = pmrf.LaggedGraph("ab", [("a", "b"), ("b", "b")], (1, 3), links=[("a", "b")])
SERIES = np.array([0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0])


def of_series(rng, n_states=3):
    """Model of a field in time of two series, and data and predictive draws with a missing cell."""
    z = rng.integers(n_states, size=(12, 2))
    x = np.ma.masked_array(z, np.arange(24).reshape(12, 2) == 9)
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        options = {"family": "ordinal", "n_states": n_states, "series": SERIES}
        pmrf.KineticMRF("x", 0.0, 0.0, graph=LAGGED, observed=x, **options)
    drawn = rng.integers(n_states, size=(2, 5, 12, 2)).astype(np.float32)
    drawn[:, :, x.mask] = np.nan
    seen = x.astype(np.float32).filled(np.nan)
    return model, az.from_dict({"posterior_predictive": {"x": drawn}, "observed_data": {"x": seen}})


def test_lagged_agreement(rng):
    model, tree = of_series(rng)
    found = edge_agreement(tree, "x", graph=LAGGED, model=model)
    assert list(found.edge.values) == list(LAGGED.edge_labels)
    values = tree.posterior_predictive["x"].values
    steps = [0, 1, 1, 3, 3]
    for c, s in np.ndindex(2, 5):
        for e, ((u, v), step) in enumerate(zip(LAGGED.edges, steps, strict=True)):
            equal = []
            for label in (0, 1):
                own = values[c, s, label == SERIES]
                pairs = [(own[t - step, u], own[t, v]) for t in range(3, len(own))]
                equal += [a == b for a, b in pairs if not np.isnan([a, b]).any()]
            assert found.values[c, s, e] == pytest.approx(np.mean(equal))
    observed = edge_agreement(tree, "x", graph=LAGGED, model=model, group="observed_data")
    assert observed.dims == ("edge",)


@pytest.mark.parametrize("state", [None, 0, 2])
def test_runs_node_by_node(state, rng):
    """Word by word: the rows of a series as text, a missing cell is a hyphen."""
    model, tree = of_series(rng)
    found = run_lengths(tree, "x", model=model, state=state)
    assert found.node.values.tolist() == ["a", "b"]
    values = tree.posterior_predictive["x"].values
    for c, s, i in np.ndindex(2, 5, 2):
        words = [
            "".join("-" if np.isnan(v) else str(int(v)) for v in values[c, s, label == SERIES, i])
            for label in (0, 1)
        ]
        kinds = "012" if state is None else str(state)
        runs = [len(m[0]) for word in words for m in re.finditer("|".join(f"{k}+" for k in kinds), word)]
        expected = (len(runs), np.mean(runs), max(runs)) if runs else (0, 0, 0)
        assert [float(v[c, s, i]) for v in found.data_vars.values()] == pytest.approx(expected)
    observed = run_lengths(tree, "x", model=model, state=state, group="observed_data")
    assert observed["longest"].dims == ("node",)


def test_bad_input_of_checks_in_time(rng):
    model, tree = of_series(rng)
    with pytest.raises(TypeError, match=r"model must be the pymc\.Model of x"):
        edge_agreement(tree, "x", graph=LAGGED)
    with pytest.raises(ValueError, match=r"graph has the lags \(2,\), but x \(1, 3\)"):
        edge_agreement(tree, "x", graph=pmrf.LaggedGraph("ab", [("a", "b")], 2), model=model)
    with pytest.raises(ValueError, match="state=7 is none of x"):
        run_lengths(tree, "x", model=model, state=7)
    with pytest.raises(ValueError, match="x has 12 rows in the model and 11 in the draws"):
        run_lengths(tree.isel(x_dim_0=slice(11)), "x", model=model)
    with pm.Model() as other:
        pmrf.Ising("x", 0.0, graph=GRAPH, observed=np.ones((12, 3), dtype=int))
    with pytest.raises(ValueError, match="is no KineticMRF of the model"):
        run_lengths(tree, "x", model=other)
