import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.parents import field_node
from pymc_mrf.steps.common.model_field import ModelField

GRAPH = pmrf.PairwiseGraph("abc", [("a", "b"), ("b", "c")])
X = np.array([[-1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, -1, -1]])
HOLES = np.ma.masked_array(X, [[1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]])


def field_of(observed=None, coupling=0.3, **options):
    with pm.Model() as model:
        pmrf.Ising("x", coupling, graph=GRAPH, observed=observed, likelihood="particles", **options)
    [node, *_] = map(field_node, model.basic_RVs)
    return ModelField(node, model), model


def test_cells_of_complete_data():
    field, _ = field_of(X)
    assert not (field.is_free or field.free.any())
    np.testing.assert_array_equal(field.states({}), (X + 1) // 2)
    np.testing.assert_array_equal(field.plausible(), field.known)
    assert (field.name, field.batch) == ("x", (4,))


@pytest.mark.filterwarnings("ignore::pymc.exceptions.ImputationWarning")
def test_cells_of_data_with_holes():
    field, model = field_of(HOLES)
    np.testing.assert_array_equal(field.free, HOLES.mask)
    assert field.name == "x_unobserved"
    point = {field.name: np.array([1, -1, 1])}
    expected = np.where(HOLES.mask, 0, (X + 1) // 2)
    np.testing.assert_array_equal(field.known, expected)
    expected[[0, 2, 2], [0, 1, 2]] = [1, 0, 1]
    np.testing.assert_array_equal(field.states(point), expected)
    np.testing.assert_array_equal(field.plausible()[~HOLES.mask], expected[~HOLES.mask])
    assert field.states(model.initial_point()).dtype == np.int8
    message = (
        r"start value of node 'b' of x_unobserved in row 2 is 0, but its states are -1, 1: give one"
    )
    with pytest.raises(ValueError, match=message):
        field.states({field.name: np.array([1, 0, 1])})


def test_cells_of_a_latent_field_of_any_shape():
    field, _ = field_of(shape=(2, 3, 3))
    assert field.batch == (2, 3) and field.free.all() and field.free.shape == (6, 3)
    x = np.random.default_rng(1).choice([-1, 1], size=(2, 3, 3))
    np.testing.assert_array_equal(field.states({"x": x}), (x.reshape(6, 3) + 1) // 2)
    [same, nodes] = field.tables([np.array([0.1, 0.2]), np.zeros(3)])
    assert (same.shape, nodes.shape) == ((1, 2, 2, 2), (1, 3, 2))
    own = np.arange(12.0).reshape(2, 3, 2)
    [by_row, nodes] = field.tables([own, np.zeros((1, 1, 3))])
    assert len(nodes) == 1
    np.testing.assert_array_equal(by_row[:, :, 1, 1], own.reshape(6, 2))
    [by_row, _] = field.tables([own[:, :1], np.zeros(3)])  # the same along one axis of the rows
    np.testing.assert_array_equal(by_row[:, :, 1, 1], own[:, :1].repeat(3, axis=1).reshape(6, 2))
