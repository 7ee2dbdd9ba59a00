"""All public names of the package, those of its public modules too."""

from types import ModuleType

import pymc_mrf

MODULES = {
    "pymc_mrf": pymc_mrf,
    **{
        f"pymc_mrf.{name}": value
        for name in pymc_mrf.__all__
        if isinstance(value := getattr(pymc_mrf, name), ModuleType)
    },
}
NAMES = {
    f"{path}.{name}": value
    for path, module in MODULES.items()
    for name in module.__all__
    if not isinstance(value := getattr(module, name), ModuleType)
}
