"""Grouped parameters of fields of several states, with node terms: Potts models and ordinal fields."""

import functools

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import grouped_posterior as reference
from tests.statistics import Z
from tests.steps.groups.field_models import OPTIONS, gaps_of, sample
from tests.steps.groups.state_models import (
    CARDS,
    SCORES,
    TRIANGLE,
    K,
    data,
    make,
    model_of,
    near,
)

CYCLE = PairwiseGraph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0)])


@functools.cache
def exact_posterior(kind, graph, pseudo, *, plain=False, weight=0.5):
    """By enumeration; `plain` is the negative control, without node terms and with other scores."""
    _, _, statistic, nodes = make(kind, graph)
    x = data(graph, statistic, nodes)
    if plain:
        nodes = np.where(np.isfinite(nodes), 0.0, nodes)
        statistic = statistic if kind == "potts" else np.outer(range(K), range(K))
    options = {"pseudo": pseudo, "weight": weight}
    log_likelihood = reference.table_log_likelihood(x, graph.edges, statistic, nodes, **options)
    return reference.posterior_of(log_likelihood, graph.n_edges, 1.0)[0]


@pytest.mark.parametrize(
    ("kind", "graph", "likelihood"),
    [
        pytest.param("ordinal", TRIANGLE, "exact", id="ordinal, 3 edges-exact"),
        pytest.param("potts", TRIANGLE, "pseudo", id="Potts, 3 edges-pseudo"),
        pytest.param("potts", TRIANGLE, "exact", id="Potts, 3 edges-exact"),
        pytest.param("ordinal", TRIANGLE, "pseudo", id="ordinal, 3 edges-pseudo"),
        pytest.param("potts", TRIANGLE, "monte-carlo", id="Potts, 3 edges-monte-carlo"),
        pytest.param("ordinal", TRIANGLE, "monte-carlo", id="ordinal, 3 edges-monte-carlo"),
        *(
            pytest.param(kind, CYCLE, likelihood, id=f"{kind}, 4 edges-{likelihood}")
            for kind in ("potts", "ordinal")
            for likelihood in ("exact", "pseudo", "monte-carlo")
        ),
    ],
)
@pytest.mark.slow
def test_posterior_by_enumeration(kind, graph, likelihood, small_samples):
    _, _, statistic, nodes = make(kind, graph)
    pseudo = likelihood == "pseudo"
    model = model_of(kind, graph, data(graph, statistic, nodes), likelihood)
    # weights of conditionals change the spread of the posterior, which takes more draws to see
    draws = {"exact": 500, "pseudo": 3000, "monte-carlo": 1000}[likelihood]
    theta = special.expit(sample(model, draws=draws)["theta"].values)
    assert gaps_of(theta, exact_posterior(kind, graph, pseudo)) < Z
    # negative controls: other terms, and the pseudo-likelihood that counts edges twice
    assert gaps_of(theta, exact_posterior(kind, graph, pseudo, plain=True)) > Z
    if kind == "ordinal":
        assert gaps_of(theta, exact_posterior(kind, graph, True, weight=1.0)) > Z


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ordinal", "potts"])
def test_particles_are_near_the_posterior(kind):
    _, _, statistic, nodes = make(kind, TRIANGLE)
    model = model_of(kind, TRIANGLE, data(TRIANGLE, statistic, nodes), "particles")
    with model:
        step = pmrf.steps.ParticleRatioGibbs([model["theta"]], n_particles=1000)
        idata = pm.sample(400, tune=100, chains=2, cores=1, step=step, random_seed=1, **OPTIONS)
    theta = special.expit(idata.posterior["theta"].values)
    assert near(theta, exact_posterior(kind, TRIANGLE, False))
    assert not near(theta, exact_posterior(kind, TRIANGLE, False, plain=True))


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["exact", "monte-carlo", "particles"])
def test_random_thresholds(likelihood):
    """Linear in the state: moved by NUTS, or with the group values by the particles."""
    statistic, nodes = np.outer(SCORES, SCORES), np.zeros((3, K))
    nodes[1, 2] = -np.inf
    x = data(TRIANGLE, statistic, nodes - 0.5 * np.arange(K))
    with pm.Model() as model:
        bias = pm.Normal("bias", 0, 1)
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Logistic.dist(0, 1), shape=3)
        options = {"graph": TRIANGLE, "n_states": CARDS[:3], "scores": SCORES, "observed": x}
        pmrf.OrdinalMRF("x", theta, bias * np.arange(1.0, K), likelihood=likelihood, **options)
    found = sample(model, draws=800 if likelihood == "monte-carlo" else 400)
    log_likelihood = reference.table_log_likelihood(
        x, TRIANGLE.edges, statistic, nodes, slope=np.arange(K)
    )
    exact, mean = reference.posterior_of(log_likelihood, 3, 1.0, random_bias=True)
    theta, bias = special.expit(found["theta"].values), found["bias"].values
    assert near(theta, exact)
    tolerance = Z * float(az.mcse(bias)) + (0.01 if likelihood == "particles" else 0.0)
    assert abs(bias.mean() - mean) < tolerance
    # negative control: thresholds of 0
    assert not near(theta, reference.posterior_of(log_likelihood, 3, 1.0)[0])


