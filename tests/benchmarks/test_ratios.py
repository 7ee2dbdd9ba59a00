"""Speed against named peers, measured in one run and printed: ``make bench``.

Ratios between programs of one machine are asserted where the difference is large; absolute times never.
"""

from importlib.util import find_spec

import pytest

from tests.benchmarks.measure import exact_gibbs_sweeps, grid_marginals, import_time

pytestmark = pytest.mark.benchmark


def test_edge_marginals_of_a_grid_against_pyagrum():
    if find_spec("pyagrum") is None:
        pytest.skip('needs pyAgrum, of the extra "bench"')
    result = grid_marginals()
    ratio = result["pyagrum"] / result["kernel"]
    print(
        f"\nall edge marginals of a 4 x 4 binary grid: kernel {1e6 * result['kernel']:.1f} µs "
        f"(planning included {1e6 * result['field']:.0f} µs), pyAgrum {result['version']} "
        f"{1e6 * result['pyagrum']:.0f} µs, after a change of evidence "
        f"{1e6 * result['pyagrum_evidence']:.0f} µs; {ratio:.0f} times faster "
        f"({result['pyagrum_evidence'] / result['kernel']:.0f} after a change of evidence)"
    )
    assert result["difference"] < 1e-9
    assert ratio >= 100


def test_exact_gibbs_on_the_grid_of_the_paper():
    result = exact_gibbs_sweeps()
    print(
        f"\n{result['steps']} ExactGibbs steps, 4 x 4 grid, n = {result['n']}: {result['seconds']:.3f} s; "
        f"Liu & Page (2013, Table 1), on their machine: {result['paper']:,.0f} s; "
        f"{result['paper'] / result['seconds']:,.0f} times faster"
    )


def test_import_time_beside_pymc():
    result = import_time()
    added = result["both"] - result["pymc"]
    print(
        f"\nimport pymc {result['pymc']:.2f} s, with pymc_mrf {result['both']:.2f} s: adds {added:.2f} s "
        f"({100 * added / result['pymc']:.0f} %)"
    )
