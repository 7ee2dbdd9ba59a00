"""Studies of made-up numbers."""

import numpy as np
import xarray as xr


def random_study(rng, n_replicates=5, sizes=(50, 200), r=10, d=5):
    shape = (n_replicates, len(sizes))
    factor = np.exp(3 * rng.normal(size=(*shape, r)))
    factor[0, 0, :4] = 0.0, np.inf, 0.0, np.inf
    with np.errstate(invalid="ignore"):
        inclusion = np.where(factor < np.inf, factor / (1.0 + factor), 1.0)  # prior odds of 1
    bound = np.full(factor.shape, np.nan)
    bound[0, 0, :4] = 0.1, 8.0, 0.5, 2.0  # what the draws vouch for: the last two are undecided
    return xr.Dataset(
        {
            "true_weight": (
                ("replicate", "edge"),
                rng.normal(size=(n_replicates, r)) * (rng.random(r) < 0.5),
            ),
            "true_strength": (("replicate", "node"), rng.random((n_replicates, d))),
            "inclusion": (("replicate", "n", "edge"), inclusion),
            "bayes_factor": (("replicate", "n", "edge"), factor),
            "bayes_factor_bound": (("replicate", "n", "edge"), bound),
            "mean": (("replicate", "n", "edge"), rng.normal(size=(*shape, r))),
            "strength": (("replicate", "n", "node"), rng.random((*shape, d))),
            "seconds": (("replicate", "n"), np.ones(shape)),
        },
        coords={"n": list(sizes)},
    )
