"""Weighted particles of a field with few edges, and what is asked of them, whatever the number of states.

The particles z with weights W of mean 1 represent the field with weights w and centred biases beta, as in
`edge_moves`. Local fields are kept for every node and particle, so that a change of an edge or of a node's
states costs as much as the node has neighbours. Arrays over particles are stored node by node and padded to a
multiple of LANES by particles of weight 0.

Particles are a namedtuple: `binary_particles`, or `state_particles` for any number of states. They have the
attributes of `shared`; states and what follows from them; `owned`, products of weights and probabilities of
one node, `owned.node` (1,) int64, -1 for none; `ends`, what is known of the pair of the edge that is looked
at without it; and scratch, `room`, with that of `shared_room`. They answer the questions of this module,
those of pairs in `binary_pairs` and `state_pairs`.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_mrf.kernels._jit import by_type, lean
from pymc_mrf.kernels.random_lanes import LANES, STATE_SIZE, next_word, unit_interval
from pymc_mrf.kernels.vector_sums import copy, dot, total

TINY = 1e-300
LEAST_CELL = 1e-15  # of an estimated probability of a pair's state: rounding errors reach that far


def padded(n_particles: int) -> int:
    """Length N of arrays over particles."""
    return -(-n_particles // LANES) * LANES


class Neighbours(NamedTuple):
    """Present edges by their ends.

    Attributes
    ----------
    indptr : (d + 1,) int64 array
    degree : (d,) int64 array
    near, via : (2 r,) int64 arrays
        Present neighbours of node i, and the edges that lead to them, are entries indptr[i] to
        indptr[i] + degree[i].
    """

    indptr: np.ndarray
    degree: np.ndarray
    near: np.ndarray
    via: np.ndarray


def shared(n_particles: int, indptr: np.ndarray, n_edges: int, n_biases: int) -> dict[str, Any]:
    """Attributes that all particles have; without edges, parameters are for the caller to fill.

    Returns
    -------
    size : int
        Particles, m; N - m are padding.
    W : (N,) array
        Weights with mean 1 over the particles.
    w : (r,) array, beta : (d q,) array
        Weights of the edges and centred biases that the particles stand for.
    neighbours : Neighbours
    stale : (d,) bool array
        Nodes whose probabilities are not those of their local fields.
    lanes : (STATE_SIZE,) uint64 array
        Random number generators, seeded anew by every call that needs them.
    """
    d, W, ends = (
        len(indptr) - 1,
        np.zeros(padded(n_particles)),
        np.zeros((2, 2 * n_edges), dtype=np.int64),
    )
    W[:n_particles] = 1.0
    return {
        "size": n_particles,
        "W": W,
        "w": np.zeros(n_edges),
        "beta": np.zeros(n_biases),
        "neighbours": Neighbours(indptr.copy(), np.zeros(d, dtype=np.int64), *ends),
        "stale": np.ones(d, dtype=np.bool_),
        "lanes": np.zeros(STATE_SIZE, dtype=np.uint64),
    }


def shared_room(n_particles: int) -> dict[str, Any]:
    """Scratch that all particles have: `uniform` and `row` (N,), `ancestor` (N,) int64."""
    N = padded(n_particles)
    return {"uniform": np.zeros(N), "row": np.zeros(N), "ancestor": np.zeros(N, dtype=np.int64)}


@by_type
def set_states(particles: Any, field: Any, states: Any) -> Any:
    """Give the particles the state indices `states` (d, m) int8; local fields are for `refresh_particles`."""


@by_type
def get_states(particles: Any, states: Any) -> Any:
    """Fill `states` (d, m) int8 with the state indices."""


@by_type
def clear_fields(particles: Any, field: Any) -> Any:
    """Begin with the local fields of a field without edges."""


@by_type
def add_edge(particles: Any, field: Any, e: int, x: float) -> Any:
    """Add edge e with value x to the local fields of both ends."""


@by_type
def fill_particle_probabilities(particles: Any, field: Any, i: int) -> Any:
    """Probabilities of the states of node i from its local fields."""


@by_type
def draw_node(particles: Any, field: Any, i: int) -> Any:
    """Draw node i given all others, from the numbers in `room.uniform`; its changes are those of end 0."""


@by_type
def fill_shares(particles: Any, i: int, p: Any) -> Any:
    """Probabilities `p` (K,) of the states of node i, on average over the particles."""


@by_type
def variance_of_share(particles: Any, i: int, g: Any, mean: float) -> Any:
    """Variance of the estimated mean of `g` (K,) in node i, from its spread over the particles."""


@by_type
def tilt(particles: Any, i: int, x: float, g: Any) -> Any:
    """Add x g, `g` (K,), to the log potentials of node i: weights, probabilities and local fields."""


@by_type
def carry(particles: Any, field: Any, k: int, end: int, x: float) -> Any:
    """Add the changes of `end` (0 or 1) to the local fields of k, a neighbour by an edge of value x."""


@by_type
def take_ancestors(particles: Any) -> Any:
    """Replace every particle by its ancestor; the weights are the caller's."""


