"""What `EdgeGibbs` refuses, by name and with the remedy, before it samples."""

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.steps.edges import block_models, gaussian_models
from tests.steps.edges.small_models import (
    GRAPH,
    agreement_field,
    data,
    edge_model,
    no_field,
    transformed,
    two_fields,
)
from tests.steps.edges.state_models import PATH, declare

PAIR = block_models.PAIR
BITS = np.random.default_rng(1).integers(2, size=(30, 3))
OTHERS = 'declare with likelihood="exact", "monte-carlo" or "pseudo"'
ONE_FIELD = (
    'samples one field, of which w itself is the parameter, under likelihood="particles", but w feeds '
    f"several, or is one term of a sum, or parameters differ between rows: {OTHERS}"
)
NO_SUM = r"EdgeGibbs needs .*w.* as the weight of x"


def sparse(n=2, name="w", slab=None, **blocks):
    slab = pm.Normal.dist(0, 1) if slab is None else slab
    return pmrf.SpikeAndSlab(name, 0.5, slab, **(blocks or {"shape": n}))


def of_particles():
    return edge_model("particles")


def tables(**options):
    return block_models.model_of(block_models.states(20, [3, 3]), [3, 3], PAIR, **options)


def expression(make, likelihood="exact"):
    """A field whose weight is an expression of w and of a scale s."""
    with pm.Model() as model:
        weight = make(sparse(), pm.HalfNormal("s", 1))
        declare("x", BOLTZMANN, weight, 0.0, PATH, BITS, likelihood)
    return model


def ising(make, n=6, likelihood="pseudo"):
    """A field whose coupling `make()` makes."""
    with pm.Model() as model:
        pmrf.Ising("x", make(), graph=GRAPH, observed=2 * data() - 1, likelihood=likelihood)
    return model


def nominal(make, x=None, **options):
    with pm.Model() as model:
        x = block_models.states(20, [3, 3]) if x is None else x
        pmrf.NominalMRF("x", make(), graph=PAIR, n_states=options.pop("n_states", 3), observed=x)
    return model


def of_one_weight():
    with pm.Model() as model:
        x = block_models.states(20, [2, 2, 2])
        pmrf.BoltzmannMachine("x", sparse(blocks=[2, 1]), graph=block_models.TRIANGLE, observed=x)
    return model


def ordered_biases():
    with pm.Model() as model:
        ordered, start = pm.distributions.transforms.ordered, np.arange(3.0)
        b = pm.Normal("b", 0, 1, shape=3, transform=ordered, initval=start)
        pmrf.BoltzmannMachine("x", sparse(3), b, graph=pmrf.graphs.complete(3), observed=BITS)
    return model


def deterministic_biases():
    with pm.Model() as model:
        b = pm.Deterministic("b", 2.0 * pm.Normal("z", 0, 1, shape=4))
        options = {"graph": GRAPH, "observed": data(), "likelihood": "particles"}
        pmrf.BoltzmannMachine("x", sparse(6), b, **options)
    return model


def other_lags():
    with pm.Model() as model:
        w = sparse(4)
        for name, lag in (("x", 1), ("y", 2)):
            pmrf.KineticMRF(name, w, 0.0, graph=pmrf.graphs.lagged(2, lag), observed=BITS[:, :2])
    return model


def with_another_kind():
    with pm.Model() as model:
        w, pair, x = sparse(5), pmrf.graphs.complete(2), BITS[:, :2]
        pmrf.BoltzmannMachine("x", w[:1], 0.0, graph=pair, observed=x, likelihood="pseudo")
        pmrf.KineticMRF("y", w, 0.0, graph=pmrf.graphs.lagged(2, links=True), observed=x)
    return model


def scaled_measurements():
    with pm.Model() as model:
        weight = pm.HalfNormal("scale", 1.0) * sparse(3)
        x = gaussian_models.measurements(20, 1)
        pmrf.GaussianMRF("x", weight, 1.0, graph=gaussian_models.TRIANGLE, observed=x)
    return model


def rows_of_tables():
    slope = np.linspace(-1, 1, 20)[:, None]
    x = block_models.states(20, [3, 2])
    return nominal(
        lambda: sparse(blocks=[2]) + slope * sparse(name="delta", blocks=[2]), x, n_states=[3, 2]
    )


