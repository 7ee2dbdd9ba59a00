"""What `EdgeGibbs` finds out about itself: what a pseudo-likelihood overstates, no moves."""

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
    weights : list of arrays
        Parameters of all edges of all fields at some of the draws.
    """

    remembers = ("n_draws", "included", "log_odds", "weights")

    def __init__(self) -> None:
        self.n_draws, self.included, self.log_odds = 0, np.zeros(1), np.zeros(1)
        self.weights: list[np.ndarray] = []

    def add(self, present: np.ndarray, log_odds: np.ndarray) -> None:
        """Add a draw with these edges (r,)."""
        self.n_draws += 1
        self.included, self.log_odds = self.included + present, self.log_odds + log_odds

    def warn(self, name: str, fields: list[ObservedField], instead: str) -> list[str]:
        """Warn of claims about the edges called `name`, for one reason only.

        `instead` is another likelihood of the fields, "" if there is none.
        """
        twice = seen_twice(fields, len(self.included))
        claims = self.included[twice] / self.n_draws, self.log_odds[twice] / self.n_draws
        said = overstated_edges(name, fields[0].name, *claims, fields[0].likelihood.weight)
        if said or not fields[0].likelihood.looks_at_couplings:
            return said
        ends = np.cumsum([field.factors.size for field in fields])[:-1]
        for field, eta in zip(fields, np.split(np.array(self.weights), ends, 1), strict=True):
            rows = [len(block) for block in field.blocks]
            means = np.average(eta.reshape(len(eta), len(rows), -1), axis=1, weights=rows)
            said += strong_couplings(field, list(means), instead)
        return said


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
