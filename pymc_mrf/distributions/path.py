"""`likelihood="path"`: fields whose log-partition function is simulated once.

Along one coupling, or on a grid of one coupling and one field, the same for all nodes; edges may have known
weights, by which the coupling is multiplied. Fields that differ between nodes, and couplings that repel under
a field, are not implemented.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions.arguments import entries_of_dims, is_random, value_of
from pymc_mrf.distributions.entries import entries_behind
from pymc_mrf.distributions.multiples import Multiple, as_multiple, sigmoid_argument
from pymc_mrf.distributions.symbolic_tables import core, filling_number
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.path.coupling_path import CouplingPath
from pymc_mrf.likelihood.path.field_grid import FieldGrid
from pymc_mrf.likelihood.path.grid_simulation import errors_in_posterior
from pymc_mrf.likelihood.path.path_simulation import FROZEN
from pymc_mrf.likelihood.path.saved_paths import saved_grid, saved_path

logger = logging.getLogger("pymc_mrf")

PRIOR_DRAWS = 5000
"""Draws of a coupling that tell whether it may be negative."""

NEGLIGIBLE = 0.25
"""Error of a mean up to which nothing is said, in standard deviations of a posterior."""

LARGEST_UNASKED, LARGEST_FIELD_UNASKED = 2**14, 2**12
"""Nodes of all rows up to which the simulation of a path, of a grid, of some minutes, starts by itself."""

LARGEST_OF_ONE, MOST_STATES_OF_ONE = 2**16, 4
"""Nodes of a single row up to which a path, of neighbours that attract each other, starts by itself; states.

