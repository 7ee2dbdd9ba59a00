"""Gibbs simulation against the obvious loop and named peers, in one run and printed: ``make bench``.

Times are printed, never asserted; that all programs sample the same distribution is.
"""

from importlib.util import find_spec

import pytest

from pymc_mrf.graph import builders
from tests.benchmarks.ratios import report
from tests.benchmarks.simulation import gibbs_simulation

pytestmark = pytest.mark.benchmark


def test_sparse_grid():
    if find_spec("thrml") is None or find_spec("dwave") is None:
        pytest.skip('needs thrml and dwave-samplers, of the extra "bench"')
    result = gibbs_simulation(builders.grid(30, 30), coupling_sd=0.5)
    report("30 x 30 grid, random couplings, 1024 chains", result, {"loop": 30, "dwave": 20, "thrml": 20})
    assert max(result[f"z_{name}"] for name in ("loop", "dwave", "thrml", "thrml_all")) < 6.0
