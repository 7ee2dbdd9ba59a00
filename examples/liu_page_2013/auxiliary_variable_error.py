"""How far `AuxiliaryVariableMH` is from the exact posterior on a five-edge loopy field, by its options.

Same field and data as stripped_beta_error.py. Writes docs/_results/auxiliary_variable_error.md. Run from
the repository root:

    python examples/liu_page_2013/auxiliary_variable_error.py
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pymc as pm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pymc_mrf as pmrf
from examples._report import machine, table
from examples.liu_page_2013.stripped_beta_error import EDGES, THETA, errors
from pymc_mrf.steps.auxiliary_variable import AuxiliaryVariableMH
from tests.reference.grouped_posterior import grouped_posterior

SIGMA = {60: 0.1, 200: 0.06}  # about one posterior standard deviation
SWEEPS = (1, 2, 5, 10, 20)


def step(**options):
    """Return a step with these options and 20 random-walk steps of the values."""
    return partial(AuxiliaryVariableMH, n_value_steps=20, **options)


def steps(sigma: float) -> dict:
    """Return the variants that are compared."""
    return {
        "ExactGibbs": pmrf.ExactGibbs,
        "exchange, exact draws": step(auxiliary="exchange", draws="exact", sigma=sigma),
        "Møller, exact draws": step(auxiliary="moller", draws="exact", sigma=sigma),
        "the paper's: Møller, restarts, sigma 0.001": step(
            auxiliary="moller", draws="exact", restart=True
        ),
        **{
            f"exchange, {k} sweep{'s' if k > 1 else ''} from the data": step(
                auxiliary="exchange", draws="gibbs", n_sweeps=k, sigma=sigma
            )
            for k in SWEEPS
        },
    }


def main(arguments=None):
    """Compare all variants with the exact posterior and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 200])
    parser.add_argument("--seed", type=int, default=2013)
    parser.add_argument("--output", type=Path, default=Path("docs/_results/auxiliary_variable_error.md"))
    options = parser.parse_args(arguments)

    graph = pmrf.PairwiseGraph(range(4), EDGES)
    rows = []
    for n in options.sizes:
        variants = steps(SIGMA.get(n, 0.1))
        found = {name: [] for name in variants}
        for replicate in range(options.replicates):
            seed = options.seed + 1000 * n + replicate
            x = pm.draw(pmrf.AgreementMRF.dist(THETA, graph=graph, size=(n,)), random_seed=seed)
            exact = grouped_posterior(x, EDGES, 1.0)
            for name, variant in variants.items():
                found[name].append(errors(x, graph, exact, variant, options.draws, seed))
        for name in variants:
            mean = np.mean(found[name], axis=0)
            worst = np.max(np.abs(found[name]), axis=0)
            cells = [f"{m:.3f} ({w:.3f})" for m, w in zip(mean[:3], worst[:3], strict=True)]
            rows.append([n, name, *cells, f"{mean[3]:+.3f} ({worst[3]:.3f})"])
    header = ["n", "sampler", "P(groups)", "E[theta]", "P(tie)", "E[groups]"]
    lines = [
        f"Largest absolute error over the entries of each quantity (for E[groups] the signed error): mean "
        f"over {options.replicates} data sets and, in brackets, the worst. {2 * options.draws} draws each; "
        "the errors of ExactGibbs are its Monte-Carlo error; those of slower mixing samplers include more. "
        f"Square with a diagonal, theta = {', '.join(map(str, THETA))}; concentration 1, base Uniform(0, 1).",
        "",
        table(header, rows),
        "",
        machine(),
        "",
    ]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n".join(lines), encoding="utf-8")
    return rows


if __name__ == "__main__":
    main()
