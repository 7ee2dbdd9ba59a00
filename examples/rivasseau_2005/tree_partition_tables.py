"""Rivasseau (2005), sec. 6.4: Tables 6.1 to 6.3, numbers of trees in which graphs are partitioned.

Every row is one graph, partitioned 20 times with different random numbers. Run from the repository root:

    python -m examples.rivasseau_2005.tree_partition_tables

The thesis does not say how its random factor graphs were made beyond the largest number of variables of a
factor ("density"). Its counts for sparse factor graphs are below the number of variables that no
factor would contain if scopes were drawn independently. Here every variable is first put into a factor
that has room, then every factor is filled up to the density.
"""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.colors import ListedColormap

import pymc_mrf as pmrf
from examples._report import machine, table
from pymc_mrf.graph.factor_tree_partition import factor_trees
from pymc_mrf.graph.lattice_partition import comb_partition, spiral_partition
from pymc_mrf.graph.tree_partition import tree_partition

# (mean, best, worst) as printed in the thesis
TABLE_6_1 = {
    (5, "priority"): (2, 2, 2),
    (5, "random"): (3, 2, 5),
    (10, "priority"): (5, 3, 7),
    (10, "random"): (8, 5, 10),
    (20, "priority"): (26, 17, 36),
    (20, "random"): (25, 17, 31),
    (50, "priority"): (148, 105, 241),
    (50, "random"): (152, 127, 166),
    (100, "priority"): (365, 273, 639),
    (100, "random"): (584, 563, 624),
}
TABLE_6_2 = {
    (100, 0.1, True): (5, 5, 6),
    (100, 0.1, False): (6, 5, 7),
    (100, 0.5, True): (14, 14, 15),
    (100, 0.5, False): (14, 14, 15),
    (1000, 0.01, True): (7, 6, 9),
    (1000, 0.01, False): (17, 10, 22),
    (1000, 0.25, True): (41, 40, 42),
    (1000, 0.25, False): (41, 40, 42),
    (10000, 0.01, True): (22, 21, 24),
    (10000, 0.01, False): (31, 25, 37),
}
TABLE_6_3 = {
    (50, 30, 3): (6, 6, 6),
    (50, 30, 5): (14, 13, 14),
    (250, 100, 4): (22, 19, 27),
    (250, 100, 8): (42, 41, 43),
    (1000, 700, 4): (163, 150, 179),
    (1000, 1500, 4): (139, 125, 150),
    (4000, 1000, 5): (261, 261, 262),
    (4000, 1000, 10): (1073, 1060, 1075),
    (100, 75, 100): (100, 100, 100),
    (100, 75, 50): (96, 95, 96),
    (1000, 100, 100): (865, 853, 874),
}
METHODS = ("paper", "pockets")
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"


def random_scopes(
    n_variables: int, n_factors: int, density: int, rng: np.random.Generator
) -> list[list[int]]:
    """Every variable in a factor, every factor with `density` variables."""
    scopes: list[set[int]] = [set() for _ in range(n_factors)]
    room = list(range(n_factors))
    for v in rng.permutation(n_variables).tolist():
        f = room[rng.integers(len(room))]
        scopes[f].add(v)
        if len(scopes[f]) == density:
            room.remove(f)
    for scope in scopes:
        while len(scope) < density:
            scope.add(int(rng.integers(n_variables)))
    return [sorted(scope) for scope in scopes]


def summary(counts: list[int]) -> str:
    """Mean, best and worst."""
    return f"{np.mean(counts):.1f} ({min(counts)}-{max(counts)})"


def fewest_shared(n_variables: int, scopes: list[list[int]]) -> int:
    """Smallest number of factors that two variables share."""
    member = np.zeros((n_variables, len(scopes)), dtype=int)
    for f, scope in enumerate(scopes):
        member[scope, f] = 1
    shared = member @ member.T
    return int(shared[~np.eye(n_variables, dtype=bool)].min())


class Comparison:
    """Rows of one table, and where the mean is above the thesis'."""

    def __init__(self, header: list[str]) -> None:
        self.header = [*header, "thesis", '`method="paper"`', '`method="pockets"`', "seconds"]
        self.rows: list[list] = []
        self.above: dict[str, list[str]] = {method: [] for method in METHODS}
        self.notes: list[str] = []

    def add(self, names: list, published: tuple[int, int, int], partition, runs: int) -> None:
        """Run ``partition(method)``, which returns trees, `runs` times per method."""
        cells, seconds = [], []
        for method in METHODS:
            start = time.process_time()
            counts = [len(partition(method)) for _ in range(runs)]
            seconds.append(f"{(time.process_time() - start) / runs:.2g}")
            cells.append(summary(counts))
            if round(np.mean(counts)) > published[0]:
                self.above[method].append(", ".join(map(str, names)))
        mean, best, worst = published
        self.rows.append([*names, f"{mean} ({best}-{worst})", *cells, " / ".join(seconds)])

    def text(self) -> str:
        """Table, and the rows in which a mean is above that of the thesis."""
        lines = [table(self.header, self.rows)]
        for method, rows in self.above.items():
            where = "; ".join(rows) if rows else "nowhere"
            lines.append(f'Mean above that of the thesis, `method="{method}"`: {where}.\n')
        lines += [note + "\n" for note in self.notes]
        return "\n".join(lines)


def lattices(runs: int, largest: int, rng: np.random.Generator) -> Comparison:
    """Table 6.1."""
    result = Comparison(["lattice", "order of the queue"])
    for (side, order), published in TABLE_6_1.items():
        if side <= largest:
            graph = pmrf.graphs.grid(side, side)
            result.add(
                [f"{side} x {side}", order],
                published,
                lambda method, graph=graph, order=order: tree_partition(
                    graph, rng=rng, method=method, order=order
                ),
                runs,
            )
    return result