@by_type
def fill_pair(particles: Any, field: Any, e: int, x: float, p: Any) -> Any:
    """Probabilities `p` (K K,) of the states of edge e's pair without it; its value is x.

    If that is not 0, weights, local fields and probabilities of both ends without the edge are kept for
    `variance_of_mean` and `redraw_pair`.
    """


@by_type
def variance_of_mean(particles: Any, field: Any, e: int, x: float, h: Any) -> Any:
    """Variance of the estimated mean of `h` (K K,), which is 0, over the pair of edge e without the edge.

    From its spread over the particles, after `fill_pair` with the value x of the edge.
    """


@by_type
def redraw_pair(particles: Any, field: Any, e: int, old: float, new: float) -> Any:
    """Multiply the weights by R(new) / R(old), and draw both ends of edge e anew, after `fill_pair`.

    Local fields of the ends are left without the edge, those of all others as they were.
    """


@by_type
def add_move(particles: Any, field: Any, w: Any, beta: Any, active: Any, D: Any) -> Any:
    """Fill `D` (N,) with (theta' - theta) . f(z) of every particle, up to a constant, which is returned.

    theta' are the weights `w` (r,), of which those of the edges `active` (k,) may differ from theirs, and the
    centred biases `beta` (d q,); theta those that the particles stand for.
    """


@by_type
def fill_means(particles: Any, field: Any, active: Any, W: Any, edge_mean: Any, node_mean: Any) -> Any:
    """Means under `W` (N,) of the statistics of the edges `active` (k,), and of those of all nodes.

    Into `edge_mean` (r,) and `node_mean` (d q,).
    """


@lean
def update_probabilities(particles, field, i):
    if particles.stale[i]:
        fill_particle_probabilities(particles, field, i)
        particles.stale[i] = False


