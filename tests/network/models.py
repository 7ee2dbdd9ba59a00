"""Small networks of every kind, sampled briefly."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import pymc_mrf as pmrf

ODD = ["a b", "c--d", "<i>&x", "[é] β", "$m_1$"]
LEVELS = ["never", "<seldom>", "often & more", "always"]
GROUPS = ["x<1", "y z", "é"]


def sampled(model, draws=30, seed=1):
    """Draws of two chains."""
    options = {"tune": 20, "chains": 2, "cores": 1, "progressbar": False, "quiet": True}
    with warnings.catch_warnings(), model:
        warnings.simplefilter("ignore")
        return pm.sample(draws, random_seed=seed, compute_convergence_checks=False, **options)


def drawn(model, draws=60, seed=1):
    """Draws of the prior as those of two chains: for what only reads them, without a sampler to compile."""
    with warnings.catch_warnings(), model:
        warnings.simplefilter("ignore")
        names = [rv.name for rv in (*model.free_RVs, *model.deterministics)]
        idata = pm.sample_prior_predictive(draws, var_names=names, random_seed=seed)
    half = np.arange(draws // 2)
    chains = [idata.prior.to_dataset().isel(chain=0, draw=half + k * len(half)) for k in range(2)]
    chains = [one.drop_vars("chain").assign_coords(draw=half) for one in chains]
    posterior = xr.concat(chains, "chain").assign_coords(chain=range(2))
    if "diagonal" in posterior:  # precisions are positive definite
        posterior["weight"] = 0.3 * np.tanh(posterior["weight"])
        posterior["diagonal"] = 1.0 + posterior["diagonal"]
    idata["posterior"] = xr.DataTree(posterior)
    return idata


def quietly(make, *args, **kwargs):
    """What a function makes that warns of odd tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*args, **kwargs)


def codes(n, k, n_items, seed=0):
    """Answers 0 to k - 1 to items that hang together, (n, n_items)."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    cuts = np.linspace(-1.0, 1.0, k - 1)
    return np.digitize(common + rng.standard_normal((n, n_items)), cuts)


def odd_table(n=150):
    """Codes from 1, ordered categories of which the last is unused, odd names, and three groups."""
    x = codes(n, 3, len(ODD))
    table = pd.DataFrame({name: x[:, i] + 1 for i, name in enumerate(ODD[:3])})
    for i, name in enumerate(ODD[3:], start=3):
        table[name] = pd.Categorical.from_codes(x[:, i], LEVELS, ordered=True)
    table["group"] = np.array(GROUPS)[np.arange(n) % 3]
    return table


def plain_table(odd):
    """The same with states from 0 and plain names."""
    columns = {f"q{i}": odd[name] - 1 for i, name in enumerate(ODD[:3])}
    columns |= {f"q{i}": odd[name].cat.codes for i, name in enumerate(ODD[3:], start=3)}
    return pd.DataFrame(columns).astype(np.int64)


def mixed_table(n=120):
    """Answers, and measurements in units far from 1."""
    x = codes(n, 3, 4, seed=3)
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "o <1>": x[:, 0] + 1,
            "n & m": np.array(["red", "green", "blue"])[x[:, 1]],
            "age--d": 4e4 + 1e3 * (x[:, 2] + rng.standard_normal(n)),
            "µs": 3e-4 + 1e-5 * (x[:, 3] + rng.standard_normal(n)),
        }
    )


def mixed_model(table):
    kinds = pmrf.column_kinds(table, {"o <1>": "ordinal", "n & m": "nominal"})
    return pmrf.network_model(table, kind=kinds)


def kinetic_model():
    x, graph = codes(60, 2, 3), pmrf.graphs.lagged(list("abc"))
    with pm.Model(coords=pmrf.coords(graph)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.2, pm.Normal.dist(0, 1.5), dims="edge")
        bias = pm.Normal("bias", 0, 3, dims="node")
        pmrf.KineticMRF("x", weight, bias, graph=graph, observed=x)
    return model


def grouped_model():
    """Edges in groups, by a Dirichlet process."""
    graph = pmrf.graphs.chain(5)
    with pm.Model(coords=pmrf.coords(graph)) as model:
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=graph, observed=codes(80, 2, 5))
    return model
