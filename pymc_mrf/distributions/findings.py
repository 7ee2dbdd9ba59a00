"""One thing that speaks for or against trusting a run."""

from typing import NamedTuple

AGAINST, NOTE, FOR = "against", "note", "for"


class Finding(NamedTuple):
    """One finding.

    Attributes
    ----------
    level : {"against", "note", "for"}
    subject : str
        A variable or a step.
    value : float or None
        The number that it rests on.
    text : str
    remedy : str
        Empty if none is needed.
    """

    level: str
    subject: str
    value: float | None
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}" + (f". Remedy: {self.remedy}" if self.remedy else "")
