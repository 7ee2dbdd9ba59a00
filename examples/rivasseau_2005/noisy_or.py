"""Rivasseau (2005), sec. 6.3: Figures 6.4 to 6.6, errors of marginals at equal time on noisy-or networks.

QMR networks (Jaakkola & Jordan, 1999): 40 diseases, each present with probability 0.01, and 14 findings, all
positive. A finding stays away with probability (1 - leak) * prod of (1 - q_j) over the diseases j that are
present and linked to it (eq. 6.5). Links with probability 0.15, q_j uniform, new ones in every run, the
same ones for each leak. Truth by the junction tree. Run from the repository root:

    python -m examples.rivasseau_2005.noisy_or

Not in the thesis and chosen here: the three leaks; that links of a finding are drawn again if there is none
or more than 10, the most variables that a factor takes (3 in 100 findings); the measure of error, the
total variation distance of a disease's marginals, averaged over diseases.
"""

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np

import pymc_mrf as pmrf
from examples._report import machine, parse_sizes, save_figure, write_fragment
from examples.rivasseau_2005 import equal_time
from examples.rivasseau_2005.equal_time import (
    DAMPING,
    FLOOR,
    N_TIMES,
    SAMPLERS,
    checkpoints,
    distance,
    draw_figure,
    run,
    tables,
)
from pymc_mrf.fields.factor_graph import factor_tables
from pymc_mrf.fields.tree_simulation import FactorTreeSimulator
from pymc_mrf.graph.tree_partition import tree_partition

DENSITY = 0.15
PRIOR = 0.01
MOST_PARENTS = 10
N_CHAINS = 16
PROPAGATION = (*DAMPING, "bp_parallel")
PARALLEL_ITERATIONS = 100


class Experiment(NamedTuple):
    """One figure of the thesis."""

    figure: str
    title: str
    leak: float


EXPERIMENTS = (
    Experiment("6.4", "low leak", 0.001),
    Experiment("6.5", "medium leak", 0.1),
    Experiment("6.6", "high leak", 0.5),
)


def noisy_or(q: np.ndarray, leak: float) -> np.ndarray:
    """Log probability of a positive finding for each joint state of its diseases, (2,) * len(q)."""
    log_absent = np.array(np.log1p(-leak))
    for q_j in q:
        log_absent = np.add.outer(log_absent, [0.0, np.log1p(-q_j)])
    return np.log(-np.expm1(log_absent))


def network(
    n_diseases: int, n_findings: int, leak: float, rng: np.random.Generator
) -> pmrf.fields.FactorGraphField:
    """Draw links and their strengths; diseases given that all findings are positive."""
    scopes, tables = [], []
    while len(scopes) < n_findings:
        parents = np.flatnonzero(rng.random(n_diseases) < DENSITY)
        if 1 <= len(parents) <= MOST_PARENTS:
            scopes.append(parents.tolist())
            tables.append(noisy_or(rng.random(len(parents)), leak))
    scopes += [[j] for j in range(n_diseases)]
    tables += [np.log([1.0 - PRIOR, PRIOR])] * n_diseases
    return pmrf.fields.FactorGraphField(scopes, [2] * n_diseases, tables)


def parallel_propagation(field: pmrf.fields.FactorGraphField) -> tuple[np.ndarray, bool]:
    """Marginals of loopy belief propagation in which all messages change at once, and whether it converged.

    `FactorGraphField.marginals(method="bp")` passes messages one after the other, which converges more
    often.
    """
    potentials = [np.exp(log_table) for log_table in field.tables]
    messages = {(f, v): np.full(2, 0.5) for f, scope in enumerate(field.graph.scopes) for v in scope}
    beliefs, converged = np.zeros((field.graph.n_variables, 2)), False
    for _ in range(PARALLEL_ITERATIONS):
        product = np.ones_like(beliefs)
        for (_, v), message in messages.items():
            product[v] *= message
        before, beliefs = beliefs, product / product.sum(axis=1, keepdims=True)
        converged = bool(np.abs(beliefs - before).max() < 1e-8)
        if converged:
            break
        inwards = {key: product[key[1]] / message for key, message in messages.items()}
        for f, v in messages:
            outwards = potentials[f]
            for axis, other in reversed(list(enumerate(field.graph.scopes[f]))):
                if other != v:
                    outwards = np.tensordot(outwards, inwards[f, other], axes=(axis, 0))
            messages[f, v] = outwards / outwards.sum()
    return beliefs, converged


