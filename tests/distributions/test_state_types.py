"""Fields of small integers: the same draws and probabilities in another type."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf

GRAPH = pmrf.graphs.grid(2, 3)
TABLES = [np.log([0.3, 0.7]), np.array([[0.0, 1.0], [2.0, 0.0]])]
FIELDS = {
    "ising": lambda name, **options: pmrf.Ising(name, 0.4, 0.1, graph=GRAPH, **options),
    "agreement": lambda name, **options: pmrf.AgreementMRF(
        name, 0.6, graph=GRAPH, likelihood="particles", **options
    ),
    "factor graph": lambda name, **options: pmrf.FactorGraphMRF(
        name, TABLES, scopes=[(0,), (0, 1)], cardinalities=[2, 2], **options
    ),
}


@pytest.fixture(params=FIELDS)
def field(request):
    return FIELDS[request.param]


def test_draws_are_the_same(field):
    draws = {}
    for dtype in ("int64", "int8"):
        with pm.Model() as model:
            x = field("x", dtype=dtype)
            pm.Normal("y", x, 1, observed=np.ones(x.shape.eval()))
            idata = pm.sample(
                20, tune=5, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
                compute_convergence_checks=False,
            )  # fmt: skip
        prior = pm.draw(model["x"], 20, random_seed=1)
        assert prior.dtype == idata.posterior["x"].dtype == dtype
        draws[dtype] = [prior, idata.posterior["x"].values]
    for wide, narrow in zip(*draws.values(), strict=True):
        np.testing.assert_array_equal(wide, narrow)
        assert len(np.unique(narrow)) > 1


def test_observed_rows_have_the_same_probability(field):
    logp = {}
    for dtype in ("int64", "int8"):
        with pm.Model() as model:
            rows = np.repeat(pm.draw(field("x"), 5, random_seed=1), 3, axis=0)
            field("z", observed=rows, dtype=dtype)
        logp[dtype] = model.compile_logp(model["z"], sum=False)({"x": rows[0]})[0]
    np.testing.assert_array_equal(logp["int8"], logp["int64"])
    assert len(logp["int8"]) == 15


def test_missing_cells_are_of_the_type():
    x = np.ma.masked_equal([[0, 1, 2, 0, 1, 1], [9, 1, 9, 2, 0, 0]], 9)
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        pmrf.Potts("x", 0.5, graph=GRAPH, n_states=3, observed=x, dtype="int8")
    assert model["x_unobserved"].dtype == model["x"].dtype == "int8"


@pytest.mark.parametrize("dtype", ["float64", "uint8", "state", bool])
def test_types_without_room_for_the_states_are_refused(dtype):
    with pytest.raises(ValueError, match=r"dtype=.* must be an integer type .* -1 to 1, such as"):
        pmrf.Ising.dist(0.1, graph=GRAPH, dtype=dtype)


def test_a_type_too_small_for_a_factor_graph_is_refused():
    tables, structure = [np.zeros(127)], {"scopes": [(0,)], "cardinalities": [127]}
    assert pmrf.FactorGraphMRF.dist(tables, **structure, dtype="int8").dtype == "int8"
    with pytest.raises(ValueError, match="0 to 126"):
        pmrf.FactorGraphMRF.dist(tables, **structure, dtype="float32")
