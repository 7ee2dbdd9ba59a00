"""EdgeGibbs on data with missing cells, against all structures and all values of these cells."""

import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import logsumexp

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ordinal
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.marks import slow
from tests.posteriors import draws_of, fixed_p, furthest
from tests.reference.spike_and_slab import field_log_likelihood, structure_posterior
from tests.statistics import Z
from tests.steps.edges.state_models import PATH, WEIGHT, P, declare, field_data, node_parameters

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
CELLS = [(0, 0), (3, 2), (3, 1)]


def masked(family, seed=7):
    """Data (30, 3) of a path of three nodes, some cells masked."""
    x = field_data(family, PATH, WEIGHT[:2] * 2, node_parameters(family, 3), 30, seed)
    mask = np.zeros(x.shape, dtype=bool)
    mask[tuple(np.transpose(CELLS))] = True
    return np.ma.masked_array(x, mask)


def marginal_log_likelihood(x, family):
    """Log-likelihood of the observed cells: the sum over all values of the missing ones."""
    edges, terms, states = PATH.edges.tolist(), [], family.node_states(3)
    for values in itertools.product(*(states[node] for _, node in CELLS)):
        filled = x.data.copy()
        filled[tuple(np.transpose(CELLS))] = values
        terms.append(field_log_likelihood(filled, edges, family, "exact"))
    return lambda parameters: logsumexp([term(parameters) for term in terms], axis=0)


def model_of(family, x, likelihood, moves_biases):
    q = len(family.node_basis)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=2)
        b = node_parameters(family, 3)
        if moves_biases:
            b = pm.Normal("b", 0, 1, shape=(3, q) if family.node_axes else 3)
        declare("x", family, w, b, PATH, x, likelihood)
    return model


@pytest.mark.parametrize(
    ("family", "likelihood", "moves_biases"),
    [
        (BOLTZMANN, "exact", True),
        slow(ordinal([3, 2, 3], [[-1, 0, 1], [-1, 1], [0, 1, 2]]), "exact", False),
        slow(BOLTZMANN, "particles", False),
    ],
    ids=["binary, biases", "own scores", "particles"],
)
def test_all_structures_and_all_values_of_missing_cells(family, likelihood, moves_biases):
    x, q = masked(family), len(family.node_basis)
    options = {"n_particles": 1000} if likelihood == "particles" else {}
    model, names = model_of(family, x, likelihood, moves_biases), ["w", "b"] if moves_biases else ["w"]
    w = draws_of(model, names, beside=lambda: [TreeGibbs([model["x_unobserved"]])], **options)[0]

    def posterior(log_likelihood):
        bias = {"bias": node_parameters(family, 3).ravel()}
        if moves_biases:
            bias = {"log_bias": stats.norm(0, 1).logpdf, "n_nodes": 6}
        log_slab = stats.norm(0, 0.7).logpdf
        return structure_posterior(log_likelihood, 2, 3 * q, fixed_p(P, 2), log_slab, **bias)

    limit = Z if likelihood == "exact" else 2 * Z  # particles are an approximation
    assert furthest(w, posterior(marginal_log_likelihood(x, family))) < limit
    imputed = field_log_likelihood(x.filled(0), PATH.edges.tolist(), family, "exact")
    assert furthest(w, posterior(imputed)) > limit  # negative control


@pytest.mark.compiled
def test_a_table_with_gaps_is_sampled_by_default():
    x = masked(BOLTZMANN)
    model = model_of(BOLTZMANN, x, "pseudo", True)
    with model:
        idata = pm.sample(
            100, tune=100, chains=2, cores=1, random_seed=1, progressbar=False, quiet=True,
            compute_convergence_checks=False,
        )  # fmt: skip
    assert {"edge_gibbs_n_active", "tree_gibbs_changed"} <= set(idata.sample_stats.data_vars)
    cells = idata.posterior["x_unobserved"]
    assert cells.shape[2:] == (x.mask.sum(),) and cells.dtype == np.int8 and cells.values.std() > 0
    assert "x" not in idata.posterior  # what never changes is stored once
