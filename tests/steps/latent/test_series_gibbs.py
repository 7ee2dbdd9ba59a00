"""SeriesGibbs: missing cells and rows of fields in time, against sums over all their values."""

import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import logsumexp, softmax

import pymc_mrf as pmrf
from pymc_mrf.steps.latent.missing_cells import SeriesGibbs
from pymc_mrf.steps.latent.tree_gibbs import TreeGibbs
from tests.marks import slow
from tests.posteriors import draws_of, fixed_p, furthest
from tests.reference.kinetic import kinetic_log_likelihood
from tests.reference.spike_and_slab import structure_posterior
from tests.statistics import Z, assert_mean_close
from tests.steps.edges.arrow_models import PAIR, SLAB, THREE, declare, series
from tests.steps.edges.state_models import P
from tests.steps.latent.series_models import CELLS, gapped, masked

pytestmark = pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
SERIES = np.repeat([0, 1], [8, 4])
APART = [(3, 0), (7, 1), (10, 2)]  # none depends on another one within two rows


def fillings(z, cells, cards):
    """All tables with these cells filled."""
    for values in itertools.product(*(range(cards[i]) for _, i in cells)):
        filled = z.copy()
        filled[tuple(np.transpose(cells))] = values
        yield filled


def log_density_of_cells(filled, edges, family, kind, w, b):
    """Log density of a table; under "pseudo" of rows with cells of `APART` whole, of others node by node."""
    if kind != "pseudo":
        log_likelihood = kinetic_log_likelihood(filled, edges, family, SERIES, kind == "exact")
        return log_likelihood(np.r_[w, b.ravel()][None])[0]
    total = 0.0
    for t in (*range(2, 8), 10, 11):
        window, whole = filled[t - 2 : t + 1], t in {row for row, _ in APART}
        log_likelihood = kinetic_log_likelihood(window, edges, family, None, whole, weight=1.0)
        total += log_likelihood(np.r_[w, b.ravel()][None])[0]
    return total


@pytest.mark.parametrize(
    ("kind", "rows_differ"),
    [
        pytest.param("arrows", False, id="arrows-alike"),
        pytest.param("pseudo", True, id="pseudo-own parameters"),
        slow("exact", True, id="exact-own parameters"),
        slow("arrows", True, id="arrows-own parameters"),
        slow("pseudo", False, id="pseudo-alike"),
        slow("exact", False, id="exact-alike"),
    ],
)
@pytest.mark.ordinary("pseudo-own parameters")
def test_cells_given_the_parameters(kind, rows_differ, rng):
    """Means and all products of pairs of cells, of an ordinal field with two lags."""
    links = [] if kind == "arrows" else [(0, 2)]
    options = {} if kind == "arrows" else {"likelihood": kind}
    w, lags = rng.normal(0, 0.8, 2 * len(THREE) + len(links)), (1, 2)
    z, _, _, family, b = series("ordinal", THREE, np.zeros(5), (8, 4))
    edges = [(u, v, 0) for u, v in links] + [(*arrow, lag) for lag in lags for arrow in THREE]
    bias = np.zeros((3, 2))
    bias[...] = b.reshape(3, 2)
    if rows_differ:
        weight, bias = np.tile(w, (12, 1)), np.tile(bias, (12, 1, 1))
    else:
        weight = w
    free = APART if kind == "pseudo" else CELLS
    with pm.Model() as model:
        x = masked(z, free)
        declare("ordinal", weight, bias, THREE, x, SERIES, family, lag=lags, links=links, **options)
        step = SeriesGibbs([model["x_unobserved"]], n_sweeps=2)
    log_p, cells = [], []
    for filled in fillings(z, free, family.cards):
        log_p.append(log_density_of_cells(filled, edges, family, kind, w, b))
        cells.append(filled[tuple(np.transpose(free))])
    p, cells = softmax(log_p), np.array(cells)
    step.setup_chain(np.random.default_rng(3), 50, 4000)
    point, draws = model.initial_point(), []
    for _ in range(4050):
        point, _ = step.step(point)
        draws.append(point["x_unobserved"])
    draws = np.array(draws[50:], dtype=float)
    pairs = list(itertools.combinations_with_replacement(range(len(free)), 2))

    def products(values):
        return np.stack([values[:, i] * values[:, j] for i, j in pairs] + [*values.T], axis=1)

    assert_mean_close(products(draws), p @ products(cells), ess=1500)
    with pytest.raises(AssertionError):
        assert_mean_close(products(draws), products(cells).mean(axis=0), ess=1500)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boltzmann", "ising"])
def test_all_structures_and_all_values_of_missing_cells(name):
    """Together with EdgeGibbs: a row that is missing, and a cell of the next."""
    z, _, edges, family, b = series(name, PAIR, np.array([1.2, 0.0, -0.9, 0.0]), (20,), 4)
    cells = [(5, 0), (5, 1), (6, 0)]
    x = masked(np.array(family.states)[z], cells)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", P, pm.Normal.dist(0, 0.7), shape=4)
        bias = pm.Normal("b", 0, 1, shape=2)
        options = {"family": name}
        pmrf.KineticMRF("x", w, bias, graph=pmrf.LaggedGraph(range(2), PAIR), observed=x, **options)
    draws, _ = draws_of(model, ["w", "b"], beside=lambda: [SeriesGibbs([model["x_unobserved"]])])
    cards = [2, 2]
    terms = [kinetic_log_likelihood(filled, edges, family) for filled in fillings(z, cells, cards)]

    def posterior(log_likelihood):
        log_bias, prior = stats.norm(0, 1).logpdf, fixed_p(P, 4)
        return structure_posterior(
            log_likelihood, 4, b.size, prior, SLAB.logpdf, log_bias=log_bias, n_nodes=4
        )

    right = posterior(lambda q: logsumexp([term(q) for term in terms], axis=0))
    assert furthest(draws, right) < Z
    wrong = z.copy()
    wrong[tuple(np.transpose(cells))] = 0
    control = posterior(kinetic_log_likelihood(wrong, edges, family))
    assert furthest(draws, control) > Z


def test_the_step_is_chosen_and_refuses_other_fields():
    with pm.Model() as model:
        gapped()
        _, chosen = pm.sampling.mcmc.assign_step_methods(model, None)
        assert {step: {v.name for v in rvs} for step, rvs in chosen.items()} == {
            SeriesGibbs: {"x_unobserved"}
        }
        with pytest.raises(TypeError, match=r"leave the choice of the step to pm\.sample"):
            TreeGibbs([model["x_unobserved"]])
        with pytest.raises(ValueError, match="n_sweeps"):
            SeriesGibbs([model["x_unobserved"]], n_sweeps=0)
    with pm.Model() as model:
        pmrf.Ising("y", 0.5, graph=pmrf.graphs.chain(3), shape=3)
        with pytest.raises(TypeError, match="y is something else"):
            SeriesGibbs([model["y"]])


def test_hidden_fields_are_refused():
    with pm.Model() as model:
        x = gapped()
        pm.Normal("y", x.sum(), 1, observed=0.0)
        with pytest.raises(ValueError, match=r"but y depends on it, too"):
            SeriesGibbs([model["x_unobserved"]])
