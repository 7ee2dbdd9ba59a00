"""Pseudo-likelihood of factor graphs against conditionals by listing all configurations."""

import itertools

import numpy as np

from pymc_mrf.graph.factor_graph import FactorGraph, factor_links
from pymc_mrf.kernels.estimates import factor_pseudo_likelihood as kernels
from tests.reference import factor_graph as reference

SCOPES = [(0,), (0, 1), (2, 1, 0), (3,), (2, 3)]
CARDS = [2, 3, 2, 4]
WEIGHTS = np.array([0.5, 1.0, 0.3, 0.5])
STATES = np.array(list(itertools.product(*map(range, CARDS))), dtype=np.int8)


def random_tables(rng):
    return [rng.normal(size=[CARDS[v] for v in scope]) for scope in SCOPES]


def log_pseudo_likelihood(tables):
    """Of all configurations: each variable given all others, to the power of its weight."""
    weight = reference.weights(SCOPES, CARDS, tables)
    result = []
    for z in map(tuple, STATES.tolist()):
        total = 0.0
        for i, n_states in enumerate(CARDS):
            alike = [weight[(*z[:i], a, *z[i + 1 :])] for a in range(n_states)]
            possible = weight[z] > -np.inf
            total += WEIGHTS[i] * (weight[z] - np.logaddexp.reduce(alike)) if possible else -np.inf
        result.append(total)
    return np.array(result)


def found(tables):
    out = np.empty(len(STATES))
    links = factor_links(FactorGraph(SCOPES, CARDS))
    flat = np.concatenate([t.ravel() for t in tables])
    kernels.log_pseudo_likelihood(STATES, flat, links, WEIGHTS, out)
    return out


def test_values_are_sums_of_conditionals(rng):
    tables = random_tables(rng)
    np.testing.assert_allclose(found(tables), log_pseudo_likelihood(tables), atol=1e-10)
    other = [*tables[:2], tables[2].transpose(1, 0, 2).reshape(tables[2].shape), *tables[3:]]
    assert np.abs(found(other) - log_pseudo_likelihood(tables)).max() > 0.1  # negative control


def test_impossible_combinations(rng):
    tables = random_tables(rng)
    tables[1][1, 2] = -np.inf
    value, expected = found(tables), log_pseudo_likelihood(tables)
    np.testing.assert_allclose(value, expected, atol=1e-10)
    np.testing.assert_array_equal(np.isinf(value), (STATES[:, 0] == 1) & (STATES[:, 1] == 2))


def test_gradient_by_differences(rng):
    flat = np.concatenate([t.ravel() for t in random_tables(rng)])
    links, weights = factor_links(FactorGraph(SCOPES, CARDS)), rng.normal(size=len(STATES))
    gradient, out, h = np.empty(len(flat)), np.empty(len(STATES)), 1e-5
    kernels.log_pseudo_likelihood_gradient(STATES, flat, links, WEIGHTS, weights, gradient)

    def value(tables):
        kernels.log_pseudo_likelihood(STATES, tables, links, WEIGHTS, out)
        return weights @ out

    steps = h * np.eye(len(flat))
    differences = [(value(flat + step) - value(flat - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(gradient, differences, atol=1e-6)
