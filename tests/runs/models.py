"""A small model, how it is sampled, and when two results are the same."""

import numpy as np
import pymc as pm
import xarray as xr

TUNE, DRAWS = 30, 40
QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}
RUN = {"tune": TUNE, "chains": 2, "random_seed": 4, **QUIET}
CLOCKS = {"perf_counter_start", "perf_counter_diff", "process_time_diff"}


def small_model(shift=0.0, labels=("a", "b"), scale=1.0):
    """Moved by NUTS, Gibbs and Metropolis in turn."""
    with pm.Model(coords={"k": labels}) as model:
        sigma = pm.HalfNormal("sigma", scale)
        mu = pm.Normal("mu", 0, sigma, dims="k")
        n = pm.Poisson("n", 3)
        z = pm.Bernoulli("z", 0.5)
        pm.Deterministic("square", mu**2, dims="k")
        pm.Normal("y", mu + z + 0.1 * n, 1, observed=np.array([[1.0, 2.0], [0.0, 1.0 + shift]]))
    return model


def assert_same(a, b):
    """The same bits in all groups, but for the times that the steps of PyMC measure."""
    assert set(a.children) == set(b.children)
    for group in a.children:
        first, second = (
            x[group].to_dataset().drop_attrs().drop_vars(CLOCKS, errors="ignore") for x in (a, b)
        )
        xr.testing.assert_identical(first, second)
