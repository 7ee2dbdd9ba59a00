"""Fields as PyMC distributions: densities, gradients, draws, predictive checks, observed data."""

import itertools
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
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo
from tests.distributions.routes import FIND_MAP
from tests.reference import enumeration
from tests.statistics import Z, assert_frequencies

GRAPH = PairwiseGraph("abcd", [("a", "b"), ("c", "b"), ("c", "a")])
FAMILIES = {
    "agreement": lambda **kw: AgreementMRF.dist(np.array([0.3, 0.8, 0.6]), graph=GRAPH, **kw),
    "agreement-3": lambda **kw: AgreementMRF.dist([0.3, 0.8, 0.6], graph=GRAPH, n_states=3, **kw),
    "ising": lambda **kw: Ising.dist([0.4, -0.7, 0.2], [0.1, 0.3, -1.0, 0.5], graph=GRAPH, **kw),
    "boltzmann": lambda **kw: BoltzmannMachine.dist(
        [0.9, -1.7, 0.2], [0.1, 0.3, -1.0, 0.5], graph=GRAPH, **kw
    ),
    "ordinal-3": lambda **kw: OrdinalMRF.dist(
        [0.9, -0.7, 0.2],
        [[0.1, 0.3], [-1.0, 0.5], [0.2, -0.4], [0.0, 0.6]],
        graph=GRAPH,
        n_states=3,
        **kw,
    ),
}


def exact(rv):
    """States of all configurations and their exact probabilities."""
    op = rv.owner.op
    cores = (1, 1 + op.family.node_axes)
    parameters = [
        p.eval().reshape(p.type.shape[-k:])
        for p, k in zip(op.dist_params(rv.owner), cores, strict=False)
    ]
    b = parameters[1] if len(parameters) == 2 else np.zeros(op.graph.n_nodes)
    tables = op.family.edge_tables(op.family.natural(parameters[0])), op.family.node_tables(b)
    configs = enumeration.configurations(op.graph.n_nodes, op.family.n_states)
    return np.array(op.family.states)[configs], enumeration.probabilities(op.graph.edges, *tables)


def assert_draws(draws, rv):
    """Rows have the frequencies of the field of `rv`."""
    states, p = exact(rv)
    rows = {tuple(row): i for i, row in enumerate(states)}
    counts = np.bincount([rows[tuple(row)] for row in draws], minlength=len(p))
    assert_frequencies(counts, p)


NUMBA = pytest.param(
    "ising", "particles", marks=[pytest.mark.compiled, pytest.mark.slow], id="ising-particles-numba"
)
"""Others are drawn by numba in the tests of two graphs and of Potts and ordinal fields."""


@pytest.mark.parametrize(
    ("family", "likelihood"), [*itertools.product(FAMILIES, ["exact", "particles"]), NUMBA]
)
def test_draws_match_enumeration(family, likelihood, rng):
    rv = FAMILIES[family](size=(4000,), likelihood=likelihood)
    assert rv.owner.op.draws_exactly == (likelihood == "exact")
    assert_draws(pm.draw(rv, random_seed=rng), rv)


@pytest.mark.parametrize("likelihood", ["pseudo", Pseudo(weight=1)], ids=["once", "twice"])
@pytest.mark.parametrize("family", FAMILIES)
def test_pseudo_likelihood_is_the_product_of_exact_conditionals(family, likelihood):
    """Each to the power of one half, but for the node without edges, whose conditional is its likelihood."""
    rv = FAMILIES[family](size=(1,))
    states, p = exact(rv)
    powers = [1.0, 1.0, 1.0, 1.0] if likelihood != "pseudo" else [0.5, 0.5, 0.5, 1.0]
    expected = np.zeros(len(states))
    for i in range(GRAPH.n_nodes):
        rest = np.delete(states, i, axis=1)
        for row in range(len(states)):
            same = np.all(rest == rest[row], axis=1)
            expected[row] += powers[i] * np.log(p[row] / p[same].sum())
    rv = FAMILIES[family](likelihood=likelihood, size=(len(states),))
    logp = pm.logp(rv, states).eval()
    np.testing.assert_allclose(logp, expected, rtol=1e-6)
    illegal = states.copy()
    illegal[0, 0] = 7
    assert pm.logp(rv, illegal).eval()[0] == -np.inf


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_and_unnormalised_densities(family):
    states, p = exact(FAMILIES[family](size=(1,)))
    size = (len(states),)
    logp = pm.logp(FAMILIES[family](size=size, likelihood="particles"), states).eval()
    np.testing.assert_allclose(np.diff(logp), np.diff(np.log(p)), rtol=1e-5, atol=1e-6)
    assert FAMILIES[family]().owner.op.likelihood.name == "exact"  # "auto" on a small graph
    logp = pm.logp(FAMILIES[family](size=size), states).eval()
    np.testing.assert_allclose(logp, np.log(p), rtol=1e-6, atol=1e-6)


def ising_model(x, likelihood, per_row=False):
    with pm.Model(coords=coords(GRAPH)) as model:
        coupling = pm.Normal("coupling", 0, 1, shape=(len(x), 1) if per_row else (3,))
        field = pm.Normal("field", 0, 2, dims="node")
        Ising(
            "x",
            coupling * np.ones(3) if per_row else coupling,
            field,
            graph=GRAPH,
            observed=x,
            likelihood=likelihood,
        )
    return model


