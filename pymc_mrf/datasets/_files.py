"""Tables of the package, as they are in its files."""

import csv
import gzip
from importlib import resources

import numpy as np


def rows_of_file(name: str) -> list[list[str]]:
    """Cells of a comma-separated file, its header first; names that end in ``.gz`` are unpacked."""
    content = resources.files("pymc_mrf.datasets").joinpath(name).read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    return list(csv.reader(text.decode("utf-8").splitlines()))


def masked_numbers(rows: list[list[str]], dtype: type) -> np.ma.MaskedArray:
    """Numbers behind the first cell of each row, masked where a cell is empty."""
    entries = np.array([row[1:] for row in rows])
    is_empty = entries == ""
    return np.ma.masked_array(np.where(is_empty, "0", entries).astype(dtype), mask=is_empty)
