"""Block Gibbs sampling of an Ising field by thrml, timed; run as a script in a process of its own.

Usage: ``python thrml_gibbs.py FIELD.npz ANSWER.npz REPEATS [CORE]``. The field is given by `edges` (r, 2),
`coupling` (r,), `field` (d,), the colour classes `order` (d,) and `color_ptr`, and `n_chains`. With CORE,
the process is bound to that core before JAX starts its threads, and CPU time is measured; without, wall time.
"""

import os
import sys
import time
from importlib.metadata import version

import numpy as np


def main(source: str, target: str, repeats: int, clock) -> None:
    """Measure seconds per sweep of all chains, as a difference of two runs, and save edge moments."""
    import jax
    import jax.numpy as jnp
    from thrml import Block, SamplingSchedule, SpinNode, sample_states
    from thrml.models import IsingEBM, IsingSamplingProgram, hinton_init

    with np.load(source) as field:
        edges, coupling, bias, order, color_ptr, n_chains = (
            field[k] for k in ("edges", "coupling", "field", "order", "color_ptr", "n_chains")
        )
    nodes = [SpinNode() for _ in bias]
    pairs = [(nodes[u], nodes[v]) for u, v in edges.tolist()]
    ebm = IsingEBM(nodes, pairs, jnp.array(bias), jnp.array(coupling), jnp.array(1.0))
    blocks = [
        Block([nodes[i] for i in order[color_ptr[k] : color_ptr[k + 1]]])
        for k in range(len(color_ptr) - 1)
    ]
    program = IsingSamplingProgram(ebm, blocks, clamped_blocks=[])
    keys = jax.random.split(jax.random.key(1), int(n_chains))
    start = hinton_init(jax.random.key(2), ebm, blocks, (int(n_chains),))

    def runner(n_sweeps):
        schedule = SamplingSchedule(n_warmup=n_sweeps, n_samples=1, steps_per_sample=1)

        def one(key, state):
            return sample_states(key, program, schedule, state, [], [Block(nodes)])

        return jax.jit(jax.vmap(one))

    def seconds(run):
        times = []
        for _ in range(repeats):
            begin = clock()
            jax.block_until_ready(run(keys, start))
            times.append(clock() - begin)
        return min(times)

    short, long = 5, 25
    runs = {n: runner(n) for n in (short, long, 100)}
    for run in runs.values():  # compile
        samples = jax.block_until_ready(run(keys, start))
    s = 2.0 * np.asarray(samples[0])[:, 0, :] - 1.0  # (n_chains, d)
    per_sweep = (seconds(runs[long]) - seconds(runs[short])) / (long - short)
    moments = (s[:, edges[:, 0]] * s[:, edges[:, 1]]).mean(axis=0)
    np.savez(target, per_sweep=per_sweep, moments=moments, version=version("thrml"))


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
