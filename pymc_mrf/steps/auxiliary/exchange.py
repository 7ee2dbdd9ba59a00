"""`Exchange`: continuous parameters of fields whose partition function is intractable.

The exchange algorithm of Murray, Ghahramani & MacKay (2006) with an adaptive random walk (Haario,
Saksman & Tamminen, 2001) for any variables that reach a field through any expression.
"""

from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import ClassVar

import numpy as np
import pymc as pm
from pymc.step_methods.compound import Competence
from pytensor.graph.traversal import ancestors

from pymc_mrf.checks import whole_number
from pymc_mrf.distributions.dirichlet_process import DirichletProcessRV
from pymc_mrf.distributions.parents import feeds_intractable, moved_with
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.likelihood.particles.auxiliary import AUXILIARY_SWEEPS, DRAWS, check_draws
from pymc_mrf.likelihood.particles.likelihood import IntractableLogPartition, Particles
from pymc_mrf.steps.auxiliary.exchange_checks import (
    AUXILIARY_DRAWS,
    compare_lengths,
    natural_slopes,
    short_chains,
    spacing,
    standstill,
)
from pymc_mrf.steps.auxiliary.exchange_proposals import (
    connected,
    named_blocks,
    pseudo_posterior,
    pseudo_precision,
    random_parts,
    target_acceptance,
)
from pymc_mrf.steps.auxiliary.intractable_fields import (
    POINT_MASSES,
    intractable_fields,
    parents_of_intractable_fields,
    served_fields,
)
from pymc_mrf.steps.common.base import GIVEN_DRAWS, MRFStep, hand_back
from pymc_mrf.steps.common.expressions import FlatEntries, PointFunction, terms_with
from pymc_mrf.steps.common.statistics import Statistic, Statistics, acceptance

UNTAGGED = 2.5  # above PyMC's Slice, which is preferred, and below steps that are ideal for a variable
LEAST_LOG_SCALE = -10.0  # proposals must differ from the present state
MEMORY = 20  # steps of history that the covariance from the pseudo-likelihood counts for


