"""Which edges exist depends on covariates: a logistic regression as the prior of a structure.

Simulated binary data on nodes with places in the plane and kinds. Edges are likelier between near nodes and
between nodes of one kind; the regression of their presence is learnt together with the structure. It is
compared with the truth, and the structure with that learnt under one common probability. Writes two tables
for the documentation.
"""

import argparse
import time
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

import pymc_mrf as pmrf
from examples._report import machine, table, write_fragment
from examples._truth import precision_recall

TRUTH = {"a": -3.0, "distance": -1.5, "same kind": 1.5}
N_KINDS = 3
WEIGHT_SD = 0.6


def simulate(d: int, n: int, rng: np.random.Generator):
    """Graph of all pairs, covariates (r, 2), true weights (r,) and n draws (n, d) of the field."""
    graph = pmrf.graphs.complete(d)
    u, v = graph.edges.T
    place, kind = rng.random((d, 2)), rng.integers(N_KINDS, size=d)
    distance = np.linalg.norm(place[u] - place[v], axis=1)
    z = np.column_stack([(distance - distance.mean()) / distance.std(), kind[u] == kind[v]])
    p = 1.0 / (1.0 + np.exp(-TRUTH["a"] - z @ [TRUTH["distance"], TRUTH["same kind"]]))
    weight = np.where(rng.random(graph.n_edges) < p, rng.normal(0, WEIGHT_SD, graph.n_edges), 0.0)
    bias = -0.5 * np.bincount(
        graph.edges.ravel(), np.repeat(weight, 2), d
    )  # about half of the cells are 1
    field = pmrf.BoltzmannMachine.dist(weight, bias, graph=graph, likelihood="pseudo", size=(n,))
    return graph, z, weight, pm.draw(field, random_seed=rng)


def build(graph, z, x, covariates: bool) -> pm.Model:
    """Return the model, with a regression of the edges' presence or with one probability of all."""
    coords = {**pmrf.coords(graph), "covariate": list(TRUTH)[1:]}
    with pm.Model(coords=coords) as model:
        if covariates:
            a = pm.Normal("a", 0, 2)
            beta = pm.Normal("beta", 0, 2, dims="covariate")
            p = pm.math.sigmoid(a + z @ beta)
        else:
            p = pm.Beta("p", 1, 1)
        weight = pmrf.SpikeAndSlab("weight", p, pm.Normal.dist(0, WEIGHT_SD), dims="edge")
        bias = pm.Normal("bias", 0, 2, dims="node")
        pmrf.BoltzmannMachine("x", weight, bias, graph=graph, likelihood="pseudo", observed=x)
    return model


def log_score(inclusion: np.ndarray, present: np.ndarray) -> float:
    """Mean log probability that a posterior gives to the presence or absence of the edges."""
    p = np.clip(np.where(present, inclusion, 1.0 - inclusion), 1e-3, 1.0)
    return float(np.log(p).mean())


def regression_rows(idata: xr.DataTree) -> list[list[str]]:
    """Posterior of the coefficients beside the truth."""
    summary = az.summary(
        idata, var_names=["a", "beta"], round_to="none", ci_prob=0.9, ci_kind="eti", kind="all"
    )
    return [
        [
            name,
            f"{truth:.1f}",
            f"{line['mean']:.2f}",
            f"{line['sd']:.2f}",
            f"({line['eti90_lb']:.2f}, {line['eti90_ub']:.2f})",
            f"{line['r_hat']:.3f}",
            f"{line['ess_bulk']:.0f}",
        ]
        for (name, truth), (_, line) in zip(TRUTH.items(), summary.iterrows(), strict=True)
    ]


def main(argv: list[str] | None = None) -> None:
    """Simulate, sample, compare with the truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=30)
    parser.add_argument("--n", type=int, default=2000, help="number of observations")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("docs"), help="folder of _results")
    arguments = parser.parse_args(argv)

    rng = np.random.default_rng(arguments.seed)
    graph, z, weight, x = simulate(arguments.nodes, arguments.n, rng)
    present = weight != 0
    rows, scores = [], []
    for covariates in (True, False):
        start = time.perf_counter()
        with build(graph, z, x, covariates):
            idata = pm.sample(
                draws=arguments.draws,
                tune=arguments.tune,
                chains=arguments.chains,
                nuts_sampler="pymc",
                random_seed=arguments.seed,
            )
            inclusion = pmrf.analysis.edge_inclusion(idata, "weight").inclusion.values
        rows += regression_rows(idata) if covariates else []
        at_half = precision_recall(inclusion, present).sel(threshold=0.5)
        scores.append(
            [
                "regression on covariates" if covariates else "one for all edges",
                f"{log_score(inclusion, present):.3f}",
                f"{at_half.precision.item():.2f}",
                f"{at_half.recall.item():.2f}",
                f"{time.perf_counter() - start:.0f}",
            ]
        )
    text = table(
        ["coefficient", "truth", "posterior mean", "sd", "90 % interval", "R-hat", "bulk ESS"], rows
    )
    text += "\n" + table(
        ["prior probability of an edge", "mean log score", "precision", "recall", "seconds"], scores
    )
    text += (
        f"\nA Boltzmann machine on {arguments.nodes} nodes, of whose {graph.n_edges} pairs {present.sum()} "
        f"are edges; {arguments.n} observations, pseudo-likelihood; {arguments.chains} chains of "
        f"{arguments.tune} tuning steps and {arguments.draws} draws, compilation included. The log score is "
        "the mean log probability that the posterior gives to what is true of a pair, edge or none.\n\n"
        f"Made by `examples/edge_covariates.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "edge_covariates.md")


if __name__ == "__main__":
    main()
