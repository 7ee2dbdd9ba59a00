"""Arrows of fields in time, by themselves and beside graph-tool, printed: ``make bench``.

Times are printed, never asserted; that as many arrows are found is.
"""

import subprocess

import pytest

from examples import kinetic_recovery

pytestmark = pytest.mark.benchmark

PYTHON = "/usr/bin/python3"  # that of the system, for which Debian packages graph-tool


def has_graph_tool() -> bool:
    command = [PYTHON, "-W", "ignore", "-c", "import graph_tool.inference"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture(autouse=True)
def compiled():
    for name in kinetic_recovery.KINDS:
        kinetic_recovery.experiment(name, 4, 50, 10, 10, 0)


@pytest.mark.parametrize("name", kinetic_recovery.KINDS)
def test_arrows(name):
    print()
    for d, n_rows in ((10, 200), (30, 1000)):
        result = kinetic_recovery.experiment(name, d, n_rows, 500, 250, 0)
        print(
            f"{name}, {d} nodes, {n_rows:,} rows: {1000 * result['seconds']:.2g} ms per draw, "
            f"{result['ess'] / result['seconds']:.0f} effective draws per CPU second (median of arrows in "
            "doubt)"
        )
        assert result["r_hat"] < 1.05


def test_beside_graph_tool():
    if not has_graph_tool():
        pytest.skip("needs graph-tool, the Debian package python3-graph-tool")
    print("\nbinary, 30 nodes, 1,000 rows, beside graph-tool:")
    found = kinetic_recovery.beside_graph_tool(PYTHON, 30, 1000, 500, 250)
    for one in found:
        print(
            f"  {one.sampler}, {one.seconds:.2g} s: precision {one.precision:.2f}, recall {one.recall:.2f}"
        )
    *_, last, short = found
    print(f"  the same recovery, or better, in {last.seconds / short.seconds:.0f} times less time")
    assert short.f1 >= last.f1
