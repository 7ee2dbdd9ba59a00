"""What a run takes from PyMC: steps, starts and random generators, as `pymc.sample` makes them.

A run makes its steps, starts and draws from what PyMC publishes. What it does not publish only speaks to
the user and to the operating system as `pymc.sample` does; something takes its place in a release where
it is gone.
"""

import logging
import multiprocessing
from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from pymc.backends.ndarray import NDArray
from pymc.exceptions import SamplingError
from pymc.initial_point import make_initial_point_fns_per_chain
from pymc.pytensorf import resolve_backend_compile_kwargs
from pymc.sampling.mcmc import assign_step_methods, get_default_tune_steps, instantiate_steppers
from pymc.step_methods import NUTS, STEP_METHODS, CompoundStep
from pymc.step_methods.arraystep import PopulationArrayStepShared
from pymc.step_methods.compound import flatten_steps
from pymc.util import get_random_generator, get_state_from_generator

from pymc_mrf.runs.present_edges import with_many_edges

NOT_SUPPORTED = {
    "trace": "the store takes its place",
    "callback": "look at the run with pymc_mrf.read_store",
    "nuts_sampler": "the store needs the steps of PyMC",
    "nuts_sampler_kwargs": "pass nuts={...}",
    "return_inferencedata": "the result is a DataTree",
    "idata_kwargs": "call pymc.compute_log_likelihood on the result",
    "keep_warning_stat": "warnings are logged",
    "blas_cores": "set the environment variable OMP_NUM_THREADS",
}


class PreparedRun(NamedTuple):
    """What `pymc.sample` makes before it samples.

    `starts`: one per chain. `rngs`: one per chain. `trace`: an empty one, of the variables that are kept
    as they are. `packed`: those of which only what is not 0 is kept.
    """

    step: Any
    starts: list[dict[str, np.ndarray]]
    rngs: list[Any]
    tune: int
    trace: NDArray
    packed: tuple[str, ...]
    context: Any


def prepare(
    model: pm.Model,
    *,
    seed: Any,
    chains: int,
    tune: int | None,
    quiet: bool,
    step: Any = None,
    var_names: Any = None,
    initvals: Any = None,
    init: str = "auto",
    jitter_max_retries: int = 10,
    n_init: int = 200_000,
    mp_ctx: Any = None,
    backend: str | None = None,
    compile_kwargs: dict | None = None,
    target_accept: float | None = None,
    **kwargs,
) -> PreparedRun:
    """Assign steps and make starts as `pymc.sample` does with the same arguments.

    Raises
    ------
    TypeError
        For an argument of `pymc.sample` that makes no sense here.
    ValueError
        If a step needs all chains at once, or as `pymc.sample`.
    """
    for name in kwargs:
        if name in NOT_SUPPORTED:
            raise TypeError(f"pymc_mrf.sample takes no {name}: {NOT_SUPPORTED[name]}")
    if not model.free_RVs:
        raise SamplingError("the model has no free variables, so that there is nothing to sample")
    if target_accept is not None:
        if "target_accept" in kwargs.get("nuts", {}):
            raise ValueError("target_accept is given twice: leave it out of nuts={...}")
        kwargs["nuts"] = {**kwargs.get("nuts", {}), "target_accept": target_accept}
    compile_kwargs = resolve_backend_compile_kwargs(backend, compile_kwargs)
    context = multiprocessing_context(mp_ctx, mode=compile_kwargs.get("mode"), quiet=quiet)
    rngs = get_random_generator(seed).spawn(chains)
    seeds = [rng.integers(2**30) for rng in rngs]
    provided, selected = assign_step_methods(model, step, methods=STEP_METHODS)
    if not provided and len(selected) == 1 and issubclass(next(iter(selected)), NUTS):
        starts, made = pm.init_nuts(
            init=init,
            chains=chains,
            n_init=n_init,
            model=model,
            random_seed=seeds,
            progressbar=False,
            quiet=quiet,
            jitter_max_retries=jitter_max_retries,
            tune=tune,
            initvals=initvals,
            compile_kwargs=compile_kwargs,
            **{**kwargs, **kwargs.pop("nuts", {})},
        )
    else:
        functions = make_initial_point_fns_per_chain(
            model=model, overrides=initvals, jitter_rvs=set(), chains=chains
        )
        starts = [make(s) for make, s in zip(functions, seeds, strict=True)]
        made = instantiate_steppers(
            model,
            steps=provided,
            selected_steps=selected,
            step_kwargs=kwargs,
            initial_point=starts[0],
            compile_kwargs=compile_kwargs,
        )
        made = CompoundStep(made) if isinstance(made, list) else made
    for one in flatten_steps(made):
        if isinstance(one, PopulationArrayStepShared):
            raise ValueError(
                f"{type(one).__name__} moves all chains together, which cannot be stored one by one; use "
                "another step, such as pm.DEMetropolisZ"
            )
    variables = model.unobserved_value_vars
    if var_names is not None:
        named = {rv.name: rv for rv in model.unobserved_RVs}
        missing = [name for name in var_names if name not in named]
        if missing:
            raise ValueError(
                f"var_names has {missing[0]!r}, which the model has not: choose from {list(named)}"
            )
        chosen = [rv for name, rv in named.items() if name in var_names]
        variables = model.replace_rvs_by_values(chosen)
    many = with_many_edges(model)
    if all(value.name in many for value in variables):
        many = ()  # PyMC does not count the draws of no variable
    plain = [value for value in variables if value.name not in many]
    packed = tuple(value.name for value in variables if value.name in many)
    trace = NDArray(model=model, vars=plain, test_point=starts[0])
    tune = get_default_tune_steps(made, tune)
    return PreparedRun(
        made, starts, [get_state_from_generator(rng) for rng in rngs], tune, trace, packed, context
    )


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
