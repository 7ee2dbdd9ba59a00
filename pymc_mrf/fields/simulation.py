"""Simulation of a pairwise field by many Gibbs chains at once, by the fastest kernel for its shape."""

from collections.abc import Callable
from functools import partial

import numpy as np

from pymc_mrf.checks import check_array_shape, whole_number
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import (
    dense_gibbs,
    gibbs,
    packed_gibbs,
    packed_states,
    pair_counts,
    states_gibbs,
)

Sweeps = Callable[[int, np.random.Generator], None]
"""Moves the chains loaded, by a number of sweeps of a field that is tabulated."""

MAX_PACKED_DEGREE = 12
"""No tables beyond: their size is exponential in the degree."""

MIN_CHAINS = 8
"""Number of chains from which blocks of chains are faster than one chain after the other: two states."""

MIN_CHAINS_STATES = 16
"""What the same number is for more states."""

SWEEPS_KEPT = 15
"""Sweeps whose states are kept until they are counted."""


class PackedChains:
    """Chains of a sparse binary field, 64 to a machine word: see `kernels.packed_gibbs`."""

    def __init__(self, graph: PairwiseGraph, n_chains: int) -> None:
        self.graph = graph
        self.n_chains = n_chains
        self.plan = packed_gibbs.plan(graph.arrays)
        self.tables = packed_gibbs.allocate_tables(self.plan, n_chains)
        self.z = np.zeros((graph.n_nodes, packed_states.n_words(n_chains)), dtype=np.uint64)

    def load(self, x: np.ndarray) -> None:
        if x.flags.c_contiguous:
            packed_states.pack(x, self.z)
        else:
            packed_states.pack_columns(x.T, self.z)

    def prepare(self, edge_tables, node_tables, n_sweeps) -> Sweeps:
        packed_gibbs.fill_tables(self.tables, edge_tables, node_tables, self.graph.arrays, self.plan)
        return partial(packed_gibbs.seeded_sweeps, self.z, self.plan, self.tables)

    def store(self, x: np.ndarray) -> None:
        if x.flags.c_contiguous:
            packed_states.unpack(self.z, x)
        else:
            packed_states.unpack_columns(self.z, x.T)

    def pair_counts(self, counts: np.ndarray) -> None:
        pair_counts.pair_counts_packed(self.z, self.n_chains, self.graph.edges, counts)


