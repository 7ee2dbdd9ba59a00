"""Group the edge parameters of the US Senate's Markov random field: the package in one script.

Samples the model of Liu & Page (2013, sec. 5) on the roll calls of 2005, prints what ArviZ says of it and
how well it predicts the votes of 2006, and draws the groups. Run by ``make demo``.
"""

import argparse
import os
import time
from pathlib import Path

import arviz as az
import matplotlib
import numpy as np
import pymc as pm

import pymc_mrf as pmrf

PARTY_COLORS = {"R": "#c23b22", "D": "#2b6cb0", "I": "#2e8b57"}


def main(argv: list[str] | None = None) -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--seed", type=int, default=109)
    parser.add_argument("--output", type=Path, default=Path("output"))
    arguments = parser.parse_args(argv)
    matplotlib.use("Agg")
    start = time.perf_counter()

    train = pmrf.datasets.load_senate109(session=1)
    test = pmrf.datasets.load_senate109(session=2)
    print(f"{len(train.x)} roll calls of 2005, {len(train.names)} senators, {train.graph}")

    with pm.Model(coords=pmrf.coords(train.graph)):
        alpha = pm.Gamma("alpha", 2, 2)
        theta = pmrf.DirichletProcess("theta", alpha, pm.Uniform.dist(0, 1), dims="edge")
        pmrf.AgreementMRF("x", theta, graph=train.graph, observed=train.x)
        idata = pm.sample(
            draws=arguments.draws,
            tune=arguments.tune,
            chains=arguments.chains,
            cores=min(arguments.chains, os.cpu_count() or 1),
            random_seed=arguments.seed,
        )

    idata.posterior["n_groups"] = pmrf.n_groups(idata, "theta")
    print("\nConcentration and number of groups:")
    print(az.summary(idata, var_names=["alpha", "n_groups"], round_to=3).to_string())
    r_hat, ess = (f(idata, var_names=["theta"])["theta"].values for f in (az.rhat, az.ess))
    print(
        f"\nThe {len(ess)} edges: R-hat at most {r_hat.max():.3f}, for {(r_hat < 1.01).mean():.1%} below 1.01"
    )
    print(f"  effective draws at least {ess.min():.0f}, median {np.median(ess):.0f}")
    for k in np.flatnonzero(r_hat >= 1.01):
        print(f"  R-hat {r_hat[k]:.3f}: {idata.posterior.edge.values[k]}")

    mle = pmrf.estimation.fit(train.x, train.graph, method="pcd", random_seed=arguments.seed)
    bayes = idata.posterior["theta"].mean(("chain", "draw"))
    print("\nLog pseudo-likelihood            train (2005)   test (2006)")
    for label, estimate in (("maximum likelihood (PCD)", mle.parameter), ("posterior mean", bayes)):
        scores = [
            float(pmrf.analysis.log_pseudo_likelihood(votes.x, train.graph, estimate))
            for votes in (train, test)
        ]
        print(f"  {label:28s} {scores[0]:14.1f} {scores[1]:13.1f}")

    arguments.output.mkdir(parents=True, exist_ok=True)
    party = dict(zip(train.names, train.party, strict=True))
    network = pmrf.plot_groups(
        idata, "theta", graph=train.graph, node_category=party, category_colors=PARTY_COLORS
    )
    pictures = {
        "senate_groups.png": network,
        "senate_co_clustering.png": pmrf.plot_co_clustering(idata, "theta"),
    }
    print(f"\nDone in {time.perf_counter() - start:.0f} s. Pictures:")
    for name, picture in pictures.items():
        path = arguments.output / name
        picture.savefig(path, dpi=110)
        print(f"  {path}")


if __name__ == "__main__":
    main()
