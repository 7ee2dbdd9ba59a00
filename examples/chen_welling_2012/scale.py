"""Structure learning at the sizes of Chen & Welling (2012): what a step of `EdgeGibbs` costs.

All 4,950 candidate edges of a 10 x 10 lattice and all 5,778 of the 108-pixel digit patches, with 100 and 1000
training cases, under the pseudo-likelihood and weighted particles; of the lattice also under the Monte Carlo
likelihood, where its sample covers the posterior. Run from the repository root:

    python examples/chen_welling_2012/scale.py --data mnist_patch.npz
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pymc_mrf as pmrf
from examples._report import machine, table, write_fragment
from examples.chen_welling_2012 import experiment as ex
from examples.chen_welling_2012 import mnist, truths

ENGINES = ["pseudo", "particles", "monte-carlo"]
FEWER = {"monte-carlo": 10}  # a tenth of the steps, each of which takes seconds


def measure(x: np.ndarray, graph, likelihood: str, steps: int, rng) -> tuple[ex.Draws, float, float]:
    """Chain of `steps` kept draws after as many of tuning; seconds of a step, and to the first."""
    ends: list[float] = []
    begin = time.process_time()
    with warnings.catch_warnings():
        told = (
            ".*(never changes at|always|is a sum of|some .* of processor time)"  # of pixels, of the time
        )
        warnings.filterwarnings("ignore", message=told, category=UserWarning)
        draws = ex.sample_posterior(
            x,
            graph,
            likelihood,
            steps,
            steps,
            rng,
            callback=lambda **_: ends.append(time.process_time()),
        )
    return draws, (ends[-1] - ends[0]) / (len(ends) - 1), ends[0] - begin


def main(argv: list[str] | None = None) -> None:
    """Run the experiment."""
    parser = ex.parser(__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=mnist.STAND_IN, help="see mnist.py")
    parser.add_argument("--sizes", type=int, nargs="+", help="training sample sizes")
    parser.add_argument("--side", type=int, default=10, help="of the lattice")
    arguments = ex.parse(parser, argv)
    steps = ex.check_draws(arguments.draws or ex.choose(arguments, 20, 30, 500))
    if arguments.side < 3:
        raise SystemExit(f"--side must be at least 3, not {arguments.side}")
    sizes = arguments.sizes or ex.choose(arguments, [100], [100, 1000], [100, 1000])
    digits = mnist.load(arguments.data)
    if min(sizes) < 10 or max(sizes) > len(digits):
        raise SystemExit(f"--sizes must be between 10 and {len(digits)}, not {sizes}")
    start = time.perf_counter()
    rng = np.random.default_rng(arguments.seed)
    truth = truths.lattice_truth(arguments.side, rng)
    name = "digits (stand-in)" if arguments.data == mnist.STAND_IN else "MNIST patch"
    data = {
        f"{arguments.side} x {arguments.side} lattice": (truth.sample(max(sizes), rng), truth),
        name: (digits, None),
    }
    small = truths.block_truth(rng)
    for likelihood in ENGINES:  # everything compiles
        ex.sample_posterior(small.sample(50, rng), small.candidates, likelihood, 2, 2, rng)
    rows = []
    for name, (x, known) in data.items():
        graph = pmrf.graphs.complete(x.shape[1])
        for n in sizes:
            for likelihood in ENGINES if known is not None else ENGINES[:2]:
                try:
                    draws, step, set_up = measure(
                        x[:n], graph, likelihood, steps // FEWER.get(likelihood, 1), rng
                    )
                except ValueError as error:
                    if "needs a sample that covers the posterior" not in str(error):
                        raise
                    rows.append([name, f"{graph.n_edges:,}", n, likelihood, *["refused"] * 6])
                    continue
                present = int(np.median((draws.weight != 0).sum(axis=1)))
                cells = [f"{1000 * step:.1f}", f"{set_up:.1f}", f"{1000 * step / 60:.1f}", present]
                if known is not None:
                    found = ex.structure((draws.inclusion > 0.5).astype(float), known)
                    cells += [f"{value:.2f}" for value in found[:2]]
                else:
                    cells += ["", ""]
                rows.append([name, f"{graph.n_edges:,}", n, likelihood, *cells])
    header = [
        "data", "candidates", "n", "likelihood", "ms per step", "set-up, s", "minutes for 1,000 steps",
        "edges present (median)", "precision", "recall",
    ]  # fmt: skip
    text = "\n".join([
        f"Processor time of one chain (p0 and the slab's variance random), of {steps} steps of tuning and "
        f"{steps} kept, a tenth of it under the Monte Carlo likelihood, which refuses data that no sample "
        "covers; a step updates every candidate edge and all values jointly; set-up includes "
        f"the estimate that the chain starts from. Seed {arguments.seed}.\n",
        table(header, rows),
        f"{machine()}\n",
    ])  # fmt: skip
    write_fragment(text, arguments.output, "chen_welling_scale.md")
    print(f"Done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
