"""The cache of compiled kernels: a change of any kernel leads to another folder."""

import os

import numba

from tests.numba_cache import N_KEPT, cache_folder


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


def test_the_cache_is_in_use():
    assert numba.config.CACHE_DIR == os.environ["NUMBA_CACHE_DIR"]
