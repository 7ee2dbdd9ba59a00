"""Steps draw the same where kernels are compiled by numba as it is published."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pymc_mrf.kernels import _jit
from tests.steps.last_points import NAMES, last_points

ROOT = Path(__file__).parents[2]
ROUNDING = {"Monte Carlo groups": 1e-5}  # sums in single precision, whose order compilers choose
FLAGS = "mode=FAST_COMPILE,cxx="

SCRIPT = """
import pickle, sys
from tests.steps.last_points import NAMES, last_points
with open(sys.argv[1], "wb") as file:
    pickle.dump(last_points(NAMES), file)
"""


@pytest.mark.slow
def test_all_steps_draw_the_same(tmp_path):
    path = tmp_path / "points"
    given = os.environ.get("PYTENSOR_FLAGS")
    flags = {"PYTENSOR_FLAGS": f"{given},{FLAGS}" if given else FLAGS, _jit.VARIABLE: "numba"}
    subprocess.run(
        [sys.executable, "-c", SCRIPT, path], env={**os.environ, **flags}, cwd=ROOT, check=True
    )
    plain = pickle.loads(path.read_bytes())
    for name, values in last_points(NAMES).items():
        for ours, numbas in zip(values, plain[name], strict=True):
            rtol = ROUNDING.get(name, 1e-9)
            np.testing.assert_allclose(ours, numbas, rtol=rtol, err_msg=name)
