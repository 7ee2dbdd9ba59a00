"""What a first run costs, printed: ``make bench``."""

import pytest

from tests.benchmarks import first_run

pytestmark = pytest.mark.benchmark


def test_first_run():
    first_run.report(list(first_run.CASES))