class BlockChains:
    """Chains as columns of blocks, of any number of states: see `kernels.states_gibbs`."""

    def __init__(self, graph: PairwiseGraph, n_chains: int) -> None:
        self.graph = graph
        self.n_chains = n_chains
        n_blocks = -(-n_chains // states_gibbs.BLOCK)
        self.z = np.zeros((n_blocks, graph.n_nodes, states_gibbs.BLOCK), dtype=np.int8)

    def load(self, x: np.ndarray) -> None:
        states_gibbs.load_blocks(x, self.z)

    def prepare(self, edge_tables, node_tables, n_sweeps) -> Sweeps:
        n_draws = self.n_chains * n_sweeps
        tables = states_gibbs.tabulate(edge_tables, node_tables, self.graph.arrays, n_draws)
        return partial(states_gibbs.sweep_blocks, self.z, tables, self.graph.arrays)

    def store(self, x: np.ndarray) -> None:
        states_gibbs.store_blocks(self.z, x)

    def pair_counts(self, counts: np.ndarray) -> None:
        x = np.empty((self.n_chains, self.graph.n_nodes), dtype=np.int8)
        self.store(x)
        pair_counts.pair_counts(x, self.graph.edges, counts)


class RowChains:
    """Chains as rows of state indices (m, d) int8, moved by a kernel that takes log tables."""

    def __init__(self, graph: PairwiseGraph, n_chains: int, kernel: str) -> None:
        self.graph = graph
        self.kernel = ROW_KERNELS[kernel]
        self.x = np.zeros((n_chains, graph.n_nodes), dtype=np.int8)

    def load(self, x: np.ndarray) -> None:
        self.x[:] = x

    def prepare(self, edge_tables, node_tables, n_sweeps) -> Sweeps:
        n_draws = len(self.x) * n_sweeps
        return partial(self.kernel(edge_tables, node_tables, self.graph.arrays, n_draws), self.x)

    def store(self, x: np.ndarray) -> None:
        x[:] = self.x

    def pair_counts(self, counts: np.ndarray) -> None:
        pair_counts.pair_counts(self.x, self.graph.edges, counts)


def _plain_sweeps(edge_tables, node_tables, graph, n_draws) -> Callable[..., None]:
    return lambda x, n_sweeps, rng: gibbs.gibbs_sweeps(x, edge_tables, node_tables, graph, n_sweeps, rng)


def _dense_sweeps(edge_tables, node_tables, graph, n_draws) -> Callable[..., None]:
    # weights and biases cannot express impossible pairs: infinity less infinity
    if not (np.isfinite(edge_tables).all() and np.isfinite(node_tables).all()):
        tables = states_gibbs.tabulate(edge_tables, node_tables, graph, n_draws)
        return lambda x, n_sweeps, rng: states_gibbs.sweep_rows(x, tables, graph, n_sweeps, rng)
    weight, bias = gibbs.binary_form(edge_tables, node_tables, graph.edges)
    return lambda x, n_sweeps, rng: dense_gibbs.gibbs_sweeps_dense(x, weight, bias, graph, n_sweeps, rng)


ROW_KERNELS: dict[str, Callable] = {"plain": _plain_sweeps, "dense": _dense_sweeps}
"""Functions of log tables, `GraphArrays` and the number of draws that tabulate a field and return its
sweeps, functions of rows, number of sweeps and generator."""


def _packed_pays(degree: np.ndarray, n_chains: int) -> bool:
    """Compare the times of both kernels for nodes of these degrees, measured on an AVX-512 machine.

    The tables are counted as if made for every fourth sweep.
    """
    if degree.max() > MAX_PACKED_DEGREE:
        return False
    configurations = 2.0**degree
    n_packed = 64 * packed_states.n_words(n_chains)
    n_dense = -(-n_chains // dense_gibbs.BLOCK) * dense_gibbs.BLOCK
    packed = n_packed * (0.08 + 0.0035 * configurations) + 1.3 * configurations  # ns
    dense = n_dense * (1.35 + 0.03 * degree)  # ns
    return bool(packed.sum() < dense.sum())


def _choose(graph: PairwiseGraph, n_states: int, n_chains: int) -> str:
    if n_chains < (MIN_CHAINS if n_states == 2 else MIN_CHAINS_STATES):
        return "plain"
    if n_states > 2:
        return "states"
    return "packed" if _packed_pays(np.diff(graph.arrays.indptr), n_chains) else "dense"


class GibbsSimulator:
    """Single-site Gibbs sweeps of many chains of one field, in chromatic order (Geman & Geman, 1984).

    A sweep leaves the field's distribution invariant, within the accuracy of the kernel. The working
    arrays belong to the object: it must not be shared between threads.

    Parameters
    ----------
    graph : PairwiseGraph
    n_states : int
        States per node, K, 2..127.
    n_chains : int
        Chains moved together, m >= 1.

    Attributes
    ----------
    kernel : str
        Which kernel serves this shape: "packed" (sparse binary fields: `kernels.packed_gibbs`), "dense"
        (binary fields with nodes of high degree: `kernels.dense_gibbs`), "states" (more states:
        `kernels.states_gibbs`) or "plain" (a few chains: `kernels.gibbs`).

    Raises
    ------
    ValueError
        If `n_states` or `n_chains` is out of range, or an array has another shape or dtype.

    Examples
    --------
    >>> simulator = GibbsSimulator(graph, n_states=2, n_chains=1000)
    >>> simulator.sweep(x, edge_tables, node_tables, n_sweeps=10, rng=rng)  # x (1000, d) int8, in place

    Where nobody looks at the states in between, keep them in the form of the kernel:

    >>> simulator.load(x)
    >>> for edge_tables in path:
    ...     simulator.advance(edge_tables, node_tables, n_sweeps=1, rng=rng)
    ...     moments = simulator.pair_counts() / 1000  # (r, K, K)
    >>> simulator.store(x)
    """

    def __init__(self, graph: PairwiseGraph, n_states: int, n_chains: int) -> None:
        self.graph = graph
        self.n_states = whole_number(n_states, "n_states", 2)
        self.n_chains = whole_number(n_chains, "n_chains", 1)
        if n_states > 127:
            raise ValueError(f"n_states must be at most 127, not {n_states}; states are int8 indices")
        self.kernel = _choose(graph, self.n_states, self.n_chains)
        self._chains: PackedChains | BlockChains | RowChains
        if self.kernel == "packed":
            self._chains = PackedChains(graph, self.n_chains)
        elif self.kernel == "states":
            self._chains = BlockChains(graph, self.n_chains)
        else:
            self._chains = RowChains(graph, self.n_chains, self.kernel)

    def sweep(
        self,
        x: np.ndarray,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        """Move every row of `x` by `n_sweeps` sweeps, in place: `load`, `advance`, `store`.

        `x` (m, d) int8: state indices 0..K-1, one chain per row, in any order of memory. `edge_tables`
        (r, K, K). `node_tables` (d, K): log potentials; -inf marks what is impossible.
        """
        self.load(x)
        self.advance(edge_tables, node_tables, n_sweeps, rng)
        self.store(x)

    def load(self, x: np.ndarray) -> None:
        """Take over the states `x` (m, d) int8, one chain per row."""
        self._check_states(x)
        self._chains.load(x)

    def advance(
        self,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> None:
        """Move the chains loaded before by `n_sweeps` sweeps; arguments as for `sweep`."""
        n_sweeps = whole_number(n_sweeps, "n_sweeps", 0)
        self._prepare(edge_tables, node_tables, n_sweeps)(n_sweeps, rng)

    def count(
        self,
        edge_tables: np.ndarray,
        node_tables: np.ndarray,
        n_sweeps: int,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Move the chains as `advance` does, and count the states that each chain is in after each sweep.

        Returns `nodes` (d, K - 1, m) int32: sweeps after which a node is in each of the states 1..K-1;
        `pairs` (r, K - 1, K - 1, m) int32: sweeps after which the ends of an edge are in two of them.
        """
        n_sweeps = whole_number(n_sweeps, "n_sweeps", 1)
        sweeps = self._prepare(edge_tables, node_tables, n_sweeps)
        (r, d), k, m = (len(edge_tables), len(node_tables)), self.n_states - 1, self.n_chains
        nodes, pairs = np.zeros((d, k, m), dtype=np.int32), np.zeros((r, k, k, m), dtype=np.int32)
        states = np.empty((SWEEPS_KEPT, d, m), dtype=np.int8)
        for done in range(0, n_sweeps, SWEEPS_KEPT):
            kept = states[: n_sweeps - done]
            for columns in kept:
                sweeps(1, rng)
                self._chains.store(columns.T)
            pair_counts.count_states_of_chains(kept, self.graph.edges, nodes, pairs)
        return nodes, pairs

    def _prepare(self, edge_tables: np.ndarray, node_tables: np.ndarray, n_sweeps: int) -> Sweeps:
        K = self.n_states
        check_array_shape(edge_tables, (self.graph.n_edges, K, K), "edge_tables")
        check_array_shape(node_tables, (self.graph.n_nodes, K), "node_tables")
        return self._chains.prepare(edge_tables, node_tables, n_sweeps)

    def store(self, x: np.ndarray) -> None:
        """Write the states of all chains into `x` (m, d) int8."""
        self._check_states(x)
        self._chains.store(x)

    def pair_counts(self) -> np.ndarray:
        """Count the state pairs of every edge over the chains loaded, as they are now.

        Returns (r, K, K) int64: first index: state of the first node of the edge. The sum of an edge
        statistic f over the chains is ``(counts * f).sum((1, 2))``.
        """
        counts = np.empty((self.graph.n_edges, self.n_states, self.n_states), dtype=np.int64)
        self._chains.pair_counts(counts)
        return counts

    def _check_states(self, x: np.ndarray) -> None:
        shape = self.n_chains, self.graph.n_nodes
        if x.dtype != np.int8 or x.shape != shape:
            raise ValueError(
                f"x must be an int8 array of shape {shape}, chains by nodes, not {x.dtype} of shape {x.shape}"
            )
