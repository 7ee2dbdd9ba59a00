"""Compilation that takes long is announced."""

import logging

import pytest
from numba.core import event

from pymc_mrf.kernels import _jit


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
        kernel = _jit.njit(add)
        assert kernel(1) == 2
        assert kernel(1.5) == 2.5
    # the listener of the process itself may have told already
    messages = [r for r in caplog.records if "pymc_mrf compiles its kernels" in r.getMessage()]
    assert len(messages) in {told, 2 * told}
