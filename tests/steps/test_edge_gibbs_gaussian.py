"""EdgeGibbs of Gaussian fields: posteriors over all structures by quadrature, the cone, what is refused."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.marks import slow
from tests.reference.gaussian import fixed_diagonal_posterior, log_likelihood_of, precision
from tests.reference.spike_and_slab import structure_posterior
from tests.statistics import Z
from tests.steps.test_edge_gibbs import draws_of, fixed_p, standardised_gaps

TRIANGLE = pmrf.PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
EDGES = [tuple(e) for e in TRIANGLE.edges.tolist()]
WEIGHT, DIAGONAL = np.array([0.5, -0.3, 0.0]), np.array([1.0, 1.4, 0.8])


def measurements(n, seed):
    S = np.linalg.inv(precision(EDGES, WEIGHT, DIAGONAL))
    return np.random.default_rng(seed).multivariate_normal(np.zeros(3), S, size=n)


def model_of(x, *, p=0.4, slab=None, diagonal=None, graph=TRIANGLE):
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 0.5) if slab is None else slab, shape=graph.n_edges)
        if diagonal is None:
            diagonal = pm.Gamma("diagonal", 2, 1, shape=graph.n_nodes)
        pmrf.GaussianMRF("x", w, diagonal, graph=graph, observed=x)
    return model


def log_gamma(log_x):
    """Log density of the log of a Gamma(2, 1) variable."""
    return 2 * log_x - np.exp(log_x)


@pytest.mark.parametrize("seed", [1, slow(2)])
def test_weights_and_diagonal_of_three_nodes(seed):
    x = measurements(60, seed)
    w, log_diagonal = draws_of(model_of(x), ["w", "diagonal"], 3000)
    prior = fixed_p(0.4, 3)
    exact, coarse = (
        structure_posterior(
            log_likelihood_of(x, EDGES), 3, 3, prior, stats.norm(0, 0.5).logpdf, log_bias=log_gamma, n_nodes=m
        )
        for m in (6, 5)
    )
    np.testing.assert_allclose(exact.inclusion, coarse.inclusion, atol=2e-3)
    gaps = standardised_gaps(w, exact)
    assert max(np.abs(list(gaps.values()))) < Z, gaps
    import arviz as az

    for i in range(3):
        draws = log_diagonal[..., i]
        assert abs(draws.mean() - exact.bias[i]) < Z * float(az.mcse(draws))


@pytest.mark.parametrize("n", [2, slow(20)])
def test_few_rows_fill_the_cone(n):
    """With two rows and a wide slab weights go to the ends of the cone, and some edges cannot be absent."""
    x = 1.5 * measurements(n, 3)
    model = model_of(x, slab=pm.Normal.dist(0, 1), diagonal=DIAGONAL)
    [w] = draws_of(model, ["w"], 6000)
    exact = fixed_diagonal_posterior(x, EDGES, DIAGONAL, 0.4, stats.norm(0, 1).logpdf)
    gaps = standardised_gaps(w, exact)
    assert max(np.abs(list(gaps.values()))) < Z, gaps
    # negative control: another p is another posterior
    other = fixed_diagonal_posterior(x, EDGES, DIAGONAL, 0.5, stats.norm(0, 1).logpdf)
    assert max(np.abs(list(standardised_gaps(w, other).values()))) > Z
    K = precision(EDGES, w.reshape(-1, 3), DIAGONAL)
    assert (np.linalg.eigvalsh(K) > 0).all()
    alone = np.array([precision(EDGES, w.reshape(-1, 3) * (np.arange(3) != e), DIAGONAL) for e in range(3)])
    assert (np.linalg.eigvalsh(alone)[..., 0] < 0).any()  # without some edge the others left the cone


def test_without_the_correction_proposals_leave_the_cone():
    model = model_of(1.5 * measurements(2, 3), slab=pm.Normal.dist(0, 1), diagonal=DIAGONAL)
    with pytest.raises(ValueError, match="not positive definite"):
        draws_of(model, ["w"], 100, corrected=False)
