"""Measurements that are not normal given all else are told by `diagnose`, and normal ones are not."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.exceptions import ImputationWarning

import pymc_mrf as pmrf
from pymc_mrf.analysis.model_checks import departure_from_normal, normality_findings
from tests.analysis.posteriors import as_posterior

NODES = list("abc")
GRAPH = pmrf.graphs.complete(NODES)


def finding(table):
    """What is said of a table, at weights of 0 and diagonals of 1."""
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        w = pm.Normal("theta", 0, 0.1, dims="edge")
        pmrf.GaussianMRF("x", w, 1.0, 0.0, graph=GRAPH, observed=table)
    idata = as_posterior(np.zeros((2, 5, 3)), edges=list(GRAPH.edge_labels))
    [found] = normality_findings(idata, model, "posterior")
    return found


def with_column(values, rng):
    return pd.DataFrame(rng.normal(size=(len(values), 3)), columns=NODES).assign(c=values)


CASES = {
    "heavy tails": (lambda rng: rng.standard_t(3, 1000), "c (heavy tails"),
    "skewed": (lambda rng: np.exp(rng.normal(size=300)), "c (skewed"),
    "floor": (lambda rng: np.maximum(rng.normal(size=300), -0.5), "of the rows at a floor, -0.5"),
    "counts": (lambda rng: rng.poisson(2.0, 300), "of the rows at a floor, 0"),
    "two groups": (lambda rng: rng.choice([-3, 3], 300) + rng.normal(size=300), "c (light tails"),
}


@pytest.mark.parametrize("name", CASES)
def test_columns_that_are_not_normal(name, rng):
    values, told = CASES[name]
    found = finding(with_column(values(rng), rng))
    assert found.level == "note" and told in found.text and "normal scores" in found.remedy
    assert found.text.startswith("1 of 3 measurements")


def test_normal_columns_are_not_told(rng):
    assert finding(with_column(rng.normal(size=300), rng)).level == "for"
    assert finding(with_column(50 + 10 * rng.normal(size=300), rng)).level == "for"
    missing = with_column(rng.normal(size=300), rng)
    missing.iloc[::7, 1] = np.nan
    with pytest.warns(ImputationWarning):
        assert finding(missing).level == "for"


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_p_values_are_uniform_in_the_tail(n, rng):
    """Of normal samples, as of 2,000 each: at most some 1 % have a p-value below .01."""
    p = np.array([departure_from_normal(rng.normal(size=n))[0] for _ in range(2000)])
    assert 5 <= (p < 0.01).sum() <= 38  # 20 expected, four standard errors about it
