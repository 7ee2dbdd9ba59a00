"""Fields as PyMC distributions: shapes, predictive checks, observed data, what is refused."""

import warnings

import arviz as az
import cloudpickle
import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_mrf.distributions.mrf import AgreementMRF, BoltzmannMachine, Ising
from pymc_mrf.distributions.multistate import OrdinalMRF, Potts
from pymc_mrf.graph import builders
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph
from tests.distributions.routes import FIND_MAP
from tests.reference import enumeration
from tests.statistics import Z

GRAPH = PairwiseGraph("abcd", [("a", "b"), ("c", "b"), ("c", "a")])


@pytest.mark.slow
def test_nuts_with_hierarchical_prior_and_predictive_groups():
    x = pm.draw(Ising.dist(0.4, 0.1, graph=GRAPH, size=(60,)), random_seed=1)
    with pm.Model(coords={**coords(GRAPH), "obs": range(60)}) as model:
        scale = pm.HalfNormal("scale", 1.0)
        z = pm.Normal("z", 0, 1, dims="edge")
        Ising(
            "x",
            scale * z,
            graph=GRAPH,
            observed=x,
            likelihood="pseudo",
            n_sweeps=20,
            dims=("obs", "node"),
        )
        prior = pm.sample_prior_predictive(3, random_seed=1)
        idata = pm.sample(50, tune=50, chains=2, cores=2, random_seed=1, progressbar=False, quiet=True)
        with pytest.warns(UserWarning, match="log-likelihood of x is NaN"):
            pm.compute_log_likelihood(idata, progressbar=False)
        predictive = pm.sample_posterior_predictive(idata, random_seed=1, progressbar=False)
    assert prior.prior_predictive.x.dims == ("chain", "draw", "obs", "node")
    assert predictive.posterior_predictive.x.shape == (2, 50, 60, 4)
    assert set(np.unique(predictive.posterior_predictive.x)) == {-1, 1}
    assert idata.log_likelihood.x.shape == (2, 50, 60)
    assert np.all(np.isnan(idata.log_likelihood.x))
    assert np.all(np.isfinite(idata.posterior.scale))
    again = cloudpickle.loads(cloudpickle.dumps(model))
    np.testing.assert_allclose(
        again.compile_logp()(again.initial_point()), model.compile_logp()(model.initial_point())
    )


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
@pytest.mark.parametrize("dtype", [int, float])
def test_fields_without_any_observed_cell_are_latent(shape, dtype):
    with pm.Model(coords={"node": list("abcd"), "row": [7, 8]}) as model:
        dims = ("row", "node")[-len(shape) :]
        x = Ising("x", 0.3, graph=GRAPH, observed=np.ma.masked_all(shape, dtype=dtype), dims=dims)
        pm.Normal("y", x, 1.0, observed=np.ones(shape))
    assert model.free_RVs == [x] and x.type.ndim == len(shape)
    assert model.named_vars_to_dims["x"] == dims
    assert model.initial_point()["x"].shape == shape
    with pm.Model(), pytest.raises(ValueError, match="its last dimension must be the 4 nodes"):
        Ising("x", 0.3, graph=GRAPH, observed=np.ma.masked_all(5, dtype=int))


@pytest.mark.parametrize(
    ("field", "shape"),
    [
        (lambda: Ising("x", 0.6, np.zeros((2, 4)), graph=GRAPH), (2, 4)),
        (lambda: Ising("x", np.zeros((1, 3)), np.zeros((5, 4)), graph=GRAPH), (5, 4)),
        (lambda: BoltzmannMachine("x", np.zeros((3, 2, 3)), np.zeros((2, 4)), graph=GRAPH), (3, 2, 4)),
        (lambda: AgreementMRF("x", np.full((2, 3), 0.6), graph=GRAPH), (2, 4)),
        (lambda: Potts("x", 0.6, np.zeros((2, 4, 3)), graph=GRAPH, n_states=3), (2, 4)),
        (lambda: OrdinalMRF("x", 0.6, np.zeros((2, 4, 2)), graph=GRAPH, n_states=3), (2, 4)),
        (lambda: Ising("x", 0.6, pm.Normal("h", size=(2, 4)), graph=GRAPH), (2, 4)),
    ],
)
def test_latent_fields_take_their_rows_from_their_parameters(field, shape):
    with pm.Model() as model:
        x = field()
    start = model.initial_point()["x"]
    assert start.shape == x.type.shape == shape
    assert np.all(start == start.flat[0])