@pytest.mark.parametrize("likelihood", ["exact", "pseudo"])
@pytest.mark.parametrize("per_row", [False, True])
def test_gradient_by_finite_differences(likelihood, per_row, rng):
    x = rng.choice([-1, 1], size=(6, 4))
    model = ising_model(x, likelihood, per_row)
    point = {name: rng.normal(size=value.shape) for name, value in model.initial_point().items()}
    f = model.compile_fn([model.logp(), model.dlogp()], inputs=model.value_vars)
    gradient = f(point)[1]
    numeric = []
    for name in point:
        for index in np.ndindex(point[name].shape):
            shifted = []
            for h in (1e-5, -1e-5):
                moved = {key: value.copy() for key, value in point.items()}
                moved[name][index] += h
                shifted.append(f(moved)[0])
            numeric.append((shifted[0] - shifted[1]) / 2e-5)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)


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


def test_mutable_data_and_new_rows():
    x = pm.draw(Ising.dist(0.4, graph=GRAPH, size=(5,)), random_seed=1)
    with pm.Model(coords=coords(GRAPH)):
        data = pm.Data("data", x)
        coupling = pm.Normal("coupling", 0, 1, dims="edge")
        y = Ising("x", coupling, graph=GRAPH, observed=data, likelihood="pseudo", shape=data.shape)
        assert pm.draw(y).shape == (5, 4)
        pm.set_data({"data": x[[0, 1, 2, 0, 1, 2, 3]]})
        assert pm.draw(y).shape == (7, 4)


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_masked_cells_are_imputed():
    x = pm.draw(Ising.dist(0.4, graph=GRAPH, size=(6,)), random_seed=1)
    mask = np.zeros_like(x, dtype=bool)
    mask[0, 1] = mask[2, 3] = True
    # an illegal value under the mask is no data
    masked = np.ma.masked_array(np.where(mask, 99, x), mask=mask)
    with pm.Model() as model:
        Ising("x", [0.5, 0.2, 0.1], graph=GRAPH, observed=masked, likelihood="pseudo")
    complete = x.copy()
    complete[mask] = 1
    logp = model.compile_logp()({"x_unobserved": np.array([1, 1])})
    reference = pm.logp(
        Ising.dist([0.5, 0.2, 0.1], graph=GRAPH, likelihood="pseudo", size=(6,)), complete
    )
    np.testing.assert_allclose(logp, reference.eval().sum(), rtol=1e-6)
    assert model.compile_logp()({"x_unobserved": np.array([1, 2])}) == -np.inf


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


@pytest.mark.slow
@pytest.mark.compiled
def test_two_graphs_have_two_samplers():
    graphs = [PairwiseGraph("abc", [edge]) for edge in (("a", "b"), ("b", "c"))]
    rvs = [AgreementMRF.dist([0.9], graph=graph, size=(4000,), likelihood="exact") for graph in graphs]
    assert rvs[0].owner.op != rvs[1].owner.op
    draws = pm.draw(rvs, random_seed=3)
    for x, rv, other in zip(draws, rvs, rvs[::-1], strict=True):
        assert_draws(x, rv)
        with pytest.raises(AssertionError):
            assert_draws(x, other)


def test_auto_leaves_wide_graphs_to_particles():
    graph = builders.complete(25)
    assert Ising.dist(0.1, graph=graph).owner.op.likelihood.name == "particles"
    with pytest.raises(ValueError, match="width 29"):
        Ising.dist(0.1, graph=builders.complete(30), likelihood="exact")


def observed_agreement(x, **kwargs):
    with pm.Model():
        AgreementMRF("x", 0.5, graph=GRAPH, observed=x, **kwargs)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: observed_agreement([[0, 1, 2, 0]]), ValueError, r"observed\[0, 2\] is 2"),
        (lambda: observed_agreement([[0, 1, 0.7, 0]]), ValueError, r"is 0.7, which is not a state"),
        (lambda: observed_agreement([[0, 1, np.nan, 0]]), ValueError, "masked_invalid"),
        (lambda: observed_agreement([[0, 1, np.inf, 0]]), ValueError, "is inf"),
        (lambda: observed_agreement([[0, 1, -1, 0]]), ValueError, "is -1"),
        (lambda: observed_agreement([[0, 1, 0]]), ValueError, "4 nodes of the graph"),
        (lambda: observed_agreement(np.zeros((0, 4))), ValueError, "no rows"),
        (lambda: observed_agreement(np.array([list("abcd")])), ValueError, "must be numeric"),
        (lambda: AgreementMRF.dist(1.0, graph=GRAPH), ValueError, r"open interval \(0, 1\)"),
        (lambda: AgreementMRF.dist(np.nan, graph=GRAPH), ValueError, r"open interval \(0, 1\)"),
        (
            lambda: AgreementMRF.dist([0.5] * 4, graph=GRAPH),
            ValueError,
            "length 4, but there are 3: give one value per edge",
        ),
        (lambda: Ising.dist(np.inf, graph=GRAPH), ValueError, "coupling must be finite"),
        (lambda: Ising.dist(0.1, [1.0] * 2, graph=GRAPH), ValueError, "field has length 2"),
        (
            lambda: Ising.dist(0.1, graph=GRAPH, likelihood="mean"),
            ValueError,
            "likelihood must be one of",
        ),
        (lambda: Ising.dist(0.1, graph=GRAPH, n_sweeps=0), ValueError, "n_sweeps must be a positive"),
        (lambda: AgreementMRF.dist(0.5, graph=GRAPH, n_states=1), ValueError, "n_states"),
        (lambda: Ising.dist(0.1, graph=nx.DiGraph([(0, 1)])), ValueError, "directed"),
        (lambda: Ising.dist(0.1, graph=nx.MultiGraph([(0, 1)])), ValueError, "multigraph"),
        (lambda: Ising.dist(0.1, graph=nx.Graph([(0, 0)])), ValueError, "self-loop"),
        (lambda: Ising.dist(0.1, graph=nx.Graph()), ValueError, "no nodes"),
        (lambda: Ising.dist(0.1, graph=np.eye(3)), TypeError, "networkx.Graph"),
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
