"""EdgeGibbs for fields of many states, and for vectors that are terms of the parameters of several fields."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ordinal
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.steps.edges.state_models import (
    PATH,
    WEIGHT,
    P,
    declare,
    field_data,
    node_parameters,
)
from tests.walks import walk


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
def test_columns_of_one_or_two_of_three_states(likelihood):
    family = ordinal(3)
    x = field_data(family, PATH, WEIGHT[:2], node_parameters(family, 3), 60, seed=7)
    x[:, 0], x[:, 1] = 2, np.minimum(x[:, 1], 1)
    said = pytest.warns(UserWarning, match="some states: 0, 1 of 0; 2 of 1. Only")
    with pm.Model() as model, said:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=2)
        declare("x", family, w, pm.Normal("b", 0, 1, shape=(3, 2)), PATH, x, likelihood)
    assert len(said) == 1
    with model:
        step = EdgeGibbs(model.free_RVs)
    for point, _ in walk(step, model.initial_point(), 200, 50):
        assert np.isfinite(point["w"]).all() and np.abs(point["b"]).max() < 10


def test_biases_that_are_sums_of_vectors_of_other_lengths_are_left_to_nuts():
    pair = PairwiseGraph(range(2), [(0, 1)])
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=1)
        b, c = pm.Normal("b", 0, 1, shape=2), pm.Normal("c", 0, 1, shape=1)
        for name, bias in (("x", b + 0.5 * c), ("y", b - 0.5 * c)):
            declare(name, BOLTZMANN, w, bias, pair, np.eye(2, dtype=int), "exact")
        _, chosen = pm.sampling.mcmc.assign_step_methods(model, None)
    assert {step: {v.name for v in rvs} for step, rvs in chosen.items()} == {
        EdgeGibbs: {"w"},
        pm.NUTS: {"b", "c"},
    }


@pytest.mark.slow
def test_random_slopes_of_covariates_are_left_to_nuts():
    rng = np.random.default_rng(1)
    z = rng.normal(size=60)  # all different
    with pm.Model():
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=2)
        b, slope = pm.Normal("b", 0, 1, shape=3), pm.Normal("slope", 0, 1, shape=3)
        x = rng.integers(2, size=(60, 3))
        declare("x", BOLTZMANN, w, b + z[:, None] * slope, PATH, x, "pseudo")
        idata = pm.sample(20, tune=20, chains=1, random_seed=1, progressbar=False, quiet=True)
    assert {"edge_gibbs_n_active", "tree_depth"} <= set(idata.sample_stats.data_vars)
