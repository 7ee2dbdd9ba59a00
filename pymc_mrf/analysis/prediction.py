"""How well each node of a field is predicted from the others, under a posterior."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, check_tree, function_of_draws, thinned
from pymc_mrf.analysis.conditional_probabilities import MAX_STATES, Conditionals
from pymc_mrf.analysis.mixed_prediction import MixedDraws, predict_cells, predictability_of_cells
from pymc_mrf.analysis.normal_prediction import (
    NormalDraws,
    explained_variances,
    predict_measurements,
    score_measurements,
)
from pymc_mrf.analysis.predictive_checks import field_rows
from pymc_mrf.checks import flag, number, whole_number
from pymc_mrf.fields.gaussian import GAUSSIAN
from pymc_mrf.fields.mixed import MixedFamily
from pymc_mrf.fields.tables import read_answers
from pymc_mrf.graph.coordinates import node_labels

if TYPE_CHECKING:
    import pandas as pd


def predict_nodes(
    idata: xr.DataTree,
    var_name: str,
    *,
    data: Any = None,
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
        A field of the model, such as an `OrdinalMRF` or a `GaussianMRF`, whose parameters are the same for
        all rows.
    data : (n, d) array_like or table, optional
        Rows to predict; cells may be missing. By default those that the model was fitted to, which predicts
        them too well where there are few rows for the number of edges.
    model : pymc.Model, optional
        By default that of the context.
    max_draws : int
        Draws are thinned evenly to at most so many in all.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.DataArray
        With dims ("obs", "node", "state"). A state that a node does not have has probability 0.
    xarray.Dataset
        Of a `GaussianMRF`: ``mean`` and ``sd`` of the mixture, with dims ("obs", "node"), in the units of the
        data. Of a `MixedMRF` these, with dims ("obs", "measurement"), and ``probability``, with dims ("obs",
        "answer", "state"), of complete rows.

    Raises
    ------
    TypeError, ValueError
        If the model has no such field or `idata` not its parameters, data are not states of the field, or no
        measurements, or a row lacks so many cells that their states cannot be listed (beyond 16,384).

    See Also
    --------
    score_predictions : How good such probabilities are.
    predictability : The same for each draw.

    Examples
    --------
    >>> p = pymc_mrf.predict_nodes(idata, "x", data=x_test, model=model)
    >>> pymc_mrf.score_predictions(p, x_test)
    """
    field = _field_draws(idata, var_name, model, max_draws, group)
    if isinstance(field, NormalDraws):
        return predict_measurements(field, data)
    if isinstance(field, MixedDraws):
        return predict_cells(field, data)
    x = field.indices(data)
    conditionals, total = field.conditionals(x), np.zeros((*x.shape, field.op.family.n_states))
    for tables in field.tables:
        total += conditionals.at(*tables)
    coords = {"node": node_labels(field.op.graph), "state": list(field.op.family.states)}
    dims = ("obs", "node", "state")
    return xr.DataArray(
        total / len(field.tables), dims=dims, coords=coords, name=f"{var_name}_probability"
    )


