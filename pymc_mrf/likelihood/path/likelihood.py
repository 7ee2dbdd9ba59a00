"""`likelihood="path"`: the log-partition function along a coupling or on a grid, simulated once and saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.logprob.rewriting import logprob_rewrites_db, remove_valued_rvs
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import GraphRewriter

from pymc_mrf.distributions.foreign_routes import MeaninglessDensityError
from pymc_mrf.distributions.likelihood import AGAINST, FOR, DeclaredField, Finding, Likelihood, possible
from pymc_mrf.distributions.parents import rows_of_field
from pymc_mrf.distributions.remedies import listed
from pymc_mrf.graph.junction_tree import is_cheap
from pymc_mrf.likelihood.path import path_form
from pymc_mrf.likelihood.path.field_grid import FieldGrid
from pymc_mrf.likelihood.path.path_form import (
    Simulated,
    along_path,
    find_path,
    path_coupling,
    path_weights,
    share_below_zero,
    unasked_path,
    warn_of_data,
)

CHANCE = 0.002
"""Share of draws below 0 that a prior is not likely to have had where none of the draws showed it before."""


class CheckPaths(GraphRewriter):
    """Raises an error if the prior of a coupling has left its path since the field was declared.

    By ``pm.set_data``, or in another model that ``pm.do`` made. PyMC derives the log density of a model anew
    for every function that reads it, from the graph of random variables, and looks at this graph before.
    """

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


@dataclass(frozen=True)
class Path(Likelihood):
    """The likelihood of fields of one coupling, and one field for all nodes, by a path or a grid."""

    name: ClassVar[str] = "path"
    no_probability_of_parts: ClassVar[str] = "no log probabilities of rows with missing cells"
    is_recommended: ClassVar[bool] = False

    path: Simulated | None = None

    def prepare(self, field: DeclaredField) -> "Path":
        """Read or simulate it."""

        def others() -> str:
            return listed(possible(field))

        op = field.op
        return Path(find_path(op.family, field.parameters, op.graph, field.n_rows or 1, others))

    @classmethod
    def unasked(cls, field: DeclaredField) -> "Path | None":
        """Where others do no better."""
        if not field.n_rows or is_cheap(field.op.tree):
            return None
        found = unasked_path(field.op.family, field.parameters, field.op.graph, field.n_rows)
        return None if found is None else cls(found)

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Follow the path, where the coupling attracts neighbours if it must."""
        assert self.path is not None
        warn_of_data(self.path, op.family, value)
        logp = op.log_potential(indices, parameters) - along_path(self.path, op.family, parameters)
        if self.path.is_signed:
            return logp
        what = f"a {op.family.edge_parameter} whose prior draws attract neighbours, as its value must"
        return check_parameters(logp, pt.all(op.family.natural(parameters[0], pt) >= 0), msg=what)

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Whether the error of the simulation shows in the posterior."""
        return path_findings(rv, node, draws)


def path_findings(rv: Any, node: Any, draws: Any) -> list[Finding]:
    """Compare, at some posterior draws, the errors of a path or grid with the width of the posterior."""
    family, path, parameters = node.op.family, node.op.likelihood.path, node.op.dist_params(node)
    at = path_coupling(path, family, parameters[0])[None]
    if isinstance(path, FieldGrid):
        at = pt.concatenate([at, path_weights(family, parameters[1])])
    values = np.array(draws.at_some(at), dtype=np.float64)
    if isinstance(path, FieldGrid):
        errors = max((path.error(value[0], value[1:]) for value in values), key=np.trace)
    else:
        errors = np.diag([max(path.error(t) for [t] in values) ** 2])
    off = _moved(values, errors, rows_of_field(node))
    name = str(rv.name)
    moves = f"moves the posterior by {off:.2f} of its standard deviations"
    if off <= path_form.NEGLIGIBLE:
        return [Finding(FOR, name, float(off), f'simulation of likelihood="path" {moves}', "")]
    text = f'simulation of likelihood="path" is too short, or does not mix: it {moves}'
    return [Finding(AGAINST, name, float(off), text, 'likelihood="particles"')]


def _moved(draws: np.ndarray, errors: np.ndarray, n_rows: int) -> float:
    """Return how far errors of means move a posterior, at most in units of its standard deviations.

    An error of the mean of a statistic, times the number of rows, is one of the slope of the log-likelihood.
    Times the covariances of the posterior it is how far that is moved. `draws` (n, m) are of the m natural
    parameters, `errors` (m, m) the covariances of the errors of their means.
    """
    posterior = np.atleast_2d(np.cov(draws.T, bias=True))
    variances = np.diag(posterior)
    moved = n_rows**2 * np.diag(posterior @ errors @ posterior)
    return float(np.sqrt(np.max(moved[variances > 0] / variances[variances > 0], initial=0.0)))


register_checks()
