"""Messages recommend no likelihood that is then refused, and do not send anybody in circles."""

import re
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.sampling.mcmc import assign_step_methods, instantiate_steppers

import pymc_mrf as pmrf
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.distributions.remedies import in_place_of_pseudo, is_no_pseudo, possible_of
from pymc_mrf.likelihood.edges.edge_field import edge_field
from pymc_mrf.likelihood.monte_carlo.reference import Moments
from pymc_mrf.likelihood.monte_carlo.sampled_field import SampledField

SMALL, WIDE = pmrf.graphs.complete(4), pmrf.graphs.complete(26)
IN_PLACE_OF_PSEUDO = ("exact", "monte-carlo", "particles")
LIKELIHOODS = ("exact", "monte-carlo", "particles", "pseudo", "path")
GRAPHS = {"small": SMALL, "wide": WIDE}  # a junction tree of 2 ** 26 cells is refused


def data(graph, rows=12):
    return np.random.default_rng(1).integers(0, 2, (rows, graph.n_nodes))


def edges(graph, name="w"):
    return pmrf.SpikeAndSlab(name, 0.5, pm.Normal.dist(0, 1), shape=graph.n_edges)


def biases(graph, name="b"):
    return pm.Normal(name, 0, 1, shape=graph.n_nodes)


def declare(graph, likelihood, w, b=0.0, name="x"):
    pmrf.BoltzmannMachine(name, w, b, graph=graph, observed=data(graph), likelihood=likelihood)


def plain(graph, likelihood):
    declare(graph, likelihood, edges(graph), biases(graph))


def difference(graph, likelihood):
    w, delta = edges(graph), edges(graph, "delta")
    declare(graph, likelihood, w + 0.5 * delta, biases(graph))
    declare(graph, likelihood, w - 0.5 * delta, biases(graph, "c"), name="y")


def covariate(graph, likelihood):
    z = np.linspace(-1, 1, 12)[:, None]
    declare(graph, likelihood, edges(graph) + z * edges(graph, "delta"), biases(graph))


def covariate_of_biases(graph, likelihood):
    z = np.linspace(-1, 1, 12)[:, None]
    declare(graph, likelihood, edges(graph), biases(graph) + z * biases(graph, "slope"))


def biases_of_something_else(graph, likelihood):
    b = biases(graph)
    pm.Normal("y", b.sum(), 1, observed=0.0)
    declare(graph, likelihood, edges(graph), b)


def discrete(graph, likelihood):
    k = pm.Categorical("k", [0.5, 0.5])
    declare(graph, likelihood, pt.as_tensor([0.1, 0.2])[k])


def hidden_parent(graph, likelihood):
    z = pmrf.BoltzmannMachine("z", 0.1, graph=SMALL)
    declare(graph, likelihood, 0.1, (0.2 * z).sum() * np.ones(graph.n_nodes))


@pytest.fixture(autouse=True)
def nothing_is_simulated(monkeypatch):
    """Nothing is sampled here: Monte Carlo likelihoods need no search."""

    def sample(x, missing, graph, family, seed, tolerance, announce):
        field, _ = edge_field(x, graph, family, True, np.arange(graph.n_edges))
        moments = Moments(field, 64)
        states = np.random.default_rng(0).integers(0, 2, (graph.n_nodes, 64)).astype(np.int8)
        moments.add(states, True)
        return SampledField("", moments.reference(np.zeros(len(field.edges) + len(field.lift)), states))

    monkeypatch.setattr(SampledField, "of", sample)


MODELS = [
    plain,
    difference,
    covariate,
    covariate_of_biases,
    biases_of_something_else,
    discrete,
    hidden_parent,
]


def refusal(make, graph, likelihood):
    """Return what is said against a model, when it is declared or its steps are made; "" if nothing."""
    try:
        with pm.Model() as model, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(graph, likelihood)
            instantiate_steppers(model, *assign_step_methods(model, None))
    except ValueError as error:
        return str(error)
    return ""


def recommended(message):
    """Likelihoods that a message names as remedies, after the one it is about."""
    remedy = re.split(r"; |: |\. ", message)[-1]
    found = re.findall(r'likelihood=("[a-z-]+"(?:(?:, | or )"[a-z-]+")*)', remedy)
    return {name for part in found for name in re.findall(r'"([a-z-]+)"', part)}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("make", MODELS)
@pytest.mark.ordinary(
    "plain-small",
    "plain-wide",
    "covariate-small",
    "biases_of_something_else-wide",
    "covariate_of_biases-wide",
    "discrete-small",
    "difference-wide",
)
def test_no_refusal_recommends_what_is_refused(make, graph):
    said = {likelihood: refusal(make, GRAPHS[graph], likelihood) for likelihood in LIKELIHOODS}
    assert said["path"] and said["pseudo"] == ""
    for likelihood, message in said.items():
        if message:
            assert recommended(message), message
            for remedy in recommended(message):
                assert said[remedy] == "", (likelihood, message, said[remedy])
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(GRAPHS[graph], "pseudo")
    node = field_node(model["x"])
    instead = in_place_of_pseudo(possible_of(node, model, is_no_pseudo))
    right = [likelihood for likelihood in IN_PLACE_OF_PSEUDO if not said[likelihood]]
    named = [likelihood for likelihood in IN_PLACE_OF_PSEUDO if f'"{likelihood}"' in instead]
    assert set(named) <= set(right)
    assert bool(named) == bool(right)


def test_fields_that_share_their_edges():
    """Nothing is known of the second one when the first is declared."""
    for graph in GRAPHS.values():

        def make(graph, likelihood):
            w = edges(graph)
            declare(graph, likelihood, w, biases(graph))
            declare(graph, likelihood, w, biases(graph, "c"), name="y")

        left = {"monte-carlo", "pseudo"} if graph is WIDE else {"exact", "monte-carlo", "pseudo"}
        assert recommended(refusal(make, graph, "particles")) == left
        with pm.Model() as model:
            make(graph, "pseudo")
        left = [one.name for one in possible_of(field_node(model["x"]), model, is_no_pseudo)]
        assert left == (["monte-carlo"] if graph is WIDE else ["exact", "monte-carlo"])


def test_recommended_likelihoods_are_found_in_messages():
    text = 'no step takes likelihood="particles": declare with likelihood="exact" or "pseudo", or leave b out'
    assert recommended(text) == {"exact", "pseudo"}


@pytest.mark.parametrize("likelihood", ["particles", "monte-carlo", "exact"])
def test_covariates_of_rows_have_a_remedy_that_is_right(likelihood):
    """Beside the pseudo-likelihood, which is nearly so; and what it says can be typed."""
    said = refusal(covariate_of_biases, WIDE, likelihood)
    assert 'likelihood="pseudo", which is nearly right' in said
    typed = re.search(r"as table = (.*) and (pymc_mrf\.network_model\(.*\)), or ", said)
    rng = np.random.default_rng(0)
    items = pd.DataFrame(rng.integers(0, 3, (30, 3)), columns=list("abc"))
    names = {"items": items, "age": rng.integers(18, 80, 30), "pymc_mrf": pmrf}
    names["table"] = eval(typed[1], names)
    model = eval(typed[2], names)
    node = field_node(next(rv for rv in model.observed_RVs if field_node(rv)))
    kinds = dict(zip(node.op.columns.names, node.op.columns.kinds, strict=True))
    assert kinds == {"a": "ordinal", "b": "ordinal", "c": "ordinal", "age": "continuous"}
    said = refusal(covariate, WIDE, likelihood)
    assert "ive each of a few groups of rows a field, with sums of the same vectors" in said
    assert "column_kinds" not in said
