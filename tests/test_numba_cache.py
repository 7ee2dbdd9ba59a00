"""The cache of compiled kernels: a change leads to another folder, with all that it has not reached."""

import ast
import os
import shutil
from pathlib import Path

import numba

import pymc_mrf
from tests.numba_cache import N_KEPT, cache_folder, digests


def test_kernels_are_cached_by_their_content(tmp_path):
    kernels = tmp_path / "pymc_mrf" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "a.py").write_text("x = 1")
    (kernels / "b.py").write_text("y = 1")
    first = cache_folder(tmp_path)
    assert first.parent == tmp_path / ".numba_cache"
    assert cache_folder(tmp_path) == first
    (kernels / "b.py").write_text("y = 2")
    second = cache_folder(tmp_path)
    assert second != first
    (kernels / "b.py").rename(kernels / "c.py")
    assert cache_folder(tmp_path) not in (first, second)
    assert first.exists()


def test_old_folders_go(tmp_path):
    kernels = tmp_path / "pymc_mrf" / "kernels"
    kernels.mkdir(parents=True)
    folders = []
    for k in range(N_KEPT + 3):
        (kernels / "a.py").write_text(f"x = {k}")
        folders.append(cache_folder(tmp_path))
        (folders[-1] / "compiled.nbc").touch()
        os.utime(folders[-1], (k, k))
    assert sorted(folders[-N_KEPT:]) == sorted((tmp_path / ".numba_cache").iterdir())


def test_a_new_folder_begins_with_what_no_change_has_reached(tmp_path):
    kernels = tmp_path / "pymc_mrf" / "kernels"
    kernels.mkdir(parents=True)
    sources = {
        "base": "x = 1",
        "user": "from pymc_mrf.kernels.base import x",
        "far": "from pymc_mrf.kernels import user",
        "host": "def question(): pass",
        "guest": "from pymc_mrf.kernels.base import x\nfrom pymc_mrf.kernels import host as asks\n"
        "@asks.question.register(tuple)\ndef answer(): pass",
        "alone": "y = 1",
    }
    for name, text in sources.items():
        (kernels / f"{name}.py").write_text(text)
    compiled = cache_folder(tmp_path) / "kernels_0123"
    compiled.mkdir()
    for name in sources:
        for file in (f"{name}.f-1.py313.nbi", f"{name}.f-1.py313.1.nbc", f"{name}.f-1.py313.2.nbc"):
            (compiled / file).write_text(name)

    def kept():
        paths = (cache_folder(tmp_path) / "kernels_0123").glob("*")
        return sorted(path.name.split(".")[0] for path in paths)

    (kernels / "user.py").write_text("from pymc_mrf.kernels.base import x  # changed")
    assert kept() == sorted([*"alone base guest host".split()] * 3)
    (kernels / "base.py").write_text("x = 2")  # reaches the view, and so who calls it by its type
    assert kept() == ["alone"] * 3
    (kernels / "base.py").write_text("x = 1")
    (kernels / "guest.py").write_text(sources["guest"] + "\nz = 1")
    assert kept() == sorted(["alone", "base"] * 3)
    assert all(path.read_text() == "alone" for path in cache_folder(tmp_path).glob("*/alone*"))


def test_kernels_in_folders_are_kept_by_all_that_they_come_from(tmp_path):
    kernels = tmp_path / "pymc_mrf" / "kernels"
    sources = {
        "base": "x = 1",
        "views/__init__": "from pymc_mrf.kernels.views.exact import f",
        "views/exact": "from pymc_mrf.kernels.base import x\ndef question(): pass",
        "views/guest": "from pymc_mrf.kernels.views import exact\n@exact.question.register\ndef f(): pass",
        "edges/moves": "from pymc_mrf.kernels.views import f",
        "edges/whole": "from pymc_mrf.kernels import views",
        "edges/exact": "x = 1",
    }
    for name, text in sources.items():
        (kernels / name).parent.mkdir(parents=True, exist_ok=True)
        (kernels / f"{name}.py").write_text(text)
    first, before = cache_folder(tmp_path), digests(kernels.parent)
    for name in sources:
        parent, _, stem = f"kernels/{name}".rpartition("/")
        folder = first / f"{parent.rpartition('/')[2]}_0123"
        folder.mkdir(exist_ok=True)
        (folder / f"{stem}.f-1.py313.nbi").touch()

    def changed_by(name):
        file = kernels / f"{name}.py"
        file.write_text(sources[name] + "\n# changed")
        after = digests(kernels.parent)
        changed = {name.replace(".", "/") for name in after if after[name] != before[name]}
        kept = {
            f"{index.parent.name.rpartition('_')[0]}/{index.name.split('.')[0]}".removeprefix("kernels/")
            for index in cache_folder(tmp_path).glob("*/*.nbi")
        }
        file.write_text(sources[name])
        assert kept == set(sources) - changed
        return changed

    everything_above = {"views/__init__", "views/exact", "views/guest", "edges/moves", "edges/whole"}
    assert changed_by("base") == {"base", *everything_above}
    assert changed_by("views/guest") == everything_above  # it answers a question
    assert changed_by("edges/exact") == {"edges/exact"}
    assert changed_by("edges/moves") == {"edges/moves"}


def test_the_closure_knows_the_kernels():
    package = Path(pymc_mrf.__file__).parent
    before = digests(package)
    files = [path for path in package.rglob("*.py") if "kernels" in path.relative_to(package).parts]
    assert len(files) == len(before)
    others = [node.module for path in files for node in ast.walk(ast.parse(path.read_text()))
              if isinstance(node, ast.ImportFrom)]  # fmt: skip
    # digests cover kernels only
    assert {name for name in others if name.startswith("pymc_mrf") and "kernels" not in name} == set()


def test_a_changed_answer_reaches_whoever_asks(tmp_path):
    """Questions of edge views and of `group_labels` are answered in modules that these do not import."""
    package = tmp_path / "pymc_mrf"
    shutil.copytree(
        Path(pymc_mrf.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    before = digests(package)
    for answers, asks in (
        (
            "views.pseudo_edges",
            {
                "edges.edge_moves",
                "edges.hamiltonian",
                "papers.kernels.reversible_jump",
                "views.particle_edges",
            },
        ),
        ("groups.edgewise_groups", {"groups.group_labels"}),
    ):
        file = package / "kernels" / f"{answers.replace('.', '/')}.py"
        text = file.read_text()
        file.write_text(text + "# changed")
        changed = {name for name, digest in digests(package).items() if digest != before[name]}
        file.write_text(text)
        assert {answers, *asks} <= changed
        assert not changed & {"groups.crp", "simulation.packed_gibbs", "priors.densities"}


def test_the_cache_is_in_use():
    assert numba.config.CACHE_DIR == os.environ["NUMBA_CACHE_DIR"]
