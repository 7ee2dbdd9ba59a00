"""Simulations along couplings and fields, on disk, so that a second run with the same graph reuses them."""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.path.coupling_path import CouplingPath, simulate_path
from pymc_mrf.likelihood.path.field_grid import FieldGrid, simulate_grid

VERSION = 1  # of the simulations and of the files: raise it when one of them changes
PATH = ("knots", "means", "variances", "errors", "gaps", "least")
GRID = ("couplings", "gaps", "coefficients", "variances", "errors")

Announce = Callable[[Path], None]


def saved_path(
    graph: PairwiseGraph,
    weights: np.ndarray,
    n_states: int,
    n_rows: int,
    is_signed: bool,
    folder: Path,
    announce: Announce,
) -> CouplingPath:
    """Read the path of this graph from `folder`; simulate and save it if it is not there.

    Parameters
    ----------
    graph, weights, n_states, n_rows, is_signed
        As for `simulate_path`; the rows are rounded up to a power of 4, so that files serve others.
    folder : Path
        Made if need be; where it cannot be written to, nothing is saved.
    announce : callable
        Called with the name of the file before a simulation.
    """
    n_rows = _rounded(n_rows)
    file = folder / f"{_digest(graph, weights, n_states, n_rows, is_signed)}.npz"
    if found := _read(file, PATH):
        return CouplingPath(graph.n_nodes * np.log(n_states), weights, *found)
    announce(file)
    return _saved(file, simulate_path(graph, weights, n_states, n_rows, is_signed), PATH)


def saved_grid(
    graph: PairwiseGraph,
    weights: np.ndarray,
    n_states: int,
    n_rows: int,
    folder: Path,
    announce: Announce,
) -> FieldGrid:
    """Read the grid of this graph from `folder`; as `saved_path`, for `simulate_grid`."""
    n_rows = _rounded(n_rows)
    file = folder / f"field_{_digest(graph, weights, n_states, n_rows, False)}.npz"
    if found := _read(file, GRID):
        return FieldGrid(graph.n_nodes, weights, *found)
    announce(file)
    return _saved(file, simulate_grid(graph, weights, n_states, n_rows), GRID)


def _rounded(n_rows: int) -> int:
    return 4 ** int(np.ceil(np.log(n_rows) / np.log(4.0) - 1e-9))


def _digest(
    graph: PairwiseGraph, weights: np.ndarray, n_states: int, n_rows: int, is_signed: bool
) -> str:
    """Name all that a path depends on; which end of an edge comes first, and which edge, plays no part.

    Nor do the last digits of weights; those that are all 1 are left out.
    """
    edges = np.sort(graph.edges, axis=1)
    order = np.lexsort(edges.T[::-1])
    numbers = np.array([VERSION, graph.n_nodes, n_states, n_rows, is_signed], dtype="<i8")
    parts = [numbers, edges[order].astype("<i8")]
    if (weights != 1.0).any():
        parts.append(np.round(weights[order], 10).astype("<f8"))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def _read(file: Path, names: tuple[str, ...]) -> list[Any]:
    """Arrays of a file; none if it is not there, or broken."""
    with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        with file.open("rb") as stream, np.load(stream) as arrays:
            return [arrays[name] for name in names]
    return []


def _saved(file: Path, simulated: Any, names: tuple[str, ...]) -> Any:
    """Return what was simulated, saved if that is possible."""
    with suppress(OSError):  # it is the same without
        _write(file, {name: getattr(simulated, name) for name in names})
    return simulated


def _write(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write a file as a whole or not at all, whatever other processes do."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