def random_graphs(runs: int, largest: int, rng: np.random.Generator) -> Comparison:
    """Table 6.2."""
    result = Comparison(["nodes", "density", "backtracking"])
    graphs = {}
    for (n, density, backtrack), published in TABLE_6_2.items():
        if n <= largest:
            if (n, density) not in graphs:
                graphs = {(n, density): pmrf.graphs.random(n, density, rng=rng)}
            result.add(
                [n, density, "yes" if backtrack else "no"],
                published,
                lambda method, graph=graphs[n, density], backtrack=backtrack: tree_partition(
                    graph, rng=rng, method=method, backtrack=backtrack
                ),
                runs,
            )
    return result


def factor_graphs(runs: int, largest: int, rng: np.random.Generator) -> Comparison:
    """Table 6.3. Scopes of up to 100 variables, more than a `FactorGraph` takes."""
    result = Comparison(["variables", "factors", "density"])
    for (d, n_factors, density), published in TABLE_6_3.items():
        if d <= largest:
            scopes = random_scopes(d, n_factors, density, rng)
            shared = fewest_shared(d, scopes)
            if shared > 1:
                result.notes.append(
                    f"{d}, {n_factors}, {density}: any two variables share {shared} factors or more, so "
                    "that no tree can contain two of them."
                )
            result.add(
                [d, n_factors, density],
                published,
                lambda method, d=d, scopes=scopes: factor_trees(
                    d, scopes, rng, method=method, order="priority", backtrack=True
                ),
                runs,
            )
    return result


def draw_figure(side: int, rng: np.random.Generator, path: Path) -> None:
    """One lattice in trees of four kinds: nodes coloured by tree, edges within trees drawn."""
    graph = nx.grid_2d_graph(side, side)
    partitions = {
        "comb": comb_partition(side, side),
        "spiral": spiral_partition(side, side),
        'found, method="pockets"': tree_partition(graph, rng=rng),
        'found, method="paper"': tree_partition(graph, rng=rng, method="paper"),
    }
    figure, axes = plt.subplots(2, 2, figsize=(8, 8.8), layout="constrained")
    colors = ListedColormap([BLUE, ORANGE, GREEN, PINK, SKY, YELLOW])
    position = {(i, j): (j, -i) for i, j in graph}
    for ax, (name, partition) in zip(axes.flat, partitions.items(), strict=True):
        trees = sorted(partition, key=len, reverse=True)
        for k, tree in enumerate(trees):
            color = colors(k % colors.N)
            shape = "o" if k < colors.N else "s"
            options = {"ax": ax, "edge_color": [color], "width": 2.5}
            nx.draw_networkx_edges(graph.subgraph(tree), position, **options)
            x, y = zip(*(position[v] for v in tree), strict=True)
            ax.scatter(
                x, y, s=70, color=[color], marker=shape, edgecolor="black", linewidth=0.6, zorder=3
            )
        ax.set_title(f"{name}\n{len(trees)} trees of {sizes(trees)} nodes", fontsize=10)
        ax.set_aspect("equal")
        ax.set_axis_off()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def sizes(trees: list[list]) -> str:
    """Tree sizes, largest first, the smaller ones in short."""
    text = [str(len(tree)) for tree in trees]
    return ", ".join(text) if len(text) <= 4 else f"{', '.join(text[:3])}, ..., {text[-1]}"


def main(argv: list[str] | None = None) -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="partitions of each graph")
    parser.add_argument("--seed", type=int, default=2005)
    parser.add_argument("--quick", action="store_true", help="3 runs of the small graphs only")
    parser.add_argument(
        "--output", type=Path, default=Path("docs"), help="folder of _results and figures"
    )
    arguments = parser.parse_args(argv)
    if arguments.runs < 1:
        parser.error(f"--runs must be positive, not {arguments.runs}")
    runs, side, n, d = (3, 10, 100, 250) if arguments.quick else (arguments.runs, 100, 10_000, 4000)
    rng = np.random.default_rng(arguments.seed)
    start = time.perf_counter()
    text = (
        f"Numbers of trees: mean (best-worst) of {runs} partitions of one graph, seed {arguments.seed}; "
        'in the thesis, of 20. `method="paper"` follows the thesis, `method="pockets"` is the default of '
        "`tree_partition`. Seconds are processor time of one partition, for either method.\n\n"
        f"**Table 6.1**, square lattices.\n\n{lattices(runs, side, rng).text()}\n"
        f"**Table 6.2**, random graphs.\n\n{random_graphs(runs, n, rng).text()}\n"
        "**Table 6.3**, random factor graphs. How those of the thesis were made is not known in detail; "
        "here each variable is in some factor and each factor has as many variables as the column density "
        f"says.\n\n{factor_graphs(runs, d, rng).text()}\n"
        "Comb and spiral cut any lattice into two trees. The pictures show a 12 x 12 lattice; edges "
        "between trees are not drawn.\n\n"
        "![Partitions of a lattice](../figures/tree_partition.png)\n\n"
        "Made by `examples/rivasseau_2005/tree_partition_tables.py`. "
        f"Machine: {machine()}.\n"
    )
    print(text)
    for folder in ("_results", "figures"):
        (arguments.output / folder).mkdir(parents=True, exist_ok=True)
    (arguments.output / "_results" / "tree_partitions.md").write_text(text, encoding="utf-8")
    draw_figure(12, rng, arguments.output / "figures" / "tree_partition.png")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    plt.switch_backend("Agg")
    main()
