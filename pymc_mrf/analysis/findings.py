"""What a diagnosis consists of."""

import textwrap

from pymc_mrf.distributions.likelihood import AGAINST, FOR, NOTE, Finding

HEADINGS = {
    AGAINST: "Against trusting this run",
    NOTE: "Worth knowing",
    FOR: "For trusting this run",
}
WIDTH, MAX_LINES = 96, 12  # of a heading


class Diagnosis:
    """Findings about a run; printed, one page.

    Attributes
    ----------
    findings : tuple of Finding
        Those against trusting the run first.
    n_chains, n_draws : int
    """

    def __init__(self, findings: list[Finding], n_chains: int, n_draws: int) -> None:
        order = list(HEADINGS)
        self.findings = tuple(sorted(findings, key=lambda finding: order.index(finding.level)))
        self.n_chains, self.n_draws = n_chains, n_draws

    @property
    def ok(self) -> bool:
        """Whether the run was judged and nothing speaks against it."""
        return not any(finding.level == AGAINST for finding in self.findings)

    def __repr__(self) -> str:
        lines = [f"Diagnosis of {self.n_chains} chains of {self.n_draws} draws"]
        for level, heading in HEADINGS.items():
            here = [str(finding) for finding in self.findings if finding.level == level]
            if level == AGAINST and not here:
                here = ["nothing was found"]
            if not here:
                continue
            lines += ["", heading]
            for text in here[:MAX_LINES]:
                lines += textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")
            if len(here) > MAX_LINES:
                lines.append(f"- and {len(here) - MAX_LINES} more: see the attribute findings")
        return "\n".join(lines)
