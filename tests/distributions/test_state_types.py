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


@pytest.mark.parametrize("is_masked", [False, True])
def test_data_have_no_type_of_their_own(field, is_masked):
    """Values given later, by pm.set_data, would wrap around."""
    with pm.Model():
        data = pm.draw(field("x"), random_seed=1)
        if is_masked:
            data = np.ma.masked_array(data, np.arange(len(data)) == 0)
        with pytest.raises(ValueError, match="dtype='int8' is for hidden fields"):
            field("z", observed=data, dtype="int8")


@pytest.mark.parametrize("dtype", ["float64", "uint8", "state", bool])
def test_types_without_room_for_the_states_are_refused(dtype):
    with pytest.raises(ValueError, match=r"dtype=.* must be an integer type .* -1 to 1, such as"):
        pmrf.Ising.dist(0.1, graph=GRAPH, dtype=dtype)


def test_a_type_too_small_for_a_factor_graph_is_refused():
    tables, structure = [np.zeros(127)], {"scopes": [(0,)], "cardinalities": [127]}
    assert pmrf.FactorGraphMRF.dist(tables, **structure, dtype="int8").dtype == "int8"
    with pytest.raises(ValueError, match="0 to 126"):
        pmrf.FactorGraphMRF.dist(tables, **structure, dtype="float32")
