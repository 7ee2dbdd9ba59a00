"""Fields whose parameters differ between rows: predictions of rows, and networks at values of covariates."""

import itertools

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit, logsumexp

import pymc_mrf as pmrf
from tests.reference.gaussian import precision

GRAPH = pmrf.graphs.complete(4)
EDGES = GRAPH.edges.tolist()
N = 12
AGE = np.round(np.random.default_rng(5).normal(size=N), 1)
NEW_AGE = np.array([0.3, -2.0, 1.5])
IMPUTES = "ignore::pymc.exceptions.ImputationWarning"


def posterior(rng, **shapes):
    return {name: rng.normal(0, 0.7, (2, 3, *shape)) for name, shape in shapes.items()}


def draws_of(rng, x, **shapes):
    return az.from_dict({"posterior": posterior(rng, **shapes), "observed_data": {"x": x}})


def flat(idata, *names):
    return [idata.posterior[name].values.reshape(-1, *idata.posterior[name].shape[2:]) for name in names]


def ordinal_model(x, age, moderates):
    with pm.Model() as model:
        age = pm.Data("age", age)
        w, delta = pm.Normal("w", 0, 1, shape=6), pm.Normal("delta", 0, 1, shape=6)
        t, b = pm.Normal("t", 0, 1, shape=(4, 2)), pm.Normal("b", 0, 1, shape=4)
        weight = w + age[:, None] * delta if moderates else w
        threshold = t + (age[:, None] * b)[..., None] * np.arange(1, 3)
        pmrf.OrdinalMRF(
            "x", weight, threshold, graph=GRAPH, n_states=3, likelihood="exact",
            observed=np.ma.masked_invalid(x),
        )  # fmt: skip
    return model


def listed(w, t, row):
    """Probabilities (4, 3) of the cells of a row given its other known cells, by listing all states."""
    p = np.empty((4, 3))
    for i in range(4):
        free = [range(3) if j == i or np.isnan(row[j]) else [int(row[j])] for j in range(4)]
        logs = [[], [], []]
        for s in itertools.product(*free):
            value = sum(t[j, a - 1] for j, a in enumerate(s) if a > 0)
            logs[s[i]].append(value + sum(k * s[u] * s[v] for (u, v), k in zip(EDGES, w, strict=True)))
        total = np.array([logsumexp(one) for one in logs])
        p[i] = np.exp(total - logsumexp(total))
    return p


def expected(idata, x, age, moderates):
    w, delta, t, b = flat(idata, "w", "delta", "t", "b")
    rows = []
    for row, z in zip(x, age, strict=True):
        each = [
            listed(w[s] + moderates * z * delta[s], t[s] + z * b[s][:, None] * np.arange(1, 3), row)
            for s in range(len(w))
        ]
        rows.append(np.mean(each, axis=0))
    return np.array(rows)


@pytest.fixture
def states(rng):
    x = rng.integers(3, size=(N, 4)).astype(float)
    x[2, 1] = x[5, 0] = x[5, 3] = np.nan
    return x


@pytest.mark.filterwarnings(IMPUTES)
@pytest.mark.parametrize("moderates", [False, True])
def test_rows_are_predicted_by_their_own_parameters(rng, states, moderates, monkeypatch):
    from pymc_mrf.analysis import conditional_probabilities

    monkeypatch.setattr(conditional_probabilities, "MAX_CELLS", 300)  # some rows at a time
    model = ordinal_model(states, AGE, moderates)
    idata = draws_of(rng, states, w=(6,), delta=(6,), t=(4, 2), b=(4,))
    own = pmrf.predict_nodes(idata, "x", model=model)["probability"]
    np.testing.assert_allclose(own, expected(idata, states, AGE, moderates), atol=1e-12)
    new = states[3:6]
    given = {"data": new, "model": model, "covariates": {"age": NEW_AGE}}
    found = pmrf.predict_nodes(idata, "x", **given)
    of_new = expected(idata, new, NEW_AGE, moderates)
    np.testing.assert_allclose(found["probability"], of_new, atol=1e-12)
    explained = pmrf.predict_nodes(idata, "x", max_draws=2, **given)
    assert explained["accuracy"].shape == (2, 1, 4)
    found_of_lists = pmrf.predict_nodes(idata, "x", **given | {"data": new.tolist()})
    xr.testing.assert_equal(found, found_of_lists)
    all_alike = pmrf.predict_nodes(idata, "x", data=new, model=model, covariates={"age": 0.4})
    alike = expected(idata, new, [0.4] * 3, moderates)
    np.testing.assert_allclose(all_alike["probability"], alike, atol=1e-12)
    np.testing.assert_array_equal(model["age"].get_value(), AGE)  # the model is left alone
    with model:
        pm.set_data({"age": NEW_AGE})
        xr.testing.assert_equal(found, pmrf.predict_nodes(idata, "x", data=new))
    assert np.abs(found["probability"].values - own.values[3:6]).max() > 0.01


