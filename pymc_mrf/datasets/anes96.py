"""Voters in the American National Election Study of 1996: where they place themselves and the candidates.

`anes96.csv.gz` is the data set anes96 of statsmodels 0.15 (https://www.statsmodels.org), which says of it
"This is public domain" and names as its source the American National Election Studies
(https://electionstudies.org). Changes: the file is separated by commas, without quotes, and compressed.
"""

from dataclasses import dataclass

import numpy as np

from pymc_mrf.datasets._files import rows_of_file

# name of an item -> its column in the file, code of its first state, and what its states are called
IDEOLOGY = (
    "extremely liberal", "liberal", "slightly liberal", "moderate",
    "slightly conservative", "conservative", "extremely conservative",
)  # fmt: skip
PARTY = (
    "strong Democrat", "weak Democrat", "independent Democrat", "independent",
    "independent Republican", "weak Republican", "strong Republican",
)  # fmt: skip
EDUCATION = (
    "grades 1 to 8", "some high school", "high school graduate", "some college",
    "college degree", "master's degree", "PhD",
)  # fmt: skip
ITEMS = {
    "self": ("selfLR", 1, IDEOLOGY),
    "Clinton": ("ClinLR", 1, IDEOLOGY),
    "Dole": ("DoleLR", 1, IDEOLOGY),
    "party": ("PID", 0, PARTY),
    "education": ("educ", 1, EDUCATION),
}


@dataclass(frozen=True, repr=False)
class Anes96:
    """Voters of the American National Election Study of 1996.

    Attributes
    ----------
    x : (944, 5) int64 array
        Five items with seven ordered states, 0 to 6: where the voter places himself or herself, Bill Clinton
        and Bob Dole between liberal (0) and conservative (6), party identification from Democrat (0) to
        Republican (6), and education.
    items : tuple of str
        "self", "Clinton", "Dole", "party" and "education", in column order.
    states : tuple of tuple of str
        What the seven states of each item are called, such as "slightly liberal".
    vote : (944,) str array
        Expected vote, "Clinton" or "Dole".
    age : (944,) int64 array
        In years.
    income : (944,) int64 array
        Income of the household in 24 classes, from 1 (less than 3,000 dollars) to 24 (105,000 or more).
    population : (944,) int64 array
        Of the place of residence, in thousands.
    tv_news : (944,) int64 array
        On how many days of a week the voter watches news on television, 0 to 7.
    """

    x: np.ndarray
    items: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    vote: np.ndarray
    age: np.ndarray
    income: np.ndarray
    population: np.ndarray
    tv_news: np.ndarray

    def __repr__(self) -> str:
        votes = " and ".join(f"{np.sum(self.vote == v)} for {v}" for v in np.unique(self.vote))
        return f"Anes96({len(self.x)} voters, {votes}; {len(self.items)} items of seven states)"


def load_anes96() -> Anes96:
    """Voters in the American National Election Study of 1996, and where they place the candidates.

    All 944 respondents expected to vote for Clinton or for Dole, and no answer is missing: they
    need not stand for all voters.

    Returns
    -------
    Anes96

    References
    ----------
    The American National Election Studies (1996), https://electionstudies.org, by way of the data set anes96
    of statsmodels, public domain.
    """
    header, *rows = rows_of_file("anes96.csv.gz")
    column = dict(zip(header, np.array(rows, dtype=np.int64).T, strict=True))
    return Anes96(
        x=np.column_stack([column[name] - first for name, first, _ in ITEMS.values()]),
        items=tuple(ITEMS),
        states=tuple(states for _, _, states in ITEMS.values()),
        vote=np.where(column["vote"] == 1, "Dole", "Clinton"),
        age=column["age"],
        income=column["income"],
        population=column["popul"],
        tv_news=column["TVnews"],
    )