class Sampler:
    """Chains of one method: "tree"; "gibbs_rb", trees of one variable; "gibbs", which counts states."""

    def __init__(
        self, field: pmrf.fields.FactorGraphField, method: str, rng: np.random.Generator
    ) -> None:
        self.rng, self.counts = rng, method == "gibbs"
        graph = field.graph
        single = [[j] for j in range(graph.n_variables)]
        trees = tree_partition(graph, rng=rng) if method == "tree" else single
        self.n_trees = len(trees)
        self.simulator = FactorTreeSimulator(graph, [trees])
        self.tables = factor_tables(field)
        self.x = rng.integers(2, size=(N_CHAINS, graph.n_variables)).astype(np.int8)
        self.shape = (N_CHAINS, graph.n_variables, 2)
        self.factor_sum = np.zeros((N_CHAINS, len(self.tables)))

    def advance(self, n_sweeps: int, total: np.ndarray) -> None:
        """Sweep and add up."""
        if not self.counts:
            self.simulator.add_marginals(self.x, self.tables, n_sweeps, self.rng, total, self.factor_sum)
            return
        for _ in range(n_sweeps):
            self.simulator.sweep(self.x, self.tables, 1, self.rng)
            total[..., 0] += 1 - self.x
            total[..., 1] += self.x


class Results(equal_time.Results):
    """Errors of the runs of one experiment."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment, PROPAGATION)
        self.exact_seconds: list[float] = []
        self.n_trees: list[int] = []

    @property
    def title(self) -> str:
        """Title and leak."""
        return f"{self.experiment.title} ({self.experiment.leak})"

    def others(self) -> dict[str, str]:
        """Further columns of the table of who wins."""
        return {
            "ms of the junction tree": f"{1000 * np.median(self.exact_seconds):.2g}",
            "trees of a partition": f"{np.mean(self.n_trees):.1f}",
        }

    def add(
        self, field: pmrf.fields.FactorGraphField, times: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Make one run."""
        start = time.process_time()
        truth = np.array(field.marginals().variables)
        self.exact_seconds.append(time.process_time() - start)
        for name, damping in DAMPING.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "belief propagation did not converge")
                answer = field.marginals("bp", damping=damping)
            if name == "bp":
                self.seconds["bp"].append(time.process_time() - start)
            self.errors[name].append(distance(np.array(answer.variables), truth))
            self.converged[name].append(answer.convergence.converged)
        estimate, converged = parallel_propagation(field)
        self.errors["bp_parallel"].append(distance(estimate, truth))
        self.converged["bp_parallel"].append(converged)
        for name in SAMPLERS:
            sampler = Sampler(field, name, rng)
            means, n_sweeps = run(sampler.advance, sampler.shape, times)
            self.errors[name].append([distance(mean.mean(axis=0), truth) for mean in means])
            self.sweeps[name].append(n_sweeps)
        self.n_trees.append(sampler.n_trees)


def compare(
    experiment: Experiment, size: tuple[int, int], runs: int, times: np.ndarray, seed: int
) -> Results:
    """Make `runs` runs on networks of `size` diseases and findings."""
    # samplers run by the clock take unequal amounts of random numbers: the networks do not depend on them
    rng, chains = np.random.default_rng(seed).spawn(2)
    results = Results(experiment)
    for _ in range(runs):
        results.add(network(*size, experiment.leak, rng), times, chains)
    return results


def main(argv: list[str] | None = None) -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="CPU time of each run of a sampler")
    parser.add_argument("--diseases", type=int, default=40)
    parser.add_argument("--findings", type=int, default=14)
    parser.add_argument("--seed", type=int, default=2005)
    arguments = parse_sizes(parser, argv, runs=15)
    for name in ("runs", "seconds", "diseases", "findings"):
        if not getattr(arguments, name) > 0:
            parser.error(f"--{name} must be positive, not {getattr(arguments, name)}")
    compare(EXPERIMENTS[1], (8, 3), 1, checkpoints(0.02, 2), arguments.seed)  # compiles
    size = arguments.diseases, arguments.findings
    times = checkpoints(arguments.seconds, N_TIMES)
    start = time.perf_counter()
    all_results = [compare(e, size, arguments.runs, times, arguments.seed) for e in EXPERIMENTS]
    text = (
        f"Error of the marginals after {arguments.seconds:g} s of CPU time, median (least to greatest) of "
        f"{arguments.runs} networks of {size[0]} diseases and {size[1]} positive findings; truth by the "
        "junction tree. Error: total variation distance of the marginals of a disease, mean over "
        f"diseases. {N_CHAINS} chains start at uniform states; estimates are of the second half of a run. "
        "The thesis does not give its leaks. Findings without links or with more than "
        f"{MOST_PARENTS} are drawn again.\n\n"
        f"{tables(all_results)}\n"
        "Gibbs sampling estimates by counts, as in the thesis, or, Rao-Blackwellised, by its conditional "
        "probabilities: by the code of tree sampling with trees of one variable. Belief propagation "
        "passes messages along an order of the factors and back, undamped in the first column; beside it all "
        f"messages at once, {PARALLEL_ITERATIONS} times. Networks are the same for all leaks.\n\n"
        "![Errors of marginals](../figures/rivasseau_noisy_or.png)\n\n"
        f"Errors below {FLOOR:g} are drawn there. Made by "
        f"`examples/rivasseau_2005/noisy_or.py`, seed {arguments.seed}. Machine: {machine()}.\n"
    )
    write_fragment(text, arguments.output, "noisy_or.md")
    figure = draw_figure(all_results, [times] * len(all_results), ("bp", "bp_parallel"))
    save_figure(figure, arguments.output, "rivasseau_noisy_or.png")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
