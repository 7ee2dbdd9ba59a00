"""`FactorGraphField`: a field with tables over cliques of any size."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.checks import check_labels
from pymc_mrf.fields.belief_propagation import Convergence, factor_belief_propagation
from pymc_mrf.fields.evidence import Given, absorb_factors
from pymc_mrf.fields.exact import check_overflow, checked_table
from pymc_mrf.fields.field import FixedField
from pymc_mrf.fields.methods import estimates, moments
from pymc_mrf.fields.modes import Mode
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.fields.two_starts import factor_starts_meet
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.junction_tree import JunctionTree
from pymc_mrf.parts import Parts

Arrays = tuple[np.ndarray, ...]


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
        How belief propagation ended, which says nothing about whether the field is possible; None for
        other methods.
    """

    variables: tuple[np.ndarray, ...]
    factors: tuple[np.ndarray, ...]
    standard_error: "FactorMarginals | None" = None
    convergence: Convergence | None = None


class FactorGraphField(FixedField[FactorMarginals]):
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

    A cause and its effect: the most probable cause once the effect is seen, and the probability to see it.

    >>> cause, effect = np.log([0.9, 0.1]), np.log([[0.99, 0.01], [0.2, 0.8]])
    >>> field = FactorGraphField([(0,), (0, 1)], [2, 2], [cause, effect])
    >>> field.map(evidence={1: 1}).tolist()
    [1, 1]
    >>> f"{np.exp(field.log_partition(evidence={1: 1})):.3f}"
    '0.089'
    """

    _result: ClassVar[type] = FactorMarginals

    def __init__(
        self,
        scopes: Iterable[Sequence[int]],
        cardinalities: Sequence[int],
        tables: Sequence[Any],
    ) -> None:
        self.graph = FactorGraph(scopes, cardinalities)
        self.tables = tuple(checked_table(*own) for own in self.graph.each_table(tables))
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

    @property
    def _labels(self) -> Sequence[int]:
        return range(self.graph.n_variables)

    @property
    def _cards(self) -> Sequence[int]:
        return self.graph.cardinalities

    def _given(self, states: np.ndarray) -> "Given[FactorGraphField]":
        free = np.flatnonzero(states < 0)
        kept, scopes, tables, known = absorb_factors(self.graph.scopes, self.tables, states)
        if len(free) == self.graph.n_variables:
            return Given(self, free, kept, known)
        if not len(free):
            return Given(None, free, kept, known)
        position = {int(v): k for k, v in enumerate(free)}
        field = FactorGraphField(
            [[position[v] for v in scope] for scope in scopes],
            [self.graph.cardinalities[v] for v in free],
            tables,
        )
        return Given(field, free, kept, known)

    def _marginals(self, method: str, rng: np.random.Generator, **options: Any) -> tuple:
        if method == "exact":
            n = self.graph.n_factors
            parts = np.split(self.exact_marginals(), self.junction_tree.arrays.factors["first"][1:])
            factors = zip(parts[:n], self.graph.table_shapes, strict=True)
            return tuple(parts[n:]), tuple(part.reshape(shape) for part, shape in factors), None, None
        tables = factor_tables(self)
        if method == "bp":
            v, f, convergence = factor_belief_propagation(self.graph, tables, **options)
            return *self._split(v, f), None, convergence
        simulator = self._simulator(method, rng, options)
        shape = self.graph.n_variables, max(self.graph.cardinalities)
        n_sweeps, n_burn_in = options["n_sweeps"], options["n_burn_in"]

        def run(x):
            simulator.sweep(x, tables, n_burn_in, rng)
            variable_sum, factor_sum = np.zeros((len(x), *shape)), np.zeros((len(x), tables.size))
            simulator.add_marginals(x, tables, n_sweeps, rng, variable_sum, factor_sum)
            return moments(variable_sum, n_sweeps, 0), moments(factor_sum, n_sweeps, 0)

        n_bytes = 8 * (tables.size + shape[0] * shape[1])
        means, errors = estimates(self._start_states(rng), run, n_bytes, options["n_chains"])
        return *self._split(*means), self._split(*errors), None

    def _mode(self, method: str, **options: Any) -> Mode:
        z = self.exact_mode()
        value = -float(self.energy(z))
        return Mode(z, value, value, "exact", 1.0, "exact")

    def _moved(self, x: np.ndarray, method: str, rng: np.random.Generator, **options: Any) -> np.ndarray:
        self._simulator(method, rng, options).sweep(x, factor_tables(self), options["n_sweeps"], rng)
        return x

    def _starts_meet(self, disorder, method, rng, n_sweeps, **options):
        simulator = self._simulator(method, rng, options)
        return factor_starts_meet(simulator, factor_tables(self), disorder, n_sweeps, rng)

    def _simulator(self, method: str, rng: np.random.Generator, options: dict) -> FactorTreeSimulator:
        """Make the simulator of single variables, of a partition, or of partitions to be found."""
        if method == "gibbs":
            return FactorTreeSimulator(self.graph, [[[i] for i in range(self.graph.n_variables)]])
        partitions = self._partitions(options["partition"], options["n_partitions"], rng)
        return FactorTreeSimulator(self.graph, partitions)

    def _uniform_states(self, rng: np.random.Generator) -> Callable[[int], np.ndarray] | None:
        if any(table.min() == -np.inf for table in self.tables):
            return None
        cards = np.array(self.graph.cardinalities)
        return lambda m: (rng.random((m, len(cards))) * cards).astype(np.int8)

    def _split(self, variables: np.ndarray, factors: np.ndarray) -> tuple[Arrays, Arrays]:
        """Tuples of arrays from (d, largest cardinality) and (T,)."""
        return (
            tuple(row[:k].copy() for row, k in zip(variables, self.graph.cardinalities, strict=True)),
            tuple(Parts(self.graph.table_shapes).of(factors)),
        )

    def _nothing_free(self) -> tuple:
        return (), (), None, None

    def _complete(
        self, states: np.ndarray, kept: list[int], single: Any, joint: Any, known: float = 1.0
    ) -> tuple:
        if (states < 0).all():
            return single, joint
        left = iter(single)
        variables = tuple(
            next(left) if state < 0 else np.where(np.arange(k) == state, known, 0.0)
            for state, k in zip(states, self.graph.cardinalities, strict=True)
        )
        part_of = dict(zip(kept, joint, strict=True))
        factors = []
        for f, (scope, shape) in enumerate(zip(self.graph.scopes, self.graph.table_shapes, strict=True)):
            table = np.zeros(shape)
            cells = tuple(slice(None) if states[v] < 0 else int(states[v]) for v in scope)
            table[cells] = part_of.get(f, known)
            factors.append(table)
        return variables, tuple(factors)

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
        check_labels(x, range(self.graph.n_variables), "x", "variable")
        x = self.check_configurations(x)
        total = np.zeros(x.shape[:-1])
        for scope, table in zip(self.graph.scopes, self.tables, strict=True):
            total += table[tuple(x[..., v] for v in scope)]
        return -total


def factor_tables(field: FactorGraphField) -> np.ndarray:
    """Log tables of the factors one after the other, (T,)."""
    return np.concatenate([np.zeros(0), *(table.ravel() for table in field.tables)])
