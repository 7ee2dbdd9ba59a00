"""What a run is made of: the same draws come of the same model, data, steps, seed and versions only."""

from importlib.metadata import version
from typing import Any

import numpy as np
import pymc as pm
from pymc.step_methods.compound import flatten_steps
from pytensor import config
from pytensor.graph.basic import Variable

from pymc_mrf.distributions.graph_digest import array_digest, digest, digest_of, graph_digest

VERSIONS = ("pymc-mrf", "pymc", "pytensor", "numba", "numpy", "scipy")


def fingerprint(model: pm.Model, step: Any, trace_names: list[str], settings: dict[str, Any]) -> dict:
    """Describe a run, by the names of its parts.

    `step`: as made, before any chain. `trace_names`: variables that are written down. `settings`: of the
    call, by their names. Returns dict of str: numbers, texts and digests; entries that differ say in
    what two runs differ.
    """
    values = {value.name: list(value.type.shape) for value in model.value_vars}
    observed = {
        rv.name: digest_of(model.rvs_to_values[rv]) for rv in model.observed_RVs
    }  # symbolic if part of a variable is observed: then the graph has the data
    data = {var.name: digest_of(var) for var in model.data_vars}
    coords = {name: None if c is None else digest(*map(repr, c)) for name, c in model.coords.items()}
    dims = {name: list(dims) for name, dims in model.named_vars_to_dims.items()}
    return {
        **versions(),
        "numba__fastmath": repr(config.numba__fastmath),
        **{name: repr(value) for name, value in settings.items()},
        "variables": repr(values),
        "recorded variables": repr(trace_names),
        "dims": repr(dims),
        "coords": repr(coords),
        "observed data": repr(observed),
        "pm.Data": repr(data),
        "density": graph_digest(model.logp()),
        "deterministic variables": graph_digest(model.deterministics) if model.deterministics else "",
        "steps": repr([_options(method) for method in flatten_steps(step)]),
    }


def versions() -> dict[str, str]:
    """Versions of the packages that compute the draws, by the names they have in a fingerprint."""
    return {f"version of {name}": version(name) for name in VERSIONS}


def differences(stored: dict, now: dict) -> list[str]:
    """Say in what two runs differ, part by part."""
    found = []
    for name in {**stored, **now}:
        a, b = stored.get(name), now.get(name)
        if a != b:
            short = a is not None and b is not None and len(a) + len(b) < 60
            found.append(f"{name} ({a} in the store, {b} now)" if short else name)
    return found


def _options(method: Any) -> tuple:
    (_, *args), kwargs = method.__getnewargs_ex__()
    given = {str(k): value for k, value in enumerate(args)} | kwargs
    options = {name: _text_of_option(value) for name, value in given.items() if name not in NO_OPTIONS}
    return type(method).__name__, [v.name for v in method.vars], sorted(options.items())


def _text_of_option(value: Any) -> str:
    """Text of an option, the same in every process."""
    if isinstance(value, np.ndarray):
        return array_digest(value)
    if isinstance(value, Variable):
        return digest_of(value)
    if isinstance(value, list | tuple):
        return repr([_text_of_option(item) for item in value])
    if isinstance(value, dict):
        return repr([(str(key), _text_of_option(item)) for key, item in value.items()])
    return repr(value) if isinstance(value, PLAIN) else type(value).__name__


PLAIN = (str, bool, int, float, np.number, type(None))
NO_OPTIONS = {"model", "rng", "initial_point", "blocked"}  # these follow from model and seed
