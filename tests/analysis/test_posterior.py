"""How variables are read from results: functions of draws, entries of nodes, names."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

from pymc_mrf.analysis._posterior import names_of, node_draws, of_nodes, values_at_draws
from pymc_mrf.graph.structure import as_graph
from tests.analysis.sparse_draws import GRAPH


@pytest.fixture
def drawn(rng):
    with pm.Model() as model:
        a, b = pm.Normal("a"), pm.Normal("b", shape=2)
        pm.Deterministic("sum", a + b)
    draws = {"a": rng.normal(size=(2, 10)), "b": rng.normal(size=(2, 10, 2))}
    return model, az.from_dict({"posterior": draws}), draws


def test_functions_are_evaluated_chain_by_chain(drawn):
    model, idata, draws = drawn
    values, coords = values_at_draws([model["sum"], model["a"]], idata, model, "posterior")
    sums, alone = map(np.array, zip(*values, strict=True))
    np.testing.assert_allclose(sums, (draws["a"][..., None] + draws["b"]).reshape(20, 2))
    np.testing.assert_allclose(alone, draws["a"].ravel())
    assert {dim: labels.size for dim, labels in coords.items()} == {"chain": 2, "draw": 10}


@pytest.mark.parametrize(("most", "kept"), [(20, 10), (7, 3), (2, 1), (1, 1)])
def test_draws_are_thinned_evenly(drawn, most, kept):
    model, idata, draws = drawn
    values, coords = values_at_draws(model["a"], idata, model, "posterior", most)
    places = coords["draw"].values
    assert len(places) == kept and places[0] == 0 and len(set(np.diff(places))) <= 1
    np.testing.assert_allclose(list(values), draws["a"][:, places].ravel())


def test_what_is_not_random_is_there_once(drawn):
    model, idata, _ = drawn
    values, coords = values_at_draws(pm.math.exp(0.0), idata, model, "posterior")
    assert [float(value) for value in values] == [1.0]
    assert coords == {}


def test_entries_of_nodes(rng):
    assert of_nodes({"b": 2, "a": 1, "c": 3}, ["a", "b"], "sizes", "size") == [1, 2]
    with pytest.raises(ValueError, match="sizes has no size for node 'd'; give one to every node, by"):
        of_nodes({"a": 1}, ["a", "d"], "sizes", "size")
    graph = as_graph(GRAPH)
    idata = az.from_dict({"posterior": {"z": rng.integers(2, size=(1, 3, 5))}})
    with pytest.raises(ValueError, match="labels='z' has 5 entries but the graph has 4 nodes; name a"):
        node_draws(idata, "z", graph, "posterior", "labels")
    z = rng.integers(2, size=(1, 3, 4))
    named = az.from_dict({"posterior": {"z": z}}, dims={"z": ["node"]}, coords={"node": list("dcba")})
    with pytest.raises(ValueError, match="z: its labels are the nodes of the graph in another order"):
        node_draws(named, "z", graph, "posterior", "labels")


def test_one_name_or_several():
    assert names_of("ab", "var_names") == ["ab"]
    assert names_of(("a", "b"), "var_names") == ["a", "b"]
    with pytest.raises(TypeError, match="var_names must be a sequence of variables, not 3"):
        names_of(3, "var_names", "variables")