REFUSED = {
    "no field": (no_field, "w", "reaches no Markov random field"),
    "not linear": (
        lambda: ising(lambda: pm.math.tanh(sparse(6))), "w",
        "needs w itself as the coupling of x, not another expression of w; it may be a sum",
    ),
    "agreement of a logit": (
        agreement_field, "w",
        r"needs pm.math.sigmoid\(w\) as the theta of x, not another expression of w; its",
    ),
    "an expression under particles": (lambda: transformed("particles"), "w", ONE_FIELD),
    "two fields under particles": (lambda: two_fields("particles"), "w", ONE_FIELD),
    "a sum under particles": (
        lambda: ising(lambda: sparse(6) + sparse(6, "difference"), likelihood="particles"), "w", ONE_FIELD,
    ),
    "a sum with a constant under particles": (
        lambda: expression(lambda w, s: w + s, "particles"), "w", OTHERS,
    ),
    "a table of weights": (
        lambda: ising(lambda: sparse((2, 6))[0]), "w",
        "2 dimensions: declare one SpikeAndSlab per field; they may",
    ),
    "a random factor": (lambda: expression(lambda w, s: s * w), "w", NO_SUM),
    "a square": (lambda: expression(lambda w, s: w * w), "w", NO_SUM),
    "exp": (lambda: expression(lambda w, s: pm.math.exp(w)), "w", NO_SUM),
    "switch": (lambda: expression(lambda w, s: pm.math.switch(w > 0, w, 0.0)), "w", NO_SUM),
    "rounded": (lambda: expression(lambda w, s: pm.math.round(w) + s), "w", NO_SUM),
    "mixed": (
        lambda: expression(lambda w, s: pm.math.dot(np.array([[1.0, 1.0], [0.0, 1.0]]), w)), "w", NO_SUM,
    ),
    "entries of no parameter": (
        lambda: expression(lambda w, s: pm.math.stack([w[0], s])), "w", "entry 1 of w is that of none",
    ),
    "one entry of two edges": (
        lambda: expression(lambda w, s: w[np.array([0, 0])] + s), "w", "entry 0 of w is that of several",
    ),
    "a scale beside the slab": (scaled_measurements, "w", "put any other scale into its slab"),
    "no sparse vector": (
        lambda: edge_model("pseudo"), "b", "samples one pymc_mrf\\.SpikeAndSlab, but got b", TypeError,
    ),
    "a hyperparameter": (
        lambda: edge_model("pseudo"), "w p", "EdgeGibbs moves w and the bias of x: leave p out of `vars`",
    ),
    "ordered biases": (
        ordered_biases, "w b", r"of all nodes, as it is or as .* b is not: leave it out",
    ),
    "biases that are left alone": (
        of_particles, "w", r"pass b too, as in step=pymc_mrf.steps.EdgeGibbs\(\[w, b\]\)",
    ),
    "biases that nothing moves": (deterministic_biases, "w", "or it must be a constant: give numbers"),
    "blocks of other edges": (
        lambda: tables(blocks=[2, 2]), "w",
        r"w has blocks of 2, 2 entries.*blocks=pymc_mrf.fields.table_sizes",
    ),
    "a tabulated slab of blocks": (
        lambda: tables(slab=pm.Logistic.dist(0, 1)), "w", "slab is pm.Normal, pm.StudentT",
    ),
    "tables under particles": (
        lambda: tables(likelihood="particles", bias=np.zeros((2, 3))), "w",
        'declare it with likelihood="exact", "monte-carlo" or "pseudo"',
    ),
    "tables without blocks": (
        lambda: nominal(lambda: sparse(4)), "w", "w has no blocks, but the edges of x have tables",
    ),
    "blocks of one weight": (of_one_weight, "w", "w has blocks, but each edge of x has one weight"),
    "tables that differ between rows": (rows_of_tables, "w", "differ between rows"),
    "other lags": (other_lags, "w", r"the same lags, but x has \(1,\) and y \(2,\)"),
    "a field in time beside another": (with_another_kind, "w", "y is a field in time and x is none"),
}  # fmt: skip
OPTIONS = [
    (lambda: edge_model("pseudo"), "w", {"n_joint": -1}, "n_joint must be a non-negative integer, not -1"),
    (lambda: edge_model("pseudo"), "w", {"n_joint": None}, "n_joint must be a non-negative .*, not None"),
    # nothing else would move the biases alone
    (lambda: edge_model("pseudo"), "w b", {"n_joint": 0}, "n_joint must be a positive integer, not 0"),
    (of_particles, "w b", {"n_particles": 0}, "n_particles must be a positive integer, not 0"),
    (of_particles, "w b", {"n_sweeps": 0}, "n_sweeps must be a positive integer, not 0"),
    (
        edge_model, "w b", {"n_particles": 10},
        'but x has likelihood="exact": leave it out',
    ),
]  # fmt: skip


def refuse(make, names, match, error=ValueError, **options):
    model = make()
    with model, pytest.raises(error, match=match):
        EdgeGibbs([model[name] for name in names.split()], **options)


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_models(case):
    refuse(*case)


@pytest.mark.parametrize(
    ("make", "names", "options", "match"), OPTIONS, ids=[str(o[2]) for o in OPTIONS]
)
def test_options(make, names, options, match):
    refuse(make, names, match, **options)


def test_single_precision():
    with pytensor.config.change_flags(floatX="float32"):
        refuse(lambda: edge_model("pseudo"), "w", "double precision")


@pytest.mark.parametrize(
    ("p", "slab", "match"),
    [
        (1.0, lambda s: pm.Normal.dist(0, s + 2.0), "the probability p of w is 1 for some edge"),
        (0.5, lambda s: pm.Normal.dist(0, s), "the slab of w has no density at its parameters 0, -1"),
        (0.5, lambda s: pm.Uniform.dist(0, s), "the slab of w has no density at its parameters -1"),
    ],
)
def test_parameters_outside_their_domain(p, slab, match):
    def weight():
        return pmrf.SpikeAndSlab("w", pm.Data("p", p), slab(pm.Data("s", -1.0)), shape=6)

    model = ising(weight)
    with model, pytest.raises(ValueError, match=match):
        EdgeGibbs([model["w"]]).step(model.initial_point())
