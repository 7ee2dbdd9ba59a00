"""Where chains of edge samplers start: ridge pseudo-likelihood estimates without their uncertain edges.

Fields in time, those whose edges have blocks of parameters, and those with many candidates start without
edges: given their biases, these are found by the first sweeps.
"""

from functools import cached_property

import numpy as np

from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import log_density
from pymc_mrf.kernels.views.questions import Field, add_shifts
from pymc_mrf.likelihood.edges.edge_field import HALF_ROW, data_information, edge_field, node_parameters
from pymc_mrf.steps.common.observed_field import ObservedField

MANY_EDGES = 8000
"""Candidates from which on a field starts without edges. An estimate takes as long as 150 sweeps. Of 256 and
1,024 binary nodes with 256 and 1,024 edges, 1,000 rows, the numbers of true and false edges were those of the
fortieth sweep from the third on."""

START_SCORE = 2.0  # standard errors at which the estimate of an edge is taken for a start


class EdgeStart:
    """Starts of chains near one estimate of each field, made when the first of them is asked for.

    Parameters
    ----------
    fields : list of ObservedField
    data : kernels.views.questions.Field
        The blocks of these fields, as those of one, as the kernels take them.
    scale : float
        Standard deviation of the ridge penalty: the scale of the slab where the step is made.
    moves_biases : bool
    """

    def __init__(
        self, fields: list[ObservedField], data: Field, scale: float, moves_biases: bool
    ) -> None:
        self._fields = fields
        self._data = data
        self._scale = scale
        self._moves_biases = moves_biases

    @cached_property
    def _estimates(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Edge parameters (r,), biases (d q,) and `data_information` of each field, rows being alike."""
        found = []
        for field in self._fields:
            is_large = field.graph.n_edges >= MANY_EDGES
            if isinstance(field.graph, LaggedGraph) or field.family.has_blocks or is_large:
                found.append(_without_edges(field))
                continue
            labels = np.arange(field.graph.n_edges)
            problem = FitProblem(field.x, field.graph, field.family, labels, labels)
            ridge = 1.0 / (len(field.x) * self._scale**2)
            estimate, _, _ = maximise(problem, ridge=ridge, max_iterations=50)
            w, b = problem.split(estimate)
            alike, _ = edge_field(field.x, field.graph, field.family, False, labels)
            found.append((w, np.nan_to_num(b).ravel(), data_information(field.x, alike)))
        return found

    def draw(
        self, prior: EdgePrior, b: np.ndarray, offset: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vector and biases near the estimates, random so that chains differ.

        Parameters
        ----------
        prior : EdgePrior
        b : array
            Biases of all blocks; returned as they are if they are not to be moved.
        offset : array
            Edge parameters of all blocks without the vector.
        rng : numpy.random.Generator
        """
        n = 1 + max(int(field.entries.max()) for field in self._fields)
        weighted, information, of_biases = np.zeros(n), np.zeros(n), []
        offsets = np.split(offset, np.cumsum([field.factors.size for field in self._fields])[:-1])
        for field, own, (w, _, known) in zip(self._fields, offsets, self._estimates, strict=True):
            of_edges, of_nodes = np.split(known, [len(w)])
            of_biases.append(of_nodes)
            for rows, factors, without in zip(
                field.blocks, field.factors, own.reshape(field.factors.shape), strict=True
            ):
                # both ends contribute as much as one under independence
                share = 2.0 * len(rows) / len(field.x) * of_edges * factors
                np.add.at(information, field.entries, share * factors)
                np.add.at(weighted, field.entries, share * (w - without))
        estimate = weighted / information
        information += prior.slab.scale**-2
        noise = rng.standard_normal(n) / np.sqrt(information)
        new = np.zeros(n)
        for e in np.flatnonzero(np.abs(estimate) * np.sqrt(information) > START_SCORE):
            x = estimate[e] + noise[e]
            if np.isfinite(log_density(prior.slab, x)):
                new[e] = x
        if not self._moves_biases:
            return new, b
        # one block for each field
        moves = [
            w - own - field.factors[0] * new[field.entries]
            for field, own, (w, _, _) in zip(self._fields, offsets, self._estimates, strict=True)
        ]
        b = np.concatenate([fitted for _, fitted, _ in self._estimates])
        varies = np.concatenate(of_biases) > HALF_ROW
        b += np.where(varies, rng.standard_normal(len(b)) * 0.1, 0.0)
        add_shifts(self._data, np.concatenate(moves), 1.0, b)  # centred biases stay
        return new, b


def _without_edges(field: ObservedField) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edge parameters (r,), biases (d q,) and information of a field whose nodes are independent."""
    d, K, G, r = field.graph.n_nodes, field.family.n_states, field.family.node_basis, len(field.entries)
    counts = np.stack([(field.x[:, :d] == a).sum(axis=0) for a in range(K)], axis=1) + HALF_ROW
    log_p = np.where(field.family.possible(d), np.log(counts / counts.sum(axis=1, keepdims=True)), 0.0)
    b = np.where(field.family.node_entries(d).ravel(), node_parameters(G, log_p), 0.0)
    return np.zeros(r), b, np.ones(r + b.size)
