"""Exact likelihoods of fields in time: of nodes given the earlier rows, and of rows with links in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pymc.pytensorf import constant_fold

from pymc_mrf.distributions.elementwise_terms import ElementwiseTerm
from pymc_mrf.distributions.kinetic_rv import log_conditionals, log_rows
from pymc_mrf.distributions.likelihood import Declared, Likelihood
from pymc_mrf.likelihood.conditional.listed_groups import ListedRowLikelihood
from pymc_mrf.likelihood.conditional.listed_rows import ListedRowEdges
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine
from pymc_mrf.likelihood.groups.group_engine import GroupEngine
from pymc_mrf.likelihood.pseudo.pseudo_edges import ConditionalEdges
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoLikelihood

MAX_CELLS = 2**22
"""Largest number of rows times the states of a row for which these are listed, in a table of 32 MB."""

LISTED = 'declare it with likelihood="exact" if the states of a row are few, or without links'


@dataclass(frozen=True)
class Conditional(Likelihood):
    """Without links, nodes are independent given the earlier rows."""

    name: ClassVar[str] = "conditional"
    is_recommended: ClassVar[bool] = False  # there is nothing to choose
    serves_blocks: ClassVar[bool] = False
    lists_rows: ClassVar[bool] = False

    @classmethod
    def unasked(cls, field: Declared) -> "Conditional | None":
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

    def edge_engine(self, blocks, x, graph, family, moves_biases, **options) -> EdgeEngine:
        """Look at the rows."""
        return ConditionalEdges(x, graph, family, moves_biases, **options)

    def group_engine(self, *arguments) -> GroupEngine:
        """Look at the rows."""
        return PseudoLikelihood(*arguments, weight=1.0)


@dataclass(frozen=True)
class ListedRows(Conditional):
    """With links, all states of a row are listed for each set of earlier rows."""

    name: ClassVar[str] = "exact"
    is_recommended: ClassVar[bool] = True
    lists_rows: ClassVar[bool] = True

    @classmethod
    def serves(cls, field: Declared) -> bool:
        """Whether there are links, and the states of a row are few enough to be listed for all rows."""
        op = field.op
        n_states = (
            op.family.possible(op.n_variables).sum(axis=1).prod(dtype=float)
        )  # integers would wrap
        return bool(op.graph.n_links) and len(op.rows.observations) * n_states <= MAX_CELLS

    @classmethod
    def unasked(cls, field: Declared) -> None:
        """Never."""

    def prepare(self, field: Declared) -> "ListedRows":
        """Refuse too many states."""
        if not self.serves(field):
            raise ValueError(
                f'likelihood="exact" lists the states of a row for each of {len(field.op.rows.observations)} '
                f'rows, more than {MAX_CELLS} together: use "pseudo", or fewer columns'
            )
        return self

    def log_density(self, op: Any, indices: Any, parameters: Sequence, value: Any) -> Any:
        """Log probability of each row among all its states."""
        return log_rows(op, indices, parameters)

    def edge_engine(self, blocks, x, graph, family, moves_biases, **options) -> EdgeEngine:
        """List the states."""
        return ListedRowEdges(x, graph, family, moves_biases, **options)

    def group_engine(self, *arguments) -> GroupEngine:
        """List the states."""
        return ListedRowLikelihood(*arguments)
