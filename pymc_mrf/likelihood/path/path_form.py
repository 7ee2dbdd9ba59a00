"""Which fields have a log-partition function that is simulated once, and their parameters along it.

Along one coupling, or on a grid of one coupling and one field, the same for all nodes; edges may have known
weights, by which the coupling is multiplied. Fields that differ between nodes, and couplings that repel under
a field, are not implemented.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from pymc_mrf.distributions.arguments import is_random, value_of
from pymc_mrf.distributions.scalar import entries_behind
from pymc_mrf.distributions.symbolic_tables import (
    Multiple,
    as_multiple,
    core,
    filling_number,
    sigmoid_argument,
)
from pymc_mrf.fields.family import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.path.coupling_path import FROZEN, CouplingPath
from pymc_mrf.likelihood.path.field_grid import FieldGrid, errors_in_posterior
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
    try:
        form = path_form(family, parameters, graph)
    except NoPathError as error:
        raise ValueError(str(error).format(others=others())) from None
    path = _known_path(form, family, graph, n_rows)
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
    if not is_random(parameters[0]):
        return None
    try:
        form = path_form(family, parameters, graph)
    except NoPathError:
        return None
    if n_rows * graph.n_nodes > _most_unasked(form, family, n_rows):
        return None
    path = _known_path(form, family, graph, n_rows)
    off = _largest_error(path, n_rows)[0]
    serves = off <= NEGLIGIBLE
    logger.info(
        'the posterior under likelihood="path" may be off by up to %.2f standard deviations; '
        'likelihood="auto" %s it',
        off,
        "is" if serves else "is not",
    )
    return path if serves else None


class NoPathError(ValueError):
    """A field has no path; the message names the remedy, with a place for other likelihoods."""


@dataclass(frozen=True)
class PathForm:
    """Parameters of a field that has a path, or a grid.

    Attributes
    ----------
    coupling : symbolic scalar
        What the weights of the edges multiply.
    weights : (r,) array
        Of one sign are not negative.
    field : symbolic scalar or (K,), or None
        What all nodes have; None without.
    """

    coupling: Any
    weights: np.ndarray
    field: Any

    @cached_property
    def may_repel(self) -> bool:
        """Whether some draws of the coupling are negative."""
        return share_below_zero(self.coupling) > 0.0


def path_form(family: Family, parameters: Sequence, graph: PairwiseGraph) -> PathForm:
    """Parameters of a field as a path or a grid takes them.

    Raises
    ------
    NoPathError
        If there is neither.
    """
    name = family.edge_parameter
    if not family.measures_agreement:
        kind = family.title if not family.edge_axes else f"a {name} for each state"
        raise NoPathError(
            f'likelihood="path" is for AgreementMRF, Ising and Potts with one {name}, not for {kind}: use '
            "likelihood={others}"
        )
    line = _edge_line(family, parameters[0])
    if line is None:
        raise NoPathError(
            f'{name} must be a scalar under likelihood="path", which follows the field along one number, or '
            f"a scalar times constant weights of the edges, but {_what_changes(parameters[0], graph)}: pass "
            f"the one number that all edges share, {OTHERS}"
        )
    coupling, weights = line
    if graph.n_edges and not (np.isfinite(weights).all() and weights.min() >= 0.0 < weights.max()):
        raise NoPathError(
            f'the weights of the edges by which {name} is multiplied must be finite under likelihood="path", '
            f"of one sign, and not all 0, but they go from {weights.min()} to {weights.max()}: {OTHERS[3:]}"
        )
    has_field = family.node_parameter is not None and not _is_zero(parameters[1])
    form = PathForm(coupling, weights, shared_row(family, parameters[1]) if has_field else None)
    shares = {name: coupling}
    if has_field:
        _check_grid(form, family, graph)
        shares[str(family.node_parameter)] = form.field
    for label, share in shares.items():
        for mass in entries_behind(share):
            raise NoPathError(
                f'{label} must have a density under likelihood="path", but it depends on '
                f"{mass.name}, of which entries are equal or zero with positive probability: give it "
                "another prior"
            )
    if not graph.n_edges:
        raise NoPathError('likelihood="path" needs a graph with edges: use likelihood="exact"')
    return form


def _check_grid(form: PathForm, family: Family, graph: PairwiseGraph) -> None:
    """Refuse node parameters that no grid serves."""
    name, K = family.node_parameter, family.n_states
    under = 'under likelihood="path"'
    others = 'or use likelihood="particles", whose step is Exchange'
    if form.field is None:
        one = "the one number" if not family.node_axes else f"the one vector ({K},)"
        raise NoPathError(
            f"{name} must be the same for all nodes {under}, which simulates it on a grid, "
            f"but it has values for {graph.n_nodes} nodes: pass {one} that all share, {OTHERS}"
        )
    if K > MOST_STATES:
        raise NoPathError(
            f"{name} must be 0 {under} if there are more than {MOST_STATES} states, as the points of its "
            f"grid are a power of their number, but there are {K}: leave it out, {others}"
        )
    if K == MOST_STATES and graph.n_nodes > LARGEST_OF_MOST:
        raise NoPathError(
            f"{name} must be 0 {under} with {K} states and more than {LARGEST_OF_MOST} nodes, as its grid "
            f"takes too long, but there are {graph.n_nodes}: leave it out, {others}"
        )
    if form.may_repel:
        raise NoPathError(
            f"{family.edge_parameter} must attract neighbours {under} with a {name}, but some draws of its "
            f"prior do not: give it a prior without them, as pm.HalfNormal, {others}"
        )


def _most_unasked(form: PathForm, family: Family, n_rows: int) -> int:
    """Nodes of all rows up to which the simulation of a field that has a path or a grid starts by itself."""
    if form.field is not None:
        return LARGEST_FIELD_UNASKED if family.n_states == 2 else 0
    is_one = n_rows == 1 and family.n_states <= MOST_STATES_OF_ONE
    return LARGEST_OF_ONE if is_one and not form.may_repel else LARGEST_UNASKED


def _known_path(form: PathForm, family: Family, graph: PairwiseGraph, n_rows: int) -> Simulated:
    has_field = form.field is not None
    along = (
        f"{family.edge_parameter} and its {family.node_parameter}"
        if has_field
        else family.edge_parameter
    )
    is_large = n_rows * graph.n_nodes > LARGEST_UNASKED
    how_long = ", which may take ten minutes or longer" if is_large else ""

    def announce(file: Path) -> None:
        logging.getLogger("pymc").info(
            f"pymc_mrf simulates a field of {graph.n_nodes} nodes with {family.n_states} states along its "
            f"{along}, this first time only{how_long}: {file}"
        )

    which = graph, _scaled(form.weights), family.n_states, n_rows
    if has_field:
        return saved_grid(*which, folder(), announce)
    return saved_path(*which, form.may_repel, folder(), announce)


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
    is_filled = node is not None and isinstance(node.op, Alloc)
    return node.inputs[0][0] if is_filled and node.inputs[0].type.shape == (1, family.n_states) else None


def shared_number(parameter: Any) -> Any:
    """Scalar, symbolic, that all entries of a vector of parameters are; None if they may differ."""
    if isinstance(parameter, Constant):
        values = np.unique(parameter.data)
        return pt.constant(values[0]) if len(values) == 1 else None
    return filling_number(parameter)


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
