"""What a network is and what is known of it, in words: for texts and pages alike."""

import textwrap
from typing import TYPE_CHECKING, Any

from pymc_mrf.analysis.findings import AGAINST, NOTE, WIDTH, Diagnosis

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10  # edges of a summary
COLUMNS = ("mean", "sd", "inclusion", "bayes_factor_text", "r_hat", "ess")


def heading(net: Any) -> str:
    """Say what the network is."""
    n, r = net.graph.n_nodes, net.graph.n_edges
    what = "arrows" if net.is_in_time else "edges"
    sizes = net.idata["posterior"].sizes
    draws = f"{sizes['chain']} chain{'s' if sizes['chain'] > 1 else ''} of {sizes['draw']} draws"
    where = (
        f"field {net.field!r}" if net.field is not None else f"groups {', '.join(map(str, net.groups))}"
    )
    return f"{net.record.kind} of {n} nodes and {r} candidate {what}: {net.weight!r} of {where}; {draws}"


def claims(net: Any) -> list[str]:
    """Say what is known of the edges as a whole."""
    found = []
    table = net.edges
    one, all_of_them = ("an arrow", "Arrows") if net.is_in_time else ("an edge", "Edges")
    if "bayes_factor" in table:
        counts = net.evidence()["evidence"].value_counts()
        told = [f"{counts.get('for', 0)} for {one}", f"{counts.get('against', 0)} against one"]
        found.append(
            f"Evidence (Bayes factors beyond 10 and 1/10): {', '.join(told)}, "
            f"{counts.get('undecided', 0)} undecided"
        )
    if "inclusion" in table:
        above = int((table["inclusion"] > 0.5).sum())
        found.append(f"{all_of_them} more probable than one half: {above} of {len(table)}")
    if net.is_grouped:
        numbers = net.edge_groups.attrs["n_groups"]
        likely = max(numbers, key=numbers.get)
        found.append(
            f"Groups of edges: {len(net.edge_groups)}, by one grouping; their number is most probably "
            f"{likely}, with probability {numbers[likely]:.2f}"
        )
    if net.field is None:
        for pair, row in net.compare().iterrows():
            found.append(f"Networks equal, {pair}: probability {row['equal']:.2f}")
    return found


def trust(diagnosis: Diagnosis) -> list[str]:
    """Tell what speaks against trusting the run."""
    found = [f"Against trusting this run: {f}" for f in diagnosis.findings if f.level == AGAINST]
    return found or ["Nothing speaks against trusting this run"]


def notes(diagnosis: Diagnosis) -> list[str]:
    """Tell what is worth knowing of the run besides."""
    return [str(finding) for finding in diagnosis.findings if finding.level == NOTE]


def first_edges(net: Any) -> "pd.DataFrame":
    """Return the first rows of the table of the edges, in its most telling columns."""
    table = net.edges
    names = [name for name in ("group", *COLUMNS) if name in table]
    return table[names].head(SHOWN)


def summary(net: Any) -> str:
    """All of it, as text."""
    lines, diagnosis = [], net.diagnose()
    told = trust(diagnosis)
    if more := len(notes(diagnosis)):
        told.append(f"Worth knowing: {more} more finding{'s' if more > 1 else ''} of diagnose()")
    for text in (heading(net), *claims(net), *told):
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="  ")
    return "\n".join([*lines, "", first_edges(net).to_string(float_format="%.3g")])
