"""Likelihoods of fields in time: of nodes given the earlier rows, and of rows with links within them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from pymc.pytensorf import constant_fold

from pymc_mrf.distributions.foreign_routes import ElementwiseTerm
from pymc_mrf.distributions.kinetic_rv import log_conditionals, log_rows
from pymc_mrf.distributions.likelihood import DeclaredField, Likelihood
from pymc_mrf.likelihood.conditional.listed_rows import ListedRowEdges, ListedRowGroups
from pymc_mrf.likelihood.pseudo.checks import unjudged
from pymc_mrf.likelihood.pseudo.conditional_weights import graph_weights, rest_weights
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo
from pymc_mrf.likelihood.pseudo.pseudo_edges import ConditionalEdges
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoGroups

MAX_CELLS = 2**22
"""Largest number of rows times the states of a row for which these are listed, in a table of 32 MB."""

LISTED = 'declare it with likelihood="exact" if the states of a row are few, or without links'


def _check_links(field: DeclaredField, likelihood: Likelihood) -> None:
    """Refuse a likelihood of links where there are none."""
    if not field.op.graph.n_links:
        raise ValueError(
            f'likelihood="{likelihood.name}" is for links within rows; without them it is exact: leave it out'
        )


class Conditional(Likelihood):
    """Without links, nodes are independent given the earlier rows."""

    name: ClassVar[str] = "conditional"
    is_recommended: ClassVar[bool] = False  # there is nothing to choose
    edges: ClassVar[Any] = ConditionalEdges
    groups: ClassVar[Any] = PseudoGroups
    serves_blocks: ClassVar[bool] = False
    lists_rows: ClassVar[bool] = False

    @classmethod
    def unasked(cls, field: DeclaredField) -> "Conditional | None":
        """Where there are no links."""
        return None if field.op.graph.n_links else cls()

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Add up the nodes of each row."""
        return log_conditionals(op, indices, parameters).sum(axis=-1)

    def log_density_of_observed(self, field: Any, table: Any, mask: Any, joint: Any) -> Any:
        """Log probability of complete rows given complete rows before."""
        missing = constant_fold([mask])[0].any(axis=1)
        complete = np.flatnonzero(~missing[field.owner.op.rows.observations].any(axis=1))
        return ElementwiseTerm()(joint, joint[complete])

    def of_groups(self) -> dict[str, Any]:
        """Return the weight of conditionals that are likelihoods."""
        return {} if self.lists_rows else {"weight": 1.0}


class ExactRows(Conditional):
    """With links, all states of a row are listed for each set of earlier rows."""

    name: ClassVar[str] = "exact"
    edges: ClassVar[Any] = ListedRowEdges
    groups: ClassVar[Any] = ListedRowGroups
    is_recommended: ClassVar[bool] = True
    lists_rows: ClassVar[bool] = True

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether there are links, and the states of a row are few enough to be listed for all rows."""
        op = field.op
        # integers would wrap around
        n_states = op.family.possible(op.n_variables).sum(axis=1).prod(dtype=float)
        return bool(op.graph.n_links) and len(op.rows.observations) * n_states <= MAX_CELLS

    @classmethod
    def unasked(cls, field: DeclaredField) -> None:
        """Never."""

    def prepare(self, field: DeclaredField) -> "ExactRows":
        """Refuse too many states."""
        _check_links(field, self)
        if not self.serves(field):
            raise ValueError(
                f'likelihood="exact" lists the states of a row for each of {len(field.op.rows.observations)} '
                f'rows, more than {MAX_CELLS} together: use "pseudo", or fewer columns'
            )
        return self

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Log probability of each row among all its states."""
        return log_rows(op, indices, parameters)


@dataclass(frozen=True)
class PseudoOfLinks(Pseudo):
    """Conditionals of nodes given the earlier rows and the others of their row.

    Arrows are counted once, whatever the weight of links, by second conditionals given what neighbours are
    expected to be.
    """

    else_declare: ClassVar[str] = LISTED
    lists_rows: ClassVar[bool] = False
    looks_at_couplings: ClassVar[bool] = False  # rows of fields in time are not those of a field

    expected: ExpectedNeighbours | None = None

    @classmethod
    def serves(cls, field: DeclaredField) -> bool:
        """Whether there are links."""
        return bool(field.op.graph.n_links)

    @classmethod
    def unasked(cls, field: DeclaredField) -> "PseudoOfLinks | None":
        """Where there are links."""
        return cls().prepare(field) if cls.serves(field) else None

    def prepare(self, field: DeclaredField) -> "PseudoOfLinks":
        """Estimate, from the rows, what neighbours are expected to be."""
        _check_links(field, self)
        graph, windows = field.op.graph, field.data.values
        if not rest_weights(graph, self.weight).any():
            return self
        if windows is None:
            windows = np.zeros((0, (1 + len(graph.lags)) * graph.n_nodes), dtype=np.int8)
        return replace(self, expected=ExpectedNeighbours(windows, graph, field.op.family))

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Weigh the conditionals."""
        weights = graph_weights(op.graph, self.weight)
        logp = (weights * log_conditionals(op, indices, parameters)).sum(axis=-1)
        if self.expected is None:
            return logp
        rest = rest_weights(op.graph, self.weight)
        return logp + (rest * log_conditionals(op, indices, parameters, self.expected)).sum(axis=-1)

    def of_edges(self, blocks: Sequence[Any]) -> dict[str, Any]:
        """Return the weight, and what neighbours are expected to be."""
        expected = [one.expected for one in blocks]
        return super().of_edges(blocks) | {"expected": expected if any(expected) else []}

    def of_groups(self) -> dict[str, Any]:
        """Return the weight, and what neighbours are expected to be."""
        return super().of_groups() | {"expected": () if self.expected is None else (self.expected,)}

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Say that couplings are not looked at; of arrows, which may share a vector, the step tells."""
        return unjudged("links within the rows of a field in time", rv, node, draws)
