"""Modes of pairwise fields: by name of the method, and what is known of how good they are.

By minimum cuts those of attractive binary fields are found, and by alpha-expansion those of any number
of states. Greig, Porteous & Seheult (1989) turn the mode of a binary field whose neighbours attract each
other into a minimum cut of a network of the nodes, a source and a sink. Boykov, Veksler & Zabih (2001)
improve a configuration of K states by such cuts, each of which lets any set of nodes change to one
state.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pymc_mrf.checks import first_cell
from pymc_mrf.fields.belief_propagation import pairwise_max_product
from pymc_mrf.fields.exact import ExactInference
from pymc_mrf.fields.pairwise_tables import FrustrationError, PairwiseTables, attractive_form
from pymc_mrf.graph.junction_tree import MAX_CELLS
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.estimates.local_search import iterated_conditional_modes

UNITS = 2**30 - 1
"""Largest capacity in whole units: residual capacities, up to twice as large, have 32 bits."""

SETTLED = 0.01
"""Share of the nodes that a round has to settle if another one is to follow."""


class MoveError(ValueError):
    """Moves to one state are no minimum cuts."""


class Cut(NamedTuple):
    """Most probable states of an attractive binary field.

    `x` (d,) bool. `gap`: what the log potential may fall short of the largest, because capacities are
    whole numbers.
    """

    x: np.ndarray
    gap: float


def minimum_cut(weight: np.ndarray, bias: np.ndarray, edges: np.ndarray) -> Cut:
    """Find the largest sum of weight_e x_u x_v + bias_i x_i over x in {0, 1}.

    `weight` (r,): non-negative. `bias` (d,): entries may be infinite. `edges` (r, 2) int.

    Nodes whose field outweighs all their neighbours are settled first. The capacities of the others are
    rounded to multiples of the largest sum of couplings at a node divided by `UNITS`, and `gap` is the sum
    of what rounding changed: some 1e-10 times the number of nodes and edges where couplings are alike.
    """
    d = len(bias)
    half = weight / 2.0  # w x y = w (x + y) / 2 - w |x - y| / 2
    field = bias + np.bincount(edges.ravel(), np.repeat(half, 2), d)
    x = np.zeros(d, dtype=bool)
    is_free = np.ones(d, dtype=bool)
    while True:
        near = np.bincount(edges.ravel(), np.repeat(half, 2), d)
        settles = is_free & (np.abs(field) >= near)
        x[settles] = field[settles] > 0
        is_free &= ~settles
        ends = is_free[edges]
        for i, j in ((0, 1), (1, 0)):
            at = ends[:, i] & ~ends[:, j]
            force = np.where(x[edges[at, j]], half[at], -half[at])
            field += np.bincount(edges[at, i], force, d)
        inside = ends.all(axis=1)
        edges, half = edges[inside], half[inside]
        if settles.sum() <= SETTLED * d:
            break
    if not len(edges):
        x[is_free] = field[is_free] > 0
        return Cut(x, 0.0)
    number = np.cumsum(is_free) - 1
    x[is_free], gap = cut_network(half, field[is_free], number[edges])
    return Cut(x, gap)


def cut_network(half: np.ndarray, field: np.ndarray, edges: np.ndarray) -> Cut:
    """Nodes on the side of the source, to which positive fields pull."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n = len(field)
    source, sink = n, n + 1
    near = np.bincount(edges.ravel(), np.repeat(half, 2), n)
    unit = near.max() / UNITS
    pull = np.clip(field, -near, near)  # a stronger one decides, too, as seen to below
    up, down = np.flatnonzero(pull > 0), np.flatnonzero(pull < 0)
    u, v = edges.T
    rows = np.concatenate([u, v, np.full(len(up), source), down])
    columns = np.concatenate([v, u, up, np.full(len(down), sink)])
    wanted = np.concatenate([half, half, pull[up], -pull[down]]) / unit
    capacity = np.rint(wanted)
    gap = float(np.abs(capacity - wanted)[len(half) :].sum() * unit)  # an edge is cut in one direction
    network = csr_array((capacity.astype(np.int32), (rows, columns)), shape=(n + 2, n + 2))
    network.sort_indices()
    flow = maximum_flow(network, source, sink, method="dinic").flow
    residual = network - flow
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    x = np.zeros(n + 2, dtype=bool)
    x[reached] = True
    return Cut(np.where(np.abs(field) >= near, field > 0, x[:n]), gap)


