"""Covariates of rows: values of ``pm.Data`` in place of those that a model holds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from pymc_mrf.analysis._posterior import values_at_draws
from pymc_mrf.checks import first_cell, quoted

AS_DATA = (
    "declare the covariates of the model as pm.Data, in place of arrays, and give those of the rows as "
    'covariates={"name": ...}'
)


class Covariates:
    """Values of ``pm.Data`` by their names, one row for each row that is asked for, or one for all.

    Parameters
    ----------
    given : mapping or None
        Names and values. Values of one row may lack the dimension of rows.
    parameters : sequence of symbolic variables
        Those of a field, which are computed from them.
    labels : sequence of str
        What users call the parameters.
    model : pymc.Model

    Attributes
    ----------
    givens : list of (variable, value)
        As `pytensor.function` takes them.
    values : dict
        The values as they were given.

    Raises
    ------
    TypeError, ValueError
        If a name is none of the ``pm.Data`` behind the parameters, or a value is no array of numbers like
        that which the model holds.
    """

    def __init__(self, given: Any, parameters: Sequence, labels: Sequence[str], model: Any) -> None:
        from pytensor.compile.sharedvalue import SharedVariable
        from pytensor.graph.traversal import ancestors

        if given is not None and not isinstance(given, Mapping):
            raise TypeError(
                f"covariates must be values of pm.Data by their names, such as {{'age': 40}}, not {given!r}"
            )
        data = {name: v for name, v in model.named_vars.items() if isinstance(v, SharedVariable)}
        blockers = model.free_RVs  # what their priors depend on changes no draw
        self._behind: dict[str, list[str]] = {}
        for label, parameter in zip(labels, parameters, strict=False):
            near = set(ancestors([parameter], blockers=blockers))
            self._behind[label] = [name for name, v in data.items() if v in near]
        known = [name for name in data if any(name in names for names in self._behind.values())]
        self.values, self.givens = dict(given or {}), []
        for name, value in self.values.items():
            if name not in known:
                raise ValueError(
                    f"covariates names {name!r}, which is no pm.Data behind {' and '.join(self._behind)}; "
                    f"there is {quoted(known)}: declare a covariate in the model as "
                    f'pm.Data("{name}", values)'
                )
            self.givens.append((data[name], _as_held(value, data[name], name)))
        for held, new in self.givens:
            n_old, n_new = (len(v) if v.ndim else 1 for v in (held.get_value(borrow=True), new))
            for name in known:
                old = data[name].get_value(borrow=True)
                if n_new != n_old and name not in self.values and old.ndim and len(old) == n_old:
                    raise ValueError(
                        f"covariates has {held.name!r} for {n_new} rows in place of {n_old}, but lacks "
                        f"{name!r}, of which the model holds {n_old}: give both"
                    )

    def at_draws(
        self, parameters: list, idata: Any, model: Any, group: str, most: int | None = None
    ) -> tuple[Iterator[list[np.ndarray]], dict]:
        """`values_at_draws` with these covariates; at least one draw."""
        values, sample = values_at_draws(parameters, idata, model, group, most, self.givens)
        try:
            first = next(values)
        except ValueError as error:
            if not self.givens:
                raise
            raise ValueError(
                f"parameters cannot be computed with {' and '.join(self.values)} of these rows, as the model "
                f"has something else of its own rows: {AS_DATA}"
            ) from error
        return chain([first], values), sample

    def remedy(self, labels: Sequence[str], of: str = "the rows") -> str:
        """Say how the covariates behind some parameters are given for other rows."""
        names = list(dict.fromkeys(name for label in labels for name in self._behind.get(label, [])))
        if names:
            asked = ", ".join(f'"{name}": ...' for name in names)
            return f"give those of {of} as covariates={{{asked}}}, or by pm.set_data"
        return AS_DATA


def _as_held(value: Any, held: Any, name: str) -> np.ndarray:
    """Array of the type of ``pm.Data``, of any number of rows."""
    old = held.get_value(borrow=True)
    new = np.asarray(value)
    if new.dtype.kind not in "biuf":
        raise TypeError(f"covariates[{name!r}] must be numbers, not of dtype {new.dtype}")
    if new.ndim < old.ndim:
        new = new.reshape((1,) * (old.ndim - new.ndim) + new.shape)
    if new.ndim != old.ndim or new.shape[1:] != old.shape[1:]:
        shape = ", ".join(["rows", *map(str, old.shape[1:])]) if old.ndim else ""
        raise ValueError(
            f"covariates[{name!r}] has shape {np.shape(value)}, but the model holds one of shape {old.shape}:"
            f" give shape ({shape}), or one row without the first dimension"
        )
    if not np.isfinite(new).all():
        cell = first_cell(~np.isfinite(new))
        raise ValueError(f"covariates[{name!r}] is {new[cell]} at {list(cell)}: give finite numbers")
    if old.dtype.kind in "iub" and (new != np.floor(new)).any():
        cell = first_cell(new != np.floor(new))
        raise ValueError(
            f"covariates[{name!r}] is {new[cell]} at {list(cell)}, but the model holds whole numbers"
        )
    return new.astype(old.dtype)
