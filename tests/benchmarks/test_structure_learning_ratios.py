"""Structure learning against bgms and against the sampler of the paper, printed: ``make bench``.

Rates are printed, never asserted; that the chains have mixed is.
"""

import pytest

from tests.benchmarks.structure_learning import (
    BGMS,
    DOUBLINGS,
    against_bgms,
    against_the_paper,
    with_twice_the_particles,
)

pytestmark = pytest.mark.benchmark


def test_against_bgms():
    print("\neffective draws per CPU second, median and minimum over the weights")
    rates = against_bgms()
    for n, m, draws, tune in DOUBLINGS:
        doubling = with_twice_the_particles(n, m, draws, tune)
        rates |= doubling.rates
        assert doubling.change < 1.5
    for what, (name, rate) in rates.items():
        peer = ""
        if name is not None:
            median, least = BGMS[name]
            peer = (
                f"bgms 0.2.0: {median:g}, {least:g}; ratios {rate.median / median:.3g}, "
                f"{rate.least / least:.3g}; "
            )
        print(
            f"  {what}: {rate.median:.3g}, {rate.least:.3g}; {peer}"
            f"R-hat < 1.01: {rate.mixed:.1%}, > 1.05: {rate.poor:.1%}"
        )
        if name in ("block", "items"):
            assert rate.poor == 0.0


def test_against_the_sampler_of_the_paper():
    result = against_the_paper()
    print(
        f"\n12 variables, n = 100, median weight: {result.default.median:.0f} effective draws per CPU "
        f"second; ReversibleJump and PersistentLangevin as in the paper: at most {result.paper:.2g}, "
        f"{result.ratio:,.0f} times fewer (target: 100)"
    )
    assert result.default.poor == 0.0
