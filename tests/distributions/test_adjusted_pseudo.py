"""`likelihood="adjusted-pseudo"` in models: densities, gradients, what is refused."""

import cloudpickle
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

from pymc_mrf.distributions.dirichlet_process import DirichletProcess
from pymc_mrf.distributions.factor_graph_mrf import FactorGraphMRF
from pymc_mrf.distributions.mrf import AgreementMRF, BoltzmannMachine, Ising
from pymc_mrf.distributions.ordinal import OrdinalMRF
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.distributions.potts import Potts
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import as_graph
from tests.reference.derivatives import assert_gradients
from tests.reference.pseudo_likelihood import log_pseudo_likelihood

GRAPH = as_graph(builders.complete(4))
LENGTH = np.array([0.5, 1.0, 1.5, 1.0, 0.5, 2.0])
X = np.random.default_rng(4).integers(0, 2, (60, 4))
X3 = np.random.default_rng(5).integers(0, 3, (60, 4))
OPTIONS = {"graph": GRAPH, "likelihood": "adjusted-pseudo"}


def machine(observed=X, **kwargs):
    return BoltzmannMachine(
        "x", pm.Normal("w", 0, 1, shape=6), pm.Normal("b", 0, 1, shape=4), observed=observed, **OPTIONS
    )


def ising():
    return Ising("x", pm.Normal("w", 0, 1), observed=2 * X - 1, **OPTIONS)


def distances():
    line = pm.Normal("w", 0, 1) - pm.HalfNormal("slope") * LENGTH
    return Ising("x", line, pm.Normal("h"), observed=2 * X - 1, **OPTIONS)


def agreement():
    return AgreementMRF("x", pm.Beta("w", 2, 2, shape=6), n_states=3, observed=X3, **OPTIONS)


def potts():
    field = pm.Normal("h", shape=3)
    return Potts("x", pm.Normal("w", 0, 1), field, n_states=3, observed=X3, **OPTIONS)


def ordinal():
    threshold = pm.Normal("h", shape=(4, 2))
    x = np.minimum(X3, [2, 1, 2, 1])
    return OrdinalMRF(
        "x", pm.Normal("w", shape=6), threshold, n_states=[3, 2, 3, 2], observed=x, **OPTIONS
    )


@pytest.mark.parametrize("make", [machine, ising, distances, agreement, potts, ordinal])
def test_densities_and_gradients(make, rng):
    with pm.Model() as model:
        rv = make()
    op, logp = field_node(rv).op, model.logp()
    f = model.compile_fn(
        [logp, *pt.grad(logp, model.value_vars)], inputs=model.value_vars, point_fn=False
    )
    at = {k: v + 0.3 * rng.standard_normal(np.shape(v)) for k, v in model.initial_point().items()}
    (natural,) = model.replace_rvs_by_values([op.flat_natural(op.dist_params(field_node(rv)))])
    flat = model.compile_fn(natural, on_unused_input="ignore")(at)
    tables = op.likelihood.adjusted.problem.tables_at(op.likelihood.adjusted.moved(flat))
    x = op.likelihood.adjusted.problem.x
    expected = log_pseudo_likelihood(x, GRAPH.edges, *tables)
    np.testing.assert_allclose(model.compile_logp(vars=[rv])(at), expected.sum(), atol=1e-8)
    plain = log_pseudo_likelihood(x, GRAPH.edges, *op.likelihood.adjusted.problem.tables_at(flat))
    assert np.abs(plain - expected).max() > 1e-3

    assert_gradients(f, [np.asarray(at[v.name]) for v in model.value_vars])


def test_draws_are_those_of_the_field():
    """Only the density is adjusted; another density of the same parameters leaves draws alike."""
    found = []
    for likelihood in ("adjusted-pseudo", "pseudo"):
        with pm.Model():
            w = pm.Normal("w", 0, 1)
            x = Ising("x", w, graph=GRAPH, observed=2 * X - 1, likelihood=likelihood)
        found.append(pm.draw(x, draws=3, random_seed=1, givens={w: 0.5}))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    "prior", [lambda: pm.Normal("c", 0, 1e-10), lambda: 1e-10 * pm.Flat("c")], ids=["scale", "flat"]
)
def test_points_have_the_scales_of_priors(prior):
    with pm.Model():
        weight = pm.Normal("a") + 1e10 * prior() * LENGTH
        x = BoltzmannMachine("x", weight, pm.Normal("b", shape=4), observed=X, **OPTIONS)
    assert field_node(x).op.likelihood.adjusted.problem.n_parameters == 6