def binary_mode(tables: PairwiseTables) -> Cut:
    """Mode of a binary field whose couplings are attractive, or can be made so by exchanging states.

    Edge tables are finite; node tables are -inf for at most one of the states of a node.

    Raises a FrustrationError if a cycle has an odd number of repulsive edges.
    """
    weight, bias, flips = attractive_form(tables)
    x, gap = minimum_cut(weight, bias, tables.graph.edges)
    return Cut(x ^ flips, gap)


def check_expandable(graph: PairwiseGraph, edge_tables: np.ndarray) -> None:
    """Refuse tables for which a move to one state is no minimum cut.

    Raises a MoveError if theta(a, b) + theta(c, c) < theta(a, c) + theta(c, b) for an edge and states a,
    b and c (Boykov, Veksler & Zabih, 2001, eq. 3, where V is minus theta).
    """
    tables = edge_tables[:1] if (edge_tables == edge_tables[:1]).all() else edge_tables
    slack = 1e-9 * np.abs(tables).max(axis=(1, 2), initial=1.0)
    for c in range(tables.shape[1]):
        excess = tables[:, :, c, None] + tables[:, None, c, :] - tables - tables[:, c, c, None, None]
        if (excess > slack[:, None, None]).any():
            e, a, b = first_cell(excess > slack[:, None, None])
            raise MoveError(
                f"the table of the edge {graph.edge_labels[e]} is not metric: with theta[{a}, {b}] + "
                f"theta[{c}, {c}] = {tables[e, a, b] + tables[e, c, c]:.4g} below theta[{a}, {c}] + "
                f"theta[{c}, {b}] = {tables[e, a, c] + tables[e, c, b]:.4g}, a move to state {c} is no "
                "minimum cut. Metric are equal-or-not (Potts) tables where neighbours attract each other, "
                "and differences of ordered states, also cut off at some size"
            )


class Expansion(NamedTuple):
    """Configuration that no move of any set of nodes to one state improves.

    `x` (d,) int64. `factor`: the energy of `x`, its least value of every node and edge set to zero, is
    at most this factor times the least energy; inf if not all pairs of different states have a positive
    energy. `bound`: upper bound on the log potential of any configuration.
    """

    x: np.ndarray
    factor: float
    bound: float


def alpha_expansion(tables: PairwiseTables) -> Expansion:
    """Improve a configuration by moves to one state until none helps: Boykov, Veksler & Zabih (2001).

    `tables`: edge tables are finite, and as `check_expandable` asks; each node has a possible state.

    Let theta_e(a, b) = f_e(a) + g_e(b) - V_e(a, b) with V_e(a, a) = 0 and f_e - g_e such that V_e is as
    symmetric as can be; f_e and g_e belong to the nodes, whose best states alone are the start. The energy
    is at most 2 c times the least one, c the largest ratio of two values of one V_e, a != b (their Theorem
    6.1, whose proof needs no symmetry and allows each edge an own V_e).
    """
    graph, edge_tables, node_tables = tables
    edges, n_states = graph.edges, node_tables.shape[1]
    u, v = edges.T
    e, i = np.arange(len(edges)), np.arange(len(node_tables))
    half = np.diagonal(edge_tables, axis1=1, axis2=2) / 2.0  # (r, K)
    skew = (edge_tables.mean(axis=2) - edge_tables.mean(axis=1)) / 2.0
    alone = node_tables.copy()
    np.add.at(alone, u, half + skew)
    np.add.at(alone, v, half - skew)
    x = alone.argmax(axis=1)
    value = float(tables.log_potential(x))
    gaps, state, n_idle = np.zeros(n_states), 0, 0
    while n_idle < n_states:
        stay, move = edge_tables[e, x[u], x[v]], edge_tables[e, state, state]
        first, second = edge_tables[e, state, x[v]], edge_tables[e, x[u], state]
        weight = np.maximum(stay + move - first - second, 0.0)
        bias = node_tables[:, state] - node_tables[i, x]
        bias += np.bincount(u, first - stay, len(i)) + np.bincount(v, second - stay, len(i))
        cut = minimum_cut(weight, bias, edges)
        new = np.where(cut.x, state, x)
        change = float(tables.log_potential(new)) - value
        gaps[state] = cut.gap
        if change > 1e-12 * abs(value):
            x, value, n_idle = new, value + change, 0
        n_idle += 1
        state = (state + 1) % n_states
    apart = ~np.eye(n_states, dtype=bool)
    costs = (half + skew)[:, :, None] + (half - skew)[:, None, :] - edge_tables
    costs = costs[:, apart]  # (r, K (K - 1))
    low, high = costs.min(axis=1), costs.max(axis=1)
    coupled = high > 1e-12 * np.abs(edge_tables).max(axis=(1, 2))
    with np.errstate(divide="ignore"):
        ratios = high[coupled] / np.maximum(low[coupled], 0.0)
    factor = 2.0 * float(ratios.max(initial=1.0))
    ceiling = float(alone.max(axis=1).sum() + np.maximum(-low, 0.0).sum())
    return Expansion(x, factor, ceiling - max(ceiling - value - float(gaps.sum()), 0.0) / factor)


