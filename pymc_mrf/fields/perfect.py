"""Perfect sampling of binary pairwise fields whose couplings can be made attractive.

Exact independent draws by monotone coupling from the past (Propp & Wilson, 1996), after couplings
have been made attractive by `attractive_form`. Fields of more than two states, and couplings that no exchange
of states makes attractive, are not implemented.
"""

from typing import Any

import numpy as np

from pymc_mrf.checks import first_cell, numeric_array, random_generator, whole_number
from pymc_mrf.fields.exact import check_overflow, checked_table
from pymc_mrf.fields.pairwise_tables import FrustrationError, PairwiseTables, attractive_form
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.kernels.simulation import coupling_from_the_past as kernel


def perfect_sample(
    graph: Any,
    edge_tables: Any,
    node_tables: Any,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    max_sweeps: int = 16_384,
) -> np.ndarray:
    """Draw exact independent configurations of a binary field with attractive couplings.

    Monotone coupling from the past (Propp & Wilson, 1996), 512 draws at a time where every node has at
    most 8 neighbours, 32 at a time elsewhere. Couplings are made attractive by exchanging states first.
    The only error is the rounding of conditional probabilities, below 2 ** -31 each (see
    `pymc_mrf.kernels.simulation.coupling_from_the_past`).

    `edge_tables` (r, 2, 2), finite: log potentials, edges in graph order; the first index is the state
    of the edge's first node. `node_tables` (d, 2), finite: log potentials, nodes in graph order. `n`:
    number of draws, non-negative. `rng`: generator or seed. `max_sweeps`: how far back in time chains
    may start, at least 1. The sweeps needed grow with the logarithm of d and n where couplings are weak,
    and without practical limit where they order the field.

    Returns (n, d) int8: state indices. Raises a ValueError if the field is not binary, a table has
    another shape or entries that are not finite, or the signs of the couplings are not balanced. Raises
    a RuntimeError if the chains have not met within `max_sweeps` sweeps.
    """
    graph = as_graph(graph)
    n, max_sweeps = whole_number(n, "n", 0), whole_number(max_sweeps, "max_sweeps", 1)
    shape = numeric_array(node_tables, "node_tables", "iuf").shape
    if len(shape) == 2 and shape[1] != 2:
        raise ValueError(
            f"node_tables has {shape[1]} states per node, and coupling from the past is for binary fields; "
            'use PairwiseField.sample with method="exact", "tree" or "gibbs"'
        )
    nodes = checked_table(node_tables, (graph.n_nodes, 2), "node_tables")
    edges = checked_table(edge_tables, (graph.n_edges, 2, 2), "edge_tables")
    for name, table in (("edge_tables", edges), ("node_tables", nodes)):
        if np.isinf(table).any():
            cell = first_cell(np.isinf(table))
            raise ValueError(
                f"{name}{list(cell)} is -inf; coupling from the past needs finite log tables: "
                "remove nodes whose state is certain, or use a large negative number such as -50"
            )
    check_overflow(np.concatenate([np.abs(edges).max(axis=(1, 2)), np.abs(nodes).max(axis=1)]))
    # blocks of draws use disjoint stretches of one sequence of 2 ** 64 words
    if (n // 32 + 1) * max_sweeps * graph.n_nodes * 256 >= 2**63:
        raise ValueError(f"max_sweeps={max_sweeps} is too large for {n} draws of {graph.n_nodes} nodes")

    try:
        weight, bias, flips = attractive_form(PairwiseTables(graph, edges, nodes))
    except FrustrationError as error:
        raise FrustrationError(
            f"{error}; coupling from the past does not apply: use "
            '"exact" in place of "perfect" if the junction tree is small enough, else "gibbs"'
        ) from None
    x = np.zeros((n, graph.n_nodes), dtype=np.int8)
    seed = random_generator(rng, "rng").integers(0, 2**64, dtype=np.uint64)
    packed = np.diff(graph.arrays.indptr).max() <= kernel.PACKED_DEGREE
    draw = kernel.perfect_draws_packed if packed else kernel.perfect_draws_wide
    filled = draw(x, weight, bias, graph.arrays, max_sweeps, seed)
    if filled < n:
        raise RuntimeError(
            f"the chains of draw {filled} have not met within max_sweeps={max_sweeps} sweeps: the couplings "
            'are too strong for coupling from the past; raise max_sweeps, or use "exact" in place of '
            '"perfect" if the junction tree is small enough, else "gibbs"'
        )
    return x ^ flips.astype(np.int8)
