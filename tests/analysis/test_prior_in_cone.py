"""The prior of Gaussian fields, cut to positive definite precisions, beside draws that are rejected."""

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.analysis.cone_prior import cone_prior
from pymc_mrf.analysis.prior_inclusion import difference_inclusion, log_prior_equal
from tests.marks import slow
from tests.reference.gaussian import precision
from tests.statistics import Z

TRIANGLE = pmrf.graphs.complete(3)
EDGES = TRIANGLE.edges.tolist()
X = np.random.default_rng(1).normal(size=(20, 3))


def model_of(p=0.4, groups=False):
    with pm.Model(coords=pmrf.coords(TRIANGLE)) as model:
        w = pmrf.SpikeAndSlab("weight", p, pm.Normal.dist(0, 1), dims="edge")
        diagonal, mean = pm.Gamma("diagonal", 2, 1, dims="node"), pm.Normal("mean", dims="node")
        if groups:
            delta = pmrf.SpikeAndSlab("delta", 0.3, pm.Normal.dist(0, 1), dims="edge")
            for name, factor in (("x", 0.5), ("y", -0.5)):
                pmrf.GaussianMRF(name, w + factor * delta, 1.0, mean, graph=TRIANGLE, observed=X)
        else:
            pmrf.GaussianMRF("x", w, diagonal, mean, graph=TRIANGLE, observed=X)
    return model


@pytest.fixture
def few_draws(monkeypatch):
    """Priors are as precise as the tolerance of a test asks for, not as Bayes factors do."""
    monkeypatch.setattr("pymc_mrf.analysis.cone_prior.MOST_DRAWS", 500)


def agrees(draws, expected, error=0.0):
    draws = draws.astype(float)
    return abs(float(draws.mean()) - expected) < Z * np.hypot(float(az.mcse(draws.values)), error)


def test_one_edge_of_a_known_diagonal():
    pair = pmrf.graphs.complete(2)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), shape=1)
        pmrf.GaussianMRF("x", w, 1.0, graph=pair, observed=X[:, :2])
    found = pmrf.analysis.prior_in_cone(model, draws=1000, random_seed=1)["w"][..., 0]
    inside = stats.norm.cdf(1) - stats.norm.cdf(-1)
    assert agrees(found != 0, inside / (1 + inside))
    assert not agrees(found != 0, 0.5)  # what the prior would be without the cone


@pytest.mark.slow
def test_diagonals_beside_rejected_draws():
    rng, n = np.random.default_rng(2), 200_000
    w = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.4)
    a = rng.gamma(2, 1, (n, 3))
    kept = np.linalg.eigvalsh(precision(EDGES, w, a))[:, 0] > 0
    found = pmrf.analysis.prior_in_cone(model_of(), draws=1000, random_seed=1)
    assert found["weight"].dims == ("chain", "draw", "edge") and set(found) == {"weight", "diagonal"}
    assert found["weight"].edge.values.tolist() == list(TRIANGLE.edge_labels)
    for e in range(3):
        p = (w[kept, e] != 0).mean()
        assert agrees(found["weight"][..., e] != 0, p, np.sqrt(p * (1 - p) / kept.sum()))
        mean, sd = a[kept, e].mean(), a[kept, e].std()
        assert agrees(found["diagonal"][..., e], mean, sd / np.sqrt(kept.sum()))


@pytest.mark.slow
def test_differences_of_groups():
    rng, n = np.random.default_rng(3), 200_000
    w = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.4)
    delta = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.3)
    kept = np.ones(n, dtype=bool)
    for factor in (0.5, -0.5):
        kept &= np.linalg.eigvalsh(precision(EDGES, w + factor * delta, np.ones(3)))[:, 0] > 0
    found = pmrf.analysis.prior_in_cone(model_of(groups=True), draws=1000, random_seed=1)
    equal = ~delta[kept].any(axis=1)
    assert agrees((found["delta"] == 0).all("edge"), equal.mean(), equal.std() / np.sqrt(kept.sum()))


