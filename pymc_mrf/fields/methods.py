"""Methods of fixed fields: their options, defaults and checks."""

from collections.abc import Mapping
from typing import Any

from pymc_mrf.checks import check_option, number, whole_number

CHAINS = ("n_chains", "n_sweeps", "n_burn_in", "rng")
TREES = ("partition", "n_partitions")
MARGINALS: dict[str, tuple[str, ...]] = {
    "exact": (),
    "bp": ("damping", "tolerance", "max_iterations"),
    "tree": CHAINS + TREES,
    "gibbs": CHAINS,
}
DRAWS: dict[str, tuple[str, ...]] = {"exact": (), "tree": ("n_sweeps", *TREES), "gibbs": ("n_sweeps",)}
MODES: dict[str, tuple[str, ...]] = {"auto": (), "exact": ()}
"""Options of each method of `FixedField.marginals`, `FixedField.sample` and `FixedField.mode`."""

DEFAULTS: dict[str, Any] = {
    "n_sweeps": 200,
    "n_chains": 64,
    "n_burn_in": 100,
    "n_partitions": 1,
    "partition": None,
    "damping": 0.5,
    "tolerance": 1e-8,
    "max_iterations": 1000,
    "max_sweeps": None,
    "rng": None,
}

SMALLEST = {"n_sweeps": 1, "n_chains": 2, "n_burn_in": 0, "n_partitions": 1, "max_iterations": 1}


def method_options(
    method: str, allowed: Mapping[str, tuple[str, ...]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Options of a method, defaults for those that are None.

    `allowed`: names of the options of each method. `given`: option values; None means not given. Raises
    a ValueError if the method is unknown, an option belongs to another method, or a value is out of
    range.
    """
    check_option(method, "method", allowed)
    for name, value in given.items():
        if value is not None and name not in allowed[method]:
            owners = " or ".join(f'"{m}"' for m, options in allowed.items() if name in options)
            where = f"an option of method={owners}, not" if owners else "no option"
            raise ValueError(f'{name} is {where} of method="{method}"')
    options = {
        name: DEFAULTS[name] if given.get(name) is None else given[name] for name in allowed[method]
    }
    for name, smallest in SMALLEST.items():
        if name in options:
            options[name] = whole_number(options[name], name, smallest)
    if "damping" in options:
        options["damping"] = number(options["damping"], "damping", 0.0, 1.0, closed=True)
    if "tolerance" in options:
        options["tolerance"] = number(options["tolerance"], "tolerance", 0.0)
    if given.get("partition") is not None and given.get("n_partitions") is not None:
        raise ValueError(
            "n_partitions is the number of partitions to be found, and partition gives one; pass one "
            "of the two"
        )
    return options
