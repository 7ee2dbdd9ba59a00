"""Statistics that the package's steps leave in the results of `pymc.sample`, and what to call them."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS

# prefixes of the names of statistics, each with its step
STEPS = {
    "group_gibbs": "group sampler",
    "exact_gibbs": "ExactGibbs",
    "particle_ratio": "ParticleRatioGibbs",
    "stripped_beta": "StrippedBetaGibbs",
    "auxiliary_mh": "AuxiliaryVariableMH",
    "exchange": "Exchange",
    "edge_gibbs": "EdgeGibbs",
    "reversible_jump": "ReversibleJump",
    "persistent_langevin": "PersistentLangevin",
    "tree_gibbs": "TreeGibbs",
}
# the rest of the name
LABELS = {
    "n_groups": "number of groups",
    "n_new": "groups opened",
    "n_active": "present edges",
    "n_evaluations": "evaluations",
    "noise": "noise of the log ratio",
    "ess": "effective size of particles",
    "drift": "drift of the particles",
    "accept": "acceptance",
    "joint_accept": "acceptance, joint moves",
    "add_accept": "acceptance, added edges",
    "delete_accept": "acceptance, deleted edges",
    "changed": "share of nodes changed",
    "range": "way of the value that moved most",
}
SETTINGS = ("sweeps", "n_sweeps", "draws")  # the same in every draw


def split_name(name: str) -> tuple[str, str] | None:
    """Step and label of a statistic, such as ("EdgeGibbs", "present edges"); None if of no step."""
    for prefix, step in STEPS.items():
        if name.startswith(f"{prefix}_"):
            rest = name[len(prefix) + 1 :].split("[")[0]
            return step, LABELS.get(rest, rest.replace("_", " "))
    return None


def sampler_statistics(idata: Any, group: str = "sample_stats") -> xr.Dataset:
    """Numerical statistics of the package's steps by chain and draw, settings left out.

    Where several steps of a class leave statistics of one name, they become ``name[0]``, ``name[1]``, ...

    Raises
    ------
    TypeError
        If `idata` is not a DataTree.
    ValueError
        If it has no such group.
    """
    if not isinstance(idata, xr.DataTree):
        raise TypeError(
            f"idata must be the xarray.DataTree that pymc.sample returns, not {type(idata).__name__}"
        )
    if group not in idata.children:
        raise ValueError(
            f"idata has no group {group!r}; it has {', '.join(map(repr, idata.children)) or 'none'}"
        )
    found: dict[str, xr.DataArray] = {}
    for name, values in idata[group].to_dataset().items():
        numeric = values.dtype.kind in "iufb" and set(SAMPLE_DIMS) <= set(values.dims)
        step = split_name(str(name))
        if not numeric or step is None or str(name).endswith(tuple(f"_{s}" for s in SETTINGS)):
            continue
        extra = [dim for dim in values.dims if dim not in SAMPLE_DIMS]
        if not extra:
            found[str(name)] = values
            continue
        flat = values.stack(step=extra).transpose("step", *SAMPLE_DIMS)
        for k in range(flat.sizes["step"]):
            one = flat.isel(step=k, drop=True).drop_vars(extra, errors="ignore")
            found[str(name) if flat.sizes["step"] == 1 else f"{name}[{k}]"] = one
    noise = [name for name in found if name.startswith("edge_gibbs_noise")]
    for name in noise:
        if not found[name].any():  # no particles
            for rest in ("noise", "ess", "resamplings"):
                found.pop(name.replace("noise", rest), None)
    order = sorted(found, key=lambda name: (split_name(name), name))  # PyMC's order varies
    return xr.Dataset({name: found[name].astype(np.float64) for name in order})
