"""Fields of several families with sparse weights, and draws of `EdgeGibbs`."""

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.fields.families import agreement, ordinal, potts
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
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
    states, scores = family.cards or family.n_states, family.scores or None
    if family.has_own_scores:
        scores = [own[:k] for own, k in zip(scores, states, strict=True)]
    return pmrf.OrdinalMRF(name, weight, b, n_states=states, scores=scores, **options)


def draws_of(model, n_draws=1500, tune=200, n_chains=2, seed=1):
    """Draws (n_chains, n_draws, r) of the sparse variables that EdgeGibbs moves, with all it can move."""
    with model:
        step = EdgeGibbs(list(model.free_RVs))
    sparse = [rv.name for rv in model.free_RVs if rv.owner.op.name == "SpikeAndSlab"]
    parts = getattr(step, "methods", [step])
    chains = []
    for chain in range(n_chains):
        for k, part in enumerate(parts):
            part.setup_chain(np.random.default_rng([seed, chain, k]), tune, n_draws)
        point, rows = model.initial_point(), []
        for i in range(tune + n_draws):
            if i == tune:
                step.stop_tuning()
            point, _ = step.step(point)
            rows.append(np.concatenate([point[name] for name in sparse]))
        chains.append(rows[tune:])
    return np.array(chains)


def gaps(w, exact):
    """Differences from the exact posterior in Monte-Carlo standard errors."""
    found = []
    for e in range(w.shape[-1]):
        pairs = [(w[..., e], exact.weight[e])]
        if 0.01 < exact.inclusion[e] < 0.99:
            pairs.append(((w[..., e] != 0).astype(float), exact.inclusion[e]))
        for draws, value in pairs:
            assert az.ess(draws) > 300
            found.append((draws.mean() - value) / float(az.mcse(draws)))
    return np.abs(found)


def fixed_p(p, r):
    return lambda k: k * np.log(p) + (r - k) * np.log1p(-p)


def sum_of_fields(terms):
    """Log-likelihood of the vector of all parameters; `terms`: one function, and a matrix, for each field."""
    return lambda q: sum(value(q @ A.T) for value, A in terms)
