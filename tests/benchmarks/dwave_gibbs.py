"""Gibbs sampling of an Ising field at a fixed temperature by dwave-samplers, timed; run as a script.

Usage and files as for ``thrml_gibbs.py``.
"""

import os
import sys
import time
from importlib.metadata import version

import numpy as np


def main(source: str, target: str, repeats: int, clock) -> None:
    """Measure seconds per sweep of all chains, as a difference of two runs, and save edge moments."""
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    with np.load(source) as field:
        edges, coupling, bias, n_chains = (field[k] for k in ("edges", "coupling", "field", "n_chains"))
    # p(s) is proportional to exp(-beta E)
    bqm = dimod.BinaryQuadraticModel.from_ising(
        dict(enumerate(-bias)), {(u, v): -j for (u, v), j in zip(edges.tolist(), coupling, strict=True)}
    )
    sampler = SimulatedAnnealingSampler()

    def run(n_sweeps):
        return sampler.sample(
            bqm,
            num_reads=int(n_chains),
            num_sweeps_per_beta=n_sweeps,
            beta_schedule_type="custom",
            beta_schedule=[1.0],
            proposal_acceptance_criteria="Gibbs",
            seed=1,
        )

    def seconds(n_sweeps):
        times = []
        for _ in range(repeats):
            begin = clock()
            run(n_sweeps)
            times.append(clock() - begin)
        return min(times)

    answer = run(101)
    columns = [list(answer.variables).index(i) for i in range(len(bias))]
    s = answer.record.sample[:, columns].astype(float)  # (n_chains, d)
    short, long = 5, 25
    per_sweep = (seconds(long) - seconds(short)) / (long - short)
    moments = (s[:, edges[:, 0]] * s[:, edges[:, 1]]).mean(axis=0)
    np.savez(target, per_sweep=per_sweep, moments=moments, version=version("dwave-samplers"))


if __name__ == "__main__":
    one_core = len(sys.argv) > 4
    if one_core:
        os.sched_setaffinity(0, {int(sys.argv[4])})
    main(
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        time.process_time if one_core else time.perf_counter,
    )
