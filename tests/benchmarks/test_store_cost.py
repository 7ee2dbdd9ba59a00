"""What the store of a run costs, as a share of its CPU time; printed, never asserted."""

import pytest

from examples.store_cost import MODELS, measure

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize("name", MODELS)
def test_share_of_the_cpu_time(name):
    draws, writings, seconds, share, *_ = measure(MODELS[name], 60.0)
    print(
        f"\n{name}: {share} of the CPU time of {draws} draws for {writings} writings of {seconds} each"
    )
