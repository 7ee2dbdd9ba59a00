"""Table 2 of Liu & Page (2013): train on one session of the US Senate, test on the other.

Writes the table, beside the paper's numbers, to docs/_results/senate.md. Run from the repository root:

    python examples/liu_page_2013/senate.py
"""

import argparse
import time

import arviz as az
import pymc as pm

import pymc_mrf as pmrf
from examples._report import SILENT, machine, parse_sizes, table, write_fragment
from pymc_mrf.likelihood.exact.exact_edges import ExactGroups

STEPS = 3000
BURN_IN = 500
METHODS = {
    "Gibbs_SBA": ("particles", pmrf.papers.StrippedBetaGibbs),
    "exact Gibbs": ("exact", pmrf.steps.GroupGibbs),
}
# train session: LPL train (MLE, SBA), LPL test (MLE, SBA), groups, minutes
PAPER = {
    1: ((-10716.75, -10721.34), (-9022.01, -8989.87), 7.89, 204),
    2: ((-8306.17, -8322.34), (-11490.47, -11446.45), 7.29, 183),
}


def sample(train, likelihood, step, steps, burn_in, seed):
    """Posterior of the grouped model from one chain after its burn-in, and the seconds that both took."""
    start = time.perf_counter()
    with pm.Model(coords=pmrf.coords(train.graph)):
        theta = pmrf.DirichletProcess("theta", 1.0, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=train.graph, observed=train.x, likelihood=likelihood)
        idata = pm.sample(
            steps - burn_in,
            tune=burn_in,
            chains=1,
            step=step([theta]),
            random_seed=seed,
            **SILENT,
        )
    return idata, time.perf_counter() - start


def experiment(session, steps, burn_in, seed):
    """Rows of the table for training on one session."""
    train = pmrf.datasets.load_senate109(session=session)
    test = pmrf.datasets.load_senate109(session=3 - session)

    def scores(theta):
        return [
            float(pmrf.analysis.log_pseudo_likelihood(v.x, train.graph, theta)) for v in (train, test)
        ]

    start = time.perf_counter()
    mle = pmrf.estimation.fit(train.x, train.graph, method="pcd", random_seed=seed)
    mle_scores = scores(mle.parameter)
    label = f"train session {session}, test session {3 - session}"
    rows = [
        [
            label,
            "PCD-MLE",
            *(f"{s:.1f}" for s in mle_scores),
            "",
            "",
            f"{time.perf_counter() - start:.1f} s",
        ]
    ]
    for name, (likelihood, step) in METHODS.items():
        idata, seconds = sample(train, likelihood, step, steps, burn_in, seed)
        groups = pmrf.n_groups(idata, "theta").values.astype(float)
        mean = idata.posterior["theta"].mean(("chain", "draw"))
        here = scores(mean)
        gain = f"{here[1] - mle_scores[1]:+.1f}"
        number = f"{groups.mean():.2f} (ESS {float(az.ess(groups)):.0f})"
        rows.append([label, name, *(f"{s:.1f}" for s in here), gain, number, f"{seconds:.1f} s"])
    train_lpl, test_lpl, n_groups, minutes = PAPER[session]
    rows.append(
        [label, "PCD-MLE (paper)", f"{train_lpl[0]:.1f}", f"{test_lpl[0]:.1f}", "", "", "not given"]
    )
    gain = f"{test_lpl[1] - test_lpl[0]:+.1f}"
    rows.append(
        [
            label,
            "Gibbs_SBA (paper)",
            f"{train_lpl[1]:.1f}",
            f"{test_lpl[1]:.1f}",
            gain,
            f"{n_groups}",
            f"{minutes} min",
        ]
    )
    return rows


def main(arguments=None):
    """Run both directions and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--burn-in", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parse_sizes(parser, arguments, steps=STEPS, burn_in=BURN_IN)

    votes = pmrf.datasets.load_senate109(session=1)
    # compiled before the clock starts: a few steps of either sampler
    for likelihood, step in METHODS.values():
        sample(votes, likelihood, step, 5, 2, options.seed)
    rows = [
        row
        for session in (1, 2)
        for row in experiment(session, options.steps, options.burn_in, options.seed)
    ]
    header = ["experiment", "method", "LPL train", "LPL test", "gain over MLE", "groups", "run time"]
    lines = [
        f"{options.steps} Gibbs steps of one chain, of which the first {options.burn_in} tune the step and "
        "are left out of the posterior mean; concentration 1, base Uniform(0, 1); run times without "
        "compilation. LPL is the log pseudo-likelihood, of votes coded 0 and 1. The graph has 279 edges like "
        "the paper's but is not the paper's, which is known from a figure only, so that the levels of the "
        "LPL differ; the comparison between methods is what carries over. The junction tree of this graph is "
        "narrow enough for the exact sampler, which the paper could not run; each of its steps has "
        f"{ExactGroups.n_rounds[0]} rounds of moves of labels and values.",
        "",
        table(header, rows),
        "",
        machine(),
        "",
    ]
    write_fragment("\n".join(lines), options.output, "senate.md")
    return rows


if __name__ == "__main__":
    main()
