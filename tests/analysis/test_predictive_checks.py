import arviz as az
import networkx as nx
import numpy as np
import pytest

from pymc_mrf.analysis.predictive_checks import edge_agreement, field_rows, state_counts
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