@lean
def fill_uniform(lanes, out):
    """Fill `out` (N,) with uniform draws."""
    for k in range(out.shape[0] // LANES):
        for j in range(LANES):
            out[k * LANES + j] = unit_interval(next_word(lanes, j))


@lean
def link(neighbours, i, j, e):
    """Make j a present neighbour of i."""
    k = neighbours.indptr[i] + neighbours.degree[i]
    neighbours.near[k], neighbours.via[k] = j, e
    neighbours.degree[i] += 1


@lean
def unlink(neighbours, i, e):
    """Take the neighbour along edge e from those of i."""
    near, via = neighbours.near, neighbours.via
    neighbours.degree[i] -= 1
    last = neighbours.indptr[i] + neighbours.degree[i]
    for k in range(neighbours.indptr[i], last):
        if via[k] == e:
            near[k], via[k] = near[last], via[last]
            return


@lean
def refresh_particles(particles, field):
    """Recompute neighbours and local fields from states and parameters."""
    clear_fields(particles, field)
    particles.neighbours.degree[:] = 0
    for e in range(particles.w.shape[0]):
        if particles.w[e] != 0.0:
            u, v = field.edges[e, 0], field.edges[e, 1]
            link(particles.neighbours, u, v, e)
            link(particles.neighbours, v, u, e)
            add_edge(particles, field, e, particles.w[e])
    particles.stale[:] = True
    particles.owned.node[0] = -1


@lean
def push(particles, field, i, end, except_edge):
    """Carry the changes of node i, which are those of `end`, over to its neighbours."""
    indptr, degree, near, via = particles.neighbours
    for k in range(indptr[i], indptr[i] + degree[i]):
        if via[k] != except_edge:
            carry(particles, field, near[k], end, particles.w[via[k]])
            particles.stale[near[k]] = True


@lean
def sweep(particles, field, n_sweeps):
    """Gibbs sweeps of all particles; the weights stay as they are."""
    for _ in range(n_sweeps):
        for i in range(particles.neighbours.degree.shape[0]):
            update_probabilities(particles, field, i)
            fill_uniform(particles.lanes, particles.room.uniform)
            draw_node(particles, field, i)
            push(particles, field, i, 0, -1)
    particles.owned.node[0] = -1


@lean
def change_edge(particles, field, e, old, new):
    """Change edge e after `fill_pair`: weights, states of both ends, neighbours and local fields."""
    u, v = field.edges[e, 0], field.edges[e, 1]
    redraw_pair(particles, field, e, old, new)
    particles.w[e] = new
    if old == 0.0:
        link(particles.neighbours, u, v, e)
        link(particles.neighbours, v, u, e)
    elif new == 0.0:
        unlink(particles.neighbours, u, e)
        unlink(particles.neighbours, v, e)
    push(particles, field, u, 0, e)
    push(particles, field, v, 1, e)
    add_edge(particles, field, e, new)
    particles.stale[u], particles.stale[v] = True, True
    particles.owned.node[0] = -1


@lean
def variance_of_sum(products, W):
    """Variance of a mean under the weights `W` (N,) from its weighted deviations `products` (N,)."""
    return dot(products, products) / total(W) ** 2


@lean
def effective_size(W):
    """Kish's effective sample size (sum W)^2 / sum W^2 of weights `W` (N,)."""
    return total(W) ** 2 / dot(W, W)


@lean
def normalise_weights(W, size):
    """Divide the weights `W` (N,) by their mean over the particles; the effective size."""
    scale = size / total(W)
    for j in range(W.shape[0]):
        W[j] *= scale
    return effective_size(W)


@lean
def fill_ancestors(weights, scale, position, ancestor):
    """Resample systematically (Kitagawa, 1996): fill `ancestor` (m,) with the particles that become copies.

    Those of one lie side by side.

    `weights` (N,): those of the particles are the first m of them. `scale`: m divided by their sum.
    `position`: a uniform draw from [0, 1). `ancestor` (m,) int64: result.
    """
    m = ancestor.shape[0]
    parent, reach = 0, weights[0] * scale
    for j in range(m):
        while reach < j + position and parent < m - 1:
            parent += 1
            reach += weights[parent] * scale
        ancestor[j] = parent


@lean
def resample(particles):
    """Systematic resampling; weights become equal."""
    W, m = particles.W, particles.size
    position = unit_interval(next_word(particles.lanes, 0))
    fill_ancestors(W, m / total(W), position, particles.room.ancestor[:m])
    take_ancestors(particles)
    W[:m] = 1.0
    particles.owned.node[0] = -1


@lean
def take(row, ancestor, m, scratch):
    """Replace the first m entries of `row` (N,) by those of their `ancestor` (N,); `scratch` (N,) is room."""
    for j in range(m):
        scratch[j] = row[ancestor[j]]
    copy(scratch[:m], row[:m])


@lean
def fill_product(a, b, out):
    """Elementwise product `out` (N,) of `a` and `b` (N,)."""
    for j in range(out.shape[0]):
        out[j] = a[j] * b[j]
