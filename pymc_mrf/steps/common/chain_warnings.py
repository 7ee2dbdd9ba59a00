"""What steps say at the ends of chains, logged once per run."""

import re
from typing import ClassVar

from pymc.stats.convergence import SamplerWarning, WarningType

NUMBER = re.compile(r"(?<!\w)\d[\d.]*")  # no part of a name


class ChainWarning(SamplerWarning):
    """Messages of one chain, of which those count that no other chain of the run has logged.

    PyMC logs the messages of every chain in the main process, whichever samples the chain, at their level.
    Messages are the same if nothing but numbers in them differ.

    Parameters
    ----------
    messages : list of str
    """

    _logged: ClassVar[set[str]] = set()

    def __init__(self, messages: list[str]) -> None:
        self._messages, self._level = messages, ""
        super().__init__(WarningType.BAD_PARAMS, "\n".join(messages), "warn")

    @classmethod
    def begin_run(cls) -> None:
        """Forget what chains of other runs have said."""
        cls._logged.clear()

    @property
    def level(self) -> str:
        """Level of logging: "warn", or "debug" if other chains said it all; found out when asked for."""
        if not self._level:
            new = [text for text in self._messages if NUMBER.sub("#", text) not in self._logged]
            self._logged.update(NUMBER.sub("#", text) for text in new)
            self.message, self._level = "\n".join(new or self._messages), "warn" if new else "debug"
        return self._level

    @level.setter
    def level(self, value: str) -> None:
        pass  # what `SamplerWarning` is made with
