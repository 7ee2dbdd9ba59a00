"""GroupGibbs: arrows and links that are alike, against the posterior by listing all groupings."""

import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ordinal
from tests.reference import grouped_posterior as reference
from tests.reference.kinetic import kinetic_log_likelihood
from tests.statistics import Z
from tests.steps.edges.arrow_models import PAIR, declare, series
from tests.steps.groups.field_models import gaps_of, sample

LINK = ((0, 1),)


def model_of(z, labels, family, b, arrows, links=(), **options):
    r = len(arrows) + len(links)
    with pm.Model() as model:
        # the logistic function of a parameter is uniform a priori
        w = pmrf.DirichletProcess("w", 1.0, pm.Logistic.dist(0, 1), shape=r)
        bias = b.reshape(family.node_shape(2))
        if family.node_axes:
            graph = pmrf.LaggedGraph(range(2), arrows, links=links)
            options |= {"family": "ordinal", "scores": [-1.0, 0.5, 2.0], "n_states": [3, 2]}
            pmrf.KineticMRF("x", w, bias, graph=graph, observed=z, series=labels, **options)
        else:
            declare(family.name, w, bias, arrows, z, labels, family, links=links, **options)
    return model


@pytest.mark.parametrize(
    ("name", "links", "likelihood"),
    [
        pytest.param("ordinal", (), "auto", id="arrows"),
        pytest.param("boltzmann", LINK, "pseudo", id="and a link"),
        pytest.param("boltzmann", LINK, "exact", id="and a link, exact"),
        pytest.param("boltzmann", (), "auto", id="binary"),
        pytest.param("ising", (), "auto", id="ising"),
        pytest.param("ordinal", LINK, "pseudo", id="ordinal and a link"),
        pytest.param("ising", LINK, "exact", id="ising and a link, exact"),
        pytest.param("ordinal", LINK, "exact", id="ordinal and a link, exact"),
    ],
)
@pytest.mark.slow
def test_posterior_by_enumeration(name, links, likelihood):
    arrows = PAIR[:3] if not links else PAIR[1:3]
    z, labels, edges, family, b = series(
        name, arrows, np.array([0.9, 0.9, -0.4])[: len(arrows)], (40, 20)
    )
    if name == "ordinal":
        family = ordinal([3, 2], [-1.0, 0.5, 2.0])
    if links:  # what it does is not small
        z[:, 1] = np.where(np.random.default_rng(5).random(len(z)) < 0.4, z[:, 0] % 2, z[:, 1])
    edges = [(u, v, 0) for u, v in links] + edges
    model = model_of(z, labels, family, b, arrows, links, likelihood=likelihood)
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model, None)
    assert set(chosen) == {pmrf.steps.GroupGibbs}
    w = special.expit(sample(model, draws=1000)["w"].values)

    expected = model["x"].owner.op.likelihood.expected if likelihood == "pseudo" else None
    constants = expected.constants if expected else None

    def exact(edges, whole_rows=likelihood == "exact", weight=0.5, constants=constants):
        log_likelihood = kinetic_log_likelihood(z, edges, family, labels, whole_rows, weight, constants)
        nodes = np.zeros(b.size) + b
        return reference.posterior_of(
            lambda eta, _: log_likelihood(np.column_stack([eta, np.tile(nodes, (len(eta), 1))])), 3, 1.0
        )[0]

    assert gaps_of(w, exact(edges)) < Z
    turned = [(v, u, lag) for u, v, lag in edges]
    assert gaps_of(w, exact(turned)) > Z  # negative control: the arrows the other way
    if links:  # and the pseudo-likelihood that counts links twice
        assert gaps_of(w, exact(edges, False, weight=1.0)) > Z
    if likelihood == "pseudo":  # and without second conditionals, so that arrows count half
        assert gaps_of(w, exact(edges, constants=None)) > Z


@pytest.mark.slow
def test_missing_cells_are_counted_as_they_are_drawn():
    """Two series with gaps: the same groups as by the sum over what the gaps may hold."""
    arrows = PAIR[1:3]
    z, labels, edges, family, b = series("boltzmann", arrows, np.array([1.2, -0.4]), (30, 15))
    edges = [(0, 1, 0), *edges]
    gone = [(3, 0), (10, 1), (35, 0), (36, 0)]
    x = np.ma.masked_array(z, mask=False)
    for cell in gone:
        x[cell] = np.ma.masked
    with pytest.warns(pm.exceptions.ImputationWarning, match="4 of 90 cells"):
        model = model_of(x, labels, family, b, arrows, LINK, likelihood="exact")
    w = special.expit(sample(model, draws=600)["w"].values)

    def exact(fillings):
        parts = []
        for states in fillings:
            filled = z.copy()
            for cell, state in zip(gone, states, strict=True):
                filled[cell] = state
            parts.append(kinetic_log_likelihood(filled, edges, family, labels, True))

        def log_likelihood(eta, _):
            parameters = np.column_stack([eta, np.tile(b, (len(eta), 1))])
            return special.logsumexp([part(parameters) for part in parts], axis=0)

        return reference.posterior_of(log_likelihood, 3, 1.0)[0]

    assert gaps_of(w, exact(itertools.product(range(2), repeat=4))) < Z
    assert gaps_of(w, exact([(0, 0, 0, 0)])) > Z  # negative control: one guess for all draws


def test_fields_that_share_groups_all_have_links_or_none():
    z = np.random.default_rng(1).integers(2, size=(20, 2))
    with pm.Model():
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Normal.dist(0, 1), shape=5)
        options = {"observed": z, "graph": pmrf.graphs.lagged(2, links=True), "likelihood": "exact"}
        pmrf.KineticMRF("x", theta, 0.0, **options)
        pmrf.KineticMRF("y", theta[1:], 0.0, graph=pmrf.graphs.lagged(2), observed=z)
        with pytest.raises(ValueError, match="all need links, or none, but x and y differ"):
            pm.sample(1, tune=1, chains=1, cores=1, progressbar=False)
