"""What a step has to say at the end of a chain, through PyMC's own channel.

PyMC logs a statistic "warning" in the main process, whichever process samples the chain, and leaves it out of
the results.
"""

from collections.abc import Sequence

from pymc.stats.convergence import SamplerWarning, WarningType

WARNING_STAT = (SamplerWarning, None)
LEAST_DRAWS = 50  # below which a variable may stand still by chance


def chain_warning(messages: Sequence[str]) -> SamplerWarning | None:
    """Make one warning of some messages; None if there are none."""
    if not messages:
        return None
    return SamplerWarning(WarningType.BAD_PARAMS, "\n".join(messages), "warn")
