"""Fields of unknown partition function, found in a model: their parents, data and parameters.

The data of a latent field, or of one with missing cells, are its present states.

The natural parameters of a field are its log tables, one row of length t = r K K + d K: edge tables, then
node tables. A field has one such row, shared by all observations, or one per observation; observations
with equal rows are drawn together.
"""

import numpy as np
import pymc as pm
from pymc.distributions.distribution import PartialObservedRV

from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV, field_node, free_parents
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV
from pymc_mrf.kernels.configuration_counts import count_configurations
from pymc_mrf.likelihood.auxiliary import AuxiliarySampler

POINT_MASSES: dict[type, str] = {DirichletProcessRV: "DirichletProcess", SpikeAndSlabRV: "SpikeAndSlab"}
"""Priors whose values coincide with positive probability: a random walk would never find them."""


def intractable_fields(model: pm.Model) -> dict:
    """Model variables of the fields with ``likelihood="particles"``, each with its apply node."""
    nodes = {rv: field_node(rv) for rv in model.basic_RVs}
    return {rv: n for rv, n in nodes.items() if n is not None and n.op.likelihood == "particles"}


def check_parents(rv, node, owned: list, model: pm.Model, step: str) -> None:
    """Refuse a field that a step which owns the variables `owned` cannot serve.

    Raises
    ------
    ValueError
        If the field is no pairwise field, or has a free parent that is a Dirichlet process or another of
        POINT_MASSES, is discrete, or belongs to another step.
    """
    if not isinstance(node.op, MarkovRandomFieldRV):
        raise ValueError(
            f"{step} samples the parameters of pairwise fields, but {rv.name} is a {node.op.name}; "
            'declare it with likelihood="exact" or "pseudo"'
        )
    for parent in free_parents(node, model):
        if type(parent.owner.op) in POINT_MASSES:
            raise ValueError(
                f"{step} does not sample {parent.name}, a {POINT_MASSES[type(parent.owner.op)]} that "
                f"parametrises {rv.name}: give that field no other random parameters, so that the step "
                f'for {parent.name} takes it, or declare it with likelihood="exact"'
            )
        if parent.dtype.startswith(("int", "uint", "bool")):
            raise ValueError(
                f"{step} samples continuous variables, but {rv.name} depends on the discrete "
                f'{parent.name}; declare the field with likelihood="exact" or "pseudo", or '
                f"make {parent.name} a constant"
            )
        if parent not in owned:
            raise ValueError(
                f"{step} must own all free variables that reach {rv.name}, but {parent.name} is left "
                f"to another step: pass {parent.name} to the same {step}"
            )


