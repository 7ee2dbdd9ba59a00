"""Compiled implementations: the stamp in their cache key covers all that they run."""

import ast
from pathlib import Path

from pymc_mrf.distributions import _numba

PACKAGE = Path(_numba.__file__).parents[1]


def modules_imported_by(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pymc_mrf."):
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return {name.split(".")[1] for name in found}


def test_stamp_covers_all_that_kernels_and_layouts_import():
    """Fields and families are arguments or properties of an Op, which the key of the cache has."""
    for folder in ("kernels", "graph"):
        for path in (PACKAGE / folder).glob("*.py"):
            assert modules_imported_by(path) <= {*_numba.SOURCES, "checks"}, path


def test_stamp_changes_with_any_source(tmp_path, monkeypatch):
    for folder in _numba.SOURCES:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(_numba, "__file__", str(tmp_path / "distributions" / "_numba.py"))
    stamps = set()
    for folder in _numba.SOURCES:
        stamps.add(_numba.source_version.__wrapped__())
        (tmp_path / folder / "a.py").write_text("x = 2\n")
    stamps.add(_numba.source_version.__wrapped__())
    assert len(stamps) == len(_numba.SOURCES) + 1
