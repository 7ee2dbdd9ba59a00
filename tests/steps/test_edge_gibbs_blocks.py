"""EdgeGibbs with blocks of parameters: posteriors by quadrature over all structures, what is refused."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.nominal import nominal
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.views import questions
from tests.marks import slow
from tests.reference.spike_and_slab import field_log_likelihood, structure_posterior
from tests.statistics import Z
from tests.steps.test_edge_gibbs import draws_of, fixed_p

PAIR, TRIANGLE = PairwiseGraph(range(2), [(0, 1)]), PairwiseGraph(range(3), [(0, 1), (2, 1), (0, 2)])
BIAS = np.array([[0.3, -0.2, 0.1], [0.0, 0.4, 0.0], [-0.1, 0.2, 0.0]])


def states(n, n_states, seed=1):
    """Rows in which the last two nodes go together, more often than not."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(k, size=n) for k in n_states], axis=1)
    copied = rng.random(n) < 0.35
    x[copied, -1] = np.minimum(x[copied, -2], n_states[-1] - 1)
    return x


def model_of(x, n_states, graph, *, likelihood="exact", bias=None, p=0.4, slab=None, blocks=None):
    d, K = graph.n_nodes, max(n_states)
    blocks = pmrf.table_sizes(graph, n_states) if blocks is None else blocks
    with pm.Model() as model:
        slab = pm.Normal.dist(0, 1) if slab is None else slab
        w = pmrf.SpikeAndSlab("w", p, slab, blocks=blocks)
        b = pm.Normal("b", 0, 1.5, shape=(d, K)) if bias is None else bias
        pmrf.NominalMRF("x", w, b, graph=graph, n_states=n_states, observed=x, likelihood=likelihood)
    return model


def exact_posterior(x, n_states, graph, likelihood="exact", bias=None, p=0.4, log_slab=None, n_nodes=7):
    family, r = nominal(n_states), graph.n_edges
    likelihood = "exact" if likelihood == "monte-carlo" else likelihood
    log_likelihood = field_log_likelihood(x, graph.edges, family, likelihood)
    slab = stats.norm(0, 1).logpdf if log_slab is None else log_slab
    options = {"log_bias": stats.norm(0, 1.5).logpdf} if bias is None else {"bias": bias.ravel()}
    d, blocks = family.node_entries(graph.n_nodes).size, family.block_sizes(graph.edges)
    return structure_posterior(
        log_likelihood, r, d, fixed_p(p, r), slab, n_nodes=n_nodes, blocks=blocks, **options
    )


def gaps(w, blocks, exact):
    """Differences from the exact posterior in Monte-Carlo standard errors."""
    heads = np.cumsum([0, *blocks[:-1]])
    present = (w[..., heads] != 0).astype(float)
    pairs = [(present[..., e], p) for e, p in enumerate(exact.inclusion) if 0.01 < p < 0.99]
    pairs += [(w[..., k], mean) for k, mean in enumerate(exact.weight)]
    n_edges = present.sum(axis=-1)
    pairs += [(n_edges == k, p) for k, p in enumerate(exact.n_edges) if 0.01 < p < 0.99]
    found = [(values.mean() - value) / float(az.mcse(values.astype(float))) for values, value in pairs]
    assert all(az.ess(values.astype(float)) > 400 for values, _ in pairs)
    return np.abs(found)


LIKELIHOODS = pytest.mark.parametrize("likelihood", ["exact", "pseudo", "monte-carlo"])


@LIKELIHOODS
def test_all_structures_of_three_nodes(likelihood):
    n_states = [3, 2, 2]
    x, bias, blocks = states(60, n_states), BIAS, [2, 1, 2]
    [w] = draws_of(model_of(x, n_states, TRIANGLE, likelihood=likelihood, bias=bias), ["w"], 3000)
    exact = exact_posterior(x, n_states, TRIANGLE, likelihood, bias)
    assert gaps(w, blocks, exact).max() < Z
    # negative control: another p is another posterior
    other = exact_posterior(x, n_states, TRIANGLE, likelihood, bias, p=0.55)
    assert gaps(w, blocks, other).max() > Z


@LIKELIHOODS
def test_random_biases(likelihood):
    n_states = [3, 2]
    x = states(25, n_states)
    w, b = draws_of(model_of(x, n_states, PAIR, likelihood=likelihood), ["w", "b"], 3000)
    exact = exact_posterior(x, n_states, PAIR, likelihood, n_nodes=6)
    assert gaps(w, [2], exact).max() < Z
    for i, (draws, mean) in enumerate(zip(b.reshape(2, -1, 6).T, exact.bias, strict=True)):
        assert abs(draws.mean() - mean) < Z * float(az.mcse(draws.T)), i
