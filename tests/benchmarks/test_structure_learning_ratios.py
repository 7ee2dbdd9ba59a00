"""Structure learning against bgms and against the sampler of the paper, printed: ``make bench``.

Rates are printed, never asserted; that the chains have mixed is.
"""

import pytest

from tests.benchmarks.bgms import measured
from tests.benchmarks.structure_learning import (
    DOUBLINGS,
    against_the_paper,
    of_default_steps,
    with_twice_the_particles,
)
from tests.reference import bgms

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize("name", bgms.NAMES)
def test_against_bgms(name):
    speed, (median, least) = measured(name), bgms.results(name).ess_per_second
    print(
        f"\n{name}, effective draws per CPU second, median and minimum over the weights: {speed.median:.3g}, "
        f"{speed.least:.3g}; bgms 0.2.0: {median:.3g}, {least:.3g}; ratios {speed.median / median:.3g}, "
        f"{speed.least / least:.3g}; inclusion probabilities differ by {speed.gap:.2f} standard errors"
    )
    assert speed.rhat < 1.1


def test_mixing():
    print("\neffective draws per CPU second, median and minimum over the weights")
    rates = of_default_steps()
    for n, m, draws, tune in DOUBLINGS:
        doubling = with_twice_the_particles(n, m, draws, tune)
        rates |= doubling.rates
        assert doubling.change < 1.5
    for what, rate in rates.items():
        print(
            f"  {what}: {rate.median:.3g}, {rate.least:.3g}; "
            f"R-hat < 1.01: {rate.mixed:.1%}, > 1.05: {rate.poor:.1%}"
        )
        if what.startswith(("12 variables", "18 variables")):
            assert rate.poor == 0.0


def test_against_the_sampler_of_the_paper():
    result = against_the_paper()
    print(
        f"\n12 variables, n = 100, median weight: {result.default.median:.0f} effective draws per CPU "
        f"second; ReversibleJump and PersistentLangevin as in the paper: at most {result.paper:.2g}, "
        f"{result.ratio:,.0f} times fewer (target: 100)"
    )
    assert result.default.poor == 0.0
