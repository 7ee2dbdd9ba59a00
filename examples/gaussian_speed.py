"""Edges of Gaussian fields: how fast they are sampled, and whether they are found.

Fields are drawn from the prior of the model, in which about two edges reach each node, and measurements from
them. Effective draws per second of the processor of weights, of presence and of the diagonal are measured on
one table of each size, with the diagonal moved together with the weights, as `EdgeGibbs` does, and left to
NUTS. Partial correlations are compared with the truth over several tables; as that is a draw from the prior,
inclusion probabilities and errors must be as claimed. Writes `_results/gaussian_speed.md` and
`_results/gaussian_recovery.md`.
"""

import argparse
import time
from functools import partial

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

import pymc_mrf as pmrf
from examples._report import SILENT, machine, outcomes, parse_sizes, table, two_digits, write_fragment

EDGES_PER_NODE = 2.0
SLAB_SD = 0.25
SHAPE = 20.0  # of the Gamma prior of the diagonal, whose mean is 1
NEAR = {"0.5": (0.35, 0.65), "0.9": (0.85, 0.95)}  # bins whose edges tell the calibration
IN_DOUBT = 0.05, 0.95  # inclusion probabilities


def simulate(
    d: int, n: int, rng: np.random.Generator
) -> tuple[pmrf.PairwiseGraph, np.ndarray, np.ndarray]:
    """Draw a field from the prior: complete graph, partial correlations (r,) and measurements (n, d)."""
    graph = pmrf.graphs.complete(d)
    u, v = graph.edges.T
    K, is_positive = np.zeros((d, d)), False
    while not is_positive:  # the prior is cut to positive definite matrices
        present = rng.random(graph.n_edges) < EDGES_PER_NODE / (d - 1)
        weight = np.where(present, rng.normal(0, SLAB_SD, graph.n_edges), 0.0)
        K = np.diag(rng.gamma(SHAPE, 1 / SHAPE, d))
        K[u, v] = K[v, u] = -weight
        is_positive = np.linalg.eigvalsh(K)[0] > 0
    x = rng.multivariate_normal(np.zeros(d), np.linalg.inv(K), size=n)
    return graph, weight / np.sqrt(K[u, u] * K[v, v]), x


def learn(graph: pmrf.PairwiseGraph, x: np.ndarray, draws: int, seed: int, *, by_nuts: bool = False):
    """Sample two chains under the prior of the simulation; also seconds of the processor of their draws."""
    d, clock = graph.n_nodes, []
    with pm.Model(coords=pmrf.coords(graph)):
        slab = pm.Normal.dist(0, SLAB_SD)
        weight = pmrf.SpikeAndSlab("weight", EDGES_PER_NODE / (d - 1), slab, dims="edge")
        diagonal = pm.Gamma("diagonal", SHAPE, SHAPE, dims="node")
        pmrf.GaussianMRF("x", weight, diagonal, graph=graph, observed=x)
        idata = pm.sample(
            draws=draws,
            tune=draws // 2,
            chains=2,
            step=[pmrf.steps.EdgeGibbs([weight]), pm.NUTS([diagonal])] if by_nuts else None,
            random_seed=seed,
            callback=lambda trace, draw: clock.append((draw.tuning, draw.chain, time.process_time())),
            **SILENT,
        )
    is_tuning, chain, at = np.array(clock).T
    seconds = sum(np.ptp(at[(chain == k) & (is_tuning == 0)]) for k in range(2))
    return idata, float(seconds)


def rates(values: xr.DataArray, seconds: float) -> str:
    """Fewest and median effective draws per second of entries (chain, draw, entry).

    Those of the mean or of the standard deviation, of which there are fewer: moves that turn deviations
    around have many of the first and few of the second.
    """
    changing = values.values[..., values.values.std(axis=(0, 1)) > 0].astype(float)
    if not changing.shape[-1]:
        return ""
    rate = np.fmin(az.ess(changing, method="mean"), az.ess(changing, method="sd")) / seconds
    return f"{two_digits(float(np.min(rate)))} / {two_digits(float(np.median(rate)))}"


