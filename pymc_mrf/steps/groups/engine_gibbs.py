"""Base of the group samplers that ask a likelihood engine: label sweeps and Hamiltonian moves of values."""

from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.edge_terms import allocate_level_terms, allocate_terms
from pymc_mrf.kernels.priors.series import BaseDensity, add_log_densities
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.common.statistics import Statistic, Statistics, acceptance
from pymc_mrf.steps.groups.base_measure import precision_of
from pymc_mrf.steps.groups.group_gibbs import GroupGibbs
from pymc_mrf.steps.groups.group_values import GroupValues
from pymc_mrf.steps.groups.node_variables import NodeVariables, NoNodeVariables

LABEL_SWEEPS = 2  # per move of the group values, which costs as much


class EngineGibbs(GroupGibbs):
    """Base of the group samplers over likelihood engines, one for each field.

    Engines are those of the likelihoods of the fields, unless a subclass has others in `_make_engine`.
    """

    statistics: Statistics = (
        Statistic(
            "acceptance",
            "acceptance of values",
            acceptance("tune longer: the step size has not settled", 0.4),
        ),
    )
    fills_missing_cells = True
    n_label_sweeps = LABEL_SWEEPS
    remembers: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, vars, **kwargs) -> None:
        super().__init__(vars, **kwargs)
        r = len(self._point[self._name])
        self._readers = [field.node_reader(self._compile_kwargs) for field in self._fields]
        self._engines: list[Any] = []  # of GroupEngine
        for field, reader in zip(self._fields, self._readers, strict=True):
            node_tables = field.family.node_tables(reader(self._point))
            arguments = field.x, field.graph, field.family, node_tables, field.entries, r
            self._engines.append(self._make_engine(field, *arguments))
        n_terms = sum(engine.n_terms for engine in self._engines)
        binary = self._engines[0].is_binary
        self._terms = (
            allocate_terms(n_terms)
            if binary
            else allocate_level_terms(n_terms, self._engines[0].n_levels)
        )
        self.values = GroupValues(self._engines)
        self._nodes: NodeVariables | NoNodeVariables = NoNodeVariables(len(self._engines))
        self.node_precision = np.zeros(0)
        self._at = self._point
        self._prepare()
        self._warm_up()

    def _prepare(self) -> None:
        """Do what is left to do before the first step; nothing by default."""

    def _make_engine(self, field: ObservedField, *arguments) -> Any:
        """Make the engine of a field from the arguments of `GroupEngine`."""
        return field.likelihood.group_engine(*arguments)

    def _read_point(self, point) -> None:
        self._at = point
        for engine, reader in zip(self._engines, self._readers, strict=True):
            engine.set_node_tables(engine.family.node_tables(reader(point)))

    def _read_data(self, point) -> None:
        for engine, field in zip(self._engines, self._fields, strict=True):
            if field.changes:
                engine.set_data(field.present(point))

    def _begin(self, eta, base):
        self.values.begin()
        self._learn(eta)

    def _start(self) -> np.ndarray:
        """Find parameters (r,) near the data, for each edge as if it stood alone."""
        if not self._engines[0].is_binary:
            return self._mean_of_engines([engine.alone() for engine in self._engines])
        s, n = np.zeros((2, len(self._point[self._name])))
        for engine in self._engines:
            s[engine.entries] += engine.s
            n[engine.entries] += engine.n
        mean = (s + 0.5) / (n + 1.0)
        return np.log(mean) - np.log1p(-mean)

    def _mean_of_engines(self, found: list[np.ndarray]) -> np.ndarray:
        """Mean of parameters (r,), zero where an engine has no such edge, over the engines that have it."""
        covered = sum(engine.edge_of >= 0 for engine in self._engines)
        return np.sum(found, axis=0) / np.maximum(covered, 1)

    def _sweep_labels(self, groups, base):
        total, chunk, r = 0, self._engines[0].chunk, len(groups.labels)
        eta, order = groups.values[groups.labels], self._engines[0].order
        views = tuple(engine.view(eta) for engine in self._engines)
        for _ in range(self.n_label_sweeps):
            place = 0
            while place < r:
                here = order[place : min(place - place % chunk + chunk, r)]
                n_visited, n_new = group_labels.sweep_labels(
                    groups,
                    np.log(base.alpha),
                    self._prior.density(base),
                    views,
                    here,
                    self._terms,
                    self.rng,
                )
                place += n_visited
                total += n_new
                if place < r:
                    self._renew()
        return total

    def _renew(self) -> None:
        """Renew the views in the middle of a sweep."""

    def _learn(self, eta: np.ndarray) -> None:
        """Learn the covariance of the field's statistics at `eta` (r,)."""
        for engine in self._engines:
            engine.learn(eta, self.rng)

    def _draw_values(self, labels, eta, base):
        if self.values.learns(self.tune):
            self._learn(eta[labels])
        eta, rate = self._move_values(labels, eta, self._prior.density(base))
        return eta, {"group_gibbs_acceptance": rate}

    def _move_values(
        self, labels: np.ndarray, eta: np.ndarray, density: BaseDensity
    ) -> tuple[np.ndarray, float]:
        """Move the group values `eta` (K,) given labels, and the node variables; the acceptance.

        `density` is that of the base.
        """
        nodes, K, point = self._nodes, len(eta), self._at
        v = nodes.pack(point)
        likelihoods = [
            engine.grouped(labels, np.concatenate([eta, node]))
            for engine, node in zip(self._engines, nodes.evaluate(v, point)[1], strict=True)
        ]
        metric = sum(engine.information(labels, K) for engine in self._engines)
        diagonal = np.einsum("kk->k", metric)  # a view
        diagonal[:K] += precision_of(density)
        diagonal[K:] += self.node_precision

        def log_posterior(x: np.ndarray) -> tuple[float, np.ndarray]:
            slope = np.zeros(len(x))
            value = add_log_densities(density.series, x[:K], slope[:K])
            log_density, node_parameters = nodes.evaluate(x[K:], point)
            value += log_density
            if not isfinite(value):
                return -inf, slope
            cotangents = []
            for likelihood, node in zip(likelihoods, node_parameters, strict=True):
                log_likelihood, gradient = likelihood(np.concatenate([x[:K], node]))
                value += log_likelihood
                slope[:K] += gradient[:K]
                cotangents.append(gradient[K:])
            slope[K:] = nodes.slope(x[K:], point, cotangents)
            return value, slope

        x, rate = self.values.move(log_posterior, np.concatenate([eta, v]), metric, self.tune, self.rng)
        if nodes.size:
            self._read_point(nodes.unpack(x[K:], point))
        return x[:K], rate

    def _new_point(self, point, theta):
        return {**self._at, self._name: theta}
