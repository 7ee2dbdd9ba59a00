"""What graph-tool (Peixoto, 2014) learns of a field in time, for `kinetic_recovery.py --graph-tool`.

Runs under a Python that has graph-tool, and needs nothing of pymc_mrf: reads a series of -1 and 1 from a
file, and writes the share of states with each arrow after so many seconds of the processor, the first half of
which is thrown away.
"""

import sys
import time

import numpy as np


def main(source: str, target: str) -> None:
    """Read `x` (T, d), `bias` (d,), `seconds` and `expected` arrows; write `inclusion` (d, d)."""
    import graph_tool.inference as gi
    from graph_tool import Graph

    with np.load(source) as stored:
        x, bias = stored["x"], stored["bias"]
        seconds, expected = float(stored["seconds"]), float(stored["expected"])
    graph = Graph(directed=True)
    graph.add_vertex(x.shape[1])
    series = graph.new_vp("vector<int>")
    for v, column in enumerate(x.T.astype(int).tolist()):
        series[v] = column
    # version 2.45 of Debian has no moves of local fields: it gets the true ones
    field = graph.new_vp("double", vals=bias)
    start = time.process_time()
    state = gi.IsingGlauberBlockState(
        graph, [series], beta=1.0, h=field, aE=expected, nested=False, self_loops=True
    )
    marginal, n_sweeps = None, 0
    while time.process_time() - start < seconds:
        state.mcmc_sweep(niter=1, h=0.0)
        n_sweeps += 1
        if time.process_time() - start > 0.5 * seconds:
            marginal = state.collect_marginal(marginal)
    inclusion = np.zeros((x.shape[1], x.shape[1]))
    if marginal is not None:
        u, v, share = marginal.get_edges([marginal.ep.eprob]).T
        inclusion[u.astype(int), v.astype(int)] = np.minimum(share, 1.0)
    np.savez(target, inclusion=inclusion, n_sweeps=n_sweeps, seconds=time.process_time() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
