"""Networks with communities."""

import numpy as np
import pymc as pm

import pymc_mrf as pmrf
from pymc_mrf.distributions.spike_and_slab import SpikeAndSlab

GRAPH = pmrf.graphs.complete(4)

W = np.array([0.4, 0.0, -1.0, 2.0, 0.0, 0.1])

WITHIN, BETWEEN = (2.0, 1.0), (1.0, 3.0)
SLAB = pm.Normal.dist(0, 1)


def community_model(w=W, make_p=pm.math.switch, graph=GRAPH):
    """Communities of a structure that is known, or if `w` is None, of one that is not."""
    with pm.Model(coords=pmrf.coords(graph)) as model:
        z = pmrf.EdgeCommunities("z", 0.8, 1.6, dims="node")
        p_within, p_between = pm.Beta("p_within", *WITHIN), pm.Beta("p_between", *BETWEEN)
        p = make_p(pmrf.same_community(z, graph), p_within, p_between)
        observed = {} if w is None else {"observed": w}
        SpikeAndSlab("w", p, SLAB, dims="edge", **observed)
    return model
