"""Rows that stand for several observations, and equal rows, whose log probability is evaluated once."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pytensor.graph.traversal import ancestors

import pymc_mrf as pmrf
from pymc_mrf.likelihood.pseudo.likelihood import LogPseudoLikelihood

GRAPH = pmrf.PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0)])
TABLE = np.array([[0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]])
WEIGHTS = np.array([5, 1, 0, 2, 7, 3])
TABLES = {"scopes": [(0, 1), (1, 2, 3)], "cardinalities": [2] * 4}


def ising(w, x, **options):
    pmrf.Ising("x", w, 0.3, graph=GRAPH, observed=2 * x - 1, **options)


def boltzmann(w, x, **options):
    pmrf.BoltzmannMachine("x", w, [0.3, -0.2, 0.0, 0.1], graph=GRAPH, observed=x, **options)


def agreement(w, x, **options):
    pmrf.AgreementMRF("x", pm.math.sigmoid(w), graph=GRAPH, observed=x, **options)


def potts(w, x, **options):
    pmrf.Potts("x", w, graph=GRAPH, n_states=3, observed=x, **options)


def ordinal(w, x, **options):
    pmrf.OrdinalMRF("x", w, 0.2, graph=GRAPH, n_states=3, observed=x, **options)


def factors(w, x, **options):
    tables = [pm.math.stack([[w[0], 0.0], [0.0, w[1]]]), w[2] * np.arange(8.0).reshape(2, 2, 2) / 8]
    pmrf.FactorGraphMRF("x", tables, observed=x, **TABLES, **options)


FIELDS = [ising, boltzmann, agreement, potts, ordinal, factors]


def model_of(field, x, prior=None, **options):
    with pm.Model() as model:
        field(pm.Normal("w", 0, 1, shape=4) if prior is None else prior(), x, **options)
    return model


def by_row(model, point):
    """Terms of the log density, which are not the log-likelihood that PyMC stores under "pseudo"."""
    [terms] = model.logp(model["x"], sum=False)
    return model.compile_fn(terms + 0.0, inputs=model.value_vars)(point)


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.__name__)
@pytest.mark.ordinary(
    "ising-exact", "boltzmann-pseudo", "potts-exact", "ordinal-pseudo", "factors-exact"
)
def test_the_log_likelihood_is_the_weighted_sum_over_the_table(field, likelihood, rng):
    """`pm.Data` are evaluated row by row: the same rows, the same gradient."""
    point = {"w": rng.normal(size=4)}
    once = by_row(model_of(field, TABLE, likelihood=likelihood), point)
    model = model_of(field, TABLE, likelihood=likelihood, weights=WEIGHTS)
    repeated = by_row(model, point)
    np.testing.assert_allclose(repeated, np.repeat(once, WEIGHTS), rtol=1e-12)
    assert not np.isclose(repeated.sum(), once.sum())

    with pm.Model() as one_by_one:
        data = pm.Data("data", np.repeat(TABLE, WEIGHTS, axis=0))
        field(pm.Normal("w", 0, 1, shape=4), data, likelihood=likelihood)
    gradients = [m.compile_dlogp()(point) for m in (model, one_by_one)]
    np.testing.assert_allclose(*gradients, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("differs", [False, True])
def test_equal_rows_are_evaluated_once_if_they_share_parameters(differs, rng):
    x = np.repeat(TABLE, WEIGHTS, axis=0)
    with pm.Model() as model:
        w = pm.Normal("w", 0, 1, shape=4)
        bias = rng.normal(size=(len(x), 4)) if differs else 0.0
        pmrf.BoltzmannMachine("x", w, bias, graph=GRAPH, observed=x, likelihood="pseudo")
    logp = model.logp(model["x"], sum=False)
    nodes = [v.owner for v in ancestors(logp) if v.owner]
    lengths = [n.inputs[0].type.shape[0] for n in nodes if isinstance(n.op, LogPseudoLikelihood)]
    assert lengths == ([] if differs else [5])  # one row of the table has the weight 0
    assert (logp[0] + 0.0).eval({model.value_vars[0]: np.zeros(4)}).shape == (18,)


SLABS = {
    "exact": lambda: pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=4),
    "pseudo": lambda: pmrf.DirichletProcess("w", 1.0, pm.Normal.dist(0, 1), shape=4),
    "particles": lambda: pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=4),
}


@pytest.mark.parametrize("likelihood", SLABS)
def test_draws_are_those_of_repeated_rows(likelihood):
    def draws(x, **options):
        with model_of(boltzmann, x, SLABS[likelihood], likelihood=likelihood, **options):
            trace = pm.sample(
                20, tune=20, chains=1, cores=1, random_seed=1, progressbar=False, quiet=True,
                compute_convergence_checks=False,
            )  # fmt: skip
        return trace.posterior["w"].values

    weighted = draws(TABLE, weights=WEIGHTS)
    np.testing.assert_array_equal(weighted, draws(np.repeat(TABLE, WEIGHTS, axis=0)))
    assert not np.array_equal(weighted, draws(TABLE))


def test_predictive_draws_and_log_likelihoods_have_a_row_for_each_observation(rng):
    coords = {**pmrf.coords(GRAPH), "row": np.arange(WEIGHTS.sum())}
    with pm.Model(coords=coords):
        w = pm.Normal("w", 0, 1, dims="edge")
        pmrf.Ising("x", w, graph=GRAPH, observed=2 * TABLE - 1, weights=WEIGHTS, dims=("row", "node"))
        prior = pm.sample_prior_predictive(3, random_seed=rng)
    assert prior.prior_predictive["x"].shape == (1, 3, 18, 4)
    assert prior.observed_data["x"].dims == ("row", "node")


@pytest.mark.filterwarnings("ignore:x. the nodes of 2--3 always agree")
def test_copies_of_a_row_with_a_missing_cell_are_imputed_independently():
    x = np.ma.masked_array(TABLE, TABLE < 0)
    x[1, 2] = x[4, 0] = np.ma.masked
    with pytest.warns(pm.exceptions.ImputationWarning):
        model = model_of(boltzmann, x, weights=WEIGHTS)
    assert model.initial_point()["x_unobserved"].shape == (1 + 7,)


def test_weights_of_a_data_frame():
    df = pd.DataFrame(TABLE, columns=list("abcd"), index=list("pqrstu"))
    n = pd.Series(WEIGHTS, index=df.index).astype("Int64")
    graph = pmrf.graphs.complete(list("dcba"))
    with pm.Model() as model:
        pmrf.Ising("x", 0.5, graph=graph, observed=2 * df - 1, weights=n)
    expected = np.repeat(2 * TABLE[:, ::-1] - 1, WEIGHTS, axis=0)
    np.testing.assert_array_equal(model.rvs_to_values[model["x"]].eval(), expected)
    unlabelled = df.set_axis([*"pqrst", np.nan], axis=0)
    with pm.Model() as model:
        pmrf.Ising(
            "x", 0.5, graph=graph, observed=2 * unlabelled - 1, weights=n.set_axis(unlabelled.index)
        )
    np.testing.assert_array_equal(model.rvs_to_values[model["x"]].eval(), expected)
    with pm.Model(), pytest.raises(ValueError, match="x: weights: its rows are labelled otherwise"):
        pmrf.Ising("x", 0.5, graph=graph, observed=2 * df - 1, weights=n[::-1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"x: weights has shape \(2,\), but `observed` has shape \(6, 4\): give one number"),
        (3, r"x: weights has shape \(\)"),
        (
            [1, 2, 0.5, 1, 1, 1],
            r"x: weights\[2\] is 0.5, but a weight is how many .* Weights of a survey",
        ),
        ([1, 2, 1, -1, 1, 1], r"x: weights\[3\] is -1, but"),
        ([1, 2, 1, 1, np.nan, 1], r"x: weights\[4\] is nan, but"),
        ([1, 2, 1, 1, np.inf, 1], r"x: weights\[4\] is inf, but"),
        ([0] * 6, "x: all weights are 0; at least one observation is needed"),
        (list("abcdef"), "x: weights must be numeric, .*recode text"),
        ([True] * 6, "x: weights must be numeric, .*truth values"),
    ],
)
@pytest.mark.parametrize("field", [ising, factors], ids=lambda field: field.__name__)
def test_weights_that_are_no_numbers_of_observations(field, weights, message):
    with pytest.raises(ValueError, match=message):
        model_of(field, TABLE, weights=weights)


def test_weights_without_rows_to_repeat():
    with pytest.raises(ValueError, match=r"x: weights=.* no meaning because there is no `observed`"):
        with pm.Model():
            pmrf.Ising("x", 0.5, graph=GRAPH, weights=WEIGHTS)
    with pytest.raises(
        ValueError, match=r"`observed` is symbolic: .* numpy.repeat\(x, weights, axis=0\)"
    ):
        with pm.Model():
            pmrf.Ising("x", 0.5, graph=GRAPH, observed=pm.Data("data", 2 * TABLE - 1), weights=WEIGHTS)
