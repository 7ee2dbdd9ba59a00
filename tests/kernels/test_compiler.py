"""Kernels are optimised as a whole, and called by address by all functions that are no kernels."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit, types
from numba.core.bytecode import FunctionIdentity

from pymc_mrf.kernels import _jit

if _jit.PLAIN:
    pytest.skip("kernels are compiled by numba alone", allow_module_level=True)
from pymc_mrf.kernels import _compiler


@_jit.jit
def root(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(x)


@_jit.jit
def sum_of_roots(x):
    total = 0.0
    for k in range(x.shape[0]):
        total += root(x[k])
    return total


@_jit.jit
def power(x, n):
    return x**n


def caller(kernel):
    @njit
    def call(x):
        return 2.0 * kernel(x)

    return call


def test_what_a_kernel_calls_has_no_machine_code_of_its_own():
    x = np.array([1.0, 4.0, 9.0])
    assert sum_of_roots(x) == 6.0
    part = root._part
    part.compile((types.float64,))  # as its caller does, unless that comes from disk
    [inner] = part.overloads.values()
    assert not inner.library._is_emitted
    assert root(4.0) == 2.0  # until Python calls it
    with pytest.raises(ValueError, match="negative"):
        sum_of_roots(-x)


def test_other_functions_call_kernels_by_address():
    call, x = caller(sum_of_roots), np.array([1.0, 4.0, 9.0])
    assert call(x) == call(x) == 12.0
    [code] = call.inspect_llvm().values()
    assert _compiler.ADDRESS in code
    assert "sqrt" not in code
    with pytest.raises(ValueError, match="negative"):
        call(-x)


def test_constants_of_other_functions_are_no_types_of_their_own():
    def with_constant(n):
        return njit(lambda x: power(x, n))

    assert [with_constant(n)(2.0) for n in (2, 3)] == [4.0, 8.0]
    assert power(2.0, 4) == 16.0
    assert power.signatures == [(types.float64, types.int64)]


def test_kernels_without_a_name_are_parts_of_their_callers():
    local = _jit.jit(lambda x: np.sqrt(x))
    call = caller(local)
    assert call(4.0) == 4.0
    [code] = call.inspect_llvm().values()
    assert _compiler.ADDRESS not in code


def test_a_kernel_that_is_not_found_is_an_error(monkeypatch):
    call = caller(root)

    def fail(self, args):
        raise OSError("no space left")

    monkeypatch.setattr(_compiler.Kernel, "address", fail)
    with pytest.raises(RuntimeError, match="root is not compiled"):
        call(4.0)


def name_of_half(compile_kernel, monkeypatch):
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", itertools.count(1))  # as in a new process

    def half(x):
        return x / 2

    kernel = compile_kernel(half)
    assert kernel(3.0) == 1.5
    [result] = kernel.overloads.values()
    return result.fndesc.mangled_name


def test_names_of_code_do_not_meet_those_of_other_processes(monkeypatch):
    first, second = (name_of_half(_compiler.Kernel, monkeypatch) for _ in range(2))
    assert first != second
    plain, again = (name_of_half(njit, monkeypatch) for _ in range(2))
    assert plain == again


SCRIPT = """
import numpy as np
from numba import njit
from pymc_mrf.kernels.simulation.swendsen_wang import may_order, read_attraction

@njit(cache=True)
def call(tables, edges, coupling, alone):
    return read_attraction(tables, edges, coupling, alone) and may_order(coupling, 2)

tables, edges = np.eye(2)[None].repeat(9, axis=0), np.array([[0, 1]]).repeat(9, axis=0)
args = tables, edges, np.empty(9), np.empty((2, 2))
print(call(*args), read_attraction(*args), *args[2][:2])
print(*(sum(kernel.stats.cache_hits.values()) for kernel in (call, read_attraction, may_order)))
"""


@pytest.mark.slow
def test_another_process_finds_the_kernels_of_a_cached_function(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root_folder = Path(_compiler.__file__).parents[2]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root_folder)}
    printed = [
        subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (run.stdout.splitlines() for run in printed)
    assert first == ["True True 1.0 1.0", "0 0 0"]
    assert second == ["True True 1.0 1.0", "1 1 1"]
