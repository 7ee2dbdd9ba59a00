"""A latent Ising image by `TreeGibbs` and by PyMC's own steps for discrete variables, in one run."""

import time
import warnings

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.graph import builders

OPTIONS = {
    "chains": 1,
    "cores": 1,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}


def noisy_image(rows, coupling, sd, seed=1):
    """Graph, and an image drawn from the Ising model with Gaussian noise, (rows ** 2,)."""
    rng, graph = np.random.default_rng(seed), builders.grid(rows, rows)
    x = rng.integers(2, size=(1, graph.n_nodes)).astype(np.int8)
    tables = ISING.edge_tables(np.full(graph.n_edges, coupling)), np.zeros((graph.n_nodes, 2))
    GibbsSimulator(graph, 2, 1).sweep(x, *tables, 500, rng)
    return graph, 2.0 * x[0] - 1.0 + sd * rng.standard_normal(graph.n_nodes)


def field_model(graph, y, coupling, sd):
    """The posterior with a latent field."""
    with pm.Model() as model:
        x = pmrf.Ising("x", np.float64(coupling), graph=graph)
        pm.Normal("y", x, np.float64(sd), observed=y)
    return model


def plain_model(graph, y, coupling, sd):
    """The same posterior without this package: independent bits and a potential."""
    u, v = graph.edges.T
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.5, shape=graph.n_nodes)
        x = pm.Deterministic("x", 2 * z - 1)
        pm.Potential("energy", np.float64(coupling) * (x[u] * x[v]).sum())
        pm.Normal("y", x, np.float64(sd), observed=y)
    return model


def effective_rate(model, step, draws, tune, seed=2):
    """Magnetisation of each draw (t,), its effective draws per CPU second of sampling, and these seconds."""
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one chain
        compiled = step()
        start = time.process_time()
        idata = pm.sample(draws, tune=tune, step=compiled, random_seed=seed, **OPTIONS)
        seconds = (time.process_time() - start) * draws / (draws + tune)
    magnetisation = idata.posterior["x"].values.mean(axis=-1)
    return magnetisation[0], float(az.ess(magnetisation)) / seconds, seconds


def latent_image(rows=32, coupling=0.4, sd=2.0, draws=4000, plain_draws=400):
    """Effective draws of the magnetisation per second: ours, PyMC's, and how far the means disagree."""
    graph, y = noisy_image(rows, coupling, sd)
    field, plain = field_model(graph, y, coupling, sd), plain_model(graph, y, coupling, sd)
    result = {}
    m, result["tree"], _ = effective_rate(field, lambda: pmrf.TreeGibbs([field["x"]]), draws, 200)
    other, result["plain"], result["seconds"] = effective_rate(
        plain, lambda: pm.BinaryGibbsMetropolis([plain["z"]]), plain_draws, 50
    )
    error = np.hypot(az.mcse(m[None]), az.mcse(other[None]))
    return result | {
        "ratio": result["tree"] / result["plain"],
        "z": abs(m.mean() - other.mean()) / error,
    }
