"""Small graphs are eliminated by the interpreter, large ones by compiled kernels: with one result."""

import networkx as nx
import pytest

from pymc_mrf.graph import builders, elimination
from pymc_mrf.graph.structure import as_graph

GRAPHS = {
    "grid": builders.grid(5, 4),
    "complete": builders.complete(6),
    "random": as_graph(nx.gnm_random_graph(40, 90, seed=3)),
    "forest": as_graph(nx.random_labeled_tree(30, seed=4)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_order_does_not_depend_on_who_runs_the_kernel(name, monkeypatch):
    graph = GRAPHS[name]
    adjacency = elimination.adjacency_arrays(graph.edges, graph.n_nodes)
    cards = [2 + i % 3 for i in range(graph.n_nodes)]
    found = []
    for most in (0, len(adjacency.neighbors)):
        monkeypatch.setattr(elimination, "MANY_NEIGHBORS", most)
        found.append(elimination.elimination_order(adjacency, cards, 2**25))
    assert found[0] == found[1]


def test_kernels_run_in_the_interpreter_call_no_compiled_ones():
    kernels = [elimination.greedy_elimination, elimination.clique_contents]
    for kernel in kernels:
        module = kernel.py_func.__globals__
        for name in kernel.py_func.__code__.co_names:
            assert not hasattr(module.get(name), "py_func")
