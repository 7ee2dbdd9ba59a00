"""Communities by the book: a mixture of finite mixtures by enumeration, edges under Beta priors."""

import itertools
import math

from scipy import stats
from scipy.special import beta as beta_function

from tests.reference.dirichlet_process import set_partitions


def partition_probabilities(d, gamma, rate, most=14):
    """Probability of every partition of d items, in the order of `set_partitions`.

    Sums over K up to `most` and over the components of all items, drawn one after the other from an urn.
    """
    index = {labels: 0.0 for labels in set_partitions(d)}
    for K in range(1, most + 1):
        p_K = stats.poisson.pmf(K, rate) / (1 - math.exp(-rate))
        for component in itertools.product(range(min(K, d)), repeat=d):
            # components are exchangeable: only those in order of appearance, times how many there are
            seen = list(dict.fromkeys(component))
            if seen != sorted(seen) or seen != list(range(len(seen))):
                continue
            p = float(math.perm(K, len(seen)))
            for i, k in enumerate(component):
                p *= (component[:i].count(k) + gamma) / (i + gamma * K)
            index[component] += p_K * p
    return list(index.values())


def posterior_of_partitions(prior, edges, present, within, between, fixed=None):
    """Posterior of every partition given which edges there are.

    `within` and `between` are (a, b) of the Beta priors; `fixed`, if given, are probabilities of the edges in
    place of these, (within, between) for each edge or None.
    """
    d = max(map(max, edges)) + 1
    weights = []
    for labels, p in zip(set_partitions(d), prior, strict=True):
        counts = {True: [0, 0], False: [0, 0]}
        weight = p
        for e, (u, v) in enumerate(edges):
            same = labels[u] == labels[v]
            if fixed is not None and fixed[e] is not None:
                q = fixed[e][0 if same else 1]
                weight *= q if present[e] else 1 - q
            else:
                counts[same][0 if present[e] else 1] += 1
        for same, (a, b) in ((True, within), (False, between)):
            k, m = counts[same]
            weight *= beta_function(a + k, b + m) / beta_function(a, b)
        weights.append(weight)
    total = sum(weights)
    return [w / total for w in weights]
