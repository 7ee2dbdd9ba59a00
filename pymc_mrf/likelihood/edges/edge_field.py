"""The data of a field as views of edges take them: `Field`, its sums, and what they tell of parameters."""

from typing import Any

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views.questions import Field, FieldData
from pymc_mrf.likelihood.data_counts import Data, DataCounts, blocks_of, columns_of

SINGULAR = 1e-9  # eigenvalues of covariances below this share of the largest are zero
CELLS_AT_ONCE = 1_000_000  # of tables of pairs
HALF_ROW = 0.5  # by which variances in the data are larger than they are


def edge_field(
    x: Data,
    graph: PairwiseGraph | LaggedGraph,
    family: Family,
    is_centred: bool,
    order: np.ndarray,
) -> tuple[Field, FieldData]:
    """Make the field and its data as kernels take them, edges visited in `order`.

    Parameters
    ----------
    x : (n, D) int8 array, or list of (n_b, D_b) int8 arrays
        Observed state indices, as of `Columns`; of each block if there are several.
    graph : PairwiseGraph or LaggedGraph
    family : Family
    is_centred : bool
        Whether biases are shifted with the edges, to stay centred at the data.
    order : (r,) int64 array
    """
    F, G, columns = features_of(family, graph.n_nodes), family.node_basis, columns_of(x, graph)
    edges = columns.nodes[columns.ends]
    pair, products = family.edge_products(edges)
    edges = edges[pair]
    edges.setflags(write=False)  # as those of all graphs: another type to numba
    (d, M, K), (u, v), (k, l) = F.shape, edges[:, :, None].swapaxes(0, 1), products.transpose(2, 0, 1)
    of_u, of_v = F[u, k], F[v, l]  # (r, L, K)
    floor = np.zeros((d, K))
    floor[~family.possible(d)] = -np.inf
    n = np.zeros(len(columns.nodes))
    for block in blocks_of(x, columns.ends):
        n[block.nodes] = len(block.x)
    counts = DataCounts(columns.ends, K)
    counts.count(x)
    f = of_u.swapaxes(1, 2) @ of_v  # (r, K, K)
    centre = np.zeros((len(pair), 2, M))
    if is_centred:
        c_u, c_v = regressed_centres(counts.pairs[pair], of_u, of_v).swapaxes(0, 1)
        each = np.arange(len(pair))[:, None]
        centre[each, 1, k], centre[each, 0, l] = c_v, c_u
        # what depends on the source alone is no part of the likelihood
        centre[columns.is_arrow[pair], 0] = 0.0
    by_u, by_v = taken_from_ends(F, edges, centre)
    field = Field(
        edges=edges,
        pair=pair,
        products=products,
        order=np.argsort(np.argsort(order)[pair], kind="stable"),
        features=F,
        basis=G,
        floor=floor,
        centre=centre,
        lift=lift_of(family, d),
        statistic=f.reshape(-1, K * K),
        cells=(f - by_u[:, :, None] - by_v[:, None]).reshape(-1, K * K),
        contrast=float(
            max((f - f[:, [a]] - f[:, :, [a]] + f[:, a, a, None, None]).max() for a in range(K))
        ),
    )
    s, sums = np.zeros((2, len(pair)))
    data = FieldData(n=n[columns.present], s=s, sums=sums, t=np.zeros(d * len(G)))
    fill_sums(counts.nodes[columns.present], counts.pairs, field, data)
    return field, data


def features_of(family: Family, d: int) -> np.ndarray:
    """Features (d, M, K) of the nodes, as of `Field`."""
    F = family.edge_features
    return np.broadcast_to(F, (d, *F.shape[-2:])).copy()


