"""Steps draw the same where kernels are compiled by numba as it is published."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pymc_mrf.kernels import _jit
from tests.steps.test_contract import CASES, model_of, values_of

ROOT = Path(__file__).parents[2]
NAMES = {case.step: name for name, case in reversed(CASES.items())}.values()  # one for each step
ROUNDING = {"Monte Carlo groups": 1e-5}  # sums in single precision, whose order compilers choose
FLAGS = "mode=FAST_COMPILE,cxx="


def last_points(names):
    """Values of the variables of steps after some draws, before and after the end of tuning."""
    found = {}
    for name in names:
        case = CASES[name]
        step, point = case.build(model_of(name)), case.point(model_of(name))
        step.setup_chain(np.random.default_rng(1), 10, 10)
        for i in range(20):
            if i == 10:
                step.stop_tuning()
            point, _ = step.step(point)
        found[name] = [point[value] for value in values_of(step)]
    return found


SCRIPT = """
import pickle, sys
from tests.steps.test_plain_numba import NAMES, last_points
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