def test_measurements_with_means_and_weights_of_rows(rng):
    x = rng.normal(size=(N, 4))
    x[1, 2] = x[4, 0] = x[4, 1] = np.nan
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        age = pm.Data("age", AGE)
        w, delta = pm.Normal("w", 0, 0.1, shape=6), pm.Normal("delta", 0, 0.1, shape=6)
        m, b = pm.Normal("m", 0, 1, shape=4), pm.Normal("b", 0, 1, shape=4)
        a = pm.Gamma("a", 9, 3, shape=4)
        pmrf.GaussianMRF("x", w + age[:, None] * delta, a, m + age[:, None] * b, graph=GRAPH, observed=x)
    idata = draws_of(rng, x, w=(6,), delta=(6,), m=(4,), b=(4,), a=(4,))
    idata.posterior["a"] = 3.0 + np.abs(idata.posterior["a"])
    idata.posterior["w"], idata.posterior["delta"] = (
        idata.posterior["w"] / 5,
        idata.posterior["delta"] / 5,
    )
    w, delta, m, b, a = flat(idata, "w", "delta", "m", "b", "a")
    rows, ages = x[[1, 4, 7]], NEW_AGE / 2
    for data, z, given in ((x, AGE, {}), (rows, ages, {"data": rows, "covariates": {"age": ages}})):
        found = pmrf.predict_nodes(idata, "x", model=model, **given)
        for n, row in enumerate(data):
            means, variances = [], []
            for s in range(len(w)):
                S = np.linalg.inv(precision(EDGES, w[s] + z[n] * delta[s], a[s]))
                mu = m[s] + z[n] * b[s]
                of_cells = np.empty((2, 4))
                for i in range(4):
                    others = [j for j in range(4) if j != i and not np.isnan(row[j])]
                    B = S[i, others] @ np.linalg.inv(S[np.ix_(others, others)])
                    of_cells[:, i] = mu[i] + B @ (row - mu)[others], S[i, i] - B @ S[others, i]
                means.append(of_cells[0])
                variances.append(of_cells[1])
            np.testing.assert_allclose(found["mean"][n], np.mean(means, axis=0))
            sd = np.sqrt(np.mean(variances, axis=0) + np.var(means, axis=0))
            np.testing.assert_allclose(found["sd"][n], sd)


def test_mixed_fields_with_means_of_rows(rng):
    kinds = pmrf.fields.ColumnKinds(("a", "y", "z"), ("ordinal", "continuous", "continuous"), (3, 0, 0))
    graph = pmrf.graphs.complete(kinds.names)
    x = np.column_stack([rng.integers(3, size=N), rng.normal(size=(N, 2))])

    def declare(age, name="m"):
        with pm.Model() as model:
            age = pm.Data("age", age)
            w, t = pm.Normal("w", 0, 1, shape=3), pm.Normal("t", 0, 1, shape=(1, 3))
            m, b = pm.Normal("m", 0, 1, shape=2), pm.Normal("b", 0, 1, shape=2)
            mean = m + age[:, None] * b
            pmrf.MixedMRF("x", w, t, [2.0, 3.0], mean, graph=graph, kinds=kinds, observed=x)
        return model

    model, idata = declare(AGE), draws_of(rng, x, w=(3,), t=(1, 3), m=(2,), b=(2,))
    # a field whose means all rows share, at each row's own means
    found = pmrf.predict_nodes(idata, "x", model=model)
    for n in (0, 5):
        alike = pmrf.predict_nodes(idata, "x", data=x[[n]], model=model, covariates={"age": AGE[n]})
        np.testing.assert_allclose(found["probability"][n], alike["probability"][0])
        np.testing.assert_allclose(found["mean"][n], alike["mean"][0])
    # and by hand: of the first measurement given the rest
    w, m, b = flat(idata, "w", "m", "b")
    mean = m + AGE[5] * b
    of_y = mean[:, 0] + (w[:, 0] * (x[5, 0] - 1) + w[:, 2] * (x[5, 2] - mean[:, 1])) / 2.0
    np.testing.assert_allclose(found["mean"][5, 0], of_y.mean())


