"""Data sets that come with the package."""

from pymc_mrf.datasets.anes96 import Anes96, load_anes96
from pymc_mrf.datasets.georgia90 import Georgia90, load_georgia90
from pymc_mrf.datasets.house84 import House84, load_house84
from pymc_mrf.datasets.newyork13 import NewYork13, load_newyork13
from pymc_mrf.datasets.penguins07 import Penguins07, load_penguins07
from pymc_mrf.datasets.senate109 import Senate109, load_senate109

__all__ = [
    "Anes96",
    "Georgia90",
    "House84",
    "NewYork13",
    "Penguins07",
    "Senate109",
    "load_anes96",
    "load_georgia90",
    "load_house84",
    "load_newyork13",
    "load_penguins07",
    "load_senate109",
]
