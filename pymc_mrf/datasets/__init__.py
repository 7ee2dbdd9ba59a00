"""Data sets that come with the package."""

from pymc_mrf.datasets.senate109 import Senate109, load_senate109

__all__ = ["Senate109", "load_senate109"]
