"""Plain priors on data with missing cells, against quadrature and all values of these cells."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from tests.reference.grouped_posterior import table_log_likelihood
from tests.statistics import Z
from tests.steps.groups.field_models import CYCLE, MISSING, OPTIONS, draw, masked

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
PRODUCT = np.array([[0.0, 0.0], [0.0, 1.0]])


def posterior_means(x):
    """Of a weight and a bias, shared by all edges and all nodes and standard normal a priori."""
    w, b = (v.ravel() for v in np.meshgrid(*[np.linspace(-3.5, 3.5, 141)] * 2))
    log_likelihood = table_log_likelihood(x, CYCLE.edges, PRODUCT, np.zeros((4, 2)), slope=np.arange(2))
    log_p = log_likelihood(np.repeat(w[:, None], 4, axis=1), b) + stats.norm.logpdf([w, b]).sum(axis=0)
    p = np.exp(log_p - log_p.max())
    return np.array([w, b]) @ p / p.sum()


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "particles"], ids=["NUTS", "Exchange"])
def test_means(likelihood):
    x = masked(draw(CYCLE, [1.5] * 4, PRODUCT, 50, 2, bias=-0.8))
    with pm.Model():
        w, b = pm.Normal("w", 0, 1), pm.Normal("b", 0, 1)
        options = {"graph": CYCLE, "observed": x, "likelihood": likelihood}
        pmrf.BoltzmannMachine("x", w * np.ones(4), b * np.ones(4), **options)
        draws = {"exact": 250, "particles": 1000}[likelihood]
        idata = pm.sample(draws, tune=150, chains=2, cores=1, random_seed=1, **OPTIONS)
    found = np.array([idata.posterior[name].mean() for name in "wb"])
    error = Z * np.array([float(az.mcse(idata.posterior[name].values)) for name in "wb"])
    assert np.all(np.abs(found - posterior_means(x.filled(MISSING))) < error)
    # negative control: the first state for missing cells
    assert np.any(np.abs(found - posterior_means(x.filled(0))) > error)
