"""Dense and K-state fields against the obvious loop and named peers, printed: ``make bench``.

Times are printed, never asserted; where programs are compared, that they sample the same distribution is.
"""

from importlib.util import find_spec

import networkx as nx
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import as_graph
from tests.benchmarks.dense_simulation import perfect_draws, potts_simulation
from tests.benchmarks.ratios import report
from tests.benchmarks.simulation import gibbs_simulation

pytestmark = pytest.mark.benchmark


def test_complete_graph():
    if find_spec("thrml") is None or find_spec("dwave") is None:
        pytest.skip('needs thrml and dwave-samplers, of the extra "bench"')
    # couplings below the spin-glass transition (sd 1 / sqrt(99)), where all programs forget their start
    result = gibbs_simulation(builders.complete(99), coupling_sd=0.05)
    report("complete graph of 99 nodes, 1024 chains", result, {"thrml": 5})
    assert max(result[f"z_{name}"] for name in ("loop", "dwave", "thrml", "thrml_all")) < 6.0


@pytest.mark.parametrize(
    ("title", "graph"),
    [
        ("30 x 30 grid", builders.grid(30, 30)),
        ("5 random neighbours per node", as_graph(nx.random_regular_graph(5, 900, seed=1))),
        ("complete graph of 50 nodes", builders.complete(50)),
    ],
)
def test_potts_fields(title, graph):
    result = potts_simulation(graph)
    print(f"\n3-state Potts field, {title}, 1024 chains, one core, rows to rows, tables included")
    for key, sweeps in (("ours_ten_sweeps", "ten sweeps"), ("ours_one_sweep", "one sweep")):
        print(
            f"  pymc_mrf ({result['kernel']}), {sweeps}: {result[key]:.2f} ns per update; the obvious loop: "
            f"{result['loop']:.1f} ns, {result['loop'] / result[key]:.0f} times"
        )
    assert result["z_loop"] < 6.0


def test_perfect_draws():
    graph = builders.grid(30, 30)
    print("\nexact draws by coupling from the past, 30 x 30 grid, one core")
    for coupling in (0.1, 0.2, 0.3, 0.4):
        result = perfect_draws(graph, coupling)
        print(f"  coupling {coupling}: {result['draw']:.1f} µs per draw, {result['n']} draws")
