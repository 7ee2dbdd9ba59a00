"""Machine code on disk is used as long as nothing that it comes from has changed."""

import ast
import os
import pickle
import shutil
from pathlib import Path

import numba
import pytest

import pymc_mrf
from pymc_mrf.kernels._sources import ASKED, FOLDERS, digests_of, imported, sources_digest

PACKAGE = Path(pymc_mrf.__file__).parent
FILES = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]


def changed_by(package, name):
    """Modules, without the package's name, that a change of the file of one reaches."""
    before = digests_of(package)
    file = package / f"{name.replace('.', '/')}.py"
    text = file.read_text()
    file.write_text(f"{text}\n# changed")
    after = digests_of(package)
    file.write_text(text)
    return {module.removeprefix("pymc_mrf.") for module in after if after[module] != before[module]}


def test_a_change_reaches_what_imports_it_and_what_asks_it(tmp_path):
    sources = {
        "kernels/base": "x = 1",
        "kernels/views/__init__": "from pymc_mrf.kernels.views.exact import f",
        "kernels/views/exact": "from pymc_mrf.kernels.base import (  # why\n    x as y,\n)",
        "kernels/views/guest": "from pymc_mrf.kernels.edges.moves import ask\n@ask.gain.register(tuple)",
        "kernels/edges/moves": "from pymc_mrf.kernels import views",
        "kernels/edges/exact": "x = 1",
        "papers/kernels/whole": "from pymc_mrf.kernels.edges import moves, exact",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text)
    asks = {"kernels.edges.moves", "kernels.views.guest", "papers.kernels.whole"}
    views = {"kernels.views", "kernels.views.exact"}
    assert changed_by(tmp_path, "kernels.base") == {"kernels.base", *views, *asks}
    assert changed_by(tmp_path, "kernels.views.guest") == asks
    assert changed_by(tmp_path, "kernels.edges.moves") == asks
    assert changed_by(tmp_path, "kernels.edges.exact") == {"kernels.edges.exact", "papers.kernels.whole"}


def test_answers_of_the_package_reach_who_asks(tmp_path):
    """Questions of edge views and of `group_labels` are answered in modules that these do not import."""
    package = shutil.copytree(PACKAGE, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    changed = changed_by(package, "kernels.views.pseudo_edges")
    assert {
        "kernels.edges.edge_moves",
        "kernels.edges.hamiltonian",
        "papers.kernels.reversible_jump",
    } <= changed
    assert not changed & {
        "kernels.groups.crp",
        "kernels.simulation.packed_gibbs",
        "kernels.priors.densities",
    }
    assert "kernels.groups.group_labels" in changed_by(package, "kernels.groups.edgewise_groups")


def test_names_are_found_as_the_parser_finds_them():
    for path in FILES:
        text = path.read_text()
        nodes = list(ast.walk(ast.parse(text)))
        taken = {
            name.asname or name.name: (node.module, name.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "pymc_mrf"
            for name in node.names
        }
        assert imported(text) == taken
        assert all("kernels" in module for module, _ in taken.values())  # nothing else is in the digests
        asked = set()
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr == "register":
                while isinstance(node, ast.Attribute):
                    node = node.value
                asked.add(node.id)
        assert asked & set(taken) == set(ASKED.findall(text)) & set(taken)


def test_every_module_has_a_digest_and_others_that_of_all():
    assert len(digests_of(PACKAGE)) == len(FILES)
    assert len({sources_digest(name) for name in ("pymc_mrf.kernels.cone", __name__, "other")}) == 2


def triple(x):
    return 3 * x


def hits(*values):
    """How many of the kernels for values of their types were read from disk."""
    from pymc_mrf.kernels._compiler import Kernel

    kernel = Kernel(triple, targetoptions={"nopython": True})
    kernel.enable_caching()
    assert [kernel(value) for value in values] == [3 * value for value in values]
    return sum(kernel.stats.cache_hits.values())


def test_machine_code_is_read_by_the_digest_of_its_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert [hits(2), hits(2)] == [0, 1]
    (code,) = tmp_path.glob("*/*triple-kernel-*.nbc")
    with code.open("rb") as file:
        version = pickle.load(file)
    code.write_bytes(pickle.dumps(version) + b"names a class that is gone")
    with pytest.raises(pickle.UnpicklingError):  # were it not for the digest
        hits(2)
    monkeypatch.setattr("pymc_mrf.kernels._compiler.sources_digest", lambda module: "another")
    assert [hits(2), hits(2)] == [0, 1]


def test_machine_code_for_other_types_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert [hits(2, 0.5), hits(2, 0.5)] == [0, 2]
    for kind in ("kernel", "part"):  # as if two processes had written each the other's file
        first, second = tmp_path.glob(f"*/*triple-{kind}-*.nbc")
        texts = first.read_bytes(), second.read_bytes()
        assert texts[0] != texts[1]
        first.write_bytes(texts[1]), second.write_bytes(texts[0])
    assert [hits(2, 0.5), hits(2, 0.5)] == [0, 2]
    assert not list(tmp_path.glob("*/*.nbi"))  # numba's own, of files that it numbers


def test_a_kernel_that_is_compiled_anew_is_not_read(tmp_path, monkeypatch):
    from pymc_mrf.kernels._compiler import Kernel

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernel = Kernel(triple, targetoptions={"nopython": True})
    kernel.enable_caching()
    kernel(2)
    kernel.recompile()
    assert not kernel.stats.cache_hits


def test_the_cache_of_tests_is_in_use():
    assert numba.config.CACHE_DIR == os.environ["NUMBA_CACHE_DIR"]
