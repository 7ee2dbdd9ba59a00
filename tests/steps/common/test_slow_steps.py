"""How long a slow step takes is told before sampling starts."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.steps.common.expressions import PointFunction

pytestmark = pytest.mark.warm


@pytest.mark.parametrize("slow", [0.0, np.inf])
def test_slow_steps_are_told(slow, monkeypatch, caplog):
    monkeypatch.setattr("pymc_mrf.steps.common.base.SLOW", slow)
    caplog.set_level("INFO", "pymc")
    x = np.random.default_rng(0).integers(2, size=(30, 3))
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=3)
        b = pm.Normal("b", 0, 2, shape=3)
        pmrf.BoltzmannMachine("x", w, b, graph=pmrf.graphs.complete(3), observed=x)
        pmrf.steps.EdgeGibbs([w, b])
    told = "a step of EdgeGibbs for w, b takes some" in caplog.text
    assert told == (slow == 0.0)
    assert not told or "minutes for 1,000 draws of a chain" in caplog.text


def test_many_steps_are_told_together(monkeypatch, caplog):
    """Of several groups each vector has a step of its own, which is quick by itself."""
    caplog.set_level("INFO", "pymc")
    times = iter(np.arange(0.0, 100.0, 0.02))
    monkeypatch.setattr("pymc_mrf.steps.common.base.process_time", lambda: next(times))
    monkeypatch.setattr(pmrf.steps.EdgeGibbs, "step", lambda step, point: (point, []))
    x = np.random.default_rng(0).integers(2, size=(90, 3))
    table = pd.DataFrame(x, columns=list("abc")).assign(site=np.repeat(["u", "v", "w"], 30))
    with pmrf.network_model(table, groups="site") as model:
        pmrf.steps.EdgeGibbs(model.free_RVs)
    assert "4 steps of EdgeGibbs, one for each vector, take some 0.08 seconds" in caplog.text
    assert "a step of EdgeGibbs" not in caplog.text


def test_steps_made_together_compile_once(monkeypatch):
    """The initial point, and the parameters of a field, which is in the steps of all vectors."""
    made = []
    start, init = pm.Model.initial_point, PointFunction.__init__

    def counted(self, outputs, *args, **kwargs):
        made.append(outputs)
        init(self, outputs, *args, **kwargs)

    def counted_start(self, *args, **kwargs):
        made.append("start")
        return start(self, *args, **kwargs)

    monkeypatch.setattr(PointFunction, "__init__", counted)
    monkeypatch.setattr(pm.Model, "initial_point", counted_start)
    x = np.random.default_rng(0).integers(2, size=(90, 3))
    table = pd.DataFrame(x, columns=list("abc")).assign(site=np.repeat(["u", "v", "w"], 30))
    with pmrf.network_model(table, groups="site") as model:
        together = pmrf.steps.EdgeGibbs(model.free_RVs)
        parameters = [id(one) for one in made if not isinstance(one, list | str)]
        assert len(parameters) == len(set(parameters)) and made.count("start") == 1
        vectors = [rv for rv in model.free_RVs if rv.name.startswith("weight")]
        biases = [rv for rv in model.free_RVs if rv not in vectors]
        apart = [pmrf.steps.EdgeGibbs([vector, *biases]) for vector in vectors]
    assert made.count("start") > 1
    point = model.initial_point()
    for steps in (together.methods, apart):
        for k, step in enumerate(steps):
            step.rng = np.random.default_rng(k)
    found = [dict(point), dict(point)]
    for k in range(len(apart)):
        found = [steps[k].step(p)[0] for steps, p in zip((together.methods, apart), found, strict=True)]
    for name in point:
        np.testing.assert_array_equal(found[0][name], found[1][name])
