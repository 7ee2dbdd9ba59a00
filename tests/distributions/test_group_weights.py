"""Edge parameters of several groups: contrasts, names, the field that they make, refused input."""

from datetime import date
from itertools import combinations, permutations, product

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.distributions.group_weights import group_contrasts
from tests.statistics import Z

GRAPH = pmrf.graphs.chain(4)


def classes(contrasts):
    """Class of each group, in order of appearance: groups with the same row are equal."""
    rows = [tuple(row) for row in contrasts]
    return tuple(list(dict.fromkeys(rows)).index(row) for row in rows)


def partition_probabilities(k, p):
    """Prior probability of each partition of k groups, over all sets of divisions."""
    contrasts = group_contrasts(k)
    q = 1 - (1 - p) ** (2.0 ** (2 - k))
    found = {}
    for present in product([False, True], repeat=contrasts.shape[1]):
        own = classes(contrasts[:, list(present)])
        found[own] = found.get(own, 0.0) + np.prod(np.where(present, q, 1 - q))
    return found


@pytest.mark.parametrize(("k", "n_partitions"), [(2, 2), (3, 5), (4, 15)])
def test_all_partitions_of_groups_are_possible_whatever_the_order(k, n_partitions):
    found = partition_probabilities(k, 0.4)
    assert len(found) == n_partitions
    for order in permutations(range(k)):
        for own, probability in found.items():
            other = classes([(own[g],) for g in order])
            assert found[other] == pytest.approx(probability)
    for u, v in combinations(range(k), 2):
        equal = sum(probability for own, probability in found.items() if own[u] == own[v])
        assert equal == pytest.approx(0.6)
    assert found[(0,) * k] == pytest.approx(0.6 ** (2 - 2.0 ** (2 - k)))


def test_the_partition_of_some_groups_does_not_depend_on_others():
    of_three = dict.fromkeys(partition_probabilities(3, 0.3), 0.0)
    for own, probability in partition_probabilities(4, 0.3).items():
        of_three[classes([(label,) for label in own[:3]])] += probability
    assert of_three == pytest.approx(partition_probabilities(3, 0.3))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_contrasts_sum_to_zero_and_part_two_sides_by_one(k):
    contrasts = group_contrasts(k)
    assert contrasts.shape == (k, 2 ** (k - 1) - 1)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.ptp(contrasts, axis=0), 1)
    assert all(len(np.unique(column)) == 2 for column in contrasts.T)
    assert (contrasts[0] < 0).all()


def test_many_groups_have_a_difference_each_and_a_warning():
    with pm.Model() as model:
        weight = pm.Normal("weight", shape=2)
        with pytest.warns(
            UserWarning, match="groups are 7, more than 6: .* Merge groups, or give contrasts"
        ):
            pmrf.group_weights(weight, list("abcdefg"), 0.5, pm.Normal.dist(0, 1))
    np.testing.assert_allclose(model["weight_contrasts"].get_value(), np.eye(7) - 1 / 7)
    drawn = pm.draw([model["weight_b"], model["weight_f"]], draws=400, random_seed=1)
    equal = np.mean(np.abs(drawn[0] - drawn[1]) < 1e-12)
    assert equal == pytest.approx(0.5, abs=Z * np.sqrt(0.25 / 800))


@pytest.mark.parametrize("contrasts", [None, [[1, 0], [-0.5, 0.5], [-0.5, -0.5]]])
def test_weights_are_the_common_one_and_contrasts(contrasts):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), dims="edge")
        found = pmrf.group_weights(
            weight, ["a", "b", "c"], 0.5, pm.Normal.dist(0, 1), contrasts=contrasts
        )
    C = group_contrasts(3) if contrasts is None else np.array(contrasts)
    names = [f"weight_difference_{j + 1}" for j in range(C.shape[1])]
    assert [rv.name for rv in model.free_RVs] == ["weight", *names]
    assert [d.name for d in model.deterministics] == ["weight_a", "weight_b", "weight_c"]
    assert all(
        model.named_vars_to_dims[v.name] == ("edge",) for v in model.free_RVs + model.deterministics
    )
    np.testing.assert_allclose(model["weight_contrasts"].get_value(), C)
    drawn = pm.draw([*found.values(), weight, *(model[name] for name in names)], random_seed=1)
    of_groups, common, *differences = drawn[:3], *drawn[3:]
    np.testing.assert_allclose(of_groups, common + C @ np.array(differences))


