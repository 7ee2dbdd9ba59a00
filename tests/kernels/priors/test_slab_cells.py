"""Integrals, moments and draws of a tabulated slab times a parabola, against quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from pymc_mrf.kernels.priors import densities
from tests.statistics import assert_frequencies

PARABOLAS = [
    (0.0, 1e-9),
    (3.0, 7.0),
    (-40.0, 2.0),
    (60.0, 400.0),
    (900.0, 300.0),
    (-1e4, 1e6),
    (25.0, 0.0),
]


def parabola(g, h, top):
    return lambda x: np.exp(g * x - 0.5 * h * x * x - top)


@pytest.mark.parametrize(("g", "h"), PARABOLAS)
@pytest.mark.parametrize(("a", "b"), [(0.0, 1e-9), (0.1, 0.13), (-1.0, 2.5), (-0.3, 0.0), (2.0, 9.0)])
def test_integral_over_a_cell(a, b, g, h):
    h = max(h, densities.LEAST_H)
    highest = min(max(g / h, a), b)
    top = highest * (g - 0.5 * h * highest)
    # pieces, so that a peak that is narrow for the cell is not missed
    cuts = np.unique(
        np.clip(highest + np.r_[0.0, np.logspace(-7, 1, 33), -np.logspace(-7, 1, 33)], a, b)
    )
    expected = sum(integrate.quad(parabola(g, h, top), low, high)[0] for low, high in pairwise(cuts))
    got = densities.log_cell_integral(a, b, g, h) - top
    # beyond FAR standard deviations the slope is taken as straight: by the asymptotic series of the
    # normal distribution's tail, off by less than a share of FAR^-2
    np.testing.assert_allclose(np.exp(got), expected, rtol=densities.FAR**-2)


def gamma_cells(shape, n=60):
    ends = np.r_[0.0, stats.gamma(shape).ppf(np.linspace(0.0, 1.0, n + 1)[1:-1]), 40.0]
    return ends, np.log(np.diff(stats.gamma(shape).cdf(ends)) / np.diff(ends))


@pytest.mark.parametrize("shape", [0.4, 1.0, 3.0])
@pytest.mark.parametrize(("g", "h"), [(0.0, 1e-9), (3.0, 7.0), (-6.0, 2.0), (60.0, 90.0)])
def test_fit_draws_and_density(shape, g, h, rng):
    ends, heights = gamma_cells(shape)
    log_mass, mean, variance = densities.fit_cells(ends, heights, g, h)
    top = np.max(g * ends - 0.5 * h * ends**2)

    def moment(k):
        cells = zip(ends[:-1], ends[1:], heights, strict=True)
        return sum(
            integrate.quad(lambda x, f=f: x**k * np.exp(f + g * x - 0.5 * h * x * x - top), a, b)[0]
            for a, b, f in cells
        )

    mass = moment(0)
    np.testing.assert_allclose(np.exp(log_mass - top), mass, rtol=densities.FAR**-2)
    deviation = np.sqrt(moment(2) / mass - (moment(1) / mass) ** 2)
    # moments within cells are rough: they only shape proposals
    assert abs(mean - moment(1) / mass) < 0.2 * deviation
    assert 0.7 < np.sqrt(variance) / deviation < 1.4

    inside = [np.exp(densities.log_cell_density(ends, heights, g, h, log_mass, x)) for x in ends[:-1]]
    probabilities = np.array(inside) * np.diff(ends)
    np.testing.assert_allclose(probabilities.sum(), 1.0, rtol=1e-9)
    draws = [densities.draw_in_cells(ends, heights, g, h, log_mass, rng) for _ in range(20_000)]
    counts = np.histogram(draws, ends)[0]
    assert counts.sum() == 20_000
    assert_frequencies(counts, probabilities)
    for outside in (-1e-9, 40.5):
        assert densities.log_cell_density(ends, heights, g, h, log_mass, outside) == -np.inf
