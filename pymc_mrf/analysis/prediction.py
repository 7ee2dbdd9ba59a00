"""How well each node of a field is predicted from the others, under a posterior."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.analysis.cells import predicted_cells
from pymc_mrf.analysis.field_draws import field_draws

if TYPE_CHECKING:
    import pandas as pd

SHARES = ("accuracy", "explained_accuracy", "explained_log_score", "explained_variance")
"""What `predict_nodes` tells of each node in every draw."""


def predict_nodes(
    idata: xr.DataTree,
    var_name: str,
    *,
    data: Any = None,
    covariates: Any = None,
    model: Any = None,
    max_draws: int = 500,
    group: str = "posterior",
) -> xr.Dataset:
    """Predict every cell from the other cells of its row, and tell in every draw how well that works.

    Predictions are means over posterior draws of p(x_i | other known cells of the row), exact for each draw:
    further missing cells are summed, or integrated, out. Of a `GaussianMRF` each is a normal density, and a
    mixture of these over the draws.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A field of the model, such as an `OrdinalMRF` or a `GaussianMRF`. Where parameters differ between
        rows, each row is predicted by its own.
    data : (n, d) array_like or table, optional
        Rows to predict, in the codes, categories and units of the table that the model was made of; cells may
        be missing. By default those that the model was fitted to, which predicts them too well where there
        are few rows for the number of edges.
    covariates : mapping, optional
        Values of ``pm.Data`` by their names, such as ``{"age": age_test}``, one for each row of `data` or one
        for all, from which parameters that differ between rows are computed. By default those that the model
        holds, as it was declared or after ``pm.set_data``.
    model : pymc.Model, optional
        By default that of the context.
    max_draws : int
        Draws are thinned evenly to at most so many in all.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.Dataset
        The predictions:

        - ``probability``, of fields with states, with dims ("obs", "node", "state"): the labels of the rows,
          such as the index of a DataFrame, or their numbers, and states as the table writes them; where nodes
          differ in that, they are numbers, and the coordinate ``label`` ("node", "state") has the texts. A
          state that a node does not have has probability 0.
        - ``mean`` and ``sd`` of the mixture, of a `GaussianMRF`, with dims ("obs", "node"), in the units of
          the data.

        How well each node is predicted from all others (Haslbeck & Waldorp, 2018), with dims ("chain",
        "draw", "node"), of the cells that are not missing:

        - ``accuracy``: share of cells whose most probable state, given the others, is the right one.
        - ``explained_accuracy``: (accuracy - A) / (1 - A), A the share of the commonest state. NaN if all
          cells are in one state.
        - ``explained_log_score``: 1 - L / L_0, L the mean of -log p of the right state, L_0 the same under
          the shares of the states in the data. Below 0 where the others mislead, NaN if all cells are in
          one state.
        - ``explained_variance``, of a `GaussianMRF` instead: 1 - R / R_0, R the sum of the squared distances
          of the cells from their means given the others, R_0 that from their mean in the data.

        Of complete rows of a `MixedMRF` all of these, along "answer" and "measurement" in place of "node".

    Raises
    ------
    TypeError, ValueError
        If the model has no such field or `idata` not its parameters, data are not states of the field, or no
        measurements, a row lacks so many cells that their states cannot be listed (beyond 16,384), or any of
        a `MixedMRF`, a draw has a precision of the measurements that is not positive definite, or covariates
        are no ``pm.Data`` behind the parameters, or have other rows than the data.

    See Also
    --------
    score_predictions : How good predictions are, averaged over the draws, also of rows that were held out.
    plot_calibration : Whether probabilities are right.

    Examples
    --------
    >>> found = pymc_mrf.predict_nodes(idata, "x", data=x_test, model=model)
    >>> pymc_mrf.score_predictions(found, x_test)
    >>> arviz.summary(found[["explained_accuracy"]], kind="stats")
    """
    import pandas as pd

    field = field_draws(idata, var_name, model, max_draws, group, covariates)
    rows = field.rows(data)
    total = first = second = np.zeros(())
    by_draw: dict[str, list] = {name: [] for name in SHARES}
    right = right_states(rows.states, len(field.coords["state"]))
    for cells in field.predictions(rows):
        total = total + cells.probability
        first = first + cells.mean
        second = second + cells.variance + cells.mean**2
        shares = explained_states(cells.probability, right)
        shares["explained_variance"] = explained_variance(cells.mean, rows.measured)
        for name, of_draws in by_draw.items():
            of_draws.append(shares[name])
    n = field.shape[0] * field.shape[1]
    mean = first / n
    dim_of = {name: "measurement" if name == "explained_variance" else "answer" for name in SHARES}
    found = xr.Dataset(
        {
            "probability": (("obs", "answer", "state"), total / n),
            "mean": (("obs", "measurement"), mean),
            "sd": (("obs", "measurement"), np.sqrt(second / n - mean**2)),
            **{
                name: ((*SAMPLE_DIMS, dim), np.reshape(by_draw[name], (*field.shape, -1)))
                for name, dim in dim_of.items()
            },
        },
        coords={"obs": pd.Index(rows.labels, tupleize_cols=False), **field.coords},
    )
    if field.only is None:
        return found
    kept = [name for name, values in found.items() if field.only in values.dims]
    return found[kept].rename({field.only: "node"})


def score_predictions(predicted: xr.Dataset, data: Any) -> "pd.DataFrame":
    """Score predictions: a row for each node.

    Parameters
    ----------
    predicted : xarray.Dataset
        As of `predict_nodes`: ``probability``, with dims ("obs", "node", "state"), or ``mean`` and ``sd`` of
        measurements, or both of a `MixedMRF`.
    data : (n, d) array_like or table
        What was predicted, as it was given to `predict_nodes`, or the same rows with cells that it did not
        know; missing cells do not count. Of a `MixedMRF` a table.

    Returns
    -------
    pandas.DataFrame
        With the columns ``n``, the number of cells; ``accuracy``, ``explained_accuracy`` and
        ``explained_log_score`` as of `predict_nodes`, but of these probabilities, averaged over the draws;
        ``log_score``, the mean of log p of the right state; ``brier``, the mean of the squared distance of
        the probabilities from it (Brier, 1950), summed over states; and with two states ``auc``, the
        probability that a cell in the higher state has more of it than one in the lower. The higher the
        better, but for ``brier``.

        Of measurements ``n``; ``rmse``, the root of the mean squared distance from ``mean``, in the units of
        the data; ``explained_variance`` as of `predict_nodes`; and ``log_score``, the mean log density of
        the cells under normal densities with these means and deviations.

    Raises
    ------
    TypeError, ValueError
        If the data are not states, or measurements, of the nodes, or of other rows.
    """
    import pandas as pd

    rows = predicted_cells(predicted, data)
    parts: list[tuple[xr.DataArray, dict]] = []
    if rows.states.shape[1]:
        p = predicted["probability"]
        parts.append((p[p.dims[1]], state_scores(p.values, rows.states)))
    if rows.measured.shape[1]:
        mean = predicted["mean"]
        parts.append((mean[mean.dims[1]], measurement_scores(predicted, rows.measured)))
    return pd.concat(
        [
            pd.DataFrame(scores, index=pd.Index(nodes.values.tolist(), name="node"))
            for nodes, scores in parts
        ]
    )


LOG_2PI = float(np.log(2.0 * np.pi))


class RightStates(NamedTuple):
    """What scores of answers ask of the data, whatever is predicted.

    Attributes
    ----------
    x : (n, d) int array
        States, -1 where a cell is missing.
    n : (d,) int array
        Number of known cells.
    right : (n, d, K) array
        1 for the state that a known cell is in.
    shares : (d, K) array
        Of the states.
    """

    x: np.ndarray
    n: np.ndarray
    right: np.ndarray
    shares: np.ndarray


def right_states(x: np.ndarray, n_states: int) -> RightStates:
    """Find what scores ask of cells (n, d)."""
    known = x >= 0
    n, right = known.sum(axis=0), np.where(known[:, :, None], np.eye(n_states)[x], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return RightStates(x, n, right, right.sum(axis=0) / n[:, None])


def explained_states(p: np.ndarray, of: RightStates) -> dict[str, np.ndarray]:
    """Accuracy, log score, and what is explained (d,), of probabilities (n, d, K)."""
    if not of.x.shape[1]:
        return {name: np.zeros(0) for name in SHARES[:3]}
    known, shares, common = of.x >= 0, of.shares, of.shares.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_shares = np.where(shares > 0.0, shares * np.log(np.where(shares > 0.0, shares, 1.0)), 0.0)
        accuracy = ((p.argmax(axis=2) == of.x) & known).sum(axis=0) / of.n
        of_right = np.where(known, (p * of.right).sum(axis=2), 1.0)
        log_score = np.log(of_right).sum(axis=0) / of.n
        explained = 1.0 - log_score / of_shares.sum(axis=1)
        return {
            "accuracy": accuracy,
            "explained_accuracy": np.where(common < 1.0, (accuracy - common) / (1.0 - common), np.nan),
            "log_score": log_score,
            "explained_log_score": np.where(common < 1.0, explained, np.nan),
        }


def state_scores(p: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Scores (d,) of probabilities (n, d, K) of cells (n, d), as `score_predictions` returns them."""
    of = right_states(x, p.shape[2])
    known = x >= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = {
            "n": of.n,
            **explained_states(p, of),
            "brier": np.where(known[:, :, None], (p - of.right) ** 2, 0.0).sum(axis=(0, 2)) / of.n,
        }
    if p.shape[2] == 2:
        scores["auc"] = np.array(
            [_auc(p[known[:, i], i, 1], x[known[:, i], i]) for i in range(x.shape[1])]
        )
    return scores


def _auc(p: np.ndarray, x: np.ndarray) -> float:
    """Probability that a cell in state 1 has a higher `p` than one in state 0; ties count one half."""
    from scipy.stats import rankdata

    n_high = int(x.sum())
    n_low = len(x) - n_high
    if not n_high or not n_low:
        return np.nan
    return (rankdata(p)[x == 1].sum() - 0.5 * n_high * (n_high + 1)) / (n_high * n_low)


def measurement_scores(predicted: xr.Dataset, x: np.ndarray) -> dict[str, np.ndarray]:
    """Scores (c,) of means and standard deviations of cells (n, c), as `score_predictions` returns them."""
    mean, sd = predicted["mean"].values, predicted["sd"].values
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
