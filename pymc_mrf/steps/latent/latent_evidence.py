"""What the rest of a model says about each node of a latent field.

The terms of the model's log density that contain the field's value are evaluated cell by cell: with all
nodes in state 0, in state 1, and so on. A cell that depends on a single node (y_i ~ Normal(mu[x_i],
sigma), say) then belongs to the *evidence* about this node, a table of log weights per state. Which node
a cell depends on is found by evaluations as well, and checked at random configurations. Whatever the
evidence misses is the *residual*, by which `TreeGibbs` accepts or rejects its draws.
"""

import math
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors
from pytensor.tensor.math import Sum

from pymc_mrf.distributions.parents import field_node
from pymc_mrf.distributions.remedies import advice_of
from pymc_mrf.steps.common.expressions import PointFunction, PointInputs, terms_with
from pymc_mrf.steps.latent.latent_imputed import SplitNormal, can_be_drawn, is_split_normal
from pymc_mrf.steps.latent.latent_warnings import CHECKED, check_indices

N_CHECKS = 20
JITTERS = (0.3, 0.01, 0.0)


class Evidence(NamedTuple):
    """Terms of the model at one point, evaluated at each state of the field.

    `cells` (K, C): log density cell by cell, all nodes being in the same state. `table` (N, K): log
    weight of each state of each node: sums of the cells that depend on this node alone.
    """

    cells: np.ndarray
    table: np.ndarray


