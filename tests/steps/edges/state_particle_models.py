"""A field of several states whose likelihood is estimated by particles."""

import pymc as pm

import pymc_mrf as pmrf
from tests.steps.edges.state_models import (
    FAMILIES,
    GRAPH,
    WEIGHT,
    declare,
    field_data,
    node_parameters,
)


def ordinal_model():
    """Of four nodes with different numbers of states."""
    family = FAMILIES["mixed"]
    x = field_data(family, GRAPH, WEIGHT, node_parameters(family, 4), 40, seed=3)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", pm.Beta("p", 2, 2), pm.Normal.dist(0, 1), shape=6)
        b = pm.Normal("b", 0, 2, shape=(4, 3))
        declare("x", family, w, b, GRAPH, x, "particles")
    return model
