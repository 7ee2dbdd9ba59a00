"""What the machine code of a kernel comes from: its own file, and those of all that it calls."""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
FOLDERS = ("kernels", "papers/kernels")

# expressions take a few milliseconds; Python's parser takes .4 seconds for all files
IMPORTED = re.compile(r"^\s*from (pymc_mrf[\w.]*) import (?:\(([^)]*)\)|([^\n]*))", re.M)
NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
ASKED = re.compile(r"\b(\w+)(?:\.\w+)*\.register\(")
COMMENT = re.compile(r"#.*")


def imported(text: str) -> dict[str, tuple[str, str]]:
    """Return names that a file takes from the package: where from, and as what they are known there."""
    return {
        alias or name: (module, name)
        for module, in_brackets, on_a_line in IMPORTED.findall(text)
        for name, alias in NAME.findall(COMMENT.sub("", in_brackets or on_a_line))
    }


def digests_of(package: Path) -> dict[str, str]:
    """Digest of each module of kernels, by its full name, and of all that its machine code comes from.

    It comes from what the module imports, directly or not, and from the modules that answer the questions
    that are asked there (see `by_type`).
    """
    texts = {}
    for folder in FOLDERS:
        for path in sorted((package / folder).rglob("*.py")):
            parts = path.relative_to(package).with_suffix("").parts
            texts[".".join(("pymc_mrf", *parts)).removesuffix(".__init__")] = path.read_text(
                encoding="utf-8"
            )
    needs: dict[str, set[str]] = {name: set() for name in texts}
    for name, text in texts.items():
        found = {
            alias: f"{module}.{own}" if f"{module}.{own}" in texts else module
            for alias, (module, own) in imported(text).items()
        }
        needs[name].update(module for module in found.values() if module in texts)
        for question in ASKED.findall(text):
            if found.get(question) in texts:
                needs[found[question]].add(name)
    digests = {}
    for name in texts:
        closure, new = {name}, {name}
        while new:
            new = set().union(*(needs[other] for other in new)) - closure
            closure |= new
        digest = hashlib.sha256()
        for other in sorted(closure):
            digest.update(f"{other}\0{texts[other]}\0".encode())
        digests[name] = digest.hexdigest()
    return digests


@cache
def _own_digests() -> dict[str, str]:
    return digests_of(PACKAGE)


def sources_digest(module: str) -> str:
    """Digest of what the kernels of `module` come from; those of a module elsewhere may call any kernel."""
    digests = _own_digests()
    return digests.get(module) or hashlib.sha256("".join(digests.values()).encode()).hexdigest()
