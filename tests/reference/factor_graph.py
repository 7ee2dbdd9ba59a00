"""Exact answers on small factor graphs by listing every configuration, one dictionary at a time."""

import itertools
import math


def weights(scopes, cardinalities, tables):
    """Unnormalised log probability of every configuration, as a dictionary of tuples."""
    result = {}
    for z in itertools.product(*(range(k) for k in cardinalities)):
        result[z] = sum(
            float(table[tuple(z[v] for v in scope)]) for scope, table in zip(scopes, tables, strict=True)
        )
    return result


def log_partition(scopes, cardinalities, tables):
    values = list(weights(scopes, cardinalities, tables).values())
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


def probabilities(scopes, cardinalities, tables):
    """Probability of every configuration, as a dictionary of tuples."""
    w = weights(scopes, cardinalities, tables)
    top = max(w.values())
    total = math.fsum(math.exp(v - top) for v in w.values())
    return {z: math.exp(v - top) / total for z, v in w.items()}


def marginal(probability, scope, states):
    """P(x_scope = states) under a dictionary of probabilities."""
    return math.fsum(
        p for z, p in probability.items() if all(z[v] == a for v, a in zip(scope, states, strict=True))
    )


def covariance(probability, f, g):
    """Covariance of two functions of a configuration."""
    ef = math.fsum(p * f(z) for z, p in probability.items())
    eg = math.fsum(p * g(z) for z, p in probability.items())
    return math.fsum(p * (f(z) - ef) * (g(z) - eg) for z, p in probability.items())
