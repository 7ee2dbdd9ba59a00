"""Whether predicted probabilities are right: reliability diagrams as numbers."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis.cells import predicted_cells
from pymc_mrf.analysis.intervals import interval_probability, tails
from pymc_mrf.checks import flag, whole_number


def prediction_calibration(
    predicted: xr.Dataset,
    data: Any,
    *,
    by_node: bool = False,
    n_bins: int = 10,
    ci_prob: float | None = None,
) -> xr.Dataset:
    """Compare probabilities of states with how often these come about: the numbers of `plot_calibration`.

    Returns
    -------
    xarray.Dataset
        With the dim "bin", after "node" if `by_node`; NaN, and ``n`` 0, beyond the bins of a node:
        ``predicted``, mean probability in the bin; ``observed``, share of its events that came about, and the
        ends ``observed_lb`` and ``observed_ub`` of its interval; ``n``, number of events.
    """
    flag(by_node, "by_node")
    whole_number(n_bins, "n_bins", 1)
    ci_prob = interval_probability(ci_prob)
    x = predicted_cells(predicted, data).states
    if not x.shape[1]:
        raise TypeError("predicted must have probabilities of states, not measurements alone")
    probabilities = predicted["probability"]
    probabilities = probabilities.rename({probabilities.dims[1]: "node"})
    p, d, K = probabilities.values, x.shape[1], probabilities.sizes["state"]
    first = 1 if K == 2 else 0
    parts = [[i] for i in range(d)] if by_node else [list(range(d))]
    names = "predicted", "observed", "observed_lb", "observed_ub", "n"
    found = np.full((len(names), len(parts), n_bins), np.nan)
    found[-1] = 0.0
    for k, part in enumerate(parts):
        row, column = np.nonzero(x[:, part] >= 0)
        of_cell = p[row, np.array(part)[column], first:]
        is_right = x[row, np.array(part)[column], None] == np.arange(first, K)
        possible = of_cell > 0.0  # a node may have fewer states
        rows = np.broadcast_to(row[:, None], of_cell.shape)
        bins = _bins(of_cell[possible], is_right[possible], rows[possible], n_bins, ci_prob)
        found[:, k, : bins.shape[1]] = bins
    nodes = probabilities["node"].values[: len(parts)]
    result = xr.Dataset(
        {name: (("node", "bin"), values) for name, values in zip(names, found, strict=True)},
        coords={"node": nodes},
    )
    return result if by_node else result.isel(node=0, drop=True)


def _bins(
    p: np.ndarray, is_right: np.ndarray, row: np.ndarray, n_bins: int, ci_prob: float
) -> np.ndarray:
    """Mean prediction, share, ends of its interval and number (5, m) of events (n,) in bins of `p`."""
    from scipy.stats import beta

    edges = np.unique(np.quantile(p, np.linspace(0.0, 1.0, n_bins + 1))) if len(p) else np.zeros(0)
    which = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, max(len(edges) - 2, 0))
    n = np.bincount(which).astype(np.float64)
    kept = n > 0
    share = np.bincount(which, is_right)[kept] / n[kept]
    residual = np.zeros((int(row.max(initial=-1)) + 1, len(n)))
    np.add.at(residual, (row, which), is_right - np.bincount(which, is_right)[which] / n[which])
    by_chance = n[kept] * share * (1.0 - share)
    spread = (residual**2).sum(axis=0)[kept]
    inflation = np.divide(spread, by_chance, out=np.ones_like(spread), where=by_chance > 0.0)
    n_alone = n[kept] / np.maximum(inflation, 1.0)
    ends = np.array(tails(ci_prob))[:, None]
    low, high = beta.ppf(ends, n_alone * share + 0.5, n_alone * (1.0 - share) + 0.5)
    mean = np.bincount(which, p)[kept] / n[kept]
    return np.array(
        [mean, share, np.where(share > 0.0, low, 0.0), np.where(share < 1.0, high, 1.0), n[kept]]
    )