class Exchange(MRFStep):
    """Exchange updates of all continuous variables that reach intractable fields.

    Leaves invariant: the posterior, exactly, if the auxiliary data sets are exact draws
    (``exchange_draws`` "exact" or "perfect"); otherwise an approximation that becomes exact as
    `n_sweeps` grows, if Gibbs chains can reach all configurations: on a 6 x 6 grid near criticality the
    posterior mean was off by 0.7 posterior standard deviations with one sweep, 0.2 with five and less
    than 0.1 with ten (``docs/results.md``). Adaptation ends with tuning.

    A proposal for the value variables is accepted with the ratio of everything in the model that has a
    density, times q(X | new) q(Z | old) / (q(X | old) q(Z | new)) for every field whose parameters
    change, where q is unnormalised and Z a data set drawn from the proposed field.

    Parameters
    ----------
    vars : list of variables
        Continuous free variables; together they must be all free variables from which the parameters
        of some fields, observed or latent, with ``likelihood="particles"`` are computed.
    draws : {"auto", "exact", "perfect", "gibbs"}
        How auxiliary data are drawn; see `pymc_mrf.likelihood.particles.auxiliary.AuxiliarySampler`.
    n_sweeps : int
        Gibbs sweeps behind each auxiliary data set, started from the observations: over trees of the graph
        in a `FactorGraphMRF`, and elsewhere for up to 16 observations and neighbours per node.
    blocks : list of lists of variables, optional
        Variables, or their names, that are proposed together. By default coordinates that reach the
        same observations are proposed together, and unrelated ones apart.
    n_updates : int
        Proposals for every block in one step.
    block_size : int
        A block of more coordinates is proposed in random parts of at most that many, each once a step.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    ValueError, RuntimeError
        If a variable reaches no such field, a field has another free parent, a discrete one or a
        Dirichlet process, or an option is not valid; RuntimeError if couplings are proposed that are too
        strong for ``draws="perfect"``.

    Notes
    -----
    A warning at the end of a chain says if 3 `n_sweeps` would have made a difference, which is tried at
    up to 100 of its draws (`pymc_mrf.steps.auxiliary.exchange_checks`), or if a variable never moved in 50
    draws or more.

    Blocks of at most `block_size` coordinates learn their covariance from the tuning steps since the last
    power of two; larger ones keep the curvature of the pseudo-likelihood, from which both start, and learn
    a scale per coordinate. Under a latent field it is that at the states of the last power of two.

    A chain that starts at PyMC's default values is first moved near the maximum of prior times
    pseudo-likelihood, and its hyperparameters back to the start of the first chain: from a start at
    which all couplings are equal, other steps may already have run away with the scale of their prior.
    Nothing moves in the first step of a chain if a latent field has not begun, all its nodes being in one
    state.

    Sampler statistics: ``exchange_accept`` (mean acceptance probability), ``exchange_scale`` (mean scale
    of the proposals, relative to the covariance), ``exchange_draws`` (auxiliary draws: "exact" by
    the junction tree, "perfect" by coupling from the past, "gibbs"; the least exact of all fields) and
    ``exchange_n_sweeps`` (Gibbs sweeps behind each of them, 0 if they are exact).

    References
    ----------
    Murray, Ghahramani & MacKay (2006); Haario, Saksman & Tamminen (2001).
    """

    name = "exchange"
    invariant: ClassVar = {Particles: GIVEN_DRAWS}
    remembers = (
        "n_tuned",
        "n_learnt",
        "log_scale",
        "precision",
        "mean",
        "covariances",
        "moved",
        "compared",
        "left",
    )
    prefix = "exchange"
    statistics: Statistics = (
        Statistic(
            "accept",
            "acceptance",
            acceptance("tune longer, or propose smaller blocks (block_size)", 0.1, 0.7),
            column="Accept",
        ),
        Statistic("scale", "scale of the proposals"),
        *AUXILIARY_DRAWS,
    )

    @classmethod
    def _make_several(cls, values, model: pm.Model, args, kwargs):
        """Give variables of other models that `pm.sample` sent here to PyMC's own steps.

        Tags do not survive `freeze_model`, so that every variable without gradient is sent here.
        """
        reached = parents_of_intractable_fields(model)
        mine = [v for v in values if model.values_to_rvs[v] in reached]
        if len(mine) == len(values) or kwargs.get("initial_point") is None:
            return None
        own = (lambda: cls(mine, *args, **kwargs)) if mine else None
        return hand_back(cls, [v for v in values if v not in mine], model, kwargs, own)

    def __init__(
        self,
        vars,
        *,
        draws: str = "auto",
        n_sweeps: int = AUXILIARY_SWEEPS,
        n_updates: int = 5,
        blocks: Sequence[Sequence] | None = None,
        block_size: int = 10,
        **kwargs,
    ) -> None:
        super().__init__(vars, **kwargs)
        model = self._model
        check_draws(draws)
        self._n_updates = whole_number(n_updates, "n_updates", 1)
        self._block_size = whole_number(block_size, "block_size", 1)
        self._fields = served_fields(self._rvs, model, type(self).__name__, draws, n_sweeps)
        self._held = [field.held for field in self._fields]
        self._compile(model)

        above = set(ancestors(self._rvs)) - set(self._rvs)
        self._hyper = [model.rvs_to_values[rv].name for rv in model.free_RVs if rv in above]

        self._coordinates = FlatEntries([v.name for v in self.vars], self._point)
        v = self._coordinates(self._point)
        # parameters that coincide at the start may be parameters of different observations
        jitter = 1e-3 * (1.0 + np.abs(v)) * np.random.default_rng(0).uniform(0.5, 1.0, size=len(v))
        for field, natural in zip(self._fields, self._evaluate(self._point, v + jitter)[1], strict=True):
            field.split(natural)
        self._fit = pseudo_posterior(partial(self._evaluate, self._point), self._fields, v)
        if blocks is None:
            self._blocks = connected(self._fit.touched)
        else:
            self._blocks = named_blocks(blocks, self.vars, self._coordinates.ends, model)
        self._warm_up()

    def _compile(self, model: pm.Model) -> None:
        """Compile one function: log density of all terms but the fields, parameters of the fields."""
        terms, _ = terms_with(self.vars, model, set(intractable_fields(model).values()))
        parameters = [p for field in self._fields for p in field.parameters]
        outputs = [model.logp(vars=[term for term, _ in terms]), *parameters]
        self._f = PointFunction(outputs, model, self._compile_kwargs)

    def _evaluate(self, point, v: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """Evaluate the log density without the fields, and each field's natural parameters, at `v` (k,)."""
        log_density, *parameters = self._f({**point, **self._coordinates.values(v)})
        natural = []
        for field in self._fields:
            own = [parameters.pop(0) for _ in field.parameters]
            with np.errstate(invalid="ignore"):  # proposals outside the domain are rejected later
                natural.append(field.natural(own))
        return float(log_density), natural

    def _is_valid(self, evaluated, *, possible: bool = False) -> bool:
        """Whether all that `_evaluate` returned is in its domain, and the observations are `possible`."""
        log_density, natural = evaluated
        fields = list(zip(self._fields, natural, strict=True))
        valid = bool(np.isfinite(log_density)) and all(f.is_valid(rows) for f, rows in fields)
        return valid and (not possible or all(f.is_possible(rows) for f, rows in fields))

    def _forget(self) -> None:
        super()._forget()
        self.n_tuned = 0
        self.log_scale = np.zeros(len(self._fit.mode))
        self._learn_anew(self._fit.mode, self._fit.precision)
        self.moved = np.zeros(len(self.mean), dtype=bool)
        self.compared: list[tuple[np.ndarray, np.ndarray]] = []
        self.left = [np.zeros(field.x.shape[1], dtype=bool) for field in self._fields]
        self._slopes: tuple[np.ndarray, list] | None = None

    def _learn_anew(self, mean: np.ndarray, precision: np.ndarray) -> None:
        """Forget what the steps so far have taught of the posterior."""
        self.n_learnt, self.precision, self.mean = 0, precision, mean.copy()
        small = [b for b in self._blocks if len(b) <= self._block_size]
        self.covariances = [np.linalg.inv(precision[np.ix_(b, b)]) for b in small]

    @classmethod
    def competence(cls, var, has_grad):
        """Ideal for continuous parents of a field with ``likelihood="particles"``.

        A frozen model has lost the tags that tell: without gradient a variable may be such a parent,
        which the constructor finds out. Sessions without intractable fields are left alone.
        """
        is_continuous = var.dtype.startswith("float") and type(var.owner.op) not in POINT_MASSES
        if not is_continuous or DirichletProcessRV in moved_with(var):
            return Competence.INCOMPATIBLE
        if feeds_intractable(var):
            return Competence.IDEAL
        may_be = not has_grad and IntractableLogPartition.used
        return UNTAGGED if may_be else Competence.INCOMPATIBLE

    def _update(self, point):
        """Propose small blocks `n_updates` times, the parts of large ones once."""
        for field in self._fields:
            field.follow(point)
        waits = self.count.is_first and self._is_blank()
        if not self.started and not waits:
            point = self._begin(point)
            self.started = True
        v = self._coordinates(point)
        state, accepts = (v, self._evaluate(point, v)), [0.0] if waits else []
        self.n_tuned += self.tune
        if self.tune and self.n_tuned & (self.n_tuned - 1) == 0:
            self._renew(point, v)
        gain = 4.0 * (self.n_tuned + 5.0) ** -0.7  # Robbins & Monro (1951)
        small = 0  # blocks seen that learn
        for block in [] if waits else self._blocks:
            learns = len(block) <= self._block_size
            for part, factor in self._parts_of(block, small if learns else None):
                state, accept = self._propose(point, *state, part, factor)
                accepts.append(accept)
                if self.tune:
                    scale = self.log_scale[part] + gain * (accept - target_acceptance(len(part)))
                    self.log_scale[part] = np.maximum(scale, LEAST_LOG_SCALE)
            if learns and self.tune:
                self._learn(block, small, state[0])
            small += learns
        self.n_learnt += self.tune
        if self._is_approximate and not self.tune:
            if self.count.n_draws % spacing(self.count.length, len(accepts)) == 0:
                self._compare_lengths(point, *state)
        sampler = max((f.sampler for f in self._fields), key=lambda s: DRAWS.index(s.draws))
        stats = {
            "exchange_accept": float(np.mean(accepts)),
            "exchange_scale": float(np.exp(self.log_scale.mean())),
            "exchange_draws": sampler.draws,
            "exchange_n_sweeps": sampler.n_sweeps,
        }
        return {**point, **self._coordinates.values(state[0])}, stats, bool(self.moved.any())

    def _warn_at_end(self) -> list[str]:
        names = [v.name for v in self.vars]
        return self._short_chains() + standstill(
            names, self.moved, self._coordinates.ends, self.count.n_draws
        )

    def _parts_of(self, block, small: int | None):
        """Yield a small block `n_updates` times, by its learnt covariance, or parts of a large one once."""
        if small is None:
            return random_parts(block, self._block_size, self.precision, self.rng)
        factor = np.linalg.cholesky(self.covariances[small])
        return repeat((block, factor), self._n_updates)

    def _propose(self, point, v, current, part, factor):
        """Update the coordinates `part` once; the new state and the acceptance probability."""
        scale = 1.8 / np.sqrt(len(part)) * np.exp(self.log_scale[part])
        new = v.copy()
        new[part] += scale * (factor @ self.rng.standard_normal(len(part)))
        proposed = self._evaluate(point, new)
        log_ratio = self._log_ratio(current, proposed)
        accepted, accept = metropolis(log_ratio, self.rng)
        if accepted:
            self.moved[part] |= (new[part] != v[part]) & (not self.tune)
            return (new, proposed), accept
        return (v, current), accept

    def _log_ratio(self, current, proposed) -> float:
        """Log acceptance ratio, with fresh auxiliary data of every field that changes."""
        (old_density, old), (new_density, new) = current, proposed
        log_ratio = new_density - old_density
        if not self._is_valid(proposed):
            return -np.inf
        for field, old_rows, new_rows in zip(self._fields, old, new, strict=True):
            log_ratio += field.log_auxiliary_ratio(old_rows, new_rows, self.rng)
        return log_ratio

    def _renew(self, point, v) -> None:
        """Start to learn again, at 1, 2, 4, ... steps: transients shall not count.

        The curvature of the pseudo-likelihood is that at the present states of latent fields.
        """
        precision = self.precision
        if any(field.is_latent for field in self._fields) and not self._is_blank():
            precision = pseudo_precision(partial(self._evaluate, point), self._fields, v)
        self._learn_anew(v, precision)

    @property
    def _is_approximate(self) -> bool:
        """Whether chains of some length stand in for exact draws."""
        return any(field.sampler.draws == "gibbs" for field in self._fields)

    def _is_blank(self) -> bool:
        """Whether some latent field has not begun: its pseudo-likelihood has no maximum."""
        return any(field.is_blank for field in self._fields)

    def _learn(self, block, small: int, v) -> None:
        """Move mean and covariance of a block towards the present state."""
        weight = 1.0 / (MEMORY * (1.0 + 0.1 * len(block)) + self.n_learnt)
        gap = v[block] - self.mean[block]
        self.mean[block] += gap / (self.n_learnt + 2.0)
        C = self.covariances[small]
        self.covariances[small] = (1.0 - weight) * (C + weight * np.outer(gap, gap))

    def _begin(self, point):
        """Keep the user's start of a chain; replace PyMC's default by a draw around the fit."""
        if not self._starts_at_default(point, [v.name for v in self.vars]):
            return point
        fit = self._fit
        if any(field.is_latent for field in self._fields):
            if self._is_blank():
                return point
            fit = pseudo_posterior(
                partial(self._evaluate, point), self._fields, self._coordinates(point)
            )
            self._learn_anew(fit.mode, fit.precision)
        point = {**point, **{name: self._point[name] for name in self._hyper}}
        root = np.linalg.cholesky(fit.precision)
        noise = np.linalg.solve(root.T, self.rng.standard_normal(len(fit.mode)))
        for v in (fit.mode + noise, fit.mode):
            if self._is_valid(self._evaluate(point, v), possible=True):
                return {**point, **self._coordinates.values(v.copy())}
        return point

    def _factor(self) -> np.ndarray:
        """Return a factor of the covariance (k, k) that tuning has learnt."""
        covariance, learnt = np.zeros((len(self.mean), len(self.mean))), iter(self.covariances)
        for block in self._blocks:
            at = np.ix_(block, block)
            small = len(block) <= self._block_size
            covariance[at] = next(learnt) if small else np.linalg.inv(self.precision[at])
        return np.linalg.cholesky(covariance)

    def _compare_lengths(self, point, v, evaluated) -> None:
        """Prolong the chains behind one auxiliary data set per field."""
        if self._slopes is None:
            factor, evaluate = self._factor(), partial(self._evaluate, point)
            self._slopes = factor, natural_slopes(evaluate, self._fields, v, factor)
        factor, slopes = self._slopes
        gap = compare_lengths(self._fields, evaluated[1], slopes, self.left, self.rng)
        if gap is not None:
            self.compared.append((np.linalg.solve(factor, v), gap))

    def _short_chains(self) -> list[str]:
        """Complain if auxiliary chains were too short where this chain has been."""
        if not self.compared:
            return []
        points, gaps = (np.array(rows) for rows in zip(*self.compared, strict=True))
        sd = points.std(axis=0)  # what tuning has learnt gives the shape, the draws the scale
        points = np.divide(points, sd, out=np.zeros_like(points), where=sd > 0.0)
        return short_chains(self._fields, points, gaps * sd, self.left)
