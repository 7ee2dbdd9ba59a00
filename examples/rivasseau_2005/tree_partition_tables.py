"""Rivasseau (2005), sec. 6.4: Tables 6.1 to 6.3, numbers of trees in which graphs are partitioned.

Every row is one graph, partitioned 20 times with different random numbers. Run from the repository root:

    python -m examples.rivasseau_2005.tree_partition_tables

The thesis says of its random factor graphs that the edges were chosen at random and that the density is
"the maximal number" of variables of a factor. This can be read in two ways, and no way of several that
were tried fits all rows, so that the table is made for both:

- "full": every factor has as many variables as the density says. Every variable is first put into a
  factor that has room, then the factors are filled. (Scopes drawn independently would leave variables
  without a factor, more of them in sparse graphs than the thesis counts trees.)
- "up to": the number of variables of a factor is uniform from 1 to the density. Variables without a
  factor are left out.
"""

import argparse
import time
from collections.abc import Callable

import networkx as nx
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, save_figure, table, write_fragment
from examples.rivasseau_2005.paper_partition import paper_factor_trees, paper_partition
from pymc_mrf.graph.factor_trees import factor_trees
from pymc_mrf.graph.lattice_partition import comb_partition, spiral_partition
from pymc_mrf.graph.structure import as_graph
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
SEARCHES = ("thesis", "package")
PAIRWISE: dict[str, Callable] = {"thesis": paper_partition, "package": tree_partition}
FACTORS: dict[str, Callable] = {"thesis": paper_factor_trees, "package": factor_trees}
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"


def full_scopes(
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


def scopes_up_to(
    n_variables: int, n_factors: int, density: int, rng: np.random.Generator
) -> list[list[int]]:
    """Scopes of 1 to `density` variables; variables without a factor left out, the others numbered anew."""
    sizes = rng.integers(1, density + 1, size=n_factors)
    scopes = [rng.choice(n_variables, size, replace=False) for size in sizes]
    number = {v: i for i, v in enumerate(np.unique(np.concatenate(scopes)).tolist())}
    return [sorted(number[v] for v in scope.tolist()) for scope in scopes]


READINGS = {"full": full_scopes, "up to": scopes_up_to}


def summary(counts: list[int]) -> str:
    """Mean, best and worst."""
    return f"{np.mean(counts):.1f} ({min(counts)}-{max(counts)})"


def fewest_trees(scopes: list[list[int]]) -> int:
    """Give a number of trees below which no partition can be.

    A component of the graph of variables and factors takes one tree, or two or more if it has a
    cycle. Two variables next to each other in a tree share exactly one factor, since they would form
    a cycle with two: if any two variables share two factors or more, each takes a tree of its own.
    """
    n_variables = 1 + max(max(scope) for scope in scopes)
    member = np.zeros((n_variables, len(scopes)))
    for f, scope in enumerate(scopes):
        member[scope, f] = 1.0
    shared = member @ member.T
    if n_variables == 1 or shared[~np.eye(n_variables, dtype=bool)].min() > 1:
        return n_variables
    graph = nx.Graph((v, -1 - f) for f, scope in enumerate(scopes) for v in scope)
    components = (graph.subgraph(nodes) for nodes in nx.connected_components(graph))
    return sum(1 if nx.is_tree(component) else 2 for component in components)


class Comparison:
    """Rows of one table, and where the mean is above the thesis'."""

    def __init__(self, header: list[str]) -> None:
        self.header = [*header, "thesis", "its search", "`tree_partition`", "seconds"]
        self.rows: list[list] = []
        self.above: dict[str, list[str]] = {search: [] for search in SEARCHES}
        self.distances: list[float] = []

    def add(
        self,
        names: list,
        published: tuple[int, int, int],
        partition: Callable[[str], list],
        runs: int,
        fewest: int = 1,
    ) -> None:
        """Run ``partition(method)``, which returns trees, `runs` times per method.

        No partition has less than `fewest` trees.
        """
        cells, seconds = [], []
        mean, best, worst = published
        for method in SEARCHES:
            start = time.process_time()
            counts = [len(partition(method)) for _ in range(runs)]
            seconds.append(f"{(time.process_time() - start) / runs:.2g}")
            cells.append(summary(counts))
            if method == "thesis":
                self.distances.append(abs(np.log(np.mean(counts) / mean)))
            if np.mean(counts) > mean:
                where = ", ".join(map(str, names))
                bound = f" (here no partition has less than {fewest})" if fewest > 1 else ""
                self.above[method].append(where + bound)
        self.rows.append([*names, f"{mean} ({best}-{worst})", *cells, " / ".join(seconds)])

    def text(self) -> str:
        """Table, and the rows in which a mean is above that of the thesis."""
        lines = [table(self.header, self.rows)]
        for name, rows in zip(("its search", "`tree_partition`"), self.above.values(), strict=True):
            where = "; ".join(rows) if rows else "nowhere"
            lines.append(f"Mean above that of the thesis, {name}: {where}.\n")
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
                lambda method, graph=graph, order=order: PAIRWISE[method](graph, rng=rng, order=order),
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
                lambda method, graph=graphs[n, density], backtrack=backtrack: PAIRWISE[method](
                    graph, rng=rng, backtrack=backtrack
                ),
                runs,
            )
    return result


