"""`likelihood="path"`: the log-partition function along a coupling or on a grid, simulated once and saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters

from pymc_mrf.distributions.likelihood import Declared, Likelihood, possible
from pymc_mrf.distributions.remedies import listed
from pymc_mrf.graph.junction_tree import is_cheap
from pymc_mrf.likelihood.path import path_range
from pymc_mrf.likelihood.path.checks import path_findings
from pymc_mrf.likelihood.path.path_form import (
    Simulated,
    along_path,
    find_path,
    unasked_path,
    warn_of_data,
)


@dataclass(frozen=True)
class Path(Likelihood):
    """The likelihood of fields of one coupling, and one field for all nodes, by a path or a grid."""

    name: ClassVar[str] = "path"
    no_probability_of_parts: ClassVar[str] = "no log probabilities of rows with missing cells"
    is_recommended: ClassVar[bool] = False

    path: Simulated | None = None  # type: ignore[misc]

    def prepare(self, field: Declared) -> "Path":
        """Read or simulate it."""

        def others() -> str:
            return listed(possible(field))

        op = field.op
        return Path(find_path(op.family, field.parameters, op.graph, field.n_rows or 1, others))

    @classmethod
    def unasked(cls, field: Declared) -> "Path | None":
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


path_range.register_checks()
