"""Random draws whose sweeps were too few are told of, also from within compiled functions.

Compiled functions report every draw that is the end of a chain, with the log tables it was made from. Of the
first draws of a field all are checked, of later ones ever fewer, by chains of their own: draws do not depend
on it.
"""

import ctypes
import hashlib
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pymc
import pytensor
from numba import types
from numba.extending import overload

from pymc_mrf.checks import PACKAGE

CHECKED = 4
"""Checks of the draws from 4 to 7, from 8 to 15, and so on."""

FOREIGN = (PACKAGE, *(str(Path(package.__file__).parent) for package in (pymc, pytensor)))

_fields: dict[int, Any] = {}
n_draws_so_far: Counter[int] = Counter()


def watched(field: Any) -> int:
    """Give a `FieldRV` the number by which compiled functions name it."""
    digest = hashlib.sha256(f"{type(field)}{field._props_dict()}".encode()).digest()
    number = int.from_bytes(digest[:7], "big")
    _fields[number] = field
    return number


def too_few_sweeps(field: Any) -> str:
    """Complaint about draws of a `FieldRV`."""
    return (
        f"random draws of {field._print_name[0]} show where their chains start: in n_sweeps={field.n_sweeps} "
        "sweeps a chain from order and one from disorder did not come to the same. Give the field more, "
        f"n_sweeps={10 * field.n_sweeps}, and still more if this is said again"
    )


def is_due(n_draws: int) -> bool:
    return n_draws % max(2 ** n_draws.bit_length() // (2 * CHECKED), 1) == 0


def report_draw(number: int, *tables: np.ndarray) -> bool:
    """Check a draw made from these log tables, if it is due, and warn if its sweeps were too few."""
    n_draws_so_far[number] += 1
    field = _fields[number]
    n = n_draws_so_far[number]
    if is_due(n) and not field.starts_meet(*tables, np.random.default_rng(n)):
        warnings.warn(too_few_sweeps(field), UserWarning, skip_file_prefixes=FOREIGN)
    return False


REPORT = "pymc_mrf_report_draw"  # what machine code knows `_from_machine_code` by


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t)
def _from_machine_code(number: int, first: int, second: int) -> int:
    """`report_draw` of the tables at these addresses; whether the warning is an error."""
    try:
        shapes = _fields[number].table_shapes
        tables = []
        for shape, address in zip(shapes, (first, second), strict=False):
            cells = (ctypes.c_double * int(np.prod(shape))).from_address(address)
            tables.append(np.frombuffer(cells).reshape(shape))
        report_draw(number, *tables)
    except UserWarning:
        return 1
    return 0


llvm.add_symbol(REPORT, ctypes.cast(_from_machine_code, ctypes.c_void_p).value)
_report = types.ExternalFunction(REPORT, types.int64(types.int64, types.uintp, types.uintp))


@overload(report_draw)
def _compiled_report(number, *tables):
    if len(tables) == 2:
        return lambda number, *tables: _report(number, tables[0].ctypes.data, tables[1].ctypes.data) != 0
    return lambda number, *tables: _report(number, tables[0].ctypes.data, 0) != 0
