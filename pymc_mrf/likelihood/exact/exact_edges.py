"""The exact likelihood of a field, by junction tree or enumeration, for steps of edges and groups."""

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.graph.junction_tree import JunctionTree, field_tree
from pymc_mrf.kernels.groups.group_labels import FixedView
from pymc_mrf.kernels.junction_trees import junction_tree as kernels
from pymc_mrf.kernels.junction_trees.junction_tree_focus import allocate_focus
from pymc_mrf.kernels.views import exact_edges
from pymc_mrf.kernels.views.questions import Field, FieldData
from pymc_mrf.kernels.views.split_field import LEAST_NODES, allocate_rows, default_blocks, make_windows
from pymc_mrf.likelihood.data_counts import blocks_of
from pymc_mrf.likelihood.draw_cost import BY_LISTED, sweeps_in_a_draw
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import room_for
from pymc_mrf.likelihood.groups.group_engine import (
    N_REFERENCE,
    ComputedGroups,
    EdgewiseGroups,
    with_fewest_features,
)

MAX_ENUMERATED = 24
"""Nodes of which all configurations are summed over. On a complete graph that is much faster than the
junction tree of one clique, so only memory limits it: two lists of 2^d numbers, 0.27 GB for 24 nodes, which
are used if the field is too strong for `kernels.split_field`. A step of `EdgeGibbs` on complete graphs of 9,
12, 15 and 18 nodes took 1.5, 4, 18 and 33 times as long by junction tree."""

CELL_COST = 16
"""A cell of a junction tree's tables costs about as much as this many configurations in enumeration, measured
on random graphs of 8 to 16 nodes."""

STRETCH = 1.0, 3.0
"""Joint moves go a quarter to three quarters of an oscillation: one costs little beside a sweep over the
edges. On 10 to 64 nodes the worst weight gets 1.1 to 3 times as many effective draws in the same time as by a
quarter, strong edges and ordinal items most; by enumeration of 18 nodes, where slopes cost most, as many.
Lengths are random (Neal, 2011), as half of an oscillation leaves squares of deviations as they are."""


class ExactEdges(EdgeEngine):
    """Engine of the edge sampler: exact moves of edges, weights and biases.

    Parameters
    ----------
    x, graph, family, moves_biases
        As of `EdgeEngine`.
    is_centred : bool, optional
        Whether biases are shifted with the edges; by default if they are to be moved.
    enumerates : bool, optional
        Whether by enumeration; by default where it is faster.

    Raises
    ------
    ValueError
        If the junction tree is too wide.
    """

    def __init__(self, x, graph, family, moves_biases, is_centred=None, enumerates=None) -> None:
        is_centred = moves_biases if is_centred is None else is_centred
        tree = field_tree(graph, family.n_states)
        if enumerates is None:
            enumerates = not isinstance(x, list) and is_enumerated(family, tree)
        order = tree.factor_order[tree.factor_order < graph.n_edges]
        field, data = self.take_data(x, graph, family, is_centred, order)
        n_biases = len(data.t) if moves_biases else 0
        if enumerates:
            self.view = listed_view(field, data, n_biases)
            self.n_repeats = sweeps_in_a_draw(graph.n_edges, BY_LISTED * 2**graph.n_nodes)
        else:
            reference = [block.x[0].astype(np.int64) for block in blocks_of(x, graph.edges)]
            self.view = tree_view(field, data, n_biases, tree, reference)

    def stretch(self, rng) -> float:
        """Draw it from `STRETCH`."""
        return rng.uniform(*STRETCH)

    def refresh(self, rng) -> None:
        """Calibrate the junction tree; windows of the enumeration are listed as they are visited."""
        if isinstance(self.view, exact_edges.TreeView):
            exact_edges.calibrate_tree(self.view)
        else:
            self.view.window[0] = -1


def is_enumerated(family: Family, tree: JunctionTree) -> bool:
    """Whether a field, alone, is enumerated, being binary and small, rather than treated by its tree."""
    d = tree.n_variables
    fits = family.n_states == 2 and LEAST_NODES <= d <= MAX_ENUMERATED
    fits = fits and not (family.has_own_scores or family.has_blocks)
    return fits and 2**d <= CELL_COST * tree.n_cells


def shared(field: Field, data: FieldData, n_biases: int, n_blocks: int = 1) -> dict:
    """Attributes that both views have."""
    n_cells, n_pairs = field.cells.shape[1], len(np.unique(field.pair))
    return room_for(field, data, n_biases) | {
        "log_p": np.zeros(n_cells),
        "kept": np.zeros((n_blocks, n_cells)),
        "delta": np.zeros(n_cells),
        "marginals": np.zeros(n_pairs * n_cells + field.floor.size),
    }


