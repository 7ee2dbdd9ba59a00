"""Messages about parameters, data, shapes and coordinates of the distributions."""

import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import pymc_mrf as pmrf

CYCLE = nx.cycle_graph(3)
X = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
NORMAL, UNIFORM = pm.Normal.dist(0, 1), pm.Uniform.dist(0, 1)


def in_model(call, coords=None):
    with pm.Model(coords=coords):
        return call()


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        (np.float32(2), "theta must be in the open interval .*2.0"),
        (pd.Series([0.5, 0.5, 2.0]), "theta must be in the open interval"),
        (xr.DataArray([0.5, 0.5, 2.0]), "theta must be in the open interval"),
        (pt.as_tensor([0.5, 0.5, 2.0]), "theta must be in the open interval"),
        ("a", "theta must be numeric"),
        (None, "theta must be numeric, .* it is None"),
        (True, "it is True; give numbers instead of truth values"),
        ([pt.as_tensor(0.5)] * 3, r"stacked with pymc\.math\.stack"),
        (
            pd.Series([0.5] * 3, index=["1--2", "0--2", "0--1"]),
            "theta: its labels are the edges of the graph",
        ),
    ],
)
def test_theta(theta, message):
    with pytest.raises(ValueError, match=message):
        pmrf.AgreementMRF.dist(theta, graph=CYCLE)


@pytest.mark.parametrize("value", ["a", None, True, pd.Series([1.0, 2.0, np.nan]), 1e308])
def test_couplings_and_fields(value):
    calls = {
        "coupling": lambda: pmrf.Ising.dist(value, graph=CYCLE),
        "field": lambda: pmrf.Ising.dist(0.1, value, graph=CYCLE),
        "weight": lambda: pmrf.BoltzmannMachine.dist(value, graph=CYCLE),
        "bias": lambda: pmrf.BoltzmannMachine.dist(0.1, value, graph=CYCLE),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"{name} must be (numeric|finite)"):
            call()
    with pytest.raises(ValueError, match=r"coupling must be (numeric|finite)"):
        pmrf.Potts.dist(value, graph=CYCLE, n_states=4)
    with pytest.raises(ValueError, match=r"field must be (numeric|finite)"):
        pmrf.Potts.dist(0.1, value, graph=CYCLE, n_states=4)
    with pytest.raises(ValueError, match=r"weight must be (numeric|finite)"):
        pmrf.OrdinalMRF.dist(value, graph=CYCLE, n_states=4)
    with pytest.raises(ValueError, match=r"threshold must be (numeric|finite)"):
        pmrf.OrdinalMRF.dist(0.1, value, graph=CYCLE, n_states=4)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ([[0, 1], [1]], "x: observed must be numeric, a rectangular array"),
        ({0: [1]}, "x: observed must be numeric"),
        (
            pd.DataFrame(X, columns=[0, 1, "id"]),
            "observed has no column 2, which is a node of the graph",
        ),
        (
            pd.DataFrame(np.c_[X, X[:, 0]], columns=[0, 1, 2, "id"]),
            r"that are no nodes of the graph \('id'\)",
        ),
        (xr.DataArray(X, dims=("o", "n"), coords={"n": [2, 1, 3]}), "observed has no column 0"),
    ],
)
def test_observed(observed, message):
    with pytest.raises(ValueError, match=message):
        in_model(lambda: pmrf.AgreementMRF("x", 0.5, graph=CYCLE, observed=observed))


def test_minibatches_are_refused():
    with pytest.raises(ValueError, match="total_size=100 is for minibatches, which steps and estimates"):
        in_model(lambda: pmrf.AgreementMRF("x", 0.5, graph=CYCLE, observed=X, total_size=100))


def test_numbers_in_any_wrapping_are_observed():
    masked = np.ma.masked_invalid(np.where(np.arange(12).reshape(4, 3) == 5, np.nan, X))
    for observed in (X.astype(object), pd.DataFrame(X, dtype="Int64"), pd.DataFrame(X), X.tolist()):
        in_model(lambda observed=observed: pmrf.AgreementMRF("x", 0.5, graph=CYCLE, observed=observed))
    with pytest.warns(pm.exceptions.ImputationWarning) as warnings:
        in_model(lambda: pmrf.AgreementMRF("x", 0.5, graph=CYCLE, observed=masked))
    assert len(warnings) == 1  # none about a cast of NaN


