"""The reliability diagram, and its numbers beside probabilities that are right by construction."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta

import pymc_mrf as pmrf
from pymc_mrf.analysis.calibration import prediction_calibration

NODES = ["a", "b", "c"]


def predicted(p):
    """Probabilities (n, d, K) as of `predict_nodes`."""
    coords = {"node": NODES[: p.shape[1]], "state": list(range(p.shape[2]))}
    return xr.Dataset({"probability": (("obs", "node", "state"), p)}, coords=coords)


def drawn(rng, n=2000, K=2):
    """Probabilities, and states that have them."""
    p = rng.dirichlet(np.ones(K), (n, 3))
    x = (rng.random((n, 3, 1)) > p.cumsum(axis=2)).sum(axis=2)
    return predicted(p), x


@pytest.mark.parametrize("K", [2, 3])
def test_right_probabilities_are_within_their_intervals(rng, K):
    p, x = drawn(rng, K=K)
    found = prediction_calibration(p, x, ci_prob=0.999)
    assert found.n.sum() == x.size * (1 if K == 2 else K)
    inside = (found.observed_lb <= found.predicted) & (found.predicted <= found.observed_ub)
    assert inside.all()
    wrong = prediction_calibration(
        predicted(p["probability"].values[..., ::-1].copy()), x, ci_prob=0.999
    )
    assert not ((wrong.observed_lb <= wrong.predicted) & (wrong.predicted <= wrong.observed_ub)).all()


def test_numbers_of_two_bins_by_hand():
    p1 = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9])
    x = np.array([0, 0, 1, 1, 1, 0])[:, None]
    p = predicted(np.stack([1 - p1, p1], axis=1)[:, None])
    found = prediction_calibration(p, x, n_bins=2, ci_prob=0.9)
    np.testing.assert_allclose(found.predicted, [0.2, 0.8])
    np.testing.assert_allclose(found.observed, [1 / 3, 2 / 3])
    np.testing.assert_allclose(found.observed_lb, beta.ppf(0.05, [1.5, 2.5], [2.5, 1.5]))
    np.testing.assert_allclose(found.observed_ub, beta.ppf(0.95, [1.5, 2.5], [2.5, 1.5]))
    # none, and all, of the events of a bin
    ends = prediction_calibration(p, np.array([0, 0, 0, 1, 1, 1])[:, None], n_bins=2, ci_prob=0.9)
    np.testing.assert_allclose(ends.observed_lb, [0.0, beta.ppf(0.05, 3.5, 0.5)])
    np.testing.assert_allclose(ends.observed_ub, [beta.ppf(0.95, 0.5, 3.5), 1.0])


def test_events_that_go_together_in_a_row_have_wider_intervals(rng):
    """Three events that are one event tell as much as one."""
    p = predicted(np.full((400, 3, 2), 0.5))
    x = rng.integers(0, 2, (400, 3))
    together = prediction_calibration(p, np.repeat(x[:, :1], 3, axis=1))
    one = prediction_calibration(p.isel(node=[0]), x[:, :1])
    alone = prediction_calibration(p, x)
    for end in ("observed_lb", "observed_ub"):
        np.testing.assert_allclose(together[end], one[end])
    assert (alone.observed_ub - alone.observed_lb)[0] < (one.observed_ub - one.observed_lb)[0]


def test_missing_cells_and_nodes(rng):
    p, x = drawn(rng, n=200)
    x = np.ma.masked_array(x, rng.random(x.shape) < 0.2)
    found = prediction_calibration(p, x, by_node=True, n_bins=4)
    assert found.n.dims == ("node", "bin") and found.node.values.tolist() == NODES
    np.testing.assert_array_equal(found.n.sum("bin"), (~x.mask).sum(axis=0))
    alone = prediction_calibration(p.isel(node=[1]), x[:, [1]], n_bins=4)
    np.testing.assert_allclose(found.observed.sel(node="b"), alone.observed)
    equal = prediction_calibration(predicted(np.full((10, 1, 2), 0.5)), np.zeros((10, 1), int))
    assert equal.n.values.tolist() == [10.0] + [0.0] * 9 and np.isnan(equal.observed[1:]).all()


def test_the_diagram_shows_the_numbers(rng):
    p, x = drawn(rng, n=300)
    pc = pmrf.plot_calibration(p, x, n_bins=5, ci_prob=0.8)
    found = prediction_calibration(p, x, n_bins=5, ci_prob=0.8)
    points = pc.get_viz("points", "calibration")
    np.testing.assert_allclose(points.get_xdata(), found.predicted)
    np.testing.assert_allclose(points.get_ydata(), found.observed)
    segments = np.array(pc.get_viz("intervals", "calibration").get_segments())
    np.testing.assert_allclose(segments[:, :, 1].T, [found.observed_lb, found.observed_ub])
    panels = pmrf.plot_calibration(p, x, by_node=True)
    titles = [panels.get_target("calibration", {"node": node}).get_title() for node in NODES]
    assert titles == NODES


def test_bad_arguments(rng):
    p, x = drawn(rng, n=20)
    with pytest.raises(ValueError, match="n_bins"):
        prediction_calibration(p, x, n_bins=0)
    with pytest.raises(ValueError, match="ci_prob"):
        prediction_calibration(p, x, ci_prob=1.0)
    with pytest.raises(ValueError, match="data has 19 rows"):
        pmrf.plot_calibration(p, x[1:])
    with pytest.raises(TypeError, match="dims"):
        prediction_calibration(p.rename(obs="row"), x)
