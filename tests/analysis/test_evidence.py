"""Probabilities of whole structures and clusterings, beside counts by hand and lists of all partitions."""

from collections import Counter

import arviz as az
import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.analysis.edges import edge_evidence, edge_inclusion
from tests.analysis.posteriors import as_posterior
from tests.statistics import Z

EDGES = ["a--b", "a--c", "b--c"]


def weights(rng, p, n_draws=500, n_chains=2):
    return np.where(rng.random((n_chains, n_draws, len(p))) < p, rng.normal(size=len(p)), 0.0)


def test_classes_of_edges():
    w = np.zeros((2, 500, 4))
    w[..., 0] = 1.0  # in all draws
    w[:, ::2, 1] = 1.0  # in half of them
    w[:, :460, 2] = 1.0  # Bayes factor 11.5
    idata = as_posterior(w)
    options = {"graph": pmrf.graphs.chain(5), "sort": "graph"}

    def classes(idata, **given):
        table = pmrf.summarize_edges(idata, "theta", prior_inclusion=0.5, **options, **given)
        return table["evidence"].tolist()

    assert classes(idata) == ["for", "undecided", "for", "against"]
    assert classes(idata, bounds=(1 / 3, 20)) == ["for", "undecided", "undecided", "against"]
    # of 8 draws, an edge in all of them is no strong evidence
    assert classes(as_posterior(w[:, :4])) == ["undecided"] * 4
    assert edge_evidence(idata, "theta", prior_inclusion=0.5).values.tolist() == classes(idata)
    with pytest.raises(ValueError, match="prior probability of theta is not known"):
        edge_evidence(idata, "theta")
    assert "evidence" not in pmrf.summarize_edges(idata, "theta", **options)
    for bounds in [(2, 10), (0.1, 0.5), (0.1,)]:
        with pytest.raises(ValueError, match="bounds"):
            classes(idata, bounds=bounds)


@pytest.mark.parametrize("p", [0.002, 0.998])
def test_a_bound_says_nothing_for_the_other_side(p):
    """Under extreme prior odds: of 120 draws without an edge its factor is 13 at most, which is no "for"."""
    w = np.zeros((2, 60, 3))
    w[..., 0] = 1.0
    w[..., 2] = np.arange(60) % 2
    table = pmrf.summarize_edges(
        as_posterior(w), "theta", graph=pmrf.graphs.chain(4), prior_inclusion=p, sort="graph"
    )
    said = [("beyond 10^4", "for"), ("not known", "undecided")]
    said = said if p < 0.5 else [("not known", "undecided"), ("below 10^-4", "against")]
    assert list(zip(table["bayes_factor_text"], table["evidence"], strict=True))[:2] == said
    least, most = edge_inclusion(as_posterior(w), "theta", prior_inclusion=p).bayes_factor_bound[:2]
    assert (most > 10.0) if p < 0.5 else (least < 0.1)


def test_structures_are_counted_as_wholes(rng):
    p = np.array([0.9, 0.6, 0.2])
    idata = as_posterior(w := weights(rng, p), EDGES)
    found = pmrf.analysis.structure_probabilities(idata, "theta")
    counted = Counter(tuple(np.array(EDGES)[row != 0]) for row in w.reshape(-1, 3))
    assert dict(zip(found["edges"], found["probability"], strict=True)) == {
        edges: count / 1000 for edges, count in counted.items()
    }
    assert found["probability"].is_monotonic_decreasing
    assert (found["n_edges"] == found["edges"].map(len)).all()
    exact = [
        np.prod([q if e in edges else 1 - q for e, q in zip(EDGES, p, strict=True)])
        for edges in found["edges"]
    ]
    assert (np.abs(found["probability"] - exact) < Z * found["probability_mcse"]).all()
    assert found.attrs == {"n_visited": len(counted), "unmatched": 0.0}
    assert len(pmrf.analysis.structure_probabilities(idata, "theta", n_structures=2)) == 2
    with pytest.raises(ValueError, match="n_structures"):
        pmrf.analysis.structure_probabilities(idata, "theta", n_structures=0)


def test_too_few_draws_for_structures_are_told(rng):
    idata = as_posterior(weights(rng, np.full(40, 0.5), 50))
    with pytest.warns(
        UserWarning, match=r"100 different structures of theta, and 100% .* no other chain"
    ):
        found = pmrf.analysis.structure_probabilities(idata, "theta")
    assert found.attrs["unmatched"] == 1.0


def test_number_of_edges(rng):
    graph = pmrf.graphs.complete(["a", "b", "c"])
    with pm.Model(coords=pmrf.coords(graph)) as model:
        pmrf.SpikeAndSlab("theta", 0.3, pm.Normal.dist(0, 1), dims="edge")
    idata = as_posterior(w := weights(rng, np.array([0.9, 0.6, 0.2])), EDGES)
    found = pmrf.analysis.complexity_probabilities(idata, "theta", model=model)
    shares = np.bincount((w != 0).sum(axis=-1).ravel(), minlength=4) / 1000
    np.testing.assert_allclose(found["probability"], shares)
    assert found.index.name == "n_edges" and found.index.tolist() == [0, 1, 2, 3]
    binomial = np.array([0.7**3, 3 * 0.3 * 0.7**2, 3 * 0.3**2 * 0.7, 0.3**3])
    error = np.sqrt(binomial * (1 - binomial) / 10_000)
    assert (np.abs(found["prior"] - binomial) < Z * error).all()
    assert "prior" not in pmrf.analysis.complexity_probabilities(idata, "theta")


