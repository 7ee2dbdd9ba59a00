"""Moves of the prior of Gaussian fields, cut to positive definite precisions, without data.

They have the methods of a step that `pymc_mrf.analysis.cone_prior` calls.
"""

from itertools import accumulate
from typing import Any

import numpy as np

from pymc_mrf.analysis.cone_fields import of_cone, precision_of
from pymc_mrf.kernels.cone import ConeTerms, walk

THIN = 5  # sweeps for each draw
MOST_STEPS = 20  # of stepping out to each side


class ConeMoves:
    """Sweeps over all entries of `SpikeAndSlab` vectors, and of diagonals, with candidates of their prior.

    Leaves invariant: the prior given all else, cut to the cone.

    Parameters
    ----------
    sparse, diagonals : lists of TensorVariable
    model : pymc.Model

    Attributes
    ----------
    names : list of str
        Of the `sparse`.
    presence : list of (r,) arrays
        Probability of each entry of these not to be zero, given all else, where the last sweep came by.
    """

    def __init__(self, sparse: list, diagonals: list, model: Any) -> None:
        from pymc.distributions.shape_utils import change_dist_size
        from pymc.pytensorf import find_rng_nodes

        from pymc_mrf.distributions.symbolic_tables import strip_views
        from pymc_mrf.likelihood.gaussian.likelihood import Normal
        from pymc_mrf.steps.common.expressions import PointFunction
        from pymc_mrf.steps.common.observed_field import observed_fields
        from pymc_mrf.steps.edges.edge_prior import EdgePriorReader, NodeReader

        fields = {
            rv: observed_fields(rv, model, "prior_in_cone", (Normal,), mixes=True, fills=True)
            for rv in sparse
        }
        self._priors = [
            EdgePriorReader(rv, [NodeReader(None, f, model, None) for f in fields[rv]], None, model)
            for rv in sparse
        ]
        # those that read it agree on the blocks of a field
        by_name = {field.name: field for found in fields.values() for field in found}
        counts = [len(field.blocks) for field in by_name.values()]
        places = dict(zip(by_name, accumulate(counts[:-1], initial=0), strict=True))
        self._fields = list(by_name.values())
        self._precisions = PointFunction([precision_of(field.node) for field in self._fields], model)
        self._weights = _terms(
            [
                [
                    (places[f.name] + k, *f.graph.edges[j], f.factors[k, j])
                    for f in fields[rv]
                    for k in range(len(f.blocks))
                    for j in np.flatnonzero((f.entries == e) & (f.factors[k] != 0.0)).tolist()
                ]
                for rv in sparse
                for e in range(rv.owner.op.n)
            ]
        )
        is_of = {name: strip_views(of_cone(field.node)[1]) for name, field in by_name.items()}
        sizes = [f.graph.n_nodes for f in by_name.values()]
        self._diagonals = _terms(
            [
                [
                    (places[f.name] + k, i, i, 1.0)
                    for f in by_name.values()
                    if is_of[f.name] is rv
                    for k in range(len(f.blocks))
                ]
                for rv in diagonals
                for i in range(next(f.graph.n_nodes for f in by_name.values() if is_of[f.name] is rv))
            ]
        )
        self._m = max(2, *sizes)
        values = model.rvs_to_values
        self.names = [rv.name for rv in sparse]
        self._sparse = [values[rv].name for rv in sparse]
        self._cuts = np.cumsum([rv.owner.op.n for rv in sparse])[:-1]
        self._free = [values[rv].name for rv in diagonals]
        self._read = PointFunction(list(diagonals), model) if diagonals else None
        candidates = [change_dist_size(rv, (THIN,), expand=True) for rv in (*sparse, *diagonals)]
        self._rngs = find_rng_nodes(candidates)
        self._draw = PointFunction(candidates, model)
        self._forward = [_forward(rv, model) for rv in diagonals]
        self.presence: list[np.ndarray] = []

    def setup_chain(self, rng: np.random.Generator, tune: int, draws: int) -> None:
        from pymc.pytensorf import reseed_rngs

        reseed_rngs(self._rngs, int(rng.integers(2**30)))

    def stop_tuning(self) -> None:
        """Go on: nothing is tuned."""

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list]:
        """Make `THIN` sweeps."""
        candidates = self._draw(point)
        K = self._stacked(point)
        n = len(self._sparse)
        w = np.concatenate([np.asarray(point[name], dtype=np.float64) for name in self._sparse])
        own = [] if self._read is None else [np.array(v) for v in self._read(point)]
        b = np.concatenate([np.zeros(0), *own])
        of_diagonals = np.concatenate([np.zeros((THIN, 0)), *candidates[n:]], axis=1)
        low, high = np.empty(len(w)), np.empty(len(w))
        found = walk(
            K, np.empty_like(K), np.empty(K.shape[1:]), self._weights, w,
            np.concatenate(candidates[:n], axis=1), self._diagonals, b, of_diagonals, low, high,
        )  # fmt: skip
        if not found:
            raise ValueError(
                "the precision of a Gaussian field is not positive definite at the initial point of the "
                "model, where the simulation of its prior begins: give the variables that its weights are "
                "made of smaller ones, as by model.set_initval"
            )
        point = dict(point)
        for name, values in zip(self._sparse, np.split(w, self._cuts), strict=True):
            point[name] = values.astype(point[name].dtype)
        ends = np.cumsum([0, *map(len, own)])
        for k, (name, forward) in enumerate(zip(self._free, self._forward, strict=True)):
            values = forward(b[ends[k] : ends[k + 1]], point)
            point[name] = np.asarray(values, dtype=point[name].dtype)
        limits = zip(np.split(low, self._cuts), np.split(high, self._cuts), strict=True)
        self.presence = [
            _presence(reader.read(point)[0], *both)
            for reader, both in zip(self._priors, limits, strict=True)
        ]
        return point, [{}]

    def _stacked(self, point: dict[str, np.ndarray]) -> np.ndarray:
        """Precisions (B, m, m) of all blocks, smaller ones with ones beyond their diagonal."""
        stacked = []
        for field, own in zip(self._fields, self._precisions(point), strict=True):
            d = own.shape[-1]
            for K in field.of_blocks(own.reshape(-1, d, d)):
                stacked.append(np.eye(self._m))
                stacked[-1][:d, :d] = K
        return np.array(stacked)


