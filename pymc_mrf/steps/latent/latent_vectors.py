"""Normal vectors of which some components are missing: what the others say, and draws of these.

PyMC has one log density for the components that are observed and those that are free. Given the latter, the
state of a node would hardly change. The others are normal without them, and they are given the others.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import PartialObservedRV
from pymc.logprob.basic import logp
from pytensor.graph.basic import Constant
from pytensor.tensor.linalg import solve
from pytensor.tensor.random.basic import MvNormalRV


class _Pattern(NamedTuple):
    """Rows (r,) that miss the same components, those that they have and miss; data, mean, covariance."""

    rows: np.ndarray
    seen: np.ndarray
    missing: np.ndarray
    value: pt.TensorVariable
    mean: pt.TensorVariable
    cov: pt.TensorVariable

    def block(self, a: np.ndarray, b: np.ndarray):
        """Covariances of components `a` and `b`."""
        return self.cov[..., a, :][..., b]


class SplitNormal:
    """A ``pm.MvNormal`` with missing components.

    Parameters
    ----------
    rv : TensorVariable
        Its observed or its free part, for which `is_split_normal`.
    model : pymc.Model
    """

    def __init__(self, rv, model: pm.Model) -> None:
        dist, mask = rv.owner.inputs
        self._mask = np.asarray(mask.data)
        self._value = model.rvs_to_values[rv.owner.outputs[0]]
        self._dist = dist.owner
        self._parameters = model.replace_rvs_by_values(dist.owner.op.dist_params(dist.owner))

    def _patterns(self) -> Iterator[_Pattern]:
        shape = self._mask.shape
        mean, cov = self._parameters
        mask = self._mask.reshape(-1, shape[-1])
        mean = pt.broadcast_to(mean, shape).reshape((-1, shape[-1]))
        value = pt.zeros(shape, self._value.dtype)[~self._mask].set(self._value).reshape((-1, shape[-1]))
        if cov.ndim > 2:
            cov = pt.broadcast_to(cov, (*shape, shape[-1])).reshape((-1, shape[-1], shape[-1]))
        kinds, kind = np.unique(mask, axis=0, return_inverse=True)
        for k, is_missing in enumerate(kinds):
            rows = np.flatnonzero(kind == k)
            seen, missing = np.flatnonzero(~is_missing), np.flatnonzero(is_missing)
            own = cov[rows] if cov.ndim > 2 else cov
            yield _Pattern(rows, seen, missing, value[rows], mean[rows], own)

    def log_density(self):
        """Log density of the components that are observed, row by row, those without any left out."""
        return pt.concatenate(
            [
                logp(pm.MvNormal.dist(p.mean[:, p.seen], p.block(p.seen, p.seen)), p.value[:, p.seen])
                for p in self._patterns()
                if p.seen.size
            ]
        )

    def draw(self, rng):
        """Missing components given the others, from a generator.

        Whole vectors are drawn, and moved by what their components differ from the observed ones (Rue & Held,
        2005, sec. 2.3.3).
        """
        _, size, *_ = self._dist.inputs
        z = self._dist.op.make_node(rng, size, *self._parameters).outputs[1]
        z = z.reshape((-1, self._mask.shape[-1]))
        for p in self._patterns():
            if p.seen.size and p.missing.size:
                off = (p.value - z[p.rows])[:, p.seen]
                weights = solve(p.block(p.seen, p.seen), p.block(p.seen, p.missing), assume_a="pos")
                moved = off @ weights if weights.ndim == 2 else (off[:, None] @ weights)[:, 0]
                z = z[p.rows[:, None], p.missing].inc(moved)
        return z.reshape(self._mask.shape)[self._mask]


def is_split_normal(rv) -> bool:
    """Whether a variable is the observed or the free part of a `SplitNormal`."""
    if not isinstance(rv.owner.op, PartialObservedRV):
        return False
    dist, mask = rv.owner.inputs
    return isinstance(dist.owner.op, MvNormalRV) and isinstance(mask, Constant)
