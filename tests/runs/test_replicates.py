"""Experiments with many seeds."""

import logging
from functools import partial

import numpy as np
import pytest

import pymc_mrf as pmrf
from pymc_mrf.runs.folder import open_folder

QUIET = {"progressbar": False}


def normal(seed, scale=1.0):
    return scale * np.random.default_rng(seed).normal()


def fails_if_odd(seed):
    if seed % 2:
        raise ArithmeticError(f"{seed} is odd")
    return seed


def test_results_are_those_of_a_loop_in_the_order_of_the_seeds():
    seeds = [7, 3, 12]
    found = pmrf.replicate(normal, seeds, **QUIET)
    assert list(found.results.items()) == [(seed, normal(seed)) for seed in seeds]
    assert found.failures == {}


def test_a_failure_is_named_and_others_go_on(caplog):
    with caplog.at_level(logging.WARNING, "pymc.pymc_mrf"):
        found = pmrf.replicate(fails_if_odd, [4, 5, 2, 1], **QUIET)
    assert list(found.results) == [4, 2]
    assert list(found.failures) == [5, 1]
    assert "in fails_if_odd" in found.failures[1]
    assert "2 of 4 replicates failed; seeds: [1, 5]. That of seed 1: ArithmeticError: 1" in caplog.text


def test_a_result_that_cannot_be_kept_is_a_failure(caplog):
    found = pmrf.replicate(lambda seed: (_ for _ in range(seed)), [1], **QUIET)
    assert "cannot pickle 'generator' object" in found.failures[1]


def test_results_in_a_store_are_not_computed_again(tmp_path):
    def interrupted(seed):
        if seed == 2:
            raise KeyboardInterrupt
        called.append(seed)
        return seed

    called = []
    with pytest.raises(KeyboardInterrupt):
        pmrf.replicate(interrupted, range(4), store=tmp_path, **QUIET)
    interrupted.__code__ = (lambda seed: called.append(seed)).__code__
    found = pmrf.replicate(interrupted, range(4), store=tmp_path, **QUIET)
    assert called == [0, 1, 2, 3]
    assert found.results == {0: 0, 1: 1, 2: None, 3: None}


def test_failures_are_tried_again(tmp_path):
    def function(seed):
        if not path.exists():
            raise FileNotFoundError(path)
        return seed

    path = tmp_path / "file"
    assert pmrf.replicate(function, [1], store=tmp_path / "store", **QUIET).results == {}
    path.touch()
    assert pmrf.replicate(function, [1], store=tmp_path / "store", **QUIET).results == {1: 1}


@pytest.mark.parametrize(
    "function, name",
    [
        (fails_if_odd, r"replicates of tests.*normal\(scale=2\), not of tests.*\.fails_if_odd: pass"),
        (
            partial(normal, scale=3),
            r"replicates of tests.*normal\(scale=2\), not of .*normal\(scale=3\)",
        ),
    ],
)
def test_stores_of_others_are_refused(function, name, tmp_path):
    pmrf.replicate(partial(normal, scale=2), [1], store=tmp_path, **QUIET)
    with pytest.raises(ValueError, match=name):
        pmrf.replicate(function, [1], store=tmp_path, **QUIET)
    with open_folder(str(tmp_path)).locked(), pytest.raises(RuntimeError, match="sampling into store="):
        pmrf.replicate(partial(normal, scale=2), [1], store=tmp_path, **QUIET)
    (tmp_path / "replicates.json").unlink()
    with pytest.raises(ValueError, match=r"holds other files, such as 'replicate-1\.pickle'"):
        pmrf.replicate(normal, [1], store=tmp_path, **QUIET)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((3, [1]), TypeError, "function must be callable with a seed, not 3"),
        ((normal, []), ValueError, "seeds must be one or more different integers"),
        ((normal, [1, 1]), ValueError, "seeds must be one or more different integers"),
        ((normal, [-1]), ValueError, "seeds must be a non-negative integer, not -1"),
    ],
)
def test_arguments_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        pmrf.replicate(*arguments, **QUIET)
