"""`GroupGibbs`: groups of edge parameters under any likelihood that has an engine of them.

The steps here sweep labels and make Hamiltonian moves of values, of all fields at once.
"""

from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.distributions.chain_record import is_kept
from pymc_mrf.distributions.likelihood import EXACT, registered
from pymc_mrf.kernels.groups import group_labels
from pymc_mrf.kernels.groups.edge_terms import allocate_level_terms, allocate_terms
from pymc_mrf.kernels.priors.series import BaseDensity, add_log_densities
from pymc_mrf.likelihood.exact.likelihood import Exact
from pymc_mrf.steps.common.statistics import Statistic, Statistics, acceptance, sample_statistics
from pymc_mrf.steps.groups.group_step import GroupStep, precision_of
from pymc_mrf.steps.groups.group_values import GroupValues, NodeVariables

LABEL_SWEEPS = 2  # per move of the group values, which costs as much


class EngineGibbs(GroupStep):
    """Base of the group samplers over engines, one for each field: those of the likelihoods of the fields."""

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
        arguments = []
        for field, reader in zip(self._fields, self._readers, strict=True):
            node_tables = field.family.node_tables(reader(self._point))
            arguments.append((field.x, field.graph, field.family, node_tables, field.entries, r))
        self._engines = self._make_engines(arguments)
        self.n_rounds, self.n_tuning_rounds = self._engines[0].n_rounds
        n_terms = sum(engine.n_terms for engine in self._engines)
        binary = self._engines[0].is_binary
        self._terms = (
            allocate_terms(n_terms)
            if binary
            else allocate_level_terms(n_terms, self._engines[0].n_levels)
        )
        self.values = GroupValues(self._engines)
        self._nodes = NodeVariables([], self._fields, self._model)
        self.node_precision = np.zeros(0)
        self._at = self._point
        self._prepare()
        self._warm_up()

    def _prepare(self) -> None:
        """Do what is left to do before the first step; nothing by default."""

    def _make_engines(self, arguments: list[tuple]) -> list[Any]:
        """Make the `GroupEngine` of each field, by its arguments."""
        return self._fields[0].likelihood.group_engines(self._fields, arguments)

    def _read_point(self, point) -> None:
        self._at = point
        for engine, reader in zip(self._engines, self._readers, strict=True):
            engine.set_node_tables(engine.family.node_tables(reader(point)))

    def _read_data(self, point) -> None:
        for engine, field in zip(self._engines, self._fields, strict=True):
            if field.cells.changes:
                engine.set_data(field.present(point))

    def _begin(self, eta, base):
        self.values.begin()
        self._learn(eta)

    def _start(self) -> np.ndarray:
        """Find parameters (r,) near the data: where engines say, or for each edge as if it were alone."""
        if (places := [engine.place() for engine in self._engines])[0] is not None:
            return self._mean_of_engines(places)
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
        v = nodes.coordinates(point)
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
            self._read_point({**point, **nodes.coordinates.values(x[K:])})
        return x[:K], rate

    def _new_point(self, point, theta):
        return {**self._at, self._name: theta}


