"""Whether a path still covers the prior of its coupling, which may have changed since the field was declared.

By ``pm.set_data``, or in another model that ``pm.do`` made. PyMC derives the log density of a model anew for
every function that reads it, from the graph of random variables, and looks at this graph before.
"""

from pymc.logprob.rewriting import logprob_rewrites_db, remove_valued_rvs
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import GraphRewriter

from pymc_mrf.distributions.foreign_routes import MeaninglessDensityError
from pymc_mrf.likelihood.path.path_form import Simulated, path_coupling, share_below_zero

CHANCE = 0.002
"""Share of draws below 0 that a prior is not likely to have had where none of the draws showed it before."""


class CheckPaths(GraphRewriter):
    """Raises an error if the prior of a coupling has left its path."""

    def apply(self, fgraph):
        """Look at all fields, with the variables as they are in this model."""
        for node in list(fgraph.apply_nodes):
            likelihood = getattr(node.op, "likelihood", None)
            path = getattr(likelihood, "path", None)
            if path is not None and not path.is_signed:
                _check_coupling(path, node)


def _check_coupling(path: Simulated, node) -> None:
    family = node.op.family
    coupling = path_coupling(path, family, node.op.dist_params(node)[0])
    drawn = FunctionGraph(outputs=[coupling], clone=True, copy_inputs=False)
    remove_valued_rvs.apply(drawn)
    if share_below_zero(drawn.outputs[0]) > CHANCE:
        name = family.edge_parameter
        raise MeaninglessDensityError(
            f'the field was declared with likelihood="path" while no draw of its {name} made neighbours '
            f"differ, and its path was simulated for such a {name}, but now some draws do, or {name} does, "
            "after pm.set_data or pm.do: declare the model anew with what was set"
        )


def register_checks() -> None:
    """Let PyMC look at paths whenever it derives a log density, from now on."""
    logprob_rewrites_db.register("pymc_mrf_paths", CheckPaths(), "basic", position=-1)
