"""Summaries of studies: plain counts and scipy's correlations, cases without a value, refused input."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import pearsonr, spearmanr

import pymc_mrf as pmrf
from tests.analysis.studies import random_study


def test_numbers_are_plain_means_over_replicates(rng):
    study = random_study(rng)
    table = pmrf.summarize_plan(study, bayes_factor=3.0)
    for place, n in enumerate(study["n"].values):
        found = {name: [] for name in table.columns if not name.endswith("_mcse")}
        for k in range(5):
            true = study["true_weight"].values[k]
            factor, bound, mean = (
                study[name].values[k, place] for name in ("bayes_factor", "bayes_factor_bound", "mean")
            )
            factor = np.where(np.isnan(bound), factor, bound)
            strength, true_strength = (
                study["strength"].values[k, place],
                study["true_strength"].values[k],
            )
            found["found"].append((factor[true != 0] > 3).mean())
            found["missed"].append((factor[true != 0] < 1 / 3).mean())
            found["refused"].append((factor[true == 0] < 1 / 3).mean())
            found["false"].append((factor[true == 0] > 3).mean())
            found["weight_correlation"].append(pearsonr(mean, true)[0])
            found["strength_correlation"].append(pearsonr(strength, true_strength)[0])
            found["strength_rank_correlation"].append(spearmanr(strength, true_strength)[0])
        for name, values in found.items():
            assert table.loc[n, name] == pytest.approx(np.mean(values))
            assert table.loc[n, f"{name}_mcse"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))


def test_replicates_without_a_fit_are_left_out(rng):
    study = random_study(rng)
    failed = study.copy(deep=True)
    for name in ("bayes_factor", "bayes_factor_bound", "mean", "strength", "seconds"):
        failed[name][2, 1] = np.nan
    kept = pmrf.summarize_plan(study.isel(replicate=[0, 1, 3, 4])).loc[200]
    np.testing.assert_allclose(pmrf.summarize_plan(failed).loc[200], kept)
    np.testing.assert_allclose(pmrf.summarize_plan(failed).loc[50], pmrf.summarize_plan(study).loc[50])


def test_what_has_no_value_is_nan(rng):
    study = random_study(rng)
    study["true_weight"] = xr.zeros_like(study["true_weight"])
    study["true_strength"] = xr.zeros_like(study["true_strength"])
    table = pmrf.summarize_plan(study.isel(replicate=[0]))
    missing = [
        "found",
        "missed",
        "weight_correlation",
        "strength_correlation",
        "strength_rank_correlation",
    ]
    assert table[missing].isna().all(axis=None)
    assert table[["refused", "false"]].notna().all(axis=None)
    assert table["refused_mcse"].isna().all()


def test_refused(rng):
    with pytest.raises(ValueError, match="bayes_factor must be"):
        pmrf.summarize_plan(random_study(rng), bayes_factor=1.0)
    with pytest.raises(TypeError, match="what plan_study returns"):
        pmrf.summarize_plan({"n": [1]})
