"""Names of the axes of parameters: dimensions and coordinates of something else, which fit by chance."""

import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pymc.dims as pmd
import pytest
import xarray as xr

import pymc_mrf as pmrf

TRIANGLE = pmrf.graphs.complete(list("abc"))  # as many edges as nodes, and as states 1 to 3 of four
CYCLE = pmrf.PairwiseGraph("abcd", [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
COORDS = {
    **pmrf.coords(TRIANGLE),
    "state": range(1, 4),
    "row": range(5),
    "item": list("abc"),
    "k": range(3),
}
FAMILIES = {
    "agreement": lambda w, b: pmrf.AgreementMRF("x", pm.math.sigmoid(w), graph=TRIANGLE),
    "ising": lambda w, b: pmrf.Ising("x", w, b, graph=TRIANGLE),
    "boltzmann": lambda w, b: pmrf.BoltzmannMachine("x", w, b, graph=TRIANGLE),
    "potts": lambda w, b: pmrf.Potts("x", w, b, graph=TRIANGLE, n_states=3),
    "ordinal": lambda w, b: pmrf.OrdinalMRF("x", w, b, graph=TRIANGLE, n_states=4),
}


def normal(dims, name="v"):
    return pm.Normal(name, 0, 1, dims=dims)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dims", ["node", "item", ("row", "node")])
def test_edge_parameters_have_the_dimension_of_edges_last(family, dims):
    with pm.Model(coords=COORDS):
        w = normal(dims)
        if family == "potts" and dims == ("row", "node"):  # a leading axis is that of edges there
            w = w[:, :, None, None]
        with pytest.raises(
            ValueError, match=r"dimension '(node|item)' of v is that of nodes, .* edges are"
        ):
            FAMILIES[family](w, 0.0)


@pytest.mark.parametrize("family", ["agreement", "ising", "boltzmann", "ordinal"])
def test_as_many_rows_as_edges(family):
    with pm.Model(coords={**COORDS, "row": range(3)}):
        with pytest.raises(
            ValueError, match=r"dimension 'edge' of v is that of edges, .* rows are expected"
        ):
            FAMILIES[family](normal(("edge", "row")), 0.0)


@pytest.mark.parametrize(
    ("family", "dims", "message"),
    [
        ("ising", "edge", r"field: dimension 'edge' of v is that of edges, .* must be \(\"node\"\)"),
        ("boltzmann", "edge", "bias: dimension 'edge' of v is that of edges"),
        (
            "boltzmann",
            ("node", "row"),
            "bias: dimension 'node' of v is that of nodes, .* rows are expected",
        ),
        ("potts", ("state", "node"), "field: dimension 'state' of v is that of states, .* nodes are"),
        ("potts", "node", "field: dimension 'node' of v is that of nodes, .* states are expected"),
        ("potts", "item", "field: dimension 'item' of v is that of nodes, .* states are expected"),
        (
            "ordinal",
            ("state", "node"),
            r"threshold: dimension 'state' .* must be \(\"node\", \"state\"\)",
        ),
        ("ordinal", ("node", "edge"), "threshold: dimension 'edge' of v is that of edges"),
        ("ordinal", ("k", "item"), "threshold: dimension 'item' of v is that of nodes, .* states are"),
        ("ordinal", "node", "threshold: dimension 'node' of v is that of nodes, .* states are expected"),
        ("ordinal", None, r"threshold of shape \(3,\) is ambiguous, .*: give threshold\[None\]"),
        ("potts", None, r"field of shape \(3,\) is ambiguous"),
    ],
)
def test_node_parameters_have_the_dimensions_of_nodes_and_states(family, dims, message):
    with pm.Model(coords={**COORDS, "row": range(3)}):
        b = normal(dims) if dims else pm.Normal("v", 0, 1, shape=3)
        with pytest.raises(ValueError, match=message):
            FAMILIES[family](0.1, b)


@pytest.mark.parametrize("family", FAMILIES)
def test_right_dimensions_by_any_expression(family):
    states = ("node", "state") if family in ("potts", "ordinal") else ("node",)
    with pm.Model(coords=COORDS):
        w, b = normal("edge", "w"), normal(states, "b")
        turned = normal(("state", "node"), "turned").T if len(states) == 2 else normal("item", "turned")
        scaled = pm.Deterministic("scaled", 2.0 * w + normal("edge", "delta"), dims="edge")
        one = normal("state", "one") if len(states) == 2 else normal(None, "one")
        rv = FAMILIES[family](scaled, b + 0.5 * turned + one)
        assert rv.type.shape == (3,)


@pytest.mark.parametrize(
    "make",
    [
        lambda w, d, n: w + d,
        lambda w, d, n: pm.Deterministic("sum", 0.5 * (w + pm.math.exp(d)), dims="edge"),
        lambda w, d, n: w + n[:, None] * d,
        lambda w, d, n: d[None],
        lambda w, d, n: pm.Data("known", np.zeros(3), dims="node"),
    ],
)
def test_dimensions_are_followed_through_expressions(make):
    with pm.Model(coords=COORDS):
        weight = make(normal("edge", "w"), normal("node", "d"), np.ones(5))
        with pytest.raises(ValueError, match=r"weight: dimension 'node' of (d|known) is that of nodes"):
            pmrf.BoltzmannMachine("x", weight, graph=TRIANGLE)


def test_dimensions_of_named_tensors():
    with pm.Model(coords=COORDS):
        d = pmd.Normal("d", 0, 1, dims="node")
        for bias in (d.values, (1.0 + d).values):
            with pytest.raises(ValueError, match="weight: dimension 'node' of"):
                pmrf.BoltzmannMachine("x", bias, graph=TRIANGLE)
        pmrf.BoltzmannMachine("x", 0.1, bias, graph=TRIANGLE)


def test_entries_that_are_picked_have_no_dimension():
    labels = np.array([0, 0, 1])
    with pm.Model(coords=COORDS):
        pmrf.BoltzmannMachine("x", normal("node")[labels], graph=TRIANGLE)
        pmrf.BoltzmannMachine("y", normal("edge", "w"), normal("state", "s")[[0, 1, 2]], graph=TRIANGLE)


def test_forms_of_potts_couplings_by_their_dimensions():
    coords = {**pmrf.coords(CYCLE), "state": range(3), "other": range(3), "all": [0]}
    with pm.Model(coords=coords):
        for k, (dims, n_axes) in enumerate(
            {
                "edge": 0,
                ("edge", "state"): 1,
                ("edge", "state", "other"): 2,
                ("state", "other"): 2,
                ("all", "state"): 1,
            }.items()
        ):
            x = pmrf.Potts(f"x{k}", normal(dims, f"v{k}"), graph=CYCLE, n_states=3)
            assert x.owner.op.family.edge_axes == n_axes
        for k, dims in enumerate(
            ["node", ("node", "state"), ("state", "edge"), ("edge", "state", "node")]
        ):
            with pytest.raises(
                ValueError, match=r"coupling: dimension '(node|state)' of u\d is that of"
            ):
                pmrf.Potts("y", normal(dims, f"u{k}"), graph=CYCLE, n_states=3)


def test_lengths_of_dimensions_are_known_when_a_field_is_declared():
    with pm.Model(coords={"node": list("abc"), "state": range(1, 6)}) as model:
        model.add_coord("cut", length=5)
        for dims, shape in (("node", "3,"), (("node", "cut"), "3, 5"), (("cut", "cut"), "5, 5")):
            with pytest.raises(ValueError, match=rf"has shape \({shape}\), but must|dimension 'node'"):
                pmrf.OrdinalMRF("x", 0.1, normal(dims, "t"), graph=TRIANGLE, n_states=4)
            del model.named_vars["t"], model.named_vars_to_dims["t"]


def test_names_of_the_users_own():
    graph = nx.path_graph(["Ohio", "Iowa", "Utah"])
    with pm.Model(coords={"state": list(graph), "pair": ["x", "y"], "row": range(3), "level": range(3)}):
        b = normal(("row", "state"), "b")  # rows are no nodes though they are as many
        pmrf.Ising("x", normal("pair", "w"), b, graph=graph, dims=("row", "state"))
        pmrf.Potts("y", 0.1, normal(("state", "level"), "h"), graph=graph, n_states=3)
    with pm.Model(coords={"node": range(3), "edge": range(2)}):  # numbers in place of names
        pmrf.Ising("x", normal("edge", "w"), normal("node", "b"), graph=graph, dims="node")


def test_fields_have_the_dimension_of_nodes_last():
    for dims in (("node", "row"), "edge", ("row", "edge")):
        with pm.Model(coords={**COORDS, "row": range(3)}):
            with pytest.raises(ValueError, match=r"x: dimension '(node|edge)' is that of"):
                pmrf.Ising("x", 0.1, graph=TRIANGLE, dims=dims)


@pytest.mark.parametrize(
    "values",
    [
        xr.DataArray(np.zeros((3, 3)), dims=("state", "node")),
        xr.DataArray(np.zeros((3, 3)), dims=("s", "n"), coords={"n": list("abc")}),
        pd.DataFrame(np.zeros((3, 3)), index=[1, 2, 3], columns=list("abc")),
        pd.DataFrame(np.zeros((3, 3)), columns=["a--b", "a--c", "b--c"]),
        xr.DataArray(np.zeros(3), dims="node"),
        pd.Series(np.zeros(3), index=list("abc")),
    ],
)
def test_labelled_numbers(values):
    with pytest.raises(ValueError, match=r"threshold: dimension '.*' is that of (node|edge|state)s"):
        pmrf.OrdinalMRF.dist(0.1, values, graph=TRIANGLE, n_states=4)
    if values.ndim == 2 and not isinstance(values, pd.DataFrame):
        pmrf.OrdinalMRF.dist(0.1, values.T, graph=TRIANGLE, n_states=4)
    if values.ndim == 1:
        pmrf.BoltzmannMachine.dist(0.1, values, graph=TRIANGLE)
        with pytest.raises(ValueError, match=r"weight: dimension '(node|index)' is that of nodes"):
            pmrf.BoltzmannMachine.dist(values, graph=TRIANGLE)


def test_inclusion_probabilities_have_the_dimension_of_their_edges():
    slab = pm.Normal.dist(0, 1)
    with pm.Model(coords=COORDS):
        pmrf.SpikeAndSlab("w", pm.Beta("p", 1, 1, dims="edge"), slab, dims="edge")
        with pytest.raises(ValueError, match=r"v: p has dimension 'node' \(of q\), but v has 'edge'"):
            pmrf.SpikeAndSlab("v", pm.Beta("q", 1, 1, dims="node"), slab, dims="edge")


@pytest.mark.parametrize("name", ["ising", "boltzmann", "potts", "ordinal"])
def test_length_1_stands_for_all_nodes_or_edges(name):
    n_states = {"potts": {"n_states": 2}, "ordinal": {"n_states": 2}}.get(name, {})
    field = {"ising": pmrf.Ising, "boltzmann": pmrf.BoltzmannMachine}.get(name) or (
        pmrf.Potts if name == "potts" else pmrf.OrdinalMRF
    )
    of_rows = np.linspace(-1, 1, 6)[:, None]
    core = {"potts": lambda b: np.stack([-b, b], -1), "ordinal": lambda b: b[..., None]}.get(
        name, lambda b: b
    )
    x = np.random.default_rng(0).choice([-1, 1] if name == "ising" else [0, 1], (6, 4))

    def logp(weight, bias):
        return pm.logp(field.dist(weight, bias, graph=CYCLE, **n_states), x).eval()

    expected = logp(np.full(4, 0.3), core(np.repeat(of_rows, 4, axis=1)))
    np.testing.assert_allclose(logp(np.array([0.3]), core(of_rows)), expected)
    if name != "potts":  # whose matrices have axes of edges and states
        np.testing.assert_allclose(logp(np.full((6, 1), 0.3), core(of_rows)), expected)
