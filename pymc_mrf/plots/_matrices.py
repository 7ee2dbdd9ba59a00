"""Matrices as pictures: cells without gaps, and names beside rows and columns."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.plots._collection import literal

# orange - grey - purple: told apart with every colour vision, and unlike the usual colours of parties
DIVERGING = ("#7f3b08", "#d98018", "#f0b56a", "#d4d4d4", "#a695cc", "#6a4a9c", "#2d004b")
MAX_TICK_LABELS = 60


def diverging_map() -> Any:
    """Return the colour map of `DIVERGING`."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("orange_purple", DIVERGING)


def draw_matrix(da: xr.DataArray, target: Any, **style: Any) -> Any:
    """Draw a matrix without ticks and frame; cells that are NaN are left out."""
    target.tick_params(length=0)
    target.spines[:].set_visible(False)
    return target.imshow(np.ma.masked_invalid(da.values), **{"interpolation": "nearest", **style})


def tick_style(names: Iterable, n: int) -> dict[str, Any]:
    """Labels of ticks, in letters that suit a matrix of n rows."""
    return {"labels": [literal(name) for name in names], "fontsize": 9 if n <= 30 else 7}
