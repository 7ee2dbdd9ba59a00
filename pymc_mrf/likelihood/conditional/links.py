"""`likelihood="pseudo"` of fields in time with links within rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pymc_mrf.distributions.kinetic_rv import log_conditionals
from pymc_mrf.distributions.likelihood import Declared
from pymc_mrf.likelihood.conditional.likelihood import LISTED
from pymc_mrf.likelihood.pseudo.checks import unjudged
from pymc_mrf.likelihood.pseudo.conditional_weights import graph_weights, rest_weights
from pymc_mrf.likelihood.pseudo.expected_neighbours import ExpectedNeighbours
from pymc_mrf.likelihood.pseudo.likelihood import Pseudo
from pymc_mrf.likelihood.pseudo.pseudo_edges import PseudoEdges
from pymc_mrf.likelihood.pseudo.pseudo_groups import PseudoLikelihood


@dataclass(frozen=True)
class PseudoOfLinks(Pseudo):
    """Conditionals of nodes given the earlier rows and the others of their row.

    Arrows are counted once, whatever the weight of links, by second conditionals given what neighbours are
    expected to be.
    """

    else_declare: ClassVar[str] = LISTED
    looks_at_couplings: ClassVar[bool] = False  # rows of fields in time are not those of a field

    expected: ExpectedNeighbours | None = None  # type: ignore[misc]

    @classmethod
    def serves(cls, field: Declared) -> bool:
        """Whether there are links."""
        return bool(field.op.graph.n_links)

    @classmethod
    def unasked(cls, field: Declared) -> "PseudoOfLinks | None":
        """Where there are links."""
        return cls().prepare(field) if cls.serves(field) else None

    def prepare(self, field: Declared) -> "PseudoOfLinks":
        """Estimate, from the rows, what neighbours are expected to be."""
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

    def edge_engine(self, blocks, x, graph, family, moves_biases, **options) -> PseudoEdges:
        """Look at the rows."""
        if self.expected is not None:
            options["expected"] = [one.expected for one in blocks]
        return super().edge_engine(blocks, x, graph, family, moves_biases, **options)

    def group_engine(self, *arguments) -> PseudoLikelihood:
        """Look at the rows."""
        expected = () if self.expected is None else (self.expected,)
        return PseudoLikelihood(*arguments, weight=self.weight, expected=expected)

    def findings(self, rv: Any, node: Any, draws: Any) -> list:
        """Say that couplings are not looked at; of arrows, which may share a vector, the step tells."""
        return unjudged("links within the rows of a field in time", rv, node, draws)