def moderated(x, site=None):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        on = pm.Data("on", AGE if site is None else site)
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), dims="edge")
        delta = pmrf.SpikeAndSlab("delta", 0.5, pm.Normal.dist(0, 1), dims="edge")
        pmrf.BoltzmannMachine(
            "x", w + on[:, None] * delta, 0.0, graph=GRAPH, observed=x, likelihood="exact"
        )
    return model


@pytest.mark.slow
def test_sampled_moderated_network(rng):
    """What is sampled is predicted, and its network at a value is read as any other."""
    x, site = rng.integers(2, size=(40, 4)), np.repeat([0.0, 1.0], 20)
    model = moderated(x, site)
    with model:
        idata = pm.sample(
            draws=20, tune=20, chains=2, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False, quiet=True,
        )  # fmt: skip
    w, delta = (idata.posterior[name] for name in ("w", "delta"))
    at = pmrf.network_at(idata, "x", {"on": 2.0}, model=model)
    assert at.dims == ("chain", "draw", "edge") and at.edge.values.tolist() == list(GRAPH.edge_labels)
    np.testing.assert_allclose(at, w.values + 2.0 * delta.values)
    idata.posterior["at"] = at
    table = pmrf.summarize_edges(idata, "at", graph=GRAPH, prior_inclusion=0.75, sort="graph")
    present = ((w != 0) | (delta != 0)).mean(("chain", "draw"))
    np.testing.assert_allclose(table["inclusion"], present)
    assert pmrf.median_graph(idata, "at", graph=GRAPH).number_of_edges() == (present > 0.5).sum()
    p = pmrf.predict_nodes(idata, "x", model=model)["probability"].values[..., 1]
    W = np.zeros((40, 2, 20, 4, 4))  # by the logistic regression of each node
    of_rows = w.values + site[:, None, None, None] * delta.values
    for e, (u, v) in enumerate(EDGES):
        W[..., u, v] = W[..., v, u] = of_rows[..., e]
    by_hand = expit(np.einsum("ncsij,nj->ncsi", W, x)).mean((1, 2))
    np.testing.assert_allclose(p, by_hand)


def test_networks_of_other_fields(rng):
    with pm.Model() as model:
        age = pm.Data("age", AGE)
        w, delta = pm.Normal("w", 0, 1, shape=6), pm.Normal("delta", 0, 1, shape=6)
        weight = w + age[:, None] * delta
        pmrf.GaussianMRF("y", weight, 9.0, 0.0, graph=GRAPH, observed=rng.normal(size=(N, 4)))
        pmrf.AgreementMRF(
            "z", pm.math.sigmoid(weight), graph=GRAPH, observed=rng.integers(2, size=(N, 4)),
            likelihood="exact",
        )  # fmt: skip
        arrows = pmrf.LaggedGraph("ab", [("a", "b"), ("b", "a")])
        of_time = w[:2] + age[:, None] * delta[:2]
        pmrf.KineticMRF("t", of_time, 0.0, graph=arrows, observed=rng.integers(2, size=(N, 2)))
    idata = az.from_dict({"posterior": posterior(rng, w=(6,), delta=(6,))})
    expected = idata.posterior["w"].values + 0.5 * idata.posterior["delta"].values
    for name in ("y", "z"):
        found = pmrf.network_at(idata, name, {"age": 0.5}, model=model)
        np.testing.assert_allclose(found, expected)
    assert found.name == "z_theta"
    found = pmrf.network_at(idata, "t", {"age": 0.5}, model=model)
    np.testing.assert_allclose(found, expected[..., :2])
    assert found.edge.values.tolist() == list(arrows.edge_labels)


@pytest.fixture(scope="module")
def answered():
    rng = np.random.default_rng(3)
    x = rng.integers(2, size=(N, 4))
    return moderated(x), draws_of(rng, x, w=(6,), delta=(6,)), x


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"covariates": None},
            ValueError,
            "x: weight, which differ between rows, have 12 rows, but data has 3: give those of the rows as "
            r'covariates={"on": ...}, or by pm.set_data',
        ),
        ({"covariates": {"on": AGE}}, ValueError, "have 12 rows, but data has 3"),
        (
            {"covariates": {"age": 1.0}},
            ValueError,
            "names 'age', which is no pm.Data behind .* 'on': decl",
        ),
        (
            {"covariates": {"on": np.ones((3, 2))}},
            ValueError,
            r"shape \(3, 2\), but the model holds one",
        ),
        (
            {"covariates": {"on": [1.0, np.nan, 2.0]}},
            ValueError,
            r"is nan at \[1\]: give finite numbers",
        ),
        ({"covariates": {"on": ["a", "b", "c"]}}, TypeError, "must be numbers"),
        ({"covariates": 40}, TypeError, "must be values of pm.Data by their names"),
        (
            {"covariates": {"on": pd.Series([1.0, 2.0, 3.0], index=[5, 6, 7])}},
            ValueError,
            r"covariates\['on'\]: its rows are labelled otherwise than those of data: use",
        ),
    ],
)
def test_covariates_that_do_not_fit_are_refused(answered, given, error, message):
    model, idata, x = answered
    rows = pd.DataFrame(x[:3], columns=GRAPH.nodes)
    with pytest.raises(error, match=message):
        pmrf.predict_nodes(idata, "x", data=rows, model=model, **given)


