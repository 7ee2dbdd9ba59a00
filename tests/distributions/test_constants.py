"""Numbers from which parameters are computed: missing or infinite ones are found when a field is declared."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf

GRAPH = pmrf.graphs.complete(list("abc"))
AGE = np.linspace(-1, 1, 10)
AGE[7] = np.nan
ROWS = np.zeros((10, 3), dtype=int)
FIELDS = {
    "theta": lambda v, b: pmrf.AgreementMRF("x", pm.math.sigmoid(v), graph=GRAPH),
    "coupling": lambda v, b: pmrf.Ising("x", v, graph=GRAPH),
    "field": lambda v, b: pmrf.Ising("x", 0.1, b, graph=GRAPH),
    "weight": lambda v, b: pmrf.BoltzmannMachine("x", v, graph=GRAPH, observed=ROWS),
    "bias": lambda v, b: pmrf.BoltzmannMachine("x", 0.1, b, graph=GRAPH),
    "threshold": lambda v, b: pmrf.OrdinalMRF("x", 0.1, b[..., None], graph=GRAPH, n_states=2),
    "coupling ": lambda v, b: pmrf.Potts("x", v[..., None, None], graph=GRAPH, n_states=2),
    "field ": lambda v, b: pmrf.Potts("x", 0.1, pt.stack([-b, b], -1), graph=GRAPH, n_states=2),
    r"tables\[0\]": lambda v, b: pmrf.FactorGraphMRF("x", [b], scopes=[(0,)], cardinalities=[3]),
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("is_shared", [False, True])
def test_missing_cells_of_covariates(name, is_shared):
    age = pytensor.shared(AGE, name="age") if is_shared else AGE
    what = "'age'" if is_shared else r"an array of shape \(10, 1\)"
    with pm.Model(coords=pmrf.coords(GRAPH)):
        slope = pm.Normal("slope", 0, 1, shape=3)
        value = pm.Normal("level", 0, 1, shape=3) + age[:, None] * slope
        with pytest.raises(ValueError, match=rf"{name.strip()}: {what}, .* has nan in row 7 \(1 such"):
            FIELDS[name](value, value)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_cells_of_matrices_and_single_numbers(bad):
    covariates = np.zeros((4, 3))
    covariates[2, 1] = bad
    with pm.Model():
        slope = pm.Normal("slope", 0, 1)
        with pytest.raises(
            ValueError, match=rf"bias: an array .* has {bad} in row 2, column 1 \(1 such"
        ):
            pmrf.BoltzmannMachine("x", 0.1, covariates * slope, graph=GRAPH)
        pmrf.BoltzmannMachine("x", 0.1, pt.clip(slope, -np.inf, 3.0), graph=GRAPH)
        with pytest.raises(
            ValueError, match=r"at most 1e\+100 in size; it has the value .* at \[2, 1\]"
        ):
            pmrf.BoltzmannMachine("y", 0.1, covariates, graph=GRAPH)


def test_impossible_combinations_of_factor_graphs_and_bounds_of_priors_are_no_covariates():
    with pm.Model():
        a = pm.TruncatedNormal("a", 0, 1, lower=np.array([-np.inf, 0.0]))
        pmrf.FactorGraphMRF(
            "x", [a + np.array([0.0, -np.inf])], scopes=[(0,)], cardinalities=[2], likelihood="exact"
        )
        pmrf.Ising("y", 0.1, a, graph=pmrf.graphs.complete(2))