def _terms(of_entries: list[list[tuple]]) -> ConeTerms:
    """Arrange the terms (block, row, column, factor) of each entry for the kernels."""
    first = np.cumsum([0, *map(len, of_entries)])
    rows = [term for terms in of_entries for term in terms]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    block, u, v = (np.array(column, dtype=np.int64) for column in columns[:3])
    return ConeTerms(first, block, u, v, np.array(columns[3], dtype=np.float64))


def _forward(rv: Any, model: Any) -> Any:
    """Make a function of values of `rv` and a point that gives them as samplers have them."""
    from pymc_mrf.steps.common.expressions import PointFunction

    transform = model.rvs_to_transforms[rv]
    if transform is None:
        return lambda values, point: values
    natural = rv.type()
    moved = transform.forward(natural, *rv.owner.inputs)
    f = PointFunction(moved, model, {"mode": "FAST_COMPILE"}, given=[natural])
    return lambda values, point: f(point, values)


def _presence(prior: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Prior probability (r,) of each entry not to be zero, if it must lie between `low` and `high`."""
    share = np.diff(_slab_below(prior.slab, np.stack([low, high])), axis=0)[0]
    odds = np.exp(prior.log_odds) * share
    may_be_absent = (low < 0.0) & (high > 0.0)
    return odds / (odds + may_be_absent)


def _slab_below(slab: Any, x: np.ndarray) -> np.ndarray:
    """Distribution function of a slab, as kernels take it, at `x` of any shape."""
    from scipy import stats

    from pymc_mrf.kernels.priors.densities import LAPLACE, NORMAL, Tabulated
    from pymc_mrf.steps.edges.edge_prior import interval_masses

    if isinstance(slab, Tabulated):
        points, mass = interval_masses(slab.series)
        below = np.r_[0.0, np.cumsum(mass)]
        return np.interp(x, points, below / below[-1])
    z = (x - slab.location) / slab.scale
    if slab.kind == NORMAL:
        return stats.norm.cdf(z)
    return stats.laplace.cdf(z) if slab.kind == LAPLACE else stats.t.cdf(z, slab.nu)


class SliceMoves:
    """Moves of one coordinate after the other, of variables as samplers have them.

    Leaves invariant: the prior of all variables `moved`, cut to positive definite precisions of fields.

    Parameters
    ----------
    rvs : list of TensorVariable
        Free variables of the model that it moves.
    moved : list of TensorVariable
        All whose prior depends on these, they included.
    nodes : list of Apply
        Of the fields.
    model : pymc.Model
    """

    def __init__(self, rvs: list, moved: list, nodes: list, model: Any) -> None:
        from pymc_mrf.steps.common.expressions import PointFunction

        self._names = [model.rvs_to_values[rv].name for rv in rvs]
        self._log_prior = PointFunction([model.logp(vars=moved)], model)
        self._precisions = PointFunction([precision_of(node) for node in nodes], model)
        self._rng = np.random.default_rng(0)

    def setup_chain(self, rng: np.random.Generator, tune: int, draws: int) -> None:
        self._rng = rng

    def stop_tuning(self) -> None:
        """Go on: nothing is tuned."""

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list]:
        point = dict(point)
        for name in self._names:
            for cell in np.ndindex(np.shape(point[name])):
                self._move(point, name, cell)
        return point, [{}]

    def _move(self, point: dict, name: str, cell: tuple[int, ...]) -> None:
        """Draw from the slice of one coordinate, widened by steps of one and shrunk towards the old value."""
        values = np.array(point[name])
        old = values[cell]

        def density(x: float) -> float:
            values[cell] = x
            return self._log_density({**point, name: values})

        level = density(old) + np.log(self._rng.random())
        low = old - self._rng.random()
        high = low + 1.0
        n_low = int(self._rng.integers(MOST_STEPS))
        for _ in range(n_low):
            if density(low) <= level:
                break
            low -= 1.0
        for _ in range(MOST_STEPS - 1 - n_low):
            if density(high) <= level:
                break
            high += 1.0
        while True:
            new = self._rng.uniform(low, high)
            if density(new) > level:
                point[name] = values
                return
            low, high = (new, high) if new < old else (low, new)

    def _log_density(self, point: dict) -> float:
        """Log of the prior, -inf outside of the cone."""
        for K in self._precisions(point):
            if not np.isfinite(K).all() or np.linalg.eigvalsh(K).min() <= 0.0:
                return -np.inf
        value = float(self._log_prior(point)[0])
        return value if np.isfinite(value) else -np.inf
