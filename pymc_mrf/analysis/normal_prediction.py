"""How well each measurement of a Gaussian field is predicted from the others, under a posterior."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import (
    SAMPLE_DIMS,
    function_of_draws,
    group_variable,
    thinned,
)
from pymc_mrf.checks import whole_number
from pymc_mrf.fields.gaussian import read_measurements
from pymc_mrf.graph.coordinates import node_labels

LOG_2PI = float(np.log(2.0 * np.pi))


class NormalDraws:
    """A Gaussian field of a model, and its precision and means in posterior draws.

    Parameters
    ----------
    node : Apply
        Of the field.
    idata, var_name, model, max_draws, group
        As of `predict_nodes`.

    Attributes
    ----------
    draws : list of pairs of arrays
        Precision (d, d) and means (d,), for each draw that is kept, chain by chain.
    shape : (int, int)
        Chains, and draws of each that are kept.
    coords : dict
        Of chains, draws and nodes.

    Raises
    ------
    TypeError, ValueError
        As `predict_nodes`.
    """

    def __init__(
        self, node: Any, idata: Any, var_name: str, model: Any, max_draws: int, group: str
    ) -> None:
        from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows

        whole_number(max_draws, "max_draws", 1)
        self._idata, self._name, self._nodes = idata, var_name, node.op.graph.nodes
        weight, diagonal, mean = node.op.dist_params(node)
        parameters = [node.op.precision(weight, diagonal), mean]
        if not shared_by_rows(parameters, (2, 1)):
            raise ValueError(
                f"{var_name}: its parameters differ between rows, which predictions do not serve; use "
                "pm.sample_posterior_predictive"
            )
        parameters = [core(p, k) for p, k in zip(parameters, (2, 1), strict=True)]
        f, draws = function_of_draws(parameters, idata, model, group)
        if not draws:
            raise ValueError(f"{var_name} has no random parameters, so that there is nothing to average")
        n_chains, n_draws = draws[0].shape[:2]
        kept = thinned(n_chains, n_draws, max_draws)
        self.shape = n_chains, len(kept)
        self.coords = {
            "chain": draws[0]["chain"],
            "draw": draws[0]["draw"][kept],
            "node": node_labels(node.op.graph),
        }
        flat = [d.values[:, kept].reshape(-1, *d.shape[2:]) for d in draws]
        self.draws = [tuple(f(*values)) for values in zip(*flat, strict=True)]

    def measured(self, data: Any) -> np.ndarray:
        """Measurements (n, d) of the rows to predict, NaN where a cell is missing."""
        if data is None:
            data = group_variable(self._idata, self._name, "observed_data").values
        return measurements(data, self._nodes)

    def predictions(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield mean and variance (n, d) of every cell of `x` given the others, draw by draw."""
        masks, pattern = np.unique(np.isnan(x), axis=0, return_inverse=True)
        groups = [(np.flatnonzero(pattern == k), mask) for k, mask in enumerate(masks)]
        for K, mu in self.draws:
            mean, variance = np.empty((2, *x.shape))
            for rows, is_missing in groups:
                at = rows[:, None]
                seen, gone = np.flatnonzero(~is_missing), np.flatnonzero(is_missing)
                deviations, K_seen = x[at, seen] - mu[seen], K[np.ix_(seen, seen)]
                if len(gone):
                    S, across = np.linalg.inv(K[np.ix_(gone, gone)]), K[np.ix_(seen, gone)]
                    mean[at, gone] = mu[gone] - deviations @ across @ S
                    variance[at, gone] = np.diag(S)
                    K_seen = K_seen - across @ S @ across.T  # the others integrated out
                own = np.diag(K_seen)
                mean[at, seen] = x[at, seen] - deviations @ K_seen / own
                variance[at, seen] = 1.0 / own
            yield mean, variance


def predict_measurements(field: NormalDraws, data: Any) -> xr.Dataset:
    """Mean and standard deviation of every cell, averaged over the draws, as `predict_nodes` returns them."""
    x = field.measured(data)
    first, second = np.zeros((2, *x.shape))
    for mean, variance in field.predictions(x):
        first += mean
        second += variance + mean**2
    first, second = first / len(field.draws), second / len(field.draws)
    dims = ("obs", "node")
    return xr.Dataset(
        {"mean": (dims, first), "sd": (dims, np.sqrt(second - first**2))},
        coords={"node": field.coords["node"]},
    )


def explained_variances(field: NormalDraws, data: Any) -> xr.Dataset:
    """Explained variance of every node in every draw, as `predictability` returns it."""
    x = field.measured(data)
    found = [explained_variance(mean, x) for mean, _ in field.predictions(x)]
    values = np.reshape(found, (*field.shape, -1))
    return xr.Dataset({"explained_variance": ((*SAMPLE_DIMS, "node"), values)}, coords={**field.coords})


def score_measurements(predicted: xr.Dataset, data: Any) -> dict[str, np.ndarray]:
    """Scores (d,) of means and standard deviations, as `score_predictions` returns them."""
    x = measurements(data, predicted["node"].values.tolist())
    mean, sd = predicted["mean"].values, predicted["sd"].values
    if len(x) != len(mean):
        raise ValueError(
            f"data has {len(x)} rows, the predictions {len(mean)}: give those that were predicted"
        )
    z = (x - mean) / sd
    with np.errstate(invalid="ignore", divide="ignore"):
        n = (~np.isnan(x)).sum(axis=0)
        return {
            "n": n,
            "rmse": np.sqrt(np.nansum((x - mean) ** 2, axis=0) / n),
            "explained_variance": explained_variance(mean, x),
            "log_score": -np.nansum(0.5 * z**2 + np.log(sd) + 0.5 * LOG_2PI + 0.0 * x, axis=0) / n,
        }


def explained_variance(mean: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Share (d,) of the variance of the cells of `x` (n, d) about their means that `mean` (n, d) explains."""
    with np.errstate(invalid="ignore", divide="ignore"):
        of_mean = np.nansum(x, axis=0) / (~np.isnan(x)).sum(axis=0)
        return 1.0 - np.nansum((x - mean) ** 2, axis=0) / np.nansum((x - of_mean) ** 2, axis=0)


def measurements(data: Any, nodes: Any) -> np.ndarray:
    """Measurements (n, d) of a table or an array, NaN where a cell is missing."""
    read = read_measurements(data, nodes, "data")
    if read is not None:
        x = np.where(read.is_missing, np.nan, read.values)
    else:
        x = np.ma.filled(np.ma.asarray(data, dtype=np.float64), np.nan)
    if x.ndim != 2 or x.shape[1] != len(nodes):
        raise ValueError(f"data has shape {x.shape}; give rows of the {len(nodes)} nodes")
    if np.isinf(x).any():
        row, i = (int(k) for k in np.argwhere(np.isinf(x))[0])
        raise ValueError(
            f"data[{row}, {i}] of node {nodes[i]!r} is {x[row, i]}: give a finite number, or NaN for a "
            "missing cell"
        )
    return x
