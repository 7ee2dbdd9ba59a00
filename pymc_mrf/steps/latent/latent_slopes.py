"""Slopes of the log density of data and parameters, averaged over the states of a hidden field.

By PyTensor, in Python: numba takes many seconds to compile a gradient that is needed some hundred times.
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.gradient import NullTypeGradError
from pytensor.graph.traversal import ancestors
from pytensor.scan.op import Scan
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.distributions.parents import field_node
from pymc_mrf.steps.latent.latent_evidence import LatentEvidence

QUICK = Mode(linker="py", optimizer="fast_compile")

Slopes = Callable[[dict, np.ndarray, np.ndarray], np.ndarray]


def log_prior(model: pm.Model, names: list[str], evidence: LatentEvidence):
    """Symbolic log density of the terms that contain these parameters, but not the field."""
    values = {value for value in model.value_vars if value.name in names}
    terms = [
        term.sum()
        for rv, term in evidence.rest
        if field_node(rv) is None and not values.isdisjoint(ancestors([term]))
    ]
    return pt.sum(terms)


def slopes_of(evidence: LatentEvidence, model: pm.Model, names: list[str]) -> Slopes | None:
    """Make a function that gives the slopes by these parameters, one after the other.

    `names`: names of values. Returns callable or None: of a point, the owner (C,) of each cell of the
    evidence, -1 where none, and probabilities (N, K) of the states. None where there is no gradient, or
    Python is slow, as it is with many small matrices and with loops.
    """
    by_name = {value.name: value for value in model.value_vars}
    values = [by_name[name] for name in names]
    weights, with_prior = pt.dvector("weights"), pt.dscalar("with_prior")
    total = (weights * evidence.density).sum() + with_prior * log_prior(model, names, evidence)
    if any(v.owner and isinstance(v.owner.op, Blockwise | Scan) for v in ancestors([total])):
        return None
    try:
        gradient = pt.grad(total, values, disconnected_inputs="ignore")
    except (NotImplementedError, NullTypeGradError):
        return None
    gradient = pt.concatenate([slope.ravel() for slope in gradient])
    needed = set(ancestors([gradient]))
    inputs = [value for value in model.value_vars if value in needed]
    f = model.compile_fn(
        gradient,
        inputs=[*inputs, weights, with_prior],
        point_fn=False,
        mode=QUICK,
        on_unused_input="ignore",
    )

    def slopes(point: dict, owner: np.ndarray, q: np.ndarray) -> np.ndarray:
        found = 0.0
        for k, here in enumerate(evidence.at_states(point)):
            cells = np.where(owner >= 0, q[np.maximum(owner, 0), k], float(k == 0) * (owner == -1))
            found = found + f(*(here[value.name] for value in inputs), cells, float(k == 0))
        return np.asarray(found, dtype=np.float64)

    return slopes
