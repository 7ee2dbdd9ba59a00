"""CommunityGibbs: agreement with enumeration and with the prior, step assignment, what is refused."""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.sampling.mcmc import assign_step_methods
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.steps.assign import register
from pymc_mrf.steps.hyper.community_gibbs import CommunityGibbs
from pymc_mrf.steps.hyper.conjugate_hyperparameters import ConjugateHyperparameters
from tests.reference.communities import partition_probabilities, posterior_of_partitions
from tests.reference.dirichlet_process import set_partitions
from tests.statistics import ALPHA, Z, assert_frequencies, chi_square_pvalue
from tests.steps.hyper.community_models import BETWEEN, GRAPH, SLAB, WITHIN, W, community_model

SAMPLE = {"progressbar": False, "quiet": True, "chains": 2, "cores": 1}
EDGES = GRAPH.edges.tolist()
PARTITIONS = set_partitions(4)


def field_model():
    with community_model(None) as model:
        x = np.random.default_rng(3).integers(2, size=(30, 4))
        pmrf.BoltzmannMachine("x", model["w"], graph=GRAPH, observed=x)
    return model


def counts_of(labels):
    index = {labels: i for i, labels in enumerate(PARTITIONS)}
    return np.bincount([index[tuple(row)] for row in labels.tolist()], minlength=len(PARTITIONS))


def chain_of(model, methods, n, seed, refresh=None):
    """Points of a chain, all `methods` applied in turn, and then `refresh`."""
    rng = np.random.default_rng(seed)
    for method in methods:
        method.setup_chain(rng.spawn(1)[0], 0, n)
    point, kept = model.initial_point(), []
    for _ in range(n):
        for method in methods:
            point, _ = method.step(point)
        if refresh is not None:
            point = refresh(point, rng)
        kept.append(point)
    return kept


def column(points, name):
    return np.array([point[name] for point in points])


@pytest.mark.parametrize("collapsed", [True, False])
@pytest.mark.ordinary("True")
def test_posterior_of_partitions(collapsed):
    """With the probabilities integrated out, and with another step for them."""
    model = community_model()
    with model:
        if collapsed:
            methods = [CommunityGibbs([model["z"], model["p_within"], model["p_between"]], n_rounds=8)]
        else:
            both = [model["p_within"], model["p_between"]]
            methods = [CommunityGibbs([model["z"]], n_rounds=1), ConjugateHyperparameters(both)]
    points = chain_of(model, methods, 1500 if collapsed else 4500, 1)
    thinned = points if collapsed else points[::6]
    prior = partition_probabilities(4, 0.8, 1.6)
    exact = posterior_of_partitions(prior, EDGES, W != 0, WITHIN, BETWEEN)
    counts = counts_of(column(thinned, "z"))
    assert_frequencies(counts, exact)
    assert chi_square_pvalue(counts, prior) < ALPHA  # negative control
    # p given the partition is Beta
    u, v = GRAPH.edges.T
    mean = 0.0
    for labels, weight in zip(np.array(PARTITIONS), exact, strict=True):
        same = labels[u] == labels[v]
        mean += weight * (2 + (W != 0)[same].sum()) / (3 + same.sum())
    p = 1 / (1 + np.exp(-column(points, "p_within_logodds__")))
    assert abs(p.mean() - mean) < Z * float(az.mcse(p[None]))


def test_probabilities_that_are_given():
    """Regression on whether the ends are in one community: nothing is integrated out."""

    def make_p(same, p_within, p_between):
        pm.Deterministic("unused", p_within + p_between)
        return pm.math.sigmoid(-0.5 + 1.5 * same + np.linspace(-1, 1, 6))

    model = community_model(make_p=make_p)
    with model:
        step = CommunityGibbs([model["z"]], n_rounds=8)
    counts = counts_of(column(chain_of(model, [step], 1500, 2), "z"))
    offset = -0.5 + np.linspace(-1, 1, 6)
    fixed = [(1 / (1 + np.exp(-o - 1.5)), 1 / (1 + np.exp(-o))) for o in offset]
    prior = partition_probabilities(4, 0.8, 1.6)
    assert_frequencies(counts, posterior_of_partitions(prior, EDGES, W != 0, WITHIN, BETWEEN, fixed))
    swapped = [f[::-1] for f in fixed]
    wrong = posterior_of_partitions(prior, EDGES, W != 0, WITHIN, BETWEEN, swapped)
    assert chi_square_pvalue(counts, wrong) < ALPHA