def test_networks_that_are_several_are_refused(answered):
    model, idata, _ = answered
    with pytest.raises(
        ValueError, match="weight at these covariates has 2 rows, but a network is that of"
    ):
        pmrf.network_at(idata, "x", {"on": [20.0, 40.0]}, model=model)
    with pytest.raises(ValueError, match="weight at the covariates of the model has 12 rows"):
        pmrf.network_at(idata, "x", {}, model=model)
    with pytest.raises(ValueError, match="'w' is no field"):
        pmrf.network_at(idata, "w", {"on": 1.0}, model=model)


def test_all_covariates_are_given_or_arrays_told(rng):
    x, sex = rng.integers(2, size=(N, 4)), np.arange(N) % 2

    def declare(sex):
        with pm.Model() as model:
            age = pm.Data("age", AGE)
            sex = pm.Data("sex", sex) if isinstance(sex, np.ndarray) else np.array(sex)
            w, b = pm.Normal("w", 0, 1, shape=6), pm.Normal("b", 0, 1, shape=4)
            bias = b + age[:, None] + sex[:, None] * b
            pmrf.BoltzmannMachine("x", w, bias, graph=GRAPH, observed=x, likelihood="exact")
        return model

    idata = draws_of(rng, x, w=(6,), b=(4,))
    given = {"data": x[:2], "covariates": {"age": [0.0, 1.0]}}
    with pytest.raises(ValueError, match="has 'age' for 2 rows in place of 12, but lacks 'sex'"):
        pmrf.predict_nodes(idata, "x", model=declare(sex), **given)
    with pytest.raises(ValueError, match=r"has something else of its own rows: declare the covariates"):
        pmrf.predict_nodes(idata, "x", model=declare(sex.tolist()), **given)
    given["covariates"]["sex"] = [0.5, 1]
    with pytest.raises(
        ValueError, match=r"covariates\['sex'\] is 0.5 at \[0\], but the model holds whole"
    ):
        pmrf.predict_nodes(idata, "x", model=declare(sex), **given)


def test_conditional_likelihoods_by_the_parameters_of_rows(rng):
    x = rng.integers(2, size=(N, 4))
    w, b = rng.normal(size=(1, 2, N, 6)), rng.normal(size=(1, 2, 4))
    dims = ("chain", "draw", "obs")
    edge = xr.DataArray(w, dims=(*dims, "edge"))
    node = xr.DataArray(b[:, :, None] * AGE[:, None], dims=(*dims, "node"))
    options = {"family": "boltzmann", "per_observation": True}
    functions = [
        pmrf.analysis.log_pseudo_likelihood,
        lambda x, graph, edge, **given: pmrf.analysis.conditional_log_likelihood(
            x, graph, edge, [0, 2], **given
        ),
    ]
    for score in functions:
        found = score(x, GRAPH, edge, node=node, **options)
        assert dict(found.sizes) == {"chain": 1, "draw": 2, "obs": N}
        for n in range(N):
            alone = score(x[[n]], GRAPH, edge[:, :, n], node=node[:, :, n], **options)
            np.testing.assert_allclose(found[:, :, n], alone[:, :, 0])
        of_nodes = score(x, GRAPH, edge[:, :, 0], node=node, **options)
        first = score(x[[0]], GRAPH, edge[:, :, 0], node=node[:, :, 0], **options)
        np.testing.assert_allclose(of_nodes[:, :, 0], first[:, :, 0])
        total = score(x, GRAPH, edge, node=node, family="boltzmann")
        np.testing.assert_allclose(total, found.sum("obs"))
    with pytest.raises(ValueError, match='parameters have 12 rows along "obs", but x has 3'):
        pmrf.analysis.log_pseudo_likelihood(x[:3], GRAPH, edge, node=node, family="boltzmann")
