"""What `TreeGibbs` warns of and refuses before it samples, and says where nothing is possible.

It refuses models that take entries of arrays by states that are not there. PyTensor's numba backend
checks no bounds: ``mu[x]`` then reads whatever lies behind the array. What is indexed is therefore
evaluated once by PyTensor's Python backend, which checks them.
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

from pymc_mrf.checks import warn_user
from pymc_mrf.steps.common.expressions import PointFunction

CHECKED = Mode(linker="py", optimizer="fast_compile")
N_CONFIGURATIONS = 10
TAKES = Subtensor, AdvancedSubtensor
SETS = IncSubtensor, AdvancedIncSubtensor


def warn_of_ties(name: str, scopes: list[tuple[int, ...]], exact_if_asked: bool) -> None:
    """Warn that factors over `scopes` tie trees to each other, which are drawn one by one nevertheless."""
    first = f'Declare {name} with likelihood="exact"; or join' if exact_if_asked else "Join"
    unasked = " unasked" if exact_if_asked else ""
    warn_user(
        f"TreeGibbs may not reach all configurations of {name}: impossible combinations (-inf in the tables "
        f"of {len(scopes)} factors, the first over variables {scopes[0]}) tie different trees of the "
        "partition, so that variables may be unable to change one tree after the other, and the junction "
        f"tree is too large to draw all of them at once{unasked}. {first} variables that determine each "
        "other into one variable with more states; else start chains from several configurations, "
        f'pm.sample(initvals=[{{"{name}": ...}}, ...]), and compare them. Large finite penalties in place '
        "of -inf mix as badly"
    )


def warn_of_no_evidence(name: str, terms: list[str], states: np.ndarray) -> None:
    """Warn that no term distinguishes states, (N, K), of the field."""
    every = np.unique(states).tolist()
    remedy = f": index by ({name} + 1) // 2" if every == [-1, 1] else ""
    warn_user(
        f"the rest of the model seems to say nothing about {name}: the terms that contain it "
        f"({', '.join(terms)}) were the same at all of its configurations that were tried, near the start "
        f"of the other variables. If {name} indexes an array, each of its states "
        f"({', '.join(map(str, every))}) must pick an entry of its own{remedy}"
    )


def warn_of_no_fit(name: str, parameters: list[str], why: str) -> None:
    """Warn of parameters of classes that are alike at the start, and are not fitted to the data."""
    warn_user(
        f"TreeGibbs does not fit {', '.join(parameters)} to the data before the first draw, because {why}; "
        f"and where they start, the model says the same of all states of {name}: chains may name the states "
        "differently, or stay in different modes. Give classes different prior means or starts, "
        "pm.sample(initvals={...}), and compare chains"
    )


def refuse_order(name: str, values: list[str]) -> None:
    """Refuse starts that are not finite, where another step comes before the one that would move them."""
    raise ValueError(
        f"PyMC starts {', '.join(values)} at infinity, as the transform `ordered` does with equal numbers, "
        "and the step that moves it cannot leave that. TreeGibbs starts it at a fit to the data if it comes "
        f"first: pm.sample(step=pymc_mrf.steps.TreeGibbs([{name}])); or give the variable an initval, of "
        "increasing numbers"
    )


def refuse_start(name: str, cell: str, node: str | None) -> None:
    """Refuse a start of the field `name` that is impossible.

    `cell` is one of the data that is impossible at all configurations, if one is, and `node` what it depends
    on, if that is known.
    """
    if node is not None:
        raise ValueError(
            f"no state of {node} is possible: {cell} has probability zero at each of them, at the start "
            "values of the other variables; correct this value, or let the distribution allow it"
        )
    if cell:
        raise ValueError(
            f"{cell} has probability zero at every configuration of {name} that was tried, at the start "
            "values of the other variables: perhaps none is possible. Correct this value, or let the "
            "distribution allow it; if you know a possible configuration, start there: "
            f'pm.sample(initvals={{"{name}": ...}})'
        )
    raise ValueError(
        f"the start of {name} has probability zero (-inf in a table or in a term that depends on it); give a "
        f'possible configuration: pm.sample(initvals={{"{name}": ...}})'
    )


def refuse_state(node: str, terms: list[str]) -> None:
    """Refuse evidence by these terms that leaves a node without a state."""
    raise ValueError(
        f"no state of {node} is possible: at each of its states, a term that depends on it is -inf or "
        f"undefined ({', '.join(terms)}); correct the data, or let the distributions allow them"
    )


def impossible_row(name: str, row: int | None, observed: bool) -> str:
    """Message of an error: no configuration is possible, in this row if the field has several.

    `observed` tells whether some of the row's cells are observed.
    """
    cells = (
        f", or its observed cells contradict them; check observed of {name.removesuffix('_unobserved')}"
        if observed
        else ""
    )
    return (
        f"no configuration of {name}{'' if row is None else f' in row {row}'} is possible: the tables of the "
        f"field or the terms that depend on it are -inf throughout{cells}"
    )


def check_indices(value, terms, model: pm.Model, states: np.ndarray, point) -> None:
    """Refuse terms that leave the bounds of an array with all nodes in one state, or in random ones.

    `value`: value variable of the field, with N entries. `terms` list of (TensorVariable,
    TensorVariable): random variables or potentials, and their log densities. `states` (N, K): value of
    each entry in each of its states. `point`: values of all variables. Raises a ValueError if an index
    is out of bounds.
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
