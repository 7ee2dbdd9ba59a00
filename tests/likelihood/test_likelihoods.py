"""The registry of likelihoods: names, and nobody who asks for one."""

import ast
from pathlib import Path

import pytest

import pymc_mrf
from pymc_mrf.distributions import likelihood
from pymc_mrf.distributions.likelihood import REGISTRY, Likelihood, registered

PACKAGE = Path(pymc_mrf.__file__).parent
NAMES = {"auto"} | {kind.name for kind in registered()}
OWN = PACKAGE / "likelihood"
OTHERS = {"method", "draws", "_draws"}
"""Options of functions that have some of these names for something else: ways to compute, and to draw."""


def told(node):
    """Texts in a part of a program that are names of likelihoods."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)} & NAMES


def asked(node):
    """Names of the variables and attributes in it."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def questions(source):
    """Lines that compare something with the name of a likelihood, or look it up by the name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare | ast.match_case):
            pattern = node if isinstance(node, ast.Compare) else node.pattern
            if told(pattern) and not asked(pattern) & OTHERS:
                yield ast.unparse(node)
        elif isinstance(node, ast.IfExp):
            if told(node.body) | told(node.orelse):
                yield ast.unparse(node)
        elif isinstance(node, ast.Dict):
            if any(key is not None and told(key) for key in node.keys):
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("startswith", "endswith"):
            if told(node):
                yield ast.unparse(node)


FILES = sorted(path for path in PACKAGE.rglob("*.py") if OWN not in path.parents)
TABLES = {
    "distributions/field_record.py": 1,  # what a stored field is declared with
    "distributions/likelihood.py": 1,  # who asks all
    "distributions/network_model.py": 3,  # of kinds of columns, and whether one was given
    "estimation/point_estimates.py": 1,  # estimators, by their names
    "fields/families.py": 1,  # of kinds of fields
    "fields/methods.py": 3,  # ways to compute, by theirs
    "fields/pairwise.py": 1,
    "runs/planning.py": 1,
}


def test_nobody_asks_a_likelihood_for_its_name():
    found = {}
    for path in FILES:
        asks = list(questions(path.read_text(encoding="utf-8")))
        name = path.relative_to(PACKAGE).as_posix()
        if len(asks) != TABLES.get(name, 0):
            found[name] = asks
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        'op.likelihood == "pseudo"',
        'likelihood in ("exact", "particles")',
        '"monte-carlo" not in likelihoods_fed(rv)',
        '{"exact": ExactEdges}[name]',
        'likelihood.endswith("monte-carlo")',
        'likelihood != "auto"',
        'steps = 1 if is_large else "pseudo"',
        'match likelihood:\n    case "path" | "exact":\n        pass',
    ],
)
def test_questions_are_found(source):
    assert len(list(questions(source))) == 1


def test_ways_to_draw_are_no_likelihoods():
    assert not list(questions('method == "exact"\nself._draws == "exact"'))


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: entry.home)
def test_entries_are_true(entry):
    kind = entry.kind
    assert issubclass(kind, Likelihood)
    assert entry.name in ("", kind.name)
    assert kind.invariant in likelihood.NEAREST_FIRST
    assert kind.__module__ == f"pymc_mrf.likelihood.{entry.home.partition(':')[0]}"


@pytest.mark.parametrize("kind", sorted({kind for entry in REGISTRY for kind in entry.kinds}))
def test_likelihoods_of_a_field_have_names_of_their_own(kind):
    names = [entry.name for entry in REGISTRY if kind in entry.kinds and entry.name]
    assert len(set(names)) == len(names)


def test_declaring_a_field_imports_no_engine():
    """The layers below know the interface only: likelihoods are loaded by their names."""
    for path in (PACKAGE / "distributions").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [node.module] if isinstance(node, ast.ImportFrom) else []
            named += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            assert not any((name or "").startswith("pymc_mrf.likelihood") for name in named), path
