"""Statistics that the package's steps leave in the results of `pymc.sample`, and what to call them."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, checked_group

# prefixes of the names of statistics, each with its step
STEPS = {
    "group_gibbs": "group sampler",
    "particle_ratio": "ParticleRatioGibbs",
    "stripped_beta": "StrippedBetaGibbs",
    "auxiliary_mh": "AuxiliaryVariableMH",
    "exchange": "Exchange",
    "edge_gibbs": "EdgeGibbs",
    "reversible_jump": "ReversibleJump",
    "persistent_langevin": "PersistentLangevin",
    "tree_gibbs": "TreeGibbs",
    "conjugate": "ConjugateHyperparameters",
}
# the rest of the name
LABELS = {
    "n_groups": "number of groups",
    "n_new": "groups opened",
    "n_active": "present edges",
    "n_present": "entries that are not 0",
    "acceptance": "acceptance of values",
    "renewals": "renewals of particles",
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
# the same in every draw, or of use together with another statistic only
SETTINGS = ("n_sweeps", "draws", "target_noise", "momentum_error")


def split_name(name: str) -> tuple[str, str] | None:
    """Step and label of a statistic, such as ("EdgeGibbs", "present edges"); None if of no step."""
    for prefix, step in STEPS.items():
        if name.startswith(f"{prefix}_"):
            rest = name[len(prefix) + 1 :].split("[")[0]
            return step, LABELS.get(rest, rest.replace("_", " "))
    return None


def sampler_statistics(idata: Any, group: str = "sample_stats", *, settings: bool = False) -> xr.Dataset:
    """Numerical statistics of the package's steps by chain and draw, with or without `settings`.

    Where several steps of a class leave statistics of one name, they become ``name[0]``, ``name[1]``, ...

    Raises
    ------
    TypeError
        If `idata` is not a DataTree.
    ValueError
        If it has no such group.
    """
    found: dict[str, xr.DataArray] = {}
    for name, values in checked_group(idata, group).items():
        numeric = values.dtype.kind in "iufb" and set(SAMPLE_DIMS) <= set(values.dims)
        left_out = split_name(str(name)) is None or (
            not settings and str(name).endswith(tuple(f"_{s}" for s in SETTINGS))
        )
        if left_out or not numeric:
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
