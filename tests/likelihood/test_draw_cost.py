"""Operations of a draw, counted from the field alone."""

import numpy as np
import pytest

from pymc_mrf.graph import builders
from pymc_mrf.graph.junction_tree import junction_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.draw_cost import (
    BY_CELL,
    BY_INVERSE,
    BY_LISTED,
    BY_LOOK,
    BY_POINT,
    DENSITY,
    GROUPED,
    SPARSE,
    exact_operations,
    row_operations,
    sample_operations,
    sweeps_in_a_draw,
)


def test_a_complete_graph_looks_at_one_table_for_every_edge():
    graph, cells = builders.complete(6), 4**6
    expected = SPARSE.exact * (BY_CELL * cells + BY_LOOK * 15 * cells)
    assert exact_operations(junction_tree(graph, 4), graph.edges, SPARSE) == pytest.approx(expected)


def test_an_edge_is_looked_at_in_the_table_that_holds_it():
    graph = PairwiseGraph(range(5), [(0, 1), (1, 2), (0, 2), (3, 4)])  # a triangle and a pair
    tree = junction_tree(graph, 3)
    expected = DENSITY.exact * (BY_CELL * tree.n_cells + BY_LOOK * (3 * 27 + 9))
    assert exact_operations(tree, graph.edges, DENSITY) == pytest.approx(expected)


def test_points_times_edges():
    assert sample_operations(1000, 20, GROUPED) == pytest.approx(GROUPED.sample * BY_POINT * 20_000)


def test_an_edgeless_graph():
    graph = PairwiseGraph(range(3), [])
    tree = junction_tree(graph, 2)
    assert exact_operations(tree, np.zeros((0, 2), dtype=int), SPARSE) > 0.0


def test_small_fields_have_several_sweeps_and_large_ones_a_single_one():
    edges = {d: d * (d - 1) // 2 for d in (3, 8, 10, 15, 20, 40)}
    gaussian = [sweeps_in_a_draw(edges[d], BY_INVERSE * d**2) for d in (3, 15, 20, 40)]
    assert gaussian == [10, 9, 5, 1]
    assert [sweeps_in_a_draw(edges[d], BY_LISTED * 2**d) for d in (3, 8, 10, 15)] == [10, 10, 2, 1]
    of_rows = [sweeps_in_a_draw(15, row_operations(200, n_states)) for n_states in (2, 3, 4, 7)]
    assert of_rows == [7, 2, 1, 1]
    assert sweeps_in_a_draw(0, BY_LISTED) == 10  # of no edges
