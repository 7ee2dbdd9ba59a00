"""Effective draws per CPU second in structure learning: `pm.sample()` and the sampler of the paper.

Two chains, warm-up included, effective draws of both divided by the CPU seconds of both, on one core;
compilation apart. Of the weights that were ever present, the median and the minimum. `bgms.py` has the
comparison with bgms, under its priors.

As a script, it writes docs/_results/structure_learning_speed.md. Run from the repository root:
python -m tests.benchmarks.structure_learning
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from examples._report import machine, table, two_digits, write_fragment
from pymc_mrf.fields.families import ISING
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.papers.persistent_langevin import PersistentLangevin
from pymc_mrf.papers.reversible_jump import ReversibleJump
from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
from pymc_mrf.steps.hyper.conjugate_hyperparameters import ConjugateHyperparameters

QUIET = {
    "chains": 2,
    "cores": 1,
    "progressbar": False,
    "quiet": True,
    "compute_convergence_checks": False,
}

DOUBLINGS = ((100, 500, 1500, 500), (1000, 2000, 600, 150))
"""Rows, particles to be doubled, draws, and tuning of 100 variables."""


class Rate(NamedTuple):
    """Effective draws per CPU second, and what they were computed from.

    Attributes
    ----------
    median, least : float
        Over the weights that were ever present, of ranks: where two variables are never 1 together, the
        posterior of a weight with a Cauchy slab has no mean.
    n_present : int
        Weights that were ever present.
    mean_edges : float
        Present edges, on average.
    mixed : float
        Share of those weights with R-hat below 1.01.
    poor : float
        Share with R-hat above 1.05.
    seconds : float
        CPU time of both chains.
    """

    median: float
    least: float
    n_present: int
    mean_edges: float
    mixed: float
    poor: float
    seconds: float


def simulated(graph: PairwiseGraph, coupling: np.ndarray, field: np.ndarray, n: int, rng) -> np.ndarray:
    """Rows (n, d) in {0, 1} of an Ising field."""
    model = PairwiseField(graph, ISING.edge_tables(coupling), ISING.node_tables(field))
    return np.asarray(model.sample(n, method="exact", rng=rng))


def block_data(n: int = 100, seed: int = 1) -> np.ndarray:
    """Chen & Welling (2012, sec. 6.1): 12 nodes in three groups of four, strong positive edges within."""
    rng = np.random.default_rng(seed)
    graph = pmrf.graphs.block_model([4, 4, 4], 0.8, 0.1, rng=rng)
    coupling = rng.normal(0, 0.5, graph.n_edges)
    within = graph.edges[:, 0] // 4 == graph.edges[:, 1] // 4
    return simulated(graph, np.where(within, np.abs(coupling), coupling), rng.normal(0, 0.1, 12), n, rng)


def item_data(n: int = 355, seed: int = 2) -> np.ndarray:
    """Eighteen positively linked items of different popularity, as in a questionnaire."""
    rng = np.random.default_rng(seed)
    graph = pmrf.graphs.random(18, 0.25, rng=rng)
    return simulated(graph, rng.gamma(4, 0.08, graph.n_edges), rng.normal(-0.2, 0.4, 18), n, rng)


def lattice_data(n: int = 100, seed: int = 3) -> np.ndarray:
    """Chen & Welling (2012, sec. 6.1): 10 x 10 lattice, 180 edges."""
    rng = np.random.default_rng(seed)
    graph = pmrf.graphs.grid(10, 10)
    return simulated(graph, rng.normal(0, 0.5, graph.n_edges), rng.normal(0, 0.1, 100), n, rng)


def paper_model(x: np.ndarray, likelihood: str) -> pm.Model:
    """Priors of Chen & Welling (2012, sec. 6.2): a = b = c = d = 5, sigma_b = 10."""
    graph = pmrf.graphs.complete(x.shape[1])
    with pm.Model() as model:
        p = pm.Beta("p", 5, 5)
        tau = pm.Gamma("tau", 5, 5)
        w = pmrf.SpikeAndSlab("w", p, pm.Normal.dist(0, tau=tau), shape=graph.n_edges)
        b = pm.Normal("b", 0, 10, shape=graph.n_nodes)
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
    return model


def bgms_model(x: np.ndarray, likelihood: str, p: float = 0.5) -> pm.Model:
    """The default priors of bgms, but for normal biases of the same variance."""
    graph = pmrf.graphs.complete(x.shape[1])
    with pm.Model() as model:
        w = pmrf.SpikeAndSlab("w", p, pm.Cauchy.dist(0, 2), shape=graph.n_edges)
        b = pm.Normal("b", 0, np.pi, shape=graph.n_nodes)
        pmrf.BoltzmannMachine("x", w, b, graph=graph, observed=x, likelihood=likelihood)
    return model


def timed_draws(model: pm.Model, draws: int, tune: int, seed: int = 1, **options) -> tuple[Any, float]:
    """Two chains by the steps that `pm.sample` chooses, and their CPU seconds, without compilation.

    With options for `EdgeGibbs`, by that.
    """
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws

        def sample(draws, tune):
            step = [EdgeGibbs([model["w"], model["b"]], **options)] if options else None
            return pm.sample(draws, tune=tune, step=step, random_seed=seed, **QUIET)

        sample(1, 1)  # compiles
        start = time.process_time()
        idata = sample(draws, tune)
        return idata, time.process_time() - start


def sampled(model: pm.Model, draws: int, tune: int, **options) -> tuple[Rate, Any]:
    """What `timed_draws` gives, counted; the draws as well."""
    idata, seconds = timed_draws(model, draws, tune, **options)
    w = idata.posterior["w"].values  # (chain, draw, r)
    moved = np.flatnonzero((w != 0).any(axis=(0, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ess = az.ess(w[:, :, moved], method="bulk")
        rhat = az.rhat(w[:, :, moved])
    rate = Rate(
        float(np.nanmedian(ess)) / seconds,
        float(np.nanmin(ess)) / seconds,
        len(moved),
        float((w != 0).sum(axis=-1).mean()),
        float(np.mean(rhat < 1.01)),
        float(np.mean(rhat > 1.05)),
        seconds,
    )
    return rate, idata


def paper_steps(model: pm.Model) -> list:
    """Algorithm 1 of Chen & Welling (2012) at the settings of sec. 6.2."""
    w, b = model["w"], model["b"]
    return [
        ConjugateHyperparameters([model["p"], model["tau"]]),
        PersistentLangevin([w, b]),
        ReversibleJump([w]),
    ]


def of_default_steps(large: bool = True) -> dict[str, Rate]:
    """All data sets and our rates."""
    rates: dict[str, Rate] = {}
    for x, likelihood in (
        (block_data(), "exact"),
        (block_data(), "pseudo"),
        (item_data(), "exact"),
        (item_data(), "pseudo"),
    ):
        n, d = x.shape
        rates[f"{d} variables, n = {n}, {likelihood}"] = sampled(bgms_model(x, likelihood), 2000, 500)[0]
    x = block_data()
    for likelihood in ("exact", "pseudo"):
        what = f"the same 12 variables, priors of the paper, {likelihood}"
        rates[what] = sampled(paper_model(x, likelihood), 2000, 500)[0]
    if not large:
        return rates
    senate = np.asarray(pmrf.datasets.load_senate109(session=1).x)
    for x in (lattice_data(), senate):
        n, d = x.shape
        for p in (0.5, 0.03):
            what = f"{d} variables, n = {n}, p = {p}, pseudo"
            rates[what] = sampled(bgms_model(x, "pseudo", p), 2000, 500)[0]
    rates["100 variables, n = 1000, p = 0.03, pseudo"] = sampled(
        bgms_model(lattice_data(1000), "pseudo", 0.03), 2000, 500
    )[0]
    return rates


class Doubling(NamedTuple):
    """What twice as many particles change.

    Attributes
    ----------
    rates : dict
        As of `of_default_steps`.
    change : float
        Differences of the inclusion probabilities of the edges in doubt (between 0.05 and 0.95), in their
        Monte-Carlo standard errors, root mean square: 1 if there is none.
    largest : float
        The largest of these differences, as it is.
    n_doubtful : int
    """

    rates: dict[str, Rate]
    change: float
    largest: float
    n_doubtful: int


def with_twice_the_particles(n: int, m: int, draws: int, tune: int) -> Doubling:
    """100 variables, n rows, m and 2 m particles."""
    rates: dict[str, Rate] = {}
    present = []
    for size in (m, 2 * m):
        model = bgms_model(lattice_data(n), "particles", 0.03)
        rate, idata = sampled(model, draws, tune, n_particles=size)
        rates[f"100 variables, n = {n}, p = 0.03, {size} particles"] = rate
        present.append((idata.posterior["w"].values != 0).astype(float))
    inclusion = [chains.mean(axis=(0, 1)) for chains in present]
    doubtful = np.abs(np.mean(inclusion, axis=0) - 0.5) < 0.45
    errors = [az.mcse(chains[:, :, doubtful], method="mean") for chains in present]
    gaps = (inclusion[1] - inclusion[0])[doubtful]
    change = float(np.sqrt(np.mean(gaps**2 / (errors[0] ** 2 + errors[1] ** 2))))
    return Doubling(rates, change, float(np.abs(gaps).max()), int(doubtful.sum()))


class PaperRate(NamedTuple):
    """The paper's sampler beside the default one, in effective draws per CPU second.

    Attributes
    ----------
    default, paper : Rate, float
        Both of the median weight.
    ratio : float
    iterations_per_second : float
        Of the paper's sampler, CPU time.
    """

    default: Rate
    paper: float
    ratio: float
    iterations_per_second: float


def against_the_paper(n_iterations: int = 20_000) -> PaperRate:
    """The default and the paper's sampler on the block model of 12 nodes, n = 100.

    The paper makes ten million iterations: autocorrelations of a run as short as this say nothing. So its
    chains start at draws of the default sampler, which knows the posterior variance v of each weight; the
    mean squared displacement after k iterations is 2 v (1 - rho_k), and an autocorrelation that decays as
    rho_k^(t / k) has the time 2 k / -log(rho_k). Slower parts of the decay make the true time longer.
    """
    model = paper_model(block_data(), "exact")
    default, idata = sampled(model, 2000, 500)
    w = idata.posterior["w"].values  # (chain, draw, r)
    variance = w.var(axis=(0, 1))
    starts = [
        {name: idata.posterior[name].values[chain, -1] for name in ("p", "tau", "w", "b")}
        for chain in (0, 1)
    ]
    paper = paper_model(block_data(), "particles")
    with paper, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {**QUIET, "tune": 0, "initvals": starts, "random_seed": 1}
        pm.sample(2, step=paper_steps(paper), **options)  # compiles
        start = time.process_time()
        path = pm.sample(n_iterations, step=paper_steps(paper), **options).posterior["w"].values
        seconds = time.process_time() - start
    k = n_iterations // 2
    displacement = ((path[:, k:] - path[:, :-k]) ** 2).mean(axis=(0, 1))
    rho = np.clip(1.0 - displacement / (2.0 * variance), 0.05, 1.0 - 1e-9)
    rates = 2 * n_iterations / seconds / (2.0 * k / -np.log(rho))
    median = float(np.median(rates))
    return PaperRate(default, median, default.median / median, 2 * n_iterations / seconds)


HEADER = [
    "data, likelihood",
    "edges",
    "median",
    "minimum",
    "R-hat < 1.01",
    "R-hat > 1.05",
    "CPU s",
]


def row(what: str, rate: Rate) -> list[str]:
    """One line of the table."""
    return [
        what,
        f"{rate.mean_edges:.0f}",
        f"{rate.median:.3g}",
        f"{rate.least:.3g}",
        f"{rate.mixed:.1%}",
        f"{rate.poor:.1%}",
        f"{rate.seconds:.0f}",
    ]


def main() -> None:
    """Measure everything and write the fragment of the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    parser.add_argument("--small", action="store_true", help="only 12 and 18 variables")
    arguments = parser.parse_args()
    rates, doublings = of_default_steps(large=not arguments.small), []
    if not arguments.small:
        for n, m, draws, tune in DOUBLINGS:
            doubling = with_twice_the_particles(n, m, draws, tune)
            rates |= doubling.rates
            doublings.append(
                f"at n = {n} {doubling.change:.2f} over {doubling.n_doubtful} edges (the largest "
                f"difference is {doubling.largest:.2f})"
            )
    lines = table(HEADER, [row(what, rate) for what, rate in rates.items()])
    paper = against_the_paper()
    notes = (
        "Effective draws (ArviZ, bulk) per CPU second of one core, warm-up included, compilation not; two "
        "chains of 2000 draws after 500; with particles 1500 after 500 at n = 100, 600 after 150 at n = "
        "1000. "
        "Median and minimum over the weights that were ever present in a draw; edges: present on average. "
        "Priors: Cauchy of scale 2 on the weight with inclusion probability 1/2, or another p, and normal "
        "biases of variance π²; or those of the paper (p and the slab's precision random).\n\n"
        "The sampler of Chen & Welling (2012) at their settings, 12 variables, n = 100: "
        f"{paper.iterations_per_second:,.0f} iterations and {paper.paper:.2g} effective draws of the "
        f"median weight per CPU second; the default: {paper.default.median:.0f}, about "
        f"{two_digits(paper.ratio)} times as many. The paper's chains started at draws of the default, and "
        "their autocorrelation was taken from their mean squared displacement, which overstates their "
        "effective draws.\n"
    )
    if doublings:
        notes += (
            "\nTwice as many particles: inclusion probabilities of the edges in doubt, between 0.05 and "
            "0.95, differ by so many Monte-Carlo standard errors, root mean square, where 1 is what equal "
            f"posteriors give: {'; '.join(doublings)}.\n"
        )
    text = lines + "\n" + notes + f"\nMachine: {machine()}.\n"
    write_fragment(text, arguments.output, "structure_learning_speed.md")


if __name__ == "__main__":
    main()
