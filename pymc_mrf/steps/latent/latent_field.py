"""A latent field of a model: its states and parameters at a point, and its simulation given evidence.

Latent are the entries of a free field variable, and the missing cells of an observed one. A field over d
variables has n rows, of which those without a free cell play no part. Evidence is (m, d, K): m rows with
free cells, log weights of K states.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm

from pymc_mrf.distributions.mrf_rv import MarkovRandomFieldRV
from pymc_mrf.fields.sweeps import BlockSweep, ClusterSweep, PairwiseSweep, cell_blocks
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.graph.factor_trees import tying_factors
from pymc_mrf.graph.junction_tree import AUTO_CELLS, MAX_CELLS
from pymc_mrf.graph.lattice_partition import lattice_trees
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.graph.tree_partition import tree_partition
from pymc_mrf.kernels.factor_cells import present_cells
from pymc_mrf.kernels.junction_trees import junction_tree as tree_kernels
from pymc_mrf.steps.common.expressions import PointFunction, PointInputs
from pymc_mrf.steps.common.model_field import ModelField
from pymc_mrf.steps.latent.latent_warnings import impossible_row

EXACT_CELLS = 2**13
"""Table cells of all rows' junction trees up to which rows are drawn at once: about 0.1 ms."""

FEW_FREE = 0.2
"""Share of free cells up to which blocks of connected cells of a row are drawn: up to a tenth that takes 0.1
to 0.6 times as long as trees, of three tenths 1 to 3 times; and draws do not depend on the last ones."""

N_PIECES = 64
"""Pieces of a tree partition that are proposed one by one, about."""

Sweep = Callable[[np.ndarray, list, np.ndarray, int, np.random.Generator], None]


def latent_field(rv, node, model: pm.Model, point, n_partitions: int, compile_kwargs) -> "LatentField":
    """Make the `LatentField` behind a free variable: `node` is the apply node of the field."""
    kind = PairwiseLatentField if isinstance(node.op, MarkovRandomFieldRV) else FactorLatentField
    return kind(rv, node, model, point, n_partitions, compile_kwargs)


