"""Pseudo-likelihoods with the mode and the curvature of the likelihood (Bouranis, Friel & Maire, 2017).

The log pseudo-likelihood lpl is evaluated at other parameters, ``lpl(z_pl + W (z - z_ml))``: its maximum z_pl
comes to lie at that of the likelihood, z_ml, and ``W H W = n I``, where H is the negative Hessian of lpl at
z_pl and I the Fisher information of a row at z_ml. Neither needs a partition function: both are moments of
the statistics, of which the field is simulated (Geyer, 1991).

Without W the pseudo-likelihood is too sure of itself, or not sure enough; of one lattice near its critical
coupling its maximum is far from that of the likelihood. To scale it by its own sandwich about its own maximum
(Ribatet, Cooley & Davison, 2012) gives much the same with many rows, but helps little with one lattice.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.estimation.problem import PARAMETER_MAX, FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.junction_tree import field_tree, is_tractable
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.pseudo_likelihood import Statistics, pseudo_scores_and_information
from pymc_mrf.kernels.simulation.pcd import tied_statistics
from pymc_mrf.likelihood.simulated.auxiliary import AuxiliarySampler

BATCH = 1000  # rows simulated at once, or BATCH_PER_PARAMETER times the parameters if these are more
BATCH_PER_PARAMETER = 4
ROWS_PER_PARAMETER = 20  # behind a covariance, whose inverse is then 5 % too large
N_SWEEPS = 200  # between batches, where draws are not exact
TOLERANCE = 0.1  # noise of the mode in posterior standard deviations: widens them by 1/2 %
MAX_STEPS = 100
NEGLIGIBLE = 1e-9  # of a singular value, relative to the largest
TINY = np.finfo(float).tiny
N_CHECKED = 100  # further points that must lie in what was found
EXACT, ROUNDING = 1e-6, 1e-12  # relative to a natural parameter, and to the largest


@dataclass(frozen=True)
class AffineProblem(FitProblem):
    """Natural parameters that are an affine function of k free ones: ``offset + (basis @ z)[ties]``.

    Natural parameters are the r of the edges, then the d q numbers of the nodes, flat.

    Attributes
    ----------
    offset : (r + d q,) array
    ties : (r + d q,) int64 array
        In 0..p-1.
    basis : (p, k) array
        Orthonormal columns; zero in the row of what does not vary.
    """

    offset: np.ndarray
    ties: np.ndarray
    basis: np.ndarray

    @classmethod
    def spanned(
        cls,
        x: np.ndarray,
        graph: PairwiseGraph,
        family: Family,
        evaluate: Callable[[int], np.ndarray],
    ) -> "AffineProblem":
        """Find the smallest such function that gives all natural parameters a model may have.

        Parameters
        ----------
        x : (n, d) int8 array
            State indices.
        graph : PairwiseGraph
        family : Family
            One whose edges have one number each.
        evaluate : callable
            Natural parameters (m, r + d q) at m random points of the model.

        Raises
        ------
        numpy.linalg.LinAlgError
            If some parameters are so small beside others that rounding hides how they vary.
        """
        d, r = graph.n_nodes, graph.n_edges
        # beyond the states of a node numbers have no meaning, and count as constant
        entries = np.concatenate([np.ones(r, bool), family.node_entries(d).ravel()])
        values, size = evaluate(2), (-1, -1)
        # beside a large first point the changes of small ones would be lost
        values = values[np.argsort(np.linalg.norm(values, axis=1), kind="stable")]
        while True:
            ties, basis = _span(np.where(entries, values[1:] - values[0], 0.0))
            # z = 0 is nearest to zero
            offset = values[0] - (basis @ (basis.T @ values[0][_one_of(ties, len(basis))]))[ties]
            problem = cls(x, graph, family, ties[:r], ties[:r], offset, ties, basis)
            fresh = np.where(entries, evaluate(N_CHECKED), values[0])
            missed = ~np.array([problem.reaches(point) for point in fresh])
            if not missed.any():
                break
            if basis.shape == size:
                raise np.linalg.LinAlgError("rounding hides how some parameters vary")
            values, size = np.vstack([values, fresh[missed]]), basis.shape
        return problem._determined() if problem.n_parameters else problem

    def reaches(self, flat: np.ndarray) -> bool:
        """Whether some free parameters give the natural parameters `flat` (r + d q,), but for rounding."""
        reached = self.offset + (self.basis @ self.free(flat))[self.ties]
        rounding = EXACT * (np.abs(flat) + np.abs(self.offset)) + ROUNDING * np.abs(flat).max()
        return bool(np.all(np.abs(reached - flat) <= rounding))

    def free(self, flat: Any, xp: Any = np) -> Any:
        """Free parameters (k,) behind natural parameters (r + d q,); `xp` as of `Adjustment.moved`."""
        some = _one_of(self.ties, len(self.basis))
        return xp.dot(self.basis.T, flat[some] - self.offset[some])

    def _determined(self) -> "AffineProblem":
        """Leave out directions that change no probability, such as a constant added to a Potts field."""
        cards = self.family.possible(self.graph.n_nodes).sum(axis=1)
        shape = ROWS_PER_PARAMETER * self.n_parameters, self.graph.n_nodes
        uniform = np.random.default_rng(0).integers(0, cards, shape).astype(np.int8)
        statistics = self.row_statistics(uniform)
        statistics -= statistics.mean(axis=0)
        sizes, directions = np.linalg.eigh(statistics.T @ statistics)
        known = sizes > NEGLIGIBLE * sizes[-1]
        return self if known.all() else replace(self, basis=self.basis @ directions[:, known])

    @cached_property
    def n_parameters(self) -> int:
        """Number k of free parameters."""
        return self.basis.shape[1]

    @property
    def _columns(self) -> np.ndarray:
        return self.ties[self.graph.n_edges :].reshape(self.node_entries.shape)

    def tables_at(self, flat: Any) -> tuple[Any, Any]:
        """Log tables (r, K, K) and (d, K) of natural parameters (r + d q,), numbers or symbolic."""
        d, r = self.graph.n_nodes, self.graph.n_edges
        nodes = flat[r:].reshape(self.family.node_shape(d)) if self.has_nodes else np.zeros(d)
        return self.family.edge_tables(flat[:r]), self.family.node_tables(nodes)

    def tables(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log tables of free parameters (k,)."""
        return self.tables_at(self.offset + (self.basis @ parameters)[self.ties])

    def collect(self, by_edge: np.ndarray, by_state: np.ndarray) -> np.ndarray:
        """Free parameters' values (k,) from those of edges (r,) and of node states (d, K)."""
        by_node = (by_state @ self.family.node_basis.T).ravel()
        return np.bincount(self.ties, np.concatenate([by_edge, by_node]), len(self.basis)) @ self.basis

    @cached_property
    def statistics(self) -> Statistics:
        """What the p tied parameters multiply, as the kernels take it."""
        return Statistics(self.labels, self.family.edge_statistic, self._columns, self.family.node_basis)

    def row_statistics(self, x: np.ndarray) -> np.ndarray:
        """Statistics of each row of x (m, d), (m, k): their sums make the log-likelihood's linear part."""
        of_edges = np.empty((len(x), len(self.basis)))
        tied_statistics(x, self.labels, self.graph.edges, self.family.edge_statistic, of_edges)
        of_nodes = np.moveaxis(self.family.node_basis[:, x], 0, -1).reshape(len(x), self._columns.size)
        return of_edges @ self.basis + of_nodes @ self.basis[self._columns.ravel()]

    def scores_and_information(
        self, x: np.ndarray, counts: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of the rows' lpl, (m, k), and the negative Hessian of their sum (k, k)."""
        p = len(self.basis)
        scores, information = np.empty((len(x), p)), np.empty((p, p))
        pseudo_scores_and_information(
            x, counts, self.statistics, *self.tables(z), self.graph.arrays, scores, information
        )
        return scores @ self.basis, self.basis.T @ information @ self.basis


def _span(changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of p values each entry has, and the basis (p, k) of these, from changes (m, entries) of all."""
    zero_first = np.hstack([np.zeros((len(changes), 1)), changes]).T
    different, ties = np.unique(zero_first, axis=0, return_inverse=True)
    # large changes must not hide small ones of other points
    left, sizes, _ = np.linalg.svd(different / np.maximum(np.linalg.norm(different, axis=0), TINY))
    rank = int((sizes > NEGLIGIBLE * max(sizes[0], TINY)).sum())
    basis = left[:, :rank]
    if rank == len(different) - 1:  # all that differ are free
        basis = np.delete(np.eye(len(different)), ties[0], axis=1)
    return ties[1:].astype(np.int64), basis


def _one_of(ties: np.ndarray, p: int) -> np.ndarray:
    """Index of one of the entries with each of p labels, 0 for none."""
    index = np.zeros(p, dtype=np.int64)
    index[ties] = np.arange(len(ties))
    return index


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Where a pseudo-likelihood is evaluated: at ``z_pl + W (z - z_ml)`` in place of z.

    Attributes
    ----------
    problem : AffineProblem
    z_pl, z_ml : (k,) arrays
        Where the pseudo-likelihood and the likelihood of the data have their maxima.
    W : (k, k) array
    """

    problem: AffineProblem
    z_pl: np.ndarray
    z_ml: np.ndarray
    W: np.ndarray

    def moved(self, flat: Any, xp: Any = np) -> Any:
        """Natural parameters (r + d q,) at which the pseudo-likelihood is evaluated in place of `flat`.

        `xp` is numpy, or `pytensor.tensor` for symbolic ones.
        """
        problem = self.problem
        z = self.z_pl + xp.dot(self.W, problem.free(flat, xp) - self.z_ml)
        return problem.offset + xp.dot(problem.basis, z)[problem.ties]


def adjust(problem: AffineProblem, name: str) -> Adjustment:
    """Find the maxima of pseudo-likelihood and likelihood, and match the curvatures there.

    Deterministic: what is simulated is drawn from one seed.

    Parameters
    ----------
    problem : AffineProblem
        With at least one free parameter.
    name : str
        Of the field, for messages.

    Raises
    ------
    ValueError
        If one of the maxima is not finite, or the simulation does not settle at that of the likelihood.
    """
    z_pl, converged, _ = maximise(problem)
    H = problem.scores_and_information(*problem.distinct_rows[:2], z_pl)[1]
    flat = np.linalg.eigvalsh(H)[0] <= PARAMETER_MAX**-2  # as in the sandwich of `fit`
    if not converged or flat or np.abs(z_pl).max() >= PARAMETER_MAX:
        raise _no_maximum("pseudo-likelihood", problem, name)
    z_ml, information = _Simulation(problem, name).maximise(z_pl)
    return Adjustment(problem, z_pl, z_ml, _matching(H, len(problem.x) * information))


def _others(problem: AffineProblem) -> str:
    """Name the likelihoods that serve the field as well."""
    exact = '"exact" or ' if is_tractable(field_tree(problem.graph, problem.family.n_states)) else ""
    return f'likelihood={exact}"particles"'


def _no_maximum(what: str, problem: AffineProblem, name: str) -> ValueError:
    return ValueError(
        f'{name}: likelihood="adjusted-pseudo" needs a finite maximum, and the {what} of these data has '
        "none: some node is constant or follows from its neighbours; let parameters share a value, leave out "
        f"edges or nodes, or use {_others(problem)} with an informative prior"
    )


def _matching(H: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Symmetric positive W with W H W = `target`; it depends a little on the coding of the states."""

    def power(matrix, exponent):
        sizes, directions = np.linalg.eigh(matrix)
        return (directions * sizes**exponent) @ directions.T

    root, inverse = power(H, 0.5), power(H, -0.5)
    return inverse @ power(root @ target @ root, 0.5) @ inverse


class _Simulation:
    """Maximum likelihood by Newton steps, from moments of simulated rows.

    The scores of the pseudo-likelihood have mean zero at the parameters that rows are drawn at: as control
    variates they take most of the noise from the means of the statistics.
    """

    def __init__(self, problem: AffineProblem, name: str) -> None:
        self._problem, self._name, self._rng = problem, name, np.random.default_rng(0)
        self._m = max(BATCH, BATCH_PER_PARAMETER * problem.n_parameters)
        self._sampler = AuxiliarySampler(
            problem.graph, problem.family.n_states, self._m, n_sweeps=N_SWEEPS, name=name
        )
        self._x = problem.x[self._rng.integers(0, len(problem.x), self._m)]  # chains start at the data
        self._target = problem.row_statistics(problem.distinct_rows[0]).T @ (
            problem.distinct_rows[1] / len(problem.x)
        )

    def maximise(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mode (k,) and the information of a row there, (k, k), from a start."""
        for _ in range(MAX_STEPS):
            gap, information, length = self._moments(z)
            step = np.linalg.solve(information, gap)
            # within a standard deviation of the log ratio of two rows' probabilities, where linearity is
            # roughly right; it matters for few rows only
            step /= max(1.0, np.sqrt(gap @ step))
            z = z - step
            if np.abs(z).max() >= PARAMETER_MAX:
                raise _no_maximum("likelihood", self._problem, self._name)
            if length <= 2.0 * TOLERANCE:
                return z, information
        raise ValueError(
            f'{self._name}: likelihood="adjusted-pseudo" did not find the maximum of the likelihood in '
            f"{MAX_STEPS} steps of simulation, because the field is too strongly coupled; use "
            f"{_others(self._problem)}"
        )

    def _moments(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Gap to the data's moments (k,), covariance (k, k), and the gap in posterior standard deviations."""
        problem, k, n = self._problem, self._problem.n_parameters, len(self._problem.x)
        count, first, second = 0, np.zeros(2 * k), np.zeros((2 * k, 2 * k))
        while True:
            self._x = self._sampler.draw(*problem.tables(z), self._rng, self._x)
            scores, _ = problem.scores_and_information(self._x, np.ones(self._m), z)
            both = np.hstack([problem.row_statistics(self._x) - self._target, scores])
            count, first, second = count + self._m, first + both.sum(axis=0), second + both.T @ both
            mean = first / count
            covariance = second / count - np.outer(mean, mean)
            information, shared = covariance[:k, :k], covariance[k:, :k]
            if np.linalg.eigvalsh(information)[0] <= PARAMETER_MAX**-2 / n:
                raise _no_maximum("likelihood", self._problem, self._name)
            weights = np.linalg.lstsq(covariance[k:, k:], shared)[0]
            gap = mean[:k] - weights.T @ mean[k:]
            residual = np.linalg.solve(information, information - shared.T @ weights)
            noise = n * np.trace(residual) / (count * k)  # both in squared posterior standard deviations
            length = n * gap @ np.linalg.solve(information, gap) / k
            if length > 9.0 * max(noise, TOLERANCE**2) or (
                noise <= TOLERANCE**2 and count >= ROWS_PER_PARAMETER * k
            ):
                return gap, information, float(np.sqrt(length))