def test_two_vectors_of_edges():
    """Both count, the second one on some of the pairs only and with probabilities of its own."""
    few = pmrf.PairwiseGraph(range(4), [(2, 3), (1, 0)])
    with community_model() as model:
        same = pmrf.same_community(model["z"], few)
        p = pt.stack([0.2, 0.7])[pt.cast(same, "int64")]
        SpikeAndSlab("v", p, SLAB, shape=2, observed=np.array([1.0, 0.0]))
        step = CommunityGibbs([model["z"], model["p_between"], model["p_within"]], n_rounds=8)
    counts = counts_of(column(chain_of(model, [step], 1500, 3), "z"))
    edges, present = [*EDGES, (2, 3), (1, 0)], [*(W != 0), True, False]
    fixed = [None] * 6 + [(0.7, 0.2)] * 2
    prior = partition_probabilities(4, 0.8, 1.6)
    assert_frequencies(counts, posterior_of_partitions(prior, edges, present, WITHIN, BETWEEN, fixed))
    alone = posterior_of_partitions(prior, EDGES, W != 0, WITHIN, BETWEEN)
    assert chi_square_pvalue(counts, alone) < ALPHA


def test_communities_of_arrows():
    """Both directions of a pair, and arrows from nodes to themselves, within whatever the labels."""
    graph, w = pmrf.graphs.lagged(4), np.eye(4)
    w[[0, 1, 3], [1, 0, 2]] = 1.0
    model = community_model(w.ravel(), graph=graph)
    with model:
        step = CommunityGibbs([model["z"], model["p_between"], model["p_within"]], n_rounds=8)
    counts = counts_of(column(chain_of(model, [step], 1500, 5), "z"))
    edges, present = graph.edges.tolist(), w.ravel() != 0
    prior = partition_probabilities(4, 0.8, 1.6)
    assert_frequencies(counts, posterior_of_partitions(prior, edges, present, WITHIN, BETWEEN))
    proper = [e for e, (u, v) in enumerate(edges) if u != v]
    without = [edges[e] for e in proper], present[proper]
    assert chi_square_pvalue(counts, posterior_of_partitions(prior, *without, WITHIN, BETWEEN)) < ALPHA


@pytest.mark.slow
def test_joint_distribution():
    """The prior of everything is invariant under moves given edges that are redrawn (Geweke, 2004)."""
    model = community_model(None)
    with model:
        step = CommunityGibbs([model["z"], model["p_within"], model["p_between"]], n_rounds=2)
    u, v = GRAPH.edges.T

    def redraw_edges(point, rng, flip=False):
        p = {k: 1 / (1 + np.exp(-point[f"p_{k}_logodds__"])) for k in ("within", "between")}
        same = (point["z"][u] == point["z"][v]) ^ flip
        here = rng.random(6) < np.where(same, p["within"], p["between"])
        return {**point, "w": np.where(here, rng.standard_normal(6), 0.0)}

    points = chain_of(model, [step], 3000, 4, redraw_edges)[::4]
    prior = partition_probabilities(4, 0.8, 1.6)
    assert_frequencies(counts_of(column(points, "z")), prior)
    for name, (a, b) in (("p_within", WITHIN), ("p_between", BETWEEN)):
        p = 1 / (1 + np.exp(-column(points[::2], f"{name}_logodds__")))
        assert stats.kstest(p, stats.beta(a, b).cdf).pvalue > ALPHA
    wrong = chain_of(model, [step], 3000, 4, lambda *args: redraw_edges(*args, flip=True))[::4]
    assert chi_square_pvalue(counts_of(column(wrong, "z")), prior) < ALPHA  # negative control


def test_communities_are_found(rng):
    """Four clear communities of eight nodes each, from a start in one."""
    graph = pmrf.graphs.complete(32)
    truth = rng.integers(4, size=32)
    u, v = graph.edges.T
    w = np.where(rng.random(graph.n_edges) < np.where(truth[u] == truth[v], 0.7, 0.03), 1.0, 0.0)
    model = community_model(w, graph=graph)
    with model:
        idata = pm.sample(60, tune=60, random_seed=5, compute_convergence_checks=False, **SAMPLE)
    found = pmrf.point_grouping(idata, "z")
    assert float(pmrf.analysis.variation_of_information(found, truth)) < 0.1
    assert found.dims == ("node",)
    assert idata.sample_stats["community_gibbs_n"].equals(
        pmrf.n_groups(idata, "z").rename("community_gibbs_n")
    )
    assert 0.5 < float(idata.posterior["p_within"].mean()) < 0.85


