"""A network as HTML: a fragment for notebooks, and a page that needs neither a server nor other files."""

from html import escape
from typing import TYPE_CHECKING, Any

from pymc_mrf.network import svg, words

if TYPE_CHECKING:
    import pandas as pd

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left; white-space: nowrap }
thead th { cursor: pointer; position: sticky; top: 0; background: #fff; white-space: nowrap }
thead th[aria-sort=ascending]::after { content: " \\25B2" }
thead th[aria-sort=descending]::after { content: " \\25BC" }
.scroll { max-height: 40em; overflow: auto }
svg { width: min(100%, 55em); height: auto }
.against { color: #b00020 }
"""

# a click on the head of a column sorts by it, numbers as numbers; a second click turns the order round; empty
# cells stay last
SCRIPT = """
for (const head of document.querySelectorAll("table thead th")) head.onclick = () => {
  const table = head.closest("table"), rows = [...table.tBodies[0].rows], k = head.cellIndex;
  const key = row => {
    const text = row.cells[k].textContent.trim(), number = Number(text.replace("inf", "Infinity"));
    return Number.isNaN(number) ? text : text && number;
  };
  const less = (a, b) => typeof a === typeof b ? a < b : typeof a === "number";
  const up = head.getAttribute("aria-sort") === "descending";
  const order = (a, b) => less(a, b) ? -1 : less(b, a) ? 1 : 0;
  const by = (a, b) => (a === "") - (b === "") || (up ? 1 : -1) * order(a, b);
  rows.sort((a, b) => by(key(a), key(b)));
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  table.tBodies[0].append(...rows);
};
"""


def page(net: Any, title: str) -> str:
    """Make the whole page."""
    parts = [f"<h1>{escape(title)}</h1>", _told(net), "<h2>The network</h2>", svg.network(net)]
    for name, table in tables(net).items():
        parts += [f"<h2>{escape(name)}</h2>", f'<div class="scroll">{as_html(table)}</div>']
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def fragment(net: Any) -> str:
    """Make what a notebook shows: what is known, the first edges, and the network."""
    return "\n".join([f"<div>{_told(net)}", as_html(words.first_edges(net)), svg.network(net), "</div>"])


def tables(net: Any) -> dict[str, "pd.DataFrame"]:
    """Return the tables of a page, by their titles."""
    found = {"Edges": net.edges.drop(columns=["u", "v", "source", "target"], errors="ignore")}
    if net.is_grouped:
        found["Groups of edges"] = net.edge_groups
    if net.field is None:
        found["Differences between groups"] = net.differences().drop(columns=["u", "v"])
        found["Networks of groups"] = net.compare()
    if net.record.has_sums:
        found["Nodes"] = net.nodes.reset_index("measure")
    return found


def as_html(table: "pd.DataFrame") -> str:
    """Write a table, all texts escaped, its labels as the first column."""
    label = table.index.name or "networks"
    plain = table.rename_axis(None).reset_index(names=str(label))
    return plain.to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="", escape=True)


def _told(net: Any) -> str:
    lines = [f"<p>{escape(text)}</p>" for text in (words.heading(net), *words.claims(net))]
    diagnosis = net.diagnose()
    mark = "" if diagnosis.ok else ' class="against"'
    lines += [f"<p{mark}>{escape(text)}</p>" for text in words.trust(diagnosis)]
    if notes := words.notes(diagnosis):
        items = "".join(f"<li>{escape(text)}</li>" for text in notes)
        lines.append(f"<details><summary>Worth knowing</summary><ul>{items}</ul></details>")
    return "\n".join(lines)
