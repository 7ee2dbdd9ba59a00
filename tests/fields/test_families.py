import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, get_family, potts


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ma.masked_equal([[0, 1]], 1), "x has 1 masked cells; complete data are needed here: drop"),
        ([0, 1], r"x must be a matrix .* shape \(2,\); for one observation use x\[None, :\]"),
        (np.zeros((0, 2)), "x has no rows"),
        ([[0, 1, 1]], "x has 3 columns"),
        ([[0, np.nan]], "nan"),
        ([[0, 2]], "2"),
    ],
)
def test_observations_that_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        BOLTZMANN.encode(x, n_nodes=2)


def test_families_by_name():
    assert get_family("agreement", 3).n_states == 3
    assert get_family("boltzmann") is BOLTZMANN
    with pytest.raises(ValueError, match="not 'icing'"):
        get_family("icing")
    with pytest.raises(ValueError, match="the ising family has two states; n_states=3 does not apply"):
        get_family("ising", 3)
    with pytest.raises(ValueError, match="edge_axes must be 0, 1 or 2, not 3"):
        potts(3, 3)