def test_steps_are_assigned():
    model = field_model()
    with model:
        _, steps = assign_step_methods(model)
        mine = {model.values_to_rvs[value].name for value in steps[CommunityGibbs]}
    assert mine == {"z", "p_within", "p_between"}
    _, outside = assign_step_methods(model)
    assert [value.name for value in outside[CommunityGibbs]] == ["z"]


@pytest.mark.slow
def test_sampling_with_edges():
    with field_model() as model:
        idata = pm.sample(20, tune=20, random_seed=1, compute_convergence_checks=False, **SAMPLE)
    assert set(idata.posterior.data_vars) == {"z", "w", "p_within", "p_between"}
    assert (idata.posterior["z"].values[..., 0] == 0).all()
    table = pmrf.summarize_edges(idata, "w", graph=GRAPH, model=model)
    assert table.bayes_factor.notna().all()


def test_two_sets_of_communities():
    with community_model() as model:
        other = pmrf.EdgeCommunities("y", shape=4)
        q = pm.Beta("q", 1, 1)
        p = pm.math.switch(pmrf.same_community(other, GRAPH), q, 0.1)
        SpikeAndSlab("v", p, SLAB, shape=6, observed=W)
        names = ["z", "y", "p_within", "q", "p_between"]
        step = CommunityGibbs([model[name] for name in names])
        moved = [{model.values_to_rvs[value].name for value in part.vars} for part in step.methods]
    assert moved == [{"z", "p_within", "p_between"}, {"y", "q"}]


def feeds_a_normal(z, same, p):
    pm.Normal("other", z.astype("float64"), 1)
    return p


REFUSED = {
    "labels themselves": (lambda z, same, p: pt.exp(-1.0 - z[GRAPH.edges[:, 0]]), "cannot see it"),
    "beside the comparison": (lambda z, same, p: p * pt.exp(-z[0]), "cannot see it"),
    "largest label": (lambda z, same, p: p * 0.5 ** z.max(), "cannot see it"),
    "mean of all edges": (lambda z, same, p: pm.math.sigmoid(same.mean() + np.zeros(6)), "other nodes"),
    "shifted": (lambda z, same, p: p[::-1], "other nodes"),
    "two lists of pairs": (
        lambda z, same, p: pt.switch(pt.eq(z[GRAPH.edges[:, 0]], z[[3] * 6]), p, 0.5),
        "other nodes",
    ),
    "another variable": (feeds_a_normal, "but it feeds other"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_uses_of_labels_are_refused(name):
    change, message = REFUSED[name]
    with pm.Model(coords=pmrf.coords(GRAPH)):
        z = pmrf.EdgeCommunities("z", dims="node")
        same = pmrf.same_community(z, GRAPH)
        p = change(z, same, pm.math.switch(same, 0.5, 0.1))
        SpikeAndSlab("w", p, SLAB, dims="edge", observed=W)
        with pytest.raises(ValueError, match=rf"{message}.*by pymc_mrf\.same_community alone"):
            CommunityGibbs([z])


def test_labels_in_the_slab_are_refused():
    with pm.Model(coords=pmrf.coords(GRAPH)):
        z = pmrf.EdgeCommunities("z", dims="node")
        p = pm.math.switch(pmrf.same_community(z, GRAPH), 0.5, 0.1)
        SpikeAndSlab("w", p, pm.Normal.dist(0, 1.0 + z[3]), dims="edge", observed=W)
        with pytest.raises(ValueError, match="how each edge of w depends on z, and cannot see it"):
            CommunityGibbs([z])


def test_other_variables_are_refused():
    with community_model() as model:
        q = pm.Beta("q", 1, 1)
        SpikeAndSlab("v", q, SLAB, shape=2, observed=np.zeros(2))
        with pytest.raises(
            ValueError, match="samples an EdgeCommunities, and p_within is none: leave it"
        ):
            CommunityGibbs([model["p_within"]])
        with pytest.raises(
            ValueError, match=r"beside the labels z, .* q is none of these: leave it to pm"
        ):
            CommunityGibbs([model["z"], q])
        with pytest.raises(ValueError, match="n_rounds must be a positive integer, not 0"):
            CommunityGibbs([model["z"]], n_rounds=0)


def test_the_first_label_does_not_warn():
    """It is always 0, so that PyMC's check of convergence divides 0 by 0."""
    labels = np.random.default_rng(1).integers(0, 2, (2, 100, 3))
    labels[..., 0] = 0
    idata = az.from_dict({"posterior": {"z": labels}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="invalid value encountered in scalar divide"):
            az.rhat(idata)
        register()
        assert np.isnan(az.rhat(idata)["z"].values).tolist() == [True, False, False]
