"""The stamp of the compiled implementations covers every kernel that they run."""

import ast
from pathlib import Path

from pymc_mrf.distributions import numba_dispatch

KERNELS = Path(numba_dispatch.__file__).parents[1] / "kernels"
LAYOUT = {"tree_arrays", "tree_layout"}  # their arrays are constants of compiled functions


def kernels_imported_by(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "pymc_mrf.kernels":
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("pymc_mrf.kernels."):
            found.add(node.module.split(".")[-1])
    return found - {"_jit"}


def test_stamp_covers_all_kernels_in_use():
    source = Path(numba_dispatch.__file__)
    calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    [stamp] = [call for call in calls if getattr(call.func, "id", "") == "source_version"]
    stamped = {argument.id for argument in stamp.args if isinstance(argument, ast.Name)}
    needed, new = set(), kernels_imported_by(source)
    while new:
        needed |= new
        new = set().union(*(kernels_imported_by(KERNELS / f"{name}.py") for name in new)) - needed
    assert stamped == needed | LAYOUT
