"""`LatentMarginals`: the marginal probabilities of a latent field without its draws."""

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from pymc_mrf.analysis._posterior import checked_group, dims_of
from pymc_mrf.distributions.field_rv import DiscreteFieldRV
from pymc_mrf.distributions.parents import field_named, variables_of
from pymc_mrf.steps.common.model_field import ModelField


class LatentMarginals:
    """Count the states of a latent field while `pymc.sample` runs, instead of storing its draws.

    It is given to `pymc.sample` as its ``callback``. The field need not be among the variables that are
    stored (``var_names``), so that the memory does not grow with the number of draws: 2,000 draws of an image
    of 500 x 500 pixels take 4 GB per chain, or 0.5 GB under ``dtype="int8"``, their counts 2 MB per state.
    `plot_latent_field` draws the counts as it does draws.

    Parameters
    ----------
    x : TensorVariable
        A free field of the model, of any shape, or one with missing cells: of these the observed cells have
        probability 1.
    model : pymc.Model, optional
        By default that of the context.

    Raises
    ------
    TypeError
        If `x` is no field of the model, or has no free cells.

    Notes
    -----
    Draws while tuning are not counted. A new run of `pymc.sample` begins anew. NUTS samplers of others,
    which PyMC calls as a whole, take no callback.

    Examples
    --------
    >>> with pm.Model():
    ...     level = pm.Normal("level", 0, 1, shape=3)
    ...     x = pymc_mrf.Potts("x", 0.8, graph=pymc_mrf.graphs.grid(500, 500), n_states=3)
    ...     pm.Normal("y", level[x], 0.5, observed=y)
    ...     counts = pymc_mrf.LatentMarginals(x)
    ...     idata = pm.sample(callback=counts, var_names=["level"])
    >>> idata["latent"] = xarray.DataTree(counts.to_dataset())
    """

    def __init__(self, x: Any, model: pm.Model | None = None) -> None:
        model, name = pm.modelcontext(model), getattr(x, "name", None)
        named = model.named_vars.get(name)  # a field with missing cells is returned as an expression
        node = field_named(model, name)
        free = None if node is None else variables_of(node, model)[1]
        if node is not None and not isinstance(node.op, DiscreteFieldRV):
            raise TypeError(
                f"LatentMarginals counts states, but {name} is a {node.op.family.title}, whose nodes have "
                "none: let pm.sample keep its draws, or pm.Deterministic what is wanted of them"
            )
        if node is None or free is None:
            raise TypeError(
                "LatentMarginals counts a free field of the model, such as pymc_mrf.Ising, but "
                f"{name or repr(x)} is none; pass the variable itself, as in model['x']"
            )
        x = named
        cells = ModelField(node, model)
        self._field, self._name = name, cells.name
        self._observed = None if x is free else cells.table.reshape(*cells.batch, -1)
        self._states = cells.values_of_states
        self._dims, self._coords = dims_of(model, x.name, x.ndim)
        self._counts: dict[int, np.ndarray] = {}
        self._n_draws: dict[int, int] = {}
        self._last: dict[int, int] = {}

    def __call__(self, trace: Any, draw: Any) -> None:
        """Count one draw, as `pymc.sample` asks callbacks to."""
        if draw.draw_idx <= self._last.get(draw.chain, -1):  # another run
            for kept in (self._counts, self._n_draws, self._last):
                kept.clear()
        self._last[draw.chain] = draw.draw_idx
        if draw.tuning:
            return
        value = draw.point[self._name]
        if draw.chain not in self._counts:
            self._counts[draw.chain] = np.zeros((len(self._states), *value.shape), dtype=np.int64)
            self._n_draws[draw.chain] = 0
        for count, state in zip(self._counts[draw.chain], self._states, strict=True):
            count += value == state
        self._n_draws[draw.chain] += 1

    def to_dataset(self) -> xr.Dataset:
        """Marginals of the draws so far.

        Returns
        -------
        xarray.Dataset
            ``probability`` (chain, state, ...), the share of the chain's draws in which a node is in a state.
            ``mode`` (...), the most frequent state of all chains' draws, the first of several. ``n_draws``
            (chain).

        Raises
        ------
        ValueError
            If nothing has been counted.
        """
        if not self._counts:
            raise ValueError(
                "LatentMarginals has counted no draw; give it to pymc.sample as its callback: "
                "pm.sample(callback=...)"
            )
        chains = sorted(self._counts)
        counts = np.stack([self._counts[c] for c in chains])
        n_draws = np.array([self._n_draws[c] for c in chains])
        if self._observed is not None:
            counts = _of_all_cells(counts, n_draws, self._states, self._observed)
        shares = counts / n_draws.reshape(-1, *(1,) * (counts.ndim - 1))
        return xr.Dataset(
            {
                "probability": (("chain", "state", *self._dims), shares),
                "mode": (tuple(self._dims), self._states[counts.sum(axis=0).argmax(axis=0)]),
                "n_draws": ("chain", n_draws),
            },
            coords={"chain": chains, "state": self._states, **self._coords},
            attrs={"field": self._field},
        )


def _of_all_cells(
    counts: np.ndarray, n_draws: np.ndarray, states: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """Count the states of all cells, (chain, state, ...), given those of the cells that are NaN."""
    one_hot = observed == states.reshape(-1, *(1,) * observed.ndim)
    whole = np.multiply.outer(n_draws, one_hot)
    whole[:, :, np.isnan(observed)] = counts
    return whole


def counted_marginals(idata: Any, var_name: str, group: str) -> xr.DataArray | None:
    """Return the probabilities (chain, state, ...) of a group that `LatentMarginals` has made; else None.

    There is one chain: all draws together.
    """
    data = checked_group(idata, group)
    if "field" not in data.attrs:
        return None
    field = data.attrs["field"]
    if var_name != field:
        raise ValueError(
            f"the {group} group holds the marginals of {field!r}: pass this name, not {var_name!r}"
        )
    counts = data["probability"] * data["n_draws"]
    return (counts.sum("chain") / data["n_draws"].sum()).expand_dims("chain").rename(field)
