"""Precision and recall of edges by their inclusion probabilities, where it is known which edges there are."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.checks import check_entries, check_same_labels


def precision_recall(inclusion: Any, truth: Any) -> xr.Dataset:
    """Compare inclusion probabilities with the edges that really exist.

    An edge is predicted if its inclusion exceeds a threshold, as in `median_graph`.

    Parameters
    ----------
    inclusion : (r,) array_like or xarray.DataArray
        Probabilities, such as ``edge_inclusion(idata, "w").inclusion``.
    truth : (r,) array_like or xarray.DataArray
        True or a number other than 0 for the edges that exist, such as the true weights.

    Returns
    -------
    xarray.Dataset
        ``precision``, ``recall``, ``f1`` and ``n_edges`` (edges predicted) along the coordinate
        "threshold": 0, 0.5 and all values of `inclusion` in increasing order, which is every
        set of edges that a threshold in [0, 1] can choose; ``.sel(threshold=0.5)`` is the median
        graph. Precision is NaN where no edge is predicted.

    Raises
    ------
    TypeError, ValueError
        If the two differ in size or labels, probabilities are outside [0, 1], or `truth` has
        missing values or no edge.
    """
    if isinstance(inclusion, xr.DataArray) and isinstance(truth, xr.DataArray):
        try:
            inclusion, truth = xr.align(inclusion, truth, join="exact")
        except ValueError as error:
            raise ValueError(
                f"inclusion and truth have other labels or sizes ({dict(inclusion.sizes)} and "
                f"{dict(truth.sizes)}); put them in one order, or give plain arrays in the same order"
            ) from error
    check_same_labels(inclusion, truth, "inclusion", "truth")
    p, present = np.asarray(inclusion), np.asarray(truth)
    for name, array in (("inclusion", p), ("truth", present)):
        if array.ndim != 1:
            raise ValueError(f"{name} must be a vector over edges, not of shape {array.shape}")
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} must be numeric, not {array.dtype}")
    if p.shape != present.shape:
        raise ValueError(
            f"inclusion has {p.size} edges, truth has {present.size}; give one value per edge to both"
        )
    check_entries(p, (p >= 0.0) & (p <= 1.0), "inclusion", "probabilities lie in [0, 1]")
    if np.isnan(present).any():
        raise ValueError("truth has missing values; mark absent edges by 0 or False")
    present = present != 0
    if not present.any():
        raise ValueError("truth has no edges; recall and F1 need at least one")
    thresholds = np.union1d(p, [0.0, 0.5])
    # edges above a threshold are those beyond its place in increasing order
    order = np.argsort(p, kind="stable")
    first = np.searchsorted(p[order], thresholds, side="right")
    correct_beyond = np.append(np.cumsum(present[order][::-1])[::-1], 0)
    correct, predicted = correct_beyond[first], p.size - first
    with np.errstate(invalid="ignore"):
        precision = correct / predicted
    return xr.Dataset(
        {
            "precision": ("threshold", precision),
            "recall": ("threshold", correct / present.sum()),
            "f1": ("threshold", 2.0 * correct / (predicted + present.sum())),
            "n_edges": ("threshold", predicted),
        },
        coords={"threshold": thresholds},
    )
