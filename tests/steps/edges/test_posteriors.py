"""Draws of edges, and of what moves with them, are those of the posterior over all structures.

The table is of fields, likelihoods and priors; `tests/posteriors.py` asks, and has a negative control.
"""

import dataclasses
from functools import partial

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.fields.families import BOLTZMANN, ordinal, potts
from tests.posteriors import HALVES, P, Question, assert_right
from tests.small_fields import SmallField, gaussian, kinetic, mixed, pairwise, tables
from tests.steps.edges import binary_models as binary
from tests.steps.edges.arrow_models import PAIR as ARROWS
from tests.steps.edges.arrow_models import THREE
from tests.steps.edges.state_models import FAMILIES, GRAPH, PATH, WEIGHT, node_parameters

COUPLE = pmrf.PairwiseGraph(range(2), [(0, 1)])
TRIANGLE = pmrf.PairwiseGraph(range(3), [(0, 1), (1, 2), (0, 2)])
CROSSED = pmrf.PairwiseGraph(range(3), [(0, 1), (2, 1), (0, 2)])
THREE_STATES, THREE_ITEMS = ordinal(3), ordinal([3, 2, 3])
OWN_SCORES = ordinal([3, 2, 3], [[-1, 0, 1], [-1, 1], [0, 1, 2]])
EXACTLY = "exact", "pseudo"
ALL = "exact", "pseudo", "particles"
WHOLE = pmrf.Pseudo(weight=1)
PRECISE = pmrf.MonteCarlo(tolerance=0.05)  # beside enumeration, little noise of the sample may be left
SIMULATED = "exact", "pseudo", PRECISE
# what mixed fields take in its place: 30,000 draws of "nominal nominal" are off by .005, and .05 deviations
SAMPLED = {"slack": (0.0, 0.05)}
# what was left of probabilities by so few was below 0.03 in all cases, two errors of the draws beside it
PARTICLES = {"n_particles": 300, "n_draws": 2000, "seed": 3, "slack": (0.01, 0.05)}
TABLE_BIAS = np.array([[0.3, -0.2, 0.1], [0.0, 0.4, 0.0], [-0.1, 0.2, 0.0]])
OPTIONS = {"particles": PARTICLES, "monte-carlo": SAMPLED}
KINDS = {  # kinds, numbers of states, edges, rows; nodes of the quadrature
    "nominal nominal": (("nominal", "nominal"), (3, 3), COUPLE, 50, 6),
    "binary Gaussian": (("ordinal", "continuous"), (2, 0), COUPLE, 25, 7),
    "ordinal nominal Gaussian": (("ordinal", "nominal", "continuous"), (3, 3, 0), CROSSED, 60, 5),
    "Gaussian binary Gaussian": (("continuous", "ordinal", "continuous"), (0, 2, 0), CROSSED, 60, 9),
    "Gaussian nominal": (("continuous", "nominal"), (0, 4), COUPLE, 30, 6),
}
DIFFERENCES = {
    "nominal Gaussian": (("nominal", "continuous"), (3, 0), [(0, 1)]),
    "nominal nominal": (("nominal", "nominal"), (3, 2), [(0, 1)]),
    "two Gaussians": (("continuous", "ordinal", "continuous"), (0, 2, 0), [(0, 2), (1, 2)]),
}
OF_QUESTION = {field.name for field in dataclasses.fields(Question)}


def rows(id, make, likelihoods=("exact",), *, others=(), ordinary=(), **how):
    """A case for each likelihood of the field, fields or question that `make` makes; `others` as controls.

    `how` are parts of the question, and options of `assert_right`.
    """
    cases = []
    for likelihood in likelihoods:
        options = OPTIONS.get(likelihood, {}) | how

        def ask(likelihood=likelihood, options=options):
            parts = {name: value for name, value in options.items() if name in OF_QUESTION}
            rest = {name: value for name, value in options.items() if name not in OF_QUESTION}
            made = make()
            if not isinstance(made, Question):
                made = Question((made,) if isinstance(made, SmallField) else made)
            question = dataclasses.replace(made, likelihood=likelihood, **parts)
            assert_right(question, *(other(question) for other in others), **rest)

        marks = () if likelihood in ordinary else pytest.mark.slow
        cases.append(pytest.param(ask, id=f"{id}, {likelihood}", marks=marks))
    return cases


def binary_field(n, graph=binary.GRAPH, weight=binary.WEIGHT, b=binary.BIAS, seed=1):
    return pairwise(BOLTZMANN, graph, weight, n, seed, np.asarray(b), sd=2.0)


