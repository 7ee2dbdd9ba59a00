"""Where compiled kernels are kept between test runs: one folder for each state of the kernels."""

import ast
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Container
from pathlib import Path

N_KEPT = 3  # folders, about 100 MB each: a run beside this one may still use its own
FOLDERS = ("kernels", "papers/kernels")
DIGESTS = "digests.json"


def short_name(name: str) -> str:
    """Name in the package, without the folder that most kernels are in."""
    return name.removeprefix("pymc_mrf.").removeprefix("kernels.")


def imported(tree: ast.AST) -> dict[str, str]:
    """Names that a file takes from the package, and where each is: ``folder.module.name`` or a module."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("pymc_mrf."):
            for name in node.names:
                found[name.asname or name.name] = short_name(f"{node.module}.{name.name}")
    return found


def module_of(found: str, modules: Container[str]) -> str:
    """Module that `found` is or comes from; a folder's own is ``folder.__init__``."""
    folder = found.rpartition(".")[0]
    candidates = (found, f"{found}.__init__", folder, f"{folder}.__init__")
    return next((name for name in candidates if name in modules), found)


def file_of(module: str) -> str:
    """Name of its folder and its own, which are all that numba's cache knows of a module."""
    return ".".join(f"kernels.{module}".split(".")[-2:])


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


def digests(package: Path) -> dict[str, str]:
    """Digest of each module of kernels, in folders too, and of all that its machine code comes from.

    A module is named as in ``folder.module``, of the published samplers as in ``papers.kernels.module``. Its
    code comes from what it imports, directly or not, and from the modules that answer its questions (see
    `by_type`).
    """
    files = [path for folder in FOLDERS for path in sorted((package / folder).rglob("*.py"))]
    paths = {short_name(".".join(f.relative_to(package).with_suffix("").parts)): f for f in files}
    needs: dict[str, set[str]] = {name: set() for name in paths}
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias: module_of(found, paths) for alias, found in imported(tree).items()}
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
    changed = {file_of(name) for name in now | known if now.get(name) != known.get(name)}
    unchanged = {file_of(name) for name in now} - changed
    for index in old.glob("*/*.nbi"):  # one for each kernel; its versions are beside it
        module = f"{index.parent.name.rpartition('_')[0]}.{index.name.split('.')[0]}"
        folder = new / index.parent.name
        if module not in unchanged or (folder / index.name).exists():
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
    now = digests(root / "pymc_mrf")
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