@dataclass(frozen=True, eq=False)
class Mode:
    """A most probable configuration, or one that is nearly so.

    Attributes
    ----------
    states : (d,) int8 array
        State indices.
    log_potential : float
        Sum of the log potentials of `states`: minus their energy.
    bound : float
        No configuration has a larger log potential.
    promise : {"exact", "factor", "local"}
        "exact": no configuration is more probable; where `bound` exceeds `log_potential`, the difference
        is all that rounding may have cost.
        "factor": no change of any set of nodes to one state makes it more probable, and its energy is at
        most `factor` times the least. Energies are those of which `bound` was made: counted from the best
        state of every node, and from neighbours in equal states.
        "local": no change of one node makes it more probable.
    factor : float
        1 for "exact", inf for "local".
    method : str
        The method that found it; never "auto".
    """

    states: np.ndarray
    log_potential: float
    bound: float
    promise: str
    factor: float
    method: str

    @classmethod
    def exact(cls, states: np.ndarray, tables: PairwiseTables, method: str, gap: float = 0.0) -> "Mode":
        """Mode that is exact, but for the `gap` that rounding may have cost."""
        value = float(tables.log_potential(states))
        return cls(states, value, value + gap, "exact", 1.0, method)


def cut_mode(tables: PairwiseTables) -> Mode:
    """Mode by graph cuts.

    Raises a `FrustrationError` or a `MoveError` if graph cuts do not apply.
    """
    infinite = ~np.isfinite(tables.edges).all(axis=(1, 2))
    if infinite.any():
        label = tables.graph.edge_labels[int(np.argmax(infinite))]
        raise MoveError(
            f"the table of the edge {label} has -inf entries, which no "
            "capacity stands for; a large negative number such as -50 can take their place"
        )
    if tables.nodes.shape[1] == 2:
        cut = binary_mode(tables)
        return Mode.exact(cut.x.astype(np.int8), tables, "cut", cut.gap)
    check_expandable(tables.graph, tables.edges)
    x, factor, bound = alpha_expansion(tables)
    value = float(tables.log_potential(x))
    promise = "factor" if np.isfinite(factor) else "local"
    return Mode(x.astype(np.int8), value, max(bound, value), promise, factor, "cut")


def local_mode(tables: PairwiseTables, method: str, options: dict) -> Mode:
    """Mode by max-product belief propagation, or by the method of Besag (1986) alone."""
    if method == "bp":
        z, exact = pairwise_max_product(tables, **options)
    else:
        z, exact = tables.nodes.argmax(axis=1).astype(np.int8), tables.graph.n_edges == 0
        iterated_conditional_modes(z, *tables.arrays)
    value = float(tables.log_potential(z))
    if value == -np.inf:
        raise ValueError(
            f'method="{method}" has found no configuration that is possible under the -inf entries of the '
            "field; use large finite penalties such as -50 instead of -inf"
        )
    if exact:
        return Mode.exact(z, tables, method)
    return Mode(z, value, tables.largest(), "local", np.inf, method)


def pairwise_mode(field: ExactInference, tables: PairwiseTables, method: str, options: dict) -> Mode:
    """Mode of a pairwise field by a method; "auto" takes the first of exact, cut and bp that applies."""
    if method == "exact" or (method == "auto" and field.junction_tree.n_cells <= MAX_CELLS):
        z = field.exact_mode('use method="cut", "bp" or "icm" instead, or a sparser graph')
        return Mode.exact(z, tables, "exact")
    if method in ("cut", "auto"):
        try:
            return cut_mode(tables)
        except (FrustrationError, MoveError) as error:
            if method == "cut":
                raise ValueError(
                    f'{error}. Use method="bp" or "icm" in place of "cut", or "exact" if the junction tree '
                    "is small enough"
                ) from None
    return local_mode(tables, "bp" if method == "auto" else method, options)
