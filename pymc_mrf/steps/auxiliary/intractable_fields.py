"""Fields of unknown partition function in a model: their data, parameters, auxiliary data, and parents.

The data of a latent field, or of one with missing cells, are its present states.

The natural parameters of a field are its log tables in one row of length t: r K K + d K numbers of edge
and node tables, or the tables of all factors. What they multiply are counts of their cells. A field has
one such row, shared by all observations, or one per observation; observations with equal rows are drawn
together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pymc as pm

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.factor_graph_rv import FactorGraphRV
from pymc_mrf.distributions.parents import field_node, free_parents
from pymc_mrf.distributions.remedies import advice_of
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.graph.factor_graph import factor_links
from pymc_mrf.kernels.estimates import factor_pseudo_likelihood, pseudo_likelihood
from pymc_mrf.kernels.estimates.local_search import CHANGES, make_possible
from pymc_mrf.kernels.factor_cells import count_cells
from pymc_mrf.kernels.simulation.pair_counts import count_configurations
from pymc_mrf.likelihood.particles.auxiliary import AuxiliarySampler, FactorAuxiliarySampler
from pymc_mrf.parts import Parts
from pymc_mrf.steps.common.expressions import HeldData
from pymc_mrf.steps.common.model_field import ModelField

POINT_MASSES: dict[type, str] = {DirichletProcessRV: "DirichletProcess", SpikeAndSlabRV: "SpikeAndSlab"}
"""Priors whose values coincide with positive probability: a random walk would never find them."""

PARENT_REMEDIES: dict[type, str] = {
    DirichletProcessRV: "give that field no other random parameters, so that the step for {0} takes it",
    SpikeAndSlabRV: "pass {0} and the other random parameters of that field to one pymc_mrf.steps.EdgeGibbs, "
    "which a frozen model does not find by itself",
}


def intractable_field(
    rv, node, model: pm.Model, step: str, draws: str, n_sweeps: int
) -> "IntractableField":
    """Make the `IntractableField` of a model variable: `node` is the apply node of the field."""
    if isinstance(node.op, FactorGraphRV):
        return IntractableFactorGraph(rv, node, model, step, draws, n_sweeps)
    return IntractablePairwiseField(rv, node, model, step, draws, n_sweeps)


class IntractableField(ABC):
    """Data and symbolic parameters of one field.

    Subclasses say how its log tables are laid out: their `_shapes`, and the kernels that take them with the
    arrays of the graph, which they supply before they call the constructor.

    `rv`: variable of `model`. `node`: its field. `step`: name of the step that asks, for messages.
    `n_sweeps`: of the auxiliary sampler.

    Attributes: `x` (n, d) int8: the observations; of a latent field at first random states, then what
    `follow` found. `parameters`: symbolic, as users wrote them. `units` list of (m,) int64: observations
    that share their parameters. `held`: to be asked at the start of every chain whether data and
    covariates are still those of the model.
    """

    _pseudo: ModuleType
    _count: ClassVar[Callable[..., None]]
    _shapes: tuple[tuple[int, ...], ...]
    _arrays: tuple[Any, ...]  # of the graph, for `_pseudo`
    _cells: Any  # for `_count`: where the cells of a row are

    def __init__(self, rv, node, model: pm.Model, step: str, draws: str, n_sweeps: int) -> None:
        op = node.op
        self.name: str = rv.name
        self.graph = op.graph
        self.parameters = op.dist_params(node)
        self._op = op
        self._tables = Parts(self._shapes)
        self._auxiliary = {"draws": draws, "n_sweeps": n_sweeps, "name": self.name}
        self._field = ModelField(node, model)
        self.x = self._field.known
        if self.is_latent:
            # far from ordered: a pseudo-likelihood of one repeated state has no maximum
            random = np.random.default_rng(0).integers(
                self._field.cards, size=self.x.shape, dtype=np.int8
            )
            self.x = np.where(self._field.free, random, self.x)
        self.held = HeldData(self.name, step, [model.rvs_to_values[rv], *self.parameters])
        self._set_units([np.arange(len(self.x))])

    @property
    def is_latent(self) -> bool:
        return self._field.is_free

    @property
    def is_blank(self) -> bool:
        """Whether all free cells are in one state, as before the first step of a chain."""
        states = self.x[self._field.free]
        return self.is_latent and bool((states == states[0]).all())

    def follow(self, point: dict[str, np.ndarray]) -> None:
        """Take the present states of a latent field for data."""
        if not self.is_latent:
            return
        self.x = self._field.states(point)
        self._unit_sums = [self.statistics(self.x[unit]) for unit in self.units]

    @abstractmethod
    def _sampler(self, n: int) -> Any:
        """Make a sampler of auxiliary data sets of n rows, which takes the `tables` one by one."""

    @abstractmethod
    def is_valid(self, natural: np.ndarray) -> bool:
        """Whether rows of natural parameters are in their domain."""

    def statistics(self, x: np.ndarray) -> np.ndarray:
        """Count over the rows of `x` what the natural parameters multiply, (t,)."""
        counts = np.empty(self._tables.size)
        self._count(x, self._cells, *self.tables(counts))
        return counts

    def log_pseudo_likelihood(self, unit: np.ndarray, row: np.ndarray) -> float:
        """Log pseudo-likelihood of the observations `unit` under the natural parameters `row` (t,)."""
        out = np.empty(len(unit))
        self._pseudo.log_pseudo_likelihood(self.x[unit], *self.tables(row), *self._arrays, out)
        return float(out.sum())

    def pseudo_gradient(self, unit: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Gradient (t,) of `log_pseudo_likelihood` by `row`."""
        gradient, weights = np.empty_like(row), np.ones(len(unit))
        self._pseudo.log_pseudo_likelihood_gradient(
            self.x[unit], *self.tables(row), *self._arrays, weights, *self.tables(gradient)
        )
        return gradient

    def _set_units(self, units: list[np.ndarray]) -> None:
        self.units = units
        samplers = {m: self._sampler(m) for m in {len(unit) for unit in units}}
        self._unit_samplers = [samplers[len(unit)] for unit in units]
        self._unit_sums = [self.statistics(self.x[unit]) for unit in units]

    @property
    def sampler(self) -> Any:
        """An auxiliary sampler of the field; all are of one kind."""
        return self._unit_samplers[0]

    def natural(self, parameters: list[np.ndarray]) -> np.ndarray:
        """Natural parameters (1 or n, t) from the values of `parameters`."""
        tables = self._field.tables(parameters)
        n = max(map(len, tables))
        flat = [
            np.broadcast_to(table, (n, *shape)).reshape(n, -1)
            for table, shape in zip(tables, self._shapes, strict=True)
        ]
        return np.concatenate(flat, axis=1)

    def tables(self, row: np.ndarray) -> list[np.ndarray]:
        """Log tables in one row (t,) of natural parameters: views."""
        return self._tables.of(row)

    def split(self, natural: np.ndarray) -> None:
        """Take observations with equal rows of `natural` for units."""
        if len(natural) > 1:
            _, labels = np.unique(natural, axis=0, return_inverse=True)
            labels = labels.reshape(-1)
            units = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
            self._set_units(sorted(units, key=lambda unit: unit[0]))

    def is_possible(self, natural: np.ndarray) -> bool:
        """Whether the observations have positive probability under rows of natural parameters."""
        for unit, sums in zip(self.units, self._unit_sums, strict=True):
            rows = natural[unit] if len(natural) > 1 else natural
            if np.all(rows == rows[0]):
                potentials = [_potential(rows[0], sums)]
            else:
                each = (self.statistics(self.x[[i]]) for i in unit)
                potentials = [_potential(row, counts) for row, counts in zip(rows, each, strict=True)]
            if -np.inf in potentials:
                return False
        return True

    def log_auxiliary_ratio(self, old: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> float:
        """Log of q_new(X) q_old(Z) / (q_old(X) q_new(Z)), Z ~ p_new, over all units that change.

        q is the unnormalised probability of the field; `old` and `new` are rows of natural parameters.
        Gibbs chains behind Z start at the observations.
        """
        total = 0.0
        for unit, sampler, sums in zip(self.units, self._unit_samplers, self._unit_sums, strict=True):
            first = 0 if len(new) == 1 else unit[0]
            if len(new) > 1 and not (
                np.array_equal(new[unit], np.broadcast_to(new[first], new[unit].shape))
                and np.array_equal(old[unit], np.broadcast_to(old[first], old[unit].shape))
            ):
                # parameters differ inside the unit, which they did not where units were made
                pairs = np.concatenate([old[unit], new[unit]], axis=1)
                _, labels = np.unique(pairs, axis=0, return_inverse=True)
                for k in range(labels.max() + 1):
                    part = unit[labels.reshape(-1) == k]
                    sampler, sums = self._sampler(len(part)), self.statistics(self.x[part])
                    total += self._log_ratio(old[part[0]], new[part[0]], part, sampler, sums, rng)
            else:
                total += self._log_ratio(old[first], new[first], unit, sampler, sums, rng)
        return total

    def _log_ratio(self, old, new, rows, sampler, sums, rng) -> float:
        if np.array_equal(old, new):
            return 0.0
        with np.errstate(invalid="ignore"):
            change = new - old
        if np.isfinite(change).all():
            z = sampler.draw(*self.tables(new), rng, start=self.x[rows])
            return float(change @ (sums - self.statistics(z)))
        if _potential(new, sums) == -np.inf:  # Gibbs chains could not start there either
            return -np.inf
        if _potential(old, sums) == -np.inf:  # an impossible start is left at once
            return np.inf
        counts = self.statistics(sampler.draw(*self.tables(new), rng, start=self.x[rows]))
        of_data = _potential(new, sums) - _potential(old, sums)
        return of_data + _potential(old, counts) - _potential(new, counts)

    def prolonged_statistics(
        self, u: int, row: np.ndarray, longer: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Statistics of auxiliary data of unit u, and of the same chains `longer` times as long.

        Then, which nodes (d,) differ from the observations in any of the latter.
        None if the observations, from which the chains start, are impossible under `row` (t,).
        """
        if _potential(row, self._unit_sums[u]) == -np.inf:
            return None
        sampler, tables = self._unit_samplers[u], self.tables(row)
        z = sampler.draw(*tables, rng, start=self.x[self.units[u]])
        short = self.statistics(z)
        for _ in range(longer - 1):
            z = sampler.draw(*tables, rng, start=z)
        return short, self.statistics(z), (z != self.x[self.units[u]]).any(axis=0)


def _potential(row: np.ndarray, counts: np.ndarray) -> float:
    """Sum of log tables over the cells that occur; others may be -inf."""
    present = counts > 0
    return float(row[present] @ counts[present])


class IntractablePairwiseField(IntractableField):
    """`Ising`, `Potts`, `AgreementMRF` or `BoltzmannMachine`."""

    _pseudo = pseudo_likelihood
    _count = staticmethod(count_configurations)

    def __init__(self, rv, node, model, step, draws, n_sweeps) -> None:
        graph, K = node.op.graph, node.op.family.n_states
        self._arrays, self._cells = (graph.arrays,), graph.edges
        self._shapes = (graph.n_edges, K, K), (graph.n_nodes, K)
        possible = node.op.family.possible(graph.n_nodes).ravel()
        self._finite = np.r_[np.ones(graph.n_edges * K * K, dtype=bool), possible]
        super().__init__(rv, node, model, step, draws, n_sweeps)

    def _sampler(self, n):
        n_states = self._op.family.n_states
        return AuxiliarySampler(self.graph, n_states, n, **self._auxiliary)

    def is_valid(self, natural):
        """Whether all are finite where a state is possible."""
        return bool((np.isfinite(natural) >= self._finite).all())


class IntractableFactorGraph(IntractableField):
    """`FactorGraphMRF`; tables may be -inf where a combination is impossible."""

    _pseudo = factor_pseudo_likelihood
    _count = staticmethod(count_cells)

    def __init__(self, rv, node, *args) -> None:
        self._links = self._cells = factor_links(node.op.graph)
        self._arrays = self._links, np.ones(node.op.graph.n_variables)
        self._shapes = ((int(self._links.table_ptr[-1]),),)
        super().__init__(rv, node, *args)

    def _sampler(self, n):
        return FactorAuxiliarySampler(self.graph, n, **self._auxiliary)

    def is_valid(self, natural):
        """Whether none is NaN or +inf."""
        return bool(np.all(natural < np.inf))

    def split(self, natural):
        """Make states of a latent field possible as well, before they serve to fit anything."""
        if self.is_latent:
            rng = np.random.default_rng(0)
            n_changes = CHANGES * self.graph.n_variables
            for c, free in enumerate(self._field.free):
                row = natural[c if len(natural) > 1 else 0]
                make_possible(self.x[c], free, row, self._links, n_changes, rng)
        super().split(natural)


def intractable_fields(model: pm.Model) -> dict:
    """Find the fields with ``likelihood="particles"``: their variables, each with its apply node."""
    nodes = {rv: field_node(rv) for rv in model.basic_RVs}
    return {rv: n for rv, n in nodes.items() if n is not None and n.op.likelihood.is_intractable}


def parents_of_intractable_fields(model: pm.Model) -> dict:
    """Find the free variables behind the parameters of these fields, with the node of one field each."""
    return {p: node for node in intractable_fields(model).values() for p in free_parents(node, model)}


def check_parents(rv, node, owned: list, model: pm.Model, step: str) -> None:
    """Refuse a field that a step which owns the variables `owned` cannot serve.

    Raises a ValueError if the field has a free parent that is a Dirichlet process or another of
    POINT_MASSES, is discrete, or belongs to another step.
    """
    for parent in free_parents(node, model):
        kind = type(parent.owner.op)
        if kind in POINT_MASSES:
            verb = "declare the field with"
            declared = advice_of(node, model, verb, lambda likelihood: not likelihood.is_intractable)
            raise ValueError(
                f"{step} does not sample {parent.name}, a {POINT_MASSES[kind]} that parametrises {rv.name}: "
                f"{PARENT_REMEDIES[kind].format(parent.name)}; or {declared}"
            )
        if parent.dtype.startswith(("int", "uint", "bool")):
            declared = advice_of(node, model, "declare the field with")
            raise ValueError(
                f"{step} samples continuous variables, but {rv.name} depends on the discrete "
                f"{parent.name}; {declared}, or "
                f"make {parent.name} a constant"
            )
        if parent not in owned:
            raise ValueError(
                f"{step} must own all free variables that reach {rv.name}, but {parent.name} is left "
                f"to another step: pass {parent.name} to the same {step}"
            )


def served_fields(
    rvs: list, model: pm.Model, step: str, draws: str, n_sweeps: int
) -> list[IntractableField]:
    """Find the intractable fields whose parameters are computed from the free variables `rvs`.

    `draws` and `n_sweeps` are those of the auxiliary samplers.

    Raises
    ------
    ValueError
        If a variable reaches no such field, or a field cannot be served: see `check_parents`.
    """
    fields: list[IntractableField] = []
    reached: set = set()
    seen = set()
    for rv, node in intractable_fields(model).items():
        parents = set(free_parents(node, model))
        if parents.isdisjoint(rvs) or node in seen:  # missing cells make two variables of a field
            continue
        seen.add(node)
        check_parents(rv, node, rvs, model, step)
        reached |= parents
        fields.append(intractable_field(rv, node, model, step, draws, n_sweeps))
    for rv in rvs:
        if rv not in reached:
            raise ValueError(
                f"{step} samples the parameters of fields with "
                f'likelihood="particles", but {rv.name} reaches none: leave it to another step'
            )
    return fields
