"""Chains of one step, draw by draw."""

import numpy as np


def walk(step, point, n, tune=0):
    """Yield the point and the statistics of each of `n` draws, the first `tune` of which are tuning."""
    step.setup_chain(np.random.default_rng(1), tune, n - tune)
    for i in range(n):
        if i == tune:
            step.stop_tuning()
        point, [stats] = step.step(point)
        yield point, stats
