"""A model of the likelihood by particles, and what its draws are compared by."""

from functools import partial

import arviz as az
import numpy as np

from tests import posteriors

ERROR = 0.03  # of an inclusion probability that particles may add
SHARE = 0.1  # of a posterior standard deviation that they may add to the error of a mean
draws_of = partial(posteriors.draws_of, n_draws=2000, seed=3)


def assert_inclusion(w, expected):
    """Within ERROR and the Monte-Carlo error, which is small beside it."""
    for e in range(w.shape[-1]):
        present = (w[..., e] != 0.0).astype(float)
        error = float(az.mcse(present)) if present.std() > 0 else 0.0
        assert error < 0.5 * ERROR
        assert abs(present.mean() - expected[e]) < ERROR + 2.0 * error, (e, present.mean(), expected[e])


def gaps_of_biases(make, **options):
    """Distances of their means from those of the exact engine, which is checked by quadrature elsewhere.

    With its standard deviations, and Monte-Carlo errors; `make` makes a model with this likelihood.
    """
    exact, b = (
        draws_of(make(likelihood), ["w", "b"], **own)[1].reshape(2, 2000, -1)
        for likelihood, own in (("exact", {}), ("particles", options))
    )
    errors = [[float(az.mcse(draws[..., k])) for k in range(b.shape[-1])] for draws in (b, exact)]
    return abs(b.mean(axis=(0, 1)) - exact.mean(axis=(0, 1))), exact.std(axis=(0, 1)), np.hypot(*errors)
