"""The weather of New York: counts of the table from which it was made."""

import numpy as np

from pymc_mrf.datasets import load_newyork13


def test_counts_are_those_of_the_source():
    weather = load_newyork13()
    assert weather.airports == ("EWR", "LGA", "JFK")
    assert weather.visibility.count(axis=0).tolist() == [8703, 8706, 8706]
    assert (weather.precipitation > 0).sum(axis=0).tolist() == [596, 577, 576]
    assert (weather.hour[0], weather.hour[-1]) == (6, 8735)
    assert np.sum(np.diff(weather.hour) - 1) == 16
    assert weather.wind.count() == 26115 - 5
    # the first hour: 9 knots at Newark, 10 miles of sight, dry
    assert (weather.wind[0, 0], weather.visibility[0, 0], weather.precipitation[0, 0]) == (
        9.0,
        10.0,
        0.0,
    )
    assert repr(weather) == "NewYork13(8714 hours, airports EWR, LGA, JFK)"
