"""`likelihood="pseudo"`: its option, how often the evidence about an edge counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_mrf.likelihood.conditional_weights import COUNTED_ONCE


@dataclass(frozen=True)
class Pseudo:
    """Option of the pseudo-likelihood: ``likelihood=pymc_mrf.Pseudo(weight=1)``.

    The pseudo-likelihood is the product of the full conditionals (Besag, 1975), each to the power of the
    weight.

    Parameters
    ----------
    weight : float
        Of each conditional. An edge stands in the conditionals of both of its ends: with 1/2, which
        ``likelihood="pseudo"`` has, the evidence about it is counted once. The usual form has 1 and counts it
        twice: Bayes factors are about squares, and standard deviations too small by up to the square root of
        two. It serves comparisons with other programs. What stands in one conditional only, as biases do, is
        counted as often as the weight says, but for arrows of a `KineticMRF` and the biases of their targets,
        which are counted once. Conditionals of nodes without edges have 1 whatever the weight.

    Raises
    ------
    ValueError
        If the weight is not a positive number up to 1.

    References
    ----------
    Besag (1975); Pauli, Racugno & Ventura (2011) and Ribatet, Cooley & Davison (2012) on weights of composite
    likelihoods.
    """

    weight: float = COUNTED_ONCE

    def __post_init__(self) -> None:
        """Check the option."""
        if isinstance(self.weight, bool | np.bool_) or not isinstance(
            self.weight, int | float | np.number
        ):
            raise TypeError(f"weight must be a number, such as 1, not {self.weight!r}")
        if not 0.0 < self.weight <= 1.0:
            raise ValueError(
                f"weight must be above 0 and at most 1, not {self.weight!r}: 1/2 counts an edge once, 1 as "
                "often as both of its ends"
            )
        object.__setattr__(self, "weight", float(self.weight))


def read_pseudo(likelihood: Any) -> tuple[Any, float]:
    """Split an option `likelihood` into the name of its kind and the weight of each conditional.

    Other kinds are returned as they are.

    Raises
    ------
    TypeError
        If it is the class of the option and not an object of it.
    """
    if likelihood is Pseudo:
        raise TypeError(
            "likelihood=pymc_mrf.Pseudo is a class: call it, likelihood=pymc_mrf.Pseudo(weight=1)"
        )
    if isinstance(likelihood, Pseudo):
        return "pseudo", likelihood.weight
    return likelihood, COUNTED_ONCE