def tree_view(
    field: Field, data: FieldData, n_biases: int, tree: JunctionTree, reference: list[np.ndarray]
) -> exact_edges.TreeView:
    """View by junction tree; `reference`: states of a row of the data of each block."""
    arrays = tree.arrays
    work = kernels.allocate_workspace(arrays)
    return exact_edges.TreeView(
        **shared(field, data, n_biases, len(reference)),
        is_even=bool((data.n == data.n[0]).all()),
        reference=np.concatenate(reference),
        tree=arrays,
        focus=allocate_focus(arrays),
        work=work,
    )


def listed_view(field: Field, data: FieldData, n_biases: int) -> exact_edges.ListedView:
    """View by enumeration."""
    d = len(field.floor)
    windows = make_windows(field.edges, d, default_blocks(d))
    return exact_edges.ListedView(
        **shared(field._replace(order=windows.order), data, n_biases),
        spreads=np.ptp(field.cells, axis=1),
        windows=windows,
        window=np.full(1, -1),
        rows=allocate_rows(windows),
        moments=np.zeros((d, d)),
    )


class ExactGroups(EdgewiseGroups):
    """Engine of fields of small treewidth; see `GroupEngine`.

    Raises
    ------
    ValueError
        If the junction tree is too wide.
    """

    # a chain of PyMC's default length then converges on fields of some hundred edges
    n_rounds = 8, 2

    def __init__(self, x, graph, family, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        own = with_fewest_features(family)
        engine = ExactEdges(x, graph, own, False, enumerates=False)
        others = np.flatnonzero(self.edge_of < 0)
        self.order = np.concatenate([entries[engine.view.field.order], others])
        self._look_by(engine, own, self.s)

    def learn(self, eta, rng):
        z = self.draw(eta, N_REFERENCE, rng)
        u, v = self.graph.edges.T
        self.reference = self._reference_statistic[z[:, u], z[:, v]].T.copy()

    def draw(self, eta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Independent states (n, d) int8 of the field at `eta` (r,)."""
        # more than draws need, but compiled already, as a pass in one direction is not
        self._of_edges(eta)
        z = np.empty((n, self.graph.n_nodes), dtype=np.int8)
        kernels.draw_rows(self._view.edges.tree, self._view.edges.work, z, rng)
        return z


class ForestGroups(ComputedGroups):
    """Engine of forests without node terms: edges are independent, everything is in closed form.

    On a forest the agreements of the edges are independent, each with probability
    exp(eta) / (exp(eta) + K - 1) (Liu & Page, 2013, sec. 4.1, for K = 2), so that the posterior is that
    of a Dirichlet process mixture of Binomials. Parameters as of `GroupEngine`, f being agreement.

    Attributes
    ----------
    lam : (edges,) array
        Logit of the probability of agreement at eta = 0.
    """

    def __init__(self, x, graph, family, node_tables, entries, n_entries) -> None:
        super().__init__(x, graph, family, node_tables, entries, n_entries)
        self.lam = np.full(graph.n_edges, -np.log(family.n_states - 1.0))
        n = self._to_entries(np.full(graph.n_edges, float(self.n)))
        self._view = FixedView(self._to_entries(self.s), n, self._to_entries(self.lam))

    def set_data(self, x):
        """Bring the closed forms up to date as well."""
        super().set_data(x)
        self._view.s[:] = self._to_entries(self.s)

    def view(self, eta):
        """Likelihoods that never change."""
        return self._view

    def log_likelihood(self, eta):
        """Sum of Binomial log-likelihoods."""
        z = eta[self.entries] + self.lam
        value = self.s @ eta[self.entries] - self.n * np.logaddexp(0.0, z).sum()
        p = np.exp(-np.logaddexp(0.0, -z))
        return float(value), self._to_entries(self.s - self.n * p)

    def learn(self, eta, rng):
        """Learn nothing: the information of the data serves."""

    def information(self, labels, n_groups):
        """Diagonal, at the pooled frequencies of the groups."""
        groups = labels[self.entries]
        trials = np.bincount(groups, minlength=n_groups) * float(self.n)
        p = (np.bincount(groups, self.s, minlength=n_groups) + 0.5) / (trials + 1.0)
        return np.diag(trials * p * (1.0 - p))
