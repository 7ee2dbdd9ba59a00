"""EdgeGibbs of vectors with blocks that are terms of sums: posteriors over all structures by quadrature."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.posteriors import fixed_p, furthest, sparse_draws_of
from tests.reference.mixed import MixedReference
from tests.reference.spike_and_slab import structure_posteriors
from tests.statistics import Z

P, SLAB = 0.4, stats.norm(0, 0.6).logpdf
HALVES = 0.5, -0.5
CASES = {  # kinds, numbers of states, edges, nodes of the quadrature
    "nominal Gaussian": (("nominal", "continuous"), (3, 0), [(0, 1)], 6),
    "nominal nominal": (("nominal", "nominal"), (3, 2), [(0, 1)], 6),
    "two Gaussians": (("continuous", "ordinal", "continuous"), (0, 2, 0), [(0, 2), (1, 2)], 6),
}


def groups_of(name):
    """Kinds, graph and reference of a case; rows, biases (a, K) and diagonal (c,) of two groups."""
    what, n_states, edges, n_nodes = CASES[name]
    kinds = pmrf.fields.ColumnKinds(tuple("abc"[: len(what)]), what, n_states)
    graph = pmrf.PairwiseGraph(kinds.names, [("abc"[u], "abc"[v]) for u, v in edges])
    rng = np.random.default_rng(5)
    groups = []
    for n in (40, 30):
        weight = rng.normal(0, 0.4, kinds.block_sizes(graph).sum())
        bias = rng.normal(0, 0.3, (len(kinds.answers), max(n_states)))
        diagonal = np.array([1.2, 0.9])[: len(kinds.measurements)]
        field = pmrf.MixedMRF.dist(weight, bias, diagonal, graph=graph, kinds=kinds, size=(n,))
        groups.append((pm.draw(field, random_seed=n, mode="FAST_COMPILE"), bias, diagonal))
    return kinds, graph, MixedReference(what, n_states, graph.edges.tolist()), groups, n_nodes


@pytest.mark.slow
def test_three_groups_of_nominal_fields():
    """Every partition of the groups is visited as often as enumeration of all differences says."""
    kinds = pmrf.fields.ColumnKinds(("a", "b"), ("nominal", "nominal"), (3, 2))
    graph, reference = (
        pmrf.PairwiseGraph("ab", [("a", "b")]),
        MixedReference(kinds.kinds, (3, 2), [[0, 1]]),
    )
    rng, truth = np.random.default_rng(3), np.array([[0.9, 0.2], [-0.4, 0.1], [0.8, 0.3]])
    bias, blocks, groups = np.zeros((2, 3)), kinds.block_sizes(graph), []
    for w in truth:
        field = pmrf.MixedMRF.dist(w, bias, graph=graph, kinds=kinds, size=(50,))
        groups.append(pm.draw(field, random_seed=rng, mode="FAST_COMPILE").astype(int))
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("weight", P, pm.Normal.dist(0, 0.6), blocks=blocks)
        # two divisions part two groups, each with probability P
        of_group = pmrf.group_weights(weight, list("xyz"), 1 - (1 - P) ** 2, pm.Normal.dist(0, 0.6))
        for name, x in zip("xyz", groups, strict=True):
            options = {"graph": graph, "n_states": [3, 2], "likelihood": "exact"}
            pmrf.NominalMRF(name, of_group[name], bias, observed=x, **options)
    contrasts = model["weight_contrasts"].get_value()
    values = [reference.log_likelihood_of(x, "exact") for x in groups]

    def log_likelihood(q):
        q = q.reshape(len(q), 4, 2)
        total = 0.0
        for value, row in zip(values, contrasts, strict=True):
            w = q[:, 0] + np.tensordot(q[:, 1:], row, axes=(1, 0))
            total = total + value(np.hstack([w, np.zeros((len(q), bias.size))]))
        return total

    found = structure_posteriors(log_likelihood, 4, 0, SLAB, bias=np.zeros(0), n_nodes=3, blocks=[2] * 4)
    w, _ = sparse_draws_of(model, 1000)
    assert furthest(w, found(fixed_p(P, 4)), [2] * 4) < Z
    assert furthest(w, found(fixed_p(P + 0.15, 4)), [2] * 4) > Z  # negative control


def test_biases_belong_to_nuts():
    kinds, graph, _, groups, _ = groups_of("nominal Gaussian")
    x = groups[0][0]
    with pm.Model():
        blocks = kinds.block_sizes(graph)
        w, delta = (pmrf.SpikeAndSlab(n, P, pm.Normal.dist(), blocks=blocks) for n in ("w", "delta"))
        bias = pm.Normal("bias", 0, 1, shape=(1, 3))
        pmrf.MixedMRF("x", w + delta, bias, 1.0, graph=graph, kinds=kinds, observed=x)
        assert {v.name for v in EdgeGibbs([w]).vars} == {"w"}
        with pytest.raises(ValueError, match="leave it out of `vars`"):
            EdgeGibbs([w, bias])
