"""Base of the engines around those of fields, which answer what they do not."""

import numpy as np

from pymc_mrf.likelihood.data_counts import Data
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine


class WrappedEngine(EdgeEngine):
    """Base of the engines whose view is one around those of the engines of fields.

    Parameters
    ----------
    *parts : EdgeEngine
        One, or as many as the data have blocks. `information` and what chains start with are of the first.
    """

    def __init__(self, *parts: EdgeEngine) -> None:
        self._parts, first = parts, parts[0]
        self.starts_at_default = first.starts_at_default  # type: ignore[misc]
        self.information, self.correlations = first.information, first.correlations

    def set_data(self, x: Data) -> None:
        for part, own in zip(self._parts, x if len(self._parts) > 1 else [x], strict=True):
            part.set_data(own)

    def refresh(self, rng) -> None:
        for part in self._parts:
            part.refresh(rng)

    def stretch(self, rng) -> float:
        return self._parts[0].stretch(rng)

    def remember(self) -> None:
        for part in self._parts:
            part.remember()

    def learn(self, weight: float) -> None:
        self._parts[0].learn(weight)

    def told_of_place(self) -> list[np.ndarray]:
        return [array for part in self._parts for array in part.told_of_place()]

    def statistics(self) -> dict[str, float]:
        found = [part.statistics() for part in self._parts]
        worst = {name: max(one[name] for one in found) for name in found[0]}
        return {**worst, "ess": min(one["ess"] for one in found)}

    def measure_noise(self) -> float | None:
        found = [part.measure_noise() for part in self._parts]
        known = [noise for noise in found if noise is not None]
        return float(np.sqrt(np.sum(np.square(known)))) if known else None

    def edge_parameters(self) -> np.ndarray:
        return np.concatenate([part.edge_parameters() for part in self._parts])