def binary_triangle():
    return binary_field(60, TRIANGLE, [1.5, 0.0, -1.0], [-0.5, 0.3, 0.8], 3)


def of_kinds(name, seed=1):
    *what, graph, n, _ = KINDS[name]
    return mixed(*what, graph.edges.tolist(), n, seed)


def of(**changes):
    """The same question but for these, as one control."""
    return (lambda question: dataclasses.replace(question, **changes),)


def of_arrows(name, told=None):
    return kinetic(name, ARROWS, np.array([0.9, 0.0, -0.7, 0.0]), (50,), 4, told=told)


def reversed_arrows(name):
    return (lambda question: of(fields=(of_arrows(name, [(j, i) for i, j in ARROWS]),))[0](question),)


def linked_arrows(name, lengths=(30, 20)):
    return kinetic(name, ARROWS[1:2], np.array([0.8]), lengths, 3, links=[(0, 1)], together=0.4)


ONE_FIELD = [
    *rows(
        "80 binary", partial(binary_field, 80), EXACTLY, ordinary=["pseudo"], others=of(likelihood=WHOLE),
        sd=1.0, n_draws=2000,
    ),
    *rows("80 binary", partial(binary_field, 80), [WHOLE], others=of(likelihood="pseudo"), sd=1.0),
    *rows(
        "600 binary", partial(binary_field, 600), EXACTLY, others=of(likelihood=WHOLE),
        sd=1.0, n_draws=5000,
    ),
    *rows(
        "80 binary", partial(binary_field, 80), ["particles"], ordinary=["particles"], sd=1.0,
        n_particles=400,
    ),
    *rows("80 binary, 80", partial(binary_field, 80), ["particles"], sd=1.0, n_particles=80),
    *rows("600 binary, 3000", partial(binary_field, 600), ["particles"], sd=1.0, n_particles=3000),
    *(
        row
        for name in ("mixed", "agreement", "own scores", "potts", "scores")
        for row in rows(
            name, partial(pairwise, FAMILIES[name], GRAPH, WEIGHT, 60, 5), ALL, n_nodes=4
        )
    ),
    *rows("two states", partial(pairwise, potts(2), GRAPH, WEIGHT, 60, 5), ["particles"], n_nodes=4),
    *rows(
        "tables", partial(tables, [3, 2, 2], CROSSED, 60, TABLE_BIAS), SIMULATED, sd=1.0, n_draws=2000,
    ),
    *(
        row
        for name in KINDS
        for row in rows(
            name, partial(of_kinds, name), (*EXACTLY, "monte-carlo"), sd=0.7, n_nodes=KINDS[name][-1],
            n_draws=2000,
        )
    ),
    *(
        row
        for name, lag in (("boltzmann", 1), ("ordinal", 1), ("ising", 2))
        for row in rows(
            f"arrows, {name}",
            partial(kinetic, name, THREE, np.array([0.8, 0.6, 0.0, -0.5, 0.0]), (40, 25), lag=lag),
            sd=0.7,
        )
    ),
]  # fmt: skip

moved = partial(rows, nodes="random")
RANDOM_NODES = [
    *moved("binary", binary_triangle, ALL, ordinary=["exact"], sd=1.0, n_draws=2000),
    *(
        row
        for id, family, likelihoods in (
            ("mixed", THREE_ITEMS, ALL), ("potts", potts(3), ALL),
            ("two scores", ordinal(2, [0.5, 2.0]), ["particles"]),
        )
        for row in moved(
            id, partial(pairwise, family, PATH, WEIGHT[:2], 60, 7), likelihoods, sd=0.7, n_nodes=3
        )
    ),
    *(
        row
        for id, family in (
            ("binary", BOLTZMANN), ("ordinal", THREE_ITEMS), ("own scores", OWN_SCORES),
            ("Potts", potts(3)),
        )
        for row in moved(
            id, partial(pairwise, family, TRIANGLE, [0.8, 0.0, -0.4], 60, 5, sd=1.5), [PRECISE],
            ordinary=[PRECISE] if id == "binary" else (), sd=0.7,
            n_nodes=3 if family.n_states > 2 else 7, n_draws=1500 if id == "binary" else 2500,
        )
    ),
    *moved(
        "tables", partial(tables, [3, 2], COUPLE, 25, np.zeros((2, 3))), SIMULATED, sd=1.0, n_nodes=6,
        n_draws=2000,
    ),
    *(
        row
        for seed in (1, 2)
        for row in moved(
            f"Gaussian, {seed}", partial(gaussian, TRIANGLE, [0.5, -0.3, 0.0], [1.0, 1.4, 0.8], 60, seed),
            ordinary=["exact"] if seed == 1 else (), n_draws=2000,
        )
    ),
    *(
        row
        for name in ("binary Gaussian", "Gaussian binary Gaussian")
        for row in moved(
            name, partial(of_kinds, name, 2), EXACTLY, sd=0.7, n_nodes=6, n_draws=2000
        )
    ),
    *(
        row
        for name in ("boltzmann", "ising", "ordinal")
        for row in moved(
            f"arrows, {name}", partial(of_arrows, name), sd=0.7, n_nodes=4,
            others=reversed_arrows(name),
        )
    ),
    *(
        row
        for name in ("boltzmann", "ordinal")
        for row in moved(f"arrows and links, {name}", partial(linked_arrows, name), sd=0.7, n_nodes=2)
    ),
    *moved(
        "scales", partial(pairwise, THREE_STATES, PATH, [0.2, 0.5], 60, 9),
        factors=((np.array([0.2, 1.5]),),), others=of(factors=((np.array([1.5, 0.2]),),)),
        sd=0.7, n_nodes=3,
    ),
]  # fmt: skip


