"""What `FactorGraphField.marginals` and `FactorGraphField.sample` do, method by method, without evidence."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.fields import monte_carlo
from pymc_mrf.fields.belief_propagation import Convergence, factor_belief_propagation
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.junction_tree import MAX_CELLS
from pymc_mrf.graph.tree_partition import tree_partition

if TYPE_CHECKING:
    from pymc_mrf.fields.factor_graph import FactorGraphField

CHAINS = ("n_chains", "n_sweeps", "n_burn_in", "rng")
TREES = ("partition", "n_partitions")
MARGINALS = {
    "exact": (),
    "bp": ("damping", "tolerance", "max_iterations"),
    "tree": CHAINS + TREES,
    "gibbs": CHAINS,
}
DRAWS = {"exact": (), "tree": ("n_sweeps", *TREES), "gibbs": ("n_sweeps",)}

Arrays = tuple[np.ndarray, ...]
Partition = Sequence[Collection[int]]
Answer = tuple[Arrays, Arrays, tuple[Arrays, Arrays] | None, Convergence | None]
"""Variable and factor marginals, their standard errors and the convergence report."""

NOTHING_FREE: Answer = ((), (), None, None)
"""What `marginals` would return if all variables are known."""


def factor_tables(field: "FactorGraphField") -> np.ndarray:
    """Log tables of the factors one after the other, (T,)."""
    return np.concatenate([np.zeros(0), *(table.ravel() for table in field.tables)])


def start_states(field: "FactorGraphField", rng: np.random.Generator) -> Callable[[int], np.ndarray]:
    """Return a function that makes starts of chains, (m, d) int8, of positive probability.

    Uniform if every configuration is possible, else exact draws, because a search for possible
    configurations has no bound.
    """
    if all(table.min() > -np.inf for table in field.tables):
        cards = np.array(field.graph.cardinalities)
        return lambda m: (rng.random((m, len(cards))) * cards).astype(np.int8)
    if field.junction_tree.n_cells > MAX_CELLS:
        raise ValueError(
            "chains need a configuration of positive probability to start from; with -inf entries in "
            "tables this is an exact draw, and the junction tree of this field is too large for it; "
            "use large finite penalties instead of -inf"
        )
    return lambda m: field.exact_draws(m, rng)


def tree_simulator(
    field: "FactorGraphField",
    method: str,
    partition: Partition | None,
    n_partitions: int,
    rng: np.random.Generator,
) -> FactorTreeSimulator:
    """Make the simulator of single variables, of a partition, or of partitions to be found."""
    if method == "gibbs":
        return FactorTreeSimulator(field.graph, [[[i] for i in range(field.graph.n_variables)]])
    if partition is not None:
        return FactorTreeSimulator(field.graph, [partition])
    found: list[Any] = [tree_partition(field.graph, rng=rng) for _ in range(n_partitions)]
    return FactorTreeSimulator(field.graph, found)


def split(
    field: "FactorGraphField", variables: np.ndarray, factors: np.ndarray
) -> tuple[Arrays, Arrays]:
    """Tuples of arrays from (d, largest cardinality) and (T,)."""
    shapes = field.graph.table_shapes
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])[:-1]
    parts = np.split(factors, ends) if shapes else []
    return (
        tuple(row[:k].copy() for row, k in zip(variables, field.graph.cardinalities, strict=True)),
        tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)),
    )


def marginals(
    field: "FactorGraphField", method: str, rng: np.random.Generator, **options: Any
) -> Answer:
    """Variable and factor marginals, their standard errors and the convergence report."""
    if method == "exact":
        n = field.graph.n_factors
        parts = np.split(field.exact_marginals(), field.junction_tree.arrays.factors["first"][1:])
        factors = zip(parts[:n], field.graph.table_shapes, strict=True)
        return tuple(parts[n:]), tuple(part.reshape(shape) for part, shape in factors), None, None
    tables = factor_tables(field)
    if method == "bp":
        v, f, convergence = factor_belief_propagation(field.graph, tables, **options)
        return *split(field, v, f), None, convergence
    trees = tree_simulator(field, method, options.get("partition"), options.get("n_partitions", 1), rng)
    chains = {name: options[name] for name in ("n_chains", "n_sweeps", "n_burn_in")}
    means, errors = monte_carlo.factor_estimates(
        trees, tables, start_states(field, rng), **chains, rng=rng
    )
    return *split(field, *means), split(field, *errors), None


def draws(
    field: "FactorGraphField",
    n: int,
    method: str,
    rng: np.random.Generator,
    **options: Any,
) -> np.ndarray:
    """`n` configurations, (n, d) int8."""
    if method == "exact":
        return field.exact_draws(n, rng)
    trees = tree_simulator(field, method, options.get("partition"), options.get("n_partitions", 1), rng)
    x = start_states(field, rng)(n)
    trees.sweep(x, factor_tables(field), options["n_sweeps"], rng)
    return x


def with_evidence(
    graph: FactorGraph,
    states: np.ndarray,
    kept: Sequence[int],
    variables: Arrays,
    factors: Arrays,
    known: float = 1.0,
) -> tuple[Arrays, Arrays]:
    """Marginals of all variables and factors from those of the free ones.

    `kept` are the factors that have free variables; `known` is the entry of a known state: 1 for
    probabilities, 0 for their standard errors.
    """
    if (states < 0).all():
        return variables, factors
    left = iter(variables)
    all_variables = []
    for state, k in zip(states, graph.cardinalities, strict=True):
        if state < 0:
            all_variables.append(next(left))
        else:
            all_variables.append(np.where(np.arange(k) == state, known, 0.0))
    part_of = dict(zip(kept, factors, strict=True))
    all_factors = []
    for f, (scope, shape) in enumerate(zip(graph.scopes, graph.table_shapes, strict=True)):
        table = np.zeros(shape)
        cells = tuple(slice(None) if states[v] < 0 else int(states[v]) for v in scope)
        table[cells] = part_of.get(f, known)
        all_factors.append(table)
    return tuple(all_variables), tuple(all_factors)
