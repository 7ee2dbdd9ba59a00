"""Families: states, statistics and tables; contrasts and blocks of parameters of the nominal one."""

import itertools

import numpy as np
import pytest

from pymc_mrf.fields.families import BOLTZMANN, ISING, agreement, get_family, nominal, ordinal, potts
from pymc_mrf.fields.family import Family, contrasts


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ma.masked_equal([[0, 1]], 1), "x has 1 missing cells; complete data are needed here: drop"),
        ([0, 1], r"x must be a matrix .* shape \(2,\); for one observation use x\[None, :\]"),
        (np.zeros((0, 2)), "x has no rows"),
        ([[0, 1, 1]], "x has 3 columns"),
        ([[0, np.nan]], "nan"),
        ([[0, 2]], "2"),
    ],
)
def test_observations_that_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        BOLTZMANN.encode(x, n_nodes=2)


def test_families_by_name():
    assert get_family("agreement", 3).n_states == 3
    assert get_family("boltzmann") is BOLTZMANN
    with pytest.raises(ValueError, match="not 'icing'"):
        get_family("icing")
    with pytest.raises(ValueError, match="the ising family has two states; n_states=3 does not apply"):
        get_family("ising", 3)
    with pytest.raises(ValueError, match="edge_axes must be 0, 1 or 2, not 3"):
        potts(3, 3)


@pytest.mark.parametrize(
    ("family", "agrees", "scale"),
    [
        (agreement(3), True, 1.0),
        (ISING, True, 2.0),
        (BOLTZMANN, False, 1.0),
        (potts(3), True, 1.0),
        (potts(3, 1), False, 1.0),
        (potts(3, 2), False, 1.0),
        (ordinal(2), False, 1.0),
        (ordinal(3), False, 1.0),
        (ordinal(2, [-1.0, 1.0]), False, 2.0),  # scores are the user's
    ],
    ids=lambda value: getattr(value, "title", None),
)
def test_what_follows_from_the_statistic(family, agrees, scale):
    assert family.measures_agreement == agrees
    statistic, difference = family.indicator
    assert difference == scale
    offset = family.edge_statistic - scale * statistic
    np.testing.assert_array_equal(offset, offset[0, 0])


def test_a_statistic_that_differs_by_state_is_no_agreement():
    """A family that is not told apart by name must not be taken for one whose forests have closed forms."""
    products = Family("products", (0, 1), "weight", None)
    assert not products.measures_agreement
    states = Family("signs", (-1, 0, 1), "weight", None)
    assert not states.measures_agreement
    assert Family("signs", (-2, 2), "weight", None).measures_agreement
    assert Family("signs", (-2, 2), "weight", None).indicator[1] == 8.0


