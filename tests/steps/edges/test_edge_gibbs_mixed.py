"""EdgeGibbs of mixed fields: posteriors over all structures by quadrature, few rows, invariances."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.marks import slow
from tests.mixed_fields import reference_of
from tests.reference.spike_and_slab import structure_posterior, structure_posterior_on_grid
from tests.statistics import Z
from tests.steps.edges.test_edge_gibbs import draws_of, fixed_p
from tests.steps.edges.test_edge_gibbs_blocks import gaps

PAIR, TRIANGLE = [(0, 1)], [(0, 1), (2, 1), (0, 2)]
P, SLAB = 0.4, stats.norm(0, 0.7).logpdf
CASES = {  # kinds, numbers of states, edges, rows, nodes of the quadrature
    "nominal nominal": (("nominal", "nominal"), (3, 3), PAIR, 50, 6),
    "binary Gaussian": (("ordinal", "continuous"), (2, 0), PAIR, 25, 7),
    "ordinal nominal Gaussian": (("ordinal", "nominal", "continuous"), (3, 3, 0), TRIANGLE, 60, 5),
    "Gaussian binary Gaussian": (("continuous", "ordinal", "continuous"), (0, 2, 0), TRIANGLE, 60, 9),
    "Gaussian nominal": (("continuous", "nominal"), (0, 4), PAIR, 30, 6),
}


def graph_of(kinds, edges):
    return pmrf.PairwiseGraph(kinds.names, [(kinds.names[u], kinds.names[v]) for u, v in edges])


def case_of(name, n=None, seed=1):
    """Kinds, graph, rows of a field with weights of middling size, its biases (a, K) and diagonal (c,)."""
    what, n_states, edges, n_rows, n_nodes = CASES[name]
    kinds = pmrf.ColumnKinds(tuple("abc"[: len(what)]), what, n_states)
    graph, rng = graph_of(kinds, edges), np.random.default_rng(seed)
    weight = rng.normal(0, 0.3, kinds.block_sizes(graph).sum())
    bias = rng.normal(0, 0.3, (len(kinds.answers), max(n_states)))
    diagonal = np.array([1.2, 0.9])[: len(kinds.measurements)]
    field = pmrf.MixedMRF.dist(weight, bias, diagonal, graph=graph, kinds=kinds, size=(n or n_rows,))
    x = pm.draw(field, random_seed=seed, mode="FAST_COMPILE")
    return kinds, graph, x, bias, diagonal, n_nodes


def model_of(kinds, graph, x, bias=None, diagonal=None, *, p=P, sd=0.7, **options):
    """Weights of chance, and biases and diagonal as given or of chance."""
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, sd), blocks=kinds.block_sizes(graph))
        if bias is None:
            bias = pm.Normal("bias", 0, 1.0, shape=(len(kinds.answers), max(kinds.n_states)))
        if diagonal is None:
            diagonal = pm.Gamma("diagonal", 2, 1, shape=len(kinds.measurements))
        pmrf.MixedMRF("x", w, bias, diagonal, graph=graph, kinds=kinds, observed=x, **options)
    return model


def log_node_prior(kinds, n_biases):
    """Log density of biases, and of logs of Gamma(2, 1) variables for the diagonal, one by one."""

    def value(q):
        of_logs = 2 * q[:, n_biases:] - np.exp(q[:, n_biases:])
        return np.hstack([stats.norm(0, 1.0).logpdf(q[:, :n_biases]), of_logs])

    return value


def posterior_of(kinds, graph, x, bias, diagonal, likelihood="exact", p=P, n_nodes=5):
    """Of weights, and of biases and diagonal if these are None, by quadrature."""
    reference, r = reference_of(kinds, graph), graph.n_edges
    d = reference.n_biases + len(kinds.measurements)
    known = None if bias is None else np.concatenate([bias.ravel(), np.log(diagonal)])
    options = (
        {"bias": known}
        if bias is not None
        else {"log_bias": log_node_prior(kinds, d - len(kinds.measurements))}
    )
    return structure_posterior(
        reference.log_likelihood_of(x, likelihood), r, d, fixed_p(p, r), SLAB, n_nodes=n_nodes,
        blocks=reference.blocks, **options,
    )  # fmt: skip


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("name", [*list(CASES)[:4], slow("Gaussian nominal")])
def test_all_structures(name, likelihood):
    kinds, graph, x, bias, diagonal, n_nodes = case_of(name)
    [w] = draws_of(model_of(kinds, graph, x, bias, diagonal, likelihood=likelihood), ["w"], 2500)
    exact, coarse = (
        posterior_of(kinds, graph, x, bias, diagonal, likelihood, n_nodes=m)
        for m in (n_nodes, n_nodes - 1)
    )
    np.testing.assert_allclose(exact.inclusion, coarse.inclusion, atol=2e-3)
    blocks = kinds.block_sizes(graph)
    assert gaps(w, blocks, exact).max() < Z
    # negative control: another p is another posterior
    other = posterior_of(kinds, graph, x, bias, diagonal, likelihood, p=0.6, n_nodes=n_nodes)
    assert gaps(w, blocks, other).max() > Z
