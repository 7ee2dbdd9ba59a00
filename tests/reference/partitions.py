"""Partitions by definition: enumeration, variation of information, co-clustering."""

import itertools
from math import log


def all_partitions(r):
    """Every partition of r items, labelled in order of appearance."""
    return [
        list(labels)
        for labels in itertools.product(range(r), repeat=r)
        if all(c <= max(labels[:i], default=-1) + 1 for i, c in enumerate(labels))
    ]


def entropy(counts):
    total = sum(counts)
    return -sum(c / total * log(c / total) for c in counts if c)


def variation_of_information(a, b):
    """2 H(a, b) - H(a) - H(b), from the frequencies of labels and of pairs of labels."""
    a, b = list(a), list(b)
    pairs = list(zip(a, b, strict=True))
    h_a, h_b, h_ab = (entropy([s.count(v) for v in set(s)]) for s in (a, b, pairs))
    return 2 * h_ab - h_a - h_b


def co_clustering(draws):
    """Share of the draws in which entries i and j are equal."""
    r = len(draws[0])
    return [[sum(draw[i] == draw[j] for draw in draws) / len(draws) for j in range(r)] for i in range(r)]


def expected_vi(grouping, draws):
    return sum(variation_of_information(grouping, draw) for draw in draws) / len(draws)
