"""Tree sampling against site-wise Gibbs sampling, in one run and printed: ``make bench``.

Times are printed, never asserted; that all methods sample the same distribution is.
"""

import numpy as np
import pytest

from tests.benchmarks.auxiliary_draws import FIELDS, compare
from tests.benchmarks.tree_sampling import CRITICAL, GRAPHS, magnetisation_draws, update_costs

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize("n_chains", [1, 64, 1024])
@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("title", GRAPHS)
def test_cost_of_an_update(title, n_states, n_chains):
    graph, trees = GRAPHS[title]
    result = update_costs(graph, trees, n_states, n_chains)
    tree, site = result["tree"], result["site"]
    print(
        f"\n{title}, {n_states} states, {n_chains} chains, {len(trees)} trees, ten sweeps, one core: trees "
        f"{tree:.2f} ns per node update; Gibbs ({result['kernel']}) {site:.2f} ns, trees {tree / site:.1f} "
        f"times as dear; the obvious loop {result['plain']:.1f} ns, {tree / result['plain']:.2f} times"
    )
    if n_chains > 1:
        assert result["z"] < 6.0


@pytest.mark.parametrize("coupling", [0.40, 0.43])
def test_effective_draws_near_the_critical_coupling(coupling):
    result = magnetisation_draws(coupling=coupling)
    perfect, tree, site = result["perfect"], result["tree"], result["site"]
    print(
        f"\n64 x 64 Ising grid, coupling {coupling} (critical: {CRITICAL:.4f}), one core; tau of the "
        f"magnetisation: trees (two combs) {tree['tau']:.0f} sweeps, single sites {site['tau']:.0f}\n"
        "  effective draws of the magnetisation per second, by number of chains moved together"
    )
    for n, kernel, by_trees, by_sites, by_loop in result["rates"]:
        print(
            f"  {n} chains: trees {by_trees:.0f}, single sites ({kernel}) {by_sites:.0f}, the obvious loop "
            f"{by_loop:.0f}"
        )
    print(f"  coupling from the past, exact: {perfect['rate']:.0f}")
    for one in (tree, site):
        error = np.hypot(one["error"], perfect["error"])
        assert abs(one["square"] - perfect["square"]) < 5 * error


@pytest.mark.parametrize("title", FIELDS)
def test_auxiliary_data_to_the_same_error(title):
    graph, n_states, couplings = FIELDS[title]
    for coupling in couplings:
        result = compare(graph, n_states, coupling)
        ratios = ", ".join(
            f"{n} rows {edges:.2g}, {nodes:.2g}" for n, (edges, nodes) in result.ratios.items()
        )
        print(
            f"\n{title}, coupling {coupling}: sweeps of trees {result.sweeps['tree']}, of single nodes "
            f"{result.sweeps['site']}; CPU time of single nodes over that of trees: {ratios}"
        )
        assert result.z < 6.0
