"""What `EdgeGibbs` makes of its fields: one engine, starts of chains, and what these claim at the end.

Chains start without edges, which the first sweeps find.
"""

from functools import cached_property
from typing import Any

import numpy as np

from pymc_mrf.distributions.chain_record import ChainCount
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views.questions import Field, add_shifts
from pymc_mrf.likelihood.data_counts import Data
from pymc_mrf.likelihood.edges.block_edges import BlockEdges
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.edges.edge_field import HALF_ROW, node_parameters
from pymc_mrf.likelihood.edges.shared_blocks import SharedBlocks
from pymc_mrf.likelihood.edges.shared_edges import Share, SharedEdges
from pymc_mrf.steps.common.observed_field import ObservedField
from pymc_mrf.steps.edges.edge_step import EdgeTarget

SPREAD = 0.1  # standard deviation of the biases at the starts of chains


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
    """Starts of chains without edges, near the biases that fit without them, so that chains differ.

    Parameters
    ----------
    fields : list of ObservedField
    data : kernels.views.questions.Field
        The blocks of these fields, as those of one, as the kernels take them.
    """

    def __init__(self, fields: list[ObservedField], data: Field) -> None:
        self._fields = fields
        self._data = data

    @cached_property
    def _biases(self) -> tuple[np.ndarray, np.ndarray]:
        """Biases (d q,) of all fields without edges, and whether what each multiplies varies in the data."""
        fitted, varies = [], []
        for field in self._fields:
            d, K = field.graph.n_nodes, field.family.n_states
            G, is_free = field.family.node_basis, field.family.node_entries(d).ravel()
            counts = np.stack([(field.x[:, :d] == a).sum(axis=0) for a in range(K)], axis=1)
            p = (counts + HALF_ROW) / (counts + HALF_ROW).sum(axis=1, keepdims=True)
            log_p = np.where(field.family.possible(d), np.log(p), 0.0)
            fitted.append(np.where(is_free, node_parameters(G, log_p), 0.0))
            is_seen = (counts > 0)[:, None, :]
            highest = np.where(is_seen, G, -np.inf).max(axis=2)
            varies.append(is_free & (highest > np.where(is_seen, G, np.inf).min(axis=2)).ravel())
        return np.concatenate(fitted), np.concatenate(varies)

    def draw(self, offset: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """Draw biases, which go with the parameters of edges without the vector, `offset`; None for none."""
        fitted, varies = self._biases
        b = fitted + np.where(varies, SPREAD * rng.standard_normal(len(fitted)), 0.0)
        if offset is not None:
            add_shifts(self._data, -offset, 1.0, b)  # centred biases stay
        return b


def never_changed(name: str, count: ChainCount) -> list[str]:
    """Warn if no draw changed an edge or a weight."""
    if not count.stood_still:
        return []
    return [
        f"{name} never changed in {count.n_draws} draws: EdgeGibbs changed neither an edge nor a weight, "
        "and these draws are no sample. Tune longer (pm.sample(tune=...)), start elsewhere "
        "(initvals={...}), or give the slab more room if it ends near the values"
    ]
