"""EdgeGibbs on fields of many states that are simulated, against all structures."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ordinal
from pymc_mrf.kernels.views.state_particles import StateParticles
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.insides import engine_in
from tests.statistics import Z
from tests.steps.edges.particle_models import (
    SHARE,
    draws_of,
    gaps_of_biases,
)
from tests.steps.edges.state_models import (
    FAMILIES,
    GRAPH,
    PATH,
    WEIGHT,
    declare,
    field_data,
    node_parameters,
)
from tests.walks import walk


@pytest.mark.slow
@pytest.mark.compiled
def test_noise_does_not_widen_the_posterior():
    """Few particles, long joint moves of thresholds: the correction for their noise keeps the spread."""
    family = ordinal([3, 2, 4, 3])
    x = field_data(family, GRAPH, WEIGHT, node_parameters(family, 4), 300, seed=9)
    spread = []
    for likelihood, options in (("exact", {}), ("particles", {"n_particles": 900})):
        with pm.Model() as model:
            w = pmrf.SpikeAndSlab("w", 0.9, pm.Normal.dist(0, 0.5), shape=6)
            b = pm.Normal("b", 0, 2, shape=(4, 3))
            declare("x", family, w, b, GRAPH, x, likelihood)
        _, b = draws_of(model, ["w", "b"], **options)
        spread.append(b[..., family.node_entries(4)].std(axis=(0, 1)))
    # without it, sqrt(1 + n / m) = 1.15
    assert np.abs(np.log(spread[1] / spread[0])).max() < 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:x. the nodes of .* always agree")
def test_constant_columns_and_states_that_never_occur():
    family = FAMILIES["ordinal"]
    x = np.random.default_rng(1).integers(2, size=(50, 4))
    x[:, 2] = 1
    x[:, 3] = x[:, 0]
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Cauchy.dist(0, 1), shape=6)
        b = pm.Normal("b", 0, 2, shape=(4, 2))
        with pytest.warns(UserWarning, match="x shows no observation in some states"):
            declare("x", family, w, b, GRAPH, x, "particles")
    with model:
        step = EdgeGibbs([model["w"], model["b"]])
    assert isinstance(engine_in(step).view.particles, StateParticles)
    for point, found in walk(step, model.initial_point(), 200, 50):
        assert np.isfinite(point["w"]).all() and np.isfinite(point["b"]).all()
        assert all(np.isfinite(value) for name, value in found.items() if name != "warning")


@pytest.mark.slow
@pytest.mark.parametrize("unused", [0, 1])
def test_a_category_that_nobody_chose(unused):
    x = np.random.default_rng(1).integers(3, size=(60, 3))
    x[x[:, 2] == unused, 2] = 2

    def make(likelihood):
        with pm.Model() as model:
            w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 0.7), shape=2)
            b = pm.Normal("b", 0, 2, shape=(3, 2))
            with pytest.warns(UserWarning, match="x shows no observation in some states"):
                declare("x", ordinal(3), w, b, PATH, x, likelihood)
        return model

    gap, spread, error = gaps_of_biases(make, n_particles=300)
    assert (gap < SHARE * spread + Z * error).all()
