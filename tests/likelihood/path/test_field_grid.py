"""The log-partition function along a coupling and a field: against junction trees, at its ends, on disk."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.linalg import lstsq
from scipy.sparse import diags_array, vstack

from pymc_mrf.fields.families import potts
from pymc_mrf.fields.pairwise import PairwiseField
from pymc_mrf.graph import builders
from pymc_mrf.likelihood.path import field_grid, saved_paths
from pymc_mrf.likelihood.path.field_grid import (
    DEGREE,
    FROZEN,
    ROUGH,
    TARGET,
    directions,
    errors_in_posterior,
    least_squares,
    simulate_grid,
    spline_knots,
)
from tests.statistics import Z

STEP = 1e-4
ISING, POTTS, UNEVEN = ((10, 10), 2, 1, False), ((2, 4), 3, 4, False), ((6, 6), 2, 1, True)
CASES = {
    "Ising 10 x 10": (
        ISING,
        [(0.3, 0.1), (0.7, -0.03), (0.9, 0.01), (1.1, 0.004), (1.1, 0.3), (0.5, -2.5)],
    ),
    "weights 6 x 6": (UNEVEN, [(0.3, 0.1), (0.9, -0.03), (1.1, 0.3), (2.0, 0.004)]),
    "Potts 2 x 4": (POTTS, [(0.4, 0.2, 0.0), (0.9, -0.5, 0.3), (1.2, 0.0, 0.02), (1.1, -2.0, 0.1)]),
}


def weights_of(graph, are_uneven):
    weights = np.ones(graph.n_edges)
    if are_uneven:
        weights = np.random.default_rng(2).exponential(size=graph.n_edges)
    return weights / np.sqrt(np.mean(weights**2))


@cache
def simulated(shape, n_states, n_rows, are_uneven):
    graph = builders.grid(*shape)
    return simulate_grid(graph, weights_of(graph, are_uneven), n_states, n_rows)


def exact(shape, are_uneven, t, field):
    """A, and the means of S and of the numbers of nodes in the states."""
    graph = builders.grid(*shape)
    weights = weights_of(graph, are_uneven)
    tables = potts(len(field)).edge_tables(t * weights)
    marginals = PairwiseField(graph, tables, np.tile(field, (graph.n_nodes, 1)))
    found = marginals.marginals("exact")
    return marginals.log_partition(), np.append(
        np.trace(weights @ found.edges.swapaxes(0, 1)), found.nodes.sum(axis=0)
    )


def gradient(grid, t, field):
    at = np.append(t, field)
    steps = STEP * np.eye(len(at))
    ends = [[grid.log_partition(to[0], to[1:]) for to in (at + s, at - s)] for s in steps]
    return -np.diff(ends)[:, 0] / (2 * STEP)


def worst(grid, arguments, points):
    """Errors of A, and of its gradient in standard errors, at all points."""
    off_A, off, (shape, _, n_rows, are_uneven) = [], [], arguments
    for t, *rest in points:
        field = np.append(0.0, rest)
        A, means = exact(shape, are_uneven, t, field)
        # what fits may add: as in `ROUGH`, in standard deviations of independent edges and nodes
        of = np.append(builders.grid(*shape).n_edges, [means[1:].sum()] * len(field))
        spread = ROUGH * TARGET * np.sqrt(np.maximum(means * (1 - means / of), FROZEN) / n_rows)
        allowed = np.sqrt(np.diag(grid.error(t, field)) + spread**2)
        off_A.append(abs(grid.log_partition(t, field) - A))
        off.append(np.abs(gradient(grid, t, field) - means) / allowed)
    return np.max(off_A), np.max(off)


@pytest.mark.parametrize(("arguments", "points"), CASES.values(), ids=CASES)
@pytest.mark.ordinary("Ising 10 x 10", "weights 6 x 6")
def test_grid_is_within_its_error_of_the_junction_tree(arguments, points):
    grid = simulated(*arguments)
    assert errors_in_posterior(grid.variances, grid.errors, arguments[2]).max() < 4 * TARGET
    off_A, off = worst(grid, arguments, points)
    assert off_A < 0.15
    assert off < Z
    # control: the tolerances are those of the simulation, not more
    moved = replace(grid, couplings=1.05 * grid.couplings)
    off_A, off = worst(moved, arguments, points)
    assert off_A > 0.15
    assert off > Z


@pytest.mark.slow
def test_grid_has_the_symmetries_and_the_limits_of_the_field():
    grid = simulated(*POTTS)
    t, field = 0.8, np.array([0.3, -0.2, 0.1])
    A = grid.log_partition(t, field)
    for order in ([1, 0, 2], [2, 1, 0]):
        assert grid.log_partition(t, field[order]) == pytest.approx(A, rel=1e-12)
    assert grid.log_partition(t, field + 2.0) == pytest.approx(A + 8 * 2.0, rel=1e-12)
    even = gradient(grid, t, np.array([0.2, 0.2, -0.1]))
    assert even[1] == pytest.approx(even[2], abs=0.01)
    r = builders.grid(2, 4).n_edges
    frozen = grid.log_partition(12.0, np.zeros(3)) - 12.0 * r
    assert frozen == pytest.approx(np.log(3.0), abs=0.1)
    assert grid.log_partition(0.5, np.array([30.0, 0.0, 0.0])) == pytest.approx(
        0.5 * r + 8 * 30.0, abs=0.1
    )
    assert gradient(grid, 12.0, np.array([0.0, 30.0, 0.0])) == pytest.approx([r, 0, 8, 0], abs=0.01)
    assert grid.log_partition(0.0, field) == pytest.approx(8 * np.log(np.exp(field).sum()), abs=1e-3)


def test_chains_that_have_not_met_are_an_error(rng):
    apart = rng.normal(size=(2, 400, 2)) + np.array([[[0.0, 0.0]], [[10.0, 0.0]]])
    errors = field_grid.errors_of_chains(apart)
    assert np.sqrt(errors[0, 0]) > 3.0
    assert np.sqrt(errors[1, 1]) < 0.2


def test_axes_and_splines_of_a_grid():
    """A unit of a gap moves the states above it one away from those below; splines reach both ends."""
    found = directions(4)
    np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(-np.diff(found, axis=1), np.eye(3), atol=1e-12)
    axis = np.array([0.0, 0.5, 2.0])
    knots = spline_knots(axis)
    basis = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
    np.testing.assert_allclose(basis(np.linspace(0, 2, 9)).sum(axis=1), 1.0)


def test_what_cubics_miss_is_measured():
    x = np.array([0.0, 0.1, 0.3, 0.4, 0.8])[:, None] + np.zeros(2)
    assert field_grid.missed_by_cubics(x[:, 0], x**3, 3 * x**2, 0) == pytest.approx(
        np.zeros((5, 2)), abs=1e-12
    )
    means = np.where(x == 0.3, x**3 + 0.16, x**3)
    missed = field_grid.missed_by_cubics(x[:, 0], means, 3 * x**2, 0)
    assert missed[2] == pytest.approx(np.full(2, 0.01))


def test_grids_are_read_back(tmp_path, monkeypatch):
    graph, said, even = builders.grid(2, 2), [], np.ones(4)
    first = saved_paths.saved_grid(graph, even, 2, 1, tmp_path, said.append)
    with monkeypatch.context() as patch:
        patch.setattr(saved_paths, "simulate_grid", None)
        again = saved_paths.saved_grid(graph, even, 2, 1, tmp_path, said.append)
        for arguments in ((graph, even, 2, 2), (graph, even, 3, 1), (graph, np.arange(4.0), 2, 1)):
            with pytest.raises(TypeError):  # what is not there would be simulated
                saved_paths.saved_grid(*arguments, tmp_path, said.append)
    field = np.array([0.2, 0.0])
    assert again.log_partition(0.7, field) == first.log_partition(0.7, field)
    assert np.array_equal(again.error(0.7, field), first.error(0.7, field))
    assert [file.name for file in tmp_path.iterdir()] == [said[0].name]


def test_splines_are_fitted_where_normal_equations_lose_digits(rng):
    """Equations that weigh their unknowns very differently: beside a fit that never squares them."""
    n = 120
    smooth = diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(n - 2, n))
    B = vstack([1e5 * smooth, 0.1 * diags_array([1.0, 0.5], offsets=[0, 1], shape=(n, n))]).tocsc()
    y = np.concatenate([1e5 * rng.normal(size=n - 2), rng.normal(size=n)])
    exact = lstsq(B.toarray(), y)[0]
    squared = np.linalg.solve((B.T @ B).toarray(), B.T @ y)
    missed, control = (np.abs(x - exact).max() for x in (least_squares(B, y), squared))
    assert missed < 5e-7 * np.abs(exact).max() < control