def test_auto_leaves_wide_graphs_to_particles():
    graph = builders.complete(25)
    assert Ising.dist(0.1, graph=graph).owner.op.likelihood.name == "particles"
    with pytest.raises(ValueError, match="width 29"):
        Ising.dist(0.1, graph=builders.complete(30), likelihood="exact")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: AgreementMRF.dist(1.0, graph=GRAPH), ValueError, r"open interval \(0, 1\)"),
        (lambda: AgreementMRF.dist(np.nan, graph=GRAPH), ValueError, r"open interval \(0, 1\)"),
        (
            lambda: AgreementMRF.dist([0.5] * 4, graph=GRAPH),
            ValueError,
            "length 4, but there are 3: give one value per edge",
        ),
        (lambda: Ising.dist(np.inf, graph=GRAPH), ValueError, "coupling must be finite"),
        (lambda: Ising.dist(0.1, [1.0] * 2, graph=GRAPH), ValueError, "field has length 2"),
        (lambda: AgreementMRF.dist(0.5, graph=GRAPH, n_states=1), ValueError, "n_states"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def data_of(observed, **options):
    """Data and missing cells (n, 4) of a field of this module's graph, as the model holds them."""
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        AgreementMRF("x", 0.5, graph=GRAPH, n_states=3, observed=observed, **options)
    [x] = model.observed_RVs
    return np.asarray(model.rvs_to_values[x].eval())


def test_columns_of_frames_are_those_of_the_nodes():
    x = np.random.default_rng(3).integers(3, size=(5, 4))
    frame = pd.DataFrame(x, columns=list("abcd"))
    np.testing.assert_array_equal(data_of(frame[list("bdca")]), x)
    np.testing.assert_array_equal(data_of(frame.rename(columns=str.upper), columns=list("ABCD")), x)
    holes = frame.astype("Int64").mask(frame == 2)[list("dcba")]
    np.testing.assert_array_equal(data_of(holes), np.where(x == 2, np.nan, x))
    for options in ({"observed": x}, {}, {"observed": pt.as_tensor(x)}):
        with pytest.raises(ValueError, match=r"columns.* has no meaning"), pm.Model():
            AgreementMRF("x", 0.5, graph=GRAPH, n_states=3, columns=list("ABCD"), **options)


def test_data_with_the_coordinates_of_other_nodes_are_refused():
    x = np.zeros((5, 4), dtype=int)
    for nodes, fits in (("abcd", True), ("badc", False), ("abcx", False)):
        with pm.Model(coords={"node": list(nodes)}):
            data = pm.Data("data", x, dims=("row", "node"))
            if fits:
                AgreementMRF("x", 0.5, graph=GRAPH, observed=data)
                continue
            with pytest.raises(ValueError, match="'node' of data are not the nodes of the graph"):
                AgreementMRF("x", 0.5, graph=GRAPH, observed=data)


def test_edges_of_a_reversed_graph_are_others():
    """Labels "b--a" and "a--b" are the same pair: those of another order of the edges are found out."""
    cycle = builders.complete(list("abc"))
    other = builders.complete(list("cba"))
    with pm.Model(coords=coords(other)):
        J = pm.Normal("J", 0, 1, dims="edge")
        with pytest.raises(ValueError, match="'edge' of J are not the edges of the graph"):
            Ising("x", J, graph=cycle)


def test_isolated_and_disconnected_nodes_are_fine():
    graph = nx.Graph([("a", "b"), ("c", "d")])
    graph.add_node("alone")
    x = pm.draw(AgreementMRF.dist([0.9, 0.1], graph=graph, size=(10,)), random_seed=1)
    assert x.shape == (10, 5)
    assert builders.chain(1).n_edges == 0


@pytest.mark.compiled
@pytest.mark.slow
def test_nuts_under_the_exact_likelihood_has_the_exact_posterior():
    """One shared coupling: the posterior on a grid of its values, every configuration enumerated."""
    x = pm.draw(Ising.dist(0.3, graph=GRAPH, size=(30,)), random_seed=5)
    with pm.Model() as model:
        coupling = pm.Normal("coupling", 0, 1)
        Ising("x", coupling, graph=GRAPH, observed=x)
        idata = pm.sample(
            1500, tune=500, chains=2, cores=1, random_seed=2, progressbar=False, quiet=True
        )
        with pytensor.config.change_flags(mode="FAST_COMPILE"):
            start = pm.find_MAP(progressbar=False, **FIND_MAP)
            far = model.compile_logp()({"coupling": np.array(50.0)})
    u, v = GRAPH.edges.T
    total = (x[:, u] * x[:, v]).sum()
    grid = np.linspace(-1.5, 2.0, 2001)
    states = 2 * enumeration.configurations(4, 2) - 1
    energies = (states[:, u] * states[:, v]).sum(axis=1)
    log_z = np.log(np.exp(np.outer(grid, energies)).sum(axis=1))
    log_p = grid * total - len(x) * log_z - 0.5 * grid**2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ grid
    draws = idata.posterior.coupling.values
    assert abs(draws.mean() - mean) < Z * float(az.mcse(draws))
    mode = start.posterior["coupling"].item() if FIND_MAP else start["coupling"]
    np.testing.assert_allclose(mode, grid[log_p.argmax()], atol=2e-3)
    np.testing.assert_allclose(draws.std(), np.sqrt(p @ (grid - mean) ** 2), rtol=0.1)
    assert np.isfinite(far)
