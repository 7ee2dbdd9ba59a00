"""Inclusion probabilities of Gaussian and mixed fields beside bgms 0.2.0, where the posteriors are the same.

With one answer the pseudo-likelihood of bgms, in which measurements are integrated out of the answers, is the
likelihood.
"""

import warnings

import numpy as np
import pymc as pm
import pytest
from scipy.special import multigammaln

from examples._report import SILENT
from examples.peers import gwishart, kept
from examples.peers.tables import load
from tests.statistics import Z


def standard_errors(model, name):
    """Differences from bgms in Monte-Carlo errors of both, (r,)."""
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        posterior = pm.sample(600, tune=300, chains=2, random_seed=1, **SILENT).posterior
    ours, theirs = kept.summary(posterior["w"].values, 1.0, "ours", 600, 300), kept.bgms(name)
    return (ours.inclusion - theirs.inclusion) / np.hypot(ours.error, theirs.error)


def model_of(name, p=0.5):
    return (
        kept.mixed_model(load(name), 1, p=p)
        if name == "one_answer"
        else kept.gaussian_model(load(name), p)
    )


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["gaussian6", "one_answer"])
def test_agreement(name):
    assert np.abs(standard_errors(model_of(name), name)).max() < Z


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["gaussian6", "one_answer"])
def test_another_prior_disagrees(name):
    assert np.abs(standard_errors(model_of(name, p=0.2), name)).max() > Z


def test_constant_of_the_complete_structure_is_that_of_the_wishart_density():
    d = 4
    df = gwishart.DF + d - 1
    edge = np.triu(np.ones((d, d), dtype=bool), 1)
    expected = 0.5 * df * d * np.log(2) + multigammaln(0.5 * df, d)
    assert gwishart.log_constant(edge.tobytes(), d) == pytest.approx(expected, rel=1e-12)
