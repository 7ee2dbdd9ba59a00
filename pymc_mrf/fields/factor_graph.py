"""`FactorGraphField`: a field with tables over cliques of any size."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.fields import factor_methods
from pymc_mrf.fields.belief_propagation import Convergence
from pymc_mrf.fields.evidence import absorb_factors, evidence_states, free_blocks
from pymc_mrf.fields.exact import ExactInference, check_overflow, checked_table
from pymc_mrf.fields.methods import method_options, whole_number
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.junction_tree import JunctionTree


@dataclass(frozen=True, eq=False)
class FactorMarginals:
    """Marginal probabilities of a factor graph.

    Attributes
    ----------
    variables : tuple of (cardinality,) arrays
    factors : tuple of arrays
        Each of its factor's table shape.
    standard_error : FactorMarginals or None
        Monte Carlo standard errors of both; None for methods that do not sample.
    convergence : Convergence or None
        How belief propagation ended; None for other methods.
    """

    variables: tuple[np.ndarray, ...]
    factors: tuple[np.ndarray, ...]
    standard_error: "FactorMarginals | None" = None
    convergence: Convergence | None = None


class FactorGraphField(ExactInference):
    """Field with log p(x) = sum_f tables[f][x_scope(f)] - A.

    Parameters
    ----------
    scopes : iterable of sequences of int
        Variables 0..d-1 of each factor, at most 10 each, in the index order of its table.
    cardinalities : (d,) sequence of int
        Number of states of each variable, 2..127.
    tables : sequence of array_like
        Log table of each factor; axis k runs over the states of its k-th variable. -inf marks an
        impossible combination.

    Raises
    ------
    ValueError
        If a scope is not valid (see `FactorGraph`), the number of tables or a table's shape does
        not fit, an entry is NaN or +inf, or the sum of the tables overflows.

    Examples
    --------
    >>> import numpy as np
    >>> field = FactorGraphField([(0, 1, 2)], [2, 2, 3], [np.zeros((2, 2, 3))])
    >>> round(field.log_partition(), 4)  # log 12
    2.4849
    """

    def __init__(
        self,
        scopes: Iterable[Sequence[int]],
        cardinalities: Sequence[int],
        tables: Sequence[Any],
    ) -> None:
        self.graph = FactorGraph(scopes, cardinalities)
        if len(tables) != self.graph.n_factors:
            raise ValueError(
                f"tables has {len(tables)} entries but scopes has {self.graph.n_factors}; "
                "each factor needs one table"
            )
        self.tables = tuple(
            checked_table(table, shape, f"tables[{f}]")
            for f, (table, shape) in enumerate(zip(tables, self.graph.table_shapes, strict=True))
        )
        check_overflow(np.array([np.abs(t[t > -np.inf]).max(initial=0.0) for t in self.tables] or [0.0]))

    def __repr__(self) -> str:
        return f"FactorGraphField({self.graph!r})"

    @cached_property
    def junction_tree(self) -> JunctionTree:
        """Junction tree; its `width`, `n_cells` and `n_bytes` tell what exact answers cost."""
        return JunctionTree(self.graph.scopes, self.graph.cardinalities)

    def log_tables(self) -> np.ndarray:
        """Tables of the factors, then zeros for the variables alone, as one array."""
        alone = np.zeros(sum(self.graph.cardinalities))
        return np.concatenate([*(table.ravel() for table in self.tables), alone])

    def marginals(
        self,
        method: str = "exact",
        *,
        evidence: Mapping[int, int] | None = None,
        rng: np.random.Generator | int | None = None,
        n_chains: int | None = None,
        n_sweeps: int | None = None,
        n_burn_in: int | None = None,
        partition: Sequence[Collection[int]] | None = None,
        n_partitions: int | None = None,
        damping: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
    ) -> FactorMarginals:
        """Marginal probabilities of all variables and factors.

        Parameters
        ----------
        method : {"exact", "bp", "tree", "gibbs"}
            "exact": junction tree (Lauritzen & Spiegelhalter, 1988).
            "bp": belief propagation (Rivasseau, 2005, figure 2.6); exact on factor trees, else loopy:
            approximate, with a warning if it has not converged.
            "tree": tree sampling with Rao-Blackwellised estimates (Rivasseau, 2005, eq. 4.14).
            "gibbs": single-site Gibbs sampling, with the same estimates.
        evidence : dict, optional
            States of known variables; all answers are conditional on it.
        partition : sequence of collections of variables, optional
            Tree partition for "tree": every variable in exactly one block (those with evidence may be
            left out), the variables of a block without a cycle through factors that have several of
            them. By default `pymc_mrf.tree_partition` finds one.
        rng, n_chains, n_sweeps, n_burn_in, n_partitions, damping, tolerance, max_iterations
            As in `PairwiseField.marginals`.

        Returns
        -------
        FactorMarginals
            `variables` and `factors`, tuples of arrays, with `standard_error` from the variation
            between chains for "tree" and "gibbs" and `convergence` for "bp".

        Raises
        ------
        ValueError
            If the method is unknown, an option belongs to another method or is out of range, the
            evidence names an unknown variable or state or has probability zero, or the partition is
            none.
        """
        options = method_options(
            method,
            factor_methods.MARGINALS,
            dict(
                n_chains=n_chains, n_sweeps=n_sweeps, n_burn_in=n_burn_in,
                partition=partition, n_partitions=n_partitions,
                damping=damping, tolerance=tolerance, max_iterations=max_iterations,
            ),
        )  # fmt: skip
        states = self._evidence_states(evidence)
        rest, _, kept = self._given(states)
        if options.get("partition") is not None:
            options["partition"] = free_blocks(
                self.graph, range(len(states)), options["partition"], states
            )
        if rest is None:
            answer = factor_methods.NOTHING_FREE
        else:
            answer = factor_methods.marginals(rest, method, np.random.default_rng(rng), **options)
        variables, factors, errors, convergence = answer
        full = factor_methods.with_evidence(self.graph, states, kept, variables, factors)
        if errors is None:
            return FactorMarginals(*full, convergence=convergence)
        full_errors = factor_methods.with_evidence(self.graph, states, kept, *errors, known=0.0)
        return FactorMarginals(*full, standard_error=FactorMarginals(*full_errors))

    def sample(
        self,
        n: int,
        method: str = "exact",
        *,
        evidence: Mapping[int, int] | None = None,
        rng: np.random.Generator | int | None = None,
        n_sweeps: int | None = None,
        partition: Sequence[Collection[int]] | None = None,
        n_partitions: int | None = None,
    ) -> np.ndarray:
        """Draw `n` independent configurations.

        Parameters
        ----------
        n : int
            Non-negative.
        method : {"exact", "tree", "gibbs"}
            "exact": down the junction tree.
            "tree" and "gibbs": the last states of `n` independent chains of tree sampling or
            single-site Gibbs sampling, started at uniform states; approximate.
        evidence : dict, optional
            States of known variables; the others are drawn given them.
        rng : numpy.random.Generator or int, optional
            Generator or seed.
        n_sweeps : int, optional
            Sweeps of each chain, for "tree" and "gibbs" (default 200).
        partition, n_partitions : optional
            For "tree", as in `marginals`.

        Returns
        -------
        (n, d) int8 array
            State indices.

        Raises
        ------
        ValueError
            As in `marginals`.
        """
        options = method_options(
            method,
            factor_methods.DRAWS,
            dict(n_sweeps=n_sweeps, partition=partition, n_partitions=n_partitions),
        )
        n = whole_number(n, "n", 0)
        states = self._evidence_states(evidence)
        rest, free, _ = self._given(states)
        if options.get("partition") is not None:
            options["partition"] = free_blocks(
                self.graph, range(len(states)), options["partition"], states
            )
        x = np.tile(states, (n, 1))
        if rest is not None:
            x[:, free] = factor_methods.draws(rest, n, method, np.random.default_rng(rng), **options)
        return x

    def _evidence_states(self, evidence: Mapping[int, int] | None) -> np.ndarray:
        return evidence_states(evidence, range(self.graph.n_variables), self.graph.cardinalities)

    def _given(self, states: np.ndarray) -> "tuple[FactorGraphField | None, np.ndarray, list[int]]":
        """Return the field of the free variables, None if there is none, these, and its factors."""
        free = np.flatnonzero(states < 0)
        kept, scopes, tables = absorb_factors(self.graph.scopes, self.tables, states)
        if len(free) == self.graph.n_variables:
            return self, free, kept
        if not len(free):
            return None, free, kept
        position = {int(v): k for k, v in enumerate(free)}
        field = FactorGraphField(
            [[position[v] for v in scope] for scope in scopes],
            [self.graph.cardinalities[v] for v in free],
            tables,
        )
        return field, free, kept

    def energy(self, x: Any) -> np.ndarray:
        """Energy of configurations: the lower, the more probable, p(x) = exp(-energy(x) - A).

        Parameters
        ----------
        x : (..., d) integer array_like
            State indices.

        Returns
        -------
        (...) array
            Minus the sum of all log tables; inf for an impossible configuration.
        """
        x = self.check_configurations(x)
        total = np.zeros(x.shape[:-1])
        for scope, table in zip(self.graph.scopes, self.tables, strict=True):
            total += table[tuple(x[..., v] for v in scope)]
        return -total
