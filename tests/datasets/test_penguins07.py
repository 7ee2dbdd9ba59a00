"""The penguins: counts and rows of the file that palmerpenguins distributes."""

import numpy as np

from pymc_mrf.datasets import load_penguins07


def test_counts_are_those_of_the_source():
    birds = load_penguins07()
    assert repr(birds) == "Penguins07(344 birds, 4 measurements)"
    assert birds.measurements == ("bill length", "bill depth", "flipper length", "body mass")
    assert birds.x.count(axis=0).tolist() == [342] * 4
    for name, counts in (
        ("species", {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}),
        ("island", {"Biscoe": 168, "Dream": 124, "Torgersen": 52}),
        ("year", {2007: 110, 2008: 114, 2009: 120}),
        ("sex", {"female": 165, "male": 168}),
    ):
        values = np.ma.compressed(getattr(birds, name))
        assert dict(
            zip(*map(np.ndarray.tolist, np.unique(values, return_counts=True)), strict=True)
        ) == (counts)
    assert np.ma.count_masked(birds.sex) == 11


def test_rows_are_those_of_the_source():
    birds = load_penguins07()
    assert birds.x[0].tolist() == [39.1, 18.7, 181.0, 3750.0]
    assert birds.x[3].mask.all() and birds.sex.mask[3]
    assert (birds.species[0], birds.island[0], birds.sex[0]) == ("Adelie", "Torgersen", "male")
    assert birds.x.min(axis=0).tolist() == [32.1, 13.1, 172.0, 2700.0]
    assert birds.x.max(axis=0).tolist() == [59.6, 21.5, 231.0, 6300.0]
