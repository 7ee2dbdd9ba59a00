"""Shared by the example scripts: replicates, the machine in one line, Markdown tables, files and figures."""

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import pymc_mrf as pmrf

SILENT = {"cores": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}
"""Options of `pymc.sample` in studies, which time a process and judge convergence themselves."""

PACKAGES = ("pymc", "pytensor", "numba", "numpy", "scipy", "networkx")


def parse_sizes(parser: argparse.ArgumentParser, argv: list[str] | None, **full) -> argparse.Namespace:
    """Parse arguments; with ``--full`` the defaults of `full`, the sizes behind the documentation.

    Adds ``--full`` and ``--output``, the folder that gets `_results` and `figures`: `output`, and `docs` with
    ``--full``, so that a short run does not replace the results of a long one.
    """
    sizes = ", ".join(f"{name.replace('_', '-')} {value}" for name, value in full.items())
    parser.add_argument("--full", action="store_true", help=f"as in the documentation: {sizes}")
    parser.add_argument("--output", type=Path, default=Path("output"), help="docs with --full")
    if parser.parse_args(argv).full:
        parser.set_defaults(**full, output=Path("docs"))
    return parser.parse_args(argv)


def outcomes(function: Callable[[int], Any], seeds: Sequence[int], store: Path | None = None) -> list:
    """Results of an experiment, one per seed, kept in a folder if asked; a failure ends the script."""
    study = pmrf.replicate(function, seeds, store=store, progressbar=False)
    for seed, why in study.failures.items():
        raise RuntimeError(f"seed {seed} failed:\n{why}")
    return list(study.results.values())


def machine() -> str:
    """One line: number of cores, processor name, Python and package versions (no host name, no paths)."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, {_processor()}; {system}, {packages}"


def table(header: list[str], rows: list[list]) -> str:
    """Format a Markdown table; cells go through `str`, so the caller formats numbers."""
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(
                f"row {i} has {len(row)} cells, the header has {len(header)}: give one cell per column."
            )
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def two_digits(value: float) -> str:
    """Format a ratio, of which more digits would say nothing."""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10.0 else f"{value:.2g}"


def write_fragment(text: str, folder: Path, name: str) -> None:
    """Print a results fragment and write it into `folder`/_results."""
    print(text)
    path = folder / "_results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write a PNG into `folder`/figures."""
    path = folder / "figures" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"figure: {path}")


def _processor() -> str:
    # platform.processor() is empty on most Linux systems; /proc/cpuinfo has the name there.
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
