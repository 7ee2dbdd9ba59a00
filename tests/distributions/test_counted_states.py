"""Numbers of states that are counted in the data."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.parents import field_node

ITEMS = ["hungry", "tired", "sad"]
GRAPH = pmrf.graphs.complete(ITEMS)
X = np.array([[3, 4, 0], [2, 1, 1], [0, 3, 0], [1, 2, 1], [3, 0, 1]])  # 4, 5 and 2 states
FRAME = pd.DataFrame(X, columns=ITEMS)
ANSWERS = pd.CategoricalDtype(["never", "sometimes", "often", "always", "no end"], ordered=True)
DATA = {
    "array": X,
    "list": X.tolist(),
    "floats": X.astype(float),
    "frame": FRAME[["sad", "hungry", "tired"]],
    "missing": FRAME.astype("Int64").mask(FRAME.tired == 3),
    "masked": np.ma.masked_array(np.where(X == 2, 9, X), X == 2),
}


def op_of(name, model):
    return field_node(model.named_vars.get(f"{name}_observed", model[name])).op


@pytest.mark.parametrize("data", DATA)
def test_states_of_each_item_and_of_all(data):
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        pmrf.OrdinalMRF("x", 0.1, graph=GRAPH, observed=DATA[data])
        pmrf.Potts("y", 0.1, graph=GRAPH, observed=DATA[data], n_states=None)
    for name, cards in (("x", (4, 5, 2)), ("y", ())):
        op = op_of(name, model)
        assert op.family.cards == cards and op.family.n_states == 5


def test_one_number_where_all_items_have_as_many():
    with pm.Model() as model:
        pmrf.OrdinalMRF("x", 0.1, graph=GRAPH, observed=X % 2)
    assert op_of("x", model).family.cards == () and op_of("x", model).family.n_states == 2


def test_ordered_categories_count_where_no_cell_has_them():
    frame = FRAME.assign(hungry=pd.Categorical.from_codes(X[:, 0], dtype=ANSWERS))
    numbers = FRAME.assign(sad=pd.Categorical(X[:, 2], categories=[0, 1, 2], ordered=True))
    threshold = np.zeros((3, 4))
    with pm.Model() as model:
        pmrf.OrdinalMRF("x", 0.1, threshold, graph=GRAPH, observed=frame)
        pmrf.OrdinalMRF("y", 0.1, threshold, graph=GRAPH, observed=numbers)
    assert op_of("x", model).family.cards == (5, 5, 2)
    assert op_of("y", model).family.cards == (4, 5, 3)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (
            X + 1,
            r"x: observed has the state 0 nowhere, .* pymc_mrf\.recode_states\(x, \{1: 0, 2: 1, ",
        ),
        (
            np.where([True, True, False], X, 0),
            r"n_states\[2\], of node .*, must be between 2 and 127, not 1; leave nodes",
        ),
        (
            np.ma.masked_array(X, [[0, 0, 1]] * 5),
            "has no states 0, 1, .* at 'sad', from which to count them",
        ),
        (np.where(X == 2, np.nan, X), r"x: observed\[1, 0\] is nan, .* numpy\.ma\.masked_invalid"),
        (
            X - 1,
            r"x: observed\[0, 2\] is -1, but states count from 0: mask it if it .*recode_states",
        ),
        (X + 0.5 * (X == 3), r"x: observed\[0, 0\] is 3\.5, which is not a state"),
        (X[:, :2], r"x: `observed` has shape \(5, 2\), but its last dimension must be the 3 nodes"),
    ],
)
def test_data_that_cannot_be_counted(observed, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        pmrf.OrdinalMRF("x", 0.1, graph=GRAPH, observed=observed)


def test_the_warning_names_the_numbers_of_states():
    def said(declare, x, **options):
        with pm.Model(), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            n_states = options.get("n_states", 5)
            shape = (3, n_states - (declare is pmrf.OrdinalMRF))
            declare("x", 0.1, pm.Normal("t", 0, 1, shape=shape), graph=GRAPH, observed=x, **options)
        return [str(w.message) for w in found if w.category is UserWarning]

    [message] = said(pmrf.OrdinalMRF, X, n_states=5)
    assert "4 of hungry; 2, 3, 4 of sad." in message and "give n_states=[4, 5, 2]; else merge" in message
    assert said(pmrf.OrdinalMRF, X) == []
    [message] = said(pmrf.Potts, X)
    assert (
        "n_states" not in message
        and "merge states with pymc_mrf.recode_states(x, new_states)" in message
    )
    holes = pmrf.recode_states(X, [0, 1, 1, 3, 4])
    [message] = said(pmrf.OrdinalMRF, holes[:, [1, 1, 1]], n_states=5)
    assert "n_states" not in message and "2 of hungry; 2 of tired; 2 of sad" in message


def test_the_remedy_keeps_missing_cells(rng):
    x = np.ma.masked_less(rng.choice([-1, 0, 1, 3], size=(200, 3)), 0)
    merged = pmrf.recode_states(x, [0, 1, 1, 2])
    with pm.Model(), pytest.warns(pm.exceptions.ImputationWarning) as found:
        threshold = pm.Normal("t", 0, 3, shape=(3, 2))
        pmrf.OrdinalMRF("x", 0.1, threshold, graph=GRAPH, observed=merged)
    assert len(found) == 1  # and no state is empty
    assert merged.mask.sum() == x.mask.sum() > 100
    assert (merged == 2).mean() == (x == 3).mean()
