"""What PyMC asks of a step, for all steps: states, seeds, statistics, points and data left alone."""

import re
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pymc as pm
import pytest
from numba.core.dispatcher import Dispatcher
from pymc.step_methods.state import equal_dataclass_values

from pymc_mrf.distributions import likelihood
from pymc_mrf.steps.assign import STEPS
from pymc_mrf.steps.common import base
from pymc_mrf.steps.latent import latent_field
from tests.marks import slow
from tests.public import NAMES
from tests.steps.cases import CASES, model_of, values_of

# one of each kind of state; the others are forked in the slow tests
FORKED = {"pseudo groups", "particle edges", "exact exchange", "latent field at once"}
# for the slow tests: other cases move as these do, over views that compile faster
LARGE = {
    "Monte Carlo groups", "moller", "particle edges of many states", "mixed edges", "mixed pseudo edges",
    "mixed cells", "tables of edges", "particle jumps", "particle Langevin",
}  # fmt: skip
SAMPLE = {"progressbar": False, "quiet": True, "compute_convergence_checks": False, "random_seed": 7}

KERNELS = "pymc_mrf.kernels.", "pymc_mrf.papers.kernels."


@pytest.fixture(params=[slow(name) if name in LARGE else name for name in CASES])
def case(request, monkeypatch):
    """A case and its model; the latent field by trees although it is small enough to be drawn at once."""
    if request.param == "latent field by trees":
        monkeypatch.setattr(latent_field, "EXACT_CELLS", 0)
    return CASES[request.param], model_of(request.param)


def machine_code():
    """Number of compiled versions of all kernels."""
    modules = [module for name, module in sys.modules.items() if name.startswith(KERNELS)]
    functions = [value for module in modules for value in vars(module).values()]
    return sum(len(value.signatures) for value in functions if isinstance(value, Dispatcher))


def differ(a, b, names):
    return any(not np.array_equal(a[name], b[name]) for name in names)


def test_all_steps_are_here():
    assert set(STEPS) == {case.step for case in CASES.values()}
    by_name = {value for value in NAMES.values() if hasattr(value, "stats_dtypes_shapes")}
    assert by_name < set(STEPS)


@pytest.mark.warm
def test_state_round_trip(case):
    """A copy that has moved on and forgotten is set back, and goes on as the original does."""
    case, model = case
    step = case.build(model)
    step.setup_chain(np.random.default_rng(1), 7, 5)
    point = case.point(model)
    for i in range(9):  # over the end of tuning
        if i == 7:
            step.stop_tuning()
        point, _ = step.step(point)
    state = cloudpickle.loads(cloudpickle.dumps(step.sampling_state))
    again = cloudpickle.loads(cloudpickle.dumps(step))
    first, [stats] = step.step(point)
    assert set(stats) == set(step.stats_dtypes_shapes)
    assert not equal_dataclass_values(step.sampling_state, state)
    compiled, moved = machine_code(), point
    for _ in range(20):
        moved, _ = again.step(moved)
    assert differ(first, moved, values_of(step))
    again.setup_chain(np.random.default_rng(2), 5, 5)
    assert not equal_dataclass_values(again.sampling_state, state)
    again.sampling_state = state
    second, _ = again.step(point)
    for _ in range(5):  # what is not in the state might show late
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])
        assert equal_dataclass_values(step.sampling_state, again.sampling_state)
        (first, _), (second, _) = step.step(first), again.step(second)
    assert machine_code() == compiled  # the arrays of the copy are of the same types


