"""Everything that `tests/benchmarks` measures of tree sampling, as tables of the documentation.

As a script, it writes docs/_results/tree_sampling_speed.md, in about four minutes. Run from the
repository root: python -m tests.benchmarks.tree_sampling_speed
"""

import argparse
import os
from pathlib import Path

from examples._report import machine, table, two_digits, write_fragment
from pymc_mrf.likelihood.particles.auxiliary import FEW
from tests.benchmarks.auxiliary_draws import FIELDS, LEFT, ROWS, compare
from tests.benchmarks.latent_field import latent_image
from tests.benchmarks.tree_sampling import CRITICAL, GRAPHS, magnetisation_draws, update_costs

IMAGES = ((2, 0.2, 2.0, "0.4407"), (2, 0.4, 2.0, "0.4407"), (3, 0.8, 1.0, "1.005"))
"""States, coupling and noise of the latent images, and the coupling at which the infinite grid orders."""


def updates() -> str:
    """Nanoseconds per node update."""
    rows = []
    for title, (graph, trees) in GRAPHS.items():
        for n_states in (2, 3):
            for n_chains in (1, 64, 1024):
                cost = update_costs(graph, trees, n_states, n_chains, repeats=3)
                tree, site, plain = cost["tree"], cost["site"], cost["plain"]
                times = [two_digits(cost[name]) for name in ("tree", "logs", "site", "plain")]
                times[2] += f" ({cost['kernel']})"
                ratios = (
                    two_digits(cost["logs"] / tree),
                    two_digits(tree / site),
                    two_digits(tree / plain),
                )
                rows.append([title, n_states, n_chains, *times, *ratios])
    header = ["graph", "states", "chains", "trees, ns", "trees by logarithms, ns"]
    header += ["single nodes, ns", "plain loop, ns"]
    return "\n".join(
        [
            "### Cost of a node update\n",
            table([*header, "logarithms / trees", "trees / single nodes", "trees / plain loop"], rows),
            "CPU time of ten sweeps, tables included, divided by nodes, chains and sweeps; best of three. By "
            "logarithms: as couplings too strong for products of probabilities need it, and impossible pairs "
            "of states. Single nodes: `GibbsSimulator`, with the kernel that it chose; plain loop: one chain "
            "after the other. Random couplings and fields.\n",
        ]
    )


def effective_draws() -> str:
    """Effective draws of the magnetisation per second."""
    rows, notes = [], []
    for coupling in (0.40, 0.42):
        result = magnetisation_draws(coupling=coupling, series_chains=512)
        exact = two_digits(result["perfect"]["rate"])
        for n, kernel, tree, site, plain in result["rates"]:
            rates = two_digits(tree), f"{two_digits(site)} ({kernel})", two_digits(plain), exact
            rows.append([coupling, n, *rates, two_digits(tree / site)])
        notes.append(
            f"{result['tree']['tau']:.0f} and {result['site']['tau']:.0f} sweeps at {coupling:.2f}"
        )
    header = ["coupling", "chains", "trees", "single nodes", "plain loop", "exact"]
    return "\n".join(
        [
            "### Effective draws near the critical coupling\n",
            table([*header, "trees / single nodes"], rows),
            f"Effective draws of the magnetisation per CPU second; Ising model on a 64 x 64 grid without "
            f"field, two combs as trees; the infinite grid orders at {CRITICAL:.4f}. Autocorrelation times "
            f"of trees and of single nodes, from 512 chains of 4000 sweeps started at exact draws: "
            f"{'; '.join(notes)}. Exact: coupling from the past, independent draws, 512 together.\n",
        ]
    )


def latent_images() -> str:
    """`TreeGibbs` against PyMC's steps."""
    rows = []
    for n_states, coupling, sd, critical in IMAGES:
        result = latent_image(n_states, coupling, sd)
        what = f"{'Ising' if n_states == 2 else f'Potts, {n_states} states'}, {coupling} ({critical})"
        rates = f"{result['tree']:,.0f}", f"{result['plain']:.2g} (`{result['peer']}`)"
        rows.append([what, sd, *rates, two_digits(result["ratio"]), f"{result['z']:.1f}"])
    header = ["field, coupling (critical)", "noise sd", "`TreeGibbs`", "PyMC", "ratio"]
    return "\n".join(
        [
            "### Latent images against PyMC's own steps\n",
            table([*header, "difference of the means, standard errors"], rows),
            "Effective draws per CPU second of the mean value of a latent 32 x 32 image under Gaussian "
            "noise, parameters known: 4000 draws by `TreeGibbs`; 400 draws after 50 by the step in "
            "brackets, from independent variables and a `pm.Potential`. One chain each; steps are compiled "
            "before.\n",
        ]
    )


def auxiliary_data() -> str:
    """Auxiliary data of `Exchange` by trees and by single nodes."""
    rows = []
    for title, (graph, n_states, couplings) in FIELDS.items():
        for coupling in couplings:
            found = compare(graph, n_states, coupling)
            sweeps = [
                " and ".join(two_digits(k) for k in found.sweeps[name]) for name in ("tree", "site")
            ]
            ratios = [" and ".join(two_digits(ratio) for ratio in found.ratios[n]) for n in ROWS]
            clusters = " and ".join(two_digits(ratio) for ratio in found.clusters)
            rows.append([title, coupling, *sweeps, *ratios, clusters])
    header = ["field", "coupling", "sweeps of trees", "of single nodes"]
    header += [f"{n} rows" if n > 1 else "1 row" for n in ROWS] + ["1 row, clusters"]
    return "\n".join(
        [
            "### Auxiliary data of Exchange\n",
            table(header, rows),
            f"Sweeps until {LEFT:.0%} of the error of the mean statistics is left (to first order, the "
            "autocorrelation), of the share of edges whose ends agree and of the share of nodes in the "
            "first state; then CPU time of single nodes over that of trees to this error, by the number of "
            "observations that are simulated together. Above 1 trees are faster. "
            f"Hence `Exchange` draws trees for up to {FEW} observations on graphs of up to {FEW} neighbours "
            "per node on average. The weighted particles of the other steps are 256 or more, and are moved "
            "by single nodes. Clusters: CPU time of trees over that of trees and clusters in turns. Hence "
            "`Exchange` makes them for up to three observations, unless couplings are weak.\n",
        ]
    )


def main() -> None:
    """Measure everything and write the fragment of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    folder = parser.parse_args().output
    load = f"load average at the start {os.getloadavg()[0]:.1f}"
    parts = [updates(), effective_draws(), latent_images(), auxiliary_data()]
    made = "Made by `python -m tests.benchmarks.tree_sampling_speed`. "
    text = "\n".join(parts) + f"\n{made}Machine: {machine()}; {load}.\n"
    write_fragment(text, folder, "tree_sampling_speed.md")


if __name__ == "__main__":
    main()
