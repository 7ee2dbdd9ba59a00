"""Whether the sample of a Monte Carlo likelihood covers a posterior that steps of PyMC have drawn."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis.coupling_strength import at_some_draws
from pymc_mrf.analysis.findings import AGAINST, FOR, Finding


def sample_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Look, at some posterior draws, at the weights of the points and at the noise of the likelihood.

    Of fields whose parameters no step of this package has moved: those steps tell it by their statistics.
    """
    import pymc as pm

    from pymc_mrf.distributions.arguments import is_random
    from pymc_mrf.distributions.entries import entries_behind
    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.likelihood.edges.monte_carlo_edges import MonteCarloEdges
    from pymc_mrf.steps.common.sample_checks import EDGE_NOISE, LEAST_SHARE

    found, seen = [], set()
    for rv in [*model.observed_RVs, *model.free_RVs]:
        node = field_node(rv)
        if node is None or node.op.likelihood != "monte-carlo" or node in seen:
            continue
        seen.add(node)
        op, parameters = node.op, node.op.dist_params(node)
        if entries_behind(parameters[0]):
            continue
        n = int(np.prod(pm.draw(node.outputs[1].shape, mode="FAST_COMPILE")[:-1]))
        # weights and noise depend on how many rows there are, and not on what they are
        rows = np.resize(op.sampled.reference.states.T, (n, op.graph.n_nodes))
        moves_biases = any(map(is_random, parameters[1:]))
        engine = MonteCarloEdges(rows, op.graph, op.family, moves_biases, [op.sampled.reference])
        squares, shares = [], []
        for natural in at_some_draws(op.flat_natural(parameters), idata, model, group):
            engine.go_to(*np.split(natural, [op.graph.n_edges]))
            squares.append(engine.measure_noise() ** 2)
            shares.append(engine.statistics()["ess"])
        noise, share = float(np.sqrt(np.mean(squares))), min(shares)
        text = (
            f'likelihood="monte-carlo": smallest effective share of the sample {share:.2g}, noise of '
            f"log-likelihood ratios {noise:.2f}"
        )
        if share < LEAST_SHARE:
            text, remedy = f"{text}: the draws are far from the reference", 'likelihood="particles"'
        elif noise > EDGE_NOISE:
            remedy = f"MonteCarlo(tolerance=...), {EDGE_NOISE / noise:.2g} times what it is now"
        else:
            found.append(Finding(FOR, str(rv.name), noise, text, ""))
            continue
        found.append(Finding(AGAINST, str(rv.name), noise, text, remedy))
    return found
