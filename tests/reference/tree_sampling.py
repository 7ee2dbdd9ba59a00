"""Block conditionals of tree sampling in plain Python: Rivasseau (2005, eq. 4.1-4.6 and 4.11).

Recursions over dictionaries, in ordinary probabilities; nothing here is shared with the kernels.
"""

import math


def block_probability(z, block, edges, edge_tables, node_tables):
    """P(z_block | the rest of z) in a pairwise field whose edges inside `block` form no cycle."""
    n_states = len(node_tables[0])
    block = set(block)
    potential = {i: [math.exp(node_tables[i][a]) for a in range(n_states)] for i in block}
    near = {i: {} for i in block}
    for (u, v), table in zip(edges, edge_tables, strict=True):
        if u in block and v in block:
            near[u][v] = [[math.exp(table[a][b]) for b in range(n_states)] for a in range(n_states)]
            near[v][u] = [[math.exp(table[b][a]) for b in range(n_states)] for a in range(n_states)]
        elif u in block:
            potential[u] = [potential[u][a] * math.exp(table[a][z[v]]) for a in range(n_states)]
        elif v in block:
            potential[v] = [potential[v][a] * math.exp(table[z[u]][a]) for a in range(n_states)]

    def below(i, parent):
        """Product of the node's potential and the messages of its children, by state."""
        result = list(potential[i])
        for j in near[i]:
            if j != parent:
                child = below(j, i)
                for a in range(n_states):
                    result[a] *= sum(near[i][j][a][b] * child[b] for b in range(n_states))
        return result

    probability, seen = 1.0, set()
    for root in sorted(block):
        if root in seen:
            continue
        weights = below(root, None)
        probability *= weights[z[root]] / sum(weights)
        seen.add(root)
        stack = [(root, None)]
        while stack:
            i, parent = stack.pop()
            for j, pair in near[i].items():
                if j == parent:
                    continue
                seen.add(j)
                weights = [pair[z[i]][b] * w for b, w in enumerate(below(j, i))]
                probability *= weights[z[j]] / sum(weights)
                stack.append((j, i))
    return probability


def factor_block_probability(z, block, scopes, cardinalities, tables):
    """P(z_block | the rest of z) in a factor graph, variable by variable in each clique (eq. 4.4-4.6)."""
    block = set(block)
    local = {i: [1.0] * cardinalities[i] for i in block}
    cliques = {}
    for f, scope in enumerate(scopes):
        own = [v for v in scope if v in block]
        if len(own) == 1:
            for a in range(cardinalities[own[0]]):
                local[own[0]][a] *= value(tables[f], scope, z, {own[0]: a})
        elif own:
            cliques[f] = own

    def product(i, without):
        result = list(local[i])
        for f, own in cliques.items():
            if i in own and f != without:
                for a in range(cardinalities[i]):
                    result[a] *= rest(f, {i: a})
        return result

    def rest(f, known):
        """Sum over the variables of clique f that are not known, with what lies behind them."""
        unknown = [v for v in cliques[f] if v not in known]
        if not unknown:
            return value(tables[f], scopes[f], z, known)
        v, total = unknown[0], 0.0
        for a, weight in enumerate(product(v, f)):
            total += weight * rest(f, {**known, v: a})
        return total

    probability, seen, used = 1.0, set(), set()
    for root in sorted(block):
        if root in seen:
            continue
        weights = product(root, None)
        probability *= weights[z[root]] / sum(weights)
        seen.add(root)
        stack = [root]
        while stack:
            i = stack.pop()
            for f in [f for f, own in cliques.items() if i in own and f not in used]:
                used.add(f)
                known = {i: z[i]}
                for v in [v for v in cliques[f] if v != i]:
                    behind = product(v, f)
                    weights = [behind[a] * rest(f, {**known, v: a}) for a in range(cardinalities[v])]
                    probability *= weights[z[v]] / sum(weights)
                    known[v] = z[v]
                    seen.add(v)
                    stack.append(v)
    return probability


def value(table, scope, z, known):
    """Potential of a factor at z with some variables replaced."""
    return math.exp(table[tuple(known.get(v, z[v]) for v in scope)])
