"""Speed against named peers, measured in one run and printed: ``make bench``.

Times are printed, never asserted; where another program is run, that both give the same answer is.
"""

from importlib.util import find_spec

import pytest

from tests.benchmarks.measure import declaration_times, exact_gibbs_sweeps, grid_marginals, import_time

pytestmark = pytest.mark.benchmark


def test_edge_marginals_of_a_grid_against_pyagrum():
    if find_spec("pyagrum") is None:
        pytest.skip('needs pyAgrum, of the extra "bench"')
    result = grid_marginals()
    ours = result["kernel"]
    print("\nall edge marginals of a 4 x 4 binary grid (target: 100 times faster than pyAgrum)")
    print(
        f"  kernel {1e6 * ours:.1f} µs, called from Python for each field {1e6 * result['single']:.1f} µs; "
        f"planning included {1e6 * result['field']:.0f} µs"
    )
    for label, key in (
        ("inference made beforehand", "pyagrum"),
        ("inference made each time", "pyagrum_created"),
        ("after a change of evidence", "pyagrum_evidence"),
    ):
        seconds = result[key]
        print(
            f"  pyAgrum {result['version']}, {label}: {1e6 * seconds:.0f} µs, {seconds / ours:.0f} times "
            f"({seconds / result['single']:.0f} from Python)"
        )
    assert result["difference"] < 1e-9


def test_exact_gibbs_on_the_grid_of_the_paper():
    result = exact_gibbs_sweeps()
    print(
        f"\n{result['steps']} GroupGibbs steps, 4 x 4 grid, n = {result['n']}: "
        f"{result['seconds']:.3f} s (target: 1 s); "
        f"Liu & Page (2013, Table 1), on their machine: {result['paper']:,.0f} s; "
        f"{result['paper'] / result['seconds']:,.0f} times faster"
    )


def test_import_time_beside_pymc():
    result = import_time()
    added = result["both"] - result["pymc"]
    print(
        f"\nimport pymc {result['pymc']:.2f} s, with pymc_mrf {result['both']:.2f} s: adds {added:.2f} s "
        f"(target: 0.3 s)"
    )


def test_declaration_times():
    print("\ndeclaration of an observed field, likelihood chosen by itself (target: 256 x 256 in 1 s)")
    for name, seconds in declaration_times().items():
        print(
            f"  {name}: {1e3 * seconds['declaration']:.0f} ms, "
            f"of which the plan of the junction tree {1e3 * seconds['planning']:.1f} ms"
        )