def test_points_and_data_are_left_alone_and_chains_start_anew(case):
    case, model = case
    step = case.build(model)
    point = {"before": np.array(1.0), **case.point(model), "after": np.array(2.0)}
    values = [model.rvs_to_values[rv] for rv in model.observed_RVs]
    data = [value.data for value in values if hasattr(value, "data")]  # not of a table with gaps
    copies = cloudpickle.loads(cloudpickle.dumps((point, data)))
    ends = []
    for _ in range(2):
        step.setup_chain(np.random.default_rng(1), 1, 4)
        new = point
        for i in range(5):
            if i == 1:
                step.stop_tuning()
            new, _ = step.step(new)
            assert list(new) == list(point)
        ends.append(new)
    assert differ(point, new, values_of(step))
    for name, value in copies[0].items():
        np.testing.assert_array_equal(point[name], value)
        np.testing.assert_array_equal(*(end[name] for end in ends))
        assert new[name].dtype == value.dtype and new[name].shape == value.shape
        if name not in values_of(step):
            np.testing.assert_array_equal(new[name], value)
    for array, copy in zip(data, copies[1], strict=True):
        np.testing.assert_array_equal(array, copy)


def run(case, model, context=None):
    """Two chains, in processes that begin as `context` says if it is given."""
    options = {"chains": 2, "cores": 1 if context is None else 2, "mp_ctx": context, **SAMPLE}
    steps = [case.build(model), *case.beside()]
    return pm.sample(20, tune=10, step=steps, model=model, initvals=case.start or None, **options)


def assert_same_draws(one, other):
    for name, draws in one.posterior.items():
        np.testing.assert_array_equal(draws.values, other.posterior[name].values)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["particle groups", "moller", "simulated exchange", "communities"])
def test_new_processes_draw_the_same(name):
    assert_same_draws(*(run(CASES[name], model_of(name), context) for context in (None, "spawn")))


@pytest.mark.warm
@pytest.mark.parametrize(
    "name", [name if name in FORKED else slow(name) for name in CASES if name != "latent field by trees"]
)
def test_forked_processes_draw_the_same(name):
    assert_same_draws(*(run(CASES[name], model_of(name), context) for context in (None, "fork")))


@pytest.mark.ordinary(
    "pseudo groups",
    "groups of arrows",
    "stripped beta",
    "exact edges",
    "particle edges",
    "exact exchange",
    "latent field by trees",
    "cells of series",
    "communities",
    "hyperparameters",
)
def test_chains_differ_and_statistics_are_as_declared(case):
    case, model = case
    alone = run(case, model)
    first, second = (alone.posterior.isel(chain=chain) for chain in (0, 1))
    assert differ(first, second, case.names)
    for name, (dtype, shape) in case.step.stats_dtypes_shapes.items():
        if name == "warning":
            continue  # PyMC logs it and leaves it out
        found = alone.sample_stats[name]
        kind = np.dtype(dtype)
        assert found.dtype == kind or (kind.kind == "U" and found.dtype.kind == "U"), (name, found.dtype)
        assert found.dims[:2] == ("chain", "draw")
        assert found.ndim == 2 + len(shape)


def test_what_a_step_leaves_invariant_is_what_the_documentation_says():
    steps = {case.step for case in CASES.values()}
    page = (Path(__file__).parents[2] / "docs" / "algorithms.md").read_text(encoding="utf-8")
    table = page.partition("## What steps leave invariant")[2]
    found = re.findall(r'^\| `(\w+)` \| `?"?([\w-]+)"?`? \| (.+) \|$', table, flags=re.MULTILINE)
    declared = {(s.__name__, kind.name, words) for s in steps for kind, words in s.invariant.items()}
    assert sorted(found) == sorted(declared)
    known = {*likelihood.NEAREST_FIRST, base.GIVEN_DRAWS}
    assert {words for _, _, words in declared} == known


@pytest.mark.parametrize(
    "step", dict.fromkeys(case.step for case in CASES.values()), ids=lambda step: step.__name__
)
def test_the_docstring_of_a_step_agrees_with_what_it_declares(step):
    words = set(step.invariant.values())
    assert step.serves == tuple(step.invariant)
    prose = step.__doc__.partition("Leaves invariant:")[2].partition("\n\n")[0]
    assert ("exact" in prose) or words == {likelihood.APPROXIMATE}
    assert ("approximation" in prose) or likelihood.APPROXIMATE not in words
    assert bool(step.approximation) == (words == {likelihood.APPROXIMATE})
