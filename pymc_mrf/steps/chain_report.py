"""What a step has to say at the end of a chain, through PyMC's own channel.

PyMC logs a statistic "warning" in the main process, whichever process samples the chain, and leaves it out of
the results.
"""

from collections.abc import Sequence

from pymc.stats.convergence import SamplerWarning, WarningType
from pymc.step_methods.state import DataClassState, WithSamplingState, dataclass_state

from pymc_mrf.steps.targets import LEAST_DRAWS

WARNING_STAT = (SamplerWarning, None)


def chain_warning(messages: Sequence[str]) -> SamplerWarning | None:
    """Make one warning of some messages; None if there are none."""
    if not messages:
        return None
    return SamplerWarning(WarningType.BAD_PARAMS, "\n".join(messages), "warn")


@dataclass_state
class ChainCountState(DataClassState):
    """Everything that changes while a chain runs."""

    length: int
    n_left: int
    n_draws: int
    moved: bool


class ChainCount(WithSamplingState):
    """The draws of a chain, and whether any of them moved the variable of a step.

    Parameters
    ----------
    tune, draws : int
        Steps of the chain before and after the end of tuning.

    Attributes
    ----------
    length, n_left, n_draws : int
        Draws that there will be; steps that are left; draws so far.
    """

    _state_class = ChainCountState

    def __init__(self, tune: int = 0, draws: int = 0) -> None:
        self.length, self.n_left = draws, tune + draws
        self.n_draws, self.moved = 0, False

    def add(self, tune: bool, moved: bool) -> bool:
        """Count a step; whether the chain ends with it."""
        self.n_left -= 1
        if not tune:
            self.n_draws += 1
            self.moved = self.moved or moved
        return self.n_left == 0

    @property
    def stood_still(self) -> bool:
        """Whether no draw moved the variable, although there were enough of them."""
        return not self.moved and self.n_draws >= LEAST_DRAWS