@pytest.mark.slow
@pytest.mark.compiled
def test_questionnaire_by_default():
    """Four chains of all that is random agree, and groups are found by the functions for groups."""
    rng = np.random.default_rng(4)
    d, weight = 5, np.repeat([0.6, 0.0], 2)
    graph = pmrf.graphs.chain(d)
    thresholds = 0.3 * rng.normal(size=(d, K))
    tables = weight[:, None, None] * np.outer([-1, 0, 1], [-1, 0, 1])
    field = pmrf.PairwiseField(graph, tables, thresholds)
    x = field.sample(400, rng=rng)
    with pm.Model(coords={**pmrf.coords(graph), "state": [1, 2]}):
        w = pmrf.DirichletProcess("w", 1.0, pm.Normal.dist(0, 1), dims="edge")
        b = pm.Normal("b", 0, 1, dims=("node", "state"))
        pmrf.OrdinalMRF("x", w, b, graph=graph, n_states=K, scores=[-1, 0, 1], observed=x)
        idata = pm.sample(200, tune=200, chains=4, cores=1, random_seed=1, **OPTIONS)
    assert float(az.rhat(idata, var_names=["w", "b"])["w"].max()) < 1.05
    w = idata.posterior["w"]
    mean, spread = (value.values for value in (w.mean(("chain", "draw")), w.std(("chain", "draw"))))
    # the truth is as far from the mean as a draw of the posterior is; not so that of other edges
    assert np.all(np.abs(mean - weight) < Z * spread)
    assert np.any(np.abs(mean - weight[::-1]) > Z * spread)
    together = pmrf.co_clustering(idata, "w").values
    assert together[0, 1] > 0.7 > 0.3 > together[0, 2]
    assert len(np.unique(pmrf.point_grouping(idata, "w"))) >= 2


@pytest.mark.parametrize(
    ("kind", "step", "message"),
    [
        ("potts", pmrf.papers.StrippedBetaGibbs, r"not those of x \(Potts\): use AgreementMRF or Ising"),
        ("ordinal", pmrf.papers.StrippedBetaGibbs, r"not those of x \(OrdinalMRF\): use AgreementMRF"),
        (
            "potts",
            pmrf.papers.AuxiliaryVariableMH,
            r"not x \(Potts\): use pymc_mrf.steps.GroupGibbs or",
        ),
        (
            "ordinal",
            pmrf.papers.AuxiliaryVariableMH,
            r"not x \(OrdinalMRF\): use pymc_mrf.steps.GroupGibbs",
        ),
    ],
)
def test_steps_for_binary_statistics_refuse(kind, step, message):
    model = model_of(kind, TRIANGLE, np.zeros((5, 3), dtype=int), "exact")
    with model, pytest.raises(ValueError, match=message):
        step([model["theta"]])


def thresholds_of_rows():
    return np.arange(30.0).reshape(5, 3, 2) / 10


def random_thresholds_of_rows():
    return pm.Normal("b", 0, 1, shape=(5, 3, 2))


@pytest.mark.parametrize(
    ("make_threshold", "message"),
    [
        (thresholds_of_rows, "needs constant node parameters, one per node, but the threshold of x"),
        (
            random_thresholds_of_rows,
            r"needs one threshold per node of x, but it has the shape \(5, 3, 2\)",
        ),
    ],
)
def test_thresholds_that_differ_between_rows_are_refused(make_threshold, message):
    x = np.array([[0, 0, 0], [1, 1, 1], [2, 0, 2], [0, 1, 1], [1, 0, 2]])
    model = model_of("ordinal", TRIANGLE, x, "exact", threshold=make_threshold)
    with model, pytest.raises(ValueError, match=message):
        pmrf.steps.GroupGibbs([model["theta"]])


def test_fields_of_other_scores_are_refused():
    x = np.zeros((5, 3), dtype=int)
    with pm.Model() as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=3)
        pmrf.OrdinalMRF("x", theta, graph=TRIANGLE, n_states=3, observed=x)
        pmrf.OrdinalMRF("y", theta, graph=TRIANGLE, n_states=3, scores=SCORES, observed=x)
    with model, pytest.raises(ValueError, match="declare them alike, with the same states and scores"):
        pmrf.steps.GroupGibbs([theta])


def test_a_statistic_of_two_values_is_sampled_as_that_of_an_ising_model():
    """By the same steps, draw for draw: samplers are told 0 and 1 whatever the two values are."""
    draws = []
    x = np.random.default_rng(0).integers(0, 2, (40, 3))
    for is_ising in (True, False):
        with pm.Model() as model:
            w = pmrf.DirichletProcess("w", 1.0, pm.Normal.dist(0, 0.7), shape=3)
            if is_ising:
                pmrf.Ising("x", w, graph=TRIANGLE, observed=2 * x - 1, likelihood="exact")
            else:
                scores, none = [-1.0, 1.0], np.zeros((3, 1))
                options = {"n_states": 2, "scores": scores, "likelihood": "exact"}
                pmrf.OrdinalMRF("x", w, none, graph=TRIANGLE, observed=x, **options)
            step = pmrf.steps.GroupGibbs([w])
        step.setup_chain(np.random.default_rng(1), 2, 10)
        point = model.initial_point()
        draws.append([(point := step.step(point)[0])["w"] for _ in range(10)])
    np.testing.assert_array_equal(*draws)
    assert np.std(draws[0], axis=0).min() > 0
