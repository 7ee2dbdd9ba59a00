"""Operations on a field are those of any variable of PyMC; missing values that it is given are refused."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.xtensor import as_xtensor

import pymc_mrf as pmrf

GRAPH = pmrf.graphs.grid(2, 2)
A = np.arange(16.0).reshape(4, 4) + 5 * np.eye(4)
FIELDS = {
    "ising": lambda: pmrf.Ising("x", 0.4, graph=GRAPH),
    "ordinal": lambda: pmrf.OrdinalMRF("x", 0.4, graph=GRAPH, n_states=3),
    "nominal": lambda: pmrf.NominalMRF("x", np.zeros(16), graph=GRAPH, n_states=3),
    "factor graph": lambda: pmrf.FactorGraphMRF(
        "x", [np.zeros((2, 2))] * 3, scopes=[(0, 1), (1, 2), (2, 3)], cardinalities=[2] * 4
    ),
    "gaussian": lambda: pmrf.GaussianMRF("x", 0.1, 1.0, graph=GRAPH),
    "kinetic": lambda: pmrf.KineticMRF("x", 0.1, graph=pmrf.graphs.lagged(range(4)), shape=(4, 4)),
}
OPERATIONS = {
    "dot": lambda x: pm.math.dot(A, x),
    "dot from the right": lambda x: pt.dot(x, A),
    "dot of itself": lambda x: pt.dot(x, x),
    "tensordot": lambda x: pt.tensordot(A, x, 1),
    "matmul": lambda x: A @ x,
    "matvec": lambda x: pt.matvec(A, x),
    "einsum": lambda x: pt.einsum("ij,j...->i...", A, x),
    "batched products": lambda x: pt.matmul(np.stack([A, A]), x),
    "solve": lambda x: pt.linalg.solve(A, x),
    "determinant": lambda x: pt.linalg.det(A + x),
    "norm": lambda x: pt.linalg.norm(x, ord=2),
    "comparison": lambda x: x > 0,
    "indexing": lambda x: x[np.array([0, 2, 2])],
    "mask": lambda x: x[np.array([True, False, True, True])],
    "index of levels": lambda x: pt.arange(5.0)[x.astype("int64")],
    "concatenate": lambda x: pt.concatenate([x, x]),
    "stack": lambda x: pm.math.stack([x, x]),
    "switch": lambda x: pt.switch(x > 0, x, 0),
    "setting": lambda x: x[0].set(1),
    "cumulative sum": lambda x: pt.cumsum(x, axis=0),
    "named axes": lambda x: as_xtensor(x, dims=("row", "node")[-x.ndim :]).sum("node").values,
}


@pytest.mark.parametrize("field", FIELDS)
def test_operations(field):
    with pm.Model():
        x = FIELDS[field]()
    value = pm.draw(x, random_seed=1)
    plain = pt.TensorType(x.dtype, x.type.shape)()
    for name, operation in OPERATIONS.items():
        found, expected = (operation(v).eval({v: value}, mode="FAST_COMPILE") for v in (x, plain))
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("route", [pm.observe, pm.do])
@pytest.mark.parametrize("field", FIELDS)
def test_missing_values_are_refused(field, route):
    with pm.Model() as model:
        x = FIELDS[field]()
    value = pm.draw(x, random_seed=1)
    mask = np.arange(value.size).reshape(value.shape) == 1
    for gaps in (np.ma.masked_array(value, mask), np.where(mask, np.nan, value)):
        with pytest.raises(ValueError, match=r"1 of the \d+ values .* the first at \[.*1\]; pm.observe"):
            route(model, {"x": gaps})
    assert route(model, {"x": value}).compile_logp is not None
