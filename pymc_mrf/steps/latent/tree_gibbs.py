"""`TreeGibbs`: latent discrete fields and missing cells, tree by tree.

Tree-blocked Gibbs sampling of Rivasseau (2005, figure 4.11), the evidence about each node being read
from the rest of the model.
"""

from typing import ClassVar

import numpy as np

from pymc_mrf.checks import flag, warn_user, whole_number
from pymc_mrf.distributions.likelihood import EXACT, Likelihood
from pymc_mrf.distributions.mrf_rv import UndirectedFieldRV
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.fields.sweeps import Attraction
from pymc_mrf.kernels.metropolis import metropolis
from pymc_mrf.steps.common.base import MRFStep
from pymc_mrf.steps.common.expressions import HeldData
from pymc_mrf.steps.common.statistics import Healthy, Statistic, Statistics, acceptance
from pymc_mrf.steps.latent.latent_evidence import Evidence, LatentEvidence
from pymc_mrf.steps.latent.latent_field import latent_field
from pymc_mrf.steps.latent.latent_imputed import Imputed
from pymc_mrf.steps.latent.latent_start import finite_starts, fitted_classes
from pymc_mrf.steps.latent.latent_warnings import (
    refuse_order,
    refuse_start,
    refuse_state,
    warn_of_no_evidence,
    warn_of_ties,
)

MIN_SWEEPS = 2
SWEPT_NODES = 2048
"""Nodes in the sweeps of one step: they then take about as long as the rest of a draw."""

START_SWEEPS = 10

MEMORY = 100
"""Steps at the end of tuning over which sweeps over trees and over clusters are compared."""

LEAST_REFUSED = 0.1
"""Share of proposals refused from which a field that never changes is not simply certain."""


