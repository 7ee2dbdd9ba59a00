"""Gibbs simulation against the obvious loop and named peers, in one run and printed: ``make bench``.

Times are printed, never asserted; that all programs sample the same distribution is.
"""

from importlib.util import find_spec

import pytest

from pymc_mrf.graph import builders
from tests.benchmarks.simulation import gibbs_simulation

pytestmark = pytest.mark.benchmark


def report(title: str, result: dict, targets: dict) -> None:
    """Print one comparison; `targets` are the ratios aimed at."""
    ours = result["ours"]
    print(f"\n{title} (CPU time on one core, but for the last line)")
    print(
        f"  pymc_mrf ({result['kernel']}): {ours:.3f} ns per spin update; from int8 rows to int8 rows, "
        f"tables included: {result['ours_ten_sweeps']:.3f} ns at 10 sweeps, "
        f"{result['ours_one_sweep']:.3f} ns at one sweep"
    )
    for label, key in (
        ("the obvious loop", "loop"),
        (f"dwave-samplers {result['dwave_version']}, Gibbs, fixed temperature", "dwave"),
        (f"thrml {result['thrml_version']}, compiled beforehand", "thrml"),
        (f"thrml {result['thrml_version']}, on {result['cores']} cores, wall time", "thrml_all"),
    ):
        target = f" (target: {targets[key]})" if key in targets else ""
        print(
            f"  {label}: {result[key]:.1f} ns, {result[key] / ours:.0f} times{target}; "
            f"{result[key] / result['ours_ten_sweeps']:.0f} times at 10 sweeps, rows to rows"
        )


def test_sparse_grid():
    if find_spec("thrml") is None or find_spec("dwave") is None:
        pytest.skip('needs thrml and dwave-samplers, of the extra "bench"')
    result = gibbs_simulation(builders.grid(30, 30), coupling_sd=0.5)
    report("30 x 30 grid, random couplings, 1024 chains", result, {"loop": 30, "dwave": 20, "thrml": 20})
    assert max(result[f"z_{name}"] for name in ("loop", "dwave", "thrml", "thrml_all")) < 6.0
