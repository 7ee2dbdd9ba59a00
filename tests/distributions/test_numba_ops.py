"""Compiled implementations: their values; the stamp in their cache key covers all that they run."""

import ast
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.blockwise import Blockwise

from pymc_mrf.distributions import _numba
from pymc_mrf.distributions import log_partition as partitions
from pymc_mrf.distributions.dirichlet_process import TieCounts
from pymc_mrf.distributions.spike_and_slab import Included
from pymc_mrf.graph.factor_graph import FactorGraph
from pymc_mrf.graph.junction_tree import factor_graph_tree, field_tree
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.likelihood.pseudo import likelihood as pseudo

TIES = np.array([0.3, 0.0, -1.0, 0.0, 0.3, 0.0])
PACKAGE = Path(_numba.__file__).parents[1]


@pytest.mark.compiled
@pytest.mark.slow
def test_values_and_gradients_are_those_of_python(rng):
    """All Ops of log densities, by themselves: other tests check the same Ops and more in Python."""
    graph = PairwiseGraph(range(4), [(0, 1), (2, 1), (2, 0), (2, 3)])
    factors = FactorGraph([(2, 0), (0, 1, 3), (3,), (3, 2)], [2, 3, 2, 4])
    tree, factor_tree = field_tree(graph, 3), factor_graph_tree(factors)
    x, some = pt.bmatrix("x"), pt.bmatrix("some")
    edge, node, tables, cotangent = (
        pt.dtensor3("edge"),
        pt.dmatrix("node"),
        pt.dvector("t"),
        pt.dvector("c"),
    )
    row_edge, row_node, ties = pt.dtensor4("row_edge"), pt.dtensor3("row_node"), pt.dvector("ties")
    outputs = [
        *partitions.LogPartition(tree)(edge, node),
        *Blockwise(partitions.LogPartition(tree))(row_edge, row_node),
        *partitions.FactorLogPartition(factor_tree)(tables),
        partitions.ClampedLogPartition(factor_tree)(some, tables),
        pseudo.LogPseudoLikelihood(graph)(x, edge, node),
        *pseudo.LogPseudoLikelihoodGradient(graph)(x, edge, node, cotangent),
        pseudo.FactorLogPseudoLikelihood(factors, 0.5)(x, tables),
        pseudo.FactorLogPseudoLikelihoodGradient(factors, 0.5)(x, tables, cotangent),
        TieCounts()(ties),
        Included()(ties).astype(float),
    ]
    states = rng.integers(2, size=(5, 4), dtype=np.int8)
    clamped = np.where(rng.random((5, 4)) < 0.5, states, np.int8(-1))
    shapes = [(4, 3, 3), (4, 3), (40,), (5,), (5, 4, 3, 3), (5, 4, 3)]
    values = [states, clamped, *(rng.normal(size=shape) for shape in shapes), TIES]
    inputs = [x, some, edge, node, tables, cotangent, row_edge, row_node, ties]
    found, expected = (
        pytensor.function(inputs, outputs, mode=mode)(*values) for mode in ("NUMBA", "FAST_COMPILE")
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        assert one.ndim == 0 or np.ptp(other) > 0.1  # no zeros


def modules_imported_by(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pymc_mrf."):
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return {name.split(".")[1] for name in found}


def test_stamp_covers_all_that_kernels_and_layouts_import():
    """Fields and families are arguments or properties of an Op, which the key of the cache has."""
    for folder in ("kernels", "graph"):
        for path in (PACKAGE / folder).rglob("*.py"):
            assert modules_imported_by(path) <= {*_numba.SOURCES, "checks"}, path


def test_stamp_changes_with_any_source(tmp_path, monkeypatch):
    for folder in _numba.SOURCES:
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "inner" / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(_numba, "__file__", str(tmp_path / "distributions" / "_numba.py"))
    stamps = set()
    for folder in _numba.SOURCES:
        stamps.add(_numba.source_version.__wrapped__())
        (tmp_path / folder / "inner" / "a.py").write_text("x = 2\n")
    stamps.add(_numba.source_version.__wrapped__())
    assert len(stamps) == len(_numba.SOURCES) + 1
