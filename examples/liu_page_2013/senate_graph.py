"""Make the graph of senators that `pymc_mrf.datasets.load_senate109` ships.

Node-wise L1 logistic regression (Wainwright, Ravikumar & Lafferty, 2010) on all contested votes of
both sessions, with the penalty at which the union of the neighbourhoods has 279 edges, the number in
Liu & Page (2013, sec. 5). Needs scikit-learn: pip install "pymc-mrf[structure]".

    python senate_graph.py [OUTPUT.csv]      (default: senate109_graph.csv in this folder)
"""

import csv
import sys
from pathlib import Path

import networkx as nx

from pymc_mrf.datasets.senate109 import contested_votes
from pymc_mrf.estimation.neighborhood import neighborhood_selection

N_EDGES = 279


def make_graph() -> nx.Graph:
    """Graph over senators' names with edge attribute ``strength``."""
    votes = contested_votes()
    return neighborhood_selection(votes["x"], N_EDGES, nodes=votes["names"])


def write_graph(graph: nx.Graph, path: Path) -> None:
    """Write one line per edge: two names and the strength to three decimals."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["u", "v", "strength"])
        for u, v, strength in graph.edges.data("strength"):
            rows.writerow([u, v, f"{strength:.3f}"])


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "senate109_graph.csv"
    graph = make_graph()
    write_graph(graph, output)
    print(f"{graph.number_of_nodes()} senators, {graph.number_of_edges()} edges: {output}")
