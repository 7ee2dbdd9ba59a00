"""Loopy belief propagation in plain Python: Rivasseau (2005, figures 2.6 and 2.7), flooding schedule."""

import math


def pairwise(edges, edge_tables, node_tables, n_steps):
    """Node marginals after `n_steps` synchronous updates of all messages, in probabilities."""
    n_states = len(node_tables[0])
    states = range(n_states)
    links = {}
    for (u, v), table in zip(edges, edge_tables, strict=True):
        links[u, v] = [[math.exp(table[a][b]) for b in states] for a in states]
        links[v, u] = [[math.exp(table[b][a]) for b in states] for a in states]
    phi = [[math.exp(t) for t in row] for row in node_tables]
    m = {link: [1.0 / n_states] * n_states for link in links}
    for _ in range(n_steps):
        new = {}
        for (i, j), psi in links.items():
            out = [0.0] * n_states
            for a in states:
                weight = phi[i][a]
                for k, l in links:
                    if l == i and k != j:
                        weight *= m[k, l][a]
                for b in states:
                    out[b] += weight * psi[a][b]
            new[i, j] = [w / sum(out) for w in out]
        m = new
    result = []
    for i in range(len(node_tables)):
        belief = list(phi[i])
        for k, l in links:
            if l == i:
                belief = [belief[a] * m[k, l][a] for a in states]
        result.append([w / sum(belief) for w in belief])
    return result


def factor_graph(scopes, cardinalities, tables, n_steps):
    """Variable marginals after `n_steps` synchronous updates of all messages, in probabilities."""
    pairs = [(f, v) for f, scope in enumerate(scopes) for v in scope]
    down = {(f, v): [1.0] * cardinalities[v] for f, v in pairs}
    for _ in range(n_steps):
        up = {}
        for f, v in pairs:
            up[f, v] = [1.0] * cardinalities[v]
            for g, w in pairs:
                if w == v and g != f:
                    up[f, v] = [x * y for x, y in zip(up[f, v], down[g, v], strict=True)]
        new = {}
        for f, v in pairs:
            out = [0.0] * cardinalities[v]
            for z in _product([cardinalities[w] for w in scopes[f]]):
                weight = math.exp(tables[f][z])
                for w, a in zip(scopes[f], z, strict=True):
                    if w != v:
                        weight *= up[f, w][a]
                out[z[scopes[f].index(v)]] += weight
            new[f, v] = [w / sum(out) for w in out]
        down = new
    result = []
    for v, k in enumerate(cardinalities):
        belief = [1.0] * k
        for f, w in pairs:
            if w == v:
                belief = [x * y for x, y in zip(belief, down[f, w], strict=True)]
        result.append([x / sum(belief) for x in belief])
    return result


def _product(sizes):
    cells = [()]
    for k in sizes:
        cells = [(*cell, a) for cell in cells for a in range(k)]
    return cells