class IntractableField:
    """Data and symbolic parameters of one field.

    Parameters
    ----------
    rv : TensorVariable
        Variable of `model`.
    node : Apply
        Its field.
    model : pymc.Model
    method : str
    n_sweeps : int
        Of the `AuxiliarySampler`.

    Attributes
    ----------
    name : str
    x : (n, d) int8 array
        The observations; of a latent field at first random states, then what `follow` found.
    parameters : list of TensorVariable
        Symbolic, as users wrote them.
    units : list of (m,) int64 arrays
        Observations that share their parameters.
    """

    def __init__(self, rv, node, model: pm.Model, method: str, n_sweeps: int) -> None:
        op = node.op
        self.name: str = rv.name
        self.graph = op.graph
        self.family = op.family
        self.parameters = op.dist_params(node)
        self._op = op
        self._method = method, n_sweeps
        self._free: tuple[str, np.ndarray] | None = None
        [free] = [v for v in model.free_RVs if field_node(v) is node] or [None]
        if free is None:
            value = model.rvs_to_values[rv]
            data = np.asarray(value.get_value() if hasattr(value, "get_value") else value.eval())
        else:
            data = self._latent_data(free, node, model)
        self._batch = data.shape[:-1]
        rows = data.reshape(-1, self.graph.n_nodes)
        self.x = self.family.encode(rows, n_nodes=self.graph.n_nodes, name=self.name)
        self._set_units([np.arange(len(self.x))])

    def _latent_data(self, free, node, model: pm.Model) -> np.ndarray:
        """Observed cells, and random states in the free ones."""
        name = model.rvs_to_values[free].name
        start = model.initial_point()[name]
        # far from ordered: a pseudo-likelihood of one repeated state has no maximum
        random = np.random.default_rng(0).choice(self.family.states, size=start.shape)
        if not isinstance(free.owner.op, PartialObservedRV):
            self._free = name, np.ones(start.shape, dtype=bool).reshape(-1, self.graph.n_nodes)
            return random
        mask = free.owner.inputs[1]
        mask = np.asarray(mask.eval() if mask.owner else mask.data)
        self._free = name, mask.reshape(-1, self.graph.n_nodes)
        [known] = (v for v in model.observed_RVs if field_node(v) is node)
        data = np.empty(mask.shape, dtype=np.int64)
        data[~mask] = model.rvs_to_values[known].eval()
        data[mask] = random
        return data

    def follow(self, point: dict[str, np.ndarray]) -> None:
        """Take the present states of a latent field for data."""
        if self._free is None:
            return
        name, free = self._free
        value = np.asarray(point[name]).reshape(1, -1)
        self.x[free] = self.family.encode(value, n_nodes=value.size, name=self.name)[0]
        self._unit_sums = [self.statistics(self.x[unit]) for unit in self.units]

    def _sampler(self, n: int) -> AuxiliarySampler:
        method, n_sweeps = self._method
        return AuxiliarySampler(self.graph, self.family.n_states, n, method=method, n_sweeps=n_sweeps)

    def _set_units(self, units: list[np.ndarray]) -> None:
        self.units = units
        samplers = {m: self._sampler(m) for m in {len(unit) for unit in units}}
        self._unit_samplers = [samplers[len(unit)] for unit in units]
        self._unit_sums = [self.statistics(self.x[unit]) for unit in units]

    @property
    def sampler(self) -> AuxiliarySampler:
        """An auxiliary sampler of the field; all are of one kind."""
        return self._unit_samplers[0]

    def natural(self, parameters: list[np.ndarray]) -> np.ndarray:
        """Natural parameters (1 or n, t) from the values of `parameters`."""
        cores = [p.shape[p.ndim - k :] for p, k in zip(parameters, self._op.ndims_params, strict=True)]
        shared = all(p.size == np.prod(core) for p, core in zip(parameters, cores, strict=True))
        n = 1 if shared else len(self.x)
        batch = (1,) if shared else self._batch
        rows = [
            np.broadcast_to(p.reshape(core) if shared else p, (*batch, *core)).reshape(n, *core)
            for p, core in zip(parameters, cores, strict=True)
        ]
        tables = zip(self._op.log_tables(rows), self._shapes, strict=True)
        flat = [np.broadcast_to(table, (n, *shape)).reshape(n, -1) for table, shape in tables]
        return np.concatenate(flat, axis=1)

    @property
    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        K = self.family.n_states
        return (self.graph.n_edges, K, K), (self.graph.n_nodes, K)

    def tables(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Edge tables (r, K, K) and node tables (d, K) in one row (t,) of natural parameters."""
        edges, nodes = self._shapes
        end = int(np.prod(edges))
        return row[:end].reshape(edges), row[end:].reshape(nodes)

    def statistics(self, x: np.ndarray) -> np.ndarray:
        """Count over the rows of `x` what the natural parameters multiply, (t,)."""
        counts = np.empty(sum(int(np.prod(shape)) for shape in self._shapes))
        count_configurations(x, self.graph.edges, *self.tables(counts))
        return counts

    def split(self, natural: np.ndarray) -> None:
        """Take observations with equal rows of `natural` for units."""
        if len(natural) > 1:
            _, labels = np.unique(natural, axis=0, return_inverse=True)
            labels = labels.reshape(-1)
            units = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
            self._set_units(sorted(units, key=lambda unit: unit[0]))

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
        z = sampler.draw(*self.tables(new), rng, start=self.x[rows])
        return float((new - old) @ (sums - self.statistics(z)))