256 x 256 pixels take 10 minutes with two states and 20 with four, where a draw by Exchange takes 0.6 s and
1.3 s. With more nodes or states errors that matter are likely, and found at the end.
"""

MOST_STATES, LARGEST_OF_MOST = 3, 2**8
"""States of a grid, of which the number of points is a power of theirs; nodes of a graph with so many."""

Simulated = CouplingPath | FieldGrid

OTHERS = "or use likelihood={others}"
"""How messages end; `find_path` names the others."""


def folder() -> Path:
    """Where paths are saved: beside what PyTensor compiles, which its option `base_compiledir` moves."""
    return Path(pytensor.config.base_compiledir) / "pymc_mrf_paths"


def find_path(
    family: Family, parameters: Sequence, graph: PairwiseGraph, n_rows: int, others: Callable[[], str]
) -> Simulated:
    """Path or grid of a field with these symbolic parameters: read, or simulated and saved.

    `others` names the likelihoods that a message recommends.

    Raises
    ------
    ValueError
        If the field is not one with a scalar coupling of agreements, times constant weights of the edges at
        most, and at most one field for all nodes.
    """
    reason = _why_not(family, parameters, graph)
    if reason:
        raise ValueError(reason.format(others=others()))
    path = _known_path(family, parameters, graph, n_rows)
    warn_of_errors(path, family, n_rows)
    return path


def warn_of_errors(path: Simulated, family: Family, n_rows: int) -> None:
    """Warn of a path that is not known well enough for so many rows."""
    off, t = _largest_error(path, n_rows)
    if off > NEGLIGIBLE:
        name, apart = family.edge_parameter, family.edge_statistic[0]
        value = float(family.parameter(t * path.weights.max() / (apart[0] - apart[1])))
        largest = "" if (path.weights == 1.0).all() else ", the largest,"
        warn_user(
            f'the posterior of {name} under likelihood="path" may be off by up to {off:.2f} of its '
            f"standard deviations, near {name}{largest} = {value:.3g}, where the simulation is too short or "
            f'its states do not mix: check it with likelihood="particles", or declare the field with its '
            f"{n_rows} rows if it was declared with fewer"
        )


def warn_of_data(path: Simulated, family: Family, x: Any) -> None:
    """Warn of a path that is not known well enough for the rows that symbolic data have by now."""
    if any(isinstance(v, SharedVariable) for v in ancestors([x])):
        warn_of_errors(path, family, int(value_of(pt.prod(x.shape[:-1]))))


def unasked_path(
    family: Family, parameters: Sequence, graph: PairwiseGraph, n_rows: int
) -> Simulated | None:
    """Path or grid of a field under ``likelihood="auto"``; None where others do better.

    That is where there is none, its simulation would take longer than draws by Exchange or has errors that
    matter, or the coupling is known.
    """
    if not is_random(parameters[0]) or _why_not(family, parameters, graph):
        return None
    if n_rows * graph.n_nodes > _most_unasked(family, parameters, n_rows):
        return None
    path = _known_path(family, parameters, graph, n_rows)
    off = _largest_error(path, n_rows)[0]
    serves = off <= NEGLIGIBLE
    logger.info(
        'the posterior under likelihood="path" may be off by up to %.2f standard deviations; '
        'likelihood="auto" %s it',
        off,
        "is" if serves else "is not",
    )
    return path if serves else None


def _most_unasked(family: Family, parameters: Sequence, n_rows: int) -> int:
    """Nodes of all rows up to which the simulation of a field that has a path or a grid starts by itself."""
    if has_field(family, parameters):
        return LARGEST_FIELD_UNASKED if family.n_states == 2 else 0
    is_one = n_rows == 1 and family.n_states <= MOST_STATES_OF_ONE
    return LARGEST_OF_ONE if is_one and not _may_repel(family, parameters) else LARGEST_UNASKED


def _why_not(family: Family, parameters: Sequence, graph: PairwiseGraph) -> str | None:
    """Say why a field has no path, and what to do about it."""
    name = family.edge_parameter
    if not family.measures_agreement:
        kind = family.title if not family.edge_axes else f"a {name} for each state"
        return (
            f'likelihood="path" is for AgreementMRF, Ising and Potts with one {name}, not for {kind}: use '
            "likelihood={others}"
        )
    line = _edge_line(family, parameters[0])
    if line is None:
        return (
            f'{name} must be a scalar under likelihood="path", which follows the field along one number, or '
            f"a scalar times constant weights of the edges, but {_what_changes(parameters[0], graph)}: pass "
            f"the one number that all edges share, {OTHERS}"
        )
    shared, weights = line
    if graph.n_edges and not (np.isfinite(weights).all() and weights.min() >= 0.0 < weights.max()):
        return (
            f'the weights of the edges by which {name} is multiplied must be finite under likelihood="path", '
            f"of one sign, and not all 0, but they go from {weights.min()} to {weights.max()}: {OTHERS[3:]}"
        )
    shares, labels = [shared], [str(family.edge_parameter)]
    if has_field(family, parameters):
        reason, row = _why_no_grid(family, parameters, graph, shared)
        if reason:
            return reason
        shares.append(row)
        labels.append(str(family.node_parameter))
    for label, share in zip(labels, shares, strict=True):
        masses = entries_behind(share)
        if masses:
            return (
                f'{label} must have a density under likelihood="path", but it depends on '
                f"{masses[0].name}, of which entries are equal or zero with positive probability: give it "
                "another prior"
            )
    return (
        None if graph.n_edges else 'likelihood="path" needs a graph with edges: use likelihood="exact"'
    )


def _why_no_grid(
    family: Family, parameters: Sequence, graph: PairwiseGraph, coupling: Any
) -> tuple[str | None, Any]:
    """Say why a field with this coupling and node parameters has no grid; else what all nodes share."""
    name, K = family.node_parameter, family.n_states
    row = shared_row(family, parameters[1])
    if row is None:
        one = "the one number" if not family.node_axes else f"the one vector ({K},)"
        return (
            f'{name} must be the same for all nodes under likelihood="path", which simulates it on a grid, '
            f"but it has values for {graph.n_nodes} nodes: pass {one} that all share, {OTHERS}"
        ), None
    if K > MOST_STATES:
        return (
            f'{name} must be 0 under likelihood="path" if there are more than {MOST_STATES} states, as the '
            f"points of its grid are a power of their number, but there are {K}: leave it out, or use "
            'likelihood="particles", whose step is Exchange'
        ), None
    if K == MOST_STATES and graph.n_nodes > LARGEST_OF_MOST:
        return (
            f'{name} must be 0 under likelihood="path" with {K} states and more than {LARGEST_OF_MOST} '
            f"nodes, as its grid takes too long, but there are {graph.n_nodes}: leave it out, or use "
            'likelihood="particles", whose step is Exchange'
        ), None
    if share_below_zero(coupling) > 0.0:
        return (
            f'{family.edge_parameter} must attract neighbours under likelihood="path" with a {name}, but '
            "some draws of its prior do not: give it a prior without them, as pm.HalfNormal, or use "
            'likelihood="particles", whose step is Exchange'
        ), None
    return None, row


def _may_repel(family: Family, parameters: Sequence) -> bool:
    """Whether some draws of the coupling of a field that has a path are negative."""
    line = _edge_line(family, parameters[0])
    assert line is not None
    return share_below_zero(line[0]) > 0.0


def _known_path(family: Family, parameters: Sequence, graph: PairwiseGraph, n_rows: int) -> Simulated:
    along = family.edge_parameter
    if has_field(family, parameters):
        along = f"{along} and its {family.node_parameter}"

    is_large = n_rows * graph.n_nodes > LARGEST_UNASKED
    how_long = ", which may take ten minutes or longer" if is_large else ""

    def announce(file: Path) -> None:
        logging.getLogger("pymc").info(
            f"pymc_mrf simulates a field of {graph.n_nodes} nodes with {family.n_states} states along its "
            f"{along}, this first time only{how_long}: {file}"
        )

    line = _edge_line(family, parameters[0])
    assert line is not None
    weights = _scaled(line[1])
    if has_field(family, parameters):
        return saved_grid(graph, weights, family.n_states, n_rows, folder(), announce)
    is_signed = _may_repel(family, parameters)
    return saved_path(graph, weights, family.n_states, n_rows, is_signed, folder(), announce)


def _edge_line(family: Family, parameter: Any) -> Multiple | None:
    """Eta of the edges as a number, symbolic, times weights (r,); None if it is not seen to be that.

    Weights of one sign are not negative.
    """
    [*batch, r] = parameter.type.shape
    argument = sigmoid_argument(parameter) if family.is_log_odds else parameter
    found = as_multiple(parameter if argument is None else argument)
    if found is None or found[1].size not in (1, r) or any(n != 1 for n in batch):
        return None
    number, weights = found[0], np.broadcast_to(found[1].ravel(), r)
    if argument is None:  # a probability
        if np.ptp(weights):
            return None
        number, weights = family.natural(number * weights[0], pt), np.ones(r)
    is_negative = weights.min(initial=0.0) < 0.0 >= weights.max(initial=0.0)
    return (-number, -weights) if is_negative else (number, weights)


def _scaled(weights: np.ndarray) -> np.ndarray:
    """Make the mean square of weights 1, so that the unit of the coupling plays no part; equal ones are 1."""
    return weights / np.sqrt(np.mean(weights**2)) if np.ptp(weights) else np.ones(len(weights))


def _what_changes(parameter: Any, graph: PairwiseGraph) -> str:
    """Say why a parameter of the edges is no scalar times constants."""
    draws = [v for v in ancestors([parameter]) if v.owner and isinstance(v.owner.op, RandomVariable)]
    for v in ancestors([parameter], blockers=draws):
        if isinstance(v, SharedVariable) and hasattr(v.type, "ndim") and v.type.ndim:
            return f"it depends on {v.name}, which pm.set_data may change (give weights as an array)"
    return f"it is a vector of {graph.n_edges} values"


def has_field(family: Family, parameters: Sequence) -> bool:
    """Whether there is a node parameter that is not 0."""
    return family.node_parameter is not None and not _is_zero(parameters[1])


def _largest_error(path: Simulated, n_rows: int) -> tuple[float, float]:
    """Return the largest error of means, in standard deviations of a posterior, and at which coupling."""
    if isinstance(path, FieldGrid):
        off = errors_in_posterior(path.variances, path.errors, n_rows)
        off = off.max(axis=tuple(range(1, off.ndim)))
        return float(off.max()), float(path.couplings[off.argmax()])
    off = path.errors * np.sqrt(n_rows / np.maximum(path.variances, FROZEN / n_rows))
    return float(off.max()), float(path.knots[off.argmax()])


def path_coupling(path: Simulated, family: Family, parameter: Any) -> Any:
    """Symbolic coupling t of agreements, from a `parameter` (..., r) along the weights of `path`."""
    edge = int(path.weights.argmax())
    eta = family.natural(core(parameter, 1)[edge], pt)
    return (family.edge_statistic[0, 0] - family.edge_statistic[0, 1]) / path.weights[edge] * eta


def path_weights(family: Family, parameter: Any) -> Any:
    """Symbolic log weights (K,) of the states, from a node parameter of which all nodes have the same."""
    return family.node_tables(core(parameter, 1 + family.node_axes)[0])


def along_path(path: Simulated, family: Family, parameters: Sequence) -> Any:
    """Log-partition function of a field whose edges share one number, and its nodes one or K; symbolic.

    That of an edge is multiplied by its weight. Its statistic of an edge is a constant plus a multiple
    of the agreement.
    """
    t, (together, apart) = path_coupling(path, family, parameters[0]), family.edge_statistic[0, :2]
    if isinstance(path, FieldGrid):
        value = path.log_partition(t, path_weights(family, parameters[1]), pt)
    else:
        value = path.log_partition(t, pt)
    return value + path.most * apart / (together - apart) * t


def shared_row(family: Family, parameter: Any) -> Any:
    """Symbolic number, or vector (K,), that all nodes have; None if they may differ."""
    if not family.node_axes:
        return shared_number(parameter)
    if isinstance(parameter, Constant):
        rows = np.unique(parameter.data.reshape(-1, family.n_states), axis=0)
        return pt.constant(rows[0]) if len(rows) == 1 else None
    node = parameter.owner
    if (
        node is not None
        and isinstance(node.op, Alloc)
        and node.inputs[0].type.shape == (1, family.n_states)
    ):
        return node.inputs[0][0]
    return None


def shared_number(parameter: Any) -> Any:
    """Scalar, symbolic, that all entries of a vector of parameters are; None if they may differ."""
    if isinstance(parameter, Constant):
        values = np.unique(parameter.data)
        return pt.constant(values[0]) if len(values) == 1 else None
    return filling_number(parameter)


def rows_of(x: np.ndarray | None, options: dict[str, Any], name: str) -> int:
    """Count the rows of a field by its data, or else by its shape or dims."""
    if x is not None:
        return x.size // x.shape[-1]
    shape, dims = options.get("shape") or (), options.get("dims")
    if not shape and isinstance(dims, tuple | list):
        shape = *entries_of_dims(dims[:-1], name), None
    lengths = shape[:-1] if isinstance(shape, tuple | list) else ()
    return int(np.prod([n for n in lengths if isinstance(n, int | np.integer)], initial=1))


def _is_zero(parameter: Any) -> bool:
    """Whether a parameter is known to be 0."""
    [value] = constant_fold([parameter], raise_not_constant=False)
    return isinstance(value, np.ndarray | float | int) and not np.any(value)


def share_below_zero(coupling: Any) -> float:
    """Share of the draws of a coupling that are below 0; 1 if its prior has no draws, as pm.Flat."""
    try:
        draws = pm.draw(coupling, PRIOR_DRAWS, random_seed=0, mode="FAST_COMPILE")
    except NotImplementedError:
        return 1.0
    return float(np.mean(draws < 0.0))
