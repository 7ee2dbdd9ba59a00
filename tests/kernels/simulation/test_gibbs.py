"""Plain Gibbs sweeps: families, the binary form, machine code beside Python, statistics of edges."""

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement
from pymc_mrf.graph import builders
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.kernels.simulation import gibbs
from tests.kernels.simulation.sweeps import random_tables
from tests.reference import enumeration
from tests.statistics import assert_frequencies

GRAPH = PairwiseGraph(range(4), [(0, 1), (2, 1), (2, 0)])  # a triangle and an isolated node


@pytest.mark.parametrize("family", [agreement(), agreement(3), ISING, BOLTZMANN], ids=repr)
def test_families_reach_their_distribution(family, rng):
    graph = builders.grid(2, 2)
    eta, b = rng.normal(size=graph.n_edges), rng.normal(size=graph.n_nodes)
    edge_tables, node_tables = family.edge_tables(eta), family.node_tables(b)
    x = np.zeros((20_000, graph.n_nodes), dtype=np.int8)
    gibbs.uniform_states(x, family.n_states, rng)
    gibbs.gibbs_sweeps(x, edge_tables, node_tables, graph.arrays, 60, rng)
    p = enumeration.probabilities(graph.edges, edge_tables, node_tables)
    counts = np.bincount(enumeration.configuration_index(x, family.n_states), minlength=len(p))
    assert_frequencies(counts, p)


def test_binary_form_is_the_same_field(rng):
    edge_tables, node_tables = random_tables(GRAPH, 2, rng)
    weight, bias = gibbs.binary_form(edge_tables, node_tables, GRAPH.edges)
    as_boltzmann = BOLTZMANN.edge_tables(weight), BOLTZMANN.node_tables(bias)
    np.testing.assert_allclose(
        enumeration.probabilities(GRAPH.edges, edge_tables, node_tables),
        enumeration.probabilities(GRAPH.edges, *as_boltzmann),
        atol=1e-12,
    )


@pytest.mark.parametrize("n_states", [2, 3])
def test_compiled_equals_python_and_repeats(n_states, rng):
    edge_tables, node_tables = random_tables(GRAPH, n_states, rng)
    start = rng.integers(0, n_states, size=(20, 4)).astype(np.int8)
    runs = []
    for function in (gibbs.gibbs_sweeps, gibbs.gibbs_sweeps.py_func, gibbs.gibbs_sweeps):
        x = start.copy()
        function(x, edge_tables, node_tables, GRAPH.arrays, 3, np.random.default_rng(1))
        runs.append(x)
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_edge_statistics_sum_rows(rng):
    graph = builders.grid(2, 3)
    x = rng.integers(0, 2, size=(7, 6)).astype(np.int8)
    out = np.empty(graph.n_edges)
    gibbs.edge_statistics(x, graph.edges, ISING.edge_statistic, out)
    s = 2.0 * x - 1.0
    np.testing.assert_array_equal(out, [(s[:, u] * s[:, v]).sum() for u, v in graph.edges])
