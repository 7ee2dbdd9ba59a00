"""R-hat and effective sizes of the entries of a variable, and of which entries they say something."""

from typing import NamedTuple

import numpy as np
import xarray as xr

NEARLY_ALWAYS = 0.99  # share of draws with one value, from which R-hat says nothing
FEWEST_DRAWS = 4  # of a chain, two for each half


class EntryConvergence(NamedTuple):
    """Convergence of E entries.

    Attributes
    ----------
    constant : (E,) bool
        One value in all draws of all chains.
    stuck : (E,) bool
        Not constant, although no chain moves.
    silent : (E,) bool
        One value in 99 of 100 draws, not stuck: R-hat means nothing.
    judged : (J,) int
        All others; none if chains are shorter than four draws.
    rhat, ess : (J,) float
        Rank-normalised split R-hat, bulk effective size (Vehtari et al., 2021); NaN where undefined.
    """

    constant: np.ndarray
    stuck: np.ndarray
    silent: np.ndarray
    judged: np.ndarray
    rhat: np.ndarray
    ess: np.ndarray


def entry_convergence(draws: np.ndarray) -> EntryConvergence:
    """Judge each of E entries of finite `draws` (chains, draws, E)."""
    from arviz_stats import ess, rhat

    constant = (draws == draws[0, 0]).all(axis=(0, 1))
    stuck = (draws == draws[:, :1]).all(axis=(0, 1)) & ~constant
    usual = (draws == np.median(draws, axis=(0, 1))).mean(axis=(0, 1)) > NEARLY_ALWAYS
    silent = usual & ~stuck
    judged = np.flatnonzero(~silent & ~stuck)
    r = sizes = np.empty(0)
    if draws.shape[1] < FEWEST_DRAWS:
        judged = judged[:0]
    if judged.size:
        part = draws[:, :, judged]
        with np.errstate(invalid="ignore", divide="ignore"):  # short chains of few values
            r = np.atleast_1d(np.asarray(rhat(part, chain_axis=0, draw_axis=1)))
            sizes = np.atleast_1d(np.asarray(ess(part, chain_axis=0, draw_axis=1)))
    return EntryConvergence(constant, stuck, silent, judged, r, sizes)


def entry_name(values: xr.DataArray, index: int) -> str:
    """Name an entry of a variable with chains and draws by its coordinates."""
    shape = values.shape[2:]
    if not shape:
        return str(values.name)
    place = np.unravel_index(index, shape)
    labels = [
        str(values[dim].values[i]) if dim in values.coords else str(i)
        for dim, i in zip(values.dims[2:], place, strict=True)
    ]
    return f"{values.name}[{', '.join(labels)}]"
