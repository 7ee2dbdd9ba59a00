"""Draws are the same bits, whether functions are compiled or come from the cache, in whatever process.

PyTensor by default lets sums be reordered, in functions just compiled otherwise than in those from the cache.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytensor import config

from pymc_mrf.runs.chain import packed, unpacked
from tests.marks import slow

SCRIPT = Path(__file__).with_name("rounding_script.py")


def draws(folder, fastmath, *arguments):
    env = {
        **os.environ,
        "PYTENSOR_FLAGS": f"base_compiledir={folder},numba__fastmath={fastmath}",
        "NUMBA_CACHE_DIR": str(folder),
        "PYTHONPATH": str(SCRIPT.parents[2]),
    }
    run = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, *arguments], env=env, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    "name", [slow(name) for name in ("normal", "nuts", "edges", "groups", "hidden", "exchange")]
)
def test_draws_do_not_depend_on_caches(name, tmp_path):
    cold = draws(tmp_path, False, "fork", "1", name)
    assert draws(tmp_path, False, "spawn", "2", name) == cold


@pytest.mark.slow
def test_draws_do_not_depend_on_processes(tmp_path):
    pytest.importorskip("distributed")
    cold = draws(tmp_path, False, "cluster", "normal", "nuts")
    for arguments in (("fork", "2"), ("fork", "1"), ("cluster",)):
        assert draws(tmp_path, False, *arguments, "normal", "nuts") == cold


@pytest.mark.slow
def test_control_by_default_the_first_run_on_a_machine_rounds_otherwise(tmp_path):
    cold, *warm = (draws(tmp_path, True, "fork", "1", "normal") for _ in range(3))
    assert warm[0] == warm[1] != cold
    assert draws(tmp_path, True, "spawn", "2", "normal") == warm[0]


@pytest.mark.parametrize("fastmath", [True, False])
def test_other_processes_round_as_the_one_that_samples(fastmath):
    with config.change_flags(numba__fastmath=fastmath):
        given = packed("a plan")
    with config.change_flags(numba__fastmath=not fastmath):
        with unpacked(given) as plan:
            assert (plan, config.numba__fastmath) == ("a plan", fastmath)
        assert config.numba__fastmath is not fastmath
