"""Answers without an order: the edges that tables of parameters find beside those of one number each.

Fields of six variables with three states, in which six of 15 edges are present and pair the states in a way
that has nothing to do with agreement, as "Catholics vote for A, Protestants for B". A `NominalMRF` with a
`SpikeAndSlab` over tables, and a `Potts` field with one over single couplings, under the exact likelihood.
How many edges each of them finds, how many of these are false, and how many effective draws of the presence
of an edge a second of CPU time makes, go into ``docs/_results/nominal_answers.md``, and the table of the
strongest edge is drawn to ``docs/figures/nominal_table.png``.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

import pymc_mrf as pmrf
from examples._report import machine, outcomes, parse_sizes, save_figure, table, write_fragment

D, K = 6, 3
GRAPH = pmrf.graphs.complete(D)
N_PRESENT = 6


def simulate(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Which edges (r,) are present, and rows (n, d)."""
    present = np.zeros(GRAPH.n_edges, dtype=bool)
    present[rng.choice(GRAPH.n_edges, N_PRESENT, replace=False)] = True
    weight = rng.normal(size=(GRAPH.n_edges, (K - 1) ** 2))
    weight *= np.where(present, 1.2, 0.0)[:, None] / np.linalg.norm(weight, axis=1)[:, None]
    bias = rng.normal(0, 0.3, (D, K))
    field = pmrf.NominalMRF.dist(weight, bias, graph=GRAPH, n_states=K, shape=(n_rows, D))
    return present, pm.draw(field, random_seed=rng)


def model_of(kind: str, x: np.ndarray) -> pm.Model:
    """Declare the field, with edges as likely as not."""
    slab, shape = pm.Normal.dist(0, 0.7), (D, K)
    with pm.Model() as model:
        if kind == "NominalMRF":
            blocks = pmrf.fields.table_sizes(GRAPH, K)
            weight = pmrf.SpikeAndSlab("weight", 0.5, slab, blocks=blocks)
            bias = pm.Normal("bias", 0, 1, shape=shape)
            pmrf.NominalMRF("x", weight, bias, graph=GRAPH, n_states=K, observed=x)
        else:
            weight = pmrf.SpikeAndSlab("weight", 0.5, slab, shape=GRAPH.n_edges)
            bias = pm.Normal("bias", 0, 1, shape=shape)
            pmrf.Potts("x", weight, bias, graph=GRAPH, n_states=K, observed=x)
    return model


def analyse(kind: str, x: np.ndarray, draws: int, seed: int) -> tuple[np.ndarray, float]:
    """Draws (draws, P) of the weights, and seconds of CPU time for them."""
    model = model_of(kind, x)
    with model:
        step = pmrf.steps.EdgeGibbs([model["weight"], model["bias"]])
    point, kept, tune = model.initial_point(), [], draws // 2
    step.setup_chain(np.random.default_rng(seed), tune, draws)
    begin = time.process_time()
    for t in range(tune + draws):
        if t == tune:
            step.stop_tuning()
            begin = time.process_time()
        point, _ = step.step(point)
        if t >= tune:
            kept.append(point["weight"])
    return np.array(kept), time.process_time() - begin


def compare(seed: int, draws: int, n_rows: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """By kind the edges found, the false ones, and effective draws a second; draws of the tables."""
    present, x = simulate(np.random.default_rng(seed), n_rows)
    found, weights = {}, np.zeros(0)
    for kind in ("NominalMRF", "Potts"):
        w, cpu = analyse(kind, x, draws, seed)
        there = w.reshape(draws, GRAPH.n_edges, -1)[:, :, 0] != 0.0
        share = there.mean(axis=0)
        doubtful = np.flatnonzero((share > 0.02) & (share < 0.98))
        speed = [float(az.ess(there[None, :, e].astype(float))) / cpu for e in doubtful]
        said = share > 0.5
        rate = float(np.median(speed)) if speed else np.nan
        found[kind] = np.array([(said & present).sum(), (said & ~present).sum(), rate])
        weights = w if kind == "NominalMRF" else weights
    return found, weights


def picture(weights: np.ndarray, folder: Path) -> None:
    """Draw the table of the strongest edge."""
    idata = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"weight": (("chain", "draw", "entry"), weights[None])})}
    )
    strength = pmrf.analysis.edge_strength(idata, "weight", graph=GRAPH, n_states=K).mean(
        ("chain", "draw")
    )
    u, v = GRAPH.edges[int(strength.values.argmax())]
    edge = GRAPH.nodes[u], GRAPH.nodes[v]
    pc = pmrf.plots.plot_edge_table(idata, "weight", edge, graph=GRAPH, n_states=K)
    save_figure(pc.get_viz("heatmap", "weight").figure, folder, "nominal_table.png")


def main(argv: list[str] | None = None) -> None:
    """Simulate, analyse, and write the fragment and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=1)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--rows", type=int, default=400)
    args = parse_sizes(parser, argv, data_sets=10, draws=1000)
    run = partial(compare, draws=args.draws, n_rows=args.rows)
    found, weights = zip(*outcomes(run, range(args.data_sets)), strict=True)
    rows = []
    for kind, what in (
        ("NominalMRF", "a table of four numbers for each edge, `NominalMRF`"),
        ("Potts", "one number for each edge, `Potts`"),
    ):
        of_kind = np.array([one[kind] for one in found])
        true, false = of_kind[:, :2].sum(axis=0)
        total = N_PRESENT * args.data_sets
        speed = np.nanmedian(of_kind[:, 2]) if np.isfinite(of_kind[:, 2]).any() else np.nan
        rows.append([what, f"{true:.0f} of {total}", f"{false:.0f}", f"{speed:.0f}"])
    text = table(["Edges have", "true edges found", "false ones", "effective draws per second"], rows)
    text += (
        f"\n{args.data_sets} data sets of {args.rows} rows and {D} variables with {K} states; edges found "
        "have an inclusion probability above one half. Effective draws of the presence of an edge in doubt, "
        f"median over edges and data sets, per second of CPU time of one chain; {args.draws} draws. "
        f"{machine()}.\n"
    )
    write_fragment(text, args.output, "nominal_answers.md")
    picture(weights[0], args.output)


if __name__ == "__main__":
    main()
