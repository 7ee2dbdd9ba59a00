"""Edge parameters of several groups: contrasts, names, the field that they make, refused input."""

import numpy as np
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.distributions.group_weights import group_contrasts

GRAPH = pmrf.graphs.chain(4)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_contrasts_are_orthonormal_and_treat_variances_alike(k):
    contrasts = group_contrasts(k)
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(k - 1), atol=1e-12)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0, atol=1e-12)
    # the covariance of the groups is the same in any order
    np.testing.assert_allclose(contrasts @ contrasts.T, np.eye(k) - 1 / k, atol=1e-12)


@pytest.mark.parametrize("contrasts", [None, np.eye(3) - 1 / 3])
def test_weights_are_the_common_one_and_contrasts(contrasts):
    with pm.Model(coords=pmrf.coords(GRAPH)) as model:
        weight = pmrf.SpikeAndSlab("weight", 0.5, pm.Normal.dist(0, 1), dims="edge")
        found = pmrf.group_weights(weight, ["a", "b", 3], 0.5, pm.Normal.dist(0, 1), contrasts=contrasts)
    C = group_contrasts(3) if contrasts is None else contrasts
    names = [f"weight_difference_{j + 1}" for j in range(C.shape[1])]
    assert [rv.name for rv in model.free_RVs] == ["weight", *names]
    assert [d.name for d in model.deterministics] == ["weight_a", "weight_b", "weight_3"]
    assert all(
        model.named_vars_to_dims[v.name] == ("edge",) for v in model.free_RVs + model.deterministics
    )
    drawn = pm.draw([*found.values(), weight, *(model[name] for name in names)], random_seed=1)
    of_groups, common, *differences = drawn[:3], *drawn[3:]
    np.testing.assert_allclose(of_groups, common + C @ np.array(differences))


def test_groups_without_differences_have_exactly_the_same_weights():
    with pm.Model() as model:
        weight = pm.Normal("weight", shape=3)
        pmrf.group_weights(weight, list("abc"), 0.5, pm.Normal.dist(0, 1))
    first, *others = pm.draw([model[f"weight_{g}"] for g in "abc"], draws=50, random_seed=1)
    equal = np.all([first == other for other in others], axis=0)
    differences = pm.draw(
        [model["weight_difference_1"], model["weight_difference_2"]], 50, random_seed=1
    )
    assert equal.mean() == pytest.approx(0.25, abs=4.5 * np.sqrt(0.25 * 0.75 / equal.size))
    assert np.mean([d == 0 for d in differences]) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"weight": 1.0}, TypeError, "weight must be a variable of the model"),
        ({"groups": ["a"]}, ValueError, "two or more different labels"),
        ({"groups": ["a", "a"]}, ValueError, "two or more different labels"),
        ({"groups": 2}, TypeError, "groups must be a sequence of labels"),
        ({"p": 1.5}, ValueError, "p must lie strictly between 0 and 1"),
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
