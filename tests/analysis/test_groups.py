import numpy as np
import pytest
import xarray as xr

from pymc_mrf.analysis import groups
from tests.analysis.posteriors import as_posterior, grouped_theta, noisy_theta
from tests.reference import partitions as reference

TWO_DRAWS = [[[0.5, 0.2, 0.5, 0.9], [0.3, 0.3, 0.3, 0.3]]]


def test_labels_follow_increasing_values_and_keep_dims():
    labels = groups.group_labels(as_posterior(TWO_DRAWS, edges="abcd"), "theta")
    assert labels.dims == ("chain", "draw", "edge")
    assert labels.values.tolist() == [[[1, 0, 1, 2], [0, 0, 0, 0]]]
    assert labels["edge"].values.tolist() == list("abcd")
    assert labels.dtype.kind == "i"


def test_zero_and_negative_zero_are_one_group():
    assert groups.group_labels(as_posterior([[[0.0, -0.0, 1.0]]]), "theta").values.tolist() == [
        [[0, 0, 1]]
    ]


def test_nearly_equal_values_are_different_groups():
    theta = [[[0.5, np.nextafter(0.5, 1.0)]]]
    assert groups.n_groups(as_posterior(theta), "theta").item() == 2


def test_n_groups(rng):
    theta = grouped_theta(rng)
    count = groups.n_groups(as_posterior(theta), "theta")
    assert count.dims == ("chain", "draw")
    expected = [[len(set(draw)) for draw in chain] for chain in theta.tolist()]
    assert count.values.tolist() == expected


def test_co_clustering_equals_reference(rng):
    theta = grouped_theta(rng, r=8)
    matrix = groups.co_clustering(as_posterior(theta, edges="abcdefgh"), "theta")
    assert matrix.dims == ("edge", "edge_bis")
    assert matrix["edge_bis"].values.tolist() == list("abcdefgh")
    np.testing.assert_allclose(matrix, reference.co_clustering(theta.reshape(-1, 8).tolist()))


def test_other_groups_of_the_tree(rng):
    tree = as_posterior(grouped_theta(rng))
    tree["prior"] = xr.DataTree(as_posterior(TWO_DRAWS)["posterior"].to_dataset())
    assert groups.n_groups(tree, "theta", group="prior").values.tolist() == [[3, 1]]


@pytest.mark.parametrize("r", [1, 2, 5])
def test_vi_is_a_metric(r):
    partitions = np.array(reference.all_partitions(r))
    vi = groups.variation_of_information(partitions[:, None], partitions[None])
    assert vi.shape == (len(partitions),) * 2
    np.testing.assert_array_equal(np.diag(vi), 0.0)
    assert np.all(vi[~np.eye(len(vi), dtype=bool)] > 1e-3)
    np.testing.assert_allclose(vi, vi.T, atol=1e-15)
    assert np.all(vi[:, None, :] <= vi[:, :, None] + vi.T[None] + 1e-12)  # triangle
    assert vi.max() <= np.log(r) + 1e-12


def test_vi_takes_any_integers_and_broadcasts_labelled_arrays(rng):
    labels = groups.group_labels(as_posterior(grouped_theta(rng), edges="abcdef"), "theta")
    truth = np.array([7, 7, -3, -3, 7, 100])
    vi = groups.variation_of_information(labels, truth)
    assert vi.dims == ("chain", "draw")
    assert vi[1, 7].item() == pytest.approx(
        reference.variation_of_information(labels[1, 7].values.tolist(), truth.tolist())
    )
    swapped = groups.variation_of_information(truth, labels)
    np.testing.assert_allclose(vi, swapped, atol=1e-15)
    named = xr.DataArray(truth, dims="edge", coords={"edge": list("abcdef")})
    np.testing.assert_array_equal(vi, groups.variation_of_information(labels, named))


SIX = xr.DataArray(np.arange(6), dims="edge", coords={"edge": list("abcdef")})
REFUSED = [
    (SIX, SIX[::-1], ValueError, "label other items, or in another order"),
    (SIX, np.zeros(5, int), ValueError, "6 items along 'edge', b labels 5"),
    (SIX, xr.DataArray(np.zeros(6, int), dims="node"), ValueError, "without the item dimension 'edge'"),
    (SIX, np.zeros((2, 6), int), ValueError, "must be a vector"),
    (np.zeros(3, int), np.zeros(4, int), ValueError, r"shapes \(3,\), \(4,\)"),
    ([0.5, 0.5], [0, 1], TypeError, "integer group labels, not float64"),
    (xr.DataArray(1), np.zeros(3, int), ValueError, "one of them is a scalar"),
    (np.zeros(0, int), np.zeros(0, int), ValueError, "no items"),
]


@pytest.mark.parametrize(("a", "b", "error", "message"), REFUSED)
def test_vi_refuses_items_that_differ(a, b, error, message):
    with pytest.raises(error, match=message):
        groups.variation_of_information(a, b)


@pytest.mark.parametrize("flip", [0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("repeat", range(5))
def test_point_grouping_is_the_best_of_all_partitions(rng, flip, repeat):
    for _ in range(repeat + 1):
        truth = np.unique(rng.integers(0, 3, 5), return_inverse=True)[1]
        theta = noisy_theta(rng, truth, flip=flip, n_chains=1, n_draws=30)
    tree = as_posterior(theta)
    draws = groups.group_labels(tree, "theta").values.reshape(-1, 5).tolist()
    best = min(reference.expected_vi(p, draws) for p in reference.all_partitions(5))
    point = groups.point_grouping(tree, "theta")
    assert point.attrs["expected_vi"] == pytest.approx(best, abs=1e-12)
    assert reference.expected_vi(point.values.tolist(), draws) == pytest.approx(best, abs=1e-12)


def test_point_grouping_recovers_a_clear_grouping_in_order_of_values(rng):
    truth = rng.permutation(np.repeat(np.arange(4), 15))
    point = groups.point_grouping(as_posterior(noisy_theta(rng, truth, flip=0.2)), "theta")
    assert point.dims == ("edge",)
    np.testing.assert_array_equal(point, truth)


def test_point_grouping_of_one_item():
    point = groups.point_grouping(as_posterior([[[0.2], [0.4]]]), "theta")
    assert point.values.tolist() == [0]
    assert point.attrs["expected_vi"] == 0.0


FUNCTIONS = [groups.group_labels, groups.n_groups, groups.co_clustering, groups.point_grouping]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_input_is_named(function, rng):
    theta = grouped_theta(rng)
    tree = as_posterior(theta, alpha=np.ones((2, 50)))
    with pytest.raises(ValueError, match="no variable 'tau'; it has 'theta', 'alpha'"):
        function(tree, "tau")
    with pytest.raises(ValueError, match="no group 'prior'; it has 'posterior'"):
        function(tree, "theta", group="prior")
    with pytest.raises(ValueError, match=r"alpha has dims .*a vector is needed"):
        function(tree, "alpha")
    with pytest.raises(TypeError, match=r"DataTree that pymc\.sample returns, not Dataset"):
        function(tree["posterior"].to_dataset(), "theta")
    reduced = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset().mean("draw")})
    with pytest.raises(ValueError, match="without 'draw'"):
        function(reduced, "theta")
    theta[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"theta\[1, 2, 3\] is nan; 1 values"):
        function(as_posterior(theta), "theta")
