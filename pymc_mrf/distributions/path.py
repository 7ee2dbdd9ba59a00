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
from pytensor.tensor.basic import Alloc

from pymc_mrf.checks import warn_user
from pymc_mrf.distributions.arguments import entries_of_dims
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
    name = family.edge_parameter
    if family.name not in ("agreement", "ising", "potts") or family.edge_axes:
        kind = f"the {family.name} family" if not family.edge_axes else f"a {name} for each state"
        raise ValueError(
            f'likelihood="path" is for AgreementMRF, Ising and Potts with one {name}, not for {kind}: use '
            'likelihood="exact", "particles" or "pseudo"'
        )
    shared = shared_number(parameters[0])
    if shared is None:
        raise ValueError(
            f'{name} must be a scalar under likelihood="path", which follows the field along one number, but '
            f"it is a vector of {graph.n_edges} values: pass the one number that all edges share, {OTHERS}"
        )
    if len(parameters) > 1 and not _is_zero(parameters[1]):
        raise ValueError(
            f'{family.node_parameter} must be 0 under likelihood="path", which follows the field along its '
            f"{name} alone: leave it out, {OTHERS}"
        )
    if not graph.n_edges:
        raise ValueError('likelihood="path" needs a graph with edges: use likelihood="exact"')

    def announce(file: Path) -> None:
        logging.getLogger("pymc").info(
            f"pymc_mrf simulates a field of {graph.n_nodes} nodes with {family.n_states} states along its "
            f"{name}, this first time only: {file}"
        )

    is_signed = _may_be_negative(family.natural(shared, pt))
    path = saved_path(graph, family.n_states, n_rows, is_signed, folder(), announce)
    _warn_of_error(path, family, n_rows)
    return path


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


def _warn_of_error(path: CouplingPath, family: Family, n_rows: int) -> None:
    """Warn where the error of a path would show in the posterior of the coupling given all data."""
    off = path.errors * np.sqrt(n_rows / np.maximum(path.variances, FROZEN / n_rows))
    worst = int(off.argmax())
    if off[worst] > NEGLIGIBLE:
        name, apart = family.edge_parameter, family.edge_statistic[0]
        value = float(family.parameter(path.knots[worst] / (apart[0] - apart[1])))
        warn_user(
            f'the posterior of {name} under likelihood="path" may be off by up to {off[worst]:.2f} of its '
            f"standard deviations, near {name} = {value:.3g}, where the simulation is too short or its "
            'states do not mix: check it with likelihood="particles"'
        )


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
