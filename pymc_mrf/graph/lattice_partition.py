"""The two hand-made tree partitions of a lattice: Hamze & de Freitas (2004), Rivasseau (2005), fig. 4.7.

Both cut a rectangular lattice into two trees, the least possible if it has a cycle, of about equal
size. `pymc_mrf.graph.tree_partition` finds partitions of any graph, with more trees.
"""

import numpy as np

from pymc_mrf.checks import whole_number
from pymc_mrf.graph.structure import PairwiseGraph

Cell = tuple[int, int]


def comb_partition(rows: int, columns: int) -> list[list[Cell]]:
    """Two interlocking combs: one with its back on the first column, one on the last.

    Parameters
    ----------
    rows, columns : int
        Size of the lattice ``pymc_mrf.graphs.grid(rows, columns)``.

    Returns
    -------
    list of lists of (row, column)
        Two trees; one if the lattice is a chain.

    Raises
    ------
    ValueError
        If a size is not a positive integer.
    """
    cells, chain = _cells(rows, columns)
    if chain:
        return [cells]

    def in_first(cell: Cell) -> bool:
        row, column = cell
        return column == 0 or (row % 2 == 0 and column < columns - 1)

    return _two_blocks(cells, {cell for cell in cells if in_first(cell)})


def spiral_partition(rows: int, columns: int) -> list[list[Cell]]:
    """Two chains that wind around each other.

    Parameters
    ----------
    rows, columns : int
        Size of the lattice ``pymc_mrf.graphs.grid(rows, columns)``.

    Returns
    -------
    list of lists of (row, column)
        Two chains; one if the lattice is a chain.

    Raises
    ------
    ValueError
        If a size is not a positive integer.
    """
    cells, chain = _cells(rows, columns)
    if chain:
        return [cells]
    if min(rows, columns) % 2 == 0:
        # arms from opposite corners meet in the middle without leaving a cell
        first, _ = _wind(rows, columns, [((0, 0), (0, 1)), ((rows - 1, columns - 1), (0, -1))])
    else:
        # the second arm is the corridor that the first one leaves
        (first,) = _wind(rows, columns, [((0, 0), (0, 1))])
    return _two_blocks(cells, first)


def lattice_shape(graph: PairwiseGraph) -> tuple[int, int] | None:
    """Rows and columns if `graph` is a rectangular lattice, its nodes row by row; else None.

    Only the order of the nodes counts, not their labels, nor the order of the edges.
    """
    first, second = np.sort(graph.edges, axis=1).T
    steps = second - first
    columns = int(steps.max(initial=0))
    if columns < 2 or graph.n_nodes % columns:  # a chain, or none
        return None
    rows = graph.n_nodes // columns
    inside = (steps == columns) | ((steps == 1) & (second % columns > 0))
    # edges are all different, so that their number tells whether one is missing
    complete = graph.n_edges == rows * (columns - 1) + (rows - 1) * columns
    return (rows, columns) if complete and bool(inside.all()) else None


def lattice_trees(graph: PairwiseGraph) -> list[list[int]] | None:
    """Node indices of the combs of a rectangular lattice, of two rows and columns at least; else None.

    They are found at once and swept over a quarter faster than what `tree_partition` finds in seconds; a
    sweep decorrelates as much.
    """
    shape = lattice_shape(graph)
    if shape is None:
        return None
    _, columns = shape
    return [[i * columns + j for i, j in cells] for cells in comb_partition(*shape)]


def _cells(rows: int, columns: int) -> tuple[list[Cell], bool]:
    """All cells in the order of `grid`, and whether they form a chain."""
    rows, columns = whole_number(rows, "rows", 1), whole_number(columns, "columns", 1)
    return [(i, j) for i in range(rows) for j in range(columns)], min(rows, columns) == 1


def _two_blocks(cells: list[Cell], first: set[Cell]) -> list[list[Cell]]:
    return [[c for c in cells if c in first], [c for c in cells if c not in first]]


def _wind(rows: int, columns: int, starts: list[tuple[Cell, Cell]]) -> list[set[Cell]]:
    """Walk from each (cell, direction) by turns, to the right where the way is barred or would touch.

    A cell bars the way if it is taken, and would touch if it has another neighbour in the same walk.
    """
    taken = {cell for cell, _ in starts}
    walks = [{cell} for cell, _ in starts]
    heads: list[tuple[Cell, Cell] | None] = list(starts)
    while any(heads):
        for k, head in enumerate(heads):
            if head is None:
                continue
            (i, j), (di, dj) = head
            heads[k] = None
            for step in ((di, dj), (dj, -di)):
                row, column = i + step[0], j + step[1]
                near = {(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)}
                inside = 0 <= row < rows and 0 <= column < columns
                if inside and (row, column) not in taken and len(near & walks[k]) == 1:
                    taken.add((row, column))
                    walks[k].add((row, column))
                    heads[k] = ((row, column), step)
                    break
    return walks
