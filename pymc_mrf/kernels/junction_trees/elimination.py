"""Greedy elimination orders, and the sizes of the cliques of an order, at a cost near linear in the edges.

Graphs come as adjacency lists ``indptr`` (d + 1,) and ``neighbors`` (2 r,), sorted within each list.
Eliminating a variable joins its neighbours; its *clique* is itself and the neighbours it has then.

Lists of neighbours are in one `pool` (2 r or more,), that of variable a from its entry of `start` (d,) on, as
long as that of `length` (d,) says; `gone` (d,) are the eliminated variables. The next one is on top of the
`heap` (d,), in which a variable has the place `slot` (d,), by its keys `first` (d,), then `second` (d,).
"""

import numpy as np

from pymc_mrf.kernels._jit import either, jit

MIN_DEGREE, MIN_FILL = range(2)
"""Rules of `greedy_elimination`."""


@either
def _precedes(first, second, u, v):
    """Whether the key of u is below that of v; ties by index."""
    if first[u] != first[v]:
        return first[u] < first[v]
    if second[u] != second[v]:
        return second[u] < second[v]
    return u < v


@either
def _sift(heap, slot, size, v, first, second):
    """Move variable v, whose key has changed, to its place in the heap."""
    i = slot[v]
    while i > 0:
        u = heap[(i - 1) // 2]
        if _precedes(first, second, u, v):
            break
        heap[i] = u
        slot[u] = i
        i = (i - 1) // 2
    while 2 * i + 1 < size:
        child = 2 * i + 1
        u = heap[child]
        if child + 1 < size:
            w = heap[child + 1]
            if _precedes(first, second, w, u):
                child += 1
                u = w
        if _precedes(first, second, v, u):
            break
        heap[i] = u
        slot[u] = i
        i = child
    heap[i] = v
    slot[v] = i


@either
def _contains(pool, start, length, u):
    """Whether the sorted list ``pool[start : start + length]`` holds u."""
    low, high = start, start + length
    while low < high:
        middle = (low + high) // 2
        if pool[middle] < u:
            low = middle + 1
        else:
            high = middle
    return low < start + length and pool[low] == u


@either
def _joined(pool, start, length, a, b):
    if length[a] > length[b]:
        a, b = b, a
    return _contains(pool, start[a], length[a], b)


@either
def _compact(pool, start, length, gone, a):
    """Drop the eliminated variables from the list of a."""
    n = start[a]
    for k in range(start[a], start[a] + length[a]):
        if not gone[pool[k]]:
            pool[n] = pool[k]
            n += 1
    length[a] = n - start[a]


@either
def _insert(pool, start, length, a, b):
    """Put b into the list of a, which has room for it."""
    k = start[a] + length[a]
    while k > start[a] and pool[k - 1] > b:
        pool[k] = pool[k - 1]
        k -= 1
    pool[k] = b
    length[a] += 1


@jit
def greedy_elimination(indptr, neighbors, cards, weight, rule, limit, order):
    """Eliminate the variables one by one, the cheapest first, until exact inference is out of the question.

    `indptr` and `neighbors` (d + 1,) and (2 r,) int32. `cards` (d,) float64: numbers of states. `weight`
    (d,) int64: their logarithms in small units: integers, so that sums do not depend on their order.
    `rule`: `MIN_FILL`: the fewest pairs of neighbours to join, then the smallest clique. `MIN_DEGREE`:
    the smallest clique. `limit`: table cells. Elimination stops as soon as those of the maximal cliques
    are sure to exceed it. `order` (d,) int64: filled with the variables in the order of their
    elimination, as far as it goes.

    Returns int: number of variables eliminated: d, unless the limit was exceeded.
    """
    d = len(cards)
    # lists of neighbours, sorted, in one pool; those eliminated stay in them until they are half a list
    pool = neighbors.copy()
    used = len(pool)
    start = np.empty(d, dtype=np.int64)
    length = np.empty(d, dtype=np.int64)
    room = np.empty(d, dtype=np.int64)
    degree = np.empty(d, dtype=np.int64)
    gone = np.zeros(d, dtype=np.bool_)
    first = np.zeros(d, dtype=np.int64)  # pairs of neighbours that are not joined, under MIN_FILL
    second = weight.copy()  # of the clique
    for v in range(d):
        start[v] = indptr[v]
        length[v] = room[v] = degree[v] = indptr[v + 1] - indptr[v]
        for k in range(indptr[v], indptr[v + 1]):
            second[v] += weight[neighbors[k]]
    if rule == MIN_FILL:
        for v in range(d):
            first[v] += degree[v] * (degree[v] - 1) // 2
            for k in range(indptr[v], indptr[v + 1]):
                u = neighbors[k]
                if (
                    u < v
                ):  # each of the three edges of a triangle takes one pair from the opposite corner
                    a, b = (u, v) if degree[u] < degree[v] else (v, u)
                    for j in range(indptr[a], indptr[a + 1]):
                        c = neighbors[j]
                        if _contains(neighbors, start[b], length[b], c):
                            first[c] -= 1
    heap = np.empty(d, dtype=np.int64)
    slot = np.empty(d, dtype=np.int64)
    for v in range(d):
        heap[v] = slot[v] = v
        _sift(heap, slot, v + 1, v, first, second)

    near = np.empty(d, dtype=np.int64)
    # changes of the keys wait until the end of a step: a heap takes them one at a time
    change = np.zeros(d, dtype=np.int64)
    gain = np.zeros(d, dtype=np.int64)
    waits = np.zeros(d, dtype=np.bool_)
    waiting = np.empty(d, dtype=np.int64)
    total = 0.0
    for n_eliminated in range(d):
        v = heap[0]
        n_near = 0
        cells = cards[v]
        for k in range(start[v], start[v] + length[v]):
            if not gone[pool[k]]:
                near[n_near] = pool[k]
                cells *= cards[near[n_near]]
                n_near += 1
        # tables within those of their children are at most as large, together, as the maximal ones
        total += cells / 2
        if total > limit:
            return n_eliminated
        order[n_eliminated] = v
        size = d - n_eliminated - 1
        last = heap[size]
        if last != v:
            heap[0] = last
            slot[last] = 0
            _sift(heap, slot, size, last, first, second)

        n_waiting = n_near
        for i in range(n_near):
            waiting[i] = near[i]
            waits[near[i]] = True
        if rule == MIN_DEGREE or first[v] > 0:
            for i in range(n_near):
                for j in range(i):
                    a, b = near[i], near[j]
                    if _joined(pool, start, length, a, b):
                        continue
                    if rule == MIN_FILL:
                        if length[a] > length[b]:
                            a, b = b, a
                        n_common = 0
                        for k in range(start[a], start[a] + length[a]):
                            c = pool[k]
                            if not gone[c] and _contains(pool, start[b], length[b], c):
                                n_common += 1
                                change[c] -= 1
                                if not waits[c] and c != v:
                                    waits[c] = True
                                    waiting[n_waiting] = c
                                    n_waiting += 1
                        change[a] += degree[a] - n_common
                        change[b] += degree[b] - n_common
                    for _ in range(2):
                        if length[a] == room[a]:
                            _compact(pool, start, length, gone, a)
                            if 4 * length[a] >= 3 * room[a]:
                                room[a] = 2 * length[a] + 4
                                if used + room[a] > len(pool):
                                    larger = np.empty(2 * (used + room[a]), dtype=pool.dtype)
                                    for k in range(used):  # slices take seconds to compile
                                        larger[k] = pool[k]
                                    pool = larger
                                for k in range(length[a]):
                                    pool[used + k] = pool[start[a] + k]
                                start[a] = used
                                used += room[a]
                        _insert(pool, start, length, a, b)
                        degree[a] += 1
                        gain[a] += weight[b]
                        a, b = b, a
        # the neighbours are a clique now: v lacks none of them, and each lacks v with all its others
        gone[v] = True
        for i in range(n_near):
            u = near[i]
            if rule == MIN_FILL:
                change[u] -= degree[u] - n_near
            degree[u] -= 1
            gain[u] -= weight[v]
            if length[u] > 2 * degree[u] + 8:
                _compact(pool, start, length, gone, u)
        for i in range(n_waiting):
            u = waiting[i]
            waits[u] = False
            first[u] += change[u]
            second[u] += gain[u]
            _sift(heap, slot, size, u, first, second)
            change[u] = gain[u] = 0
        change[v] = 0
    return d


@jit
def clique_contents(indptr, neighbors, order, kind, n_kinds):
    """Count the variables of each kind in the cliques of an order, without forming the cliques.

    `indptr` and `neighbors` (d + 1,) and (2 r,) int32. `order` (d,) int64: elimination order. `kind`
    (d,) int64: in 0..n_kinds - 1, one for each number of states. Returns `count` (d, n_kinds) int64: one
    row for the clique of each variable, in the order of elimination; `is_contained` (d,) bool: whether
    another clique contains it.

    The algorithm of Gilbert, Ng & Peyton (1994) for the column counts of a sparse Cholesky factor, which
    takes time nearly proportional to the edges; below, a variable is named by its place in the order.
    Variable i is in the cliques of the variables j on a subtree of the elimination tree, with root i
    and with leaves among its earlier neighbours: i counts once at every leaf, once less where two leaves meet
    and once less above i, and the sums over all that is below j are the contents of j's clique.
    """
    d = len(order)
    place = np.empty(d, dtype=np.int64)
    for j in range(d):
        place[order[j]] = j
    parent = np.full(d, -1)
    ancestor = np.full(d, -1)
    for i in range(d):
        for k in range(indptr[order[i]], indptr[order[i] + 1]):
            j = place[neighbors[k]]
            while j != -1 and j < i:
                above = ancestor[j]
                ancestor[j] = i
                if above == -1:
                    parent[j] = i
                j = above

    child = np.full(d, -1)
    sibling = np.full(d, -1)
    for j in range(d - 1, -1, -1):
        if parent[j] >= 0:
            sibling[j] = child[parent[j]]
            child[parent[j]] = j
    # places in depth-first order, children before parents
    visit = np.empty(d, dtype=np.int64)
    n_visited = 0
    for root in range(d):
        if parent[root] >= 0:
            continue
        j = root
        while True:
            while child[j] >= 0:
                below = child[j]
                child[j] = -1
                j = below
            visit[n_visited] = j
            n_visited += 1
            if j == root:
                break
            j = sibling[j] if sibling[j] >= 0 else parent[j]

    count = np.zeros((d, n_kinds), dtype=np.int64)
    first = np.full(d, -1)  # when the first descendant was visited
    for t in range(d):
        j = visit[t]
        if first[j] < 0:
            count[j, kind[order[j]]] = 1  # a leaf of the elimination tree
        while j >= 0 and first[j] < 0:
            first[j] = t
            j = parent[j]
    latest = np.full(d, -1)  # the largest `first` among the leaves of i's subtree
    leaf = np.full(d, -1)  # the leaf that was found last
    for j in range(d):
        ancestor[j] = j
    for t in range(d):
        j = visit[t]
        if parent[j] >= 0:
            count[parent[j], kind[order[j]]] -= 1
        for k in range(indptr[order[j]], indptr[order[j] + 1]):
            i = place[neighbors[k]]
            if i <= j or first[j] <= latest[i]:
                continue
            latest[i] = first[j]
            count[j, kind[order[i]]] += 1
            if leaf[i] >= 0:
                meet = leaf[i]
                while meet != ancestor[meet]:
                    meet = ancestor[meet]
                s = leaf[i]
                while s != meet:
                    above = ancestor[s]
                    ancestor[s] = meet
                    s = above
                count[meet, kind[order[i]]] -= 1
            leaf[i] = j
        if parent[j] >= 0:
            ancestor[j] = parent[j]

    is_contained = np.zeros(d, dtype=np.bool_)
    size = np.empty(d, dtype=np.int64)
    for j in range(d):
        size[j] = 0
        for c in range(n_kinds):
            size[j] += count[j, c]
            if parent[j] >= 0:
                count[parent[j], c] += count[j, c]
    for j in range(d):
        # the clique of the parent is that of its child less the child
        if parent[j] >= 0 and size[parent[j]] == size[j] - 1:
            is_contained[parent[j]] = True
    return count, is_contained
