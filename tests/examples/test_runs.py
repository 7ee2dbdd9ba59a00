"""The scripts on runs and on calibration run at tiny size, and judge rightly."""

import numpy as np
import pytest

from examples import calibration, scaling


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.slow
def test_calibration(tmp_path, figures):
    size = ["--replicates", "2", "--tune", "10", "--cases", "exact edges", "control"]
    store = tmp_path / "store"
    calibration.main([*size, "--store", str(store), "--output", str(tmp_path)])
    text = (tmp_path / "_results" / "calibration.md").read_text(encoding="utf-8")
    assert text.count("| `EdgeGibbs`") == 6
    assert "Of 3 quantities of steps that leave the posterior invariant, 0 have p < 0.05" in text
    assert "2 replicates of each model, failed: none" in text
    assert {"exact edges", "control", "number of edges"} <= figures["calibration.png"]
    assert len(list(store.glob("*/replicate-*.pickle"))) == 4


def test_all_steps_are_calibrated():
    from pymc_mrf.steps.assign import STEPS

    named = " ".join(case.step for case in calibration.CASES.values())
    left = [step.__name__ for step in STEPS if step.__name__ not in named]
    assert left == ["ExactGibbs"]  # which is `GroupGibbs`, but for what it refuses


@pytest.mark.slow
def test_ranks_of_truths():
    rng = np.random.default_rng(1)
    assert calibration.rank(np.array([1.0, 2.0, 3.0]), 2.5, rng) == 2
    ties = [calibration.rank(np.array([0, 1, 1, 2]), 1, rng) for _ in range(3000)]
    assert np.bincount(ties, minlength=5)[1:4] == pytest.approx(1000, abs=4.5 * 26)
    uniform = calibration.judged("right", rng.integers(calibration.N_RANKS, size=400))
    assert uniform.inside and uniform.p > 1e-5
    narrow = calibration.judged("too wide", rng.integers(4, calibration.N_RANKS - 4, size=400))
    assert not narrow.inside and narrow.p < 1e-5


def test_schedule():
    assert scaling.schedule([3.0, 1.0, 1.0, 1.0], 2) == 3.0
    assert scaling.schedule([1.0, 1.0, 1.0], 2) == 2.0
    assert scaling.schedule([1.0, 2.0], 16) == 2.0
