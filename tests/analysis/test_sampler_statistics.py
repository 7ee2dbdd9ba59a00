"""Statistics of the steps: all of them known by name, settings apart."""

import arviz as az
import numpy as np

from pymc_mrf.analysis.sampler_statistics import declared_of, sampler_statistics
from pymc_mrf.steps.assign import STEPS


def test_every_statistic_of_every_step_is_known():
    assert len(STEPS) == 17
    for step in STEPS:
        for name in step.stats_dtypes_shapes:
            assert name == "warning" or declared_of(name) is not None, name
    found = declared_of("conjugate_n_present")
    assert (found.title, found.statistic.label) == ("ConjugateHyperparameters", "entries that are not 0")


def test_settings_are_left_out_unless_asked_for(rng):
    values = {
        "particle_ratio_noise": rng.random((2, 5)),
        "particle_ratio_target_noise": np.full((2, 5), 0.3),
        "exchange_draws": np.full((2, 5), "gibbs"),
        "exchange_n_sweeps": np.full((2, 5), 20),
        "energy": rng.random((2, 5)),
    }
    idata = az.from_dict({"posterior": {"a": rng.random((2, 5))}, "sample_stats": values})
    assert set(sampler_statistics(idata).data_vars) == {"particle_ratio_noise"}
    with_settings = {"particle_ratio_noise", "particle_ratio_target_noise", "exchange_n_sweeps"}
    assert set(sampler_statistics(idata, settings=True).data_vars) == with_settings
