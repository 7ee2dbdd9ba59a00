"""Penguins at Palmer Station, Antarctica, measured from 2007 to 2009.

`penguins07.csv` holds the data set penguins of the R package palmerpenguins (Horst, Hill & Gorman, 2020), as
its Python edition 0.1.6 has it, in the public domain (CC0 1.0): adult birds of the Palmer Station Long Term
Ecological Research programme, collected by Gorman, Williams & Fraser (2014). Changes: columns are renamed and
in another order, and cells without a value are empty.
"""

from dataclasses import dataclass

import numpy as np

from pymc_mrf.datasets._files import masked_numbers, rows_of_file

FIRST_MEASUREMENT = 4


@dataclass(frozen=True, repr=False)
class Penguins07:
    """Penguins of three species on three islands.

    Attributes
    ----------
    x : (344, 4) float64 masked array
        Length and depth of the bill and length of the flipper in millimetres, and body mass in grams; masked
        where a bird was not measured.
    measurements : tuple of str
        "bill length", "bill depth", "flipper length" and "body mass", in column order.
    species : (344,) str array
        "Adelie", "Chinstrap" or "Gentoo".
    island : (344,) str array
        "Biscoe", "Dream" or "Torgersen".
    sex : (344,) str masked array
        "female" or "male"; masked where it was not found.
    year : (344,) int64 array
        2007, 2008 or 2009.
    """

    x: np.ma.MaskedArray
    measurements: tuple[str, ...]
    species: np.ndarray
    island: np.ndarray
    sex: np.ma.MaskedArray
    year: np.ndarray

    def __repr__(self) -> str:
        return f"Penguins07({len(self.x)} birds, {len(self.measurements)} measurements)"


def load_penguins07() -> Penguins07:
    """Penguins at Palmer Station, Antarctica: four measurements, species, island, sex and year.

    Returns
    -------
    Penguins07

    References
    ----------
    Gorman, Williams & Fraser (2014). Horst, Hill & Gorman (2020), palmerpenguins: Palmer Archipelago
    (Antarctica) penguin data. R package. Licence: CC0 1.0.
    """
    header, *rows = rows_of_file("penguins07.csv")
    species, island, year, sex = (np.array(column) for column in list(zip(*rows, strict=True))[:4])
    return Penguins07(
        x=masked_numbers([row[FIRST_MEASUREMENT - 1 :] for row in rows], np.float64),
        measurements=tuple(header[FIRST_MEASUREMENT:]),
        species=species,
        island=island,
        sex=np.ma.masked_array(sex, mask=sex == ""),
        year=year.astype(np.int64),
    )
