"""Poverty in the counties of Georgia, United States, in the census of 1990.

`georgia90.csv` holds figures of the US Census Bureau, in the public domain, as compiled by Fotheringham,
Brunsdon & Charlton (2002) and distributed with libpysal (data set georgia). Neighbours are the counties whose
outlines there share at least two corners. Changes: one table, sorted by the number of the county.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pymc_mrf.datasets._files import rows_of_file

if TYPE_CHECKING:
    import networkx as nx

NUMBERS = ("rural", "bachelor", "elderly", "foreign_born", "poor", "black", "longitude", "latitude")


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

    header, *cells = rows_of_file("georgia90.csv")
    column = dict(zip(header, zip(*cells, strict=True), strict=True))
    graph = nx.Graph()
    graph.add_nodes_from(column["county"])
    neighbours = zip(column["county"], column["neighbours"], strict=True)
    graph.add_edges_from((county, other) for county, others in neighbours for other in others.split())
    numbers = {name: np.array(column[name], dtype=np.float64) for name in NUMBERS}
    return Georgia90(graph=graph, population=np.array(column["population"], dtype=np.int64), **numbers)
