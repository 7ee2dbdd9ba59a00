"""Compilation that takes long is announced, and does not depend on who calls."""

import logging
from typing import NamedTuple

import pytest
from numba import njit
from numba.core import event

from pymc_mrf.kernels import _jit
from pymc_mrf.kernels.by_type import by_type


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