def factor_graphs(reading: str, runs: int, largest: int, rng: np.random.Generator) -> Comparison:
    """Table 6.3. Scopes of up to 100 variables, more than a `FactorGraph` takes."""
    result = Comparison(["variables", "factors", "density"])
    for (d, n_factors, density), published in TABLE_6_3.items():
        if d <= largest:
            scopes = READINGS[reading](d, n_factors, density, rng)
            n_left = 1 + max(max(scope) for scope in scopes)
            fewest = fewest_trees(scopes)
            result.add(
                [f"{d}" if n_left == d else f"{d} ({n_left} left)", n_factors, density],
                published,
                lambda method, n=n_left, scopes=scopes: FACTORS[method](
                    n, scopes, rng, order="priority", backtrack=True
                ),
                runs,
                fewest,
            )
    return result


def draw_figure(side: int, rng: np.random.Generator) -> Figure:
    """One lattice in trees of four kinds: nodes coloured by tree, edges within trees drawn."""
    graph = nx.grid_2d_graph(side, side)
    partitions = {
        "comb": comb_partition(side, side),
        "spiral": spiral_partition(side, side),
        "found by tree_partition": tree_partition(graph, rng=rng),
        "found by the search of the thesis": paper_partition(as_graph(graph), rng),
    }
    figure = Figure(figsize=(8, 8.8), layout="constrained")
    axes = figure.subplots(2, 2)
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
    return figure


def sizes(trees: list[list]) -> str:
    """Tree sizes, largest first, the smaller ones in short."""
    text = [str(len(tree)) for tree in trees]
    return ", ".join(text) if len(text) <= 4 else f"{', '.join(text[:3])}, ..., {text[-1]}"


def main(argv: list[str] | None = None) -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="partitions of each graph")
    parser.add_argument("--side", type=int, default=10, help="of the largest lattice")
    parser.add_argument("--nodes", type=int, default=100, help="of the largest random graph")
    parser.add_argument("--variables", type=int, default=250, help="of the largest factor graph")
    parser.add_argument("--seed", type=int, default=2005)
    arguments = parse_sizes(parser, argv, runs=20, side=100, nodes=10_000, variables=4000)
    if arguments.runs < 1:
        parser.error(f"--runs must be positive, not {arguments.runs}")
    runs, side, n, d = arguments.runs, arguments.side, arguments.nodes, arguments.variables
    rng = np.random.default_rng(arguments.seed)
    start = time.perf_counter()
    lattice_text = lattices(runs, side, rng).text()
    random_text = random_graphs(runs, n, rng).text()
    factors = {reading: factor_graphs(reading, runs, d, rng) for reading in READINGS}
    distances = " and ".join(
        f'{np.mean(result.distances):.2f} under "{reading}"' for reading, result in factors.items()
    )
    text = (
        f"Numbers of trees: mean (best-worst) of {runs} partitions of one graph, seed {arguments.seed}; "
        "in the thesis, of 20. Its search is that of `examples/rivasseau_2005/paper_partition.py`. Seconds "
        "are processor time of one partition, by either search.\n\n"
        f"**Table 6.1**, square lattices.\n\n{lattice_text}\n"
        f"**Table 6.2**, random graphs.\n\n{random_text}\n"
        "**Table 6.3**, random factor graphs. The thesis says that their edges were chosen at random and "
        "that the density is the maximal number of variables of a factor. The table is made for two "
        "readings of this. Where a mean is above that of the thesis, a proven bound for our graph is given: "
        "a component of the graph takes one tree, or two if it has a cycle; and each variable takes a tree "
        "of its own if any two share two factors or more, with which they would form a cycle. "
        "Mean distance of the logarithms of the counts of its search from those of the thesis: "
        f"{distances}.\n\n"
        '*"Full"*: each variable is in some factor, and each factor has as many variables as the density '
        f"says.\n\n{factors['full'].text()}\n"
        '*"Up to"*: the number of variables of a factor is uniform from 1 to the density; variables '
        f"without a factor are left out.\n\n{factors['up to'].text()}\n"
        "Comb and spiral cut any lattice into two trees. The pictures show a 12 x 12 lattice; edges "
        "between trees are not drawn.\n\n"
        "![Partitions of a lattice](../figures/tree_partition.png)\n\n"
        "Made by `examples/rivasseau_2005/tree_partition_tables.py`. "
        f"Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "tree_partitions.md")
    figure = draw_figure(12, np.random.default_rng(arguments.seed))
    save_figure(figure, arguments.output, "tree_partition.png")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
