"""`JunctionTree`: the plan of an exact computation, its costs known before it is paid for."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pymc_mrf.graph.elimination import (
    Clique,
    Cost,
    adjacency_arrays,
    adjacency_sets,
    elimination_order,
    higher_neighbors,
    maximal_cliques,
    order_cost,
)
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.frozen import Frozen
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_arrays import TreeArrays, tree_arrays

AUTO_CELLS = 2**20
"""Largest sum of table sizes for which exact inference is chosen unasked: all marginals then take
at most about 20 ms on one core. A binary 13 x 13 grid is below it, a 14 x 14 grid above."""

MAX_CELLS = 2**25
"""Largest sum of table sizes that is computed at all: all marginals then take at most about a second
and 0.5 GB. A binary 16 x 16 grid needs a fifth of it."""


class JunctionTree(Frozen):
    """Junction tree of a discrete field, frozen: cliques, costs and flat arrays for the kernels.

    Building one allocates no table, so that `width`, `n_cells` and `n_bytes` can be looked at
    first. Besides the given scopes every variable gets a factor of its own, in order, after them:
    factor f < len(scopes) is ``scopes[f]`` and factor len(scopes) + i is variable i alone.

    `scopes`: variables of each factor, all different within a factor; index order of the factor's table.
    `cardinalities` (d,) sequence of int: number of states of each variable, 2..127. `order`: elimination
    order; by default the result of `elimination_order` for at most `MAX_CELLS` cells.

    Attributes: `n_scopes`: number of scopes given. Raises a ValueError if `order` is not a permutation
    of the variables.
    """

    n_scopes: int
    cardinalities: tuple[int, ...]
    order: tuple[int, ...]
    _given: Any
    _cost: Cost

    def __init__(
        self,
        scopes: Iterable[Sequence[int]] | np.ndarray,
        cardinalities: Sequence[int],
        order: Sequence[int] | None = None,
    ) -> None:
        cards = tuple(int(k) for k in cardinalities)
        if isinstance(scopes, np.ndarray):
            scopes = scopes.astype(np.int64)
        else:
            scopes = tuple(tuple(map(int, scope)) for scope in scopes)
        adjacency = adjacency_arrays(scopes, len(cards))
        if order is None:
            order, cost = elimination_order(adjacency, cards, MAX_CELLS)
        elif sorted(order) != list(range(len(cards))):
            raise ValueError(
                f"order must be a permutation of the variables 0..{len(cards) - 1}, not {order!r}"
            )
        else:
            cost = order_cost(adjacency, cards, order)
        self._hold(
            cardinalities=cards,
            n_scopes=len(scopes),
            order=tuple(map(int, order)),
            _given=scopes,
            _cost=cost,
        )

    @property
    def n_variables(self) -> int:
        return len(self.cardinalities)

    @cached_property
    def scopes(self) -> tuple[tuple[int, ...], ...]:
        """Scopes of all factors, the variables alone included; made on request, as they may be many."""
        given = self._given.tolist() if isinstance(self._given, np.ndarray) else self._given
        return (*map(tuple, given), *((i,) for i in range(self.n_variables)))

    @property
    def width(self) -> int:
        """Number of variables of the largest clique, less one."""
        return self._cost.width

    @property
    def n_cells(self) -> int:
        """Sum of the sizes of the clique tables: one pass costs a few nanoseconds per cell."""
        return self._cost.n_cells

    @cached_property
    def cliques(self) -> tuple[Clique, ...]:
        """Maximal cliques, children before parents; made on request, as they may be many and large."""
        adjacency = adjacency_sets(self.scopes, self.n_variables)
        return tuple(maximal_cliques(higher_neighbors(adjacency, self.order), self.order))

    @property
    def n_bytes(self) -> int:
        """Memory of the tables that marginals need: two of 8 bytes per cell."""
        return 16 * self.n_cells

    @cached_property
    def arrays(self) -> TreeArrays:
        """Flat read-only arrays for the kernels; refused as in `check_tractable`."""
        check_tractable(self)
        return tree_arrays(self.cliques, self.scopes, self.cardinalities)

    @cached_property
    def factor_order(self) -> np.ndarray:
        """Factors clique by clique in depth-first order, (F,) int64.

        Visiting factors in this order, the focus of an incremental calibration crosses every
        link of the tree at most twice.
        """
        # every clique follows the subtree below it
        order = np.argsort(-self.arrays.factors["clique"], kind="stable")
        order.setflags(write=False)
        return order

    def _content(self) -> bytes:
        return repr((self.cardinalities, self.scopes, self.n_scopes, self.order)).encode()

    def __repr__(self) -> str:
        return (
            f"JunctionTree({self.n_variables} variables, width {self.width}, "
            f"{self.n_cells} cells, sha256={self.digest[:16]})"
        )

    def __reduce__(self):
        return (JunctionTree, (self.scopes[: self.n_scopes], self.cardinalities, self.order))


def junction_tree(graph: PairwiseGraph, n_states: int) -> JunctionTree:
    """Junction tree of a pairwise field in which every node has `n_states` states."""
    return JunctionTree(graph.edges, [n_states] * graph.n_nodes)


@lru_cache(maxsize=64)
def field_tree(graph: PairwiseGraph, n_states: int) -> JunctionTree:
    """`junction_tree`, planned once per graph by everything that serves one model."""
    return junction_tree(graph, n_states)


@lru_cache(maxsize=64)
def factor_graph_tree(graph: FactorGraph) -> JunctionTree:
    """Junction tree of a factor graph, planned once per graph likewise."""
    return JunctionTree(graph.scopes, graph.cardinalities)


def is_cheap(tree: JunctionTree) -> bool:
    """Whether exact inference is chosen unasked: at most `AUTO_CELLS` table cells."""
    return tree.n_cells <= AUTO_CELLS


def is_tractable(tree: JunctionTree) -> bool:
    """Whether exact inference is allowed on request: at most `MAX_CELLS` table cells."""
    return tree.n_cells <= MAX_CELLS


def check_tractable(
    tree: JunctionTree,
    max_cells: int = MAX_CELLS,
    *,
    remedy: str = "use an approximate method instead, or a sparser graph",
) -> None:
    """Raise a ValueError, before any table is allocated, if the tables exceed `max_cells` cells.

    `remedy` tells what the user can do where this is called.
    """
    if tree.n_cells > max_cells:
        gigabytes = _short(-(-tree.n_bytes // 10**9))
        raise ValueError(
            f"exact inference needs a junction tree of width {tree.width}, that is "
            f"{_short(tree.n_cells)} table cells or {gigabytes} GB of memory; the limit is "
            f"{_short(max_cells)} cells; {remedy}"
        )


def _short(number: int) -> str:
    """Three digits of a number that may be too large for a float."""
    return f"{number:.3g}" if number < 10**15 else f"10^{math.log10(number):.0f}"
