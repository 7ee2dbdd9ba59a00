"""Base of the engines around the engine of a field, which answers what they do not."""

import numpy as np

from pymc_mrf.likelihood.data_counts import Data
from pymc_mrf.likelihood.edges.edge_engine import EdgeEngine


class WrappedEngine(EdgeEngine):
    """Base of the engines whose view is one around that of the engine of a field.

    Parameters
    ----------
    whole : EdgeEngine
        Of the field.
    """

    def __init__(self, whole: EdgeEngine) -> None:
        self._whole = whole
        self.is_pseudo, self.starts_empty = whole.is_pseudo, whole.starts_empty  # type: ignore[misc]
        self.information, self.correlations = whole.information, whole.correlations

    def go_to(self, w, b) -> None:
        self._whole.go_to(w, b)

    def set_data(self, x: Data) -> None:
        self._whole.set_data(x)

    def refresh(self, rng) -> None:
        self._whole.refresh(rng)

    def stretch(self, rng) -> float:
        return self._whole.stretch(rng)

    def remember(self) -> None:
        self._whole.remember()

    def learn(self, weight: float) -> None:
        self._whole.learn(weight)

    def told_of_place(self) -> list[np.ndarray]:
        return self._whole.told_of_place()

    def statistics(self) -> dict[str, float]:
        return self._whole.statistics()

    def measure_noise(self) -> float | None:
        return self._whole.measure_noise()

    def edge_parameters(self) -> np.ndarray:
        return self._whole.edge_parameters()
