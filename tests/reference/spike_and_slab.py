"""Posterior of a field with spike-and-slab weights by quadrature over every structure."""

import itertools
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from pymc_mrf.fields.families import BOLTZMANN, ISING


class StructurePosterior(NamedTuple):
    """Inclusion probabilities (r,), E[w] (r,), E[b] (d,), the distribution of the edge count, log odds (r,).

    Of edges with blocks of parameters w has all of these. The log odds are those of inclusion, finite where
    it is 1 to all digits; empty if nobody asked.
    """

    inclusion: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    n_edges: np.ndarray
    log_odds: np.ndarray = np.zeros(0)


def field_log_likelihood(x, edges, family, likelihood, weight=0.5):
    """Log-likelihood of state indices `x` (n, d) as a function of parameters (Q, r + d q), by enumeration.

    `likelihood`: "exact" or "pseudo", every node given the rest, to the power of `weight` if it has edges.
    """
    x = np.asarray(x)
    d, K, G = x.shape[1], family.n_states, family.node_basis
    edges = np.array(edges)
    pair = family.edge_products(edges)[0]
    tables = np.broadcast_to(family.edge_statistics(edges), (len(pair), K, K))
    edges = edges[pair]

    def statistics(rows):
        pairs = [f[rows[..., u], rows[..., v]] for f, (u, v) in zip(tables, edges, strict=True)]
        nodes = [g[rows[..., i]] for i in range(d) for g in G]
        return np.stack(pairs + nodes, axis=-1)

    data, weights = statistics(x).sum(axis=0), np.array([len(x)])
    if likelihood == "exact":
        choices = np.array(list(itertools.product(range(K), repeat=d)))[None]  # (1, m, d)
    else:  # every node in every state, given the rest: the same for all rows with this rest
        powers = np.where(np.isin(np.arange(d), edges), weight, 1.0)
        rest = np.insert(np.repeat(x, d, axis=0), 0, np.tile(np.arange(d), len(x)), axis=1)
        rest[np.arange(len(rest)), rest[:, 0] + 1] = 0
        rest, weights = np.unique(rest, axis=0, return_counts=True)
        choices = rest[:, None, 1:].repeat(K, axis=1)
        choices[np.arange(len(rest)), :, rest[:, 0]] = np.arange(K)
        data, weights = powers.sum() * data, powers[rest[:, 0]] * weights
    table = statistics(choices)
    possible = np.zeros(choices.shape[:2])
    possible[~family.possible(d)[np.arange(d), choices].all(axis=-1)] = -np.inf

    flat = table.reshape(-1, table.shape[-1]).T

    def normaliser(parameters):
        scores = (parameters @ flat).reshape(len(parameters), *possible.shape)
        scores += possible
        top = scores.max(axis=2)
        scores -= top[:, :, None]
        return (np.log(np.exp(scores, out=scores).sum(axis=2)) + top) @ weights

    def value(parameters):
        pieces = np.array_split(parameters, -(-len(parameters) // 500))
        return parameters @ data - np.concatenate([normaliser(piece) for piece in pieces])

    return value


def exact_log_likelihood(x, edges, states):
    """`field_log_likelihood` of state values `x` of a binary field."""
    family = {BOLTZMANN.states: BOLTZMANN, ISING.states: ISING}[tuple(states)]
    return field_log_likelihood((np.asarray(x) == states[1]).astype(int), edges, family, "exact")


def pseudo_log_likelihood(x, edges, states, weight=0.5):
    """Log pseudo-likelihood likewise."""
    family = {BOLTZMANN.states: BOLTZMANN, ISING.states: ISING}[tuple(states)]
    return field_log_likelihood(
        (np.asarray(x) == states[1]).astype(int), edges, family, "pseudo", weight
    )


def gauss_hermite(log_density, dimension, n_nodes):
    """Points, log weights: integral of exp(log_density) over R^dimension, around its mode."""
    if dimension == 0:
        return np.zeros((1, 0)), log_density(np.zeros((1, 0)))
    h = 1e-3
    eye = h * np.eye(dimension)

    def negative(q):
        f = log_density(q + np.concatenate([np.zeros((1, dimension)), eye, -eye]))
        return -f[0], (f[dimension + 1 :] - f[1 : dimension + 1]) / (2 * h)

    found = optimize.minimize(negative, np.zeros(dimension), jac=True, method="BFGS")
    signs = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    steps = signs[:, :1, None, None] * eye[:, None] + signs[:, 1:, None, None] * eye
    f = log_density((found.x + steps).reshape(-1, dimension))
    hessian = (np.array([1, -1, -1, 1]) @ f.reshape(4, -1)).reshape(dimension, -1) / (4 * h * h)
    root = np.linalg.cholesky(np.linalg.inv(-hessian))
    t, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    index = np.indices((n_nodes,) * dimension).reshape(dimension, -1).T
    grid, log_weights = t[index], np.log(weights)[index].sum(axis=1)
    points = found.x + grid @ root.T
    log_weights += 0.5 * (grid**2).sum(axis=1) + np.log(np.diag(root)).sum()
    return points, log_weights + log_density(points)


def structure_posteriors(
    log_likelihood, r, d, log_slab, log_bias=None, bias=None, n_nodes=5, blocks=None
):
    """Sum over all 2^r structures, as a function of their prior.

    `log_slab` elementwise; `log_bias` elementwise if the biases are random, else `bias` (d,) gives them. The
    prior is a function of the number of edges k: the log probability of a structure that has them. `blocks`
    (r,) are the numbers of parameters of the edges, if they have several.
    """
    log_masses, parts = [], []
    blocks = np.ones(r, dtype=int) if blocks is None else np.asarray(blocks)
    n_weights = blocks.sum()
    for structure in itertools.product((False, True), repeat=r):
        present = np.flatnonzero(np.repeat(structure, blocks))
        k = len(present)

        def log_density(q, present=present, k=k):
            parameters = np.zeros((len(q), n_weights + d))
            parameters[:, present] = q[:, :k]
            value = log_slab(q[:, :k]).sum(axis=1)
            if log_bias is None:
                parameters[:, n_weights:] = bias
            else:
                parameters[:, n_weights:] = q[:, k:]
                value = value + log_bias(q[:, k:]).sum(axis=1)
            return value + log_likelihood(parameters)

        points, log_weights = gauss_hermite(log_density, k + (0 if log_bias is None else d), n_nodes)
        mass = special.logsumexp(log_weights)
        means = np.exp(log_weights - mass) @ points if points.shape[1] else np.zeros(0)
        weight = np.zeros(n_weights)
        weight[present] = means[:k]
        log_masses.append(mass)
        parts.append((np.array(structure, dtype=float), weight, means[k:] if log_bias else bias))
    structures = np.array([part[0] for part in parts])
    sizes = structures.sum(axis=1).astype(int)

    def posterior(log_prior):
        log_p = log_masses + np.array([log_prior(k) for k in sizes])
        p = special.softmax(log_p)
        inclusion, weight, biases = (
            sum(p[j] * part[k] for j, part in enumerate(parts)) for k in range(3)
        )
        log_odds = np.array(
            [
                special.logsumexp(log_p[of == 1]) - special.logsumexp(log_p[of == 0])
                for of in structures.T
            ]
        )
        n_edges = np.bincount(sizes, p, minlength=r + 1)
        return StructurePosterior(inclusion, weight, biases, n_edges, log_odds)

    return posterior


def structure_posterior(log_likelihood, r, d, log_prior, log_slab, **options):
    """`structure_posteriors` with one prior."""
    return structure_posteriors(log_likelihood, r, d, log_slab, **options)(log_prior)


def one_edge_posterior(log_likelihood, d, p, log_slab, bias):
    """Inclusion probability and E[w] of the only edge of a field, by adaptive quadrature."""
    from scipy import integrate

    def at(w):
        return float(log_likelihood(np.concatenate([[w], bias])[None])[0])

    zero = at(0.0)

    def integrand(w, power):
        return w**power * np.exp(log_slab(w) + at(w) - zero)

    cuts = [-np.inf, -20.0, -5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0, 20.0, np.inf]
    mass, first = (
        sum(
            integrate.quad(integrand, a, b, args=(k,), epsabs=1e-12)[0]
            for a, b in itertools.pairwise(cuts)
        )
        for k in (0, 1)
    )
    odds = p / (1 - p) * mass
    return odds / (1 + odds), odds / (1 + odds) * first / mass


def structure_posterior_on_grid(log_likelihood, limits, others, p, log_slab, n_nodes=50):
    """Sum over all 2^r structures of edges of one weight each, of weights on a grid up to `limits` (r,).

    The parameters of nodes are known: `others`.
    """
    r, limits = len(limits), np.asarray(limits)
    t, weights = np.polynomial.legendre.leggauss(n_nodes)
    log_masses, parts = [], []
    for structure in itertools.product((False, True), repeat=r):
        present = np.flatnonzero(structure)
        index = np.indices((n_nodes,) * len(present)).reshape(len(present), n_nodes ** len(present)).T
        w = np.zeros((len(index), r))
        w[:, present] = t[index] * limits[present]
        log_w = np.log(weights)[index].sum(axis=1) + np.log(limits[present]).sum()
        full = np.concatenate([w, np.broadcast_to(others, (len(w), len(others)))], axis=1)
        log_w = log_w + log_slab(w[:, present]).sum(axis=1) + log_likelihood(full)
        log_masses.append(special.logsumexp(log_w) + len(present) * np.log(p / (1 - p)))
        share = np.exp(log_w - special.logsumexp(log_w))
        parts.append((np.array(structure, dtype=float), share @ w))
    q = special.softmax(log_masses)
    inclusion, weight = (sum(q[j] * part[k] for j, part in enumerate(parts)) for k in range(2))
    sizes = np.array([int(part[0].sum()) for part in parts])
    return StructurePosterior(inclusion, weight, np.zeros(0), np.bincount(sizes, q, minlength=r + 1))
