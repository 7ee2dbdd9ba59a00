"""The likelihood of fields in time with links as `EdgeGibbs` asks for it: all states of a row are listed."""

from itertools import pairwise

import numpy as np

from pymc_mrf.fields.series import row_states
from pymc_mrf.kernels.groups.listed_groups import add_group_information
from pymc_mrf.kernels.views.listed_rows import ListedRoom, ListedRowView, RowStates, fill_probabilities
from pymc_mrf.kernels.views.questions import Field, FieldData
from pymc_mrf.likelihood.data_counts import Columns, Data, blocks_of
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import room_for
from pymc_mrf.likelihood.exact.exact_edges import STRETCH
from pymc_mrf.likelihood.groups.group_engine import EdgewiseGroups, with_fewest_features


class ListedRowEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves of arrows, of links within rows, and of the biases.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `EdgeEngine`, of a field in time, whose edges have one feature.
    """

    def __init__(self, x, graph, family, moves_biases) -> None:
        field, data = self.take_data(x, graph, family, moves_biases)
        cards = family.possible(graph.n_nodes).sum(axis=1)
        n_biases = len(data.t) if moves_biases else 0
        self.view = listed_row_view(x, self._columns, field, data, cards, n_biases)

    def set_data(self, x: Data) -> None:
        """Histories as well."""
        super().set_data(x)
        fill_histories(self.view.rows, x, self._columns)

    def stretch(self, rng) -> float:
        """Draw it as under the exact likelihood of fields."""
        return rng.uniform(*STRETCH)

    def refresh(self, rng) -> None:
        """List all probabilities anew."""
        fill_probabilities(self.view)


def listed_row_view(
    x: Data, columns: Columns, field: Field, data: FieldData, cards: np.ndarray, n_biases: int
) -> ListedRowView:
    """Make the view of a field in time whose rows are listed; probabilities are still to be filled in.

    Parameters
    ----------
    x : (n, D) int8 array, or list of (n_b, D_b) int8 arrays
        As of `columns`.
    columns : Columns
    field : Field
    data : FieldData
    cards : (d,) int64 array
        Number of states of each node.
    n_biases : int
        d q if the biases move, else 0.
    """
    arrays = x if isinstance(x, list) else [x]
    d, K = len(cards), field.basis.shape[1]
    n_times = len(columns.nodes) // d
    d_of = [own.shape[1] // n_times for own in arrays]
    nodes = np.cumsum([0, *d_of])
    states = [row_states(cards[i:j]) for i, j in pairwise(nodes.tolist())]
    size = np.array([len(own) for own in states])
    every = np.zeros((d, size.max()), dtype=np.int8)
    for i, own in zip(nodes, states, strict=False):
        every[i : i + own.shape[1], : len(own)] = own.T
    H, S = sum(map(len, arrays)), size.max()
    rows = RowStates(
        block=np.repeat(np.arange(len(size)), d_of),
        nodes=nodes,
        size=size,
        states=every,
        histories=np.zeros((len(size), 2), dtype=np.int64),
        n=np.zeros(H),
        past=np.zeros((len(columns.nodes), H), dtype=np.int8),
        source=np.where(columns.is_arrow, columns.ends[:, 1], -1),
        spread=np.ptp(field.cells, axis=1),
    )
    fill_histories(rows, x, columns)
    return ListedRowView(
        **room_for(field, data, n_biases),
        rows=rows,
        P=np.zeros((H, S)),
        q=np.zeros((H, K * K)),
        room=ListedRoom(np.zeros((d, K)), np.zeros(S), np.zeros(K * K), np.zeros((H, d, K))),
    )


def fill_histories(rows: RowStates, x: Data, columns: Columns) -> None:
    """Find the rows of data `x`, as of `listed_row_view`, that have the same history, and count them."""
    start = 0
    for k, block in enumerate(blocks_of(x, columns.ends)):
        n_nodes = rows.nodes[k + 1] - rows.nodes[k]
        past, counts = np.unique(block.x[:, n_nodes:], axis=0, return_counts=True)
        end = start + len(past)
        rows.histories[k], rows.n[start:end] = (start, end), counts
        rows.past[block.nodes.start + n_nodes : block.nodes.stop, start:end] = past.T
        start += len(block.x)


class ListedRowGroups(EdgewiseGroups):
    """Engine of fields in time whose rows have few states; see `GroupEngine`.

    Attributes
    ----------
    reference : (r,) array
        Parameters at which the curvature is taken.
    """

    def __init__(self, x, graph, family, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        self.n_terms = self.n  # as many histories as rows at most
        own = with_fewest_features(family)
        self._look_by(ListedRowEdges(x, graph, own, False), own, self.s)
        self.reference = np.zeros(n_entries)

    def learn(self, eta, rng):
        """Keep the parameters."""
        self.reference = eta.copy()

    def information(self, labels, n_groups):
        """Minus the Hessian at the parameters that were kept."""
        out = np.zeros((n_groups, n_groups))
        add_group_information(self.view(self.reference).edges, labels[self.entries], out)
        return out / self._view.scale**2
