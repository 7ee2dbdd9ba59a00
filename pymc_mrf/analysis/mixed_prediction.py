"""How well each answer and each measurement of a mixed field is predicted from all others of its row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import softmax

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, function_of_draws, group_variable, thinned
from pymc_mrf.analysis.normal_prediction import explained_variance
from pymc_mrf.checks import whole_number
from pymc_mrf.fields.column_kinds import check_mixed, read_mixed
from pymc_mrf.fields.mixed import features_of_rows
from pymc_mrf.graph.coordinates import node_labels


class MixedDraws:
    """A mixed field of a model, and its parameters in posterior draws.

    Parameters
    ----------
    node : Apply
        Of the field.
    idata, var_name, model, max_draws, group
        As of `predict_nodes`.

    Attributes
    ----------
    draws : list of tuples of arrays
        Quadratic form (Q + c, Q + c), biases (a, K) and means (c,), for each draw that is kept.
    shape : (int, int)
        Chains, and draws of each that are kept.
    coords : dict
        Of chains, draws, answers, states and measurements.

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
        self.op, self._idata, self._name = node.op, idata, var_name
        weight, bias, diagonal, mean = node.op.dist_params(node)
        if not shared_by_rows([mean], (1,)):
            raise ValueError(
                f"{var_name}: its means differ between rows, which predictions do not serve; use "
                "pm.sample_posterior_predictive"
            )
        parameters = [self.op.form(core(weight, 1), core(diagonal, 1)), core(bias, 2), core(mean, 1)]
        f, draws = function_of_draws(parameters, idata, model, group)
        if not draws:
            raise ValueError(f"{var_name} has no random parameters, so that there is nothing to average")
        n_chains, n_draws = draws[0].shape[:2]
        kept, labels = thinned(n_chains, n_draws, max_draws), node_labels(self.op.graph)
        self.shape = n_chains, len(kept)
        columns = self.op.columns
        self.coords = {
            "chain": draws[0]["chain"],
            "draw": draws[0]["draw"][kept],
            "answer": [labels[i] for i in columns.answers],
            "state": list(range(max(columns.n_states))),
            "measurement": [labels[i] for i in columns.measurements],
        }
        flat = [d.values[:, kept].reshape(-1, *d.shape[2:]) for d in draws]
        self.draws = [tuple(f(*values)) for values in zip(*flat, strict=True)]

    def rows(self, data: Any) -> np.ndarray:
        """Complete rows (n, d) to predict."""
        columns = self.op.columns
        if data is None:
            data = group_variable(self._idata, self._name, "observed_data").values
        read = read_mixed(data, columns, "data")
        if read is not None:
            x, is_missing = read.values, read.is_missing
        else:
            x = np.ma.filled(np.ma.asarray(data, dtype=np.float64), np.nan)
            is_missing = np.isnan(x)
        if x.ndim != 2 or x.shape[1] != len(columns.names):
            raise ValueError(f"data has shape {x.shape}; give rows of the {len(columns.names)} nodes")
        if is_missing.any():
            row = int(is_missing.any(axis=1).argmax())
            raise ValueError(
                f"row {row} of the data has missing cells, {int(is_missing.sum())} in all, and the others of "
                "its row are not predicted without them: leave such rows out, or take the draws of "
                f"{self._name}_unobserved of a model of these data"
            )
        check_mixed(x, is_missing, columns, "data")
        return x

    def predictions(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield probabilities (n, a, K), means (n, c) and variances (c,) of all cells given the others."""
        columns, layout = self.op.columns, self.op.layout
        (a, K), Q = (len(layout.cards), layout.features.shape[1]), len(layout.owner)
        scale, measured = np.array(self.op.scale), x[:, columns.measurements]
        states = x[:, columns.answers].astype(np.int64)
        spread = np.zeros((Q, a, K))
        spread[np.arange(Q), layout.owner] = layout.features
        possible = np.where(np.arange(K) < layout.cards[:, None], 0.0, -np.inf)
        for form, bias, mean in self.draws:
            z = features_of_rows(layout, states, (measured - mean) / scale)
            local = z @ form
            scores = np.tensordot(local[:, :Q], spread, axes=1) + bias + possible
            diagonal = -np.diag(form)[Q:]
            others = local[:, Q:] + diagonal * z[:, Q:]
            yield softmax(scores, axis=2), mean + scale * others / diagonal, scale**2 / diagonal


def predict_cells(field: MixedDraws, data: Any) -> xr.Dataset:
    """Probabilities, means and standard deviations of every cell, as `predict_nodes` returns them."""
    x = field.rows(data)
    layout, n = field.op.layout, len(field.draws)
    total = np.zeros((len(x), len(layout.cards), layout.features.shape[1]))
    first, second = np.zeros((2, len(x), layout.n_measured))
    for p, of_draw, variance in field.predictions(x):
        total += p
        first += of_draw
        second += variance + of_draw**2
    mean = first / n
    sd = np.sqrt(second / n - mean**2)
    return xr.Dataset(
        {
            "probability": (("obs", "answer", "state"), total / n),
            "mean": (("obs", "measurement"), mean),
            "sd": (("obs", "measurement"), sd),
        },
        coords={key: field.coords[key] for key in ("answer", "state", "measurement")},
    )


def predictability_of_cells(field: MixedDraws, data: Any, scores: Any) -> xr.Dataset:
    """Scores of every node in every draw, as `predictability` returns them; `scores` of states by (p, x)."""
    x, columns = field.rows(data), field.op.columns
    states, measured = x[:, columns.answers].astype(np.int64), x[:, columns.measurements]
    names, found, explained = ("accuracy", "explained_accuracy", "explained_log_score"), [], []
    for p, mean, _ in field.predictions(x):
        found.append(scores(p, states))
        explained.append(explained_variance(mean, measured))
    shape = (*field.shape, -1)
    values = {
        name: ((*SAMPLE_DIMS, "answer"), np.reshape([one[name] for one in found], shape))
        for name in names
    }
    values["explained_variance"] = ((*SAMPLE_DIMS, "measurement"), np.reshape(explained, shape))
    kept = ("chain", "draw", "answer", "measurement")
    return xr.Dataset(values, coords={key: field.coords[key] for key in kept})
