"""ConditionalGibbs: arrows that are alike, against the posterior by enumeration of all groupings."""

import numpy as np
import pymc as pm
import pytest
from scipy import special

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ordinal
from pymc_mrf.steps.groups.conditional_gibbs import ConditionalGibbs
from pymc_mrf.steps.groups.pseudo_gibbs import PseudoGibbs
from tests.marks import slow
from tests.reference import grouped_posterior as reference
from tests.reference.kinetic import kinetic_log_likelihood
from tests.statistics import Z
from tests.steps.test_edge_gibbs_kinetic import PAIR, declare, series
from tests.steps.test_group_fields import gaps_of, sample


def model_of(z, labels, family, b, arrows, links=()):
    r = len(arrows) + len(links)
    with pm.Model() as model:
        # the logistic function of a parameter is uniform a priori
        w = pmrf.DirichletProcess("w", 1.0, pm.Logistic.dist(0, 1), shape=r)
        bias = b.reshape(family.node_shape(2))
        own = {"scores": [-1.0, 0.5, 2.0], "n_states": [3, 2]} if family.node_axes else {}
        if own:
            graph = pmrf.LaggedGraph(range(2), arrows, links=links)
            pmrf.KineticMRF(
                "x", w, bias, graph=graph, family="ordinal", observed=z, series=labels, **own
            )
        else:
            declare(family.name, w, bias, arrows, z, labels, family, links=links)
    return model


@pytest.mark.parametrize(
    ("name", "links"),
    [
        pytest.param("ordinal", (), id="arrows"),
        pytest.param("boltzmann", ((0, 1),), id="and a link"),
        slow("boltzmann", (), id="binary"),
        slow("ising", (), id="ising"),
        slow("ordinal", ((0, 1),), id="ordinal and a link"),
    ],
)
def test_posterior_by_enumeration(name, links):
    arrows = PAIR[:3] if not links else PAIR[1:3]
    z, labels, edges, family, b = series(
        name, arrows, np.array([0.9, 0.9, -0.4])[: len(arrows)], (40, 20)
    )
    if name == "ordinal":
        family = ordinal([3, 2], [-1.0, 0.5, 2.0])
    edges = [(u, v, 0) for u, v in links] + edges
    model = model_of(z, labels, family, b, arrows, links)
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model, None)
    assert set(chosen) == {PseudoGibbs if links else ConditionalGibbs}
    w = special.expit(sample(model, draws=1000)["w"].values)

    def exact(edges):
        log_likelihood = kinetic_log_likelihood(z, edges, family, labels)
        nodes = np.zeros(b.size) + b
        return reference.posterior_of(
            lambda eta, _: log_likelihood(np.column_stack([eta, np.tile(nodes, (len(eta), 1))])), 3, 1.0
        )[0]

    assert gaps_of(w, exact(edges)) < Z
    turned = [(v, u, lag) for u, v, lag in edges]
    assert gaps_of(w, exact(turned)) > Z  # negative control: the arrows the other way
