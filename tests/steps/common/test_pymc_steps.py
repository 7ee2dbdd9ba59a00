"""PyMC's steps for discrete variables refuse those of which they would draw wrong values, and no others."""

import cloudpickle
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.foreign_routes import DISCRETE_STEPS, MeaninglessDensityError

BINARY = pm.BinaryMetropolis, pm.BinaryGibbsMetropolis  # PyMC refuses fields for the third
GRAPH = pmrf.graphs.chain(3)
X = np.random.default_rng(0).integers(2, size=(6, 3))


@pytest.mark.parametrize("step", BINARY)
@pytest.mark.parametrize("field", [pmrf.Ising, pmrf.BoltzmannMachine, pmrf.FactorGraphMRF])
def test_hidden_fields_are_refused(step, field):
    factors = {"scopes": [(0, 1), (1, 2)], "cardinalities": [2, 2, 2]}
    with pm.Model() as model:
        if field is pmrf.FactorGraphMRF:
            x = field("x", [np.eye(2), np.eye(2)], **factors)
        else:
            x = field("x", 0.4, graph=GRAPH)
        pm.Normal("y", x, 1, observed=np.full(3, 0.5))
    for vars in ([x], x, [model["x"]]):
        with pytest.raises(MeaninglessDensityError, match=r"leave states out. Let pm.sample\(\) choose"):
            step(vars, model=model)


@pytest.mark.parametrize("step", BINARY)
def test_missing_cells_are_refused(step):
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        pmrf.BoltzmannMachine("x", 0.4, graph=GRAPH, observed=np.ma.masked_array(X, X < X[0]))
    with model, pytest.raises(MeaninglessDensityError, match="missing cells of an observed one"):
        step([model["x_unobserved"]])


@pytest.mark.parametrize("step", DISCRETE_STEPS)
@pytest.mark.parametrize("likelihood", ["particles", "exact"])
def test_discrete_parents(step, likelihood):
    with pm.Model() as model:
        on = pm.Bernoulli("on", 0.5)
        pmrf.BoltzmannMachine("x", 0.5 * on, graph=GRAPH, observed=X, likelihood=likelihood)
    if likelihood == "particles":
        with model, pytest.raises(ValueError, match="a field is known up to a normalisation"):
            step([on])
    else:
        with model:
            made = step(on)
        made.step(model.initial_point())
        cloudpickle.loads(cloudpickle.dumps(made)).step(model.initial_point())
