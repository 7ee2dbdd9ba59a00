"""Private names of PyMC: there today, and a run does without them."""

import logging
import multiprocessing
import pkgutil
import runpy

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.runs import prepare

NAMES = {
    "ProgressBars": "pymc.progress_bar.MCMCProgressBarManager",
    "print_steps": "pymc.sampling.mcmc._print_step_hierarchy",
    "quiet_logging": "pymc.sampling.mcmc._quiet_logging",
    "multiprocessing_context": "pymc.sampling.parallel._initialize_multiprocessing_context",
    "cpu_count": "pymc.sampling.parallel._cpu_count",
}


@pytest.fixture
def run(caplog):
    """Sample a model; return the draws and what was logged."""

    def run(quiet):
        with pm.Model() as model:
            pm.Poisson("n", 3)
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="pymc"):
            drawn = pmrf.sample(
                20, tune=5, chains=1, cores=1, random_seed=1, quiet=quiet, progressbar=False, model=model
            )
        return drawn.posterior["n"].values, caplog.text

    return run


def test_runs_do_without_private_names(run, monkeypatch):
    expected, said = run(quiet=False)
    assert "Metropolis: [n]" in said
    for name, private in NAMES.items():
        assert getattr(prepare, name) is pkgutil.resolve_name(private)
        monkeypatch.delattr(private)
    without = runpy.run_path(prepare.__file__)
    for name in NAMES:
        module = "prepare" if name == "multiprocessing_context" else "sample"
        monkeypatch.setattr(f"pymc_mrf.runs.{module}.{name}", without[name])
    drawn, said = run(quiet=False)
    np.testing.assert_array_equal(drawn, expected)
    assert "Metropolis" not in said and "too small to check convergence" in said
    drawn, said = run(quiet=True)
    np.testing.assert_array_equal(drawn, expected)
    assert "too small to check convergence" not in said
    assert without["cpu_count"]() == multiprocessing.cpu_count() // 2
    assert without["multiprocessing_context"]("spawn").get_start_method() == "spawn"
    assert without["find"]("pymc.gone", "name", 3) == 3
