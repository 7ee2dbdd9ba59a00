"""Several sweeps over the edges of a field in one call: to read the view takes longer than some sweeps."""

from pymc_mrf.kernels._jit import lean
from pymc_mrf.kernels.edges.edge_moves import Presence, sweep_edges


@lean
def repeat_sweeps(view, order, prior, corrected, rng, presence, rng_of_presence, n_repeats):
    """Call `sweep_edges` so often, `presence` being told of every other sweep, the first one included.

    Returns the numbers of proposals that would change an edge, and of those accepted.
    """
    n_proposed, n_accepted = 0, 0
    untold = Presence(presence.present, presence.absent, 0, 0, 0.0, 0.0)
    for k in range(n_repeats):
        told = presence if k % 2 == 0 else untold
        proposed, accepted = sweep_edges(view, order, prior, corrected, rng, told, rng_of_presence)
        n_proposed += proposed
        n_accepted += accepted
    return n_proposed, n_accepted