PARTITIONS = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]


def clustered(rng, p):
    """Labels of draws from these probabilities of the partitions, under names of their own."""
    drawn = rng.choice(len(PARTITIONS), (2, 1000), p=p)
    z = np.array(PARTITIONS)[drawn]
    return az.from_dict(
        {"posterior": {"z": 7 - 2 * z}}, dims={"z": ["node"]}, coords={"node": list("abc")}
    )


def community_model(rate=1.0):
    with pm.Model(coords={"node": list("abc")}) as model:
        pmrf.EdgeCommunities("z", 1.0, rate, dims="node")
    return model


def prior_of_partitions(rate):
    """By the definition: K - 1 from Poisson given K > 0, proportions from Dirichlet(1, ..., 1)."""
    from scipy.special import gammaln

    probability = np.zeros(len(PARTITIONS))
    K = np.arange(1, 60)
    p_K = np.exp(K * np.log(rate) - gammaln(K + 1)) / np.expm1(rate)
    for i, z in enumerate(PARTITIONS):
        sizes = np.bincount(z)
        for k, weight in zip(K, p_K, strict=True):
            if k < len(sizes):
                continue
            named = np.prod([k - j for j in range(len(sizes))])  # ways to name the clusters
            together = np.exp(gammaln(k) - gammaln(k + 3) + sum(gammaln(1 + n) for n in sizes))
            probability[i] += weight * named * together
    return probability


@pytest.mark.parametrize("rate", [1.0, 3.0])
@pytest.mark.ordinary("3.0")
def test_clusterings_against_one_cluster(rng, rate):
    p = np.array([0.3, 0.4, 0.05, 0.2, 0.05])
    idata, prior = clustered(rng, p), prior_of_partitions(rate)
    assert np.isclose(prior.sum(), 1.0)
    found = pmrf.analysis.clustering_probabilities(idata, "z", model=community_model(rate))
    assert found["clusters"][0] == (("a", "b"), ("c",)) and found["n_clusters"][0] == 2
    order = np.argsort(-p, kind="stable")[:3]
    assert (np.abs(found["probability"][:3] - p[order]) < Z * found["probability_mcse"][:3]).all()
    one = found.loc[found["n_clusters"] == 1, "probability"].item()
    expected = found["probability"][:3] / one / (prior[order] / prior[0])
    np.testing.assert_allclose(found["bayes_factor"][:3], expected)

    counts = pmrf.analysis.cluster_evidence(idata, "z", model=community_model(rate))
    assert counts.index.tolist() == [1, 2, 3, "more than 1"]
    assert counts.loc[1, "bayes_factor"] == 1.0 and np.isclose(counts.loc[1, "prior"], prior[0])
    two = prior[1:4].sum()
    assert abs(counts.loc[2, "prior"] - two) < Z * np.sqrt(two * (1 - two) / 10_000)
    more = (1 - one) / one / ((1 - prior[0]) / prior[0])
    assert np.isclose(counts.loc["more than 1", "bayes_factor"], more)


def test_no_draw_with_one_cluster_is_told(rng):
    idata = clustered(rng, [0, 0.5, 0, 0.5, 0])
    with pytest.warns(UserWarning, match="no draw has one cluster"):
        found = pmrf.analysis.cluster_evidence(idata, "z", model=community_model())
    assert found.loc["more than 1", "bayes_factor"] == np.inf
    assert found.loc[1, "bayes_factor"] == 1.0


@pytest.mark.slow
def test_a_random_rate_is_averaged(rng):
    with pm.Model(coords={"node": list("abc")}) as model:
        rate = pm.Uniform("rate", 0.5, 4.0)
        pmrf.EdgeCommunities("z", 1.0, rate, dims="node")
    found = pmrf.analysis.cluster_evidence(clustered(rng, [0.5, 0.5, 0, 0, 0]), "z", model=model)
    grid = [prior_of_partitions(r)[0] for r in np.linspace(0.5, 4.0, 41)]
    mean = np.trapezoid(grid, np.linspace(0.0, 1.0, 41))
    assert abs(found.loc[1, "prior"] - mean) < Z * np.std(grid) / np.sqrt(1000) + 1e-4
    assert abs(found.loc[1, "prior"] - prior_of_partitions(0.5)[0]) > 0.02


def test_other_variables_have_no_clusterings(rng):
    labels = clustered(rng, [0.5, 0.5, 0, 0, 0])
    with pytest.raises(ValueError, match="no EdgeCommunities of the model"):
        pmrf.analysis.cluster_evidence(labels, "z", model=pm.Model())
    with pytest.raises(TypeError, match="integer labels"):
        pmrf.analysis.clustering_probabilities(
            as_posterior(weights(rng, [0.5] * 3)), "theta", model=pm.Model()
        )
