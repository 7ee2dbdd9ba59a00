"""Fields of several families with sparse weights, and draws of `EdgeGibbs`."""

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.fields.families import agreement, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration

EDGES = [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)]
GRAPH = PairwiseGraph(range(4), EDGES)
PATH = PairwiseGraph(range(3), [(0, 1), (1, 2)])
WEIGHT = np.array([0.6, 0.0, -0.4, 0.0, 0.3, 0.0])
P = 0.4
MIXED = ordinal([3, 2, 4, 3])
FAMILIES = {
    "ordinal": ordinal(3),
    "mixed": MIXED,
    "scores": ordinal(3, [-1.0, 0.0, 2.0]),
    "own scores": ordinal([3, 2, 4, 3], [[-1, 0, 2], [-1, 1], [0, 1, 2, 3], [-0.5, 0, 1]]),
    "potts": potts(3),
    "agreement": agreement(3),
}


def node_parameters(family, d, seed=3):
    b = np.random.default_rng(seed).normal(0, 0.4, size=(d, len(family.node_basis)))
    if family.node_parameter is None:
        return np.zeros(d)
    return b if family.node_axes else b[:, 0]


def field_data(family, graph, weight, b, n, seed):
    """Independent rows of state values."""
    tables = family.edge_tables(weight, graph.edges), family.node_tables(b)
    p = enumeration.probabilities(graph.edges.tolist(), *tables)
    rows = np.random.default_rng(seed).choice(len(p), size=n, p=p)
    return enumeration.configurations(graph.n_nodes, family.n_states)[rows]


def declare(name, family, weight, b, graph, x, likelihood):
    options = {"graph": graph, "observed": x, "likelihood": likelihood}
    if family.name == "potts":
        return pmrf.Potts(name, weight, b, n_states=family.n_states, **options)
    if family.name == "agreement":
        return pmrf.AgreementMRF(name, pm.math.sigmoid(weight), n_states=family.n_states, **options)
    if family.name == "boltzmann":
        return pmrf.BoltzmannMachine(name, weight, b, **options)
    if family.name == "nominal":
        return pmrf.NominalMRF(name, weight, b, n_states=family.cards, **options)
    states, scores = family.cards or family.n_states, family.scores or None
    if family.has_own_scores:
        scores = [own[:k] for own, k in zip(scores, states, strict=True)]
    return pmrf.OrdinalMRF(name, weight, b, n_states=states, scores=scores, **options)


def sum_of_fields(terms):
    """Log-likelihood of the vector of all parameters; `terms`: one function, and a matrix, for each field."""
    return lambda q: sum(value(q @ A.T) for value, A in terms)
