"""Paths of couplings on disk, so that a second run with the same graph reuses them."""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.coupling_path import CouplingPath
from pymc_mrf.likelihood.path_simulation import simulate_path

VERSION = 1  # of the simulation and of the files: raise it when one of them changes
ARRAYS = ("knots", "means", "variances", "errors", "gaps", "least")


def saved_path(
    graph: PairwiseGraph,
    n_states: int,
    n_rows: int,
    is_signed: bool,
    folder: Path,
    announce: Callable[[Path], None],
) -> CouplingPath:
    """Read the path of this graph from `folder`; simulate and save it if it is not there.

    Parameters
    ----------
    graph, n_states, n_rows, is_signed
        As for `simulate_path`; the rows are rounded up to a power of 4, so that files serve others.
    folder : Path
        Made if need be; where it cannot be written to, nothing is saved.
    announce : callable
        Called with the name of the file before a simulation.
    """
    n_rows = 4 ** int(np.ceil(np.log(n_rows) / np.log(4.0) - 1e-9))
    file = folder / f"{_digest(graph, n_states, n_rows, is_signed)}.npz"
    log_count = graph.n_nodes * np.log(n_states)
    with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # none, or a broken one
        with file.open("rb") as stream, np.load(stream) as arrays:
            return CouplingPath(log_count, graph.n_edges, *(arrays[name] for name in ARRAYS))
    announce(file)
    path = simulate_path(graph, n_states, n_rows, is_signed)
    with suppress(OSError):  # the path is the same without
        _write(file, path)
    return path


def _digest(graph: PairwiseGraph, n_states: int, n_rows: int, is_signed: bool) -> str:
    """Name all that a path depends on; which end of an edge comes first, and which edge, plays no part."""
    edges = np.sort(graph.edges, axis=1)
    edges = edges[np.lexsort(edges.T[::-1])].astype("<i8")
    numbers = np.array([VERSION, graph.n_nodes, n_states, n_rows, is_signed], dtype="<i8")
    return hashlib.sha256(numbers.tobytes() + edges.tobytes()).hexdigest()


def _write(file: Path, path: CouplingPath) -> None:
    """Write a file as a whole or not at all, whatever other processes do."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, allow_pickle=False, **{name: getattr(path, name) for name in ARRAYS})
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
