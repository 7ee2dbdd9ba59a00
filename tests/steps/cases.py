"""A case of each step: its model, variables, options and start."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.papers.auxiliary_variable import AuxiliaryVariableMH
from pymc_mrf.steps.latent.missing_cells import GaussianGibbs, MixedGibbs, SeriesGibbs
from tests.steps.auxiliary import models as exchange
from tests.steps.edges import arrow_models as arrows
from tests.steps.edges import block_models as blocks
from tests.steps.edges import gaussian_models as gaussian
from tests.steps.edges import mixed_models as mixed
from tests.steps.edges import small_models as edges
from tests.steps.edges import state_particle_models as states
from tests.steps.groups import models as groups
from tests.steps.hyper import community_models as communities
from tests.steps.hyper import models as conjugate
from tests.steps.latent import models as latent
from tests.steps.latent import series_models as series

START = {"w": np.array([0.6, 0.0, -0.01, 0.0, 0.0, 0.3])}


@dataclass(frozen=True)
class Case:
    step: type
    make: Callable[[], pm.Model]
    names: tuple[str, ...]  # of the variables that the step samples
    options: dict[str, Any] = field(default_factory=dict)
    start: dict[str, Any] = field(default_factory=dict)
    beside: Callable[[], list] = list  # other steps, of what `pm.sample` has no step for

    def build(self, model):
        return self.step([model[name] for name in self.names], model=model, **self.options)

    def point(self, model):
        return {**model.initial_point(), **self.start}


def agreement(likelihood):
    return functools.partial(groups.small_model, likelihood)


def edge_model(likelihood):
    return functools.partial(edges.edge_model, likelihood, slab=pm.Normal.dist(0, 1))


def hyperparameters():
    return conjugate.field_model("pseudo")


def particle_langevin():
    return [CASES["particle Langevin"].build(model_of("particle jumps"))]


QUICK = {"n_value_steps": 10, "sigma": 0.1}
FAST = {"step_size": 0.1}  # within 10 steps from the start of the tests
EDGES, THETA = ("w", "b"), ("theta",)
CASES = {
    "exact groups": Case(pmrf.steps.ExactGibbs, agreement("exact"), THETA),
    "pseudo groups": Case(pmrf.steps.GroupGibbs, agreement("pseudo"), THETA),
    "groups of arrows": Case(pmrf.steps.GroupGibbs, arrows.small_groups, THETA),
    "Monte Carlo groups": Case(pmrf.steps.GroupGibbs, agreement("monte-carlo"), THETA),
    "particle groups": Case(pmrf.steps.ParticleRatioGibbs, agreement("particles"), THETA),
    "stripped beta": Case(pmrf.papers.StrippedBetaGibbs, agreement("particles"), THETA),
    "moller": Case(AuxiliaryVariableMH, agreement("auto"), THETA, {"auxiliary": "moller", **QUICK}),
    "simulated auxiliary": Case(
        AuxiliaryVariableMH, agreement("auto"), THETA, {"draws": "gibbs", **QUICK}
    ),
    "exact edges": Case(pmrf.steps.EdgeGibbs, functools.partial(edges.edge_model, "exact"), EDGES),
    "pseudo edges": Case(pmrf.steps.EdgeGibbs, functools.partial(edges.edge_model, "pseudo"), EDGES),
    "tables of edges": Case(pmrf.steps.EdgeGibbs, blocks.small_model, EDGES),
    "arrows": Case(pmrf.steps.EdgeGibbs, arrows.small_model, EDGES),
    "particle edges": Case(
        pmrf.steps.EdgeGibbs,
        functools.partial(edges.edge_model, "particles"),
        EDGES,
        {"n_particles": 100},
    ),
    "particle edges of many states": Case(
        pmrf.steps.EdgeGibbs, states.ordinal_model, EDGES, {"n_particles": 100}
    ),
    "exact jumps": Case(pmrf.papers.ReversibleJump, edge_model("exact"), ("w",), {}, START),
    "particle jumps": Case(
        pmrf.papers.ReversibleJump,
        edge_model("particles"),
        ("w",),
        {"width": 0.5},  # that of the paper is seldom jumped from
        START,
        beside=particle_langevin,
    ),
    "exact Langevin": Case(pmrf.papers.PersistentLangevin, edge_model("exact"), EDGES, FAST, START),
    "particle Langevin": Case(
        pmrf.papers.PersistentLangevin, edge_model("particles"), EDGES, FAST, START
    ),
    "exact exchange": Case(pmrf.steps.Exchange, exchange.regression, ("b0", "b1"), {"draws": "exact"}),
    "simulated exchange": Case(
        pmrf.steps.Exchange, exchange.regression, ("b0", "b1"), {"draws": "gibbs", "n_sweeps": 3}
    ),
    "exchange of groups": Case(
        pmrf.steps.Exchange, functools.partial(exchange.groups, n_groups=2), ("J", "field")
    ),
    "latent field at once": Case(pmrf.steps.TreeGibbs, latent.hidden_potts, ("x",)),
    "latent field by trees": Case(pmrf.steps.TreeGibbs, latent.hidden_potts, ("x",), {"n_sweeps": 1}),
    "cells of series": Case(SeriesGibbs, series.small_model, ("x_unobserved",)),
    "Gaussian edges": Case(pmrf.steps.EdgeGibbs, gaussian.small_model, ("w", "diagonal")),
    "Gaussian cells": Case(
        GaussianGibbs, functools.partial(gaussian.small_model, gaps=True), ("x_unobserved",)
    ),
    "mixed edges": Case(pmrf.steps.EdgeGibbs, mixed.small_model, ("w", "bias", "diagonal")),
    "mixed pseudo edges": Case(
        pmrf.steps.EdgeGibbs, functools.partial(mixed.small_model, "pseudo"), ("w", "bias", "diagonal")
    ),
    "mixed cells": Case(MixedGibbs, functools.partial(mixed.small_model, gaps=True), ("x_unobserved",)),
    "communities": Case(
        pmrf.steps.CommunityGibbs, communities.community_model, ("z", "p_within", "p_between")
    ),
    "concentration": Case(pmrf.steps.ConjugateConcentration, conjugate.group_model, ("alpha",)),
    "means": Case(pmrf.steps.ConjugateMeans, gaussian.small_model, ("mean",)),
    "hyperparameters": Case(pmrf.steps.ConjugateHyperparameters, hyperparameters, ("p", "tau")),
}


@functools.cache
def model_of(name):
    return CASES[name].make()


def values_of(step):
    return [variable.name for variable in step.vars]