def test_shapes_and_coordinates_of_another_graph():
    with pytest.raises(
        ValueError, match="shape=4 does not fit: its last entry must be 3, the number of n"
    ):
        pmrf.AgreementMRF.dist(0.5, graph=CYCLE, shape=4)
    with pytest.raises(ValueError, match=r"shape=\(\) does not fit"):
        pmrf.AgreementMRF.dist(0.5, graph=CYCLE, shape=())
    dims = ("obs", "node")
    for nodes, message in (
        ([0, 1], "dimension 'node' has 2 entries, but the graph has 3 nodes"),
        ([2, 1, 0], "coordinates of dimension 'node' are not the nodes"),
    ):
        with pytest.raises(ValueError, match=message):
            in_model(
                lambda: pmrf.AgreementMRF("x", 0.5, graph=CYCLE, observed=X, dims=dims),
                {"obs": range(4), "node": nodes},
            )

    def grouped():
        theta = pmrf.DirichletProcess("theta", 1.0, UNIFORM, dims="edge")
        pmrf.AgreementMRF("x", theta, graph=CYCLE, observed=X)

    with pytest.raises(ValueError, match="dimension 'edge' are not the edges of the graph"):
        in_model(grouped, {"edge": ["1--2", "0--2", "0--1"]})
    in_model(grouped, {"edge": list("abc")})  # names of the user's own
    in_model(grouped, pmrf.coords(CYCLE))


@pytest.mark.parametrize("observed", [None, "data"])
def test_number_of_states_is_missing(observed):
    for declare in (pmrf.Potts, pmrf.OrdinalMRF):
        with pm.Model():
            data = None if observed is None else pm.Data("data", X)
            with pytest.raises(
                TypeError, match=r"n_states is missing: give .* counted only in `observed`"
            ):
                declare("x", 0.1, graph=CYCLE, observed=data)
        with pytest.raises(TypeError, match=r"n_states is missing: give .* counted only in `observed`"):
            declare.dist(0.1, graph=CYCLE)


@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        (None, TypeError, "tables must be a sequence of log tables, one per factor, not None"),
        ({0: np.eye(2)}, TypeError, "tables must be a sequence of tables in the order of scopes"),
        ([[["a"] * 2] * 2], ValueError, r"tables\[0\] must be numeric"),
        ([np.eye(2) + 1j], ValueError, r"tables\[0\] must be numeric, not of dtype complex128"),
    ],
)
def test_tables(tables, error, message):
    with pytest.raises(error, match=message):
        pmrf.FactorGraphMRF.dist(tables, scopes=[(0, 1)], cardinalities=[2, 2])


VECTORS = {
    "alpha": lambda **kwargs: pmrf.DirichletProcess.dist(**({"alpha": 1.0, "base": UNIFORM} | kwargs)),
    "p": lambda **kwargs: pmrf.SpikeAndSlab.dist(**({"p": 0.5, "slab": NORMAL} | kwargs)),
}


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("value", ["a", None, True, pt.as_tensor(-1.0), np.array(-1.0)])
def test_hyperparameters(name, value):
    with pytest.raises(ValueError, match=f"{name} must (be numeric|be positive|lie strictly)"):
        VECTORS[name](**{name: value, "shape": 3})


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("shape", [2.5, True, "edge", ["a"], (None,), (0, 3), (-2, 3), -1, None, ()])
def test_numbers_of_entries(name, shape):
    with pytest.raises(ValueError, match=r"(does not give the number of|has no) entries"):
        VECTORS[name](shape=shape)


def test_dims_and_observed_values_of_vectors():
    for make in (
        lambda **kwargs: pmrf.DirichletProcess("t", 1.0, UNIFORM, **kwargs),
        lambda **kwargs: pmrf.SpikeAndSlab("t", 0.5, NORMAL, **kwargs),
    ):
        for kwargs, message in (
            ({"dims": "edge"}, r"t: dims names 'edge', which is no dimension .*pymc_mrf\.coords"),
            ({"dims": 3}, "t: dims must be names of dimensions of the model, not 3"),
            ({"shape": 3, "observed": [0.1, 0.2]}, r"t: observed has shape \(2,\), but .* must be 3"),
            ({"shape": 2, "observed": [0.1, np.nan]}, r"t: observed\[1\] is nan; give finite values"),
        ):
            with pytest.raises(ValueError, match=message):
                in_model(lambda make=make, kwargs=kwargs: make(**kwargs))


def test_slabs_and_gradients():
    with pytest.raises(
        TypeError, match=r"slab must be continuous, .*; pass an unregistered scalar dist"
    ):
        pmrf.SpikeAndSlab.dist(0.5, pm.Poisson.dist(1), shape=3)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, UNIFORM, shape=3)
    with pytest.raises(Exception, match=r"DirichletProcess has no gradient .* NUTS and pm.fit cannot"):
        pm.NUTS([theta], model=model)


def test_a_field_without_a_graph():
    with pm.Model(), pytest.raises(TypeError, match="Ising 'x' needs graph=, a networkx"):
        pmrf.Ising("x", 0.3)
