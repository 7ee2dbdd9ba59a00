import networkx as nx
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.analysis import edges
from pymc_mrf.graph.structure import as_graph
from tests.analysis.posteriors import as_posterior
from tests.analysis.sparse_draws import GRAPH, sparse_draws, tree_of
from tests.statistics import ALPHA, Z


def sticky_indicator(rng, *, stay, n_chains, n_draws):
    """Two-state Markov chain with equal probabilities that keeps its state with probability `stay`."""
    flips = rng.random((n_chains, n_draws)) > stay
    flips[:, 0] = rng.random(n_chains) < 0.5
    return np.cumsum(flips, axis=1) % 2


def test_inclusion_and_means_of_a_small_posterior():
    w = [[[0.0, 2.0, -1.0, 0.0], [0.0, 4.0, 0.0, 0.0], [0.0, 3.0, 0.0, -0.0], [0.0, 3.0, 5.0, 1.0]]]
    table = edges.edge_inclusion(tree_of(w), "theta")
    assert table.edge.values.tolist() == list(GRAPH.edge_labels)
    assert table.inclusion.values.tolist() == [0.0, 1.0, 0.5, 0.25]
    assert table["mean"].values.tolist() == [0.0, 3.0, 1.0, 0.25]
    np.testing.assert_array_equal(table.mean_included, [np.nan, 3.0, 2.0, 1.0])
    assert "bayes_factor" not in table
    assert table.attrs == {"variable": "theta", "n_draws": 4}


def assert_errors_are_right(table, p, *, right=True):
    """Sum of the squares of all inclusions' distances from `p`, in standard errors, against chi-square."""
    z = (table.inclusion - p) / table.inclusion_mcse
    low, high = stats.chi2(z.size).ppf([ALPHA / 2, 1 - ALPHA / 2])
    assert (low < float((z**2).sum()) < high) == right


def test_standard_error_of_independent_draws(rng):
    p = np.tile([0.2, 0.5, 0.9, 0.7], 15)
    table = edges.edge_inclusion(as_posterior(sparse_draws(rng, p)), "theta")
    assert_errors_are_right(table, p)
    assert np.all(np.isnan(table.inclusion_bound))


def test_standard_error_counts_autocorrelation(rng):
    w = np.stack([sticky_indicator(rng, stay=0.9, n_chains=4, n_draws=2000) for _ in range(60)], axis=-1)
    table = edges.edge_inclusion(as_posterior(w), "theta")
    assert_errors_are_right(table, 0.5)
    table["inclusion_mcse"][:] = np.sqrt(0.25 / 8000)  # were the draws independent
    assert_errors_are_right(table, 0.5, right=False)


def test_indicators_that_never_change_have_a_bound_instead_of_an_error(rng):
    w = sparse_draws(rng, (0.0, 0.5, 1.0, 0.5))
    table = edges.edge_inclusion(tree_of(w), "theta", prior_inclusion=0.2)
    assert table.inclusion_mcse.values[[0, 2]].tolist() == [0.0, 0.0]
    bound = table.inclusion_bound.values
    assert np.isnan(bound[[1, 3]]).all()
    assert bound[0] == bound[2]
    assert 2.9 / 1000 < bound[0] < 5 / 1000  # the rule of three for independent draws
    assert table.bayes_factor.values[[0, 2]].tolist() == [0.0, np.inf]
    limits = np.array([bound[0] / (1 - bound[0]), (1 - bound[0]) / bound[0]]) * 4
    np.testing.assert_allclose(table.bayes_factor_bound[[0, 2]], limits)
    assert np.isnan(table.bayes_factor_bound[[1, 3]]).all()


def test_bound_counts_the_autocorrelation_of_the_others(rng):
    w = np.ones((4, 500, 4))
    w[..., 0] = sticky_indicator(rng, stay=0.95, n_chains=4, n_draws=500)
    sticky = edges.edge_inclusion(tree_of(w), "theta").inclusion_bound[1]
    alone = edges.edge_inclusion(tree_of(np.ones((4, 500, 4))), "theta").inclusion_bound[1]
    assert float(alone) == pytest.approx(1 - 0.05 ** (1 / 2000))
    assert float(sticky) > 5 * float(alone)


def test_bound_covers_the_probability_of_a_rare_edge(rng):
    """An edge just more probable than the bound on 60 draws is never seen in 1 run of 20 at most."""
    p, too_small = 0.05, []
    for _ in range(150):
        w = sparse_draws(rng, (p, p, 0.5, 0.5), n_draws=15)
        bound = edges.edge_inclusion(tree_of(w), "theta").inclusion_bound[:2]
        too_small.extend((bound < p).values)
    assert np.mean(too_small) < 0.05 + Z * np.sqrt(0.05 * 0.95 / 300)


def test_bayes_factors(rng):
    tree = tree_of(sparse_draws(rng))
    prior = [0.1, 0.5, 0.5, 0.9]
    table = edges.edge_inclusion(tree, "theta", prior_inclusion=prior)
    q = table.inclusion.values
    np.testing.assert_allclose(table.bayes_factor, q / (1 - q) / (np.divide(prior, 1 - np.array(prior))))
    labelled = xr.DataArray(prior, dims="edge", coords={"edge": list(GRAPH.edge_labels)})
    same = edges.edge_inclusion(tree, "theta", prior_inclusion=labelled)
    xr.testing.assert_identical(table, same)
    with pytest.raises(ValueError, match="prior_inclusion"):
        edges.edge_inclusion(tree, "theta", prior_inclusion=labelled[::-1])