@pytest.mark.slow
def test_priors_that_depend_on_other_variables():
    """Without data p is drawn by its conjugate step, the scale of the slab and one diagonal by slices."""
    rng, n = np.random.default_rng(4), 200_000
    with pm.Model(coords=pmrf.coords(TRIANGLE)) as model:
        p, scale = pm.Beta("p", 2, 2), pm.HalfNormal("scale", 1)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, scale), dims="edge")
        pmrf.GaussianMRF("x", w, pm.Gamma("diagonal", 2, 1), graph=TRIANGLE, observed=X)
    p, scale, a = rng.beta(2, 2, (n, 1)), np.abs(rng.normal(size=(n, 1))), rng.gamma(2, 1, (n, 1))
    w = rng.normal(size=(n, 3)) * scale * (rng.random((n, 3)) < p)
    kept = np.linalg.eigvalsh(precision(EDGES, w, np.repeat(a, 3, axis=1)))[:, 0] > 0
    found = pmrf.analysis.prior_in_cone(model, draws=400, random_seed=1)
    assert set(found) == {"p", "scale", "w", "diagonal"}
    for name, drawn in (("p", p), ("scale", scale), ("diagonal", a)):
        assert agrees(found[name], drawn[kept].mean(), drawn[kept].std() / np.sqrt(kept.sum()))
    prior = cone_prior(model, model["w"])
    for e in range(3):
        expected, share = (w[kept, e] != 0).mean(), prior.presence[..., e]
        assert abs(share.mean() - expected) < Z * np.hypot(
            float(az.mcse(share)), 0.5 / kept.sum() ** 0.5
        )
        assert share.mean() < 0.5 - Z * float(az.mcse(share))  # what it is without the cone


def test_found_once_for_every_prior(monkeypatch):
    before = model_of()
    first = cone_prior(before, before["weight"])
    monkeypatch.setattr("pymc_mrf.analysis.cone_prior._Walk", None)  # what is remembered needs none
    model = model_of()
    assert cone_prior(model, model["weight"]) is first
    other = model_of(p=0.41)
    with pytest.raises(TypeError):
        cone_prior(other, other["weight"])