class TreeGibbs(MRFStep):
    """Tree-blocked Gibbs sampling of a latent field, or of the missing cells of an observed one.

    Leaves invariant: the posterior, exactly. The field's own part in it is the field itself, whatever
    its ``likelihood``.

    Where every term of the model that contains the field depends on one node at most, as does
    ``y ~ Normal(mu[x], sigma)``, these terms are *evidence* about the nodes, and each tree of a tree
    partition of the graph is drawn at once from its distribution given everything else. Fields with
    junction trees of at most 2 ** 13 table cells, all rows together, are drawn at once as a whole.
    Where a term depends on several nodes, the trees and pieces of them are proposed one after the other
    under the evidence of the other terms, and accepted or refused (Metropolis). Which is the case is
    found by evaluating the model when the step is made, and watched in every step.

    Where at most a fifth of the cells of a field's rows are missing, blocks of missing cells that are
    connected within their row are drawn jointly given the rest of the row, by enumeration of up to 64 states:
    independent draws wherever connected cells have no more, else pieces of them in turn.

    Between two sweeps over trees may be one over clusters of nodes in the same state (Swendsen & Wang,
    1987), where the field only asks whether the states of an edge agree and no coupling is negative: `Ising`,
    `Potts` and `AgreementMRF`. Fields of two states, a `BoltzmannMachine` among them, have clusters wherever
    exchanging the states of some nodes makes all couplings positive, as negative ones of a lattice.
    Near and above the coupling at which the field orders, under weak evidence,
    this is many times faster; elsewhere it only takes time. While tuning, both kinds of sweeps are made and
    compared by how far they move the numbers of nodes in each state; afterwards clusters stay if they move
    them further.

    Every possible configuration is reached from every other where rows are drawn as a whole, and where
    no impossible combinations (-inf entries in the tables of a `FactorGraphMRF`) tie variables of
    different trees: the possible configurations must be all combinations of those of the trees. Such
    ties are looked for once, at the start. Where there are any, rows are drawn as a whole if their
    junction tree has at most 2 ** 20 table cells, or 2 ** 25 if the field's likelihood is declared
    ``"exact"``, and never more than 2 ** 25 for all rows together. Above, the step warns: a chain may
    then stay with the configurations near its start although nothing is refused. -inf that excludes
    states of single nodes does no harm, wherever it comes from. Where terms depend on several nodes, all
    this holds if they are -inf nowhere, which is not checked.

    Parameters
    ----------
    vars : list of one variable
        A free `Ising`, `Potts`, `AgreementMRF`, `BoltzmannMachine` or `FactorGraphMRF`, of shape (d,) or
        (..., d), or ``x_unobserved`` of a field ``x`` with missing cells.
    n_sweeps : int, optional
        Sweeps in one step, each over all trees, there and back; two at least where clusters are swept over in
        between. Without effect where fields are drawn as a whole, or proposed in parts. By default 2, or more
        in fields of less than 683 nodes, where they cost little beside the rest of a draw: 2048 by the number
        of nodes.
    n_partitions : int
        Tree partitions among which each sweep chooses at random; the first of a rectangular lattice is a pair
        of combs (Hamze & de Freitas, 2004).
    clusters : bool, optional
        Whether to sweep over clusters, too; without effect where fields are drawn as a whole, or proposed in
        parts. By default this is found out while tuning.
    model, initial_point, compile_kwargs, rng, blocked
        As for every PyMC step.

    Raises
    ------
    TypeError
        If the variable is no field.
    ValueError
        If an option is not a positive integer, a start value is no state, at some point no state of a
        node is possible, or a term takes an entry of an array by a state for which there is none. If PyMC
        starts a variable at infinity, as equal numbers under the transform `ordered`, and its step comes
        first. Under ``clusters=True`` if the field has no clusters.

    Warns
    -----
    UserWarning
        If a term depends on several nodes: draws are then correct, but mix slower. The message names the
        terms. If impossible combinations tie trees of a field that is too large to be drawn as a whole.
        If no term that contains the field differs between any of its states. If they do not where chains
        start, and the parameters of these terms are not fitted.

    Notes
    -----
    A chain that starts at PyMC's default, all nodes in their first state, first draws each node from its
    evidence alone and then sweeps. What the evidence depends on, such as means of classes, is often alike
    for all states at PyMC's default. Of fields with a `graph`, where it starts there, with up to 300 numbers
    (60 if they have no gradient, or there are many small matrices), it is first fitted by variational EM
    (Celeux, Forbes & Peyrard, 2003), from up to 24 random starts, so that such variables of other steps move
    as well, once. All chains start at the same fit. Give ``initval=`` or ``initvals=`` to start elsewhere: of
    the variable if all chains do, else of the field too.

    Missing values of data that depend on the field, which PyMC makes free variables of, are drawn with it:
    the field without them, and then they given the field.

    The convergence checks that ``pm.sample`` makes by default look at every node: of a large field they
    take tens of seconds and alarm at nodes that never change; ``compute_convergence_checks=False`` leaves
    them out.

    Random parameters of the field are moved by other steps given its current value: by NUTS under
    ``likelihood="exact"`` and by `Exchange` under ``"particles"``. Under ``"pseudo"`` NUTS moves them
    too, but under a pseudo-likelihood, so that both steps together are an approximation.

    Sampler statistics: ``tree_gibbs_changed`` (fraction of the free nodes that changed),
    ``tree_gibbs_accept`` (mean acceptance probability; 1 where nothing needs correction) and
    ``tree_gibbs_clusters`` (1 where clusters were swept over, else 0). A warning at the
    end of a chain says if the field never changed in 50 draws or more because proposals were refused. It
    does not warn of fields that need no correction: they may stand still because their nodes are certain.

    References
    ----------
    Rivasseau (2005). Swendsen & Wang (1987).

    Examples
    --------
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1, shape=3)
    ...     x = Potts("x", 0.8, graph=pymc_mrf.graphs.grid(64, 64), n_states=3)
    ...     pm.Normal("y", mu[x], 0.5, observed=y)
    ...     idata = pm.sample()
    """

    name = "tree_gibbs"
    invariant: ClassVar = {Likelihood: EXACT}
    default_blocked = False
    kinds = (UndirectedFieldRV,)
    remembers = ("refused", "distances", "n_compared")
    prefix = "tree_gibbs"
    statistics: Statistics = (
        Statistic(
            "changed",
            "share of nodes changed",
            Healthy("see whether nearly all nodes are certain; else n_sweeps", low=1e-4),
            column="Changed",
        ),
        Statistic(
            "accept",
            "acceptance",
            acceptance("write the terms that depend on the field node by node", 0.01),
        ),
        Statistic("clusters", "sweeps over clusters", shown="never"),
    )

    def __init__(
        self,
        vars,
        *,
        n_sweeps: int | None = None,
        n_partitions: int = 1,
        clusters: bool | None = None,
        **kwargs,
    ) -> None:
        super().__init__(vars, **kwargs)
        (rv, value), model = self._only_variable(), self._model
        if n_sweeps is not None:
            n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        n_partitions = whole_number(n_partitions, "n_partitions", 1)
        self._wants_clusters = None if clusters is None else flag(clusters, "clusters")
        node = field_node(rv)
        if node is None or not isinstance(node.op, UndirectedFieldRV):
            what = "none"
            if node is not None:
                what = f"a {node.op.family.title}: leave the choice of the step to pm.sample()"
            raise TypeError(
                f"TreeGibbs samples latent fields such as pymc_mrf.Ising, but {rv.name} is {what}"
            )
        self._name = value.name
        starts = finite_starts(model, self._point, self._default_start)
        if starts and kwargs.get("initial_point") is not None and model.value_vars[0] is not value:
            refuse_order(rv.name, list(starts))
        self._point = {**self._point, **starts}
        self._field = latent_field(rv, node, model, self._point, n_partitions, self._compile_kwargs)
        self._n_sweeps = n_sweeps or max(SWEPT_NODES // len(self._field.states), MIN_SWEEPS)
        self._evidence = LatentEvidence(
            value, node, model, self._field.states, self._point, self._compile_kwargs
        )
        self._held = [
            HeldData(rv.name, "TreeGibbs", [*node.op.dist_params(node), *self._evidence.reads])
        ]
        self._imputed = Imputed(self._evidence.imputed, model)
        self._weights: tuple[Evidence, np.ndarray] | None = None
        self._proposals: list = []
        self._clusters = None if clusters is False else self._field.clusters()
        if not self._evidence.separable:
            warn_user(
                f"TreeGibbs cannot draw {rv.name} at once, because a term of the model depends on several "
                f"of its nodes (one of: {', '.join(self._evidence.terms)}); parts of it are proposed and "
                "accepted or refused instead, which is right but mixes slower"
            )
            self._proposals = self._field.proposals()
        if self._field.ties and not self._field.exact:
            warn_of_ties(rv.name, self._field.ties, self._field.exact_if_asked)
        if self._evidence.ignores_states:
            warn_of_no_evidence(rv.name, self._evidence.terms, self._field.states)
        default = {**self._default_start, **starts}
        self._classes = starts | fitted_classes(
            self._field, self._evidence, node, model, self._point, default, self._compile_kwargs
        )
        self._warm_up()

    def _forget(self) -> None:
        super()._forget()
        self.refused = 0.0
        self.distances, self.n_compared = np.zeros(2), 0

    def _update(self, point):
        """Sweep over all trees, or propose them and their pieces one by one."""
        if not self.started and self._starts_at_default(point, [self._name]):
            point = {**point, **self._classes}  # which a step before this one may have moved already
        tables = self._field.tables(point)
        evidence = self._evidence.read(point)
        weights = self._evidence_weights(evidence)
        x = self._field.indices(point[self._name])
        if not self.started:
            x = self._begin(point, x, tables, evidence, weights)
            self.started = True
        attraction = None
        if not self._proposals:
            attraction = self._attraction(tables)
            new, accept = self._sweep_once(point, x, tables, evidence, weights, attraction)
        else:
            new, accept = self._propose_parts(point, x, tables, evidence, weights)
        changed = np.count_nonzero(new != x) / len(self._field.states)
        if not self.tune:
            self.refused += 1.0 - accept
        stats = {
            "tree_gibbs_changed": changed,
            "tree_gibbs_accept": accept,
            "tree_gibbs_clusters": float(attraction is not None),
        }
        value = self._field.value(new, np.shape(point[self._name]))
        point = self._imputed.draw({**point, self._name: value}, self.rng)
        return point, stats, bool(changed)

    def _warn_at_end(self) -> list[str]:
        n = self.count.n_draws
        # proposals of the present state are accepted: those that were refused would have changed it
        if not (self.count.stood_still and self.refused > LEAST_REFUSED * n):
            return []
        return [
            f"{self._name} never changed in {n} draws: TreeGibbs refused all changes, with a mean acceptance "
            f"probability of {1.0 - self.refused / n:.2g}. Unless the model leaves no doubt about the field, "
            f"write the terms that depend on it ({', '.join(self._evidence.terms)}) node by node, or start "
            "elsewhere (initvals={...})"
        ]

    def _evidence_weights(self, evidence: Evidence) -> np.ndarray:
        """Evidence (m, d, K), the same array as long as `evidence` is the same object."""
        if self._weights is None or self._weights[0] is not evidence:
            weights = self._field.evidence(evidence.table)
            self._check_possible(weights, evidence)
            self._weights = evidence, weights
        return self._weights[1]

    def _residual(self, point, evidence: Evidence, x: np.ndarray) -> float:
        return self._evidence.residual(point, evidence, x[self._field.free].astype(np.int64))

    def _log_ratio(self, old: float, new: float) -> float:
        """Log acceptance ratio from log densities; impossible states are left at once."""
        if np.isnan(old) or np.isnan(new) or np.inf in (old, new):
            raise ValueError(
                f"a term that depends on {self._name} (one of: {', '.join(self._evidence.terms)}) is NaN or "
                "infinite at a configuration that the others allow; write it so that its log density is "
                "finite wherever the field may be, or -inf"
            )
        return np.inf if old == -np.inf else new - old

    def _attraction(self, tables) -> Attraction | None:
        """Agreement for sweeps over clusters; None where there shall be none in this step.

        The decision depends on the parameters and on tuning alone: the posterior is left invariant.
        """
        trees, clusters = self.distances
        measured = self.n_compared > 0 and not self.tune and self._wants_clusters is None
        if self._clusters is None or (measured and clusters <= trees):
            return None
        attraction = self._clusters.attraction(tables[0])
        if attraction is None and self._wants_clusters:
            raise ValueError(
                f"clusters=True: {self._name} has negative couplings that no exchange of the states of some "
                "nodes makes positive, or edges of more than two states that depend on more than whether "
                "these agree, so that there are no clusters; leave clusters out, or give the couplings a "
                "prior that is positive, such as pm.HalfNormal"
            )
        return attraction

    def _sweep_once(self, point, x, tables, evidence, weights, attraction) -> tuple[np.ndarray, float]:
        """Sweep; accept with what the evidence misses, which is nothing if it is complete.

        The correction is right because sweeps are reversible: they go there and back, clusters in between.
        """
        new = x.copy()
        if attraction is None:
            self._field.sweep(new, tables, weights, self._n_sweeps, self.rng)
        else:
            self._sweep_trees_and_clusters(new, tables, weights, attraction)
        old_residual = self._residual(point, evidence, x)
        log_ratio = self._log_ratio(old_residual, self._residual(point, evidence, new))
        if log_ratio == 0.0:  # as a rule: nothing is missed
            return new, 1.0
        accepted, accept = metropolis(log_ratio, self.rng)
        return (new if accepted else x), accept

    def _sweep_trees_and_clusters(self, x, tables, weights, attraction) -> None:
        """Trees and clusters by turns, in the same order from either end; compare them while tuning."""
        assert self._clusters is not None
        n_trees = max(self._n_sweeps, 2)
        moved, node_tables = np.zeros(2), tables[1] + weights

        def count():  # as if all couplings attracted: only then do whole clusters change the numbers
            return np.bincount((x ^ attraction.flips).ravel(), minlength=weights.shape[2])

        counts = count()
        for k in range(2 * n_trees - 1):
            if k % 2:
                self._clusters(x, attraction, node_tables, self.rng)
            else:
                self._field.sweep(x, tables, weights, 1, self.rng)
            old, counts = counts, count()
            moved[k % 2] += np.square(counts - old).sum()
        if self.tune:
            self.n_compared += 1
            new = moved / [n_trees, n_trees - 1]
            self.distances = self.distances + (new - self.distances) / min(self.n_compared, MEMORY)

    def _propose_parts(self, point, x, tables, evidence, weights) -> tuple[np.ndarray, float]:
        """Propose each part once; the state and the mean acceptance probability."""
        accepts = []
        residual = self._residual(point, evidence, x)
        for c, simulate in self._proposals:
            new = x.copy()
            own = [t if len(t) == 1 else t[c : c + 1] for t in tables]
            simulate(new[c : c + 1], own, weights[c : c + 1], 1, self.rng)
            proposed = self._residual(point, evidence, new)
            accepted, accept = metropolis(self._log_ratio(residual, proposed), self.rng)
            accepts.append(accept)
            if accepted:
                x, residual = new, proposed
        return x, float(np.mean(accepts))

    def _begin(self, point, x, tables, evidence, weights) -> np.ndarray:
        """Keep the user's start of a chain; replace PyMC's default by nodes drawn one by one.

        Raises a ValueError if neither is possible.
        """
        start = self._field.start_weights(tables)
        at_once = self._field.exact and not self._proposals
        if start is None:  # pairs of states may be impossible: nodes cannot be drawn one by one
            here = np.take_along_axis(weights, x[:, :, None].astype(np.int64), axis=2)[..., 0]
            possible = self._field.is_possible(x, tables) and bool(np.all(here > -np.inf))
            if not at_once and not (possible and self._residual(point, evidence, x) > -np.inf):
                self._refuse_start(point)
            return x
        if self._starts_at_default(point, [self._name]):
            scores = start + weights + self.rng.gumbel(size=weights.shape)
            new = np.where(self._field.free, scores.argmax(axis=2), x).astype(np.int8)
            self._field.sweep(new, tables, weights, START_SWEEPS, self.rng)
            if self._residual(point, evidence, new) > -np.inf:
                return new
        if self._residual(point, evidence, x) == -np.inf:
            self._refuse_start(point)
        return x

    def _refuse_start(self, point) -> None:
        found = self._evidence.impossible_cell(point)
        cell, n = found if found is not None else ("", None)
        refuse_start(self._name, cell, None if n is None else self._label(n))

    def _check_possible(self, weights: np.ndarray, evidence: Evidence) -> None:
        if weights.min() > -np.inf:  # the usual case, at a hundredth of the time
            return
        best = weights.max(axis=2)
        if np.all(best > -np.inf):
            return
        # free cells only: the others have a state
        n = int(np.flatnonzero(~(best > -np.inf)[self._field.free])[0])
        refuse_state(self._label(n), self._evidence.terms_that_exclude(evidence, n))

    def _label(self, n: int) -> str:
        c, i = np.argwhere(self._field.free)[n].tolist()
        return self._field.label(c, i)