@pytest.mark.parametrize("p", [0.3, [0.3] * 3, "beta"])
def test_two_groups_of_three_differ_with_probability_p(p):
    with pm.Model() as model:
        weight = pm.Normal("weight", shape=3)
        p = pm.Beta("p", 3, 7) if p == "beta" else p
        pmrf.group_weights(weight, list("abc"), p, pm.Normal.dist(0, 1))
    drawn = pm.draw([model[f"weight_{g}"] for g in "abc"], draws=600, random_seed=1)
    error = np.sqrt(0.3 * 0.7 / 600)  # entries of a draw may have p in common
    for u, v in combinations(range(3), 2):
        differ = np.abs(drawn[u] - drawn[v]) > 1e-12
        assert differ.mean() == pytest.approx(0.3, abs=Z * error)
        alone = differ & (np.abs(drawn[u] - drawn[3 - u - v]) < 1e-12)
        assert alone.any()
    all_equal = np.ptp(drawn, axis=0).max(axis=-1) < 1e-12
    assert 0 < all_equal.mean() < 1


def test_entries_in_blocks_differ_as_a_whole():
    with pm.Model() as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), blocks=[2, 1, 3])
        pmrf.group_weights(weight, list("abc"), 0.5, pm.Normal.dist(0, 1))
        plain = pm.Normal("plain", shape=3)
        pmrf.group_weights(plain, list("abc"), 0.5, pm.Normal.dist(0, 1), blocks=[1, 2])
    assert model["weight_difference_3"].owner.op.blocks == (2, 1, 3)
    assert model["plain_difference_1"].owner.op.blocks == (1, 2)


@pytest.mark.parametrize(
    ("labels", "shown", "names"),
    [
        (["urban/rural", "n/a"], ["urban/rural", "n/a"], ["urban_rural", "n_a"]),
        (
            ["a b", "a_b", "a-b", "a_b_2"],
            ["a b", "a_b", "a-b", "a_b_2"],
            ["a_b_3", "a_b", "a_b_4", "a_b_2"],
        ),
        (["", "é:"], ["", "é:"], ["group", "é"]),
        ([1.0, 2.0, 2.5], [1.0, 2.0, 2.5], ["1", "2", "2_5"]),
        ([np.int64(-1), np.int64(1)], [-1, 1], ["1_2", "1"]),
        ([True, False], [True, False], ["True", "False"]),
        ([1, "1"], ["1", "'1'"], ["1", "1_2"]),
        (
            [date(2020, 1, 2), date(2021, 3, 4)],
            ["2020-01-02", "2021-03-04"],
            ["2020_01_02", "2021_03_04"],
        ),
        (
            ["difference_1", "contrasts", "unobserved"],
            ["difference_1", "contrasts", "unobserved"],
            ["group_difference_1", "group_contrasts", "group_unobserved"],
        ),
    ],
)
def test_labels_are_data(labels, shown, names, tmp_path):
    with pm.Model() as model:
        weight = pm.Normal("weight", shape=3)
        found = pmrf.group_weights(weight, labels, 0.5, pm.Normal.dist(0, 1))
        prior = pm.sample_prior_predictive(2, random_seed=1)
    assert list(found) == labels
    assert [d.name for d in model.deterministics] == [f"weight_{name}" for name in names]
    assert [type(label) for label in model.coords["group"]] == [type(label) for label in shown]
    prior.to_netcdf(tmp_path / "prior.nc")
    with xr.open_datatree(tmp_path / "prior.nc") as stored:
        assert stored.constant_data["weight_contrasts"]["group"].values.tolist() == shown


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"weight": 1.0}, TypeError, "weight must be a variable of the model"),
        ({"groups": ["a"]}, ValueError, "two or more different labels"),
        ({"groups": ["a", "a"]}, ValueError, "two or more different labels"),
        ({"groups": 2}, TypeError, "groups must be a sequence of labels"),
        ({"p": 1.5}, ValueError, "p must lie strictly between 0 and 1"),
        (
            {"groups": ["a", "b", "c"], "p": 1.5},
            ValueError,
            "p must lie strictly between 0 and 1, but 1.5",
        ),
        ({"contrasts": [[1.0], [1.0]]}, ValueError, "column 0 is .* must sum to 0"),
        ({"contrasts": [[1.0, 0.0], [-1.0, 0.0]]}, ValueError, "column 1 is .* not be 0 throughout"),
        ({"contrasts": [[1.0], [-1.0], [0.0]]}, ValueError, "one row for each of the 2 groups"),
    ],
)
def test_refused(arguments, error, message):
    with pm.Model():
        given = {"weight": pm.Normal("weight", shape=3), "groups": ["a", "b"], "p": 0.5}
        given |= {"slab": pm.Normal.dist(0, 1)} | arguments
        weight, groups, p, slab = (given.pop(name) for name in ("weight", "groups", "p", "slab"))
        with pytest.raises(error, match=message):
            pmrf.group_weights(weight, groups, p, slab, **given)


def test_another_coordinate_of_that_name_is_refused():
    with pm.Model(coords={"group": ["x", "y", "z"]}):
        weight = pm.Normal("weight", shape=3)
        with pytest.raises(ValueError, match="the model has the coordinate 'group' already"):
            pmrf.group_weights(weight, ["a", "b"], 0.5, pm.Normal.dist(0, 1))
