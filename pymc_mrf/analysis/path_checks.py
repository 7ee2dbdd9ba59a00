"""Whether the error of a path of couplings shows in a posterior."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis.coupling_strength import at_some_draws
from pymc_mrf.analysis.findings import AGAINST, FOR, Finding


def path_findings(idata: xr.DataTree, model: Any, group: str) -> list[Finding]:
    """Compare, at some posterior draws, the errors of paths with the width of the posterior.

    An error of the mean of the statistic, times the number of rows, is one of the slope of the
    log-likelihood. Times the variance of the posterior it is how far that is moved, times its standard
    deviation the same in standard deviations.
    """
    import pymc as pm

    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.distributions.path import NEGLIGIBLE, path_coupling

    found, seen = [], set()
    for rv in [*model.observed_RVs, *model.free_RVs]:
        node = field_node(rv)
        if node is None or node.op.likelihood != "path" or node in seen:
            continue
        seen.add(node)
        coupling = path_coupling(node.op.family, node.op.dist_params(node)[0])
        t = np.array(at_some_draws(coupling, idata, model, group), dtype=np.float64)
        shape = pm.draw(node.outputs[1].shape, mode="FAST_COMPILE")
        off = np.prod(shape[:-1]) * t.std() * max(node.op.path.error(value) for value in t)
        name = str(rv.name)
        moves = f"moves the posterior by {off:.2f} of its standard deviations"
        if off <= NEGLIGIBLE:
            found.append(Finding(FOR, name, float(off), f'simulation of likelihood="path" {moves}', ""))
        else:
            text = f'simulation of likelihood="path" is too short, or does not mix: it {moves}'
            found.append(Finding(AGAINST, name, float(off), text, 'likelihood="particles"'))
    return found
