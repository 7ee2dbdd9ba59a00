"""The Monte Carlo likelihood beside the others at questionnaire size, printed: ``make bench``."""

import pytest

from tests.benchmarks import questionnaires

pytestmark = pytest.mark.benchmark


def test_likelihoods_of_questionnaires():
    print("\n" + questionnaires.speeds())