def two_of(make, *arguments):
    """Fields of two groups."""
    return lambda: tuple(make(*own) for own in zip(*arguments, strict=True))


def items_of_groups():
    """Of different sizes and biases."""
    b = [node_parameters(OWN_SCORES, 3, seed) for seed in (3, 4)]
    weights = [0.7, 0.1], [0.2, 0.1]
    return tuple(
        pairwise(OWN_SCORES, PATH, w, n, seed, own)
        for w, n, seed, own in zip(weights, (60, 40), (11, 12), b, strict=True)
    )


def couples():
    return tuple(
        binary_field(n, COUPLE, [w], b, seed)
        for w, b, n, seed in ((1.2, (0.3, -0.5), 50, 1), (0.2, (-0.6, 0.4), 30, 2))
    )


def series_of(arrows, weights, lengths, seed, **options):
    """A field for each series."""
    return lambda: tuple(
        kinetic("boltzmann", arrows, np.array(w), (n,), seed + k, **options)
        for k, (w, n) in enumerate(zip(weights, lengths, strict=True))
    )


def with_covariate():
    """Biases b + z slope and weights w + z delta: rows with the same z are a field of their own."""
    z = np.repeat([-1.0, 0.0, 1.0], [20, 30, 25])
    b, slope = np.array([0.3, -0.2, 0.1]), np.array([0.5, -0.4, 0.2])
    fields = tuple(
        binary_field((z == v).sum(), PATH, np.array([0.9, 0.6 * v]), b + v * slope, 5)
        for v in (-1, 0, 1)
    )
    x = np.concatenate([field.x for field in fields])
    order = np.random.default_rng(3).permutation(len(z))

    def declare(likelihood, w, delta):
        covariate = pm.Data("z", z[order])[:, None]
        weight, bias = w + covariate * delta, b + covariate * slope
        pmrf.BoltzmannMachine("x", weight, bias, graph=PATH, observed=x[order], likelihood=likelihood)

    return Question(fields, factors=((1, -1), (1, 0), (1, 1)), sd=1.0, declare=declare)


def measured_with_covariate():
    """Weights w + z delta and means by z."""
    z = np.repeat([-1.0, 0.0, 1.0], [12, 8, 10])
    fields = tuple(
        gaussian(COUPLE, [0.3 + 0.3 * v], np.ones(2), n, n) for v, n in ((-1, 12), (0, 8), (1, 10))
    )
    x, mean = np.concatenate([field.x for field in fields]), 2.0 + 3.0 * z[:, None] * np.ones(2)

    def declare(_, w, delta):
        weight = w + z[:, None] * delta
        pmrf.GaussianMRF("x", weight, np.ones(2), mean, graph=COUPLE, observed=x + mean)

    return Question(fields, factors=((1, -1), (1, 0), (1, 1)), sd=0.4, n_nodes=15, declare=declare)


def series_of_groups(arrows, weights, lengths, seed, **options):
    """One table of both groups: rows of one have weights w + delta / 2, others w - delta / 2."""
    fields = series_of(arrows, weights, lengths, seed, **options)()
    x, labels = np.concatenate([field.x for field in fields]), np.repeat([0, 1], lengths)
    graph = pmrf.LaggedGraph(range(2), arrows, links=options.get("links", ()))

    def declare(likelihood, w, delta):
        weight, own = w + (0.5 - labels)[:, None] * delta, {"likelihood": likelihood} if options else {}
        pmrf.KineticMRF("x", weight, fields[0].known, graph=graph, observed=x, series=labels, **own)

    return Question(fields, factors=HALVES, sd=0.7, n_nodes=4, declare=declare)


