"""Greedy elimination orders by the definition of the rules, all keys computed anew at every step."""

import itertools
import math

import networkx as nx

from pymc_mrf.kernels.junction_trees.elimination import MIN_FILL


def greedy_order(graph, rule, cards):
    """Nodes of a `PairwiseGraph`, by position, in the order of their elimination."""
    left, order = nx.empty_graph(graph.n_nodes), []
    left.add_edges_from(graph.edges.tolist())

    def key(v):
        near = list(left[v])
        missing = sum(not left.has_edge(a, b) for a, b in itertools.combinations(near, 2))
        return missing if rule == MIN_FILL else 0, math.prod(cards[u] for u in [v, *near]), v

    while left:
        v = min(left, key=key)
        order.append(v)
        left.add_edges_from(itertools.combinations(left[v], 2))
        left.remove_node(v)
    return order
