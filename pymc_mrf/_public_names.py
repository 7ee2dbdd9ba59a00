"""Public names of a package that are loaded when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def public_names(
    package: str, homes: Mapping[str, str], modules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make what a package needs to load its public names when they are first used.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping
        Names, separated by spaces, by the module that defines them, below ``pymc_mrf``.
    modules : str
        Public modules of the package, which are public names themselves.

    Returns
    -------
    callable, callable, list of str
        ``__getattr__``, ``__dir__`` and ``__all__`` of the package.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    public = sorted([*home_of, *modules.split()])

    def load(name: str) -> Any:
        if name in home_of:
            value = getattr(import_module(f"pymc_mrf.{home_of[name]}"), name)
        elif name in public:
            value = import_module(f"{package}.{name}")
        else:
            paths = [f"{package}.{module}" for module in modules.split() if name[0] != "_"]
            places = [path for path in paths if name in getattr(import_module(path), "__all__", ())]
            where = f"; it is {places[0]}.{name}" if places else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{where}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return load, names, public
