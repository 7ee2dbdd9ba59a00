"""Columns that are read with one set of guards: codes, missing codes, unclear kinds, names of states."""

import json
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf

RNG = np.random.default_rng(1)
N = 40
ANSWERS = np.tile(np.arange(5), N // 5)
NUMBERS = RNG.normal(size=N)


def table(**columns):
    return pd.DataFrame({"j": np.tile([0, 1, 2, 1], N // 4), **columns})


@pytest.mark.parametrize("lowest", [0, 1])
def test_codes_of_ordinal_answers(lowest):
    rows = table(i=ANSWERS) + lowest
    with_numbers = rows.assign(y=NUMBERS)
    if lowest:
        with pytest.warns(UserWarning, match="table: codes that start at 1 are counted from 0"):
            kinds = pmrf.column_kinds(with_numbers, dict.fromkeys("ij", "ordinal"))
    else:
        kinds = pmrf.column_kinds(with_numbers, dict.fromkeys("ij", "ordinal"))
    assert kinds.n_states == (3, 5, 0)
    assert kinds.labels == (((1, 2, 3), (1, 2, 3, 4, 5), ()) if lowest else ((), (), ()))
    states = kinds.encode(with_numbers)
    np.testing.assert_array_equal(states["i"], ANSWERS)
    np.testing.assert_array_equal(states["y"], NUMBERS)
    # rows in which nobody gave the last answers
    few = with_numbers[with_numbers["i"] < lowest + 3]
    np.testing.assert_array_equal(kinds.encode(few)["i"], few["i"] - lowest)
    pd.testing.assert_frame_equal(kinds.decode(kinds.encode(few)), few.reset_index(drop=True))


def test_codes_of_nominal_answers_are_names():
    rows = table(i=10 * (ANSWERS + 1), y=NUMBERS)
    kinds = pmrf.column_kinds(rows, {"i": "nominal", "j": "ordinal"})
    assert kinds.n_states == (3, 5, 0) and kinds.labels[1] == (10, 20, 30, 40, 50)
    assert kinds.block_sizes(pmrf.graphs.complete(kinds.names)).sum() == 4 + 4 + 1
    np.testing.assert_array_equal(kinds.encode(rows)["i"], ANSWERS)
    # as numbers of any type, or as texts of numbers
    for other in (rows.astype(float), rows.assign(i=rows["i"].astype(str).astype("category"))):
        np.testing.assert_array_equal(kinds.encode(other)["i"], ANSWERS)
    model = pmrf.network_model(rows[["i", "j"]], kind="nominal")
    assert model["x"].owner.op.family.node_states(2) == [(0, 1, 2, 3, 4), (0, 1, 2)]
    with pytest.raises(ValueError, match=r"column 'i' has the answer 60, which is none .*10, 20, 30"):
        kinds.encode(rows.replace({"i": {50: 60}}))


def test_texts_and_truth_values():
    rows = table(i=np.array(["b", "a"])[ANSWERS % 2], t=ANSWERS > 2, y=NUMBERS)
    kinds = pmrf.column_kinds(rows, {"i": "nominal", "j": "ordinal"})
    assert kinds.labels == ((), ("a", "b"), ("False", "True"), ())
    np.testing.assert_array_equal(kinds.encode(rows)[["i", "t"]], np.c_[1 - ANSWERS % 2, ANSWERS > 2])
    binary = pmrf.column_kinds(rows, {"i": "binary", "j": "ordinal", "t": "binary"})
    assert binary.kinds == ("ordinal", "ordinal", "ordinal", "continuous")
    with pytest.raises(ValueError, match="column 'j' is binary, but has 3 answers: say another kind"):
        pmrf.column_kinds(rows, {"i": "binary", "j": "binary"})
    # states are understood where the answers are texts
    np.testing.assert_array_equal(kinds.encode(kinds.encode(rows)), kinds.encode(rows))


MISSING = {
    "of answers": (
        {"i": np.where(ANSWERS == 3, 99, ANSWERS)},
        "ordinal",
        "'i' has the value 99 in 8 rows",
    ),
    "a digit": ({"i": np.where(ANSWERS == 4, 9, ANSWERS)}, "ordinal", "'i' has the value 9 in 8 rows"),
    "of names": ({"i": np.where(ANSWERS == 3, 999, ANSWERS)}, "nominal", "'i' has the value 999"),
    "below 0": (
        {"i": np.where(ANSWERS == 3, -9, ANSWERS)},
        "nominal",
        "'i' has the code -9: replace it",
    ),
    "measured": (
        {"y": np.where(ANSWERS == 3, -999.0, NUMBERS)},
        None,
        "'y' has the value -999 in 8 rows",
    ),
    "positive": ({"y": np.where(ANSWERS == 3, -99.0, 1e6 + NUMBERS**2)}, None, "'y' has the value -99"),
    "ages": ({"y": np.where(ANSWERS == 3, 999.5 - 0.5, 40.5 + ANSWERS)}, None, "'y' has the value 999 "),
}


@pytest.mark.parametrize("name", list(MISSING))
def test_codes_of_missing_values(name):
    """All tables refuse them: of several kinds, of answers, of measurements."""
    columns, kind, message = MISSING[name]
    rows = table(**columns)
    kinds = {"j": "ordinal"} | ({"i": kind} if kind else {})
    with pytest.raises(ValueError, match=message):
        pmrf.column_kinds(rows, kinds)
    with pytest.raises(ValueError, match=message):
        pmrf.network_model(rows, kind=kind or "continuous")


def test_fields_by_hand_refuse_codes_of_missing_values_in_tables():
    pair = pmrf.graphs.complete(["i", "j"])
    for field, table_of, message in (
        (lambda x: pmrf.OrdinalMRF("x", 0.0, 0.0, graph=pair, observed=x), table(i=ANSWERS), "value 99 in 8"),
        (lambda x: pmrf.NominalMRF("x", 0.0, 0.0, graph=pair, observed=x), table(i=ANSWERS), "value 99 in 8"),
        (
            lambda x: pmrf.GaussianMRF("x", 0.0, 1.0, graph=pair, observed=x),
            table(i=NUMBERS + ANSWERS * 1e-3), "value 99 in 8",
        ),
    ):  # fmt: skip
        with pm.Model(), pytest.raises(ValueError, match=f"x: observed: column 'i' has the {message}"):
            field(table_of.assign(i=np.where(ANSWERS == 3, 99, table_of["i"])))


def test_numbers_that_only_look_like_codes():
    rows = table(
        i=np.tile(np.arange(10), N // 10),  # 9 is the last of ten answers
        y=np.linspace(200, 999, N).round(),  # far from no other
        z=np.where(ANSWERS == 0, -9.5, NUMBERS),
    )
    kinds = pmrf.column_kinds(rows, {"i": "ordinal", "j": "ordinal", "y": "continuous"})
    assert kinds.n_states == (3, 10, 0, 0)
    # a state that is told is one
    nines = table(i=np.where(ANSWERS == 4, 9, ANSWERS))
    told = pmrf.column_kinds(nines, dict.fromkeys("ij", "ordinal"), n_states={"i": 10})
    assert told.n_states == (3, 10)


def test_all_unclear_columns_are_named_at_once():
    items = {f"q{k}": ANSWERS for k in range(25)}
    rows = pd.DataFrame({**items, "party": np.array(["l", "r"])[ANSWERS % 2], "y": NUMBERS})
    with pytest.raises(ValueError) as told:
        pmrf.column_kinds(rows)
    assert all(repr(name) in str(told.value) for name in [*items, "party"])
    found = re.search(r"kinds=(dict\.fromkeys\(.*?, \"ordinal\"\))", str(told.value)).group(1)
    kinds = pmrf.column_kinds(rows, {**eval(found), "party": "nominal"})
    assert kinds.kinds == (*["ordinal"] * 25, "nominal", "continuous")


def test_more_than_20_states_are_named():
    letters = np.array(list("ACDEFGHIKLMNPQRSTVWY-"))[np.arange(63) % 21]
    texts = pd.DataFrame({"a": letters, "b": np.roll(letters, 2)})
    remedy = "would have 21 states, more than 20: .* name the states, by n_states or a categorical"
    with pytest.raises(ValueError, match=remedy):
        pmrf.network_model(texts, kind="nominal")
    for model in (
        pmrf.network_model(texts.astype("category"), kind="nominal", likelihood="pseudo"),
        pmrf.network_model(texts, kind="nominal", n_states=[21, 21], likelihood="pseudo"),
    ):
        assert model.coords["state"] == tuple(sorted(set(letters)))
    codes = pd.DataFrame({"a": np.arange(63) % 21, "b": np.arange(63) // 3})
    measured = 'than 20: give it the kind "continuous" if these are measurements, leave it out'
    with pytest.raises(ValueError, match=measured):
        pmrf.network_model(codes)
    assert pmrf.network_model(codes, n_states=21, likelihood="pseudo").coords["state"] == tuple(
        range(1, 21)
    )


def test_ordered_categories_that_are_numbers_are_states_in_their_order():
    levels = pd.Categorical(ANSWERS + 1, categories=range(1, 8), ordered=True)
    kinds = pmrf.column_kinds(table(i=levels), {"j": "ordinal"})
    assert kinds.n_states == (3, 7)
    np.testing.assert_array_equal(kinds.encode(table(i=levels))["i"], ANSWERS)
    np.testing.assert_array_equal(kinds.encode(table(i=ANSWERS + 1))["i"], ANSWERS)


def test_the_record_is_plain():
    rows = table(i=10 * (ANSWERS + 1), t=ANSWERS > 2, c=np.array(["x", "y"])[ANSWERS % 2], y=NUMBERS)
    kinds = pmrf.column_kinds(rows, {"i": "nominal", "j": "ordinal", "c": "nominal"})
    stored = json.loads(json.dumps(asdict(kinds)))
    again = pmrf.fields.ColumnKinds(
        tuple(stored["names"]), tuple(stored["kinds"]), tuple(stored["n_states"]),
        tuple(map(tuple, stored["labels"])),
    )  # fmt: skip
    assert again == kinds and hash(again) == hash(kinds)
    with pytest.raises(ValueError, match=r"column 'i' has 3 states, but the labels \(1, 2\): give one"):
        pmrf.fields.ColumnKinds(("i",), ("nominal",), (3,), ((1, 2),))
