"""How well each node of a field is predicted from the others, under a posterior."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS
from pymc_mrf.analysis.cell_scores import explained_variance, measurement_scores, state_scores
from pymc_mrf.analysis.cells import predicted_cells
from pymc_mrf.analysis.field_draws import field_draws

if TYPE_CHECKING:
    import pandas as pd


def predict_nodes(
    idata: xr.DataTree,
    var_name: str,
    *,
    data: Any = None,
    covariates: Any = None,
    model: Any = None,
    max_draws: int = 500,
    group: str = "posterior",
) -> xr.DataArray | xr.Dataset:
    """Predict every cell from the other cells of its row: probabilities of states, or mean and deviation.

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
    xarray.DataArray
        With dims ("obs", "node", "state"): the labels of the rows, such as the index of a DataFrame, or their
        numbers, and states as the table writes them; where nodes differ in that, they
        are numbers, and the coordinate ``label`` ("node", "state") has the texts. A state that a node does
        not have has probability 0.
    xarray.Dataset
        Of a `GaussianMRF`: ``mean`` and ``sd`` of the mixture, with dims ("obs", "node"), in the units of the
        data. Of a `MixedMRF` these, with dims ("obs", "measurement"), and ``probability``, with dims ("obs",
        "answer", "state"), of complete rows.

    Raises
    ------
    TypeError, ValueError
        If the model has no such field or `idata` not its parameters, data are not states of the field, or no
        measurements, a row lacks so many cells that their states cannot be listed (beyond 16,384), or any of
        a `MixedMRF`, a draw has a precision of the measurements that is not positive definite, or covariates
        are no ``pm.Data`` behind the parameters, or have other rows than the data.

    See Also
    --------
    score_predictions : How good such probabilities are.
    predictability : The same for each draw.

    Examples
    --------
    >>> p = pymc_mrf.predict_nodes(idata, "x", data=x_test, model=model)
    >>> pymc_mrf.score_predictions(p, x_test)
    """
    import pandas as pd

    field = field_draws(idata, var_name, model, max_draws, group, covariates)
    rows = field.rows(data)
    total = first = second = np.zeros(())
    for cells in field.predictions(rows):
        total = total + cells.probability
        first = first + cells.mean
        second = second + cells.variance + cells.mean**2
    n = field.shape[0] * field.shape[1]
    mean = first / n
    found = xr.Dataset(
        {
            "probability": (("obs", "answer", "state"), total / n),
            "mean": (("obs", "measurement"), mean),
            "sd": (("obs", "measurement"), np.sqrt(second / n - mean**2)),
        },
        coords={
            "obs": pd.Index(rows.labels, tupleize_cols=False),
            **{key: labels for key, labels in field.coords.items() if key not in SAMPLE_DIMS},
        },
    )
    found = _along_nodes(found, field.only)
    if field.only == "answer":
        return found["probability"].rename(f"{var_name}_probability")
    return found


def _along_nodes(found: xr.Dataset, only: str | None) -> xr.Dataset:
    """Results of the only kind of nodes that a field has, along "node"; of all kinds if there are several."""
    if only is None:
        return found
    return found[[name for name, values in found.items() if only in values.dims]].rename({only: "node"})


def predictability(
    idata: xr.DataTree,
    var_name: str,
    *,
    data: Any = None,
    covariates: Any = None,
    model: Any = None,
    max_draws: int = 500,
    group: str = "posterior",
) -> xr.Dataset:
    """Measure, in every draw, how well each node is predicted from all others (Haslbeck & Waldorp, 2018).

    Parameters
    ----------
    idata, var_name, data, covariates, model, max_draws, group
        As in `predict_nodes`.

    Returns
    -------
    xarray.Dataset
        With dims ("chain", "draw", "node"), of the cells that are not missing:

        - ``accuracy``: share of cells whose most probable state, given the others, is the right one.
        - ``explained_accuracy``: (accuracy - A) / (1 - A), A the share of the commonest state. NaN if all
          cells are in one state.
        - ``explained_log_score``: 1 - L / L_0, L the mean of -log p of the right state, L_0 the same under
          the shares of the states in the data. Below 0 where the others mislead, NaN if all cells are in
          one state.

        Of a `GaussianMRF` instead ``explained_variance``: 1 - R / R_0, R the sum of the squared distances of
        the cells from their means given the others, R_0 that from their mean in the data. Of a `MixedMRF` the
        former along "answer" and the latter along "measurement", of complete rows.

    Raises
    ------
    TypeError, ValueError
        As in `predict_nodes`.

    Examples
    --------
    >>> arviz.summary(pymc_mrf.predictability(idata, "x", model=model), kind="stats")
    """
    field = field_draws(idata, var_name, model, max_draws, group, covariates)
    rows = field.rows(data)
    dim_of: dict[str, str] = {}
    if rows.states.shape[1]:
        names = "accuracy", "explained_accuracy", "explained_log_score"
        dim_of |= dict.fromkeys(names, "answer")
    if rows.measured.shape[1]:
        dim_of["explained_variance"] = "measurement"
    found: dict[str, list] = {name: [] for name in dim_of}
    for cells in field.predictions(rows):
        scores = state_scores(cells.probability, rows.states) if rows.states.shape[1] else {}
        scores["explained_variance"] = explained_variance(cells.mean, rows.measured)
        for name, of_draws in found.items():
            of_draws.append(scores[name])
    values = {
        name: ((*SAMPLE_DIMS, dim_of[name]), np.reshape(of_draws, (*field.shape, -1)))
        for name, of_draws in found.items()
    }
    coords = {key: labels for key, labels in field.coords.items() if key not in ("state", "label")}
    return _along_nodes(xr.Dataset(values, coords=coords), field.only)


def score_predictions(probabilities: xr.DataArray | xr.Dataset, data: Any) -> "pd.DataFrame":
    """Score predictions: a row for each node.

    Parameters
    ----------
    probabilities : xarray.DataArray or xarray.Dataset
        As of `predict_nodes`, dims ("obs", "node", "state"), or ``mean`` and ``sd`` of measurements.
    data : (n, d) array_like or table
        What was predicted, as it was given to `predict_nodes`; missing cells do not count. Of a `MixedMRF` a
        table.

    Returns
    -------
    pandas.DataFrame
        With the columns ``n``, the number of cells; ``accuracy``, ``explained_accuracy`` and
        ``explained_log_score`` as of `predictability`; ``log_score``, the mean of log p of the right state;
        ``brier``, the mean of the squared distance of the probabilities from it (Brier, 1950), summed over
        states; and with two states ``auc``, the probability that a cell in the higher state has more of it
        than one in the lower. The higher the better, but for ``brier``.

        Of measurements ``n``; ``rmse``, the root of the mean squared distance from ``mean``, in the units of
        the data; ``explained_variance`` as of `predictability`; and ``log_score``, the mean log density of
        the cells under normal densities with these means and deviations.

    Raises
    ------
    TypeError, ValueError
        If the data are not states, or measurements, of the nodes, or of other rows.
    """
    import pandas as pd

    rows = predicted_cells(probabilities, data)
    parts: list[tuple[xr.DataArray, dict]] = []
    if rows.states.shape[1]:
        p = probabilities["probability"] if isinstance(probabilities, xr.Dataset) else probabilities
        parts.append((p[p.dims[1]], state_scores(np.asarray(p), rows.states)))
    if isinstance(probabilities, xr.Dataset) and rows.measured.shape[1]:
        mean = probabilities["mean"]
        parts.append((mean[mean.dims[1]], measurement_scores(probabilities, rows.measured)))
    return pd.concat(
        [
            pd.DataFrame(scores, index=pd.Index(nodes.values.tolist(), name="node"))
            for nodes, scores in parts
        ]
    )