class GroupGibbs(EngineGibbs):
    """Grouped edge parameters of fields, under any likelihood but ``"particles"``.

    Leaves invariant: the posterior, exactly, under ``likelihood="exact"`` and of a `KineticMRF` without
    links, up to double precision, in which values of theta above 1 - 2e-16 are one; the distribution
    proportional to prior times pseudo-likelihood (Besag, 1975), exactly, under ``likelihood="pseudo"``, but
    with missing cells an approximation, as `TreeGibbs` draws them from the field itself; that proportional to
    prior times Monte Carlo likelihood (Geyer & Thompson, 1992), exactly, under ``likelihood="monte-carlo"``.

    In each step all labels are redrawn in turn, twice, from eq. (4) of Liu & Page (2013) with auxiliary
    values in place of its integral (`pymc_mrf.kernels.groups.group_labels`), the likelihood of each edge from
    its marginal on the junction tree (identity A1), from the rows, or from the points of the sample; then all
    group values by a Hamiltonian move given the labels. By the junction tree a step has eight such rounds,
    two while tuning; on forests without node terms likelihoods are in closed form, and one round is enough.
    Cost grows with the rows under a pseudo-likelihood and of fields in time, and with the states of a row or
    the points of a sample that are listed.

    Parameters
    ----------
    vars : list of variables
        A `DirichletProcess` that is the edge parameter of an observed `AgreementMRF`, `Ising`,
        `BoltzmannMachine`, `OrdinalMRF`, `KineticMRF` or `Potts` (one coupling per edge), or of several of
        them; entries of it may be picked by constant indices. Node parameters may have any prior; other
        steps, such as NUTS, move them. Cells of the data may be missing; `TreeGibbs`, or `SeriesGibbs` of a
        `KineticMRF`, draws them.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError
        If the variable feeds another kind of field or anything else, node parameters differ between rows, or
        the junction tree is too wide.

    Notes
    -----
    Sampler statistics: ``group_gibbs_n_groups``, ``group_gibbs_n_new`` (groups opened in the step) and
    ``group_gibbs_acceptance`` (acceptance probability of the move of the group values). Under
    ``likelihood="monte-carlo"``, and 0, 1, 0 and 0 elsewhere: ``group_gibbs_noise`` (standard deviation of
    the error of the log-likelihood ratio between two values of an entry, or of a group, one standard
    deviation apart, root mean square over either, the larger of both; measured at about 20 draws from halves
    of the sample), ``group_gibbs_ess`` (effective size of the weights of the points, relative to their
    number), ``group_gibbs_error`` (half the difference of the log-likelihoods of all rows, relative to the
    reference, by the two halves of the sample) and ``group_gibbs_distance`` (of the draw from the reference,
    root mean square over all directions, in standard deviations that the rows leave of parameters). A warning
    at the end of a chain says if the noise, root mean square over the draws, was above 0.5, the distance
    above 2.2, or if at a draw the weights were worth less than a twentieth of the points.

    References
    ----------
    Liu & Page (2013), eq. (4); Neal (2000), Algorithm 8; Neal (2011); Geyer & Thompson (1992); Geyer (1994).
    """

    name = "group_gibbs"
    invariant: ClassVar = {kind: kind.invariant for kind in registered() if kind.groups}
    default_for = tuple(invariant)
    remembers = ("record",)
    statistics: Statistics = sample_statistics(
        "simulate more: the tolerance of the warning", 'use likelihood="particles": rows are few'
    )

    def _forget(self) -> None:
        super()._forget()
        self.record = self._fields[0].likelihood.record()

    def _draw_values(self, labels, eta, base):
        eta, stats = super()._draw_values(labels, eta, base)
        goodness = [engine.goodness(eta[labels]) for engine in self._engines]
        shares, errors, distances = zip(*goodness, strict=True)
        share, distance, record = min(shares), max(distances), self.record
        if not self.tune:
            if is_kept(self.count):
                record.measured_noise = max(engine.noise(labels, eta) for engine in self._engines)
            record.add(record.measured_noise, share, distance)
        stats |= {
            "group_gibbs_noise": record.measured_noise,
            "group_gibbs_ess": share,
            "group_gibbs_error": sum(errors),
            "group_gibbs_distance": distance,
        }
        return eta, stats

    def _warn_at_end(self) -> list[str]:
        messages = super()._warn_at_end()
        if self.record.squares:
            messages += self._fields[0].likelihood.against_chain(self._name, self._fields, self.record)
        return messages


class ExactGibbs(GroupGibbs):
    """`GroupGibbs` that takes fields under ``likelihood="exact"`` and refuses all others.

    Leaves invariant: the posterior, exactly, as `GroupGibbs` does.
    """

    name = "exact_gibbs"
    invariant: ClassVar = {Exact: EXACT}
    default_for = ()
