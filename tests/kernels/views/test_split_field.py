"""Windows and rows: tables and moments against enumeration, sweeps against one window and a junction tree."""

import itertools

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.edges.edge_moves import EdgePrior
from pymc_mrf.kernels.views import split_field
from pymc_mrf.likelihood.exact.exact_edges import ExactEdges
from tests.reference import enumeration
from tests.reference.priors import normal, normals
from tests.reference.views import use_junction_tree


def complete(d):
    return np.array(list(itertools.combinations(range(d), 2)))


def listed(edges, family, w, b):
    """Probabilities as an array with one axis per node."""
    p = enumeration.probabilities(edges, family.edge_tables(w), family.node_tables(b))
    return p.reshape((2,) * len(b))


@pytest.mark.parametrize("d, n_blocks", [(4, 1), (5, 3), (11, 3), (11, 4), (13, 4), (18, 4)])
def test_every_edge_lies_in_the_window_where_it_is_visited(d, n_blocks):
    edges = complete(d)[::-1]
    windows = split_field.make_windows(edges, d, n_blocks)
    assert sorted(windows.order) == list(range(len(edges)))
    assert (np.diff(windows.window_of[windows.order]) >= 0).all()
    for i, size in enumerate(windows.sizes):
        inside = windows.nodes[i, :size]
        assert (np.diff(inside) > 0).all() and sorted(windows.nodes[i]) == list(range(d))
        np.testing.assert_array_equal(windows.places[i, windows.nodes[i]], np.arange(d))
        visited = np.flatnonzero(windows.window_of == i)
        assert np.isin(edges[visited], inside).all()


@pytest.mark.parametrize("family", [BOLTZMANN, ISING], ids=["Boltzmann", "Ising"])
@pytest.mark.parametrize("scale", [0.7, 400.0], ids=["products", "logs"])
@pytest.mark.parametrize("d, n_blocks", [(3, 1), (4, 1), (5, 3), (9, 4), (10, 3)])
def test_window_tables(d, n_blocks, scale, family, rng):
    edges = complete(d)
    w, b = rng.normal(0, scale, len(edges)), rng.normal(0, scale, d)
    w[::3] = 0.0
    p = listed(edges, family, w, b)
    windows = split_field.make_windows(edges, d, n_blocks)
    rows, y = split_field.allocate_rows(windows), np.array(family.states, dtype=float)
    for nodes, size in zip(windows.nodes, windows.sizes, strict=True):
        split_field.fill_window(edges, y, w, b, nodes, size, rows)
        expected = p.sum(axis=tuple(nodes[size:])).T.ravel()  # the first node fastest
        np.testing.assert_allclose(rows.table[: 2**size], expected, rtol=1e-9, atol=1e-250)
        split_field.fill_couplings(edges, y, w, b, rows.J, rows.a)
        assert split_field.prepare(rows, nodes, size)[0] == (scale < 1.0) or d < 9


@pytest.mark.parametrize("family", [BOLTZMANN, ISING], ids=["Boltzmann", "Ising"])
@pytest.mark.parametrize("scale", [0.7, 400.0], ids=["products", "logs"])
@pytest.mark.parametrize("d", [3, 4, 5, 8, 11])
def test_log_partition_and_moments(d, scale, family, rng):
    edges = complete(d)
    w, b = rng.normal(0, scale, len(edges)), rng.normal(0, scale, d)
    w[1::3] = 0.0
    tables = family.edge_tables(w), family.node_tables(b)
    p = listed(edges, family, w, b)
    rows = split_field.allocate_rows(split_field.make_windows(edges, d, 1))
    moments = np.empty((d, d))
    for _ in range(2):  # nothing is left in the scratch
        A = split_field.log_partition_and_moments(
            edges, np.array(family.states, dtype=float), w, b, np.arange(d), rows, moments
        )
        np.testing.assert_allclose(A, enumeration.log_partition(edges, *tables), rtol=1e-12)
        for u, v in itertools.combinations_with_replacement(range(d), 2):
            both = np.take(p, 1, axis=u)
            expected = (both if u == v else np.take(both, 1, axis=v - 1)).sum()
            np.testing.assert_allclose(moments[u, v], expected, rtol=1e-9, atol=1e-12)


def engines(make, graph, d):
    """Four blocks, one window, and a junction tree, all in the same order; and a wrong one."""
    out = {name: make() for name in ("blocks", "one", "wrong", "tree")}
    for name in ("blocks", "one", "wrong"):
        view = out[name].view
        windows = split_field.make_windows(graph.edges, d, 1 if name == "one" else 4)
        if name == "wrong":
            last = windows.sizes[:, None] - 1
            mirrored = np.where(windows.places <= last, last - windows.places, windows.places)
            windows = windows._replace(places=mirrored)
        order = split_field.make_windows(graph.edges, d, 4).order
        out[name].view = view._replace(
            field=view.field._replace(order=order),
            windows=windows,
            rows=split_field.allocate_rows(windows),
        )
    out["tree"].view = out["blocks"].view
    use_junction_tree(out["tree"], graph)
    return out


@pytest.mark.parametrize("start", ["none", "moderate", "strong"])
@pytest.mark.parametrize("moves_biases", [True, False])
def test_sweeps_in_windows_make_the_decisions_of_other_sweeps(start, moves_biases, rng):
    d = 13
    x = (rng.random((60, d)) < 0.5).astype(np.int8)
    x[:, 1] = x[:, 0]  # one pair without limit but the prior
    graph = PairwiseGraph(range(d), [tuple(edge) for edge in complete(d)])
    all_engines = engines(lambda: ExactEdges(x, graph, ISING, moves_biases), graph, d)
    r = graph.n_edges
    w, b = np.zeros(r), np.zeros(d)
    if start != "none":
        w[:] = rng.normal(0, 0.5, r)
        w[::4] = 0.0
    if start == "strong":
        w[[0, 40]] = 400.0, -90.0
    prior = EdgePrior(np.zeros(r), normal(60.0 if start == "strong" else 1.0), normals(d, 3.0))
    found = {}
    for name, engine in all_engines.items():
        state, again = (w.copy(), b.copy()), np.random.default_rng(7)
        counts = [engine.sweep(*state, prior, again) for _ in range(3)]
        found[name] = (*state, np.array(counts), again.random())
    for name in ("one", "tree"):
        for got, expected in zip(found["blocks"], found[name], strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)
    assert found["blocks"][2].sum() > 60
    assert not np.allclose(found["blocks"][0], found["wrong"][0])
