"""The House data: the counts that the UCI repository documents with them."""

import numpy as np

from pymc_mrf.datasets import load_house84

# yea, nay and neither in the documentation of the repository, in its order of votes
COUNTS = [
    (187, 236, 12),
    (195, 192, 48),
    (253, 171, 11),
    (177, 247, 11),
    (212, 208, 15),
    (272, 152, 11),
    (239, 182, 14),
    (242, 178, 15),
    (207, 206, 22),
    (216, 212, 7),
    (150, 264, 21),
    (171, 233, 31),
    (209, 201, 25),
    (248, 170, 17),
    (174, 233, 28),
    (269, 62, 104),
]


def test_counts_are_those_of_the_repository():
    house = load_house84()
    assert house.x.shape == (435, 16)
    assert house.x.dtype == np.int64
    counts = [
        (int((column == 1).sum()), int((column == 0).sum()), int(np.ma.count_masked(column)))
        for column in house.x.T
    ]
    assert counts == COUNTS
    assert [np.sum(house.party == party) for party in "DR"] == [267, 168]
    assert repr(house) == "House84(435 members, 16 votes, 392 of 6960 entries masked)"


def test_party_lines():
    house = load_house84()
    assert len(set(house.votes)) == 16
    yeas = dict(zip(house.votes, house.x[house.party == "R"].mean(axis=0), strict=True))
    assert yeas["physician fee freeze"] > 0.95
    assert yeas["budget resolution"] < 0.15
    # the first member of the repository's file: a Republican, n,y,n,y,y,y,n,n,n,y,?,y,y,y,n,y
    first = [0, 1, 0, 1, 1, 1, 0, 0, 0, 1, -1, 1, 1, 1, 0, 1]
    assert house.party[0] == "R"
    np.testing.assert_array_equal(house.x[0].filled(-1), first)
