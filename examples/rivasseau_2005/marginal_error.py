"""Rivasseau (2005), sec. 6.2: Figures 6.1 to 6.3, errors of marginals at equal time on pairwise fields.

Potts fields of three states: log potential M[k, k] / T where both ends of an edge are in state k, one
diagonal matrix M of standard normal numbers for all edges and T = 0.5. Every node is observed with
probability 0.2, and edges with one observed end have a second matrix of the same kind. New matrices and
observations in every run. Run from the repository root:

    python -m examples.rivasseau_2005.marginal_error

Not in the thesis and chosen here: an observed node is in each state with probability 1/3; the error is the
total variation distance of a node's marginals, averaged over the nodes that are not observed.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, save_figure, write_fragment
from examples.rivasseau_2005 import equal_time
from examples.rivasseau_2005.equal_time import (
    DAMPING,
    FLOOR,
    LOOKS,
    N_TIMES,
    SAMPLERS,
    checkpoints,
    distance,
    draw_figure,
    median_range,
    run,
    tables,
)
from pymc_mrf.fields.simulation import GibbsSimulator
from pymc_mrf.fields.tree_simulation import TreeSimulator
from pymc_mrf.graph.tree_partition import tree_partition

K = 3
TEMPERATURE = 0.5
P_OBSERVED = 0.2
LONGER = 10
"""How many times longer than the compared runs those are that serve as truth."""
AGREEMENT = 0.02
"""Largest distance of the two long runs whose mean is taken for the truth."""
LONG = ("gibbs", "tree")
MOST_DISCARDED = 3
"""How many times as many runs as asked for may be discarded."""

MakeGraph = Callable[[np.random.Generator], pmrf.PairwiseGraph]


class Experiment(NamedTuple):
    """One figure of the thesis."""

    figure: str
    title: str
    graph: MakeGraph
    n_chains: int
    share: float
    """Of the time given on the command line."""
    complete: bool


EXPERIMENTS = (
    Experiment("6.1", "complete graph of 20", lambda rng: pmrf.graphs.complete(20), 64, 0.25, True),
    Experiment("6.2", "25 x 25 lattice", lambda rng: pmrf.graphs.grid(25, 25), 16, 1.0, False),
    Experiment(
        "6.3",
        "random graph, 1000 nodes, density 0.01",
        lambda rng: pmrf.graphs.random(1000, 0.01, rng=rng),
        16,
        1.0,
        False,
    ),
)
TINY = (
    Experiment("6.1", "complete graph of 6", lambda rng: pmrf.graphs.complete(6), 16, 1.0, True),
    Experiment("6.2", "4 x 4 lattice", lambda rng: pmrf.graphs.grid(4, 4), 16, 1.0, False),
)


class Model(NamedTuple):
    """One run: log potentials of agreement between free nodes, and with observed ones; what is observed."""

    graph: pmrf.PairwiseGraph
    inner: np.ndarray
    outer: np.ndarray
    evidence: dict

    @classmethod
    def draw(cls, graph: pmrf.PairwiseGraph, rng: np.random.Generator) -> "Model":
        """Draw new matrices and observations."""
        inner, outer = rng.standard_normal((2, K)) / TEMPERATURE
        observed = rng.random(graph.n_nodes) < P_OBSERVED
        observed[rng.integers(graph.n_nodes)] = False  # at least one free node
        states = rng.integers(K, size=graph.n_nodes).tolist()
        evidence = {node: states[i] for i, node in enumerate(graph.nodes) if observed[i]}
        return cls(graph, inner, outer, evidence)

    def free(self) -> pmrf.PairwiseField:
        """Field of the nodes that are not observed, given the others."""
        index = {node: i for i, node in enumerate(n for n in self.graph.nodes if n not in self.evidence)}
        node_tables = np.zeros((len(index), K))
        edges = []
        for i, j in self.graph.edges:
            u, v = self.graph.nodes[i], self.graph.nodes[j]
            if u in index and v in index:
                edges.append((index[u], index[v]))
            elif u in index or v in index:
                node, other = (u, v) if u in index else (v, u)
                node_tables[index[node], self.evidence[other]] += self.outer[self.evidence[other]]
        graph = pmrf.PairwiseGraph(range(len(index)), edges)
        return pmrf.PairwiseField(graph, np.tile(np.diag(self.inner), (len(edges), 1, 1)), node_tables)


def complete_graph_marginals(model: Model) -> np.ndarray:
    """Exact marginals of the free nodes of a complete graph, (n, K).

    Its nodes are exchangeable: the numbers of nodes in each state have probabilities that can be summed.
    """
    n = model.graph.n_nodes - len(model.evidence)
    observed = np.bincount(list(model.evidence.values()), minlength=K)
    counts = np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)])
    log_p = gammaln(n + 1) - gammaln(counts + 1).sum(axis=1)
    log_p += (counts * (counts - 1) / 2) @ model.inner + counts @ (observed * model.outer)
    p = np.exp(log_p - logsumexp(log_p))
    return np.tile(p @ counts / n, (n, 1))


class Sampler:
    """Chains of one method, and their estimates of the marginals, of nodes and edges.

    "tree" and "gibbs_rb", trees of one node, get Rao-Blackwellised marginals; "gibbs" counts states.
    """

    def __init__(
        self, field: pmrf.PairwiseField, method: str, n_chains: int, rng: np.random.Generator
    ) -> None:
        self.field, self.rng = field, rng
        d, r = field.graph.n_nodes, field.graph.n_edges
        self.x = rng.integers(K, size=(n_chains, d)).astype(np.int8)
        self.tables = field.edge_tables, field.node_tables
        self.counts = method == "gibbs"
        if self.counts:
            self.gibbs = GibbsSimulator(field.graph, K, n_chains)
            self.gibbs.load(self.x)
            self.shape = (d, K, n_chains)
        else:
            # nodes of the free field are numbered: labels are indices
            trees = tree_partition(field.graph, rng=rng) if method == "tree" else [[i] for i in range(d)]
            self.trees = TreeSimulator(field.graph, [trees])
            self.shape, self.edge_sum = (d, K, n_chains), np.zeros((r, K, K, n_chains))

    def advance(self, n_sweeps: int, node_sum: np.ndarray) -> None:
        """Sweep and add up."""
        if not self.counts:
            self.trees.add_marginals(self.x, *self.tables, n_sweeps, self.rng, node_sum, self.edge_sum)
            return
        nodes, _ = self.gibbs.count(*self.tables, n_sweeps, self.rng)
        node_sum[:, 1:] += nodes
        node_sum[:, 0] += n_sweeps - nodes.sum(axis=1)


def sampled(field, method: str, n_chains: int, times: np.ndarray, rng) -> tuple[list[np.ndarray], int]:
    """Estimates of every chain (n_chains, d, K) at the given times, and the number of sweeps."""
    sampler = Sampler(field, method, n_chains, rng)
    means, n_sweeps = run(sampler.advance, sampler.shape, times)
    return [np.moveaxis(mean, -1, 0) for mean in means], n_sweeps


def propagated(field: pmrf.PairwiseField, damping: float) -> tuple[np.ndarray, bool, float]:
    """Marginals by loopy belief propagation, whether it converged, and its CPU time."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "belief propagation did not converge")
        answer = field.marginals("bp", damping=damping)
    return answer.nodes, answer.convergence.converged, time.process_time() - start