@pytest.mark.parametrize(
    ("family", "basis"),
    [
        (agreement(3), np.zeros((0, 3))),
        (ISING, [[-1.0, 1.0]]),
        (BOLTZMANN, [[0.0, 1.0]]),
        (potts(3), np.eye(3)),
        (ordinal(3), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_row_of_the_node_basis_per_number_of_a_node(family, basis, rng):
    np.testing.assert_array_equal(family.node_basis, basis)
    q = len(basis)
    assert family.node_entries(4).shape == (4, q)
    assert family.node_entries(4).all()
    b = rng.normal(size=(2, 4, q))
    tables = family.node_tables(b if family.node_axes else b[..., 0] if q else np.zeros((2, 4)))
    np.testing.assert_allclose(tables, np.einsum("sdq,qk->sdk", b, np.asarray(basis)))


def test_states_of_an_ordinal_field_may_differ_by_node():
    family = ordinal([3, 2, 4])
    assert family.n_states == 4
    assert family.cards == (3, 2, 4)
    np.testing.assert_array_equal(
        family.possible(3), [[True, True, True, False], [True, True, False, False], [True] * 4]
    )
    np.testing.assert_array_equal(
        family.node_entries(3), [[True, True, False], [True, False, False], [True] * 3]
    )
    b = np.arange(9.0).reshape(3, 3)
    tables = [[0, 0, 1, -np.inf], [0, 3, -np.inf, -np.inf], [0, 6, 7, 8]]
    np.testing.assert_array_equal(family.node_tables(b), tables)
    np.testing.assert_array_equal(family.edge_statistic, np.outer(range(4), range(4)))
    assert family.of_nodes(np.array([2, 0])).cards == (4, 3)
    assert family.of_nodes(np.array([1])).encode([[1]], n_nodes=1) == 1
    x = np.array([[2, 1, 3], [0, 0, 0]])
    np.testing.assert_array_equal(family.encode(x, n_nodes=3), x)
    message = r"x\[0, 1\] is 2, which is not a state of this node \(states: 0, 1\); 2 such cells; recode"
    with pytest.raises(ValueError, match=message):
        family.encode([[2, 2, 3], [3, 0, 0]], n_nodes=3)
    family.check_nodes(3)
    with pytest.raises(
        ValueError, match="n_states has 3 entries but the graph has 2 nodes; give one number"
    ):
        family.check_nodes(2)


def test_numbers_of_states_that_are_given_for_each_node_are_those_of_its_nodes():
    assert ordinal(3) == ordinal(np.int8(3)) == get_family("ordinal", 3)
    assert ordinal([3, 3]).possible(2).all()
    with pytest.raises(ValueError, match="n_states has 2 entries but the graph has 3 nodes"):
        ordinal([3, 3]).check_nodes(3)
    assert ordinal([2, 3]) == get_family("ordinal", np.array([2, 3])) != ordinal(3)
    assert ordinal(3).cards == () and ordinal(3).possible(4).shape == (4, 3)
    assert ordinal(3).of_nodes(np.array([0])) == ordinal(3)


def test_scores_stand_for_states_in_products():
    scores = [-1.0, 0.5, 2.0]
    family = ordinal(3, scores)
    np.testing.assert_array_equal(family.edge_statistic, np.outer(scores, scores))
    np.testing.assert_array_equal(family.node_basis, ordinal(3).node_basis)
    assert ordinal(3, np.arange(3.0)) == ordinal(3)  # those of the states
    assert hash(family) != hash(ordinal(3))


def test_scores_of_each_node():
    edges, scores = np.array([[0, 1], [2, 1]]), [[-1, 0, 2], [-1, 1], [2, 4, 5]]
    family = ordinal([3, 2, 3], scores)
    expected = [np.outer(scores[u], scores[v]) for u, v in edges]
    np.testing.assert_array_equal(family.edge_statistics(edges)[:, :, :2], expected)
    w = np.array([0.5, -2.0])
    tables = w[:, None, None] * family.edge_statistics(edges)
    np.testing.assert_array_equal(family.edge_tables(w, edges), tables)
    assert family.of_nodes(np.array([2, 1])) == ordinal([3, 2], [scores[2], scores[1]])
    assert family == ordinal([3, 2, 3], scores, list("abc"))
    assert ordinal(2, np.array([[0, 1], [-1, 1]])).edge_features.shape == (2, 1, 2)
    with pytest.raises(NotImplementedError, match="no statistic in common"):
        family.edge_tables(w)
    # one vector for all nodes in other words
    assert ordinal([3, 2], [[-1, 0, 2], [-1, 0]]) == ordinal([3, 2], [-1, 0, 2])
    assert ordinal([3, 2], [np.arange(3), np.arange(2)]) == ordinal([3, 2])


@pytest.mark.parametrize(
    ("n_states", "error", "message"),
    [
        (1, ValueError, "n_states must be between 2 and 127, not 1"),
        (128, ValueError, "not 128"),
        ([3, 1], ValueError, "not 1"),
        ([], ValueError, "not 0"),
        (3.0, TypeError, "n_states must be an integer, not 3.0"),
        ([3, 2.5], TypeError, r"n_states\[1\] must be an integer, not 2.5"),
        (True, TypeError, "n_states must be an integer, not True"),
        ([True, True], TypeError, r"n_states\[0\] must be an integer, not True"),
        (None, TypeError, "n_states must be an integer, not None"),
        ("3", TypeError, "n_states must be an integer, not '3'"),
    ],
)
def test_numbers_of_states_that_are_refused(n_states, error, message):
    with pytest.raises(error, match=message):
        ordinal(n_states)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0, 1], r"scores must be 3 increasing numbers, one for each state, not \[0, 1\]"),
        ([0, 2, 1], "scores must be 3 increasing numbers"),
        ([0, 1, 1], "scores must be 3 increasing numbers"),
        ([0, 1, np.inf], "scores must be 3 increasing numbers"),
        ([0, np.nan, 1], "scores must be 3 increasing numbers"),
        (1.0, "scores must be 3 increasing numbers"),
        ([[-1, 1], [-1, 0, 1]], r"scores\[0\] must be 3 increasing numbers, .* not \[-1, 1\]"),
        ([[-1, 0, 1], 2], r"scores\[1\] must be 3 increasing numbers, one for each state, not 2"),
        ([[-1, 0, 1], ["a", "b", "c"]], r"scores\[1\] must be numeric"),
        (["a", "b", "c"], "scores must be numeric"),
        ([False, True, True], "scores must be numeric"),
    ],
)
def test_scores_that_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        ordinal(3, scores)