class LatentEvidence:
    """Evidence about a latent field, read from a model.

    Parameters
    ----------
    value : TensorVariable
        Value variable of the field, with N entries.
    node : Apply
        Of the field, whose own terms are left out.
    model : pymc.Model
    states : (N, K) array
        Value of each entry in each of its states.
    point : dict
        Values of all variables, for the search and its check.
    compile_kwargs : dict or None
        For `pymc.Model.compile_fn`.

    Attributes
    ----------
    terms : list of str
        Names of the random variables and potentials that depend on the field.
    parameters : list of str
        Names of the other values that these terms depend on.
    reads : list of TensorVariable
        These variables, potentials and their log densities.
    imputed : list of TensorVariable
        Free variables that depend on the field and on which nothing depends, as missing entries of data do,
        and missing components of normal vectors.
        They say nothing about the field and are left out.
    density : TensorVariable or None
        Log density cell by cell, (C,), symbolic.
    rest : list of (TensorVariable, TensorVariable)
        Random variables and potentials that do not depend on the field, and their terms.
    owner : (C,) int64 array
        Entry of the field that each cell depends on; -1 where there is none, or several.
    separable : bool
        Whether every cell was found to depend on one node at most.
    ignores_states : bool
        Whether there are terms, and none of them changed wherever the field was changed.
    """

    def __init__(self, value, node, model: pm.Model, states, point, compile_kwargs) -> None:
        self._name, self._shape = value.name, np.shape(point[value.name])
        self._states = np.ascontiguousarray(states, dtype=value.dtype)
        self._numbers = np.arange(len(self._states))
        found, self.rest = terms_with([value], model, [node])
        both = [*found, *self.rest]
        imputed = [v for v, _ in found if _is_imputed(v, both, model)]
        self.imputed = [v for v in imputed if can_be_drawn(v, model, point)]
        for v in [v for v, _ in found if is_split_normal(v)]:
            free = v.owner.outputs[1]
            if _is_imputed(free, both, model):
                self.imputed.append(free)
                found = [(w, SplitNormal(w, model).log_density() if w is v else t) for w, t in found]
        found = [(v, t) for v, t in found if v not in self.imputed]
        self.terms = [v.name for v, _ in found]
        self.reads = [v for pair in found for v in pair]
        for v, _ in found:
            node = field_node(v)
            if node is not None and node.op.likelihood.is_intractable:
                declared = advice_of(node, model, f"declare {v.name} with")
                raise ValueError(
                    f"TreeGibbs cannot sample {value.name}: it parametrises {v.name}, whose partition "
                    f"function is intractable; {declared}"
                )
        check_indices(value, found, model, self._states, point)
        self._model, self._point, self._found = model, point, found
        self._f: PointFunction | None = None
        self._inputs: list[str] = []
        self.density = None
        if found:
            # a term that is an output itself would be what it is for those who ask for it alone
            self.density = (
                pt.concatenate([_summands(t).astype("float64").ravel() for _, t in found]) + 0.0
            )
            self._f = PointFunction(self.density, model, compile_kwargs)
            self._inputs = self._f.names
        self.parameters = [name for name in self._inputs if name != self._name]
        self._others = PointInputs(self.parameters)
        self.ignores_states = False
        self.owner, self.separable = self._find_owners(point)
        N = len(self._states)
        self._one_to_one = np.array_equal(self.owner, np.arange(N))
        self._evidence: Evidence | None = None
        self._known_residual: tuple[Evidence, np.ndarray, float] | None = None

    def _cells(self, point, value: np.ndarray) -> np.ndarray:
        """Log density cell by cell, (C,), the field having the values `value` (N,)."""
        if self._f is None:
            return np.zeros(0)
        here = {**point, self._name: value.reshape(self._shape)}
        return self._f(here)

    def _at_each_state(self, point) -> np.ndarray:
        return np.array([self._cells(point, column) for column in self._states.T])

    def read(self, point) -> Evidence:
        """Evidence at `point`; its value of the field does not matter.

        The same object as before, as long as nothing else in the model has moved.
        """
        if self._others.changed(point) or self._evidence is None:
            self._evidence = self._read(point)
        return self._evidence

    def _read(self, point) -> Evidence:
        cells = self._at_each_state(point)
        if self._one_to_one:
            return Evidence(cells, cells.T.copy())
        return Evidence(cells, self.table(cells, self.owner))

    def table(self, cells: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """Sum the cells (K, C) that each entry owns, (N, K)."""
        N, K = self._states.shape
        mine = owner >= 0
        owner = owner[mine]
        return np.stack([np.bincount(owner, cells[k, mine], minlength=N) for k in range(K)], axis=1)

    def cells_that_read(self, names: list[str], point) -> np.ndarray:
        """Whether each cell, (C,), depends on some of these entries of the point, floating-point ones."""
        rng, moved = np.random.default_rng(0), dict(point)
        for name in names:
            v = np.asarray(point[name])
            moved[name] = (v + 0.01 * (1.0 + np.abs(v)) * rng.uniform(0.5, 1.0, v.shape)).astype(v.dtype)
        return (self._at_each_state(point) != self._at_each_state(moved)).any(axis=0)

    def at_states(self, point) -> list[dict]:
        """Return points at which all entries of the field are in the same state, (K,)."""
        return [{**point, self._name: column.reshape(self._shape)} for column in self._states.T]

    def residual(self, point, evidence: Evidence, indices: np.ndarray) -> float:
        """Log density of the terms less what `evidence` says, up to a constant, at state `indices` (N,).

        `evidence` is what `read` returned for `point`.
        Zero, up to rounding that is discarded, at all configurations if the evidence is complete.

        Raises a ValueError if the evidence excludes a state that is possible: a dependence on several
        nodes that the search missed.
        """
        known = self._known_residual
        if known is not None and known[0] is evidence and np.array_equal(known[1], indices):
            return known[2]
        residual = self._residual(point, evidence, indices)
        self._known_residual = evidence, indices, residual
        return residual

    def _residual(self, point, evidence: Evidence, indices: np.ndarray) -> float:
        actual = self._cells(point, self._values(indices))
        if self._one_to_one:
            expected = evidence.cells.take(indices * len(indices) + self._numbers)
            if np.array_equal(actual, expected):  # to the last bit, as a rule
                return 0.0
        expected = self._expected(evidence.cells, indices, self.owner)
        free = self.owner < 0
        # what a term without owner says at one configuration, -inf perhaps, is no reference for others
        expected = np.where(free & ~np.isfinite(expected), 0.0, expected)
        wrong = ~_same(actual, expected)
        if not wrong.any():
            return 0.0
        if np.any(wrong & ~free & (expected == -np.inf) & (actual > -np.inf)):
            raise ValueError(
                f"a term that depends on {self._name} ({', '.join(self.terms)}) was taken to depend on one "
                "node at a time, which it does not: it is -inf where all nodes agree. Write it as "
                "pm.Potential of several nodes that is finite there, or start elsewhere with initvals"
            )
        return float((actual[wrong] - expected[wrong]).sum())

    def terms_that_exclude(self, evidence: Evidence, n: int) -> list[str]:
        """Names of the terms that are -inf or undefined at some state of entry n."""
        bad = (self.owner == n) & ~(evidence.cells > -np.inf).all(axis=0)
        return [v.name for k, (v, _) in enumerate(self._found) if bad[self._term_of_cell() == k].any()]

    def impossible_cell(self, point) -> tuple[str, int | None] | None:
        """First cell that is -inf at all configurations that are tried, and the entry it depends on.

        The cells of a term depend on one entry each in turn, if those that tell are found to. Else the
        entry is None.
        """
        rng = np.random.default_rng(0)
        N, K = self._states.shape
        bad = (self._at_each_state(point) == -np.inf).all(axis=0)
        for indices in rng.integers(K, size=(N_CHECKS, N)):
            bad &= self._cells(point, self._values(indices)) == -np.inf
        if not bad.any():
            return None
        [c, *_] = np.flatnonzero(bad)
        term = self._term_of_cell()
        [inside] = np.nonzero(term == term[c])
        position, owner = c - inside[0], self.owner[inside]
        in_turn = np.arange(len(inside)) % N
        found = owner >= 0
        is_in_turn = found.any() and np.array_equal(owner[found], in_turn[found])
        shape = self._term_shapes()[term[c]]
        place = ", ".join(map(str, np.unravel_index(position, shape)))
        name = self._found[term[c]][0].name + (f"[{place}]" if shape else "")
        return name, int(in_turn[position]) if is_in_turn else None

    def _term_shapes(self) -> list[tuple[int, ...]]:
        shapes = [_summands(t).shape for _, t in self._found]
        found = PointFunction(shapes, self._model, {"mode": CHECKED})(self._point)
        return [tuple(map(int, shape)) for shape in found]

    def _term_of_cell(self) -> np.ndarray:
        """Term of each cell, (C,)."""
        sizes = [math.prod(shape) for shape in self._term_shapes()]
        return np.repeat(np.arange(len(sizes)), sizes)

    def _values(self, indices: np.ndarray) -> np.ndarray:
        return self._states.take(indices + self._numbers * self._states.shape[1])  # faster than by pairs

    def _expected(self, cells, indices, owner) -> np.ndarray:
        """Cells (C,) at state `indices` if each depends on its owner only, -1 being none."""
        at = np.where(owner >= 0, indices[owner], 0) if len(indices) else np.zeros_like(owner)
        return cells[at, np.arange(len(owner))]

    def _find_owners(self, point) -> tuple[np.ndarray, bool]:
        """Node of each cell, (C,), -1 where there is none or several; whether there are no several.

        Nodes are told apart by the binary digits of their numbers, two states at a time.
        """
        rng = np.random.default_rng(0)
        N, K = self._states.shape
        start, (point, is_jittered) = point, self._jittered(point, rng)
        cells = self._at_each_state(point)
        owner = np.full(cells.shape[1], -1)
        numbers = np.arange(N)
        for k in range(1, K):
            open_ = ~_same(cells[k], cells[0]) & (owner < 0)
            if not open_.any():
                continue
            code = np.zeros(len(owner), dtype=np.int64)
            for b in range((N - 1).bit_length()):
                actual = self._cells(point, self._values(k * (numbers >> b & 1)))
                code |= _same(actual, cells[k]).astype(np.int64) << b
            owner = np.where(open_ & (code < N), code, owner)
        good = np.ones(len(owner), dtype=bool)
        ignored = bool(self.terms) and is_jittered and bool(np.isfinite(cells).all())
        # another discrete variable may have switched the field off at the start
        others = [np.asarray(point[name]) for name in self.parameters]
        ignored &= all(v.dtype.kind == "f" for v in others)
        ignored &= bool(_same(cells, cells[0]).all())
        for where, at_states in ((point, cells), (start, self._at_each_state(start))):
            for c in range(N_CHECKS):
                indices = rng.integers(K, size=N)
                if c % 2:  # close to a constant configuration
                    indices[rng.random(N) < 0.9] = c // 2 % K
                actual = self._cells(where, self._values(indices))
                good &= _same(actual, self._expected(at_states, indices, owner))
                ignored = ignored and bool(_same(actual, at_states[0]).all())
        self.ignores_states = ignored
        return np.where(good, owner, -1), bool(good.all())

    def _jittered(self, point, rng) -> tuple[dict, bool]:
        """Return a point near `point`: class means, say, that coincide at the start are told apart.

        And whether it is such a point: all near ones may be impossible.
        """
        if self._f is None:
            return point, False
        impossible = ~np.isfinite(self._at_each_state(point))
        for scale in JITTERS:
            near = dict(point)
            for name in self._inputs:
                v = np.asarray(point[name])
                if v.dtype.kind == "f":
                    noise = rng.uniform(-1.0, 1.0, size=v.shape)
                    near[name] = (v + scale * (1.0 + np.abs(v)) * noise).astype(v.dtype)
            if not np.any(~np.isfinite(self._at_each_state(near)) & ~impossible):
                return near, scale > 0.0
        return point, False


def _is_imputed(v, pairs: list[tuple], model: pm.Model) -> bool:
    """Whether a variable is free, no field, and in the terms of no others, of `pairs` with their terms.

    Of a normal vector the components that are observed are no others: they are evidence without it.
    """
    if v not in model.free_RVs or field_node(v) is not None:
        return False
    value, own = model.rvs_to_values[v], v.owner if is_split_normal(v) else None
    return not any(
        value in set(ancestors([t]))
        for other, t in pairs
        if other is not v and (own is None or other.owner is not own)
    )


def _summands(term):
    """Terms of a sum: a potential may be the sum of what its nodes contribute."""
    while term.owner is not None and isinstance(term.owner.op, Sum):
        term = term.owner.inputs[0]
    return term


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether log densities are equal up to rounding, elementwise."""
    with np.errstate(invalid="ignore"):
        tolerance = 1e4 * np.finfo(np.float64).eps
        close = np.abs(a - b) <= tolerance * (1.0 + np.abs(b))
        return (a == b) | (close & np.isfinite(b))