def predictability(
    idata: xr.DataTree,
    var_name: str,
    *,
    data: Any = None,
    model: Any = None,
    max_draws: int = 500,
    group: str = "posterior",
) -> xr.Dataset:
    """Measure, in every draw, how well each node is predicted from all others (Haslbeck & Waldorp, 2018).

    Parameters
    ----------
    idata, var_name, data, model, max_draws, group
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
    field = _field_draws(idata, var_name, model, max_draws, group)
    if isinstance(field, NormalDraws):
        return explained_variances(field, data)
    if isinstance(field, MixedDraws):
        return predictability_of_cells(field, data, _scores)
    x = field.indices(data)
    conditionals, found = field.conditionals(x), []
    for tables in field.tables:
        found.append(_scores(conditionals.at(*tables), x))
    dims = (*SAMPLE_DIMS, "node")
    shape = (*field.shape, -1)
    names = "accuracy", "explained_accuracy", "explained_log_score"
    values = {name: (dims, np.reshape([one[name] for one in found], shape)) for name in names}
    return xr.Dataset(values, coords={**field.coords, "node": node_labels(field.op.graph)})


def score_predictions(probabilities: xr.DataArray | xr.Dataset, data: Any) -> "pd.DataFrame":
    """Score predictions: a row for each node.

    Parameters
    ----------
    probabilities : xarray.DataArray or xarray.Dataset
        As of `predict_nodes`, dims ("obs", "node", "state"), or ``mean`` and ``sd`` of measurements.
    data : (n, d) array_like or table
        What was predicted; missing cells do not count.

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

    if isinstance(probabilities, xr.Dataset) and "probability" in probabilities:
        return _scores_of_cells(probabilities, data)
    if isinstance(probabilities, xr.Dataset) and {"mean", "sd"} <= set(probabilities):
        index = pd.Index(probabilities["node"].values.tolist(), name="node")
        return pd.DataFrame(score_measurements(probabilities, data), index=index)
    x = _predicted_states(probabilities, data)
    index = pd.Index(probabilities["node"].values.tolist(), name="node")
    return pd.DataFrame(_scores(np.asarray(probabilities.values), x), index=index)


def _scores_of_cells(predicted: xr.Dataset, data: Any) -> "pd.DataFrame":
    """Scores of answers and of measurements, found in a table by their names; the others have none."""
    import pandas as pd

    if not hasattr(data, "columns"):
        raise TypeError(
            "data must be a table of states and measurements with the names of the nodes, as kinds.encode("
            "table) makes it: columns of an array do not tell answers and measurements apart"
        )
    answers, measured = (predicted[dim].values.tolist() for dim in ("answer", "measurement"))
    probabilities = predicted["probability"].rename(answer="node")
    numbers = predicted[["mean", "sd"]].rename(measurement="node")
    parts = []
    if answers:
        parts.append(score_predictions(probabilities, pd.DataFrame(data)[answers]))
    if measured:
        parts.append(score_predictions(numbers, pd.DataFrame(data)[measured]))
    return pd.concat(parts)


def _predicted_states(probabilities: Any, data: Any) -> np.ndarray:
    """State indices (n, d) of what was predicted, -1 where a cell is missing."""
    if not isinstance(probabilities, xr.DataArray) or probabilities.dims != ("obs", "node", "state"):
        raise TypeError(
            'probabilities must be those of states, with the dims ("obs", "node", "state") of predict_nodes'
        )
    nodes, states = probabilities["node"].values.tolist(), probabilities["state"].values
    x = _state_indices(data, nodes, states)
    if len(x) != probabilities.sizes["obs"]:
        raise ValueError(
            f"data has {len(x)} rows, probabilities {probabilities.sizes['obs']}: "
            "give those that were predicted"
        )
    return x


