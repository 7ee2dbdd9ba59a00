"""Small fields of every kind: rows, how they are declared, and their likelihood by enumeration.

`tests/posteriors.py` asks of them whether draws are those of the posterior.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.fields.families import nominal
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours
from tests.mixed_fields import reference_of
from tests.reference.gaussian import log_likelihood_of, precision
from tests.reference.kinetic import kinetic_log_likelihood
from tests.reference.spike_and_slab import field_log_likelihood
from tests.steps.edges import arrow_models
from tests.steps.edges.state_models import declare, field_data, node_parameters


class SmallField(NamedTuple):
    """A field with its rows `x`.

    `blocks` has the number of parameters of each edge, `nodes` the parameters of nodes as they are declared,
    and `known` the same as one vector, of which diagonals are logs. `declare(name, weight, nodes,
    likelihood)` declares it in the model of the context, `random()` parameters of nodes of chance, which have
    the log density `log_nodes`, elementwise; `value(likelihood)` is the log-likelihood of rows of all
    parameters. `link` makes of sums of vectors what is declared for nodes.
    """

    x: np.ndarray
    blocks: list[int]
    nodes: tuple[np.ndarray, ...]
    known: np.ndarray
    declare: Callable[[str, Any, tuple, Any], Any]
    value: Callable[[Any], Callable]
    random: Callable[[], tuple]
    log_nodes: Callable[[np.ndarray], np.ndarray]
    link: Callable = lambda total: total


def evaluated(likelihood):
    """What enumeration knows it by, and the power of its conditionals: what is estimated aims at "exact"."""
    if isinstance(likelihood, pmrf.Pseudo):
        return "pseudo", likelihood.weight
    return ("pseudo" if likelihood == "pseudo" else "exact"), 0.5


def pairwise(family, graph, weight, n, seed, b=None, sd=1.0, x=None):
    """Of one number for each edge, or of nominal answers, whose edges have tables."""
    d, edges = graph.n_nodes, graph.edges
    b = node_parameters(family, d) if b is None else b
    x = field_data(family, graph, np.asarray(weight), b, n, seed) if x is None else x
    return SmallField(
        x,
        list(family.block_sizes(edges)),
        (b,),
        b.ravel()[: d * len(family.node_basis)],
        lambda name, w, nodes, likelihood: declare(name, family, w, *nodes, graph, x, likelihood),
        lambda likelihood: field_log_likelihood(x, edges, family, *evaluated(likelihood)),
        lambda: (pm.Normal("b", 0, sd, shape=family.node_shape(d)),),
        stats.norm(0, sd).logpdf,
    )


def tables(n_states, graph, n, bias, seed=1):
    """Of nominal answers, of which the last two nodes go together, more often than not."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(k, size=n) for k in n_states], axis=1)
    copied = rng.random(n) < 0.35
    x[copied, -1] = np.minimum(x[copied, -2], n_states[-1] - 1)
    return pairwise(nominal(n_states), graph, None, n, 1, np.asarray(bias), sd=1.5, x=x)


def gaussian(graph, weight, diagonal, n, seed, stretch=1.0):
    """Of measurements around zero; the logs of the diagonal have the density of Gamma(2, 1) variables."""
    edges, diagonal = graph.edges.tolist(), np.asarray(diagonal)
    S = np.linalg.inv(precision(edges, np.asarray(weight), diagonal))
    x = stretch * np.random.default_rng(seed).multivariate_normal(np.zeros(len(S)), S, size=n)
    return SmallField(
        x,
        [1] * graph.n_edges,
        (diagonal,),
        np.log(diagonal),
        lambda name, w, nodes, likelihood: pmrf.GaussianMRF(name, w, *nodes, graph=graph, observed=x),
        lambda likelihood: log_likelihood_of(x, edges),
        lambda: (pm.Gamma("diagonal", 2, 1, shape=graph.n_nodes),),
        lambda q: 2 * q - np.exp(q),
        pm.math.exp,
    )


def mixed(what, n_states, edges, n, seed=1, sd=0.3, x=None):
    """Of answers and measurements named a, b, c, with weights of middling size."""
    kinds = pmrf.fields.ColumnKinds(tuple("abc"[: len(what)]), what, n_states)
    graph = pmrf.PairwiseGraph(kinds.names, [(kinds.names[u], kinds.names[v]) for u, v in edges])
    rng, reference = np.random.default_rng(seed), reference_of(kinds, graph)
    blocks = kinds.block_sizes(graph)
    weight = rng.normal(0, sd, blocks.sum())
    bias = rng.normal(0, 0.3, (len(kinds.answers), max(n_states)))
    diagonal = np.array([1.2, 0.9])[: len(kinds.measurements)]
    if x is None:
        field = pmrf.MixedMRF.dist(weight, bias, diagonal, graph=graph, kinds=kinds, size=(n,))
        x = pm.draw(field, random_seed=seed, mode="FAST_COMPILE")

    def declared(name, w, nodes, likelihood):
        nodes = nodes if len(diagonal) else nodes[:1]
        pmrf.MixedMRF(name, w, *nodes, graph=graph, kinds=kinds, observed=x, likelihood=likelihood)

    def log_nodes(q):
        of_bias, of_log = q[:, : bias.size], q[:, bias.size :]
        return np.hstack([stats.norm(0, 1.0).logpdf(of_bias), 2 * of_log - np.exp(of_log)])

    return SmallField(
        x,
        list(blocks),
        (bias, diagonal),
        np.concatenate([bias.ravel(), np.log(diagonal)]),
        declared,
        lambda likelihood: reference.log_likelihood_of(x, evaluated(likelihood)[0]),
        lambda: (
            pm.Normal("bias", 0, 1.0, shape=bias.shape),
            pm.Gamma("diagonal", 2, 1, shape=len(diagonal)),
        ),
        log_nodes,
    )


def kinetic(name, arrows, weight, lengths, seed=1, lag=1, links=(), together=0.0, told=None):
    """Of series, maybe with links within rows: with probability `together` the second node is as the first.

    Under the pseudo-likelihood nodes with links and arrows are asked twice, the second time with the expected
    neighbours that the distribution finds. Enumeration may be told of other arrows.
    """
    z, labels, edges, family, b = arrow_models.series(name, arrows, weight, lengths, seed, lag)
    copied = np.random.default_rng(5).random(len(z)) < together
    z[:, 1] = np.where(copied, z[:, 0] % 2, z[:, 1])
    d = z.shape[1]
    options, shape = {"lag": lag, "links": links}, family.node_shape(d)
    edges = edges if told is None else [(*arrow, lag) for arrow in told]

    def declared(field, w, nodes, likelihood):
        own = {"likelihood": likelihood} if links else {}
        arrow_models.declare(name, w, *nodes, arrows, z, labels, family, field=field, **options, **own)

    def value(likelihood):
        all_edges = [*((*link, 0) for link in links), *edges]
        constants, (kind, weight) = None, evaluated(likelihood)
        if links and likelihood == "pseudo":
            graph = pmrf.LaggedGraph(range(d), arrows, links=links)
            windows = np.concatenate([z[1:], z[:-1]], axis=1).astype(np.int8)
            constants = ExpectedNeighbours(windows, graph, family).constants
        whole = bool(links) and kind == "exact"
        return kinetic_log_likelihood(z, all_edges, family, labels, whole, weight, constants)

    return SmallField(
        z,
        [1] * (len(arrows) + len(links)),
        (np.broadcast_to(b.reshape(shape), shape),),
        b,
        declared,
        value,
        lambda: (pm.Normal("b", 0, 1, shape=shape),),
        stats.norm(0, 1).logpdf,
    )
