"""The log-likelihood of a field with missing cells: the log probability of the cells that were observed.

PyMC splits such a field into an observed and a free variable, and the log density of both together is that of
the observed one. Samplers need that. Whoever asks for the log-likelihood gets the log of the sum over all
states of the missing cells instead, row by row.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import PartialObservedRV, partial_observed_rv_logprob
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import constant_fold
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.distributions.elementwise_terms import ElementwiseTerm, probability_or_nan
from pymc_mrf.distributions.log_partition import ClampedLogPartition
from pymc_mrf.distributions.mrf_rv import FieldRV, log_partition
from pymc_mrf.distributions.symbolic_tables import core, shared_by_rows


def mark_observed(rv, name: str, model: pm.Model) -> None:
    """Tag the data of `rv`, a field or its observed part, with the name of the field."""
    if rv in model.observed_RVs:
        model.rvs_to_values[rv].tag.mrf_observed = name


@_logprob.register(PartialObservedRV)
def partially_observed_logprob(op, values, dist, mask, **kwargs):
    """Log density as PyMC has it; with what it is on its own, if `dist` is a field.

    It takes the place of PyMC's, as there is no other way in for the distribution that is split.
    """
    joint, nothing = partial_observed_rv_logprob(op, values, dist, mask, **kwargs)
    field = dist.owner.op
    if not isinstance(field, FieldRV):
        return joint, nothing
    if field.likelihood != "exact":
        return probability_or_nan(joint, field.likelihood, values[0]), nothing
    observed, missing = constant_fold([values[0], mask])
    x = np.array(np.broadcast_to(field.decode(np.zeros(missing.shape, dtype=np.int64)), missing.shape))
    x[~missing] = observed
    [z] = constant_fold([field.encode(pt.constant(x))[0]])
    z = np.where(missing, -1, z).astype(np.int8)
    return ElementwiseTerm()(
        joint, _of_observed(field, z, joint, field.dist_params(dist.owner))
    ), nothing


def _of_observed(op: FieldRV, z: np.ndarray, joint, parameters):
    """Log probability of the observed cells of every row that has one.

    `z` (..., d) are state indices, -1 where missing, and `joint` (n,) is the log density of all cells, the
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
    return pt.set_subtensor(joint[holes], logp)[np.flatnonzero(is_seen)]
