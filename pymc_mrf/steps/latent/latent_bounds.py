"""Whether a model takes entries of arrays by the states of a latent field that are not there.

PyTensor's numba backend checks no bounds: ``mu[x]`` then reads whatever lies behind the array. What is
indexed is therefore evaluated once by PyTensor's Python backend, which checks them.
"""

import numpy as np
import pymc as pm
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)

from pymc_mrf.steps.common.point_inputs import PointFunction

CHECKED = Mode(linker="py", optimizer="fast_compile")

N_CONFIGURATIONS = 10

TAKES = Subtensor, AdvancedSubtensor
SETS = IncSubtensor, AdvancedIncSubtensor


def check_indices(value, terms, model: pm.Model, states: np.ndarray, point) -> None:
    """Refuse terms that leave the bounds of an array with all nodes in one state, or in random ones.

    Parameters
    ----------
    value : TensorVariable
        Value variable of the field, with N entries.
    terms : list of (TensorVariable, TensorVariable)
        Random variables or potentials, and their log densities.
    model : pymc.Model
    states : (N, K) array
        Value of each entry in each of its states.
    point : dict
        Values of all variables.

    Raises
    ------
    ValueError
        If an index is out of bounds.
    """
    N, K = states.shape
    rng = np.random.default_rng(0)
    shape = np.shape(point[value.name])
    random = states[np.arange(N), rng.integers(K, size=(N_CONFIGURATIONS, N))]
    for variable, term in terms:
        indexed = _indexed(term, value)
        if not indexed:
            continue
        f = PointFunction(indexed, model, {"mode": CHECKED})
        for c, configuration in enumerate([*states.T, *random]):
            try:
                f({**point, value.name: configuration.reshape(shape)})
            except IndexError as error:
                where = f"all nodes are in state {configuration.max()}" if c < K else "nodes differ"
                raise ValueError(_message(value.name, variable.name, where, states, error)) from error


def _indexed(term, value) -> list:
    """Find the outputs of operations in the graph of `term` whose indices depend on `value`."""
    found = []
    for node in {v.owner: None for v in ancestors([term]) if v.owner is not None}:
        op = getattr(node.op, "core_op", node.op)
        first = 1 if isinstance(op, TAKES) else 2 if isinstance(op, SETS) else None
        if first is not None and value in set(ancestors(node.inputs[first:])):
            found.append(node.outputs[0])
    return found


def _message(name: str, child: str, where: str, states: np.ndarray, error: IndexError) -> str:
    every = np.unique(states)
    recode = f", and ({name} + 1) // 2 counts them from 0" if every.tolist() == [-1, 1] else ""
    return (
        f"{child} takes an entry by the states of {name} that is not there when {where}: "
        f"{str(error).splitlines()[0]}. What is indexed by {name} needs one entry for each of its "
        f"{len(every)} states ({', '.join(map(str, every[:5]))}{', ...' if len(every) > 5 else ''})"
        f"{recode}"
    )
