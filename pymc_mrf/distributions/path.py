"""`likelihood="path"`: fields with one coupling, whose log-partition function is simulated along it once."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.pytensorf import constant_fold
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc
from pytensor.tensor.random.op import RandomVariable

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions.arguments import entries_of_dims
from pymc_mrf.distributions.entries import EntriesRV
from pymc_mrf.distributions.symbolic_tables import core
from pymc_mrf.fields.families import Family
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.coupling_path import CouplingPath
from pymc_mrf.likelihood.path_simulation import FROZEN
from pymc_mrf.likelihood.saved_paths import saved_path

PRIOR_DRAWS = 500
"""Draws of a coupling that tell whether it may be negative."""

NEGLIGIBLE = 0.25
"""Error of a mean up to which nothing is said, in standard deviations of a posterior."""

LARGEST_UNASKED = 2**14
"""Nodes of a field up to which a simulation, of at most some minutes, starts by itself."""

OTHERS = 'or use likelihood="exact", "particles" or "pseudo"'


def folder() -> Path:
    """Where paths are saved: beside what PyTensor compiles, which its option `base_compiledir` moves."""
    return Path(pytensor.config.base_compiledir) / "pymc_mrf_paths"


def find_path(family: Family, parameters: list, graph: PairwiseGraph, n_rows: int) -> CouplingPath:
    """Path of a field with these symbolic parameters: read, or simulated and saved.

    Raises
    ------
    ValueError
        If the field is not one with a scalar coupling of agreements and nothing else.
    """
    reason = _why_not(family, parameters, graph)
    if reason:
        raise ValueError(reason)
    path = _known_path(family, parameters[0], graph, n_rows)
    off, worst = _largest_error(path, n_rows)
    if off > NEGLIGIBLE:
        name, apart = family.edge_parameter, family.edge_statistic[0]
        value = float(family.parameter(path.knots[worst] / (apart[0] - apart[1])))
        warn_user(
            f'the posterior of {name} under likelihood="path" may be off by up to {off:.2f} of its '
            f"standard deviations, near {name} = {value:.3g}, where the simulation is too short or its "
            'states do not mix: check it with likelihood="particles"'
        )
    return path


def unasked_path(family: Family, parameters: list, graph: PairwiseGraph) -> CouplingPath | None:
    """Path of a field of one row under ``likelihood="auto"``; None where "particles" does better.

    That is where there is none, its simulation takes minutes or has errors that matter, or the coupling is
    known.
    """
    if graph.n_nodes > LARGEST_UNASKED or _why_not(family, parameters, graph):
        return None
    if not any(v.owner and isinstance(v.owner.op, RandomVariable) for v in ancestors(parameters[:1])):
        return None
    path = _known_path(family, parameters[0], graph, 1)
    return path if _largest_error(path, 1)[0] <= NEGLIGIBLE else None


def _why_not(family: Family, parameters: list, graph: PairwiseGraph) -> str | None:
    """Say why a field has no path, and what to do about it."""
    name = family.edge_parameter
    if family.name not in ("agreement", "ising", "potts") or family.edge_axes:
        kind = f"the {family.name} family" if not family.edge_axes else f"a {name} for each state"
        return (
            f'likelihood="path" is for AgreementMRF, Ising and Potts with one {name}, not for {kind}: use '
            'likelihood="exact", "particles" or "pseudo"'
        )
    shared = shared_number(parameters[0])
    if shared is None:
        return (
            f'{name} must be a scalar under likelihood="path", which follows the field along one number, but '
            f"it is a vector of {graph.n_edges} values: pass the one number that all edges share, {OTHERS}"
        )
    masses = [v for v in ancestors([shared]) if v.owner and isinstance(v.owner.op, EntriesRV)]
    if masses:
        return (
            f'{name} must have a density under likelihood="path", but it depends on {masses[0].name}, of '
            f"which entries are equal or zero with positive probability: give it another prior, {OTHERS}"
        )
    if len(parameters) > 1 and not _is_zero(parameters[1]):
        return (
            f'{family.node_parameter} must be 0 under likelihood="path", which follows the field along its '
            f"{name} alone: leave it out, {OTHERS}"
        )
    return (
        None if graph.n_edges else 'likelihood="path" needs a graph with edges: use likelihood="exact"'
    )


def _known_path(family: Family, parameter: Any, graph: PairwiseGraph, n_rows: int) -> CouplingPath:
    def announce(file: Path) -> None:
        logging.getLogger("pymc").info(
            f"pymc_mrf simulates a field of {graph.n_nodes} nodes with {family.n_states} states along its "
            f"{family.edge_parameter}, this first time only: {file}"
        )

    is_signed = _may_be_negative(family.natural(shared_number(parameter), pt))
    return saved_path(graph, family.n_states, n_rows, is_signed, folder(), announce)


def _largest_error(path: CouplingPath, n_rows: int) -> tuple[float, int]:
    """Return the largest error of a mean, in standard deviations of a posterior, and at which knot it is."""
    off = path.errors * np.sqrt(n_rows / np.maximum(path.variances, FROZEN / n_rows))
    return float(off.max()), int(off.argmax())


def path_coupling(family: Family, parameter: Any) -> Any:
    """Symbolic coupling of agreements, from a `parameter` (..., r) of which all entries are one number."""
    eta = family.natural(core(parameter, 1)[0], pt)
    return (family.edge_statistic[0, 0] - family.edge_statistic[0, 1]) * eta


def along_path(path: CouplingPath, family: Family, parameter: Any) -> Any:
    """Log-partition function of a field whose `parameter` (..., r) is one number; symbolic.

    Its statistic of an edge is a constant plus a multiple of the agreement.
    """
    t, (together, apart) = path_coupling(family, parameter), family.edge_statistic[0, :2]
    return path.log_partition(t, pt) + path.n_edges * apart / (together - apart) * t


def shared_number(parameter: Any) -> Any:
    """Scalar, symbolic, that all entries of a vector of parameters are; None if they may differ."""
    if isinstance(parameter, Constant):
        values = np.unique(parameter.data)
        return pt.constant(values[0]) if len(values) == 1 else None
    node = parameter.owner
    if node is not None and isinstance(node.op, Alloc) and node.inputs[0].type.ndim == 0:
        return node.inputs[0]
    return None


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
    [value] = constant_fold([parameter], raise_not_constant=False)
    return isinstance(value, np.ndarray | float | int) and not np.any(value)


def _may_be_negative(coupling: Any) -> bool:
    """Whether some draws of a coupling are below 0; True if its prior has no draws, as pm.Flat."""
    try:
        draws = pm.draw(coupling, PRIOR_DRAWS, random_seed=0, mode="FAST_COMPILE")
    except NotImplementedError:
        return True
    return bool(np.min(draws) < 0.0)
