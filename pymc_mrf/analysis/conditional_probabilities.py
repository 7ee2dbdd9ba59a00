"""Probabilities of the states of each node given the other cells of its row, where some may be missing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

MAX_STATES = 2**14  # of the missing cells of a row, which are all listed
MAX_CELLS = 2**22  # of the tables that are made at once, 32 MB


class Conditionals:
    """A table of states and the couplings between which its cells stand.

    Parameters
    ----------
    indices : (n, d) int array
        State indices, -1 where a cell is missing.
    edges : (r, 2) array
        Nodes of each edge.
    n_states : int
        Number of states K.
    """

    def __init__(self, indices: np.ndarray, edges: np.ndarray, n_states: int) -> None:
        self._x, self._K, self._edges = indices, n_states, edges
        (n, d), states = indices.shape, np.arange(n_states)
        at, nodes = np.nonzero(indices >= 0)
        of_cells = nodes * n_states + indices[at, nodes]
        self._known = csr_array((np.ones(len(at)), (at, of_cells)), shape=(n, d * n_states))
        u, v = (edges[:, k, None] * n_states + states for k in (0, 1))  # (r, K)
        shape = len(edges), n_states, n_states
        self._u = np.broadcast_to(u[:, :, None], shape).ravel()
        self._v = np.broadcast_to(v[:, None, :], shape).ravel()

    def patterns(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """List the rows (n_p,), and the nodes (m,) that are missing in all of them."""
        masks, pattern = np.unique(self._x < 0, axis=0, return_inverse=True)
        return [(np.flatnonzero(pattern == p), np.flatnonzero(masks[p])) for p in range(len(masks))]

    def some_rows(self, n_edges: int) -> Iterator[slice]:
        """Yield rows whose tables of so many edges are made at once."""
        step = max(MAX_CELLS // (n_edges * self._K**2), 1)
        for start in range(0, len(self._x), step):
            yield slice(start, start + step)

    def of_rows(self, rows: Any) -> "Conditionals":
        return Conditionals(self._x[rows], self._edges, self._K)

    def at_each(self, edge_tables: np.ndarray, node_tables: np.ndarray) -> np.ndarray:
        """Probabilities (n, d, K), each row having edge tables of its own.

        Log tables are those of edges (n, r, K, K), or (1, r, K, K), and nodes (n, d, K), (1, d, K) or (d, K).
        """
        (n, d), K, (u, v) = self._x.shape, self._K, self._edges.T
        edge_tables = np.broadcast_to(edge_tables, (n, *edge_tables.shape[1:]))
        fields = np.array(np.broadcast_to(node_tables, (n, d, K)))
        rows, edges = np.arange(n)[:, None], np.arange(len(u))
        by_v = edge_tables[rows, edges, :, self._x[:, v]]  # (n, r, K), of the states of u
        by_u = edge_tables[rows, edges, self._x[:, u]]
        for near, far, added in ((u, v, by_v), (v, u, by_u)):
            known = np.where(self._x[:, far, None] >= 0, added, 0.0)
            ends = csr_array((np.ones(len(near)), (near, edges)), shape=(d, len(near)))
            fields += (
                (ends @ known.swapaxes(0, 1).reshape(len(near), -1)).reshape(d, n, K).swapaxes(0, 1)
            )
        result = softmax(fields, axis=2)
        of_nodes = np.broadcast_to(node_tables, (n, d, K))
        for i in np.flatnonzero((self._x < 0).any(axis=1)):
            result[i] = self.of_rows([i]).at(edge_tables[i], of_nodes[i])[0]
        return result

    def at(self, edge_tables: np.ndarray, node_tables: np.ndarray) -> np.ndarray:
        """Probabilities (n, d, K) under log tables of edges (r, K, K) and nodes (d, K) or (n, d, K)."""
        (n, d), K = self._x.shape, self._K
        values = edge_tables.ravel()
        half = csr_array((values, (self._u, self._v)), shape=(d * K, d * K))
        couplings = csr_array(half + half.T)
        fields = node_tables + (self._known @ couplings).toarray().reshape(n, d, K)
        result = softmax(fields, axis=2)
        for rows, missing in self.patterns():
            if len(missing):
                for part, s, G in self._parts(rows, missing, couplings):
                    result[part] = self._integrated(fields[part], self._x[part], missing, s, G)
        return result

    def _parts(
        self, rows: np.ndarray, missing: np.ndarray, couplings: csr_array
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows lacking these nodes, some at a time; states of these (S, m), what they add (S, d, K)."""
        K, m = self._K, len(missing)
        s = np.stack(np.unravel_index(np.arange(K**m), (K,) * m), axis=1)
        cells = missing * K + s
        of_cells = np.zeros((len(s), couplings.shape[0]))
        np.put_along_axis(of_cells, cells, 1.0, axis=1)
        G = (of_cells @ couplings).reshape(len(s), -1, K)
        step = max(MAX_CELLS // (len(s) * K), 1)
        for start in range(0, len(rows), step):
            yield rows[start : start + step], s, G

    def _integrated(
        self, fields: np.ndarray, x: np.ndarray, missing: np.ndarray, s: np.ndarray, G: np.ndarray
    ) -> np.ndarray:
        """Probabilities (n_p, d, K) of rows with missing nodes, whose states `s` (S, m) are summed out.

        `fields` (n_p, d, K) are the log potentials of nodes given the known cells, `G` (S, d, K) what the
        missing ones add to them.
        """
        states = np.arange(len(s))[:, None]
        within = 0.5 * G[states, missing, s].sum(axis=1)  # each pair of missing nodes is there twice
        joint = fields[:, missing, s].sum(axis=2) + within  # (n_p, S)
        result = softmax(fields, axis=2)
        share = softmax(joint, axis=1)
        for k, i in enumerate(missing):
            for a in range(self._K):
                result[:, i, a] = share[:, s[:, k] == a].sum(axis=1)
        touched = np.setdiff1d(np.flatnonzero(np.any(G != 0.0, axis=(0, 2))), missing)
        for i in touched:  # the known state of i leaves the joint, each of its states enters
            without = joint - G[:, i, x[:, i]].T
            scores = fields[:, i] + logsumexp(without[:, :, None] + G[:, i], axis=1)
            result[:, i] = softmax(scores, axis=1)
        return result
