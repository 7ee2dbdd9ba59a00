"""A latent Ising or Potts image by `TreeGibbs` and by PyMC's own steps for discrete variables, in one run."""

import time
import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING, Family, potts
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph

OPTIONS = {
    "chains": 1,
    "cores": 1,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


def noisy_image(family: Family, rows: int, coupling: float, sd: float, seed: int = 1):
    """Graph, and an image drawn from the field with Gaussian noise around its values, (rows ** 2,)."""
    rng, graph = np.random.default_rng(seed), builders.grid(rows, rows)
    K = family.n_states
    x = rng.integers(K, size=(1, graph.n_nodes)).astype(np.int8)
    tables = family.edge_tables(np.full(graph.n_edges, coupling)), np.zeros((graph.n_nodes, K))
    GibbsSimulator(graph, K, 1).sweep(x, *tables, 500, rng)
    return graph, np.array(family.states)[x[0]] + sd * rng.standard_normal(graph.n_nodes)


def ising_models(graph: PairwiseGraph, y: np.ndarray, coupling: float, sd: float):
    """The posterior with a latent field; and without this package: independent bits and a potential."""
    u, v = graph.edges.T
    with pm.Model() as field:
        x = pmrf.Ising("x", np.float64(coupling), graph=graph)
        pm.Normal("y", x, np.float64(sd), observed=y)
    with pm.Model() as plain:
        z = pm.Bernoulli("z", 0.5, shape=graph.n_nodes)
        x = pm.Deterministic("x", 2 * z - 1)
        pm.Potential("energy", np.float64(coupling) * (x[u] * x[v]).sum())
        pm.Normal("y", x, np.float64(sd), observed=y)
    return field, plain, pm.BinaryGibbsMetropolis


def potts_models(graph: PairwiseGraph, y: np.ndarray, coupling: float, sd: float, n_states: int = 3):
    """The same for states 0..K-1 that are the values of the image."""
    u, v = graph.edges.T
    with pm.Model() as field:
        x = pmrf.Potts("x", np.float64(coupling), graph=graph, n_states=n_states)
        pm.Normal("y", x, np.float64(sd), observed=y)
    with pm.Model() as plain:
        z = pm.Categorical("z", np.full(n_states, 1 / n_states), shape=graph.n_nodes)
        x = pm.Deterministic("x", z)
        pm.Potential("energy", np.float64(coupling) * pt.eq(x[u], x[v]).sum())
        pm.Normal("y", x, np.float64(sd), observed=y)
    return field, plain, pm.CategoricalGibbsMetropolis


def effective_rate(model, step, draws, tune, seed=2):
    """Mean value of each draw (t,), its effective draws per CPU second of sampling, and these seconds."""
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one chain
        compiled = step()
        start = time.process_time()
        idata = pm.sample(draws, tune=tune, step=compiled, random_seed=seed, **OPTIONS)
        seconds = (time.process_time() - start) * draws / (draws + tune)
    mean = idata.posterior["x"].values.mean(axis=-1)
    return mean[0], float(az.ess(mean)) / seconds, seconds


def latent_image(
    n_states: int = 2,
    coupling: float = 0.4,
    sd: float = 2.0,
    rows: int = 32,
    draws: int = 4000,
    plain_draws: int = 400,
) -> dict:
    """Effective draws of the mean value (magnetisation) per CPU second, and how far the means disagree.

    Returns
    -------
    dict
        `tree`, `plain`: rates of `TreeGibbs` and of PyMC's step, whose name is `peer`; `ratio`; `seconds`
        of PyMC's draws; `z`: difference of the means in standard errors.
    """
    family, models = (ISING, ising_models) if n_states == 2 else (potts(n_states), potts_models)
    graph, y = noisy_image(family, rows, coupling, sd)
    field, plain, step = models(graph, y, coupling, sd)
    result = {"peer": step.__name__}
    m, result["tree"], _ = effective_rate(field, lambda: pmrf.steps.TreeGibbs([field["x"]]), draws, 200)
    other, result["plain"], result["seconds"] = effective_rate(
        plain, lambda: step([plain["z"]]), plain_draws, 50
    )
    error = np.hypot(az.mcse(m[None]), az.mcse(other[None]))
    return result | {
        "ratio": result["tree"] / result["plain"],
        "z": float(abs(m.mean() - other.mean()) / error),
    }
