"""`likelihood="exact"` of discrete fields: the log-partition function is computed, by junction tree."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.distributions.foreign_routes import ElementwiseTerm
from pymc_mrf.distributions.likelihood import DeclaredField, Likelihood, possible
from pymc_mrf.distributions.log_partition import ClampedLogPartition
from pymc_mrf.distributions.mrf_rv import UndirectedFieldRV
from pymc_mrf.distributions.remedies import advice
from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows
from pymc_mrf.graph.junction_tree import check_tractable, is_cheap, is_tractable
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges, ExactGroups, ForestGroups


class Exact(Likelihood):
    """The likelihood itself, where the junction tree is small enough."""

    name: ClassVar[str] = "exact"
    uses_tree: ClassVar[bool] = True
    edges: ClassVar[Any] = ExactEdges
    groups: ClassVar[Any] = ExactGroups

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether the junction tree is small enough."""
        return is_tractable(field.op.tree)

    @classmethod
    def unasked(cls, field: DeclaredField) -> "Exact | None":
        """Where the tree is small enough to be used unasked."""
        return cls() if is_cheap(field.op.tree) else None

    def prepare(self, field: DeclaredField) -> "Exact":
        """Refuse trees that are too wide."""
        if not self.serves(field):
            instead = advice(field, possible(field), "use")
            check_tractable(field.op.tree, remedy=f"{instead}, or a sparser graph")
        return self

    def log_partition(self, op: Any, parameters: Sequence, value: Any) -> Any:
        """Sum over all states, by the tree; one number if all rows share their parameters."""
        return log_partition(op, op.log_tables(parameters, pt))

    def group_engines(self, fields: list, arguments: list[tuple]) -> list:
        """Take closed forms if all fields have them, as a kernel takes views of one type."""
        if all(map(_has_closed_form, fields)):
            return [ForestGroups(*own) for own in arguments]
        return super().group_engines(fields, arguments)

    def log_density_of_observed(self, field: Any, table: Any, mask: Any, joint: Any) -> Any:
        """Sum over the states of missing cells."""
        op = field.owner.op
        x, missing = constant_fold([table, mask])
        first = op.decode(np.zeros(op.n_variables, dtype=np.int64))
        [z] = constant_fold([op.encode(pt.constant(np.where(missing, first, x).astype(np.int64)))[0]])
        z = np.where(missing, -1, z).astype(np.int8)
        return ElementwiseTerm()(joint, _of_observed(op, z, joint, op.dist_params(field.owner)))


def _has_closed_form(field: Any) -> bool:
    """Whether the edges of an `ObservedField` are independent."""
    import networkx as nx

    is_forest = field.family.measures_agreement and nx.is_forest(field.graph.to_networkx())
    return is_forest and field.lacks_node_terms


def log_partition(op: UndirectedFieldRV, tables):
    """Exact A per row; one value if all rows share their parameters."""
    evaluate = op.log_partition_op()
    if shared_by_rows(tables, op.table_ndims):
        return evaluate(*(core(t, k) for t, k in zip(tables, op.table_ndims, strict=True)))[0]
    return Blockwise(evaluate)(*tables)[0]


def _of_observed(op: UndirectedFieldRV, z: np.ndarray, joint, parameters):
    """Log probability of the observed cells of every row that has one.

    `z` (..., d) are state indices, -1 where missing, and `joint` (...) is the log density of all cells, the
    same thing in complete rows. Rows that are alike and have the same parameters are evaluated once.
    """
    batch, rows = z.shape[:-1], z.reshape(-1, op.n_variables)
    is_seen = (rows >= 0).any(axis=1)
    holes = np.flatnonzero(is_seen & (rows < 0).any(axis=1))
    tables = op.log_tables(parameters, pt)
    clamped = ClampedLogPartition(op.tree)
    if shared_by_rows(tables, op.table_ndims):
        different, row = np.unique(rows[holes], axis=0, return_inverse=True)
        flat = pt.concatenate([core(t, k).ravel() for t, k in zip(tables, op.table_ndims, strict=True)])
        of_rows = clamped(different, flat)[row]
    else:
        parts = [
            pt.broadcast_to(t, (*batch, *t.shape[t.ndim - k :])).reshape((len(rows), -1))[holes]
            for t, k in zip(tables, op.table_ndims, strict=True)
        ]
        of_rows = Blockwise(clamped)(rows[holes][:, None, :], pt.concatenate(parts, axis=1))[:, 0]
    total = pt.broadcast_to(log_partition(op, tables), batch).ravel()
    logp = op.check(of_rows - total[holes], parameters)
    of_rows = pt.set_subtensor(joint.ravel()[holes], logp)
    return of_rows.reshape(batch) if is_seen.all() else of_rows[np.flatnonzero(is_seen)]
