"""Messages of all steps about variables, models and missing data."""

import networkx as nx
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.steps.assign import STEPS

CYCLE = nx.cycle_graph(3)
X = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 1, 1]])


def grouped(observed=X):
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), shape=3)
        pmrf.AgreementMRF("x", theta, graph=CYCLE, observed=observed)
    return model


MODEL = grouped()


@pytest.mark.parametrize("step", STEPS)
def test_variables_and_models(step):
    name = step.__name__
    theta = MODEL["theta"]
    with pytest.raises(TypeError, match=f"{name} belongs to a model: make it inside `with model:`"):
        step([theta])
    with pytest.raises(TypeError, match=f"{name}: model must be a pymc.Model, not 'm'"):
        step([theta], model="m")
    with pytest.raises(
        TypeError, match=rf"{name}: vars holds the name 'theta'; pass .* model\['theta'\]"
    ):
        step(["theta"], model=MODEL)
    with pytest.raises(ValueError, match=f"{name}: vars is empty"):
        step([], model=MODEL)
    with pytest.raises(ValueError, match=f"{name} samples free variables, but x is observed"):
        step([MODEL["x"]], model=MODEL)
    with pytest.raises(ValueError, match=f"{name}: theta is no free variable of the model"):
        step([grouped()["theta"]], model=MODEL)


def test_a_field_without_data():
    model = grouped(observed=None)
    with pytest.raises(
        ValueError, match=r"x has no data: pass .* `observed`; .*pm\.sample_prior_predictive"
    ):
        pmrf.steps.GroupGibbs([model["theta"]], model=model)


@pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
def test_a_field_with_missing_cells():
    model = grouped(np.ma.masked_array(X, mask=np.arange(15).reshape(5, 3) == 4))
    words = r"but x has missing cells, which .*: leave .* pm\.sample\(\), or do without the 1 of 5 rows"
    with pytest.raises(ValueError, match=words):
        pmrf.papers.StrippedBetaGibbs([model["theta"]], model=model)
    model = grouped(np.ma.masked_array(X, mask=np.arange(15).reshape(5, 3) < 6))
    with pytest.raises(ValueError, match=r"has missing cells, .* do without the 2 of 5 rows"):
        pmrf.papers.AuxiliaryVariableMH([model["theta"]], model=model)


@pytest.mark.parametrize("step", [pmrf.steps.GroupGibbs, pmrf.steps.TreeGibbs])
def test_several_variables(step):
    with pm.Model() as model:
        for name in "ab":
            theta = pmrf.DirichletProcess(f"theta_{name}", 1.0, pm.Uniform.dist(0, 1), shape=3)
            pmrf.AgreementMRF(name, theta, graph=CYCLE, observed=X)
    message = (
        rf"{step.__name__} takes one variable, but got theta_a, theta_b: .*{step.__name__}\(\[theta_b"
    )
    with pytest.raises(ValueError, match=message):
        step([model["theta_a"], model["theta_b"]], model=model, blocked=True)


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        (
            pmrf.papers.StrippedBetaGibbs,
            {"n_iterations": None},
            "n_iterations must be a positive integer, not None",
        ),
        (
            pmrf.papers.AuxiliaryVariableMH,
            {"sigma": True},
            "sigma must be a finite number above 0, not True",
        ),
    ],
)
def test_options(step, options, message):
    with pytest.raises(ValueError, match=message):
        step([MODEL["theta"]], model=MODEL, **options)
