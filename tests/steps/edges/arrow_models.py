"""Fields in time with sparse arrows."""

import numpy as np
import pymc as pm
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ISING, ordinal
from tests.reference.kinetic import kinetic_series
from tests.steps.edges.state_models import P

PAIR = [(0, 0), (0, 1), (1, 0), (1, 1)]
THREE = [(0, 0), (0, 1), (1, 2), (2, 0), (2, 2)]
MIXED = ordinal([3, 2, 3], [[-1, 0, 1], [-1, 1], [0, 1, 2]])
OPTIONS = {
    "boltzmann": {},
    "ising": {"family": "ising"},
    "ordinal": {
        "family": "ordinal",
        "n_states": [3, 2, 3],
        "scores": [[-1, 0, 1], [-1, 1], [0, 1, 2]],
    },
}
BIAS = {"boltzmann": np.array([0.2, -0.4, 0.3]), "ising": np.array([0.2, -0.1, 0.0])}
BIAS["ordinal"] = np.array([0.3, -0.2, 0.1, 0.0, -0.3, 0.4])
FAMILIES = {"boltzmann": BOLTZMANN, "ising": ISING, "ordinal": MIXED}
SLAB = stats.norm(0, 0.7)


def series(name, arrows, w, lengths, seed=1, lag=1):
    """State indices of several series, one below the other, and their labels."""
    family, rng = FAMILIES[name], np.random.default_rng(seed)
    d = 1 + max(max(arrow) for arrow in arrows)
    family = family.of_nodes(np.arange(d))
    edges, b = [(*arrow, lag) for arrow in arrows], BIAS[name][: d * len(family.node_basis)]
    parts = [
        kinetic_series(rng.integers(2, size=(lag, d)), n, edges, family, w, b, rng) for n in lengths
    ]
    return np.concatenate(parts), np.repeat(np.arange(len(lengths)), lengths), edges, family, b


def declare(name, w, b, arrows, z, labels, family, **options):
    graph = pmrf.LaggedGraph(range(z.shape[1]), arrows, options.pop("lag", 1), options.pop("links", ()))
    own = dict(OPTIONS[name])
    if name == "ordinal" and z.shape[1] < 3:
        own |= {key: own[key][: z.shape[1]] for key in ("n_states", "scores")}
    x = np.array(family.states)[z]
    if isinstance(z, np.ma.MaskedArray):
        x = np.ma.masked_array(x, z.mask)
    field = options.pop("field", "x")
    return pmrf.KineticMRF(field, w, b, graph=graph, observed=x, series=labels, **own, **options)


def small_model():
    z, labels, _, family, _ = series("boltzmann", PAIR, np.array([0.9, 0.0, -0.7, 0.0]), (30, 9), 4)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 1), shape=4)
        declare("boltzmann", w, pm.Normal("b", 0, 1, shape=2), PAIR, z, labels, family)
    return model


def small_groups():
    z, labels, _, family, b = series("boltzmann", PAIR, np.array([0.9, 0.9, -0.7, 0.0]), (30, 9), 4)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=4)
        declare("boltzmann", theta, b, PAIR, z, labels, family)
    return model
