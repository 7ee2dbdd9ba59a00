"""What both kinds of fixed fields answer, by any method: marginals and draws, given evidence."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from pymc_mrf.checks import random_generator, warn_user, whole_number
from pymc_mrf.fields.evidence import Given, evidence_states, free_blocks, impossible_given
from pymc_mrf.fields.exact import ExactInference
from pymc_mrf.fields.methods import DRAWS, MARGINALS, MODES, method_options
from pymc_mrf.fields.modes import Mode
from pymc_mrf.fields.two_starts import MOST_CHAINS
from pymc_mrf.graph.junction_tree import MAX_CELLS
from pymc_mrf.graph.tree_partition import tree_partition


class FixedField[M](ExactInference):
    """Field with numbers in it; M is the type of its marginals.

    The *variables* of a `PairwiseField` are named by the node labels of its graph, those of a
    `FactorGraphField` are numbered 0..d-1.
    """

    graph: Any

    _draw_methods: ClassVar[Mapping[str, tuple[str, ...]]] = DRAWS
    _mode_methods: ClassVar[Mapping[str, tuple[str, ...]]] = MODES

    _result: ClassVar[type]
    """Which class, M above, marginals are returned as."""

    @property
    @abstractmethod
    def _labels(self) -> Sequence[Hashable]:
        """Names of the variables, in order."""

    @property
    @abstractmethod
    def _cards(self) -> Sequence[int]:
        """Number of states of each variable."""

    @abstractmethod
    def _given(self, states: np.ndarray) -> Given[Self]:
        """Reduce the field to the free variables; `states` (d,) are -1 there."""

    @abstractmethod
    def _marginals(self, method: str, rng: np.random.Generator, **options: Any) -> tuple:
        """Marginals without evidence, by a method and all its options.

        Those of variables, those of edges or factors, both standard errors (None for methods that do not
        sample), and the convergence report (None but for belief propagation).
        """

    @abstractmethod
    def _mode(self, method: str, **options: Any) -> Mode:
        """Mode without evidence."""

    @abstractmethod
    def _moved(self, x: np.ndarray, method: str, rng: np.random.Generator, **options: Any) -> np.ndarray:
        """Start from the states `x` (n, d) and return states drawn by a method other than "exact"."""

    @abstractmethod
    def _starts_meet(
        self, disorder: np.ndarray, method: str, rng: np.random.Generator, n_sweeps: int, **options: Any
    ) -> bool:
        """Whether chains of a method from the states `disorder` (m, d) and from order meet."""

    @abstractmethod
    def _uniform_states(self, rng: np.random.Generator) -> Callable[[int], np.ndarray] | None:
        """Return a function that draws states (m, d) int8; None if they might be impossible."""

    @abstractmethod
    def _nothing_free(self) -> tuple:
        """Return what `_marginals` would if all variables are known."""

    @abstractmethod
    def _complete(
        self, states: np.ndarray, kept: list[int], single: Any, joint: Any, known: float = 1.0
    ) -> tuple:
        """Marginals of all variables and factors, from those of the free ones.

        `known` is the entry of a known state: 1 for probabilities, 0 for their standard errors.
        """

    def log_partition(self, *, evidence: Mapping[Any, int] | None = None) -> float:
        """Log of the sum of exp(-energy) over all configurations that agree with the evidence.

        Parameters
        ----------
        evidence : dict, optional
            States of known variables, as in `marginals`. The result, less that without evidence, is the
            log probability of the evidence.

        Returns
        -------
        float
            By the junction tree.

        Raises
        ------
        ValueError
            If the junction tree of the free variables is too large, the evidence names an unknown variable
            or state, or no configuration is possible.
        """
        given = self._given(evidence_states(evidence, self._labels, self._cards))
        with impossible_given(evidence):
            return given.known + (given.rest.exact_log_partition() if given.rest is not None else 0.0)

    def mode(
        self,
        method: str = "auto",
        *,
        evidence: Mapping[Any, int] | None = None,
        damping: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
    ) -> Mode:
        """Most probable configuration among those that agree with the evidence, and how good it is.

        Parameters
        ----------
        method : {"auto", "exact", "cut", "bp", "icm"}
            "auto": the first of "exact", "cut" and "bp" that applies.
            "exact": max-product over the junction tree, if it is small enough.
            "cut", of a `PairwiseField`: graph cuts. Exact for binary fields that are attractive, or become so
            when the states of some nodes are swapped (Greig, Porteous & Seheult, 1989). With more states
            alpha-expansion, for metric tables t, t(a, b) + t(c, c) >= t(a, c) + t(c, b), such as those of an
            attractive Potts field, whose energy is within a factor of the least, often 2 (Boykov, Veksler &
            Zabih, 2001). Seconds for 500 x 500 nodes.
            "bp", of a `PairwiseField`: max-product belief propagation, then "icm" from where it ends. Exact
            on forests; elsewhere a local mode, whether messages converge or not.
            "icm", of a `PairwiseField`: iterated conditional modes (Besag, 1986) from the best states of the
            nodes alone: a local mode, usually a poor one, fast.
        evidence : dict, optional
            States of known variables, as in `marginals`.
        damping, tolerance, max_iterations : optional
            Of "bp", as in `marginals`.

        Returns
        -------
        Mode
            `states` (d,) int8, their `log_potential`, what they promise, and an upper `bound` on the log
            potential of any configuration.

        Raises
        ------
        ValueError
            As in `log_partition`, if the method is unknown or does not apply, or an option belongs to
            another method.
        """
        options = method_options(
            method,
            self._mode_methods,
            dict(damping=damping, tolerance=tolerance, max_iterations=max_iterations),
        )
        z = evidence_states(evidence, self._labels, self._cards)
        given = self._given(z)
        if given.rest is None:
            return Mode(z, given.known, given.known, "exact", 1.0, "exact")
        with impossible_given(evidence):
            found = given.rest._mode(method, **options)
        z[given.free] = found.states
        return replace(
            found,
            states=z,
            log_potential=found.log_potential + given.known,
            bound=found.bound + given.known,
        )

    def map(self, method: str = "auto", *, evidence: Mapping[Any, int] | None = None) -> np.ndarray:
        """Find a most probable configuration: the states of `mode`, which explains the parameters.

        Returns
        -------
        (d,) int8 array
            State indices.

        Warns
        -----
        UserWarning
            If "auto" has found no better than a local mode.
        """
        found = self.mode(method, evidence=evidence)
        if method == "auto" and found.promise == "local":
            warn_user(
                "map has found a local mode: the junction tree of this field is too large and graph cuts do "
                'not apply. Choose method="bp" or "icm" to be content with it; `mode` has an upper bound'
            )
        return found.states

    def marginals(
        self,
        method: str = "exact",
        *,
        evidence: Mapping[Any, int] | None = None,
        rng: np.random.Generator | int | None = None,
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_burn_in: int | None = None,
        partition: Sequence[Collection[Any]] | None = None,
        n_partitions: int | None = None,
        damping: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
    ) -> M:
        """Marginal probabilities of all variables, and of all edges or factors.

        Parameters
        ----------
        method : {"exact", "bp", "tree", "gibbs"}
            "exact": junction tree (Lauritzen & Spiegelhalter, 1988).
            "bp": belief propagation (Rivasseau, 2005, section 2.3); exact on forests and factor trees,
            else loopy: approximate, with a warning if it has not converged. That it has converged does
            not show that -inf entries leave any configuration possible, which "exact" checks.
            "tree": tree sampling with Rao-Blackwellised estimates (Rivasseau, 2005, eq. 4.14).
            "gibbs": single-site Gibbs sampling; counts of states (eq. 4.13) in a `PairwiseField`,
            Rao-Blackwellised estimates in a `FactorGraphField`.
        evidence : dict, optional
            States (indices 0..K-1) of known variables, by node label (`PairwiseField`) or variable number
            (`FactorGraphField`); all answers are conditional on it.
        rng : numpy.random.Generator or int, optional
            Generator or seed, for "tree" and "gibbs" only.
        n_chains : int, optional
            Independent chains, at least 2 (default 64), for "tree" and "gibbs".
        n_sweeps, n_burn_in : int, optional
            Sweeps of each chain that are averaged (default 200) and left out before (default 100).
            Chains start at independent uniform states, where these are possible. "gibbs" counts states in
            at least log2(n_sweeps) times the memory of the tables of a `PairwiseField`.
        partition : sequence of collections of node labels or variables, optional
            Tree partition for "tree": every variable in exactly one block (those with evidence may be
            left out), the variables of a block without a cycle through edges, or through factors that
            have several of them. By default `pymc_mrf.graphs.tree_partition` finds one.
        n_partitions : int, optional
            Partitions to find for "tree" (default 1); each sweep takes one of them at random.
        damping : float, optional
            Weight of the old message in [0, 1) for "bp" (default 0.5); unused on forests.
        tolerance : float, optional
            Largest change of a probability at which "bp" has converged (default 1e-8).
        max_iterations : int, optional
            Passes of "bp" (default 1000).

        Returns
        -------
        Marginals or FactorMarginals
            `nodes` (d, K) and `edges` (r, K, K) of a `PairwiseField`; `variables` and `factors`, tuples
            of arrays, of a `FactorGraphField`. With `standard_error` from the variation between chains
            for "tree" and "gibbs" (0 where a state was never counted) and `convergence` for "bp".

        Raises
        ------
        ValueError
            If the method is unknown, an option belongs to another method or is out of range, the
            evidence names an unknown variable or state or has probability zero, or the partition is
            none.

        Warns
        -----
        UserWarning
            If chains of "tree" or "gibbs" are too short: one from order and one from disorder do not meet.
        """
        options = method_options(
            method,
            MARGINALS,
            dict(
                n_chains=n_chains, n_sweeps=n_sweeps, n_burn_in=n_burn_in,
                partition=partition, n_partitions=n_partitions,
                damping=damping, tolerance=tolerance, max_iterations=max_iterations, rng=rng,
            ),
        )  # fmt: skip
        rng = random_generator(options.pop("rng", None), "rng")
        states = evidence_states(evidence, self._labels, self._cards)
        rest, _, kept, _ = self._given(states)
        self._leave_known_out(options, states)
        if rest is None:
            answer = self._nothing_free()
        else:
            with impossible_given(evidence):
                answer = rest._marginals(method, rng, **options)
            if "n_burn_in" in options:
                rest._check_sweeps(method, **options)
        single, joint, errors, convergence = answer
        full = self._complete(states, kept, single, joint)
        if errors is None:
            return self._result(*full, convergence=convergence)
        full_errors = self._complete(states, kept, errors[0], errors[1], known=0.0)
        return self._result(*full, standard_error=self._result(*full_errors))

    def sample(
        self,
        n: int,
        method: str = "exact",
        *,
        evidence: Mapping[Any, int] | None = None,
        rng: np.random.Generator | int | None = None,
        n_sweeps: int | None = None,
        partition: Sequence[Collection[Any]] | None = None,
        n_partitions: int | None = None,
        max_sweeps: int | None = None,
    ) -> np.ndarray:
        """Draw `n` independent configurations.

        Parameters
        ----------
        n : int
            Non-negative.
        method : {"exact", "tree", "gibbs", "perfect"}
            "exact": down the junction tree, where the graph's treewidth is small.
            "tree" and "gibbs": the last states of `n` independent chains of tree sampling or
            single-site Gibbs sampling, started at uniform states; approximate. "gibbs" has the fastest
            sweeps, "tree" moves further where couplings are strong.
            "perfect", of a `PairwiseField` only: exact by coupling from the past, for binary fields that
            are attractive, or become so when the states of some nodes are swapped.
        evidence : dict, optional
            States of known variables, as in `marginals`; the others are drawn given them.
        rng : numpy.random.Generator or int, optional
            Generator or seed.
        n_sweeps : int, optional
            Sweeps of each chain, for "tree" and "gibbs" (default 200).
        partition, n_partitions : optional
            For "tree", as in `marginals`.
        max_sweeps : int, optional
            Limit of "perfect", as in `pymc_mrf.fields.perfect.perfect_sample`.

        Returns
        -------
        (n, d) int8 array
            State indices.

        Raises
        ------
        ValueError
            As in `marginals`.

        Warns
        -----
        UserWarning
            As in `marginals`.
        """
        options = method_options(
            method,
            self._draw_methods,
            dict(
                n_sweeps=n_sweeps, partition=partition, n_partitions=n_partitions, max_sweeps=max_sweeps
            ),
        )
        n, rng = whole_number(n, "n", 0), random_generator(rng, "rng")
        states = evidence_states(evidence, self._labels, self._cards)
        rest, free, _, _ = self._given(states)
        self._leave_known_out(options, states)
        x = np.tile(states, (n, 1))
        if rest is not None:
            with impossible_given(evidence):
                x[:, free] = rest._draws(n, method, rng, **options)
        return x

    def _draws(self, n: int, method: str, rng: np.random.Generator, **options: Any) -> np.ndarray:
        """Draw configurations (n, d) int8 without evidence."""
        if method == "exact":
            return self.exact_draws(n, rng)
        x = self._moved(self._start_states(rng)(n), method, rng, **options)
        if n:
            self._check_sweeps(method, n_chains=n, **options)
        return x

    def _check_sweeps(
        self, method: str, n_chains: int, n_sweeps: int, n_burn_in: int = 0, **options: Any
    ) -> None:
        """Warn if chains still show their uniform starts when they end."""
        rng = np.random.default_rng(0)
        uniform = self._uniform_states(rng)
        if uniform is None:  # exact draws
            return
        disorder = uniform(min(n_chains, MOST_CHAINS))
        if not self._starts_meet(disorder, method, rng, n_burn_in + n_sweeps, **options):
            longer = f"n_burn_in={10 * n_burn_in}" if n_burn_in else f"n_sweeps={10 * n_sweeps}"
            warn_user(
                f'method="{method}": chains show where they start: in {n_burn_in + n_sweeps} sweeps one from '
                f'order and one from disorder did not come to the same. Use "exact" if the junction tree is '
                f"small, or {longer}, and still more if this is said again"
            )

    def _start_states(self, rng: np.random.Generator) -> Callable[[int], np.ndarray]:
        """Return a function that makes starts of chains, (m, d) int8, of positive probability.

        Where uniform states might be impossible they are exact draws, because a search for possible
        configurations has no bound.
        """
        uniform = self._uniform_states(rng)
        if uniform is not None:
            return uniform
        if self.junction_tree.n_cells > MAX_CELLS:
            raise ValueError(
                "chains need a configuration of positive probability to start from; with -inf entries in "
                "tables of several variables this is an exact draw, and the junction tree of this field is "
                "too large for it; use large finite penalties instead of -inf"
            )
        return lambda m: self.exact_draws(m, rng)

    def _partitions(
        self, partition: list[list[int]] | None, n_partitions: int, rng: np.random.Generator
    ) -> list[list[list[int]]]:
        """One partition by index, or several that are found."""
        if partition is not None:
            return [partition]
        index = {label: i for i, label in enumerate(self._labels)}
        found = [tree_partition(self.graph, rng=rng) for _ in range(n_partitions)]
        return [[[index[label] for label in block] for block in blocks] for blocks in found]

    def _leave_known_out(self, options: dict[str, Any], states: np.ndarray) -> None:
        """Replace a partition among the options by one of the free variables, by index."""
        if options.get("partition") is not None:
            options["partition"] = free_blocks(self.graph, self._labels, options["partition"], states)
