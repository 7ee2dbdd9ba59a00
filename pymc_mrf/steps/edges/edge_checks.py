"""What `EdgeGibbs` finds out about itself: what a pseudo-likelihood overstates, no moves."""

from collections.abc import Iterator

import numpy as np

from pymc_mrf.graph.lagged import LaggedGraph
from pymc_mrf.likelihood.pseudo.checks import overstated_edges, strong_couplings
from pymc_mrf.steps.common.chain_state import ChainCount, Remembering
from pymc_mrf.steps.common.observed_field import ObservedField


class PseudoClaims(Remembering):
    """What the draws of a chain claim by a pseudo-likelihood.

    Attributes
    ----------
    n_draws : int
    included, log_odds : (r,) arrays
        Sums over the draws: whether each edge is present, and the log odds of that a priori.
    weights : list of pairs of arrays
        Parameters of all edges of all fields at some of the draws: places and values of those not 0, as most
        of many edges are absent.
    """

    remembers = ("n_draws", "included", "log_odds", "weights")

    def __init__(self) -> None:
        self.n_draws, self.included, self.log_odds = 0, np.zeros(0), np.zeros(0)
        self.weights: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, present: np.ndarray, log_odds: np.ndarray) -> None:
        """Add a draw with these edges (r,)."""
        if not self.n_draws:
            self.included, self.log_odds = np.zeros((2, len(present)))
        self.n_draws += 1
        self.included += present
        self.log_odds += log_odds

    def keep(self, weights: np.ndarray) -> None:
        """Keep the parameters of all edges of all fields at this draw."""
        [places] = np.nonzero(weights)
        self.weights.append((places, weights[places]))

    def warn(self, name: str, fields: list[ObservedField], instead: str) -> list[str]:
        """Warn of claims about the edges called `name`, for one reason only.

        `instead` is another likelihood of the fields, "" if there is none.
        """
        twice = seen_twice(fields, len(self.included))
        claims = self.included[twice] / self.n_draws, self.log_odds[twice] / self.n_draws
        said = overstated_edges(name, fields[0].name, *claims, fields[0].likelihood.weight)
        if said or not fields[0].likelihood.looks_at_couplings:
            return said
        sizes = [field.factors.size for field in fields]
        for field, first in zip(fields, np.cumsum(sizes) - sizes, strict=True):
            said += strong_couplings(field, self._means(field, first), instead)
        return said

    def _means(self, field: ObservedField, first: int) -> Iterator[np.ndarray]:
        """Mean parameters (r,) over the rows of a field, whose own begin at `first`, draw by draw."""
        rows = [len(block) for block in field.blocks]
        for places, values in self.weights:
            eta = np.zeros(field.factors.size)
            own = (places >= first) & (places < first + len(eta))
            eta[places[own] - first] = values[own]
            yield np.average(eta.reshape(len(rows), -1), axis=0, weights=rows)


def seen_twice(fields: list[ObservedField], n_entries: int) -> np.ndarray:
    """Whether each entry of the vector is that of an edge both of whose ends count the same rows."""
    seen = np.zeros(n_entries, dtype=bool)
    for field in fields:
        if field.family.has_blocks:
            return ~seen
        used = (field.factors != 0.0).any(axis=0)
        if isinstance(field.graph, LaggedGraph):
            used &= field.graph.lag_of == 0  # an arrow has one end
        seen[field.entries[used]] = True
    return seen


def never_changed(name: str, count: ChainCount) -> list[str]:
    """Warn if no draw changed an edge or a weight."""
    if not count.stood_still:
        return []
    return [
        f"{name} never changed in {count.n_draws} draws: EdgeGibbs changed neither an edge nor a weight, "
        "and these draws are no sample. Tune longer (pm.sample(tune=...)), start elsewhere "
        "(initvals={...}), or give the slab more room if it ends near the values"
    ]
