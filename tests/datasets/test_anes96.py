"""The election study: counts and rows of the file that statsmodels distributes."""

import numpy as np

from pymc_mrf.datasets import load_anes96

# voters by state, counted in the file that statsmodels distributes
COUNTS = {
    "self": [16, 103, 147, 256, 170, 218, 34],
    "Clinton": [109, 317, 236, 160, 67, 36, 19],
    "Dole": [13, 31, 43, 87, 195, 460, 115],
    "party": [200, 180, 108, 37, 94, 150, 175],
    "education": [13, 52, 248, 187, 90, 227, 127],
}


def test_counts_are_those_of_the_file():
    voters = load_anes96()
    assert voters.x.shape == (944, 5)
    assert voters.x.dtype == np.int64
    assert voters.items == tuple(COUNTS)
    assert [np.bincount(column).tolist() for column in voters.x.T] == list(COUNTS.values())
    assert repr(voters) == (
        "Anes96(944 voters, 551 for Clinton and 393 for Dole; 5 items of seven states)"
    )


def test_rows_are_those_of_the_file():
    # the second: popul 190, TVnews 1, selfLR 3, ClinLR 3, DoleLR 5, PID 1, age 20, educ 4, income 1, vote 0
    voters = load_anes96()
    np.testing.assert_array_equal(voters.x[:2], [[6, 0, 5, 6, 2], [2, 2, 4, 1, 3]])
    assert voters.vote[:2].tolist() == ["Dole", "Clinton"]
    others = [voters.population[1], voters.tv_news[1], voters.age[1], voters.income[1]]
    assert others == [190, 1, 20, 1]


def test_ranges_and_names():
    voters = load_anes96()
    assert [(v.min(), v.max()) for v in (voters.age, voters.income, voters.tv_news)] == [
        (19, 91), (1, 24), (0, 7),
    ]  # fmt: skip
    assert all(len(states) == len(set(states)) == 7 for states in voters.states)
    named = dict(zip(voters.items, voters.states, strict=True))
    assert named["party"][0] == "strong Democrat"
    assert named["self"][6] == "extremely conservative"
    strong = voters.x[:, voters.items.index("party")] == 6
    assert np.mean(voters.vote[strong] == "Dole") > 0.9