def test_models_are_pickled():
    with pm.Model() as model:
        ising()
    copy = cloudpickle.loads(cloudpickle.dumps(model))
    point = {"w": np.array(0.4)}
    assert copy.compile_logp()(point) == model.compile_logp()(point)


def test_nuts_moves_the_parameters():
    with pm.Model() as model:
        machine()
        _, chosen = pm.sampling.mcmc.assign_step_methods(model, None)
    assert list(chosen) == [pm.NUTS]


MISSING = np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == 3)
REFUSED = {
    "missing cells": (lambda: machine(MISSING), "needs observed data without missing cells; use likelihood="),
    "nothing observed": (lambda: machine(None), "needs observed data without missing cells"),
    "pm.Data": (lambda: machine(pm.Data("data", X)), "is made once, .*; give an array in place of pm.Data"),
    "covariate in pm.Data": (
        lambda: Ising("x", pm.Normal("w") * pm.Data("z", LENGTH), observed=2 * X - 1, **OPTIONS),
        "must not depend on z; give an array in place of pm.Data",
    ),
    "SpikeAndSlab": (
        lambda: Ising(
            "x", SpikeAndSlab("w", 0.5, pm.Normal.dist(), shape=6), observed=2 * X - 1, **OPTIONS
        ),
        "is for continuous parameters that NUTS moves, and w is none; use",
    ),
    "DirichletProcess": (
        lambda: Ising(
            "x", DirichletProcess("w", 1.0, pm.Normal.dist(), shape=6), observed=2 * X - 1, **OPTIONS
        ),
        "is for continuous parameters that NUTS moves, and w is none",
    ),
    "discrete parameter": (
        lambda: Ising("x", 0.1 * pm.Poisson("w", 1.0), observed=2 * X - 1, **OPTIONS),
        "is for continuous parameters that NUTS moves, and w is none",
    ),
    "rows": (
        lambda: Ising("x", pm.Normal("w", shape=(60, 6)), observed=2 * X - 1, **OPTIONS),
        "needs parameters that all rows share",
    ),
    "not finite": (
        lambda: Ising("x", pm.math.log(pm.Normal("w", shape=6)), observed=2 * X - 1, **OPTIONS),
        "met parameters that are not finite at random values of the variables",
    ),
    "sizes": (
        lambda: Ising("x", 1e11 * pm.Flat("w"), pm.Flat("h"), observed=2 * X - 1, **OPTIONS),
        "needs natural parameters of comparable sizes; rescale them",
    ),
    "numbers": (lambda: Ising("x", 0.3, observed=2 * X - 1, **OPTIONS), "has nothing to adjust"),
    "tables": (
        lambda: Potts("x", pm.Normal("w", shape=(6, 3)), n_states=3, observed=X3, **OPTIONS),
        "needs one number per edge, but coupling has one for each state",
    ),
    "own scores": (
        lambda: OrdinalMRF(
            "x", pm.Normal("w"), scores=np.multiply.outer([1, 2, 1, 2], [0, 1]), observed=X, **OPTIONS
        ),
        'needs scores that all nodes share; give such scores, or use likelihood="exact"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    make, message = REFUSED[case]
    with pm.Model(), pytest.raises(ValueError, match=f'x: likelihood="adjusted-pseudo" {message}'):
        make()


def test_refused_outside_of_models_and_for_factor_graphs():
    with pytest.raises(ValueError, match="needs observed data without missing cells; use likelihood="):
        Ising.dist(0.3, **OPTIONS)
    with pytest.raises(ValueError, match=r"likelihood must be one of .* not 'adjusted-pseudo'"):
        FactorGraphMRF.dist(
            [np.eye(2)], scopes=[(0, 1)], cardinalities=[2, 2], likelihood="adjusted-pseudo"
        )
