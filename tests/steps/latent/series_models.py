"""A series with missing cells."""

import numpy as np
import pymc as pm
import pytest

from tests.steps.edges.arrow_models import BIAS, THREE, declare, series

# of two series: one in a row that is given, a row as a whole, the last row, and rows that follow one another
CELLS = [(0, 1), (3, 0), (3, 1), (3, 2), (7, 1), (8, 0), (8, 1)]


def masked(z, cells):
    mask = np.zeros(z.shape, dtype=bool)
    mask[tuple(np.transpose(cells))] = True
    return np.ma.masked_array(z, mask)


def gapped(**options):
    z, labels, _, family, _ = series("boltzmann", THREE, np.zeros(5), (8, 4))
    return declare(
        "boltzmann", 0.5, BIAS["boltzmann"], THREE, masked(z, CELLS), labels, family, **options
    )


def small_model():
    with pm.Model() as model, pytest.warns(pm.exceptions.ImputationWarning):
        gapped()
    return model