def prediction_calibration(
    probabilities: xr.DataArray,
    data: Any,
    *,
    by_node: bool = False,
    n_bins: int = 10,
    ci_prob: float | None = None,
) -> xr.Dataset:
    """Compare probabilities of states with how often the states come about, as a reliability diagram does.

    The probabilities fall into bins of about equal size. With two states those of the higher one count; with
    more, those of every state, each cell being an event for each of its states.

    Parameters
    ----------
    probabilities : xarray.DataArray
        As of `predict_nodes`, dims ("obs", "node", "state"), best of rows that the model was not fitted to.
    data : (n, d) array_like or table
        What was predicted; missing cells do not count.
    by_node : bool
        Whether every node has bins of its own.
    n_bins : int
        Bins at most: there are fewer where many probabilities are equal.
    ci_prob : float, optional
        Of the intervals; ``rcParams["stats.ci_prob"]`` of ArviZ by default.

    Returns
    -------
    xarray.Dataset
        With the dim "bin", after "node" if `by_node`; NaN, and ``n`` 0, beyond the bins of a node:

        - ``predicted``: mean probability in the bin.
        - ``observed``: share of its events that came about, and the ends ``observed_lb`` and ``observed_ub``
          of a Jeffreys interval (Brown, Cai & DasGupta, 2001). Events of one row may depend on each other:
          the interval is that of as many independent ones as have the same variance (Korn & Graubard, 1998).
          The variance is estimated from the rows: with few of them intervals may be too narrow, and where all
          events of a bin are of one row they count as independent.
        - ``n``: number of events.

    Raises
    ------
    TypeError, ValueError
        As in `score_predictions`; also for a number of bins or a probability outside its domain.

    See Also
    --------
    plot_calibration : The diagram.
    """
    from arviz_base import rcParams

    flag(by_node, "by_node")
    whole_number(n_bins, "n_bins", 1)
    ci_prob = number(rcParams["stats.ci_prob"] if ci_prob is None else ci_prob, "ci_prob", 0.0, 1.0)
    x = _predicted_states(probabilities, data)
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
    tails = np.array([0.5 - 0.5 * ci_prob, 0.5 + 0.5 * ci_prob])[:, None]
    low, high = beta.ppf(tails, n_alone * share + 0.5, n_alone * (1.0 - share) + 0.5)
    mean = np.bincount(which, p)[kept] / n[kept]
    return np.array(
        [mean, share, np.where(share > 0.0, low, 0.0), np.where(share < 1.0, high, 1.0), n[kept]]
    )


class _FieldDraws:
    """A field of a model, and its log tables in posterior draws.

    Attributes
    ----------
    op : MarkovRandomFieldRV
    tables : list of pairs of arrays
        Of edges (r, K, K) and nodes (d, K), for each draw that is kept, chain by chain.
    shape : (int, int)
        Chains, and draws of each that are kept.
    coords : dict
        Of chains and draws.
    """

    def __init__(
        self, node: Any, idata: Any, var_name: str, model: Any, max_draws: int, group: str
    ) -> None:
        import pytensor.tensor as pt

        from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows

        check_tree(idata, "idata")
        whole_number(max_draws, "max_draws", 1)
        self.op, self._idata, self._name = node.op, idata, var_name
        tables = self.op.log_tables(self.op.dist_params(node), pt)
        if not shared_by_rows(tables, self.op.table_ndims):
            raise ValueError(
                f"{var_name}: its parameters differ between rows, which predictions do not serve; use "
                "pm.sample_posterior_predictive"
            )
        tables = [core(table, k) for table, k in zip(tables, self.op.table_ndims, strict=True)]
        f, draws = function_of_draws(tables, idata, model, group)
        if not draws:
            raise ValueError(
                f"{var_name} has no random parameters; PairwiseField predicts from known ones"
            )
        n_chains, n_draws = draws[0].shape[:2]
        kept = thinned(n_chains, n_draws, max_draws)
        self.shape = n_chains, len(kept)
        self.coords = {"chain": draws[0]["chain"], "draw": draws[0]["draw"][kept]}
        flat = [d.values[:, kept].reshape(-1, *d.shape[2:]) for d in draws]
        self.tables = [tuple(f(*values)) for values in zip(*flat, strict=True)]

    def indices(self, data: Any) -> np.ndarray:
        """State indices (n, d) of the rows to predict, -1 where a cell is missing."""
        if data is None:
            data = field_rows(self._idata, self._name, "observed_data").values
        nodes = self.op.graph.nodes
        return _state_indices(data, nodes, self.op.family.states, self.op.family.node_states(len(nodes)))

    def conditionals(self, x: np.ndarray) -> Conditionals:
        """Set up the conditionals of rows (n, d), none of which lacks too many cells."""
        K = self.op.family.n_states
        n_missing = (x < 0).sum(axis=1)
        worst = int(n_missing.argmax())
        if n_missing[worst] * np.log(K) > np.log(MAX_STATES):
            raise ValueError(
                f"row {worst} of the data lacks {n_missing[worst]} cells, whose {K}^{n_missing[worst]} "
                f"states are too many to list ({MAX_STATES} at most): leave such rows out"
            )
        return Conditionals(x, self.op.graph.edges, K)


