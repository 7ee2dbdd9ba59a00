"""Differences between groups: enumeration of all structures, plain counts, refused input."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import betaln

import pymc_mrf as pmrf
from pymc_mrf.analysis.prior_inclusion import N_DRAWS
from pymc_mrf.distributions.group_weights import group_contrasts
from tests.marks import slow
from tests.reference.group_contrasts import partition, structures
from tests.statistics import Z

GRAPH = pmrf.graphs.chain(3)
COUNTS = np.array(
    [[[30, 12], [22, 20], [14, 28]], [[20, 22], [24, 18], [20, 22]]]
)  # edge, group, agree or not
GROUPS = "a", "b", "c"
NAMES = ["weight_a", "weight_b", "weight_c"]
SD, P_DIFFERENCE = 0.6, 0.3


def rows(group, counts=COUNTS):
    """Spins of a chain whose edges agree as often as counted."""
    agreements = [np.repeat([1, -1], counts[e, group]) for e in range(2)]
    agreements[1] = np.random.default_rng(group).permutation(agreements[1])
    first = np.resize([1, -1], agreements[0].size)
    return np.cumprod(np.column_stack([first, *agreements]), axis=1)


def model_of_groups(groups=GROUPS, counts=COUNTS):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, SD), dims="edge")
        of_group = pmrf.group_weights(weight, groups, P_DIFFERENCE, pm.Normal.dist(0, SD))
        for k, group in enumerate(groups):
            pmrf.Ising(f"x_{group}", of_group[group], 0.0, graph=GRAPH, observed=rows(k, counts))
    return model


@pytest.fixture(scope="module")
def sampled():
    model = model_of_groups()
    with model:
        idata = pm.sample(
            2000, tune=300, chains=2, cores=1, random_seed=3, progressbar=False, quiet=True
        )
    return model, idata


@pytest.fixture(scope="module")
def exact():
    each = 1 - np.sqrt(1 - P_DIFFERENCE)  # two of three divisions part two groups
    return [structures(counts, group_contrasts(3), 0.5, each, SD) for counts in COUNTS]


def probability(of_edge, holds):
    """Posterior probability of the partitions, as classes of the groups, for which something holds."""
    contrasts = group_contrasts(3)
    return sum(p for structure, (p, _) in of_edge.items() if holds(partition(structure, contrasts)))


@pytest.mark.slow
def test_probabilities_of_edges_are_those_of_all_structures(sampled, exact):
    model, idata = sampled
    table = pmrf.summarize_differences(idata, "weight", graph=GRAPH, model=model, sort="graph")
    expected = np.array([probability(edge, lambda c: max(c) > 0) for edge in exact])
    two_only = np.array([probability(edge, lambda c: c[0] != c[1]) for edge in exact])
    error = table["inclusion_mcse"].to_numpy()
    assert np.all(np.abs(table["inclusion"] - expected) < Z * error)
    assert np.any(np.abs(table["inclusion"] - two_only) > Z * error)
    prior = 1 - (1 - P_DIFFERENCE) ** 1.5
    odds = table["inclusion"] / (1 - table["inclusion"])
    np.testing.assert_allclose(table["bayes_factor"], odds * (1 - prior) / prior)
    weights = idata.posterior["weight_b"].mean(("chain", "draw"))
    np.testing.assert_allclose(table["weight[b]"], weights)
    by_name = pmrf.summarize_differences(idata, NAMES, graph=GRAPH, model=model, sort="graph")
    # the draws are counted then, which is less sure
    gap = table["inclusion"] - by_name["inclusion"]
    assert np.all(np.abs(gap) < Z * by_name["inclusion_mcse"])
    assert np.all(error < by_name["inclusion_mcse"])
    np.testing.assert_allclose(table["weight[c]"], by_name["weight_c"])


@pytest.mark.slow
def test_two_groups_may_be_equal_where_the_third_differs(sampled, exact):
    model, idata = sampled
    options = {"graph": GRAPH, "model": model, "sort": "graph"}
    for u, v in ((0, 1), (0, 2), (1, 2)):
        pair = [GROUPS[u], GROUPS[v]]
        table = pmrf.summarize_differences(idata, "weight", between=pair, **options)
        expected = np.array([probability(edge, lambda c, u=u, v=v: c[u] != c[v]) for edge in exact])
        assert np.all(np.abs(table["inclusion"] - expected) < Z * table["inclusion_mcse"])
        odds = table["inclusion"] / (1 - table["inclusion"])
        np.testing.assert_allclose(table["bayes_factor"], odds * (1 - P_DIFFERENCE) / P_DIFFERENCE)
        less = idata.posterior[f"weight_{pair[0]}"] - idata.posterior[f"weight_{pair[1]}"]
        np.testing.assert_allclose(table["mean"], less.mean(("chain", "draw")), atol=1e-12)


@pytest.mark.slow
def test_two_groups_have_the_evidence_that_their_step_told():
    counts = np.array([[[110, 40], [38, 112]], [[80, 70], [78, 72]]])
    model = model_of_groups(["day", "night"], counts)
    with model:
        idata = pm.sample(
            1000, tune=300, chains=2, cores=1, random_seed=5, progressbar=False, quiet=True
        )
    exact = []
    for of_edge in counts:
        found = structures(of_edge, group_contrasts(2), 0.5, P_DIFFERENCE, SD, n_points=801)
        apart = sum(p for (_, differs), (p, _) in found.items() if differs)
        same = sum(p for (_, differs), (p, _) in found.items() if not differs)
        exact.append(np.log10(apart / same * (1 - P_DIFFERENCE) / P_DIFFERENCE))
    options = {"graph": GRAPH, "model": model, "sort": "graph"}
    table = pmrf.summarize_differences(idata, "weight", **options)
    gap = np.abs(table["log10_bayes_factor"] - exact)
    assert np.all(gap < Z * table["log10_bayes_factor_mcse"])
    assert exact[0] > 6 and exact[1] < 0
    # negative control: without what the step told, no draw shows the first edge equal
    counted = pmrf.summarize_differences(idata, ["weight_day", "weight_night"], **options)
    assert counted["bayes_factor"].iloc[0] == np.inf


@pytest.mark.slow
def test_other_priors_of_differences_are_those_of_their_structures(sampled):
    model, idata = sampled
    other, scale = 0.6, 0.5
    options = {"prior_inclusion": [P_DIFFERENCE, other], "slab_scale": [scale, 1.0], "model": model}
    found = pmrf.prior_sensitivity(idata, "weight", between=["c", "a"], **options)
    counted = ["weight_a", "weight_c"]
    plain = pmrf.summarize_differences(idata, counted, graph=GRAPH, sort="graph")
    as_sampled = found.sel(prior_inclusion=P_DIFFERENCE, slab_scale=1.0)
    np.testing.assert_allclose(as_sampled.inclusion, plain["inclusion"])
    np.testing.assert_allclose(as_sampled.inclusion_mcse, plain["inclusion_mcse"])
    each = 1 - np.sqrt(1 - other)
    expected = []
    for counts in COUNTS:
        # the weight that groups have in common keeps its slab
        factors = np.array(group_contrasts(3)) * scale
        of_edge = structures(counts, factors, 0.5, each, SD)
        expected.append(probability(of_edge, lambda c: c[0] != c[2]))
    reweighted = found.sel(prior_inclusion=other, slab_scale=scale)
    assert np.all(np.abs(reweighted.inclusion - expected) < Z * reweighted.inclusion_mcse)
    assert np.any(np.abs(as_sampled.inclusion - expected) > Z * reweighted.inclusion_mcse)
    odds = reweighted.inclusion / (1 - reweighted.inclusion)
    np.testing.assert_allclose(reweighted.bayes_factor, odds * (1 - other) / other)


@pytest.mark.slow
def test_probabilities_of_equal_networks_are_those_of_all_structures(sampled, exact):
    model, idata = sampled
    table = pmrf.compare_networks(idata, "weight", graph=GRAPH, model=model)
    expected = {
        "a - b": np.prod([probability(edge, lambda c: c[0] == c[1]) for edge in exact]),
        "a - c": np.prod([probability(edge, lambda c: c[0] == c[2]) for edge in exact]),
        "b - c": np.prod([probability(edge, lambda c: c[1] == c[2]) for edge in exact]),
        "all": np.prod([probability(edge, lambda c: max(c) == 0) for edge in exact]),
    }
    assert list(table.index) == list(expected)
    gap = np.abs(table["equal"] - list(expected.values()))
    assert np.all(gap < Z * table["equal_mcse"])
    assert expected["all"] < expected["a - b"] - Z * table["equal_mcse"].max()
    prior = table["prior_equal"].to_numpy()
    np.testing.assert_allclose(prior, (1 - P_DIFFERENCE) ** (2 * np.array([1, 1, 1, 1.5])))
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


@pytest.mark.parametrize("n_groups", [slow(3), 4])
def test_prior_probabilities_of_several_groups_are_those_of_draws(n_groups):
    labels, n = ["a/b", 2.0, True, None][:n_groups], 1000
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), dims="edge")
        p = pm.Beta("p", 2, 6)
        pmrf.group_weights(weight, labels, p, pm.Normal.dist(0, 1))
        prior = pm.sample_prior_predictive(n, random_seed=1)
    prior["posterior"] = prior["prior"]
    table = pmrf.compare_networks(prior, "w", graph=GRAPH, model=model)
    # E (1 - p)^n of two edges, n = 2 for a pair, 2 (2 - 2 ** (2 - k)) for all groups
    expected = [betaln(2, 6 + n) - betaln(2, 6) for n in (2, 4 - 2.0 ** (3 - n_groups))]
    np.testing.assert_allclose(
        table["prior_equal"], np.exp(expected[:1] * (len(table) - 1) + expected[1:])
    )
    assert np.all(np.abs(table["equal"] - table["prior_equal"]) < Z * np.sqrt(0.25 / n))
    pair = pmrf.summarize_differences(prior, "w", graph=GRAPH, between=["a/b", 2.0], model=model)
    np.testing.assert_allclose(pair["inclusion"], 0.25, atol=Z * np.sqrt(0.25 * 0.75 / n))
    np.testing.assert_allclose(pair["bayes_factor"], 1.0, atol=0.5)
    assert list(table.index[:2]) == ["a/b - 2.0", "a/b - True"]


def test_strengths_of_edges_with_tables(rng):
    kinds = pmrf.fields.ColumnKinds(("a", "b", "c"), ("nominal", "ordinal", "continuous"), (3, 2, 0))
    graph = pmrf.graphs.complete(kinds.names)
    blocks = kinds.block_sizes(graph)
    with pm.Model(coords=kinds.coords(graph)) as model:
        weight = pmrf.SpikeAndSlab("w", 0.5, pm.Normal.dist(0, 1), blocks=blocks, dims="entry")
        pmrf.group_weights(weight, ["x", "y", "z"], 0.4, pm.Normal.dist(0, 1))
        prior = pm.sample_prior_predictive(2000, random_seed=1)
    prior["posterior"] = prior["prior"]
    options = {"graph": graph, "n_states": kinds, "model": model}
    table = pmrf.summarize_differences(prior, "w", between=["x", "z"], sort="graph", **options)
    assert table.index.tolist() == list(graph.edge_labels)
    np.testing.assert_allclose(table["inclusion"], 0.4, atol=Z * np.sqrt(0.24 / 2000))
    prior.posterior["less"] = prior.posterior["w_x"] - prior.posterior["w_z"]
    strength = pmrf.analysis.edge_strength(prior, "less", graph=graph, n_states=kinds)
    np.testing.assert_allclose(table["mean"], strength.mean(("chain", "draw")), atol=1e-9)
    of_x = pmrf.analysis.edge_strength(prior, "w_x", graph=graph, n_states=kinds).mean(("chain", "draw"))
    np.testing.assert_allclose(table["w[x]"], of_x)
    every = pmrf.summarize_differences(prior, "w", sort="graph", **options)
    np.testing.assert_allclose(every["inclusion"], 1 - 0.6**1.5, atol=Z * np.sqrt(0.25 / 2000))
    networks = pmrf.compare_networks(prior, "w", **options)
    np.testing.assert_allclose(networks["prior_equal"], [0.6**3] * 3 + [0.6**4.5])
    np.testing.assert_allclose(networks["equal"], networks["prior_equal"], atol=Z * np.sqrt(0.25 / 2000))
    with pytest.raises(ValueError, match=r"several entries|entries but the graph"):
        pmrf.compare_networks(prior, "w", graph=graph)


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
        pmrf.summarize_differences(two, 1, graph=GRAPH)
    with pytest.raises(ValueError, match=r"var_names='a' is no vector that .*group_weights gave groups"):
        pmrf.summarize_differences(two, "a", graph=GRAPH)
    with pytest.raises(ValueError, match="between names 'c', but the groups are 'a', 'b'"):
        pmrf.summarize_differences(two, ["a", "b"], between=["a", "c"], graph=GRAPH)
    with pytest.raises(ValueError, match="between must name two or more different groups"):
        pmrf.summarize_differences(two, ["a", "b"], between=["a"], graph=GRAPH)
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
