"""Docstrings of kernels: every array argument has its shape, in the function's or its module's."""

import ast
import re
from pathlib import Path

import pytest

import pymc_mrf

PACKAGE = Path(*pymc_mrf.__path__)
FOLDERS = "kernels", "papers/kernels"
FILES = [p for f in FOLDERS for p in sorted((PACKAGE / f).rglob("*.py")) if p.stem[0] != "_"]
INLINE = re.compile(r"((?:`\w+`(?:, (?:and )?|\s+and\s+)?)+),?\s+(?:(?:all|both|each|are|is)\s+)?\(")
SECTION = re.compile(r"^\s*(\w+(?:, \w+)*) : \(", re.M)


def arrays(function: ast.FunctionDef) -> set[str]:
    """Arguments that `function` indexes or asks for their shape."""
    used = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "shape"):
            used |= {node.value.id} if isinstance(node.value, ast.Name) else set()
    return used & {argument.arg for argument in function.args.args}


def with_shape(docstring: str | None) -> set[str]:
    """Names that a docstring says the shape of: `a` and `b` (n, K), or by a line of a section."""
    groups = INLINE.findall(docstring or "") + SECTION.findall(docstring or "")
    return {name for group in groups for name in re.findall(r"\w+", group) if name != "and"}


def questions(function: ast.FunctionDef) -> list[str]:
    """Names of the functions that `function` is the implementation of for a type."""
    calls = [d.func for d in function.decorator_list if isinstance(d, ast.Call)]
    owners = [
        call.value for call in calls if isinstance(call, ast.Attribute) and call.attr == "register"
    ]
    return [getattr(owner, "attr", None) or getattr(owner, "id", "") for owner in owners]


def without_shape(module: ast.Module, asked: dict[str, set[str]]) -> list[tuple[str, list[str]]]:
    """Kernels of `module` with array arguments of which no shape is said, and these.

    `asked` are the arguments with shapes of functions that are chosen by type.
    """
    common, found = with_shape(ast.get_docstring(module)), []
    for f in module.body:
        if isinstance(f, ast.FunctionDef):
            said = common.union(
                with_shape(ast.get_docstring(f)), *(asked.get(q, ()) for q in questions(f))
            )
            if missing := arrays(f) - said:
                found.append((f.name, sorted(missing)))
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


ASKED = {
    f.name: with_shape(ast.get_docstring(f))
    for path in FILES
    for f in parsed(path).body
    if isinstance(f, ast.FunctionDef)
    and any(getattr(d, "id", "") == "by_type" for d in f.decorator_list)
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_array_arguments_have_shapes(path):
    assert without_shape(parsed(path), ASKED) == []


def test_an_array_without_shape_is_found():
    code = 'def f(a, b, c):\n    """Of `a`\n    and `b` (n,)."""\n    return a[0] + b.shape[0] + c[0]'
    assert without_shape(ast.parse(code), {}) == [("f", ["c"])]
    chosen = "@questions.g.register(int)\n" + code
    assert without_shape(ast.parse(chosen), {"g": {"a"}}) == [("f", ["c"])]
    assert without_shape(ast.parse(chosen), {"g": {"c"}}) == []
