"""What runs take from PyMC that it does not publish, and what they do in a release where it is gone.

A run makes its steps, starts and draws from what PyMC publishes; these only speak to the user and to the
operating system as `pymc.sample` does.
"""

import logging
import multiprocessing
from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module
from typing import Any

log = logging.getLogger("pymc")


def find(module: str, name: str, otherwise: Any) -> Any:
    """Return `name` of a module of PyMC, or what takes its place where it is gone."""
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return otherwise


class NoBars:
    """Bars that are not shown."""

    def __init__(self, **options: Any) -> None:
        pass

    def __enter__(self) -> "NoBars":
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def update(self, **news: Any) -> None:
        """Show nothing."""


@contextmanager
def silence(quiet: bool):
    """Silence messages of PyMC and of this package below errors, if asked to."""
    level = log.level
    try:
        if quiet:
            log.setLevel(logging.ERROR)
        yield
    finally:
        log.setLevel(level)


def context_of(mp_ctx: Any, **options: Any) -> Any:
    """Return the context of processes by its name, the system's own for None."""
    return multiprocessing.get_context(mp_ctx) if mp_ctx is None or isinstance(mp_ctx, str) else mp_ctx


ProgressBars: Any = find("pymc.progress_bar", "MCMCProgressBarManager", NoBars)
"""Bars of all chains; without them a run shows none."""

print_steps: Callable = find("pymc.sampling.mcmc", "_print_step_hierarchy", lambda step: None)
"""Log which step moves what, before the first draw; without it nothing is said."""

quiet_logging: Callable = find("pymc.sampling.mcmc", "_quiet_logging", silence)
"""Silence PyMC with ``quiet=True``; without it its logger is silenced, but for those below with levels."""

multiprocessing_context: Callable = find(
    "pymc.sampling.parallel", "_initialize_multiprocessing_context", context_of
)
"""How chains get processes of their own: not by forks with JAX, nor on Macs with Intel; without it by the
system's own way, and the user has to pass `mp_ctx` there."""

cpu_count: Callable = find(
    "pymc.sampling.parallel", "_cpu_count", lambda: multiprocessing.cpu_count() // 2
)
"""Cores that are no hardware threads, for the defaults of `cores` and `chains`; without it half of all."""
