"""Efficiency of the group samplers and of the junction tree's passes, printed: ``make bench``."""

import pytest

from tests.benchmarks import group_samplers, junction_tree

pytestmark = pytest.mark.benchmark


def test_effective_draws_of_group_samplers():
    group_samplers.report()


def test_passes_of_the_junction_tree():
    junction_tree.main()
