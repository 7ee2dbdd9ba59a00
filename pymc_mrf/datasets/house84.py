"""Sixteen key votes of the United States House of Representatives in 1984.

`house84.csv.gz` holds the Congressional Voting Records of the UCI Machine Learning Repository (1987,
https://doi.org/10.24432/C5C01P), which are distributed under CC BY 4.0: 1 yea, 0 nay, empty neither.
Changes: the names of the votes are shortened and the file is compressed. The votes were chosen by the
Congressional Quarterly Almanac, 98th Congress, 2nd session (1985).
"""

from dataclasses import dataclass

import numpy as np

from pymc_mrf.datasets._files import masked_numbers, rows_of_file


@dataclass(frozen=True, repr=False)
class House84:
    """Key votes of the House of Representatives in 1984.

    Attributes
    ----------
    x : (435, 16) int64 masked array
        1 for yea (voted, paired or announced), 0 for nay, masked for neither.
    votes : tuple of str
        What was voted on, such as "MX missile".
    party : (435,) str array
        "D" or "R".
    """

    x: np.ma.MaskedArray
    votes: tuple[str, ...]
    party: np.ndarray

    def __repr__(self) -> str:
        return (
            f"House84({len(self.x)} members, {len(self.votes)} votes, "
            f"{np.ma.count_masked(self.x)} of {self.x.size} entries masked)"
        )


def load_house84() -> House84:
    """Sixteen key votes of the US House of Representatives in 1984.

    Where a member neither voted nor made a position known, the entry is masked. Such entries need not be
    missing at random.

    Returns
    -------
    House84

    References
    ----------
    Congressional Voting Records (1987). UCI Machine Learning Repository.
    https://doi.org/10.24432/C5C01P. Licence: CC BY 4.0.
    """
    header, *rows = rows_of_file("house84.csv.gz")
    x = masked_numbers(rows, np.int64)
    return House84(x=x, votes=tuple(header[1:]), party=np.array([row[0] for row in rows]))
