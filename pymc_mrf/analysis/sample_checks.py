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
    from pymc_mrf.distributions.arguments import is_random
    from pymc_mrf.distributions.entries import entries_behind
    from pymc_mrf.distributions.parents import fields_under, rows_of_field
    from pymc_mrf.likelihood.edges.monte_carlo_edges import MonteCarloEdges
    from pymc_mrf.steps.common.sample_checks import FARTHEST, LEAST_SHARE, sample_remedy

    found = []
    for rv, node in fields_under("monte-carlo", model):
        op, parameters = node.op, node.op.dist_params(node)
        if entries_behind(parameters[0]):
            continue
        # weights and noise depend on how many rows there are, and not on what they are
        rows = np.resize(op.sampled.reference.states.T, (rows_of_field(node), op.graph.n_nodes))
        moves_biases = any(map(is_random, parameters[1:]))
        engine = MonteCarloEdges(rows, op.graph, op.family, moves_biases, [op.sampled.reference])
        squares, shares, squared_distances = [], [], []
        for natural in at_some_draws(op.flat_natural(parameters), idata, model, group):
            engine.go_to(*np.split(natural, [op.graph.n_edges]))
            squares.append(engine.measure_noise() ** 2)
            there = engine.statistics()
            shares.append(there["ess"])
            squared_distances.append(there["distance"] ** 2)
        noise, share = float(np.sqrt(np.mean(squares))), min(shares)
        distance = float(np.sqrt(np.mean(squared_distances)))
        text = (
            f'likelihood="monte-carlo": smallest effective share of the sample {share:.2g}, noise of '
            f"log-likelihood ratios {noise:.2f}, distance of the draws from the reference {distance:.1f}"
        )
        if share < LEAST_SHARE or distance > FARTHEST:
            text += ": the draws are far from the reference"
        remedy = sample_remedy(noise, share, distance, [op.sampled.reference])
        found.append(Finding(AGAINST if remedy else FOR, str(rv.name), noise, text, remedy))
    return found
