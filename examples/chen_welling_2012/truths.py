"""The simulated models of Chen & Welling (2012, sec. 6.1): sparse Ising models as Boltzmann machines."""

from dataclasses import dataclass

import numpy as np

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.fields.pairwise import PairwiseField

COUPLING_SD, FIELD_SD = 0.5, 0.1
BLOCK_EDGES = 20


@dataclass(frozen=True)
class Truth:
    """A Boltzmann machine: its edges among the candidates, weights of all candidates, biases."""

    graph: pmrf.PairwiseGraph  # of the true edges
    candidates: pmrf.PairwiseGraph  # complete, the same nodes
    weight: np.ndarray  # (r,) of all candidates
    bias: np.ndarray  # (d,)

    @classmethod
    def of_ising(cls, graph: pmrf.PairwiseGraph, coupling: np.ndarray, field: np.ndarray) -> "Truth":
        """Convert couplings (edges,) and fields (d,) of an Ising model, states -1, 1, to states 0, 1."""
        d = graph.n_nodes
        # x = 2 y - 1: J x_u x_v = 4 J y_u y_v - 2 J (y_u + y_v) + constant
        bias = 2.0 * field
        for end in graph.edges.T:
            bias -= 2.0 * np.bincount(end, coupling, minlength=d)
        candidates = pmrf.graphs.complete(d)
        position = {tuple(edge): e for e, edge in enumerate(candidates.edges.tolist())}
        weight = np.zeros(candidates.n_edges)
        weight[[position[tuple(sorted(edge))] for edge in graph.edges.tolist()]] = 4.0 * coupling
        return cls(graph, candidates, weight, bias)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """`n` exact draws, (n, d), 0 or 1."""
        values = np.array([self.weight[self._position(edge)] for edge in self.graph.edges])
        tables = BOLTZMANN.edge_tables(values), BOLTZMANN.node_tables(self.bias)
        return PairwiseField(self.graph, *tables).sample(n, rng=rng)

    def _position(self, edge: np.ndarray) -> int:
        # candidates are all pairs in lexicographic order
        u, v = sorted(int(i) for i in edge)
        return u * self.candidates.n_nodes - u * (u + 1) // 2 + v - u - 1


def block_truth(rng: np.random.Generator) -> Truth:
    """12 nodes in three blocks, 20 edges; couplings within blocks are positive (sec. 6.1).

    Edge probabilities are 0.8 within blocks and 0.1 between them; drawn anew until 20 edges exist.
    """
    while True:
        graph = pmrf.graphs.block_model([4, 4, 4], 0.8, 0.1, rng=rng)
        if graph.n_edges == BLOCK_EDGES:
            break
    coupling = rng.normal(0.0, COUPLING_SD, graph.n_edges)
    within = graph.edges[:, 0] // 4 == graph.edges[:, 1] // 4
    coupling[within] = np.abs(coupling[within])
    return Truth.of_ising(graph, coupling, rng.normal(0.0, FIELD_SD, graph.n_nodes))


def strong_block_truth(rng: np.random.Generator) -> Truth:
    """12 nodes in three groups of four; couplings of 0.7 within a group, none between. Not in the paper."""
    graph = pmrf.graphs.block_model([4, 4, 4], 1.0, 0.0, rng=rng)
    return Truth.of_ising(graph, np.full(graph.n_edges, 0.7), rng.normal(0.0, FIELD_SD, graph.n_nodes))


def lattice_truth(side: int, rng: np.random.Generator) -> Truth:
    """Square lattice with all its edges (sec. 6.1)."""
    graph = pmrf.graphs.grid(side, side)
    coupling = rng.normal(0.0, COUPLING_SD, graph.n_edges)
    return Truth.of_ising(graph, coupling, rng.normal(0.0, FIELD_SD, graph.n_nodes))
