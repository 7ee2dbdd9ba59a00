"""Latent fields of a model that no configuration fits."""

import numpy as np
import pymc as pm
import pytest

from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs

EQUAL = np.where(np.eye(2) > 0, 0.0, -np.inf)


@pytest.mark.warm
@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
@pytest.mark.parametrize(
    ("observed", "where"),
    [
        (np.ma.masked_array([0, 0, 1], [0, 1, 0]), "x_unobserved"),
        (np.ma.masked_array([[0, 0, 0], [0, 0, 1]], [[1, 1, 1], [0, 1, 0]]), "x_unobserved in row 1"),
    ],
)
def test_observed_cells_that_contradict_the_tables(observed, where):
    with pm.Model() as model:
        FactorGraphMRF(
            "x", [EQUAL] * 2, scopes=[(0, 1), (1, 2)], cardinalities=[2] * 3, observed=observed
        )
    with pytest.raises(
        ValueError, match=f"no configuration of {where} is possible: .* check observed of x$"
    ):
        TreeGibbs([model["x_unobserved"]], model=model)
