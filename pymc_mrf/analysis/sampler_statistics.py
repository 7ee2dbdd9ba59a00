"""Statistics that the package's steps leave in the results of `pymc.sample`, as the steps declare them."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, checked_group

if TYPE_CHECKING:
    from pymc_mrf.steps.common.statistics import Declared


@cache
def all_declared() -> dict[str, "Declared"]:
    """Return the declarations of all steps, by the names of the statistics in the results."""
    from pymc_mrf.steps.assign import STEPS

    return {name: declared for step in STEPS for name, declared in step.declared.items()}


def declared_of(name: str) -> "Declared | None":
    """Find what a step declares of "edge_gibbs_noise" or "edge_gibbs_noise[0]"; None if none does."""
    return all_declared().get(split_number(name)[0])


def split_number(name: str) -> tuple[str, str]:
    """Split a name into that in the declaration and "[k]", if several steps of a class leave it, or ""."""
    base, bracket, number = name.partition("[")
    return base, bracket + number


def sampler_statistics(idata: Any, group: str = "sample_stats", *, settings: bool = False) -> xr.Dataset:
    """Collect the numerical statistics of the package's steps, with or without those that are never shown.

    Where several steps of a class leave statistics of one name, they become ``name[0]``, ``name[1]``, ...
    """
    found: dict[str, xr.DataArray] = {}
    for name, values in checked_group(idata, group).items():
        declared = declared_of(str(name))
        numeric = values.dtype.kind in "iufb" and set(SAMPLE_DIMS) <= set(values.dims)
        if declared is None or not numeric or (declared.statistic.shown == "never" and not settings):
            continue
        extra = [dim for dim in values.dims if dim not in SAMPLE_DIMS]
        if not extra:
            found[str(name)] = values
            continue
        flat = values.stack(step=extra).transpose("step", *SAMPLE_DIMS)
        for k in range(flat.sizes["step"]):
            one = flat.isel(step=k, drop=True).drop_vars(extra, errors="ignore")
            found[str(name) if flat.sizes["step"] == 1 else f"{name}[{k}]"] = one
    # PyMC's order varies
    order = sorted((name for name in found if not _is_meaningless(name, found)), key=_place)
    return xr.Dataset({name: found[name].astype(np.float64) for name in order})


def _is_meaningless(name: str, found: dict[str, xr.DataArray]) -> bool:
    """Whether a statistic is about estimates and nothing was estimated."""
    declared = declared_of(name)
    if declared is None or not declared.statistic.estimated:
        return False
    telling = found.get(f"{declared.prefix}_{declared.statistic.estimated}{split_number(name)[1]}")
    return telling is not None and not telling.any()


def _place(name: str) -> tuple[str, str, str]:
    declared = declared_of(name)
    assert declared is not None
    return declared.title, declared.statistic.label, name
