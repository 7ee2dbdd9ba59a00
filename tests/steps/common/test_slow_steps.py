"""How long a slow step takes is told before sampling starts."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf


@pytest.mark.parametrize("slow", [0.0, np.inf])
def test_slow_steps_are_told(slow, monkeypatch, caplog):
    monkeypatch.setattr("pymc_mrf.steps.common.base.SLOW", slow)
    caplog.set_level("INFO", "pymc")
    x = np.random.default_rng(0).integers(2, size=(30, 3))
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        b = pm.Normal("b", 0, 2, shape=3)
        pmrf.BoltzmannMachine("x", w, b, graph=pmrf.graphs.complete(3), observed=x)
        pmrf.EdgeGibbs([w, b])
    told = "a step of EdgeGibbs for w, b takes some" in caplog.text
    assert told == (slow == 0.0)
    assert not told or "minutes for 1,000 draws of a chain" in caplog.text