def test_few_draws_have_no_standard_error():
    table = edges.edge_inclusion(tree_of([[[0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]]]), "theta")
    assert np.isnan(table.inclusion_mcse).all()
    np.testing.assert_allclose(table.inclusion_bound, [np.nan, 1 - 0.05**0.5, 1 - 0.05**0.5, np.nan])


def test_median_graph(rng):
    w = [[[0.0, 2.0, -1.0, 1.0], [0.0, 4.0, 0.0, 3.0], [0.0, 3.0, 0.0, -0.0], [1.0, 3.0, 5.0, 2.0]]]
    tree = tree_of(w)
    net = edges.median_graph(tree, "theta", GRAPH)
    assert list(net) == ["a", "b", "c", "d"]
    assert net.edges["a", "c"] == {"inclusion": 1.0, "weight": 3.0}
    assert net.edges["b", "c"] == {"inclusion": 0.75, "weight": 2.0}
    assert net.number_of_edges() == 2  # an edge of exactly one half does not exceed it
    assert edges.median_graph(tree, "theta", GRAPH, threshold=0.75).number_of_edges() == 1
    all_seen = edges.median_graph(tree, "theta", GRAPH.to_networkx(), threshold=0)
    assert all_seen.number_of_edges() == 4


def test_edge_density(rng):
    w = sparse_draws(rng)
    density = edges.edge_density(tree_of(w), "theta")
    assert density.dims == ("chain", "draw")
    np.testing.assert_allclose(density, np.count_nonzero(w, axis=-1) / 4)


def test_bad_input_is_named(rng):
    tree = tree_of(sparse_draws(rng))
    for prior in (0.0, 1, [0.5, 0.5, np.nan, 0.5]):
        with pytest.raises(ValueError, match="prior odds need probabilities strictly between"):
            edges.edge_inclusion(tree, "theta", prior_inclusion=prior)
    with pytest.raises(ValueError, match=r"prior_inclusion has shape \(3,\); give one .* or 4, one"):
        edges.edge_inclusion(tree, "theta", prior_inclusion=[0.5] * 3)
    with pytest.raises(ValueError, match="no variable 'w'; it has 'theta'"):
        edges.edge_density(tree, "w")
    with pytest.raises(ValueError, match="is empty"):
        edges.edge_inclusion(tree.isel(draw=slice(0)), "theta")
    with pytest.raises(
        ValueError, match=r"threshold must be a number of at least 0 and below 1, not 50"
    ):
        edges.median_graph(tree, "theta", GRAPH, threshold=50)
    with pytest.raises(ValueError, match="theta has 4 entries but the graph has 2 edges"):
        edges.median_graph(tree, "theta", nx.path_graph(3))
    other = as_graph(nx.Graph([("a", "b"), ("a", "c"), ("a", "d"), ("b", "d")]))
    with pytest.raises(ValueError, match="its edge 3 is 'b--c', that of the graph is 'b--d'"):
        edges.median_graph(tree, "theta", other)
    with pytest.raises(TypeError, match=r"graph must be a networkx\.Graph"):
        edges.median_graph(tree, "theta", [("a", "b")])


def blocks_of(rng, size, n_draws=250):
    """Draws of two edges of `size` entries each, zero together."""
    present = np.repeat(rng.random((2, n_draws, 2)) < 0.5, size, axis=2)
    return np.where(present, rng.normal(1.0, 0.5, present.shape), 0.0)


COUNTS = [
    edges.edge_inclusion,
    edges.edge_density,
    pmrf.analysis.structure_probabilities,
    pmrf.analysis.complexity_probabilities,
]


@pytest.mark.parametrize("count", COUNTS, ids=lambda f: f.__name__)
def test_entries_of_blocks_are_no_edges(rng, count):
    """Labels tell, else draws in which neighbours change together, else the model."""
    labels = ["a--b[1,1]", "a--b[1,2]", "b--c[1,1]", "b--c[1,2]"]
    few = blocks_of(rng, 2, 9)
    for idata in (as_posterior(few, labels), as_posterior(blocks_of(rng, 2), range(4))):
        with pytest.raises(ValueError, match=r"theta has several entries for an edge.*edge_strength"):
            count(idata, "theta")
    with pm.Model(), pytest.raises(ValueError, match="theta has several entries for an edge"):
        pmrf.SpikeAndSlab("theta", 0.5, pm.Normal.dist(), blocks=[2, 2])
        edges.edge_inclusion(as_posterior(few, range(4)), "theta")


def test_what_is_no_block_is_counted(rng):
    """Edges that are absent together by chance, copies of an edge, and nodes with brackets in their names."""
    few, copies = blocks_of(rng, 2, 9), np.repeat(blocks_of(rng, 1), 2, axis=2)
    apart = sparse_draws(rng, n_chains=2)
    for w, labels in (
        (few, range(4)),
        (few, ["a--b", "b--c", "c--d", "d--e"]),
        (copies, range(4)),
        (apart, ["a--b[1,1]", "a--b[1,2]", "b--c[1,1]", "b--c[1,2]"]),
    ):
        density = edges.edge_density(as_posterior(w, labels), "theta")
        np.testing.assert_allclose(density, (w != 0).mean(axis=-1))
