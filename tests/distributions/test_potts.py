"""The Potts model: ambiguous shapes, NUTS, and what it refuses."""

import arviz as az
import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

from pymc_mrf.distributions.dirichlet_process import DirichletProcess
from pymc_mrf.distributions.multistate import Potts
from pymc_mrf.graph import builders
from pymc_mrf.graph.coordinates import coords
from pymc_mrf.graph.structure import PairwiseGraph
from tests.reference import enumeration
from tests.statistics import Z

GRAPH = PairwiseGraph("abcd", [("a", "b"), ("c", "b"), ("c", "a"), ("c", "d")])
R, D, K = 4, 4, 3
EDGES = GRAPH.edges


STATES = enumeration.configurations(D, K)


def potts(coupling, field=0, **kwargs):
    return Potts.dist(coupling, field, graph=GRAPH, n_states=K, **kwargs)


@pytest.mark.slow
def test_nuts_posterior_and_predictive_draws():
    """One shared coupling: the posterior on a grid of its values, every configuration enumerated."""
    x = potts(0.8, size=(25,)).eval(mode="FAST_COMPILE")
    with pm.Model(coords={**coords(GRAPH), "obs": range(25)}) as model:
        coupling = pm.Normal("coupling", 0, 1)
        Potts("x", coupling, graph=GRAPH, n_states=K, observed=x, dims=("obs", "node"))
        prior = pm.sample_prior_predictive(2, random_seed=1)
        idata = pm.sample(400, tune=200, chains=2, cores=1, random_seed=2, progressbar=False, quiet=True)
        predictive = pm.sample_posterior_predictive(
            idata.isel(draw=slice(5)), random_seed=1, progressbar=False
        )
    u, v = EDGES.T
    grid = np.linspace(-2.0, 3.0, 1001)
    log_z = np.log(np.exp(np.outer(grid, (STATES[:, u] == STATES[:, v]).sum(axis=1))).sum(axis=1))
    log_p = grid * (x[:, u] == x[:, v]).sum() - len(x) * log_z - 0.5 * grid**2
    p = np.exp(log_p - log_p.max())
    mean = p @ grid / p.sum()
    draws = idata.posterior.coupling.values
    assert abs(draws.mean() - mean) < Z * float(az.mcse(draws))
    assert prior.prior_predictive.x.dims == ("chain", "draw", "obs", "node")
    assert predictive.posterior_predictive.x.shape == (2, 5, 25, D)
    assert set(np.unique(predictive.posterior_predictive.x)) == {0, 1, 2}
    again = cloudpickle.loads(cloudpickle.dumps(model))
    assert again["x"].owner.op == model["x"].owner.op


def observed_potts(x=((0, 1, 2, 0),), coupling=0.1, **kwargs):
    with pm.Model():
        Potts("x", coupling, **{"graph": GRAPH, "n_states": K, **kwargs}, observed=np.array(x))


def grouped():
    with pm.Model():
        theta = DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=(R, K))
        Potts("x", theta, graph=GRAPH, n_states=K, observed=[[0, 1, 2, 0]])


SQUARE = builders.chain(4)  # as many edges as states: 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: observed_potts(coupling=np.nan), ValueError, "coupling must be finite"),
        (lambda: potts(np.full((R, K, K), -np.inf)), ValueError, "coupling must be finite.*-inf"),
        (lambda: potts(0.1, [0.0, np.inf, 0.0]), ValueError, "field must be finite"),
        (lambda: potts(np.zeros(5)), ValueError, "length 5, but there are 4: give one value per edge"),
        (lambda: potts(np.zeros(K)), ValueError, r"coupling\[None\], shape \(1, 3\)"),
        (lambda: potts(np.zeros((5, K))), ValueError, r"shape \(5, 3\), but must have shape \(4, 3\)"),
        (lambda: potts(np.zeros((R, 2))), ValueError, r"shape \(4, 2\), but must have"),
        (lambda: potts(np.zeros((5, K, K))), ValueError, r"\(4, 3, 3\) or \(1, 3, 3\)"),
        (lambda: potts(0.1, 0.5), ValueError, "scalar other than 0"),
        (lambda: potts(0.1, np.zeros(D)), ValueError, r"field has shape \(4,\), but must .* \(3,\)"),
        (lambda: potts(0.1, np.zeros((5, K))), ValueError, r"field has shape \(5, 3\)"),
        (
            lambda: Potts.dist(np.zeros((3, 3)), graph=SQUARE, n_states=3),
            ValueError,
            "as many edges as there are states",
        ),
        (
            lambda: Potts.dist(pt.matrix(), graph=SQUARE, n_states=3),
            ValueError,
            "is ambiguous",
        ),
        (lambda: Potts.dist(0.1, graph=GRAPH, n_states=1), ValueError, "n_states must be between"),
        (lambda: Potts.dist(0.1, graph=GRAPH, n_states=2.5), TypeError, "n_states must be an integer"),
        (lambda: Potts.dist(0.1, graph=GRAPH), TypeError, "n_states"),
        (grouped, ValueError, "theta is a DirichletProcess.*as a vector with one coupling per edge"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_ambiguous_matrices_have_two_clear_spellings():
    J = np.arange(9.0).reshape(3, 3) / 9
    x = np.array([0, 1, 1, 0])
    shared = Potts.dist(J[None], graph=SQUARE, n_states=3, likelihood="particles")
    own = Potts.dist(J[:, :, None] * np.eye(3), graph=SQUARE, n_states=3, likelihood="particles")
    outputs = pytensor.function([], [pm.logp(shared, x), pm.logp(own, x)], mode="FAST_COMPILE")()
    np.testing.assert_allclose(outputs, [J[0, 1] + J[1, 1] + J[1, 0], J[1, 1]])


def test_one_table_for_a_graph_of_one_edge(rng):
    table = rng.normal(size=(3, 3))
    x = Potts.dist(table, graph=builders.chain(2), n_states=3, likelihood="exact")
    states = np.array(np.meshgrid(range(3), range(3), indexing="ij")).reshape(2, -1).T
    logp = np.array([float(pm.logp(x, z).eval()) for z in states])
    np.testing.assert_allclose(logp, (table - special.logsumexp(table)).ravel())