def test_measurements_of_a_mixed_table():
    """Their edges have the prior of a Gaussian field, all others that of the `SpikeAndSlab`."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc")).assign(d=np.arange(20) % 3)
    kinds = pmrf.column_kinds(table, {"d": "ordinal"})
    graph = pmrf.graphs.complete(kinds.names)
    with pm.Model(coords=kinds.coords(graph)) as model:
        blocks = kinds.block_sizes(graph)
        w = pmrf.SpikeAndSlab("weight", 0.4, pm.Normal.dist(0, 1), blocks=blocks, dims="entry")
        diagonal = pm.Gamma("diagonal", 2, 1, dims="measurement")
        pmrf.MixedMRF("x", w, 0.0, diagonal, graph=graph, kinds=kinds, observed=table)
    alone = model_of()
    expected = cone_prior(alone, alone["weight"]).inclusion
    found = cone_prior(model, model["weight"]).inclusion
    is_measured = np.array(["d" not in label.split("--") for label in graph.edge_labels])
    np.testing.assert_allclose(found[is_measured], expected, atol=0.02)
    np.testing.assert_allclose(found[~is_measured], 0.4)


def mixed_groups(p=0.5, n_answers=2):
    """Three groups of a mixed table of two measurements and an answer."""
    rng, labels = np.random.default_rng(6), list("ABC")
    table = pd.DataFrame(rng.normal(size=(12, 2)), columns=list("ab")).assign(
        d=np.arange(12) % n_answers
    )
    kinds = pmrf.column_kinds(table, {"d": "nominal"})
    graph = pmrf.graphs.complete(kinds.names)
    with pm.Model(coords=kinds.coords(graph)) as model:
        options = {"blocks": kinds.block_sizes(graph), "dims": "entry"}
        w = pmrf.SpikeAndSlab("weight", 0.4, pm.Normal.dist(0, 1), **options)
        of_group = pmrf.group_weights(w, labels, p() if callable(p) else p, pm.Normal.dist(0, 1))
        for label in labels:
            own = {"graph": graph, "kinds": kinds, "observed": table}
            pmrf.MixedMRF(f"x_{label}", of_group[label], 0.0, np.ones(2), **own)
    return model, graph


def draws_of_groups(model, n, p=0.5, scale=1.0):
    """Draws of an edge between measurements, and of its differences (3, n), that the cone does not reject."""
    rng = np.random.default_rng(7)
    weight, each = rng.normal(size=n) * (rng.random(n) < 0.4), 1.0 - (1.0 - p) ** 0.5
    differences = scale * rng.normal(size=(3, n)) * (rng.random((3, n)) < each)
    contrasts = model["weight_contrasts"].get_value()
    kept = (np.abs(weight + contrasts @ differences) < 1.0).all(axis=0)
    return weight[kept], differences[:, kept], np.flatnonzero(contrasts[0] != contrasts[2])


@pytest.mark.parametrize("n_answers", [slow(2), 3], ids=["entries", "blocks"])
def test_groups_of_a_mixed_table(n_answers, few_draws):
    """Vectors that are parts of the weights of several fields, beside rejected draws; answers are not cut.

    An edge of an answer of three states has two entries, which are absent together.
    """
    model, graph = mixed_groups(n_answers=n_answers)
    weight, differences, apart = draws_of_groups(model, 400_000)
    differ = (differences[apart] != 0.0).any(axis=0).mean()
    names = ["weight_A", "weight_C"]
    is_measured = np.array([label == "a--b" for label in graph.edge_labels])
    found = difference_inclusion(model, names).mean(axis=0)
    np.testing.assert_allclose(found[is_measured], differ, atol=0.02)
    assert differ < 0.45  # without the cone it is .5, as it is of answers
    np.testing.assert_allclose(found[~is_measured], 0.5)
    equal = np.exp(log_prior_equal(model, names))
    np.testing.assert_allclose(equal, 0.25 * (1.0 - differ), atol=0.01)
    prior = cone_prior(model, model["weight"]).inclusion[model["weight"].owner.op.heads]
    np.testing.assert_allclose(prior[is_measured], (weight != 0.0).mean(), atol=0.02)
    np.testing.assert_allclose(prior[~is_measured], 0.4)


def test_other_priors_of_groups_of_a_mixed_table(few_draws):
    """Of draws without data all Bayes factors are 1; inclusion is that of rejected draws of the new prior."""
    model, graph = mixed_groups()
    (weight, differences, _), n = draws_of_groups(model, 12_000), 6000
    rng, at = np.random.default_rng(8), graph.edge_labels.index("a--b")
    each = 1.0 - 0.5**0.5
    p = np.array([0.4, each, each, each])[:, None, None]
    vectors = rng.normal(size=(4, n, 3)) * (rng.random((4, n, 3)) < p)
    vectors[0, :, at], vectors[1:, :, at] = weight[:n], differences[:, :n]
    names = ["weight", *(f"weight_difference_{j + 1}" for j in range(3))]
    posterior = {name: v.reshape(2, n // 2, 3) for name, v in zip(names, vectors, strict=True)}
    of_groups = model["weight_contrasts"].get_value()
    for label, row in zip("ABC", of_groups, strict=True):
        posterior[f"weight_{label}"] = posterior["weight"] + np.tensordot(
            row, vectors[1:].reshape(3, 2, n // 2, 3), axes=1
        )
    idata = az.from_dict({"posterior": posterior}, dims={name: ["entry"] for name in posterior},
                         coords={"entry": list(graph.edge_labels)})  # fmt: skip
    options = {"between": ["A", "C"], "model": model, "prior_inclusion": [0.6], "slab_scale": [1.5]}
    found = pmrf.prior_sensitivity(idata, "weight", **options).squeeze(drop=True)
    _, new, apart = draws_of_groups(model, 400_000, 0.6, 1.5)
    expected = np.full(3, 0.6)
    expected[at] = (new[apart] != 0.0).any(axis=0).mean()
    assert expected[at] < 0.5  # as the cone has it
    assert (np.abs(found.inclusion - expected) < Z * found.inclusion_mcse).all()
    np.testing.assert_allclose(np.log(found.bayes_factor), 0.0, atol=0.25)
    beta, _ = mixed_groups(lambda: pm.Beta("p_difference", 1, 1))
    with pytest.raises(ValueError, match=r"their prior depends on p_difference.*summarize_differences"):
        pmrf.prior_sensitivity(idata, "weight", **options | {"model": beta})


@pytest.mark.parametrize("has_communities", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_random_probabilities_of_a_mixed_table(has_communities, few_draws):
    """Of a slab that the cone does not cut all edges have the prior mean of their probability."""
    table = pd.DataFrame(X[:, :2], columns=list("ab")).assign(d=np.arange(20) % 2)
    kinds = pmrf.column_kinds(table, {"d": "ordinal"})
    graph = pmrf.graphs.complete(kinds.names)
    with pm.Model(coords=kinds.coords(graph)) as model:
        p = pm.Beta("p", 4, 2)
        if has_communities:
            same = pmrf.same_community(pmrf.EdgeCommunities("z", dims="node"), graph)
            p = pm.math.switch(same, p, pm.Beta("p_between", 1, 9))
        w = pmrf.SpikeAndSlab(
            "w", p, pm.Normal.dist(0, 0.01), blocks=kinds.block_sizes(graph), dims="entry"
        )
        pmrf.MixedMRF("x", w, 0.0, np.ones(2), graph=graph, kinds=kinds, observed=table)
    found = cone_prior(model, w).inclusion
    expected = np.full(len(found.T), 4.0 / 6.0)
    if has_communities:
        expected = (pm.draw(w, draws=20_000, random_seed=1) != 0.0).mean(axis=0)
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=0.04)
    with pytest.raises(ValueError, match=r"w: the weight of a MixedMRF, which .* if they are given"):
        pmrf.analysis.prior_in_cone(model)


def test_mixed_fields_of_other_edges_are_refused():
    table = pd.DataFrame(X[:, :2], columns=list("ab")).assign(d=np.arange(20) % 2)
    kinds = pmrf.column_kinds(table, {"d": "ordinal"})
    graph = pmrf.graphs.complete(kinds.names)
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", 0.4, pm.Normal.dist(0, 1), blocks=kinds.block_sizes(graph), shape=3)
        pmrf.MixedMRF("x", w, 0.0, np.ones(2), graph=graph, kinds=kinds, observed=table)
        part = pmrf.graphs.complete(["a", "b"])
        pmrf.GaussianMRF("y", w[:1], 1.0, graph=part, observed=table[["a", "b"]])
    with pytest.raises(ValueError, match=r"w is the weight of a MixedMRF .* and of other fields"):
        cone_prior(model, model["w"])


def test_refusals():
    with pm.Model():
        k = pm.Poisson("k", 2)
        w = pmrf.SpikeAndSlab("w", pm.math.sigmoid(-k), pm.Normal.dist(0, 1), shape=3)
        pmrf.GaussianMRF("x", w, 1.0, graph=TRIANGLE, observed=X)
        with pytest.raises(ValueError, match=r"depend on k, which is discrete.*give a number"):
            pmrf.analysis.prior_in_cone()
    with pm.Model(), pytest.raises(ValueError, match="no SpikeAndSlab that is the weight"):
        pmrf.analysis.prior_in_cone()
