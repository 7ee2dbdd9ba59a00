"""The picture of a study of simulated tables."""

import numpy as np
import pytest

import pymc_mrf as pmrf
from tests.analysis.studies import random_study


def test_curves_are_the_columns_of_the_table(rng):
    study = random_study(rng)
    pc = pmrf.plot_plan(study, bayes_factor=3.0, visuals={"legend": {"fontsize": 6}})
    table = pmrf.summarize_plan(study, bayes_factor=3.0)
    panels = {
        "evidence": ["found", "refused", "false", "missed"],
        "agreement": ["weight_correlation", "strength_correlation", "strength_rank_correlation"],
    }
    for panel, names in panels.items():
        axes = pc.get_target(panel, {})
        assert len(axes.containers) == len(names) == len(axes.get_legend().get_texts())
        for curve, name in zip(axes.containers, names, strict=True):
            np.testing.assert_allclose(curve.lines[0].get_ydata(), table[name])
            np.testing.assert_allclose(curve.lines[0].get_xdata(), table.index, rtol=0.05)
            low, high = np.array(curve.lines[2][0].get_segments())[:, :, 1].T
            np.testing.assert_allclose(high - low, 4 * table[f"{name}_mcse"])


def test_visuals_and_errors(rng):
    study = random_study(rng)
    pc = pmrf.plot_plan(study, visuals={"legend": False, "lines": False, "labels": {"xlabel": "people"}})
    axes = pc.get_target("evidence", {})
    assert axes.get_xlabel() == "people"
    assert not axes.containers
    assert axes.get_legend() is None
    with pytest.raises(ValueError, match="valid keys are"):
        pmrf.plot_plan(study, visuals={"curves": {}})
    with pytest.raises(ValueError, match="matplotlib only"):
        pmrf.plot_plan(study, backend="bokeh")
