"""How often pseudo-likelihoods of fields in time count links and arrows: beside the likelihood of whole rows.

Binary fields of four nodes are drawn from the prior of the model, five links and five arrows of all as
candidates, so small that all structures can be summed over under each density, each by Laplace's method.
Beside the likelihood: conditionals with weight 1, as is usual, with weight 1/2, and with second conditionals
of expected neighbours as well, which ``likelihood="pseudo"`` has. Writes a table for the documentation.
"""

import argparse
import itertools
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples._report import machine, outcomes, parse_sizes, table, write_fragment
from pymc_mrf.fields.families import BOLTZMANN
from pymc_mrf.fields.series import row_states
from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.likelihood.pseudo.conditional_weights import graph_weights, rest_weights
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours

D, N_LINKS, N_ARROWS, P, BIAS_SD = 4, 5, 5, 0.5, 2.0
STATES = row_states([2] * D).astype(int)  # (16, D)
LINK_SDS, ARROW_SDS, ROWS = (0.5, 1.0, 2.0), (0.5, 1.0, 2.0), (100, 400, 1600)
FORMS = {"1": "weight 1", "1/2": "weight 1/2", "second": "and second conditionals"}
LEAST = 0.01  # probability from which on an edge is in doubt, up to as much below 1


class Terms(NamedTuple):
    """Sum over t of n_t log p_t, p_t a softmax over A alternatives with log odds linear in Q parameters.

    Attributes
    ----------
    features : (T, A, Q) array
    offset : (T, A) array
    n : (T, A) array
        How often each alternative is observed, times a weight.
    """

    features: np.ndarray
    offset: np.ndarray
    n: np.ndarray

    def at(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (S,), slopes (S, Q) and informations (S, Q, Q) at parameters (S, Q)."""
        X, total, Q = self.features, self.n.sum(axis=1), theta.shape[1]
        log_p = np.einsum("sq,taq->sta", theta, X) + self.offset
        log_p -= special.logsumexp(log_p, axis=2, keepdims=True)
        p = np.exp(log_p) * total[:, None]
        mean = np.einsum("sta,taq->stq", p, X)
        squares = (X[..., :, None] * X[..., None, :]).reshape(-1, Q * Q)
        information = (p.reshape(len(theta), -1) @ squares).reshape(-1, Q, Q)
        seen = np.flatnonzero(total)
        information -= np.einsum("stq,str,t->sqr", mean[:, seen], mean[:, seen], 1.0 / total[seen])
        slope = np.einsum("ta,taq->q", self.n, X) - mean.sum(axis=1)
        return (log_p * self.n).sum(axis=(1, 2)), slope, information


class Outcome(NamedTuple):
    """What is off by form: of links and of arrows in doubt, and of all parameters where all are present."""

    inclusion: dict[str, tuple[np.ndarray, np.ndarray]]
    log_sd: dict[str, list[np.ndarray]]
    mean: dict[str, list[np.ndarray]]


def statistics(graph: LaggedGraph, past: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Statistics of edges and nodes (..., Q) of rows (..., D) after rows `past` (..., D)."""
    (u, v), is_arrow = graph.edges.T, graph.lag_of > 0
    source = np.where(is_arrow, past[..., u], row[..., u])
    return np.concatenate([source * row[..., v], row], axis=-1)


def simulate(sds: tuple[float, float], n: int, rng) -> tuple[LaggedGraph, np.ndarray]:
    """Candidates, and rows (n + 1, D) of a field from the prior."""
    links = list(itertools.combinations(range(D), 2))
    links = [links[k] for k in rng.choice(len(links), N_LINKS, replace=False)]
    arrows = list(itertools.product(range(D), repeat=2))
    arrows = [arrows[k] for k in rng.choice(len(arrows), N_ARROWS, replace=False)]
    graph = LaggedGraph(range(D), arrows, (1,), links)
    sd = np.where(graph.lag_of > 0, sds[1], sds[0])
    w = rng.normal(0, sd) * (rng.random(len(sd)) < P)
    b = rng.normal(0, 0.5, D)
    for (u, v), lag, value in zip(graph.edges, graph.lag_of, w, strict=True):  # no state is rare
        b[v] -= value / 2
        b[u] -= 0.0 if lag else value / 2
    log_p = statistics(graph, STATES[:, None], np.broadcast_to(STATES, (16, 16, D))) @ np.r_[w, b]
    p, at = special.softmax(log_p, axis=1), [int(rng.integers(16))]
    for _ in range(n):
        at.append(int(rng.choice(16, p=p[at[-1]])))
    return graph, STATES[at]


def densities(graph: LaggedGraph, x: np.ndarray) -> dict[str, list[Terms]]:
    """Log densities of rows `x` given the first, each a sum of terms: the likelihood, and the `FORMS`."""
    code = x @ (2 ** np.arange(D)[::-1])
    counts = np.zeros((16, 16))
    np.add.at(counts, (code[:-1], code[1:]), 1.0)
    past, now = np.nonzero(counts)
    n = counts[past, now]
    neighbours = ExpectedNeighbours(
        np.concatenate([x[1:], x[:-1]], axis=1).astype(np.int8), graph, BOLTZMANN
    )
    expected = neighbours.expected(STATES[past])
    given = neighbours.given(STATES[now], expected)

    def conditionals(weights: np.ndarray, expects: bool) -> list[Terms]:
        found = []
        for i in np.flatnonzero(weights):
            rows = np.repeat((expected if expects else STATES[now].astype(float))[:, None], 2, axis=1)
            rows[:, :, i] = [0.0, 1.0]
            offset = np.zeros((len(n), 2))
            offset[:, 1] = given[:, i] if expects else 0.0
            features = statistics(graph, np.repeat(STATES[past][:, None], 2, axis=1), rows)
            features -= features[:, :1]  # what does not change with the node
            observed = np.zeros((len(n), 2))
            observed[np.arange(len(n)), STATES[now][:, i]] = weights[i] * n
            found.append(Terms(features, offset, observed))
        return found

    whole = statistics(graph, STATES[:, None], np.broadcast_to(STATES, (16, 16, D))).astype(float)
    half = conditionals(graph_weights(graph, 0.5), False)
    return {
        "exact": [Terms(whole, np.zeros((16, 16)), counts)],
        "1": conditionals(np.ones(D), False),
        "1/2": half,
        "second": half + conditionals(rest_weights(graph, 0.5), True),
    }


def posterior(terms: list[Terms], sd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inclusion probabilities (r,), and modes and standard deviations (Q,) where all edges are present."""
    r = len(sd)
    structures = np.array(list(itertools.product((0.0, 1.0), repeat=r)))
    free = np.concatenate([structures, np.ones((len(structures), D))], axis=1)
    tau = np.concatenate([sd**-2.0, np.full(D, BIAS_SD**-2.0)])
    log_mass, theta, sds = np.empty(len(free)), np.zeros_like(free), np.zeros_like(free)

    def expand(theta, own):
        found = [one.at(theta) for one in terms]
        value, slope, H = (sum(part[k] for part in found) for k in range(3))
        H = H * own[:, :, None] * own[:, None]
        H[:, range(r + D), range(r + D)] += np.where(own > 0, tau, 1.0)
        return value, (slope - tau * theta) * own, H

    for part in np.array_split(np.arange(len(free)), 4):
        own, at = free[part], np.zeros((len(part), r + D))
        for _ in range(50):
            _, slope, H = expand(at, own)
            step = np.linalg.solve(H, slope[:, :, None])[:, :, 0]
            step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=1), 1e-9))[:, None]
            at += step
            if np.abs(step).max() < 1e-6:
                break
        value, _, H = expand(at, own)
        prior = (own * (0.5 * np.log(tau) - 0.5 * tau * at**2)).sum(axis=1)
        log_mass[part] = value + prior - 0.5 * np.linalg.slogdet(H)[1]
        theta[part] = at
        sds[part] = np.sqrt(np.linalg.inv(H)[:, range(r + D), range(r + D)])
    # P is one half: structures are alike a priori
    return special.softmax(log_mass) @ structures, theta[-1], sds[-1]


def outcome(k: int, seed: int) -> Outcome:
    """Posteriors of field k."""
    settings = list(itertools.product(LINK_SDS, ARROW_SDS, ROWS))
    link_sd, arrow_sd, n = settings[k % len(settings)]
    rng = np.random.default_rng([seed, k])
    graph, x = simulate((link_sd, arrow_sd), n, rng)
    is_arrow = graph.lag_of > 0
    sd = np.where(is_arrow, arrow_sd, link_sd)
    found = {name: posterior(terms, sd) for name, terms in densities(graph, x).items()}
    exact = found.pop("exact")
    kinds = np.concatenate([is_arrow.astype(int), np.full(D, 2)])
    doubt = (exact[0] > LEAST) & (exact[0] < 1 - LEAST)
    off = {
        name: tuple((one[0] - exact[0])[doubt & (is_arrow == kind)] for kind in (False, True))
        for name, one in found.items()
    }
    log_sd = {
        name: [np.log(one[2] / exact[2])[kinds == k] for k in range(3)] for name, one in found.items()
    }
    mean = {
        name: [((one[1] - exact[1]) / exact[2])[kinds == k] for k in range(3)]
        for name, one in found.items()
    }
    return Outcome(off, log_sd, mean)


def main(argv: list[str] | None = None) -> None:
    """Simulate, compare, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fields", type=int, default=2, help="number of fields")
    parser.add_argument("--seed", type=int, default=1)
    args = parse_sizes(parser, argv, fields=27)
    found = outcomes(partial(outcome, seed=args.seed), range(args.fields))
    rows = []
    for name, label in FORMS.items():
        cells = []
        for kind in range(3):
            if kind < 2:
                off = np.concatenate([one.inclusion[name][kind] for one in found])
                cells.append(f"{np.sqrt(np.mean(off**2)):.3f}" if len(off) else "")
            ratio = np.exp(np.mean(np.concatenate([one.log_sd[name][kind] for one in found])))
            shift = np.concatenate([one.mean[name][kind] for one in found])
            cells += [f"{ratio:.2f}", f"{np.sqrt(np.mean(shift**2)):.2f}"]
        rows.append([label, *cells])
    header = ["conditionals", "links: inclusion off (rms)", "sd by the exact", "means off, in sd"]
    header += ["arrows: inclusion off (rms)", "sd", "means", "biases: sd", "means"]
    text = table(header, rows) + (
        f"\n{args.fields} binary fields of {D} nodes from the prior, {N_LINKS} links and {N_ARROWS} arrows "
        f"as candidates, each present with probability {P}, normal weights with standard deviations (sd) "
        f"{', '.join(map(str, LINK_SDS))}, those of links and of arrows apart, {', '.join(map(str, ROWS))} "
        "rows. Posteriors by the sum over all structures, each by Laplace's method, under either density. "
        f"Inclusion: root mean square (rms) over edges with an exact probability between {LEAST} and "
        f"{1 - LEAST:g}; sd and means of all parameters where all edges are present.\n\n"
        f"Made by `examples/arrows_beside_links.py`. Machine: {machine()}.\n"
    )
    write_fragment(text, args.output, "arrows_beside_links.md")


if __name__ == "__main__":
    main()
