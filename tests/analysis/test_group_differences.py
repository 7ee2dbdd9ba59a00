"""Differences between groups: enumeration of all structures, plain counts, refused input."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.analysis.prior_inclusion import N_DRAWS
from pymc_mrf.distributions.group_weights import group_contrasts
from tests.reference.group_contrasts import structures
from tests.statistics import Z

GRAPH = pmrf.graphs.chain(3)
COUNTS = np.array(
    [[[30, 12], [22, 20], [14, 28]], [[20, 22], [24, 18], [20, 22]]]
)  # edge, group, agree or not
GROUPS = "a", "b", "c"
NAMES = ["weight_a", "weight_b", "weight_c"]
SD = 0.6


def rows(group):
    """Spins of a chain whose edges agree as often as counted."""
    agreements = [np.repeat([1, -1], COUNTS[e, group]) for e in range(2)]
    agreements[1] = np.random.default_rng(group).permutation(agreements[1])
    return np.cumprod(np.column_stack([np.resize([1, -1], 42), *agreements]), axis=1)


def three_groups(**kwargs):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, SD), dims="edge")
        of_group = pmrf.group_weights(weight, GROUPS, 0.3, pm.Normal.dist(0, SD), **kwargs)
        for k, group in enumerate(GROUPS):
            pmrf.Ising(f"x_{group}", of_group[group], 0.0, graph=GRAPH, observed=rows(k))
    return model


@pytest.fixture(scope="module")
def sampled():
    model = three_groups()
    with model:
        idata = pm.sample(
            2000, tune=300, chains=2, cores=1, random_seed=3, progressbar=False, quiet=True
        )
    return model, idata


@pytest.fixture(scope="module")
def exact():
    return [structures(counts, group_contrasts(3), 0.5, 0.3, SD) for counts in COUNTS]


def probability(of_edge, holds):
    return sum(p for structure, (p, _) in of_edge.items() if holds(structure))


@pytest.mark.slow
def test_probabilities_of_edges_are_those_of_all_structures(sampled, exact):
    model, idata = sampled
    table = pmrf.summarize_differences(idata, NAMES, graph=GRAPH, model=model, sort="graph")
    expected = np.array([probability(edge, lambda s: any(s[1:])) for edge in exact])
    first_only = np.array([probability(edge, lambda s: s[1]) for edge in exact])
    error = table["inclusion_mcse"].to_numpy()
    assert np.all(np.abs(table["inclusion"] - expected) < Z * error)
    assert np.any(np.abs(table["inclusion"] - first_only) > Z * error)
    prior = 1 - 0.7**2
    odds = table["inclusion"] / (1 - table["inclusion"])
    np.testing.assert_allclose(table["bayes_factor"], odds * (1 - prior) / prior)
    weights = idata.posterior["weight_b"].mean(("chain", "draw"))
    np.testing.assert_allclose(table["weight_b"], weights)


@pytest.mark.slow
def test_probabilities_of_equal_networks_are_those_of_all_structures(sampled, exact):
    model, idata = sampled
    table = pmrf.compare_networks(idata, NAMES, graph=GRAPH, model=model)
    # of these contrasts the first is of a and b, the second of both with c
    all_equal = np.prod([probability(edge, lambda s: not any(s[1:])) for edge in exact])
    expected = {
        "weight_a - weight_b": np.prod([probability(edge, lambda s: not s[1]) for edge in exact]),
        "weight_a - weight_c": all_equal,
        "weight_b - weight_c": all_equal,
        "all": all_equal,
    }
    assert list(table.index) == list(expected)
    gap = np.abs(table["equal"] - list(expected.values()))
    assert np.all(gap < Z * table["equal_mcse"])
    assert expected["all"] < expected["weight_a - weight_b"] - Z * table["equal_mcse"].max()
    prior = table["prior_equal"].to_numpy()
    np.testing.assert_allclose(prior, np.array([0.7, 0.49, 0.49, 0.49]) ** 2)
    odds = table["equal"] / (1 - table["equal"])
    np.testing.assert_allclose(table["bayes_factor"], odds * (1 - prior) / prior)


@pytest.mark.slow
def test_difference_of_global_strength(sampled, exact):
    idata = sampled[1]
    table = pmrf.compare_networks(idata, NAMES, graph=GRAPH, ci_prob=0.9)
    assert "bayes_factor" not in table
    strength = sum(sum(p * mean for p, mean in edge.values()) for edge in exact)
    for (i, j), row in zip(((0, 1), (0, 2), (1, 2)), table.index, strict=False):
        gap = table.loc[row, "strength_difference"] - (strength[i] - strength[j])
        assert abs(gap) < Z * table.loc[row, "mcse_mean"]
    assert np.abs(strength[0] - strength[1]) > Z * table["mcse_mean"].max()
    less = np.abs(idata.posterior["weight_a"]).sum("edge") - np.abs(idata.posterior["weight_b"]).sum(
        "edge"
    )
    first = table.iloc[0]
    assert first["stronger"] == (less > 0).mean()
    np.testing.assert_allclose(first[["eti90_lb", "eti90_ub"]].tolist(), np.quantile(less, [0.05, 0.95]))
    assert np.isnan(table.loc["all", "strength_difference"])


def posterior(edges=None, **weights):
    variables = {name: np.asarray(w, dtype=float) for name, w in weights.items()}
    return az.from_dict(
        {"posterior": variables},
        dims={name: ["edge"] for name in variables},
        coords={"edge": list(edges or GRAPH.edge_labels)},
    )


@pytest.fixture
def two(rng):
    w = rng.normal(size=(2, 400, 2))
    return posterior(a=w, b=w + rng.normal(size=w.shape) * (rng.random(w.shape) < 0.2))


def test_two_groups_have_a_signed_difference(two):
    table = pmrf.summarize_differences(two, ["a", "b"], graph=GRAPH, prior_inclusion=0.5, sort="graph")
    less = (two.posterior["a"] - two.posterior["b"]).values
    np.testing.assert_allclose(table["mean"], less.mean(axis=(0, 1)))
    np.testing.assert_allclose(table["inclusion"], (less != 0).mean(axis=(0, 1)))
    networks = pmrf.compare_networks(two, ["a", "b"], graph=GRAPH, prior_equal=0.25)
    assert list(networks.index) == ["a - b"]
    equal = (less == 0).all(axis=-1).mean()
    np.testing.assert_allclose(networks["equal"], equal)
    np.testing.assert_allclose(networks["bayes_factor"], 3 * equal / (1 - equal))


def test_arrows_differ_as_edges_do(rng):
    graph = pmrf.graphs.lagged(list("ab"), links=True)
    w = rng.normal(size=(2, 40, 5))
    shift = rng.normal(size=w.shape) * (rng.random(w.shape) < 0.2)
    idata = posterior(graph.edge_labels, a=w, b=w + shift)
    table = pmrf.summarize_differences(idata, ["a", "b"], graph=graph, sort="graph")
    assert table.columns[:6].tolist() == ["source", "target", "lag", "a", "b", "mean"]
    np.testing.assert_allclose(table["inclusion"], (shift != 0).mean(axis=(0, 1)))
    equal = pmrf.compare_networks(idata, ["a", "b"], graph=graph).loc["a - b", "equal"]
    np.testing.assert_allclose(equal, (shift == 0).all(axis=-1).mean())


def test_the_value_of_several_groups_is_their_standard_deviation(rng):
    w = rng.normal(size=(3, 1, 50, 2))
    w[:, 0, :20] = w[0, 0, :20]
    table = pmrf.summarize_differences(
        posterior(a=w[0], b=w[1], c=w[2]), ["a", "b", "c"], graph=GRAPH, sort="graph"
    )
    np.testing.assert_allclose(table["mean"], w.std(axis=0).mean(axis=(0, 1)))
    np.testing.assert_allclose(table["inclusion"], 0.6)


def test_a_given_prior_is_that_of_pairs(rng):
    w = rng.normal(size=(3, 1, 200, 2))
    is_equal = np.isin(np.arange(200) % 5, (0, 2))
    w[:, :, is_equal] = w[0][:, is_equal]
    idata = posterior(a=w[0], b=w[1], c=w[2])
    table = pmrf.compare_networks(idata, ["a", "b", "c"], graph=GRAPH, prior_equal=0.5)
    np.testing.assert_allclose(table["prior_equal"], [0.5, 0.5, 0.5, np.nan])
    np.testing.assert_allclose(table["bayes_factor"], [0.4 / 0.6] * 3 + [np.nan])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_in_another_order_are_equal(rng, dtype):
    terms = rng.normal(size=(6, 2, 100, 2)).astype(dtype)
    forwards, backwards = sum(terms), sum(terms[::-1])
    assert (forwards != backwards).any()
    other = forwards.copy()
    other[:, ::4, 0] += np.array(0.01, dtype=dtype)
    idata = posterior(a=forwards, b=backwards, c=other)
    for name in "abc":
        idata.posterior[name] = idata.posterior[name].astype(dtype)
    options = {"graph": GRAPH, "sort": "graph"}
    table = pmrf.summarize_differences(idata, ["a", "b"], **options)
    assert (table["inclusion"] == 0.0).all() and (table["mean"] == 0.0).all()
    for names in (["b", "c"], ["a", "b", "c"]):
        table = pmrf.summarize_differences(idata, names, **options)
        np.testing.assert_allclose(table["inclusion"], [0.25, 0.0])
    with pytest.warns(UserWarning, match="equal in"):
        networks = pmrf.compare_networks(idata, ["a", "b", "c"], graph=GRAPH)
    np.testing.assert_allclose(networks["equal"], [1.0, 0.75, 0.75, 0.75])
    assert networks["stronger"].iloc[0] == 0.0
    assert networks["stronger"].iloc[1] <= 0.25


def test_a_rare_answer_is_told(rng):
    w = rng.normal(size=(2, 400, 2))
    other = w + 1.0
    other[0, :3] = w[0, :3]
    with pytest.warns(UserWarning, match=r"a - b: equal in 3 of 800 draws, so that about .* take more"):
        table = pmrf.compare_networks(posterior(a=w, b=other), ["a", "b"], graph=GRAPH)
    assert np.isnan(table["equal_bound"].iloc[0])
    with pytest.warns(UserWarning, match="equal in 0 of 800 draws"):
        table = pmrf.compare_networks(posterior(a=w, b=w + 1), ["a", "b"], graph=GRAPH, prior_equal=0.5)
    np.testing.assert_allclose(table["equal_bound"], 1 - 0.05 ** (1 / 800))
    assert table["bayes_factor"].iloc[0] == 0.0


def test_prior_probability_with_random_inclusion(two):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        p = pm.Beta("p", 1, 3)
        weight = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), dims="edge")
        pmrf.group_weights(weight, ["a", "b"], p, pm.Normal.dist(0, 1))
    two.posterior["w_a"], two.posterior["w_b"] = two.posterior["a"], two.posterior["b"]
    table = pmrf.compare_networks(two, ["w_a", "w_b"], graph=GRAPH, model=model)
    # both edges have the same p: E (1 - p)^2, not (E (1 - p))^2 = 0.5625
    assert table["prior_equal"].iloc[0] == pytest.approx(3 * 4 / (4 * 5), rel=1e-12)
    edges = pmrf.summarize_differences(two, ["w_a", "w_b"], graph=GRAPH, model=model)
    odds = edges["inclusion"] / (1 - edges["inclusion"])
    error = stats.beta(1, 3).std() / np.sqrt(N_DRAWS)  # of the prior probability 1 / 4
    np.testing.assert_allclose(edges["bayes_factor"], 3 * odds, rtol=Z * error / (0.25 * 0.75))


@pytest.mark.parametrize("p", [0.5, "beta", "two betas"])
def test_prior_probability_of_equality_of_many_edges(rng, p):
    graph = pmrf.graphs.complete(12)  # 66 edges: 1 - 2 ** -66 is 1
    with pm.Model(coords=pmrf.coords(graph)) as model:
        probability = {
            "beta": lambda: pm.Beta("p", 2, 2),
            "two betas": lambda: 0.5 * (pm.Beta("p", 2, 2) + pm.Beta("q", 2, 2)),
        }.get(p, lambda: p)()
        weight = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), dims="edge")
        pmrf.group_weights(weight, ["a", "b"], probability, pm.Normal.dist(0, 1))
    w = rng.normal(size=(2, 200, 66))
    other = w.copy()
    other[:, ::2, 0] += 1.0
    idata = az.from_dict(
        {"posterior": {"w_a": w, "w_b": other}},
        dims={"w_a": ["edge"], "w_b": ["edge"]},
        coords={"edge": list(graph.edge_labels)},
    )
    if p == "two betas":
        with pytest.warns(UserWarning, match="the mean of 10000 draws, with a standard error of .*%"):
            pmrf.compare_networks(idata, ["w_a", "w_b"], graph=graph, model=model)
        return
    table = pmrf.compare_networks(idata, ["w_a", "w_b"], graph=graph, model=model)
    # E (1 - p)^n of p ~ Beta(2, 2) is 6 / ((n + 2) (n + 3))
    prior = 0.5**66 if p == 0.5 else 6 / (68 * 69)
    assert table["equal"].iloc[0] == pytest.approx(0.5)
    np.testing.assert_allclose(table["prior_equal"], prior)
    np.testing.assert_allclose(table["bayes_factor"], (1 - prior) / prior)


def test_refused(two):
    with pytest.raises(ValueError, match="two or more groups"):
        pmrf.compare_networks(two, ["a"], graph=GRAPH)
    with pytest.raises(TypeError, match="var_names must be a sequence of names"):
        pmrf.summarize_differences(two, "a", graph=GRAPH)
    with pytest.raises(ValueError, match="prior_equal"):
        pmrf.compare_networks(two, ["a", "b"], graph=GRAPH, prior_equal=1.0)
    with pm.Model() as model:
        pm.Normal("a", shape=2)
    with pytest.raises(ValueError, match=r"no variable 'b': make it a pm\.Deterministic"):
        pmrf.compare_networks(two, ["a", "b"], graph=GRAPH, model=model)
    with model:
        pm.Normal("b", shape=2)
    with pytest.raises(ValueError, match="a is no free SpikeAndSlab"):
        pmrf.summarize_differences(two, ["a", "b"], graph=GRAPH, model=model)
    with pm.Model() as shifted:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), shape=2)
        pm.Deterministic("a", weight)
        pm.Deterministic("b", weight + 1.0)
    with pytest.raises(ValueError, match="differ by constants"):
        pmrf.compare_networks(two, ["a", "b"], graph=GRAPH, model=shifted)
