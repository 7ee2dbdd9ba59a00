"""Edge marginals by blocks of weighted particles, to tell a drift of all from the noise of each."""

from pymc_mrf.kernels._jit import jit
from pymc_mrf.kernels.weighted_particles import particle_probabilities, tabulate_edge


@jit
def block_marginals(e, particles, graph, out):
    """Write to `out` (B,) the shares of B contiguous blocks of particles in P(f_e = 1), their sum.

    Systematic resampling keeps copies of a particle side by side, so that blocks are all but independent.
    """
    W, B = particles.W, out.shape[0]
    m = W.shape[0]
    out[:] = 0.0
    if tabulate_edge(e, particles, graph) > 0:
        for c in range(m):
            out[c * B // m] += W[c] * particles.pair[0, particles.cell[c]] / m
    else:
        for c in range(m):
            one, _ = particle_probabilities(e, c, particles, graph)
            out[c * B // m] += W[c] * one / m
