"""Studies of simulated tables: known truths, reproduction, going on, refused input."""

import logging
from functools import partial

import cloudpickle
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import softmax

import pymc_mrf as pmrf
from pymc_mrf.runs.planning import SAMPLING, Study, fit_study, read_truth
from tests.reference import enumeration
from tests.statistics import Z, assert_frequencies

GRAPH = pmrf.graphs.complete(4)
WEIGHT = np.array([1.5, 0.0, 0.0, -1.5, 0.0, 1.5])
TRUTH = pmrf.BoltzmannMachine.dist(WEIGHT, np.full(4, -0.4), graph=GRAPH)
SIZES = [40, 600]
SHORT = {"draws": 150, "tune": 50, "chains": 1}
OPTIONS = {**SHORT, "progressbar": False, "random_seed": 7}


def build(x, tables=None):
    if tables is not None:
        tables.append(x)
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 2), dims="edge")
        bias = pm.Normal("bias", 0, 2, dims="node")
        pmrf.BoltzmannMachine("x", weight, bias, graph=GRAPH, observed=x)
    return model


def errors_of_estimates(n):
    """Standard errors of the weights by maximum likelihood from n rows, by all states of the truth."""
    states = enumeration.configurations(4, 2)
    products = [states[:, u] * states[:, v] for u, v in GRAPH.edges]
    statistics = np.column_stack([*products, states]).astype(float)
    p = softmax(statistics @ np.r_[WEIGHT, np.full(4, -0.4)])
    return np.sqrt(np.diag(np.linalg.inv(n * np.cov(statistics.T, aweights=p, ddof=0))))[:6]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Store, study of three replicates, and the tables that were fitted."""
    store, tables = tmp_path_factory.mktemp("plan"), []
    study = pmrf.plan_study(
        TRUTH, partial(build, tables=tables), SIZES, replicates=3, store=store, **OPTIONS
    )
    return store, study, tables


@pytest.mark.slow
def test_truth_and_fits_are_kept_by_replicate_and_size(stored):
    study = stored[1]
    assert dict(study.sizes) == {"replicate": 3, "n": 2, "edge": 6, "node": 4}
    assert study["n"].values.tolist() == SIZES
    assert study["edge"].values.tolist() == list(GRAPH.edge_labels)
    np.testing.assert_array_equal(study["true_weight"], np.tile(WEIGHT, (3, 1)))
    np.testing.assert_array_equal(study["true_strength"], np.tile([1.5, 3.0, 3.0, 1.5], (3, 1)))
    assert np.isfinite(study["seconds"]).all()
    factor = study["bayes_factor"]  # the odds, as the prior ones are 1; 1 - p would lose digits
    np.testing.assert_allclose(study["inclusion"], factor / (1 + factor))
    assert np.isfinite(factor).all()
    assert len(np.unique(study["mean"])) == study["mean"].size  # every fit is of a table of its own


def test_more_rows_find_more(stored):
    few, many = (pmrf.summarize_plan(stored[1]).loc[n] for n in SIZES)
    assert few["found"] < many["found"] == 1.0
    assert few["weight_correlation"] < many["weight_correlation"]
    assert many["false"] <= Z * many["false_mcse"]
    bound = Z * errors_of_estimates(600)
    gap = np.abs(stored[1]["mean"] - stored[1]["true_weight"])
    assert (gap.sel(n=600) <= bound).all()
    assert (gap.sel(n=40) > bound).any()


def test_smaller_tables_are_the_first_rows_of_larger_ones(stored):
    tables = stored[2]
    assert [len(x) for x in tables] == SIZES * 3
    for few, many in zip(tables[::2], tables[1::2], strict=True):
        np.testing.assert_array_equal(few, many[:40])
    assert not np.array_equal(tables[1], tables[3])


def test_a_study_goes_on_with_more_replicates(stored):
    store, study, tables = stored
    n_before = len(tables)
    more = pmrf.plan_study(
        TRUTH, partial(build, tables=tables), SIZES, replicates=4, store=store, **OPTIONS
    )
    assert len(tables) == n_before + 2
    for name in study.data_vars:
        np.testing.assert_array_equal(more[name][:3], study[name])


def test_a_fit_can_be_sent_to_a_worker(stored):
    fit = partial(fit_study, study=Study(build, TRUTH, SIZES, "weight", 7, {**SAMPLING, **SHORT}))
    found = cloudpickle.loads(cloudpickle.dumps(fit))(1)
    np.testing.assert_array_equal(found["mean"], stored[1]["mean"][0, 1])


@pytest.mark.slow  # workers compile for themselves
def test_a_study_on_a_cluster_is_that_of_one_machine(stored):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        study = pmrf.plan_study(TRUTH, build, SIZES, replicates=2, client=client, **OPTIONS)
    expected = stored[1].isel(replicate=slice(2))
    xr.testing.assert_equal(study.drop_vars("seconds"), expected.drop_vars("seconds"))


def test_one_seed_gives_one_study(stored):
    again = pmrf.plan_study(TRUTH, build, SIZES, replicates=1, **OPTIONS)
    for name in ("inclusion", "mean", "strength"):
        np.testing.assert_array_equal(again[name][0], stored[1][name][0])


@pytest.mark.parametrize(
    "change", [{"random_seed": 8}, {"draws": 10}, {"sizes": [40, 500]}, {"truth": None}]
)
def test_the_store_of_another_study_is_refused(stored, change):
    truth = pmrf.BoltzmannMachine.dist(2 * WEIGHT, 0.0, graph=GRAPH) if "truth" in change else TRUTH
    options = {**OPTIONS, **{k: v for k, v in change.items() if k not in ("truth", "sizes")}}
    with pytest.raises(ValueError, match="pass another store"):
        pmrf.plan_study(truth, build, change.get("sizes", SIZES), store=stored[0], **options)


def test_the_log_tells_the_time_before_the_others_begin(caplog, monkeypatch):
    seconds = {0: 9.0, 1: 2.0, 2: 4.0}

    def told(function, seeds, **kwargs):
        results = {seed: fit(seconds.get(seed, 1.0)) for seed in seeds}
        assert ("take about" in caplog.text) == (min(seeds) > 0)
        return pmrf.runs.replicates.Replicates(results, {})

    def fit(seconds):
        names = "true_weight", "inclusion", "bayes_factor", "bayes_factor_bound", "mean"
        of_edges = dict.fromkeys(names, WEIGHT)
        return of_edges | dict.fromkeys(("true_strength", "strength"), np.ones(4)) | {"seconds": seconds}

    monkeypatch.setattr("pymc_mrf.runs.planning.replicate", told)
    with caplog.at_level(logging.INFO, "pymc.pymc_mrf"):
        study = pmrf.plan_study(TRUTH, build, [10, 20, 30], replicates=31, random_seed=1)
    # what the first fit took above the second is compilation
    assert (
        "90 more fits will take about 4 minutes; one takes 2.0 s with 10 rows, 2.0 s with" in caplog.text
    )
    assert study.sizes["replicate"] == 31


def test_truths_may_be_drawn(stored):
    def drawn(rng):
        return pmrf.BoltzmannMachine.dist(rng.normal(size=6), np.zeros(4), graph=GRAPH)

    study = pmrf.plan_study(drawn, build, [40], replicates=2, **OPTIONS)
    first, second = study["true_weight"].values
    assert not np.array_equal(first, second)
    assert not np.isin(first, np.random.default_rng(7).normal(size=6)).any()  # a user's own truth


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_rows_are_those_of_the_truth(states, rng):
    kind = pmrf.Ising if states[0] else pmrf.BoltzmannMachine
    weight, bias = np.array([0.7, 0.0, -0.5]), np.array([0.3, -0.2, 0.0])
    graph = pmrf.PairwiseGraph(range(3), [(2, 1), (0, 2), (1, 0)])  # not in the order of networkx
    truth = read_truth(kind.dist(weight, bias, graph=graph))
    x = np.stack(np.meshgrid(*[states] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    u, v = graph.edges.T
    p = np.exp((x[:, u] * x[:, v]) @ weight + x @ bias)
    rows = truth.rows(4000, rng)
    counts = [(rows == cell).all(axis=1).sum() for cell in x]
    assert_frequencies(counts, p / p.sum())
    wrong = np.exp((x[:, u] * x[:, v]) @ -weight + x @ bias)
    with pytest.raises(AssertionError):
        assert_frequencies(counts, wrong / wrong.sum())


def test_ordinal_truths_keep_numbers_of_states(rng):
    truth = read_truth(
        pmrf.OrdinalMRF.dist(0.3, np.zeros((3, 2)), graph=pmrf.graphs.chain(3), n_states=[3, 2, 3])
    )
    assert truth.rows(300, rng).max(axis=0).tolist() == [2, 1, 2]
    np.testing.assert_array_equal(truth.weight, [0.3, 0.3])


def measured(x):
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 0.5), shape=6)
        diagonal = pm.Gamma("diagonal", 2, 1, shape=4)
        pmrf.GaussianMRF("x", weight, diagonal, 2.0, graph=GRAPH, observed=x)
    return model


def test_a_study_of_measurements(rng):
    weight = np.array([0.5, 0.0, 0.0, -0.4, 0.0, 0.3])
    truth = pmrf.GaussianMRF.dist(weight, 1.0, 2.0, graph=GRAPH)
    options = {"prior_inclusion": 0.3, "random_seed": 1, "progressbar": False, **SHORT}
    study = pmrf.plan_study(truth, measured, [30, 400], replicates=1, **options)
    np.testing.assert_array_equal(study["true_weight"][0], weight)
    absence = 1 - study["inclusion"]  # of some edges 0 to all digits, which their Bayes factors are not
    odds = (study["inclusion"] / absence).where(absence > 1e-6)
    assert np.isfinite(study["bayes_factor"]).all() and odds.isnull().any()
    expected = (odds / (0.3 / 0.7)).fillna(study["bayes_factor"])
    np.testing.assert_allclose(study["bayes_factor"], expected, rtol=1e-6)
    assert np.abs(study["mean"].sel(n=400) - weight).max() < 0.3
    u, v = GRAPH.edges.T
    K = np.eye(4)
    K[u, v] = K[v, u] = -weight
    rows, S = read_truth(truth).rows(20000, rng), np.linalg.inv(K)
    variance = np.outer(np.diag(S), np.diag(S)) + S**2
    assert (np.abs(np.cov(rows.T) - S) < Z * np.sqrt(variance / 20000)).all()
    assert (np.abs(rows.mean(axis=0) - 2.0) < Z * np.sqrt(np.diag(S) / 20000)).all()


def test_weights_of_measurements_are_in_the_units_of_the_truth():
    """Fields that divide by what they see, and truths of other scales, tell of one network in one unit."""
    weight, scale = np.array([0.5, 0.0, 0.0, -0.4, 0.0, 0.3]), np.array([1e3, 1.0, 1e-3, 50.0])
    options = {"prior_inclusion": 0.3, "random_seed": 1, "progressbar": False, **SHORT}
    studies = []
    for own in (1.0, scale):
        truth = pmrf.GaussianMRF.dist(weight, 1.0, 2.0 * np.ones(4) * own, graph=GRAPH, scale=own)
        studies.append(pmrf.plan_study(truth, standard, [300], replicates=1, **options))
    one, other = studies
    np.testing.assert_array_equal(other["true_weight"], one["true_weight"])
    np.testing.assert_allclose(other["mean"], one["mean"], rtol=1e-6)
    np.testing.assert_allclose(other["strength"], one["strength"], rtol=1e-6)
    assert np.abs(one["mean"].sel(n=300) - weight).max() < 0.3


def standard(x):
    return pmrf.network_model(x, kind="continuous")


@pytest.mark.parametrize(
    ("truth", "prior", "error", "message"),
    [
        (pmrf.GaussianMRF.dist(0.1, 1.0, graph=GRAPH), 1.0, ValueError, "strictly between 0 and 1"),
        (
            pmrf.GaussianMRF.dist(0.1, 1.0, graph=GRAPH),
            [0.1] * 4,
            ValueError,
            "or 6, one per edge",
        ),
        (pmrf.GaussianMRF.dist(0.9, 1.0, graph=GRAPH), 0.5, ValueError, "not positive definite: give"),
        (
            pmrf.NominalMRF.dist(np.zeros(24), graph=GRAPH, n_states=3),
            None,
            TypeError,
            "truth is a NominalMRF.*pymc_mrf.replicate and pymc_mrf.analysis.edge_strength",
        ),
        (
            pmrf.KineticMRF.dist(0.0, 0.0, graph=pmrf.graphs.lagged(["a", "b"]), shape=(9, 2)),
            None,
            TypeError,
            "one number per edge, .*, or a function that makes one, not a KineticMRF$",
        ),
        ("Ising", None, TypeError, "or a function that makes one, not a str$"),
    ],
)
def test_other_truths_that_are_refused(truth, prior, error, message):
    with pytest.raises(error, match=message):
        pmrf.plan_study(truth, measured, [20], prior_inclusion=prior, random_seed=1)


def failing(x):
    raise ArithmeticError("no model")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"truth": WEIGHT}, TypeError, "truth must be a pairwise field"),
        ({"truth": pm.Normal.dist()}, TypeError, "truth must be a pairwise field"),
        ({"truth": pmrf.Ising.dist(WEIGHT, 0.0, graph=GRAPH, size=3)}, ValueError, "without size"),
        (
            {"truth": pmrf.Ising.dist(pm.Normal.dist(), 0.0, graph=GRAPH)},
            ValueError,
            "random parameters",
        ),
        ({"build": "model"}, TypeError, "build must be a function"),
        ({"sizes": [100, 50]}, ValueError, "increasing numbers of rows"),
        ({"sizes": []}, ValueError, "increasing numbers of rows"),
        ({"sizes": 100}, TypeError, "sizes must be a sequence"),
        ({"replicates": 0}, ValueError, "replicates must be a positive integer"),
        ({"random_seed": None, "store": "plan"}, ValueError, "random_seed must be given with a store"),
        ({"build": failing}, RuntimeError, "(?s)no fit of the first replicate succeeded.*no model"),
    ],
)
def test_refused(arguments, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        pmrf.plan_study(**{"truth": TRUTH, "build": build, "sizes": SIZES, **OPTIONS, **arguments})
