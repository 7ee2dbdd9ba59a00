"""Where compiled kernels are kept between test runs: one folder for each state of the kernels."""

import ast
import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path

N_KEPT = 3  # folders, about 100 MB each: a run beside this one may still use its own
PACKAGE = "pymc_mrf.kernels"
DIGESTS = "digests.json"


def imported(tree: ast.AST) -> dict[str, str]:
    """Names that a file takes from kernels, and the module of kernels that each is or comes from."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found |= {name.asname or name.name: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            found |= {name.asname or name.name: node.module.split(".")[-1] for name in node.names}
    return found


def asked(tree: ast.AST) -> set[str]:
    """Names at the beginning of ``name.register`` and ``name.question.register``, wherever they stand."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "register":
            owner = node.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name):
                found.add(owner.id)
    return found


def digests(kernels: Path) -> dict[str, str]:
    """Digest of each module of kernels and of all that its machine code comes from.

    That is what it imports, directly or not, and the modules that answer its questions (see `by_type`).
    """
    paths = {path.stem: path for path in sorted(kernels.glob("*.py"))}
    needs: dict[str, set[str]] = {name: set() for name in paths}
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = imported(tree)
        needs[name].update(names.values())
        for question in asked(tree) & set(names):
            needs[names[question]].add(name)
    result = {}
    for name in paths:
        closure, new = {name}, {name}
        while new:
            new = set().union(*(needs[other] for other in new)) - closure
            closure |= new
        digest = hashlib.sha256()
        for other in sorted(closure & set(paths)):
            digest.update(other.encode() + b"\0" + paths[other].read_bytes() + b"\0")
        result[name] = digest.hexdigest()
    return result


def take_over(new: Path, old: Path) -> None:
    """Link what is compiled already from the modules that have not changed since, into a new folder."""
    try:
        known, now = (json.loads((f / DIGESTS).read_text(encoding="utf-8")) for f in (old, new))
    except (OSError, ValueError):
        return
    for index in old.glob("kernels_*/*.nbi"):  # one for each kernel; its versions are beside it
        module = index.name.split(".")[0]
        folder = new / index.parent.name
        if now.get(module, "") != known.get(module) or (folder / index.name).exists():
            continue
        folder.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # it may go meanwhile, as the oldest one of another run
            for path in (*index.parent.glob(f"{index.stem}.*.nbc"), index):
                try:
                    os.link(path, folder / path.name)  # numba replaces files, and never writes into one
                except OSError:
                    shutil.copy2(path, folder / path.name)


def cache_folder(root: Path) -> Path:
    """Folder ``.numba_cache/<digest of all kernels>`` of the repository, made if need be; old ones go.

    Numba looks at the file of a function only, so that a change in one kernel would not reach the compiled
    kernels of other files that call it. A new folder begins with what no change has reached.
    """
    now = digests(root / "pymc_mrf" / "kernels")
    digest = hashlib.sha256(json.dumps(now).encode()).hexdigest()
    folder = root / ".numba_cache" / digest[:16]
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)  # this one is in use
    if is_new:
        (folder / DIGESTS).write_text(json.dumps(now), encoding="utf-8")
        with contextlib.suppress(FileNotFoundError):  # another run removes the same ones
            *others, _ = sorted(folder.parent.iterdir(), key=lambda other: other.stat().st_mtime)
            for other in reversed(others):
                take_over(folder, other)
            for other in others[: -N_KEPT + 1]:
                shutil.rmtree(other, ignore_errors=True)
    return folder
