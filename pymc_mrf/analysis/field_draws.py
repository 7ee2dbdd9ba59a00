"""The conditional density of every cell of a row given the others, in posterior draws of a field."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import softmax

from pymc_mrf.analysis._posterior import check_tree
from pymc_mrf.analysis.cells import PredictedRows, read_cells, state_coords
from pymc_mrf.analysis.conditional_probabilities import MAX_STATES, Conditionals
from pymc_mrf.analysis.cone_draws import check_precision
from pymc_mrf.analysis.covariates import Covariates
from pymc_mrf.analysis.predictive_checks import field_rows
from pymc_mrf.checks import whole_number
from pymc_mrf.fields.mixed import features_of_rows
from pymc_mrf.fields.table_columns import as_table, check_row_labels
from pymc_mrf.graph.coordinates import node_names


class Prediction(NamedTuple):
    """What one draw says of every cell given the others of its row.

    Attributes
    ----------
    probability : (n, a, K) array
        Of the states of answers.
    mean, variance : (n, c) arrays
        Of measurements.
    """

    probability: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class FieldDraws:
    """A field of a model, and its parameters in posterior draws.

    Parameters
    ----------
    node : Apply
        Of the field.
    idata, var_name, model, max_draws, group, covariates
        As of `predict_nodes`.

    Attributes
    ----------
    only : {"answer", "measurement"} or None
        Which kind all nodes of such fields have.
    draws : iterator over lists of arrays
        Parameters, for each draw that is kept, chain by chain, to be read once; those that differ between
        rows have a first dimension of rows, or of one if they do not.
    shape : (int, int)
        Chains, and draws of each that are kept.
    coords : dict
        Of chains, draws, answers, states and measurements.

    Raises
    ------
    TypeError, ValueError
        As `predict_nodes`.
    """

    only: ClassVar[str | None] = None

    def __init__(
        self,
        node: Any,
        idata: Any,
        var_name: str,
        model: Any,
        max_draws: int,
        group: str,
        covariates: Any,
    ) -> None:
        from pymc_mrf.distributions.field_record import record_of
        from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows

        whole_number(max_draws, "max_draws", 1)
        self.op, self._idata, self._name = node.op, idata, var_name
        given = node.op.dist_params(node)
        self._covariates = Covariates(covariates, given, node.op.labels, model)
        parameters, ndims = self._parameters(*given)
        differ = [not shared_by_rows([p], [k]) for p, k in zip(parameters, ndims, strict=True)]
        if any(p.type.ndim > 1 + k for p, k, d in zip(parameters, ndims, differ, strict=True) if d):
            raise ValueError(
                f"{var_name}: its parameters differ along several dimensions of rows, but rows to predict "
                "have one: declare the field with data (rows, nodes)"
            )
        parameters = [core(p, k + d) for p, k, d in zip(parameters, ndims, differ, strict=True)]
        values, sample = self._covariates.at_draws(parameters, idata, model, group, max_draws)
        if not sample:
            raise ValueError(
                f"{var_name} has no random parameters, so that there is nothing to average; PairwiseField "
                "predicts states from known ones"
            )
        first = next(values)
        self._differ = [
            label
            for label, p, k in zip(node.op.labels, given, node.op.ndims_params, strict=False)
            if not shared_by_rows([p], [k])
        ]
        self._n_rows = {len(p) for p, d in zip(first, differ, strict=True) if d} - {1}
        self.draws = chain([first], values)
        self.shape = sample["chain"].size, sample["draw"].size
        self.record = record_of(model, var_name)
        nodes = node_names(self.op.graph)
        self.coords = {
            **sample,
            **state_coords(self.record),
            "answer": [nodes[i] for i in self.record.answers],
            "measurement": [nodes[i] for i in self.record.measurements],
        }

    def _parameters(self, *given: Any) -> tuple[list, tuple[int, ...]]:
        """Symbolic parameters as `predictions` needs them, and how many dimensions each has."""
        raise NotImplementedError

    def rows(self, data: Any) -> PredictedRows:
        """Rows to predict, read as the table of the model was; by default those of the model."""
        from pymc_mrf.distributions.field_record import record_of_states

        record, labels = self.record, None
        if data is None:
            of_states, record = self.only == "answer", record_of_states(self.op)
            data = field_rows(self._idata, self._name, "observed_data", of_states=of_states).values
            labels = self._row_labels()
        rows = read_cells(record, data)
        rows = rows if labels is None else rows._replace(labels=labels)
        self._check(rows)
        if others := self._n_rows - {len(rows.states)}:
            raise ValueError(
                f"{self._name}: {' and '.join(self._differ)}, which differ between rows, have "
                f"{' and '.join(map(str, sorted(others)))} rows, but data has {len(rows.states)}: "
                f"{self._covariates.remedy(self._differ)}"
            )
        table = as_table(data)
        for name, value in self._covariates.values.items():
            check_row_labels(value, table, f"covariates[{name!r}]", "data")
        return rows

    def _row_labels(self) -> list | None:
        """Labels of the rows that the model was fitted to; None if they have none."""
        observed = self._idata["observed_data"][self._name]
        dim = observed.dims[0]
        return observed[dim].values.tolist() if observed.ndim == 2 and dim in observed.coords else None

    def _check(self, rows: PredictedRows) -> None:
        """Refuse rows of which too much is missing."""

    def _inside(self, precision: np.ndarray, k: int) -> np.ndarray:
        """Precisions (..., c, c) of draw k, refused where they are not positive definite."""
        chain, draw = divmod(k, self.shape[1])
        labels = [self.coords[name].values[i] for name, i in (("chain", chain), ("draw", draw))]
        check_precision(precision, self._name, f"draw {labels[1]} of chain {labels[0]}")
        return precision

    def predictions(self, rows: PredictedRows) -> Iterator[Prediction]:
        """Yield what each draw says of all cells."""
        raise NotImplementedError


class StateDraws(FieldDraws):
    """Parameters of a discrete field, of which log tables are made draw by draw."""

    only: ClassVar = "answer"

    def _parameters(self, *given: Any) -> tuple[list, tuple[int, ...]]:
        return list(given), self.op.ndims_params

    def _check(self, rows: PredictedRows) -> None:
        n_missing = (rows.states < 0).sum(axis=1)
        worst, K = int(n_missing.argmax()), self.op.family.n_states
        if n_missing[worst] * np.log(K) > np.log(MAX_STATES):
            raise ValueError(
                f"row {worst} of the data lacks {n_missing[worst]} cells, whose {K}^{n_missing[worst]} "
                f"states are too many to list ({MAX_STATES} at most): leave such rows out"
            )

    def predictions(self, rows: PredictedRows) -> Iterator[Prediction]:
        conditionals = Conditionals(rows.states, self.op.graph.edges, self.op.family.n_states)
        for given in self.draws:
            yield Prediction(self._probabilities(conditionals, given), rows.measured, rows.measured)

    def _probabilities(self, conditionals: Conditionals, given: list) -> np.ndarray:
        """Probabilities (n, d, K) under one draw; tables of edges are made of some rows at a time."""
        edge, *nodes = given
        if edge.ndim == self.op.ndims_params[0]:
            return conditionals.at(*self.op.log_tables(given))
        differ = [p.ndim > k for p, k in zip(nodes, self.op.ndims_params[1:], strict=True)]
        parts = []
        for part in conditionals.some_rows(self.op.graph.n_edges):
            of_rows = [p[part] if d and len(p) > 1 else p for p, d in zip(nodes, differ, strict=True)]
            tables = self.op.log_tables([edge[part] if len(edge) > 1 else edge, *of_rows])
            parts.append(conditionals.of_rows(part).at_each(*tables))
        return np.concatenate(parts)


class NormalDraws(FieldDraws):
    """Precision (d, d) and means (d,) of a Gaussian field, or (n, d, d) and (n, d)."""

    only: ClassVar = "measurement"

    def _parameters(self, *given: Any) -> tuple[list, tuple[int, ...]]:
        weight, diagonal, mean = given
        return [self.op.precision(weight, diagonal), mean], (2, 1)

    def predictions(self, rows: PredictedRows) -> Iterator[Prediction]:
        """Yield what each draw says of all cells."""
        x, nothing = rows.measured, np.empty((len(rows.measured), 0, 0))
        scale = np.array(self.op.scale)
        masks, pattern = np.unique(np.isnan(x), axis=0, return_inverse=True)
        groups = [(np.flatnonzero(pattern == k), mask) for k, mask in enumerate(masks)]
        d = x.shape[1]
        for k, (K, mu) in enumerate(self.draws):
            mean, variance = np.empty((2, *x.shape))
            K, centre = self._inside(K.reshape(-1, d, d), k), np.broadcast_to(mu, x.shape)
            for alike, is_missing in groups:
                seen, gone = np.flatnonzero(~is_missing), np.flatnonzero(is_missing)
                own = K[alike] if len(K) > 1 else K  # of each row, or of all
                at = alike[:, None]
                deviations = ((x[at, seen] - centre[at, seen]) / scale[seen])[:, None]
                K_seen = own[:, seen[:, None], seen]
                if len(gone):
                    S, across = np.linalg.inv(own[:, gone[:, None], gone]), own[:, seen[:, None], gone]
                    mean[at, gone] = centre[at, gone] - scale[gone] * (deviations @ across @ S)[:, 0]
                    variance[at, gone] = scale[gone] ** 2 * np.diagonal(S, axis1=1, axis2=2)
                    K_seen = K_seen - across @ S @ across.swapaxes(1, 2)  # the others integrated out
                diagonal = np.diagonal(K_seen, axis1=1, axis2=2)
                mean[at, seen] = x[at, seen] - scale[seen] * (deviations @ K_seen)[:, 0] / diagonal
                variance[at, seen] = scale[seen] ** 2 / diagonal
            yield Prediction(nothing, mean, variance)


class MixedDraws(FieldDraws):
    """Quadratic form (Q + c, Q + c), biases (a, K) and means (c,), or (n, c), of a mixed field."""

    def _parameters(self, *given: Any) -> tuple[list, tuple[int, ...]]:
        from pymc_mrf.distributions.symbolic_tables import core

        weight, bias, diagonal, mean = given
        return [self.op.form(core(weight, 1), core(diagonal, 1)), bias, mean], (2, 2, 1)

    def _check(self, rows: PredictedRows) -> None:
        is_missing = np.concatenate([rows.states < 0, np.isnan(rows.measured)], axis=1)
        if is_missing.any():
            row = int(is_missing.any(axis=1).argmax())
            raise ValueError(
                f"row {row} of the data has missing cells, {int(is_missing.sum())} in all, and the others of "
                "its row are not predicted without them: leave such rows out, or take the draws of "
                f"{self._name}_unobserved of a model of these data"
            )

    def predictions(self, rows: PredictedRows) -> Iterator[Prediction]:
        """Yield what each draw says of all cells."""
        layout, scale = self.op.layout, np.array(self.op.scale)
        (a, K), Q = (len(layout.cards), layout.features.shape[1]), len(layout.owner)
        spread = np.zeros((Q, a, K))
        spread[np.arange(Q), layout.owner] = layout.features
        possible = np.where(np.arange(K) < layout.cards[:, None], 0.0, -np.inf)
        for k, (form, bias, mean) in enumerate(self.draws):
            diagonal = np.diag(self._inside(-form[Q:, Q:], k))
            z = features_of_rows(layout, rows.states, (rows.measured - mean) / scale)
            local = z @ form
            scores = np.tensordot(local[:, :Q], spread, axes=1) + bias + possible
            others = local[:, Q:] + diagonal * z[:, Q:]
            variance = np.broadcast_to(scale**2 / diagonal, rows.measured.shape)
            yield Prediction(softmax(scores, axis=2), mean + scale * others / diagonal, variance)


def field_draws(
    idata: Any, var_name: str, model: Any, max_draws: int, group: str, covariates: Any
) -> FieldDraws:
    """Draws of the parameters of the field of this name, of any kind."""
    import pymc as pm

    from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
    from pymc_mrf.distributions.mixed_rv import MixedFieldRV
    from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
    from pymc_mrf.distributions.parents import named_field

    check_tree(idata, "idata")
    model = pm.modelcontext(model)
    served: dict[type, type[FieldDraws]] = {
        MarkovRandomFieldRV: StateDraws, GaussianFieldRV: NormalDraws, MixedFieldRV: MixedDraws,
    }  # fmt: skip
    node = named_field(
        model,
        var_name,
        lambda op: isinstance(op, tuple(served)),
        "field of the model with weights on pairs",
    )
    draws = next(draws for kind, draws in served.items() if isinstance(node.op, kind))
    return draws(node, idata, var_name, model, max_draws, group, covariates)
