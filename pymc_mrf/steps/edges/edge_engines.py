"""What `EdgeGibbs` makes of its fields: one engine, starts of chains, and what these claim at the end.

Chains start at ridge pseudo-likelihood estimates without their uncertain edges. Fields in time, those whose
edges have blocks of parameters, and those with many candidates start without edges: given their biases,
these are found by the first sweeps.
"""

from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.distributions.chain_record import ChainCount
from pymc_mrf.estimation.problem import FitProblem
from pymc_mrf.estimation.pseudo_likelihood import maximise
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.priors.densities import log_density
from pymc_mrf.kernels.views.questions import Field, add_shifts
from pymc_mrf.likelihood.data_counts import Data
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import HALF_ROW, data_information, edge_field, node_parameters
from pymc_mrf.likelihood.edges.shared_blocks import SharedBlocks
from pymc_mrf.likelihood.edges.shared_edges import Share, SharedEdges
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.edges.edge_step import EdgeTarget

MANY_EDGES = 8000
"""Candidates from which on a field starts without edges. An estimate takes as long as 150 sweeps. Of 256 and
1,024 binary nodes with 256 and 1,024 edges, 1,000 rows, the numbers of true and false edges were those of the
fortieth sweep from the third on."""

START_SCORE = 2.0  # standard errors at which the estimate of an edge is taken for a start


def engine_of(target: EdgeTarget, is_shared: bool, options: dict[str, Any]) -> EdgeEngine:
    """Make the engine of the fields of a sampler, as they are now.

    Parameters
    ----------
    target : EdgeTarget
    is_shared : bool
        Whether the variable is a part of the parameters only, or of those of several fields.
    options : dict
        Of the engine.
    """
    fields = target.fields
    if is_shared and fields[0].family.has_blocks:
        parts = [_engine(as_blocks([field]), [field], False, {}) for field in fields]
        return BlockEdges(SharedBlocks(parts, np.concatenate([field.factors for field in fields])))
    share = None
    if is_shared:
        share = Share(
            np.concatenate([np.tile(field.entries, len(field.blocks)) for field in fields]),
            np.concatenate([field.factors.ravel() for field in fields]),
        )
    wraps = share is not None and not target.likelihood.edges.takes_share
    if share is not None and not wraps:
        options = options | {"share": share}
    engine = _engine(as_blocks(fields), fields, bool(target.biases.free), options)
    if fields[0].family.has_blocks:
        return BlockEdges(engine)
    return SharedEdges(engine, share, target.rv.owner.op.n) if share is not None and wraps else engine


def _engine(
    data: tuple[Any, Any, Family],
    fields: list[ObservedField],
    moves_biases: bool,
    options: dict[str, Any],
) -> EdgeEngine:
    """Make the engine of the `data`, graph and family of fields as blocks of one."""
    of_blocks = [field.likelihood for field in fields for _ in field.blocks]
    return of_blocks[0].edge_engine(of_blocks, *data, moves_biases, **options)


def as_blocks(fields: list[ObservedField]) -> tuple[Any, PairwiseGraph | LaggedGraph, Family]:
    """Make the blocks of fields those of one: its data, graph and family, which engines take."""
    blocks = [(field, rows) for field in fields for rows in field.blocks]
    if len(blocks) == 1:
        return fields[0].x, fields[0].graph, fields[0].family
    graphs = [field.graph for field, _ in blocks]
    sizes = [graph.n_nodes for graph in graphs]
    family = fields[0].family.of_nodes(np.concatenate([np.arange(size) for size in sizes]))
    x = by_block(fields, [field.x for field in fields])
    if isinstance(graphs[0], LaggedGraph):
        for field in fields[1:]:
            if field.graph.lags != graphs[0].lags:
                raise ValueError(
                    f"fields in time that share a vector need the same lags, but {fields[0].name} has "
                    f"{graphs[0].lags} and {field.name} {field.graph.lags}: give each a vector of its own"
                )
        return x, LaggedGraph.side_by_side(graphs), family
    starts = np.cumsum([0, *sizes[:-1]])
    edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, starts, strict=True)])
    return x, PairwiseGraph(range(sum(sizes)), edges.tolist()), family


def by_block(fields: list[ObservedField], states: list[np.ndarray]) -> Data:
    """Give the data of the blocks from the state indices (n, d) of each field, as `as_blocks` gives them."""
    data = [x[rows] for field, x in zip(fields, states, strict=True) for rows in field.blocks]
    return data[0] if len(data) == 1 else data


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


def never_changed(name: str, count: ChainCount) -> list[str]:
    """Warn if no draw changed an edge or a weight."""
    if not count.stood_still:
        return []
    return [
        f"{name} never changed in {count.n_draws} draws: EdgeGibbs changed neither an edge nor a weight, "
        "and these draws are no sample. Tune longer (pm.sample(tune=...)), start elsewhere "
        "(initvals={...}), or give the slab more room if it ends near the values"
    ]
