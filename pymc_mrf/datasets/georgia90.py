"""Poverty in the counties of Georgia, United States, in the census of 1990.

`georgia90.csv` holds figures of the US Census Bureau, in the public domain, as compiled by Fotheringham,
Brunsdon & Charlton (2002) and distributed with libpysal (data set georgia). Neighbours are the counties whose
outlines there share at least two corners. Changes: one table, sorted by the number of the county.
"""

import csv
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import networkx as nx

SHARES = ("rural", "bachelor", "elderly", "foreign_born", "poor", "black")


@dataclass(frozen=True, repr=False)
class Georgia90:
    """Counties of Georgia in 1990 and which of them are neighbours.

    Attributes
    ----------
    graph : networkx.Graph
        159 nodes, the FIPS codes of the counties such as "13121" (Fulton), in the order of the arrays; 416
        edges between neighbours.
    population : (159,) int64 array
    rural, bachelor, elderly, foreign_born, poor, black : (159,) arrays
        Percentages of the population: living in the country, with a bachelor's degree, aged 65 or more, born
        abroad, below the poverty line, black.
    longitude, latitude : (159,) arrays
        Of a point inside the county, in degrees.
    """

    graph: "nx.Graph"
    population: np.ndarray
    rural: np.ndarray
    bachelor: np.ndarray
    elderly: np.ndarray
    foreign_born: np.ndarray
    poor: np.ndarray
    black: np.ndarray
    longitude: np.ndarray
    latitude: np.ndarray

    def __repr__(self) -> str:
        return (
            f"Georgia90({len(self.poor)} counties, {self.graph.number_of_edges()} pairs of neighbours)"
        )


def load_georgia90() -> Georgia90:
    """Poverty and its covariates in the counties of Georgia in 1990, and which counties are neighbours.

    Returns
    -------
    Georgia90

    References
    ----------
    Fotheringham, A. S., Brunsdon, C. & Charlton, M. (2002). *Geographically weighted regression: the
    analysis of spatially varying relationships*. Wiley.
    """
    import networkx as nx

    text = resources.files("pymc_mrf.datasets").joinpath("georgia90.csv").read_text(encoding="ascii")
    rows = list(csv.DictReader(text.splitlines()))
    graph = nx.Graph()
    graph.add_nodes_from(row["county"] for row in rows)
    graph.add_edges_from((row["county"], other) for row in rows for other in row["neighbours"].split())
    numbers = {name: np.array([float(row[name]) for row in rows]) for name in SHARES}
    return Georgia90(
        graph=graph,
        population=np.array([int(row["population"]) for row in rows]),
        longitude=np.array([float(row["longitude"]) for row in rows]),
        latitude=np.array([float(row["latitude"]) for row in rows]),
        **numbers,
    )
