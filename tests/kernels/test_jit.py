"""Which compiler is used; compilation that takes long is announced, and does not depend on who calls."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import event
from numba.core.errors import TypingError

from pymc_mrf.kernels import _jit
from pymc_mrf.kernels._jit import by_type


@pytest.mark.parametrize(
    ("module", "patience", "told"),
    [
        ("pymc_mrf.kernels.some", 0.0, 1),
        ("pymc_mrf.kernels.some", 1e6, 0),
        ("pymc_mrf.steps.some", 0.0, 0),
        (None, 0.0, 0),
    ],
    ids=["long", "short", "of others", "generated"],
)
def test_long_compilation_is_announced_once(module, patience, told, monkeypatch, caplog):
    def add(x):
        return x + 1

    add.__module__ = module
    monkeypatch.setattr(_jit, "PATIENCE", patience)
    with (
        event.install_listener("numba:compile", _jit.Announcement()),
        caplog.at_level(logging.INFO, logger="pymc"),
    ):
        kernel = njit(add)
        assert kernel(1) == 2
        assert kernel(1.5) == 2.5
    # the listener of the process itself may have told already
    messages = [
        r
        for r in caplog.records
        if "pymc_mrf compiles kernels that were not used before" in r.getMessage()
    ]
    assert len(messages) in {told, 2 * told}


ROUNDING = 1.5 * 2.0**52  # added and subtracted, it rounds, unless sums may be taken in any order


def rounded(x):
    return (x + ROUNDING) - ROUNDING


class Number(NamedTuple):
    x: float


@by_type
def rounded_by_type(number):
    """Round the number."""


@rounded_by_type.register(Number)
def rounded_number(number):
    return (number.x + ROUNDING) - ROUNDING


@pytest.mark.parametrize("compile_kernel", [_jit.jit, _jit.part, _jit.lean, _jit.either, None])
def test_a_caller_with_fast_arithmetic_keeps_it_to_itself(compile_kernel):
    """As PyTensor's functions are, by which kernels are compiled on the way and then cached."""
    if compile_kernel is None:
        kernel, x = rounded_by_type, Number(0.3)
    else:
        kernel, x = compile_kernel(rounded), 0.3

    @njit(fastmath=True)
    def call(x):
        return kernel(x)

    assert call(x) == 0.0


@_jit.lean
def fill(out, rng):
    for k in range(len(out)):
        out[k] = rng.random() + rng.standard_normal()


@_jit.jit
def draws(rng, n):
    out = np.empty(n)
    fill(out, rng)
    return out + rng.integers(0, 2**40) + rng.integers(0, 7)


def expected(rng, n):
    out = np.empty(n)
    fill.py_func(out, rng)
    return out + rng.integers(0, 2**40) + rng.integers(0, 7)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_kernels_draw_from_the_generator_they_are_given(bits):
    ours, numpys = (np.random.Generator(getattr(np.random, bits)(4)) for _ in range(2))
    before = sys.getrefcount(ours), sys.getrefcount(ours.bit_generator)
    fill(np.empty(1), ours), fill.py_func(np.empty(1), numpys)
    for _ in range(3):
        np.testing.assert_array_equal(draws(ours, 50), expected(numpys, 50))
    assert (sys.getrefcount(ours), sys.getrefcount(ours.bit_generator)) == before
    assert ours.random() == numpys.random()


def test_other_arguments_than_generators_are_refused():
    with pytest.raises(TypingError):
        draws(np.random.RandomState(1), 3)


@pytest.mark.parametrize(
    ("asked", "version", "plain"),
    [
        (None, _jit.TESTED[0], False),
        ("", _jit.TESTED[-1], False),
        ("numba", _jit.TESTED[0], True),
        (None, "0.61.2", True),
        (None, "1.0.0", True),
    ],
)
def test_versions_that_were_not_tested_are_used_as_they_are_published(asked, version, plain):
    assert _jit.is_plain(asked, version) is plain


def test_another_compiler_is_refused():
    with pytest.raises(ValueError, match="PYMC_MRF_COMPILER='gcc' is no compiler: set it to 'numba'"):
        _jit.is_plain("gcc", _jit.TESTED[0])


SCRIPT = """
import itertools, logging
logging.basicConfig(level="DEBUG")
import numba
from numba.core.bytecode import FunctionIdentity
from pymc_mrf.kernels.vector_sums import copy
print(type(copy).__module__)
print(type(FunctionIdentity._unique_ids).__name__)
"""


@pytest.mark.parametrize("asked", ["", "numba"])
def test_the_compiler_is_told_and_numba_left_alone(asked):
    env = {**os.environ, _jit.VARIABLE: asked}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
    )
    compiler, counter = run.stdout.split()
    plain = _jit.is_plain(asked, numba.__version__)
    assert compiler == ("numba.core.registry" if plain else "pymc_mrf.kernels._compiler")
    assert counter == "count"
    [told] = [line for line in run.stderr.splitlines() if line.startswith("DEBUG:pymc:")]
    assert told.endswith(f"numba {numba.__version__}" + (" and a faster compiler" if not plain else ""))


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "simulation/test_gibbs",
        "junction_trees/test_junction_tree",
        "simulation/test_packed_gibbs",
        "views/test_pseudo_edges",
        "trees/test_tree_sampling",
    ],
)
def test_kernels_do_the_same_as_numba_compiles_them(file):
    """Some files; numba takes long for all, which pytest runs with the variable in the environment."""
    path = Path(__file__).parent / f"{file}.py"
    options = ["-q", "-m", "not slow", "-p", "no:xdist", "-p", "no:cacheprovider", path]
    env = {**os.environ, _jit.VARIABLE: "numba"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        env=env,
        cwd=path.parents[3],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout
