"""Roll calls of the 109th United States Senate (2005-2006), as Liu & Page (2013, sec. 5) use them.

`senate109.csv.gz` is the public voting record as compiled in the R package pscl (data set s109):
1 yea, 0 nay, empty not voting. `senate109_graph.csv` is made by
``examples/liu_page_2013/senate_graph.py``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pymc_mrf.datasets._files import rows_of_file

if TYPE_CHECKING:
    import networkx as nx


# Corzine left the Senate after the first session and Menendez took his seat
DROPPED = ("CORZINE (D NJ)", "MENENDEZ (D NJ)")
CONTESTED = (10, 90)  # votes in favour, of 99
SPELLING = {"DEMINT": "DeMint", "DEWINE": "DeWine", "MCCAIN": "McCain", "MCCONNELL": "McConnell"}
PARTY = {"D": "D", "R": "R", "Indep": "I"}


@dataclass(frozen=True, repr=False)
class Senate109:
    """Contested votes of the 109th Senate and a graph of senators.

    Attributes
    ----------
    x : (n, 99) int64 array
        1 for a vote in favour, 0 for a vote against or no vote.
    graph : networkx.Graph
        99 nodes in column order, 279 edges found by node-wise L1 logistic regression on the votes
        of both sessions; edge attribute ``strength``.
    names : tuple of str
        Node labels such as "Obama (D-IL)".
    party, state : (99,) str arrays
        "D", "R" or "I"; postal code.
    date : (n,) datetime64[D] array
    session : (n,) int64 array
        1 (2005) or 2 (2006).
    number : (n,) int64 array
        Number of the roll call within its session.
    """

    x: np.ndarray
    graph: "nx.Graph"
    names: tuple[str, ...]
    party: np.ndarray
    state: np.ndarray
    date: np.ndarray
    session: np.ndarray
    number: np.ndarray

    def __repr__(self) -> str:
        sessions = " and ".join(str(s) for s in np.unique(self.session))
        return (
            f"Senate109({len(self.x)} contested votes of session {sessions}, "
            f"{len(self.names)} senators, {self.graph.number_of_edges()} edges)"
        )


def _senator(column: str) -> tuple[str, str, str]:
    """Readable name, party and state from a heading such as "OBAMA (D IL)"."""
    name, origin = column.removesuffix(")").split(" (")
    party, state = origin.split()
    name = SPELLING.get(name, name.capitalize())
    return f"{name} ({PARTY[party]}-{state})", PARTY[party], state


def contested_votes() -> dict:
    """Contested votes of both sessions as the fields of `Senate109`, without the graph."""
    header, *rows = rows_of_file("senate109.csv.gz")
    columns = [j for j in range(3, len(header)) if header[j] not in DROPPED]
    x = np.array([[int(row[j] == "1") for j in columns] for row in rows], dtype=np.int64)
    in_favour = x.sum(axis=1)
    contested = (in_favour >= CONTESTED[0]) & (in_favour <= CONTESTED[1])
    names, party, state = zip(*(_senator(header[j]) for j in columns), strict=True)
    return {
        "x": x[contested],
        "names": names,
        "party": np.array(party),
        "state": np.array(state),
        "date": np.array([row[0] for row in rows], dtype="datetime64[D]")[contested],
        "session": np.array([int(row[1]) for row in rows])[contested],
        "number": np.array([int(row[2]) for row in rows])[contested],
    }


def load_senate109(session: int | None = None) -> Senate109:
    """Contested votes of the 109th US Senate with a graph of its senators.

    Votes with 10 to 90 of 99 senators in favour are contested; a missing vote counts as no; Corzine
    and Menendez, who shared a seat, are left out (Liu & Page, 2013, sec. 5). Session 1 has 292 such
    votes and session 2 has 222. The graph is the same whichever session is asked for.

    Parameters
    ----------
    session : {1, 2, None}
        1 for 2005, 2 for 2006, None for both.

    Returns
    -------
    Senate109

    Raises
    ------
    ValueError
        If `session` is anything else.
    """
    import networkx as nx

    if session is not None and (type(session) is not int or session not in (1, 2)):
        raise ValueError(
            f"session must be 1 (2005), 2 (2006) or None for both sessions, not {session!r}"
        )
    votes = contested_votes()
    if session is not None:
        rows = votes["session"] == session
        for name in ("x", "date", "session", "number"):
            votes[name] = votes[name][rows]
    graph = nx.Graph()
    graph.add_nodes_from(votes["names"])
    for u, v, strength in rows_of_file("senate109_graph.csv")[1:]:
        graph.add_edge(u, v, strength=float(strength))
    return Senate109(graph=graph, **votes)