EDGES = np.array([[0, 1], [2, 1], [0, 2]])
N_STATES = [3, 4, 2]


@pytest.mark.parametrize("n_states", [2, 3, 5])
def test_contrasts(n_states):
    F = contrasts(n_states, 5)
    assert F.shape == (4, 5)
    own = F[: n_states - 1, :n_states]
    np.testing.assert_allclose(own @ own.T, np.eye(n_states - 1), atol=1e-12)
    np.testing.assert_allclose(own.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(F[n_states - 1 :], 0.0)
    np.testing.assert_array_equal(F[:, n_states:], 0.0)


@pytest.mark.parametrize("n_states", [3, N_STATES])
def test_tables(n_states, rng):
    family, cards = nominal(n_states), [3, 3, 3] if n_states == 3 else n_states
    sizes = family.block_sizes(EDGES)
    np.testing.assert_array_equal(sizes, [(cards[u] - 1) * (cards[v] - 1) for u, v in EDGES])
    w = rng.normal(size=(2, sizes.sum()))
    K = max(cards)
    tables = family.edge_tables(w, EDGES)
    assert tables.shape == (2, 3, K, K)
    ends = np.cumsum(sizes)
    for s, (e, (u, v)) in itertools.product(range(2), enumerate(EDGES)):
        W = w[s, ends[e] - sizes[e] : ends[e]].reshape(cards[u] - 1, cards[v] - 1)
        U, V = (contrasts(cards[i], K)[: cards[i] - 1] for i in (u, v))
        np.testing.assert_allclose(tables[s, e], U.T @ W @ V, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(tables[s, e]), np.linalg.norm(W))


def test_statistics_are_those_of_the_tables(rng):
    family = nominal(N_STATES)
    pair, _ = family.edge_products(EDGES)
    np.testing.assert_array_equal(np.bincount(pair), family.block_sizes(EDGES))
    w = rng.normal(size=len(pair))
    tables = np.zeros((3, 4, 4))
    np.add.at(tables, pair, w[:, None, None] * family.edge_statistics(EDGES))
    np.testing.assert_allclose(tables, family.edge_tables(w, EDGES), atol=1e-12)


def test_families_without_a_common_statistic():
    with pytest.raises(NotImplementedError, match="no statistic in common"):
        _ = nominal(3).edge_statistic
    assert not nominal(3).measures_agreement