class Truth(NamedTuple):
    """Marginals (d, K), the distance of both long runs, and the mean standard error of the marginals."""

    marginals: np.ndarray
    gap: float
    error: float


def long_runs(field: pmrf.PairwiseField, n_chains: int, budget: float, rng) -> Truth:
    """Truth of the thesis: a long run of either sampler, here weighted by their precisions."""
    runs = [sampled(field, method, n_chains, checkpoints(budget, 2), rng)[0][-1] for method in LONG]
    means = np.array([chains.mean(axis=0) for chains in runs])
    variances = [chains.var(axis=0, ddof=1).mean() / n_chains for chains in runs]
    precisions = 1.0 / np.maximum(variances, 1e-30)
    mean = np.tensordot(precisions / precisions.sum(), means, axes=1)
    return Truth(mean, distance(*means), float(precisions.sum() ** -0.5))


class Results(equal_time.Results):
    """Errors of the runs of one experiment; those of the runs that the thesis discards apart."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment, DAMPING)
        self.truths: list[Truth] = []
        self.apart: dict[str, list[float]] = {name: [] for name in self.errors}
        self.n_discarded = 0

    def others(self) -> dict[str, str]:
        """Further columns of the table of who wins."""
        error = np.median([truth.error for truth in self.truths])
        return {
            "largest distance of the long runs": f"{max(truth.gap for truth in self.truths):.2g}",
            "standard error of the truth, median": f"{error:.1g}" if error else "exact",
        }

    def add(self, model: Model, times: np.ndarray, rng: np.random.Generator) -> bool:
        """Make one run; False if the long runs disagree."""
        field, n_chains = model.free(), self.experiment.n_chains
        truth = long_runs(field, n_chains, LONGER * times[-1], rng)
        agree = truth.gap <= AGREEMENT
        if self.experiment.complete:
            truth = Truth(complete_graph_marginals(model), truth.gap, 0.0)
        elif not agree:
            self.n_discarded += 1
            return False
        errors = {}
        for name, damping in DAMPING.items():
            estimate, converged, spent = propagated(field, damping)
            errors[name] = distance(estimate, truth.marginals)
            if agree:
                self.converged[name].append(converged)
                self.seconds[name].append(spent)
        for name in SAMPLERS:
            estimates, n_sweeps = sampled(field, name, n_chains, times, rng)
            errors[name] = [distance(chains.mean(axis=0), truth.marginals) for chains in estimates]
            if agree:
                self.sweeps[name].append(n_sweeps)
        if not agree:
            self.n_discarded += 1
            for name, error in errors.items():
                self.apart[name].append(float(np.ravel(error)[-1]))
            return False
        self.truths.append(truth)
        for name, error in errors.items():
            self.errors[name].append(error)
        return True

    def discards(self) -> str:
        """One sentence."""
        text = f"Figure {self.experiment.figure}: {self.n_discarded} runs were discarded"
        if self.experiment.complete and self.n_discarded:
            ends = "; ".join(f"{LOOKS[name][0]} {median_range(v)}" for name, v in self.apart.items())
            text += f"; their errors, because the exact answer is known here: {ends}"
        return text + "."


def compare(experiment: Experiment, runs: int, seconds: float, seed: int) -> Results:
    """Make `runs` runs in which the long runs agree."""
    # samplers run by the clock take unequal amounts of random numbers: the models do not depend on them
    rng, chains = np.random.default_rng(seed).spawn(2)
    results = Results(experiment)
    times = checkpoints(seconds * experiment.share, N_TIMES)
    while len(results.truths) < runs:
        if results.n_discarded > MOST_DISCARDED * runs:
            raise RuntimeError(
                f"the long runs disagree in {results.n_discarded} runs on the {experiment.title}; give them "
                f"more time: --seconds is {seconds}"
            )
        results.add(Model.draw(experiment.graph(rng), rng), times, chains)
    return results


def main(argv: list[str] | None = None) -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2, help="CPU time of each compared run")
    parser.add_argument("--seed", type=int, default=2005)
    parser.add_argument("--tiny", action="store_true", help="two very small graphs")
    arguments = parse_sizes(parser, argv, runs=10)
    if arguments.runs < 1:
        parser.error(f"--runs must be positive, not {arguments.runs}")
    if not arguments.seconds > 0:
        parser.error(f"--seconds must be positive, not {arguments.seconds}")
    compare(TINY[1], 1, 0.02, arguments.seed)  # compiles
    experiments = TINY if arguments.tiny else EXPERIMENTS
    start = time.perf_counter()
    all_results = [compare(e, arguments.runs, arguments.seconds, arguments.seed) for e in experiments]
    ends = ", ".join(
        f"{1000 * arguments.seconds * e.share:.3g} ms on the {e.title} ({e.n_chains} chains)"
        for e in experiments
    )
    text = (
        f"Error of the marginals after equal CPU time, median (least to greatest) of {arguments.runs} "
        "runs, each with its own parameters and observations. Error: total variation distance of the "
        "marginals of a node, mean over the nodes that are not observed; the thesis' own measure is a "
        f"distance too, so that levels are not to be compared. Samplers at their end: {ends}; chains start "
        "at uniform states, and estimates are of the second half of a run. Tree partitions are found by "
        "`tree_partition`.\n\n"
        f"{tables(all_results)}\n"
        "Gibbs sampling estimates by counts, as in the thesis, or, Rao-Blackwellised, by its conditional "
        "probabilities: by the code of tree sampling with trees of one node. Belief propagation "
        "passes messages along an order of the nodes and back, not all at once.\n\n"
        f"Truth: as in the thesis a long run ({LONGER} times as long) of Gibbs sampling and one of tree "
        f"sampling; a run in which both differ by more than {AGREEMENT} is discarded with its parameters "
        "and replaced, and their mean, weighted by precision, is the truth: an error that is not well "
        "above the truth's own is that of the truth. On the complete graph the truth is exact, by summing "
        "over the numbers of nodes in each state, but the same runs are discarded. "
        f"{' '.join(results.discards() for results in all_results)}\n\n"
        "![Errors of marginals](../figures/rivasseau_marginals.png)\n\n"
        f"Errors below {FLOOR:g} are drawn there. Made by "
        f"`examples/rivasseau_2005/marginal_error.py`, seed {arguments.seed}. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "rivasseau_marginals.md")
    times = [checkpoints(arguments.seconds * e.share, N_TIMES) for e in experiments]
    figure = draw_figure(all_results, times, ("bp",))
    save_figure(figure, arguments.output, "rivasseau_marginals.png")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