def features_at(features: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Values (d, M, m) of `features` (d, M, K) at `states` (d, m)."""
    return np.take_along_axis(features, states[:, None].astype(np.int64), axis=2)


def node_parameters(basis: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Find the node parameters (d q,) whose `basis` (q, K) gives the log `tables` (d, K), up to constants.

    Impossible states, -inf in a table, have no say.
    """
    tables = np.where(np.isfinite(tables), tables, 0.0)
    b = np.linalg.lstsq((basis - basis[:, :1]).T, (tables - tables[:, :1]).T, rcond=None)[0]  # (q, d)
    return b.T.ravel()


def taken_from_ends(
    features: np.ndarray, edges: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Tell what `centre` takes from the statistic of each edge in the states of its ends, (r, K) for either.

    `features` (d, M, K), `edges` (r, 2) and `centre` (r, 2, M) are those of a `Field`.
    """
    (u, v), (c_u, c_v) = edges.T, centre[:, :, None].swapaxes(0, 1)
    return (c_v @ features[u])[:, 0], (c_u @ features[v])[:, 0]


def lift_of(family: Family, d: int) -> np.ndarray:
    """Parameters (d q, M) that shift each of d nodes as the features of `family` do."""
    F, G = features_of(family, d), family.node_basis
    # the first state is the reference: what is left of a feature is a combination of the basis
    lift = (F - F[:, :, :1]) @ np.linalg.pinv(G - G[:, :1])  # (d, M, q)
    return (family.node_entries(d)[:, :, None] * lift.swapaxes(1, 2)).reshape(-1, F.shape[1])


def regressed_centres(pairs: np.ndarray, of_u: np.ndarray, of_v: np.ndarray) -> np.ndarray:
    """Choose what is taken from the features of both ends of every edge, (r, 2, M).

    The coefficients of the linear regression of the edge's statistic on the features of its ends, in the
    data. The centred statistic is then uncorrelated with them: where the field is as the data are, weights
    and biases are orthogonal parameters (Cox and Reid, 1987). If the ends are independent, the coefficients
    are the means of the features. If two states of a binary pair never occur together, they are the opposite
    states, and a weight to which the data set no limit can be anything while the centred biases stay.

    Parameters
    ----------
    pairs : (r, K, K) array
        Counts of the states of the ends of each edge.
    of_u, of_v : (r, M, K) arrays
        Features of their first and second ends.
    """
    r, M, K = of_u.shape
    centre = np.empty((r, 2, M))
    for p in np.array_split(np.arange(r), 1 + r * M * K * K // CELLS_AT_ONCE):
        share = pairs[p].reshape(len(p), 1, -1) / pairs[p].sum(axis=(1, 2))[:, None, None]
        X = np.concatenate([np.repeat(of_u[p], K, axis=2), np.tile(of_v[p], K)], axis=1)  # (., 2 M, K K)
        y = (of_u[p].swapaxes(1, 2) @ of_v[p]).reshape(len(p), -1, 1)
        X = X - (share * X).sum(axis=2, keepdims=True)
        C, c = (share * X) @ X.swapaxes(1, 2), (share * X) @ y
        by_end = np.linalg.pinv(C, rcond=SINGULAR, hermitian=True) @ c
        centre[p] = by_end.reshape(-1, 2, M)[:, ::-1]  # what multiplies one end is taken from the other
    return centre


def fill_sums(of_nodes: np.ndarray, of_pairs: np.ndarray, field: Field, data: FieldData) -> None:
    """Fill in the sums of the field's statistics over the rows of its `data`, as of `edge_field`.

    `of_nodes` (d, K) and `of_pairs` (pairs, K, K) count the states of the nodes and of the ends of edges.
    """
    u, v = field.edges.T
    by_u, by_v = taken_from_ends(field.features, field.edges, field.centre)
    data.t[:] = (of_nodes @ field.basis.T).ravel()
    data.sums[:] = (of_pairs.reshape(len(of_pairs), -1)[field.pair] * field.statistic).sum(axis=1)
    data.s[:] = data.sums - (by_u * of_nodes[u]).sum(axis=1) - (by_v * of_nodes[v]).sum(axis=1)


def node_covariances(x: Data, field: Field) -> np.ndarray:
    """Sum over the rows of x of the covariances of the statistics of each node's parameters, (d, q, q).

    With `HALF_ROW` more that shows each of them alone, so that no variance is 0; `x` is that of `edge_field`.
    """
    d, q = len(field.features), len(field.basis)
    C = np.zeros((d, q, q))
    for block in blocks_of(x, field.edges):
        values = field.basis[:, block.x]
        values = values - values.mean(axis=1)[:, None]
        C[block.nodes] = np.einsum("aci,bci->iab", values, values) + HALF_ROW * np.eye(q)
    return C


def data_information(x: Data, field: Field) -> np.ndarray:
    """Sum over the rows of x of the variances of the features of edges and nodes, (r + d q,).

    Edges as if their ends were independent; never 0. `x` is that of `edge_field`.
    """
    by_edge = np.zeros(len(field.edges))
    for block in blocks_of(x, field.edges):
        values = features_at(field.features[block.nodes], block.x.T)
        centred = values - values.mean(axis=2, keepdims=True)
        C = centred @ centred.swapaxes(1, 2) + HALF_ROW * np.eye(values.shape[1])  # (d_b, M, M)
        u, v = block.edges.T[:, :, None, None]
        k, l = field.products[block.which].transpose(2, 0, 1)[:, :, :, None]  # (r_b, L, 1)
        of_ends = C[u, k, k.swapaxes(1, 2)] * C[v, l, l.swapaxes(1, 2)]
        by_edge[block.which] = of_ends.sum(axis=(1, 2)) / len(block.x)
    return np.concatenate([by_edge, np.einsum("iaa->ia", node_covariances(x, field)).ravel()])


def node_correlations(x: Data, field: Field) -> np.ndarray:
    """Correlations (d, q, q) that belong to `node_covariances`."""
    return correlations(node_covariances(x, field))


def correlations(C: np.ndarray) -> np.ndarray:
    """Correlations (d, q, q) of covariances `C` (d, q, q)."""
    scale = np.sqrt(np.einsum("iaa->ia", C))
    return C / (scale[:, :, None] * scale[:, None, :])


def room_for(field: Field, data: FieldData, n_biases: int) -> dict[str, Any]:
    """Attributes that all views of a field have: the field, its data, and room for its parameters."""
    return {
        "field": field,
        "data": data,
        "w": np.zeros(len(data.s)),
        "b": np.zeros(len(data.t)),
        "beta": np.zeros(len(data.t)),
        "n_biases": n_biases,
    }