def speed(d: int, n: int, draws: int, *, by_nuts: bool) -> list[str]:
    """Cells of a row of the table of speed."""
    graph, _, x = simulate(d, n, np.random.default_rng([d, n]))
    idata, seconds = learn(graph, x, draws, 0, by_nuts=by_nuts)
    weight, diagonal = idata.posterior["weight"], idata.posterior["diagonal"]
    p = (weight != 0).mean(("chain", "draw")).values
    often = weight[..., p > IN_DOUBT[0]]
    presence = weight[..., (p > IN_DOUBT[0]) & (p < IN_DOUBT[1])] != 0
    r_hat = max(float(np.max(az.rhat(values.values))) for values in (often, diagonal))
    cells = [rates(values, seconds) for values in (often, presence, diagonal)]
    return [f"{1000 * seconds / (2 * draws):.2g}", *cells, f"{r_hat:.3f}"]


def recovery(d: int, n: int, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Simulate, learn, and keep what is to be compared with the truth."""
    graph, truth, x = simulate(d, n, np.random.default_rng([seed, d, n]))
    idata, _ = learn(graph, x, draws, seed)
    found = pmrf.partial_correlations(idata, "weight", "diagonal", graph)
    return {
        "p": (found != 0).mean(("chain", "draw")).values,
        "truth": truth,
        "mean": found.mean(("chain", "draw")).values,
        "variance": found.var(("chain", "draw")).values,
    }


def recovery_cells(results: list[dict[str, np.ndarray]]) -> list[str]:
    """Cells of a row of the table of recovery: all tables of one size together."""
    p, truth, mean, variance = (
        np.concatenate([found[name] for found in results]) for name in ("p", "truth", "mean", "variance")
    )
    exists, chosen = truth != 0, p > 0.5
    near = []
    for low, high in NEAR.values():
        inside = (p > low) & (p < high)
        shares = f"{p[inside].mean():.2f} / {exists[inside].mean():.2f} " if inside.any() else ""
        near.append(f"{shares}({inside.sum()})")
    return [
        str(exists.sum()),
        f"{exists[chosen].mean():.3f}" if chosen.any() else "",
        f"{p[chosen].mean():.3f}" if chosen.any() else "",
        f"{exists[chosen].sum() / exists.sum():.3f}",
        f"{p[chosen].sum() / p.sum():.3f}",
        *near,
        f"{np.sqrt(np.mean((mean - truth) ** 2)):.4f}",
        f"{np.sqrt(variance.mean()):.4f}",
    ]


def main(argv: list[str] | None = None) -> None:
    """Run all sizes and write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[5])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument(
        "--draws", type=int, default=200, help="of each of two chains, after half as many"
    )
    parser.add_argument("--tables", type=int, default=2, help="of every size, for the recovery")
    args = parse_sizes(parser, argv, nodes=[5, 10, 25], draws=3000, tables=15)
    n, fast, found = args.rows, [], []
    for d in args.nodes:
        for by_nuts, name in ((False, "`EdgeGibbs`"), (True, "NUTS")):
            fast.append([str(d), name, *speed(d, n, args.draws, by_nuts=by_nuts)])
        results = outcomes(partial(recovery, d, n, args.draws // 3), range(args.tables))
        found.append([str(d), *recovery_cells(results)])
    header = [
        "nodes",
        "diagonal moved by",
        "ms per draw",
        "weights",
        "presence",
        "diagonal",
        "largest R-hat",
    ]
    low, high = IN_DOUBT
    text = table(header, fast) + (
        "\nEffective draws per second of the processor, fewest / median, of the mean or of the standard "
        "deviation, of which there are fewer: of weights of edges whose probability is above "
        f"{low}, of the presence of those between {low} and {high}, and of the diagonal of the precision. "
        f"One table of {n} rows of each size, all pairs candidate edges; two chains of {args.draws:,} draws "
        f"each. {machine()}.\n"
    )
    write_fragment(text, args.output, "gaussian_speed.md")
    header = [
        "nodes", "edges that exist", "precision", "as claimed", "recall", "as claimed",
        "near 0.5: claimed / true (edges)", "near 0.9", "RMS error", "as claimed",
    ]  # fmt: skip
    text = table(header, found) + (
        f"\nOf edges with a probability above 0.5, in {args.tables} tables of {n} rows of each size, each of "
        "a field of its own. Errors are those of the posterior means of partial correlations; as claimed, "
        f"by their posterior variances. Two chains of {args.draws // 3:,} draws each.\n"
    )
    write_fragment(text, args.output, "gaussian_recovery.md")


if __name__ == "__main__":
    main()
