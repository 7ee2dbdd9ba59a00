"""Base of the engines of group samplers that ask a view for single edges."""

import numpy as np

from pymc_mrf.fields.family import Family
from pymc_mrf.kernels.groups.edgewise_groups import EdgewiseView
from pymc_mrf.kernels.views.questions import add_slopes
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.groups.group_engine import ComputedLikelihood


class EdgewiseLikelihood(ComputedLikelihood):
    """Base of the engines that ask a view for single edges; see `GroupEngine`.

    A subclass calls `_look_by` with the engine of the edge sampler that has the view.
    """

    _view: EdgewiseView
    _node_score: float  # of the data: a constant, which makes logp comparable
    _node_weights: np.ndarray = np.ones(1)  # of their conditional probabilities, (d,)

    def _calibrate(self) -> None:
        """Compute all that the view keeps anew, at its parameters."""
        self._engine.refresh(None)

    def _look_by(self, engine: EdgeEngine, family: Family, s: np.ndarray) -> None:
        """Take over the view of an engine of a field of `family`; `s` (edges,) as of `EdgewiseView`."""
        self._engine, self._view = engine, self._edgewise(engine.view, family, s)
        self._all_edges = np.arange(self.graph.n_edges)
        self._fill_nodes()
        self._node_score = self._score_nodes()

    def set_data(self, x):
        """Hand them on to the engine of edges, and score their nodes."""
        super().set_data(x)
        self._engine.set_data(x)
        self._node_score = self._score_nodes()

    def set_node_tables(self, node_tables):
        """Take them over into the view as well, if they are others."""
        if not np.array_equal(node_tables, self.node_tables):
            super().set_node_tables(node_tables)
            self._fill_nodes()
            self._node_score = self._score_nodes()

    def _fill_nodes(self) -> None:
        """Take the node tables over into the view's field."""
        self._view.edges.field.floor[:] = self.node_tables

    def _score_nodes(self) -> float:
        """Sum the view's node tables over the data."""
        states = self._node_weights[:, None] * self._counts.nodes[self.columns.present]  # (d, K)
        seen = states > 0
        return float(states[seen] @ self._view.edges.field.floor[seen])

    def _go_to(self, eta: np.ndarray) -> None:
        """Give the view the parameters `eta` (r,)."""
        self._view.edges.w[:] = eta[self.entries] / self._view.scale

    def view(self, eta):
        """Calibrated anew, so that rounding errors do not add up over the chain."""
        self._go_to(eta)
        self._calibrate()
        return self._view

    def log_likelihood(self, eta):
        """Compute value and slopes by all edges at once."""
        value, slope = self._of_edges(eta)
        return value + self._node_score, self._to_entries(slope / self._view.scale)

    def _of_edges(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood but for the node tables, and its slopes by weights; a pass stays in the view."""
        slope = np.zeros(self.graph.n_edges)
        self._go_to(eta)
        return add_slopes(self._view.edges, self._all_edges, slope), slope
