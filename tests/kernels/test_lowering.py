"""Kernels compute what Python does, however little of them goes through memory."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from llvmlite import ir
from llvmlite.ir.instructions import LoadInstr

from pymc_mrf.kernels import _jit

if _jit.PLAIN:
    pytest.skip("kernels are compiled by numba alone", allow_module_level=True)

from pymc_mrf.kernels import _lowering


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray
    n: int


@_jit.lean
def fold(pair, out):
    """Variables from before a loop, from within, and from one branch; a record that is read everywhere."""
    total, swapped = 0.0, pair
    for i in range(pair.a.shape[0]):
        first = pair.a[i]
        if first > 0.5:
            other = Pair(swapped.b, swapped.a, i)
            total += other.a[0] * first
        else:
            other = swapped
            total -= other.n
        swapped = other
        for j in range(pair.b.shape[0]):
            step = first * pair.b[j]
            while step > 1.0:
                step -= 1.0
            out[i, j] = step + swapped.a[0]
    view = out[:, 1:]
    last = view[view.shape[0] - 1, 0]
    for row in view:
        row[0] += last
    return total, swapped.n, view.shape


@_jit.lean
def smallest_above(values, floor):
    """Return the place of the smallest value above `floor`, and it; -1 if there is none."""
    place, smallest = -1, np.inf
    for i in range(values.shape[0]):
        value = values[i]
        if value <= floor:
            continue
        if value < smallest:
            place, smallest = i, value
    return place, smallest


@_jit.jit
def stacked(values, n):
    """Arrays whose references are counted, in a variable that is assigned several times."""
    rows = np.zeros(values.shape[0])
    for _ in range(n):
        new = rows + values
        rows = new if new[0] < 3.0 else new - rows
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_kernels_do_what_python_does(seed):
    rng = np.random.default_rng(seed)
    pair, outs = Pair(rng.random(5), 3.0 * rng.random(4), 2), np.zeros((2, 5, 4))
    assert fold(pair, outs[0]) == fold.py_func(pair, outs[1])
    np.testing.assert_array_equal(*outs)
    values = rng.normal(size=6)
    for floor in (-5.0, 0.0, 5.0):
        assert smallest_above(values, floor) == smallest_above.py_func(values, floor)
    np.testing.assert_array_equal(stacked(values, 5), stacked.py_func(values, 5))


@_jit.lean
def product(pair):
    """Sum the products of the entries of both arrays."""
    total = 0.0
    for i in range(pair.a.shape[0]):
        total += pair.a[i] * pair.b[i]
    return total


def test_records_are_not_kept_in_memory():
    assert product(Pair(np.arange(3.0), np.ones(3), 3)) == 3.0
    [signature] = product.signatures
    part = product._part
    part.compile(signature)  # unless the kernel comes from disk, it has been
    [inner] = part.overloads.values()
    code = inner.library.get_llvm_str()
    assert "fmul double" in code
    assert "alloca {" not in code


def test_functions_of_others_can_still_be_called_from_python():
    """A function that is compiled first as a kernel calls it."""

    @numba.njit
    def twice(x):
        return 2.0 * x

    @_jit.jit
    def four_times(x):
        return twice(twice(x))

    assert four_times(1.5) == 6.0
    assert twice(1.5) == 3.0


def test_a_pointer_may_be_to_any_variable():
    """What is stored by a pointer that is chosen in another block is read from there."""
    number = ir.IntType(64)
    function = ir.Function(ir.Module(), ir.FunctionType(number, [ir.IntType(1)]), "chosen")
    begin, other, end = (function.append_basic_block() for _ in range(3))
    writer = _lowering.Writer(begin)
    first = writer.alloca(number)
    writer.cbranch(function.args[0], other, end)
    writer.position_at_end(other)
    second = writer.alloca(number)
    writer.branch(end)
    writer.position_at_end(end)
    pointer = writer.phi(number.as_pointer())
    pointer.add_incoming(first, begin)
    pointer.add_incoming(second, other)
    writer.store(number(1), first)
    writer.store(number(2), pointer)
    assert isinstance(writer.load(first), LoadInstr)
    alone = _lowering.Writer(begin)
    variable = alone.alloca(number)
    alone.store(number(1), variable)
    assert not isinstance(alone.load(variable), LoadInstr)
