"""One question to samplers of edges: are their draws those of the posterior, by enumeration and quadrature?

A `Question` is a field, or several whose weights are sums of the same sparse vectors, under a likelihood; it
knows its model and its posterior, the sum over all structures. `assert_right` draws, compares within
Monte-Carlo error, and holds the same draws against posteriors that they must not have.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
from scipy import stats

import pymc_mrf as pmrf
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from tests.reference.spike_and_slab import structure_posteriors
from tests.small_fields import SmallField
from tests.statistics import Z

P = 0.4
HALVES = ((1.0, 0.5), (1.0, -0.5))
VECTORS = ("w", "delta")


@dataclass(frozen=True)
class Question:
    """Weights of field k are the sum of vector j times `factors[k][j]`; each has the prior `P` and its slab.

    `nodes`: "known", or "random" as a field declares them (of one field), or factors for each field of
    vectors of chance with the scales `node_scales`, of which node parameters, or their logs, are sums.
    `declare(likelihood, *vectors)` declares in place of all fields what has their likelihood.
    """

    fields: tuple[SmallField, ...]
    likelihood: Any = "exact"
    factors: Any = ((1.0,),)
    nodes: Any = "known"
    node_scales: tuple[float, ...] = ()
    sd: float = 0.5
    n_nodes: int = 5
    declare: Callable | None = None

    @property
    def blocks(self):
        """Numbers of parameters of all edges, vector by vector."""
        return self.fields[0].blocks * len(self.factors[0])

    def model(self):
        """The model of PyMC."""
        with pm.Model() as model:
            blocks = self.fields[0].blocks
            size = {"shape": len(blocks)} if max(blocks) == 1 else {"blocks": blocks}
            n_vectors = len(self.factors[0])
            sparse = [
                pmrf.SpikeAndSlab(name, P, pm.Normal.dist(0, self.sd), **size)
                for name in VECTORS[:n_vectors]
            ]
            if self.declare is not None:
                self.declare(self.likelihood, *sparse)
                return model
            d = len(self.fields[0].known)
            of_nodes = [pm.Normal(f"b_{k}", 0, s, shape=d) for k, s in enumerate(self.node_scales)]
            for k, field in enumerate(self.fields):
                weight = total(self.factors[k], sparse)
                if self.nodes == "known":
                    nodes = field.nodes
                elif self.nodes == "random":
                    nodes = field.random()
                else:
                    nodes = (field.link(total(self.nodes[k], of_nodes)),)
                field.declare("xyz"[k], weight, nodes, self.likelihood)
        return model

    @functools.cached_property
    def _posteriors(self):
        blocks = np.array(self.blocks)
        m, options = sum(self.fields[0].blocks), {}
        if self.nodes == "known":
            options["bias"] = np.concatenate([field.known for field in self.fields])
            of_nodes = np.eye(len(self.fields))
        elif self.nodes == "random":
            options["log_bias"], of_nodes = self.fields[0].log_nodes, np.ones((1, 1))
        else:
            of_nodes = np.array(self.nodes)
            scales = np.repeat(self.node_scales, len(self.fields[0].known))
            options["log_bias"] = stats.norm(0, scales).logpdf
        d = len(self.fields[0].known)
        terms = []
        for field, entries, own in zip(self.fields, self.factors, of_nodes, strict=True):
            A = np.zeros((m + d, blocks.sum() + len(own) * d))
            A[:m, : blocks.sum()] = np.hstack([np.eye(m) * factor for factor in entries])
            A[m:, blocks.sum() :] = np.kron(own, np.eye(d))
            terms.append((field.value(self.likelihood), A))
        return structure_posteriors(
            lambda q: sum(value(q @ A.T) for value, A in terms),
            len(blocks), of_nodes.shape[1] * d, stats.norm(0, self.sd).logpdf,
            n_nodes=self.n_nodes, blocks=blocks, **options,
        )  # fmt: skip

    def posterior(self, p=P):
        """By quadrature, with this prior probability of an edge."""
        return self._posteriors(fixed_p(p, len(self.blocks)))


def total(factors, vectors):
    """The sum of those with a factor."""
    terms = [v if np.all(f == 1) else f * v for f, v in zip(factors, vectors, strict=True) if np.any(f)]
    return functools.reduce(lambda a, b: a + b, terms)


def fixed_p(p, r=6):
    """Log prior of a structure of `r` edges by the number of those that are present."""
    return lambda k: k * np.log(p) + (r - k) * np.log1p(-p)


def draws_by(model, steps, values, n_draws, tune=300, n_chains=2, seed=1):
    """Draws (n_chains, n_draws, ...) of each of these values, by steps one after the other."""
    chains = []
    for chain in range(n_chains):
        for k, step in enumerate(steps):
            step.setup_chain(np.random.default_rng([seed, chain, k]), tune, n_draws)
        point, rows = model.initial_point(), []
        for i in range(tune + n_draws):
            for step in steps:
                if i == tune:
                    step.stop_tuning()
                point, _ = step.step(point)
            rows.append([point[value] for value in values])
        chains.append(rows[tune:])
    return [np.array([[row[k] for row in rows] for rows in chains]) for k in range(len(values))]


def draws_of(
    model, names=None, n_draws=1500, tune=200, n_chains=2, seed=1, change=None, beside=None, **options
):
    """Draws (n_chains, n_draws, ...) of each variable that `EdgeGibbs` moves.

    All variables unless `names` are given; `beside()` makes further steps, `change(step)` may alter that of
    the edges before it begins, and `options` are its own.
    """
    names = [rv.name for rv in model.free_RVs] if names is None else names
    with model:
        step = EdgeGibbs([model[name] for name in names], **options)
        steps = [*getattr(step, "methods", [step]), *(beside() if beside else [])]
    if change is not None:
        change(step)
    values = [model.rvs_to_values[model[name]].name for name in names]
    return draws_by(model, steps, values, n_draws, tune, n_chains, seed)


def sparse_draws_of(model, *arguments, **options):
    """`draws_of` all variables: sparse vectors one after the other, all else likewise, or None."""
    of_all = draws_of(model, None, *arguments, **options)
    sparse, others = (
        [
            own.reshape(*own.shape[:2], -1)
            for rv, own in zip(model.free_RVs, of_all, strict=True)
            if (rv.owner.op.name == "SpikeAndSlab") == is_sparse
        ]
        for is_sparse in (True, False)
    )
    return np.concatenate(sparse, axis=-1), np.concatenate(others, axis=-1) if others else None


def gaps(w, exact, blocks=None, nodes=None, slack=(0.0, 0.0)):
    """Differences of all probabilities and means from the exact ones, in Monte-Carlo standard errors.

    `slack` is what an approximation may add: to a probability, and to a mean in posterior deviations.
    """
    blocks = np.ones(w.shape[-1], dtype=int) if blocks is None else blocks
    present = (w[..., np.cumsum([0, *blocks[:-1]])] != 0).astype(float)
    n_edges = present.sum(axis=-1)
    compared = [(f"P(Y_{e})", present[..., e], p) for e, p in enumerate(exact.inclusion)]
    compared += [(f"P({k} edges)", (n_edges == k) * 1.0, p) for k, p in enumerate(exact.n_edges)]
    compared = [(name, draws, p, slack[0]) for name, draws, p in compared if 0.01 < p < 0.99]
    # of all edges together: what is wrong with each of them, such as its prior odds, adds up
    in_doubt = np.any((exact.inclusion > 0.01) & (exact.inclusion < 0.99))
    means = [("E[edges]", n_edges, exact.inclusion.sum())] if in_doubt else []
    means += [(f"E[w_{k}]", w[..., k], mean) for k, mean in enumerate(exact.weight)]
    if nodes is not None:
        means += [(f"E[b_{i}]", nodes[..., i], mean) for i, mean in enumerate(exact.bias)]
    compared += [(name, draws, mean, slack[1] * draws.std()) for name, draws, mean in means]
    found = {}
    for name, draws, value, allowed in compared:
        assert az.ess(draws) > 300, name
        error = float(az.mcse(draws))
        found[name] = max(abs(draws.mean() - value) - allowed, 0.0) / error
    return found


def furthest(*arguments, **options):
    """The largest of the `gaps`."""
    return max(gaps(*arguments, **options).values())


def assert_right(question, *others, model=None, control=0.1, slack=(0.0, 0.0), **options):
    """Draws have the posterior, and that of another prior, or of `others`, they have not.

    `model` may be another way to say the same; `slack` is that of `gaps`.
    """
    sparse, nodes = sparse_draws_of(question.model() if model is None else model, **options)

    def gaps_from(exact):
        return gaps(sparse, exact, question.blocks, nodes, slack)

    found = gaps_from(question.posterior())
    assert max(found.values()) < Z, found
    for other in (question.posterior(P + control), *(other.posterior() for other in others)):
        found = gaps_from(other)
        assert max(found.values()) > Z, found  # negative control
