"""Missing data that depend on a hidden field are drawn with it.

PyMC makes a free variable of the missing entries of data. Given such an entry, the state of its node
would hardly ever change, and given the state, neither would the entry. The field is therefore drawn
without them, and they are drawn from their law given the field: both together given the rest of the
model.

Of the components of normal vectors, PyMC has one log density for those that are observed and those that
are free. The others are normal without the latter, which are drawn given the others.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.distributions.distribution import PartialObservedRV
from pymc.logprob.basic import logp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.tensor.linalg import solve
from pytensor.tensor.random.basic import MvNormalRV
from pytensor.tensor.random.type import RandomType


class Imputed:
    """Free variables that depend on a field and on which nothing depends.

    `rvs`: free variables of `model`, maybe missing components of normal vectors.
    """

    def __init__(self, rvs: list, model: pm.Model) -> None:
        self._names = [model.rvs_to_values[rv].name for rv in rvs]
        self._generators: list[SharedVariable] = []
        drawn = [self._symbolic(rv, model) for rv in rvs]
        inputs = model.value_vars
        # in Python: they are drawn at once, by numpy
        options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore", "trust_input": True}
        self._f = pytensor.function(inputs, drawn, **options) if rvs else None
        self._inputs = [value.name for value in inputs]

    def _symbolic(self, rv, model: pm.Model):
        """Value of a variable, drawn given the values of all others, as the sampler has it."""
        node = rv.owner
        if is_split_normal(rv):
            new = SplitNormal(rv, model).draw(self._generator())
            return new.astype(model.rvs_to_values[rv].dtype)
        given = model.replace_rvs_by_values(list(node.inputs))
        given = [self._generator() if isinstance(v.type, RandomType) else v for v in given]
        new = node.op.make_node(*given).outputs[node.outputs.index(rv)]
        transform = model.rvs_to_transforms[rv]
        value = new if transform is None else transform.forward(new, *given)
        return value.astype(model.rvs_to_values[rv].dtype)

    def _generator(self) -> SharedVariable:
        self._generators.append(pytensor.shared(np.random.default_rng(0)))
        return self._generators[-1]

    def draw(self, point: dict, rng: np.random.Generator) -> dict:
        if self._f is None:
            return point
        for shared in self._generators:
            shared.set_value(np.random.default_rng(rng.integers(2**63)), borrow=True)
        values = self._f(*(np.asarray(point[name]) for name in self._inputs))
        return {**point, **dict(zip(self._names, map(np.asarray, values), strict=True))}


def can_be_drawn(rv, model: pm.Model, point: dict) -> bool:
    try:
        Imputed([rv], model).draw(point, np.random.default_rng(0))
    except NotImplementedError:
        return False
    return True


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

    `rv`: its observed or its free part, for which `is_split_normal`.
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