def linked():
    arrows, links = [(0, 0), (0, 1)], [(0, 1)]
    return kinetic("boltzmann", arrows, np.array([0.8, -0.6]), (60,), 3, links=links, together=0.25)


SUMS = [
    *rows("items of groups", items_of_groups, EXACTLY, factors=HALVES),
    *(
        row
        for id, nodes in (
            ("own biases", ((1, 0), (0, 1))), ("biases that differ", HALVES),
            ("biases that change", ((1, 0), (1, 1))),
        )
        for row in rows(
            id, couples, factors=HALVES, nodes=nodes, node_scales=(1.0, 0.2), sd=1.0,
            others=of(nodes=((0, 1), (1, 0))),
        )
    ),
    *rows(
        "Gaussian groups",
        two_of(
            gaussian, [PATH, PATH], [[0.5, 0.1], [-0.1, 0.1]], [[1.0, 1.4, 0.8], [0.9, 1.2, 1.0]],
            (40, 30), (1, 2),
        ),
        factors=HALVES, sd=0.4, n_nodes=9, n_draws=2000,
    ),
    *rows(
        "diagonals of groups",
        two_of(gaussian, [COUPLE] * 2, [[0.7], [0.1]], [[1.0, 1.5]] * 2, (30, 20), (30, 20)),
        factors=HALVES, nodes=HALVES, node_scales=(1.0, 0.3), sd=0.4, n_nodes=6, n_draws=2000,
    ),
    *rows(
        "Gaussian scales", partial(gaussian, PATH, [0.2, 0.4], [1.0, 1.4, 0.8], 40, 4),
        factors=((np.array([0.1, 0.6]),),), others=of(factors=((np.array([0.6, 0.1]),),)),
        sd=1.0, n_nodes=15, n_draws=2000,
    ),
    *(
        row
        for name, what in DIFFERENCES.items()
        for row in rows(
            f"groups, {name}",
            lambda what=what: tuple(mixed(*what, n, n, 0.4) for n in (40, 30)),
            EXACTLY, factors=HALVES, sd=0.6, n_nodes=6, n_draws=2000,
        )
    ),
    *rows(
        "tables of groups", lambda: tuple(tables([3, 2], COUPLE, n, TABLE_BIAS[:2], n) for n in (40, 30)),
        EXACTLY, factors=HALVES, sd=0.6, n_nodes=6, n_draws=2000,
    ),
    *rows(
        "two series of one vector", series_of(ARROWS[:3], [[0.9, 0.0, -0.7]] * 2, (40, 25), 4),
        factors=((1,), (1,)), sd=0.7,
    ),
    *rows("covariate", with_covariate, EXACTLY),
    *rows("measurements with a covariate", measured_with_covariate, n_draws=2000),
    *rows(
        "series of groups",
        partial(series_of_groups, ARROWS[:3], [[0.8, 0.6, -0.5], [0.8, -0.6, -0.5]], (45, 45), 6),
    ),
    *rows(
        "linked series of groups",
        partial(series_of_groups, ARROWS[1:2], [[0.8]] * 2, (40, 30), 3, links=[(0, 1)], together=0.4),
        n_nodes=5,
    ),
    # the pseudo-likelihood of each row, or that of whole rows; without expected neighbours arrows count half
    *rows("links and arrows", linked, others=of(likelihood=WHOLE), sd=0.7),
    *rows(
        "links and arrows", linked, ["pseudo"], sd=0.7,
        others=[*of(likelihood=WHOLE), *of(likelihood=pmrf.Pseudo(weight=0.5))],
    ),
]  # fmt: skip


@pytest.mark.parametrize("ask", ONE_FIELD)
def test_edges(ask, small_samples):
    ask()


@pytest.mark.parametrize("ask", RANDOM_NODES)
def test_node_parameters_that_move_with_the_edges(ask, small_samples):
    """Meaningless thresholds are integrated over their prior: they are not in the likelihood."""
    ask()


@pytest.mark.parametrize("ask", SUMS)
def test_weights_that_are_sums_of_sparse_vectors(ask, small_samples):
    ask()


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", EXACTLY)
def test_links_and_arrows_may_have_vectors_of_their_own(likelihood):
    field = linked()
    with pm.Model() as model:
        own = [pmrf.SpikeAndSlab(f"w_{n}", P, pm.Normal.dist(0, 0.7), shape=n) for n in (1, 2)]
        field.declare("x", pm.math.concatenate(own), field.nodes, likelihood)
    question = Question((field,), likelihood, sd=0.7)
    assert_right(question, dataclasses.replace(question, likelihood=WHOLE), model=model)
