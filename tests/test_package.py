"""The package as a user meets it: README, public names, import time, declared layers."""

import ast
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from tests.marks import NOT_FOUND
from tests.public import MODULES, NAMES

ROOT = Path(__file__).parent.parent
NO_VERB = re.compile(
    r'"""(About|After|As|At|Before|Beside|By|Down|For|From|In|Into|Like|Likewise|Of|On|Over|Same|Side|The|'
    r"That|Those|To|With|Without)\b"
)


def without_verb(code: str) -> list[str]:
    """Functions whose docstring begins with a word that begins a fragment."""
    if not NO_VERB.search(code):  # parsing all files takes seconds
        return []
    functions = [f for f in ast.walk(ast.parse(code)) if isinstance(f, ast.FunctionDef)]
    return [f.name for f in functions if NO_VERB.match(f'"""{ast.get_docstring(f)}')]


@pytest.mark.slow
@pytest.mark.compiled
def test_readme_code_runs(monkeypatch, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    sample = pm.sample
    options = {"draws": 5, "tune": 5, "chains": 1, "cores": 1, "random_seed": 1}
    options |= {"progressbar": False, "quiet": True}
    monkeypatch.setattr(pm, "sample", lambda **kwargs: sample(**(options | kwargs)))
    voters = pmrf.datasets.load_anes96()
    pd.DataFrame(voters.x, columns=voters.items).to_csv("answers.csv", index=False)
    couplings, items = {}, {}  # each example stands alone
    exec(blocks[0], couplings)
    exec(blocks[1], items)
    assert couplings["groups"].shape == (1, 5)
    assert set(couplings["idata"].posterior.data_vars) == {"alpha", "theta"}
    assert couplings["idata"].posterior.theta.sizes["edge"] == 279
    assert len(items["net"].edges) == len([line for line in blocks[1].splitlines() if line]) == 10
    assert {path.name for path in tmp_path.iterdir()} == {
        "answers.csv", "edges.csv", "network.html", "network.png", "run.nc"
    }  # fmt: skip


def test_helpers_of_tests_are_in_modules_of_their_own():
    """A file of tests is read by itself: none imports from another."""
    of_tests = re.compile(
        r"^\s*(?:from [\w.]*\btest_\w+ import|(?:from [\w.]+ )?import .*\btest_)", re.MULTILINE
    )
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert [p.name for p in files if of_tests.search(p.read_text(encoding="utf-8"))] == []
    for line in ("from tests.test_a import b", "from tests import test_a as a", "import tests.test_a"):
        assert of_tests.search(line)


def test_ordinary_cases_exist(request):
    """A name that is wrong would leave its case to the slow tests."""
    assert not any(request.config.stash.get(NOT_FOUND, {}).values())


@pytest.mark.parametrize("path", MODULES)
def test_public_names_exist_and_are_documented(path):
    module = MODULES[path]
    assert sorted(module.__all__) == list(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        value = getattr(module, name)
        assert value.__doc__, name
        if inspect.isclass(value):
            own = [key for key in vars(value) if key[0] != "_" and callable(getattr(value, key))]
            assert [key for key in own if not inspect.getdoc(getattr(value, key))] == [], name
    with pytest.raises(AttributeError, match=f"module '{path}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def test_a_name_for_experts_is_told_where_it_is():
    with pytest.raises(AttributeError, match=r"'EdgeGibbs'; it is pymc_mrf\.steps\.EdgeGibbs"):
        pmrf.EdgeGibbs  # noqa: B018


def test_a_thing_has_one_public_name():
    of = {}
    for path, value in NAMES.items():
        of.setdefault(id(value), []).append(path)
    assert [paths for paths in of.values() if len(paths) > 1] == []
    assert len(pmrf.__all__) <= 75


@pytest.mark.parametrize("path", MODULES)
def test_tools_that_read_code_find_the_same_names(path):
    """What is loaded when it is used is imported for type checkers, and no file has such a name."""
    file = Path(MODULES[path].__file__)
    [block] = [n for n in ast.parse(file.read_text()).body if isinstance(n, ast.If)] or [None]
    if block is None:  # imported at once
        return
    read = [(alias.name, alias.asname) for node in block.body for alias in node.names]
    assert sorted(name for name, _ in read) == MODULES[path].__all__
    assert all(name == kept for name, kept in read)
    if path != "pymc_mrf" and file.name == "__init__.py":
        assert not {p.stem for p in file.parent.iterdir()} & set(MODULES[path].__all__)


def test_names_in_messages_and_pages_exist():
    """A remedy or a page that names a thing of this package names what there is."""
    named = re.compile(r"(?<![\w/.-])(?:pmrf|pymc_mrf)((?:\.(?!NAME\b)[A-Za-z_]\w*)+)")
    files = [*ROOT.glob("pymc_mrf/**/*.py"), *ROOT.glob("examples/**/*.py"), *ROOT.glob("docs/*.md")]
    found = {}
    for file in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for match in named.finditer(file.read_text(encoding="utf-8")):
            found.setdefault(match[1], file.name)
    assert len(found) > 300

    def exists(name):
        try:
            return pkgutil.resolve_name("pymc_mrf" + name) is not None
        except (AttributeError, ImportError):
            return False

    assert {name: file for name, file in found.items() if not exists(name)} == {}
    assert not exists(".SeriesGibbs")


def test_docstrings_of_functions_have_a_verb():
    files = sorted((ROOT / "pymc_mrf").rglob("*.py"))
    assert [(p.name, name) for p in files for name in without_verb(p.read_text(encoding="utf-8"))] == []
    f, g = 'def f(x):\n    """Of x."""\n', 'def g(x):\n    """Offer x."""\n    """Of g."""\n'
    assert without_verb(f + g) == ["f"]


def test_run_time_dependencies():
    requires = importlib.metadata.requires("pymc-mrf")
    names = {re.match(r"[\w-]+", r)[0] for r in requires if "extra ==" not in r}
    expected = {"pymc", "pytensor", "arviz", "numpy", "scipy", "numba", "networkx", "narwhals"}
    assert names == expected | {"threadpoolctl"}


def test_import_leaves_slow_packages_for_later():
    code = (
        "import sys, pymc; before = set(sys.modules); import pymc_mrf as pmrf;"
        "pmrf.DirichletProcess, pmrf.SpikeAndSlab, pmrf.EdgeCommunities;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "print(','.join(sorted(new & {'sklearn', 'matplotlib', 'arviz_plots', 'networkx', 'numba'})))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == ""


def test_fields_leave_slow_packages_for_later():
    code = (
        "import sys, pymc; before = set(sys.modules); import pymc_mrf as pmrf; pmrf.Ising, pmrf.MixedMRF;"
        "new = {'.'.join(m.split('.')[:2]) for m in set(sys.modules) - before};"
        "print(','.join(sorted(new & {'networkx', 'scipy.stats', 'scipy.optimize', 'scipy.interpolate'})))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == ""


@pytest.mark.slow
def test_a_model_read_from_a_file_finds_its_steps(tmp_path):
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=1)
        pmrf.AgreementMRF("x", theta, graph=pmrf.graphs.chain(2), observed=[[0, 0], [0, 1]])
    path = tmp_path / "model.pickle"
    path.write_bytes(cloudpickle.dumps(model))
    code = (
        "import sys, cloudpickle; model = cloudpickle.load(open(sys.argv[1], 'rb'));"
        "from pymc.step_methods import STEP_METHODS; print(*(step.name for step in STEP_METHODS))"
    )
    command = [sys.executable, "-c", code, str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"group_gibbs", "exchange", "tree_gibbs", "edge_gibbs"} <= set(output.stdout.split())


def test_a_class_has_a_name_of_its_own():
    """But for the view and the engine of a likelihood, which are parts of one algorithm."""
    found = {}
    for path in sorted(ROOT.glob("pymc_mrf/**/*.py")):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, []).append(path)
    shared = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert {name for name, paths in shared.items() if len({path.name for path in paths}) > 1} == set()