class LatentField(ABC):
    """Rows of a latent field.

    `rv`: free variable of `model`. `node`: the field behind it. `point`: values of all variables, at
    which impossible combinations are looked for. `n_partitions`: tree partitions to find.
    `compile_kwargs` (dict or None).

    Attributes: `name`: of the value of `rv`. `free` (m, d) bool: cells that are not observed. `states`
    (N, K): value of each of the N free cells in each state. `ties`: scopes of the factors whose -inf
    entries tie different trees, whatever the partition: trees drawn one after the other may not reach
    all configurations. `exact`: whether rows are drawn at once, instead of tree by tree.
    `exact_if_asked`: whether tied rows would be if the field were declared with ``likelihood="exact"``.
    """

    def __init__(self, rv, node, model: pm.Model, point, n_partitions: int, compile_kwargs) -> None:
        self._op = node.op
        value = model.rvs_to_values[rv]
        self._dtype, self.name = value.dtype, value.name
        self._field = field = ModelField(node, model)
        self._n_rows, self._rows = len(field.free), np.flatnonzero(field.free.any(axis=1))
        self._template, self.free = field.known[self._rows], field.free[self._rows]
        cards = field.cards
        columns = np.nonzero(self.free)[1]
        self.states = self._op.decode(np.minimum(np.arange(cards.max()), cards[columns][:, None] - 1))
        self._possible = np.arange(cards.max()) < cards[:, None]  # (d, K)
        self._no_evidence: np.ndarray | None = None
        self._translated: tuple[np.ndarray, np.ndarray] | None = None

        self._known = np.flatnonzero(~self.free.any(axis=0)).tolist()
        left = np.flatnonzero(self.free.any(axis=0)).tolist()
        small = self._restricted(left)
        # not the chain's generator: chains and runs shall agree on the partitions
        rng = np.random.default_rng(0)
        combs = lattice_trees(small) if isinstance(small, PairwiseGraph) else None
        found: list[list[list[Any]]] = [combs] if combs else []
        found += [tree_partition(small, rng=rng) for _ in range(len(found), n_partitions)]
        self._partitions = [[[left[i] for i in tree] for tree in trees] for trees in found]
        self._read = PointFunction(list(self._op.dist_params(node)), model, compile_kwargs)
        self._inputs, self._tables = PointInputs(self._read.names), list[Any]()
        tables = self.tables(point)
        self._n_cells = tables[0][0].size  # of the field's own tables
        self.ties = self._find_ties(tables)
        n_rows = len(self._rows)
        limit, most = EXACT_CELLS // n_rows, MAX_CELLS // n_rows
        if self.ties:  # slow, about 10 ms for AUTO_CELLS and 0.4 s for MAX_CELLS, but right
            limit = max(limit, most if self._op.likelihood.uses_tree else min(most, AUTO_CELLS))
        self.exact = self._fits(limit)
        self.exact_if_asked = bool(self.ties) and self._fits(most)
        if self.exact:
            self._tree = self._op.tree
            self._work = tree_kernels.allocate_workspace(self._tree.arrays)
        self._sweeps = self._draw_rows if self.exact else self._whole_sweep()

    def _fits(self, limit: int) -> bool:
        """Whether the junction tree has at most `limit` table cells."""
        # the tree of a large field takes long to find, and is larger than its tables
        return self._n_cells <= limit and self._op.tree.n_cells <= limit

    @abstractmethod
    def _restricted(self, left: list[int]) -> "PairwiseGraph | FactorGraph":
        """Graph of the variables `left`, numbered anew."""

    @abstractmethod
    def _simulator(self, partitions, clamped) -> Sweep:
        """Tree-blocked simulation of the variables in `partitions`, the others being clamped."""

    def _whole_sweep(self) -> Sweep:
        """Sweeps over all free cells, where rows are not drawn at once."""
        return self._simulator(self._partitions, self._known)

    @abstractmethod
    def _flat(self, tables: list, evidence: np.ndarray, c: int) -> np.ndarray:
        """Tables of the factors of row c one after the other, evidence included."""

    @abstractmethod
    def start_weights(self, tables: list) -> np.ndarray | None:
        """Log weights of states by node, (1 or m, d, K); None if pairs of states may be impossible."""

    def _find_ties(self, tables: list) -> list[tuple[int, ...]]:
        """Scopes of the tying factors: see `ties`. Tables over pairs of nodes are finite."""
        return []

    def is_possible(self, x: np.ndarray, tables: list) -> bool:
        """Whether the states `x` (m, d) have positive probability under the field alone."""
        return True

    def label(self, c: int, i: int) -> str:
        """Node i, with its row if there are several: row c of those with free cells."""
        return self._field.label(self._rows[c], i)

    def tables(self, point) -> list:
        """Log tables of the field without evidence, each (1 or m, ...)."""
        if self._inputs.changed(point):
            tables = self._field.tables(self._read(point))
            self._tables = [t if len(t) == 1 else np.ascontiguousarray(t[self._rows]) for t in tables]
        return self._tables

    def indices(self, value: np.ndarray) -> np.ndarray:
        """State indices (m, d) int8 of all rows from the value of the variable, not to be changed.

        Raises a ValueError if an entry is not a state.
        """
        if self._translated is not None and np.array_equal(value, self._translated[0]):
            return self._translated[1]
        x = self._template.copy()
        x[self.free] = self._field.free_states(value)
        self._translated = np.array(value), x
        return x

    def value(self, x: np.ndarray, shape: tuple) -> np.ndarray:
        value = self._op.decode(x[self.free]).astype(self._dtype, copy=False).reshape(shape)
        self._translated = value.copy(), x
        return value

    def evidence(self, table: np.ndarray) -> np.ndarray:
        """Evidence (m, d, K) from log weights (N, K) of the free cells: -inf excludes other states."""
        if self._no_evidence is None:
            E = np.where(self._possible, 0.0, -np.inf)
            E = np.broadcast_to(E, (len(self._rows), *E.shape)).copy()
            fixed = ~self.free
            if not self.exact:
                fixed[:, self._known] = False  # in no block
            E[fixed] = -np.inf
            E[fixed, self._template[fixed]] = 0.0
            self._no_evidence = E
        if len(table) == self.free.size:  # several times faster
            return self._no_evidence + table.reshape(self._no_evidence.shape)
        E = self._no_evidence.copy()
        E[self.free] += table
        return E

    def sweep(self, x, tables: list, evidence: np.ndarray, n_sweeps: int, rng) -> None:
        """Move `x` (m, d) int8 in place: reversibly, and leaving field times evidence invariant."""
        self._sweeps(x, tables, evidence, n_sweeps, rng)

    def clusters(self) -> ClusterSweep | None:
        """Sweeps over clusters, for fields that are not drawn as a whole and whose edges may agree."""
        return None

    def proposals(self) -> list[tuple[int, Sweep]]:
        """Row and simulation of the parts that are proposed one by one: trees, and pieces of them.

        Where trees are tied to each other, whole rows are proposed as well.
        """
        m, d = self.free.shape
        trees = self._partitions[0]
        n_pieces = min(sum(map(len, trees)), max(N_PIECES // m, 1))
        size = -(-sum(map(len, trees)) // n_pieces)
        pieces = [list(p) for t in trees for p in np.array_split(t, -(-len(t) // size))]
        parts = [t for t in trees if len(t) > size] + pieces
        found = []
        for part in parts:
            simulate = self._simulator([[part]], np.setdiff1d(np.arange(d), part).tolist())
            found += [(c, simulate) for c in range(m) if self.free[c, part].any()]
        if self.ties and self.exact:
            found += [(c, self._draw_rows) for c in range(m)]
        return found

    def _draw_rows(self, x, tables, evidence, n_sweeps, rng) -> None:
        """Draw all rows exactly; `n_sweeps` plays no part."""
        arrays, work = self._tree.arrays, self._work
        for c in range(len(x)):
            flat = self._flat(tables, evidence, c)
            work.tables[: len(flat)] = flat
            if tree_kernels.collect(arrays, work.tables, work) == -np.inf:
                row = None if self._n_rows == 1 else int(self._rows[c])
                raise ValueError(impossible_row(self.name, row, not self.free[c].all()))
            tree_kernels.draw_rows(arrays, work, x[c : c + 1], rng)


class PairwiseLatentField(LatentField):
    """Latent `Ising`, `Potts`, `AgreementMRF` or `BoltzmannMachine`."""

    def _restricted(self, left):
        number = np.full(self._op.n_variables, -1)
        number[left] = np.arange(len(left))
        ends = number[self._op.graph.edges]
        return PairwiseGraph(range(len(left)), ends[(ends >= 0).all(axis=1)].tolist())

    def _simulator(self, partitions, clamped):
        return PairwiseSweep(self._op.graph, partitions, clamped)

    def _whole_sweep(self):
        """Sweep over blocks of cells where few are free, else over trees."""
        if self.free.mean() <= FEW_FREE:
            blocks = cell_blocks(self._op.graph, self.free, self.states.shape[1])
            n_blocks = np.diff(blocks.chain_ptr)
            n_cells = np.diff(blocks.block_ptr[blocks.chain_ptr])
            if np.average(n_blocks, weights=n_cells) <= len(self._partitions[0]):
                return BlockSweep(self._op.graph, blocks)
        return super()._whole_sweep()

    def clusters(self):
        """Sweep over clusters of all edges, unless rows are drawn at once."""
        return None if self.exact else ClusterSweep(self._op.graph, self.fixed)

    def _flat(self, tables, evidence, c):
        edges, nodes = (t[c if len(t) > 1 else 0] for t in tables)
        return np.concatenate([edges.ravel(), (nodes + evidence[c]).ravel()])

    @property
    def fixed(self) -> np.ndarray:
        """State indices of the observed cells (m, d), -1 for the free ones."""
        return np.where(self.free, -1, self._template)

    @property
    def edges(self) -> np.ndarray:
        """Node indices of each edge, (r, 2)."""
        return self._op.graph.edges

    def start_weights(self, tables):
        return tables[1]


class FactorLatentField(LatentField):
    """Latent `FactorGraphMRF`: evidence becomes one factor more per variable."""

    def __init__(self, rv, node, *args) -> None:
        graph = node.op.graph
        scopes = [*graph.scopes, *((i,) for i in range(graph.n_variables))]
        self._extended = FactorGraph(scopes, graph.cardinalities)
        super().__init__(rv, node, *args)

    def _restricted(self, left):
        number = {v: i for i, v in enumerate(left)}
        scopes = [[number[v] for v in scope if v in number] for scope in self._extended.scopes]
        cards = [self._extended.cardinalities[v] for v in number]
        return FactorGraph([scope for scope in scopes if scope], cards)

    def _simulator(self, partitions, clamped):
        simulator = FactorTreeSimulator(self._extended, partitions, clamped)

        def sweep(x, tables, evidence, n_sweeps, rng):
            for c in range(len(x)):
                flat = self._flat(tables, evidence, c)
                simulator.sweep_there_and_back(x[c : c + 1], flat, n_sweeps, rng)

        return sweep

    def _flat(self, tables, evidence, c):
        [flat] = tables
        return np.concatenate([flat[c if len(flat) > 1 else 0], evidence[c][self._possible]])

    def start_weights(self, tables):
        """Say that nothing is known of single variables; with -inf entries, not even what is possible."""
        return None if tables[0].min() == -np.inf else np.zeros((1, *self._possible.shape))

    def _find_ties(self, tables):
        """Find those of the partition with the fewest, and put it first: a sweep may choose any."""
        [flat] = tables
        if flat.min() > -np.inf:
            return []
        states = np.where(self.free, -1, self._template)
        found = [tying_factors(self._op.graph, flat, states, trees) for trees in self._partitions]
        best = int(np.argmin([len(factors) for factors in found]))
        self._partitions.insert(0, self._partitions.pop(best))  # parts to propose are those of the first
        return [self._op.graph.scopes[f] for f in found[best]]

    def is_possible(self, x, tables):
        [flat] = tables
        links = factor_links(self._op.graph)
        cells = np.empty(self._op.graph.n_factors, dtype=np.int64)
        for c, z in enumerate(x):
            present_cells(cells, z, links)
            if flat[c if len(flat) > 1 else 0][cells].min() == -np.inf:
                return False
        return True
