"""EdgeCommunities: density and draws against enumeration, arguments."""

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.edge_communities import EdgeCommunities, same_community
from tests.reference.communities import partition_probabilities
from tests.reference.dirichlet_process import set_partitions
from tests.statistics import ALPHA, assert_frequencies, chi_square_pvalue

GRAPH = pmrf.graphs.complete(4)


@pytest.mark.parametrize(
    ("d", "gamma", "rate"), [(1, 1.0, 1.0), (3, 0.3, 2.0), (4, 1.0, 0.5), (5, 2.5, 1.0)]
)
def test_density_of_every_partition(d, gamma, rate):
    z = EdgeCommunities.dist(gamma, rate, shape=d)
    value = z.type("value")
    logp = pytensor.function([value], pm.logp(z, value))
    found = [logp(np.array(labels)) for labels in set_partitions(d)]
    np.testing.assert_allclose(np.exp(found), partition_probabilities(d, gamma, rate, 22), rtol=1e-8)


def test_large_rates_and_many_nodes():
    """The sum over the number of communities is long enough: probabilities of two nodes add up to 1."""
    gamma, rate = pt.dscalar(), pt.dscalar()
    z = EdgeCommunities.dist(gamma, rate, shape=2)
    value = z.type("value")
    logp = pytensor.function([gamma, rate, value], pm.logp(z, value))
    for g in (0.01, 1.0, 30.0):
        for r in (1e-3, 1.0, 50.0):
            assert sum(np.exp(logp(g, r, np.array(v))) for v in ([0, 0], [0, 1])) == pytest.approx(1.0)
    d = 300
    z = EdgeCommunities.dist(0.5, 50.0, shape=d)
    assert np.isfinite(pm.logp(z, pt.constant(np.arange(d))).eval())


def test_labels_out_of_order_are_impossible():
    z = EdgeCommunities.dist(shape=3)
    value = z.type("value")
    logp = pytensor.function([value], pm.logp(z, value))
    for labels in ([1, 0, 0], [0, 2, 1], [0, 0, 2], [-1, 0, 0]):
        assert logp(np.array(labels)) == -np.inf


@pytest.mark.parametrize(
    "mode", [pytest.param("compiled", marks=[pytest.mark.compiled, pytest.mark.slow]), "python"]
)
def test_draws(mode):
    draws = pm.draw(EdgeCommunities.dist(0.7, 1.5, shape=4), draws=3000, random_seed=4)
    partitions = set_partitions(4)
    index = {labels: i for i, labels in enumerate(partitions)}
    counts = np.bincount([index[tuple(row)] for row in draws.tolist()], minlength=len(partitions))
    assert_frequencies(counts, partition_probabilities(4, 0.7, 1.5))
    assert chi_square_pvalue(counts, partition_probabilities(4, 3.0, 1.5)) < ALPHA


def test_prior_predictive_draws():
    with pm.Model(coords=pmrf.coords(GRAPH)):
        community = EdgeCommunities("community", dims="node")
        p = pm.math.switch(same_community(community, GRAPH), 0.999, 0.001)
        pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, 1), dims="edge")
        draws = pm.sample_prior_predictive(200, random_seed=1)
    assert draws.prior["community"].dims == ("chain", "draw", "node")
    labels, w = draws.prior["community"].values[0], draws.prior["w"].values[0]
    u, v = GRAPH.edges.T
    assert ((w != 0) == (labels[:, u] == labels[:, v])).mean() > 0.99
    assert pmrf.co_clustering(draws, "community", group="prior").dims == ("node", "node_bis")
    assert pmrf.n_groups(draws, "community", group="prior").max() > 1


def test_parameters_may_be_random_and_have_gradients():
    with pm.Model() as model:
        gamma, rate = pm.Exponential("gamma", 1.0), pm.Gamma("rate", 2.0, 1.0)
        EdgeCommunities("z", gamma, rate, observed=np.array([0, 0, 1, 0, 2]))
    logp, dlogp = model.compile_logp(), model.compile_dlogp()
    point, h = {"gamma_log__": np.array(0.3), "rate_log__": np.array(-0.2)}, 1e-5
    for i, name in enumerate(point):
        up, down = ({**point, name: point[name] + s * h} for s in (1, -1))
        assert dlogp(point)[i] == pytest.approx((logp(up) - logp(down)) / (2 * h), rel=1e-5)


def test_dims_pickle_start_and_name():
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        z = EdgeCommunities("community", dims="node")
    assert model.named_vars_to_dims["community"] == ("node",)
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["community"].owner.op == z.owner.op
    np.testing.assert_array_equal(model.initial_point()["community"], np.zeros(4))
    assert "EdgeCommunities" in model.str_repr()


def test_equal_labels():
    same = same_community(np.array([0, 1, 0, 1]), GRAPH).eval()
    np.testing.assert_array_equal(same, [False, True, False, False, True, False])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"concentration": 0.0}, "concentration must be positive and finite, not 0"),
        ({"concentration": np.inf}, "concentration must be positive and finite, not inf"),
        ({"rate": 0}, "rate must be above 0 and at most 50, not 0"),
        ({"rate": 51.0}, "rate must be above 0 and at most 50, not 51"),
        ({"rate": np.nan}, "rate must be above 0 and at most 50, not nan"),
        ({"rate": np.ones(2)}, "rate must be a scalar, but it has 1 dimensions"),
        ({"concentration": "1"}, "concentration must be numeric"),
        ({"shape": (2, 3)}, r"one vector with an entry for each node, not \(2, 3\)"),
        ({"shape": None}, "does not give the number of entries"),
        ({"shape": 0}, "has no entries"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        EdgeCommunities.dist(**{"shape": 4, **arguments})


def test_bad_labels_and_dims():
    with pytest.raises(ValueError, match=r"one label for each of the 4 nodes .* its shape is \(3,\)"):
        same_community(np.zeros(3, int), GRAPH)
    with pytest.raises(TypeError, match=r"graph must be a networkx\.Graph"):
        same_community(np.zeros(3, int), [(0, 1)])
    with pm.Model():
        with pytest.raises(ValueError, match="'node', which is no dimension of the model"):
            EdgeCommunities("z", dims="node")
        with pytest.raises(ValueError, match="its last dimension must be 4"):
            EdgeCommunities("z", shape=4, observed=np.zeros(3, int))