def _field_draws(
    idata: Any, var_name: str, model: Any, max_draws: int, group: str
) -> _FieldDraws | NormalDraws | MixedDraws:
    """Draws of the parameters of the field of this name, of any kind."""
    import pymc as pm

    check_tree(idata, "idata")
    model = pm.modelcontext(model)
    node = _field_of(model, var_name)
    kind: Any = NormalDraws if node.op.family is GAUSSIAN else _FieldDraws
    if isinstance(node.op.family, MixedFamily):
        kind = MixedDraws
    return kind(node, idata, var_name, model, max_draws, group)


def _field_of(model: Any, var_name: str) -> Any:
    """Return the apply node of the field of this name."""
    from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
    from pymc_mrf.distributions.mixed_rv import MixedFieldRV
    from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
    from pymc_mrf.distributions.parents import field_node

    if not isinstance(var_name, str):
        raise TypeError(f"var_name must be one name, a string, not {var_name!r}")
    node = field_node(model[var_name]) if var_name in model.named_vars else None
    served = MarkovRandomFieldRV | GaussianFieldRV | MixedFieldRV
    if node is None or not isinstance(node.op, served):
        fields = [
            repr(str(rv.name))
            for rv in model.observed_RVs
            if (of := field_node(rv)) is not None and isinstance(of.op, served)
        ]
        raise ValueError(
            f"{var_name!r} is no field of the model with weights on pairs; it has "
            f"{', '.join(fields) or 'none'}"
        )
    return node


def _state_indices(data: Any, nodes: Any, states: Any, of_nodes: Any = None) -> np.ndarray:
    """State indices (n, d) of a table or array, -1 where a cell is missing."""
    answers = read_answers(data, nodes, of_nodes, "data")
    if answers is not None:
        values, missing = np.asarray(answers.values, dtype=np.float64), answers.is_missing
    else:
        values = np.ma.filled(np.ma.asarray(data, dtype=np.float64), np.nan)
        missing = np.isnan(values)
    if values.ndim != 2 or values.shape[1] != len(nodes):
        raise ValueError(f"data has shape {values.shape}; give rows of the {len(nodes)} nodes")
    x = np.full(values.shape, -1, dtype=np.int64)
    for k, state in enumerate(states):
        x[(values == state) & ~missing] = k
    wrong = (x < 0) & ~missing
    if of_nodes is not None:
        wrong |= x >= np.array([len(s) for s in of_nodes])
    if wrong.any():
        row, i = (int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"data[{row}, {i}] is {values[row, i]:g}, which is not a state of node {nodes[i]!r}"
        )
    return x


def _scores(p: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Scores (d,) of probabilities (n, d, K) of cells (n, d); -1 does not count."""
    known = x >= 0
    n = known.sum(axis=0)
    right = np.where(known[:, :, None], np.eye(p.shape[2])[x], 0.0)  # (n, d, K)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = right.sum(axis=0) / n[:, None]
        of_right = np.where(known, (p * right).sum(axis=2), 1.0)
        log_score = np.log(of_right).sum(axis=0) / n
        of_shares = np.where(shares > 0.0, shares * np.log(np.where(shares > 0.0, shares, 1.0)), 0.0)
        accuracy = ((p.argmax(axis=2) == x) & known).sum(axis=0) / n
        common = shares.max(axis=1)
        scores = {
            "n": n,
            "accuracy": accuracy,
            "explained_accuracy": np.where(common < 1.0, (accuracy - common) / (1.0 - common), np.nan),
            "log_score": log_score,
            "explained_log_score": np.where(
                common < 1.0, 1.0 - log_score / of_shares.sum(axis=1), np.nan
            ),
            "brier": np.where(known[:, :, None], (p - right) ** 2, 0.0).sum(axis=(0, 2)) / n,
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
