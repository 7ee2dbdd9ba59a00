from types import SimpleNamespace

import arviz as az
import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_mrf as pmrf
from pymc_mrf.graph.builders import grid
from pymc_mrf.graph.structure import PairwiseGraph
from pymc_mrf.plots.latent_field import plot_latent_field


def field_draws(x, nodes=None):
    coords = None if nodes is None else {"node": list(nodes)}
    return az.from_dict({"posterior": {"x": x}}, dims={"x": ["node"]}, coords=coords)


@pytest.fixture
def binary(rng):
    """Draws (2, 50, 12) of -1 and 1, each node with a probability of its own."""
    return 2 * rng.binomial(1, rng.random(12), (2, 50, 12)) - 1


@pytest.mark.parametrize("found", ["shape", "graph", "names"])
def test_images_of_a_lattice_however_it_is_known(binary, found, tmp_path):
    graph = grid(3, 4)
    names = [str(node) for node in graph.nodes]
    known = {"shape": {"shape": (3, 4)}, "graph": {"graph": graph}, "names": {}}[found]
    pc = plot_latent_field(field_draws(binary, names if found == "names" else None), "x", **known)
    flat = binary.reshape(-1, 12)
    up = (flat == 1).mean(axis=0)
    shown = {name: np.asarray(pc.get_viz(name, "x").get_array()) for name in ("mean", "mode", "entropy")}
    np.testing.assert_allclose(shown["mean"], flat.mean(axis=0).reshape(3, 4))
    np.testing.assert_array_equal(shown["mode"], (up > 0.5).reshape(3, 4))
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum([up * np.log(up), (1 - up) * np.log(1 - up)], axis=0)
    np.testing.assert_allclose(shown["entropy"], entropy.reshape(3, 4), atol=1e-12)
    assert pc.get_viz("entropy", "x").get_clim() == (0.0, np.log(2.0))
    pc.savefig(tmp_path / "field.png")  # it can be drawn


def test_a_lattice_with_a_hole_leaves_it_blank(rng):
    nodes = [node for node in grid(3, 3).nodes if node != (1, 1)]
    ends = [(u, v) for u, v in nx.grid_2d_graph(3, 3).edges if (1, 1) not in (u, v)]
    x = rng.integers(2, size=(1, 20, 8))
    pc = plot_latent_field(field_draws(x), "x", graph=PairwiseGraph(nodes, ends))
    assert np.argwhere(np.ma.getmaskarray(pc.get_viz("mean", "x").get_array())).tolist() == [[1, 1]]


def test_more_states_have_no_mean_and_a_colour_each(rng):
    x = rng.integers(3, 6, size=(2, 30, 6))
    pc = plot_latent_field(field_draws(x), "x", shape=(2, 3))
    assert "mean" not in pc.viz.children
    mode = pc.get_viz("mode", "x")
    counts = (x[..., None] == np.arange(3, 6)).sum(axis=(0, 1))
    np.testing.assert_array_equal(np.asarray(mode.get_array()), counts.argmax(axis=-1).reshape(2, 3))
    bar = mode.colorbar.ax
    assert [text.get_text() for text in bar.get_yticklabels()] == ["3", "4", "5"]
    chosen = plot_latent_field(field_draws(x), "x", shape=(2, 3), panels=["mean"])
    assert chosen.get_viz("mean", "x").get_clim() == (3, 5)


def test_a_network_of_coloured_nodes(binary):
    graph = nx.cycle_graph(12)
    pc = plot_latent_field(
        field_draws(binary), "x", graph=graph, visuals={"colorbar": False, "mode": False}
    )
    dots = pc.get_viz("mean", "x")
    np.testing.assert_allclose(dots.get_array(), binary.mean(axis=(0, 1)))
    assert "mode" not in pc.viz.children
    target = pc.get_target("x", {"panel": "mean"})
    assert sorted(text.get_text() for text in target.texts) == sorted(map(str, range(12)))
    pos = {i: (i, i % 3) for i in graph}
    placed = plot_latent_field(field_draws(binary), "x", graph=graph, pos=pos)
    np.testing.assert_array_equal(placed.get_viz("mean", "x").get_offsets(), list(pos.values()))


def test_a_volume_is_shown_layer_by_layer(binary, tmp_path):
    x = np.tile(binary, (1, 1, 40))[..., :240] * np.arange(1, 241)  # unlike at every node
    graph = grid(3, 4, 20)
    mean = np.sign(x).mean(axis=(0, 1)).reshape(3, 4, 20)
    for known in ({"shape": (3, 4, 20)}, {"graph": graph}):
        pc = plot_latent_field(field_draws(np.sign(x)), "x", **known)
        target = pc.get_target("x", {"panel": "mean"})
        named = {int(text.get_text().removeprefix("layer ")): text.xy for text in target.texts}
        assert len(named) == 16
        assert {0, 19} <= set(named)
        shown = np.ma.filled(pc.get_viz("mean", "x").get_array(), np.nan)
        for layer, (column, row) in named.items():
            i, j = round(row + 0.5), round(column + 0.5)
            np.testing.assert_allclose(shown[i : i + 3, j : j + 4], mean[..., layer])
        assert np.isfinite(shown).sum() == 16 * 12
    some = plot_latent_field(
        field_draws(np.sign(x)), "x", shape=(3, 4, 20), layers=[7], visuals={"labels": False}
    )
    np.testing.assert_allclose(some.get_viz("mean", "x").get_array(), mean[..., 7])
    assert not some.get_target("x", {"panel": "mean"}).texts


@pytest.mark.parametrize("first", [0, 5, "s"])
def test_segments_are_coloured_by_their_nodes(binary, first):
    """Labels are the names of nodes that are integers, and positions otherwise; others are blank."""
    nodes = [f"s{i}" for i in range(12)] if first == "s" else list(range(first, first + 12))
    labels = np.random.default_rng(0).permutation(np.arange(15)).reshape(3, 5)
    offset = 0 if first == "s" else first
    pc = plot_latent_field(field_draws(binary, nodes), "x", segments=labels + offset)
    shown = pc.get_viz("mean", "x").get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), labels >= 12)
    expected = np.append(binary.mean(axis=(0, 1)), [0, 0, 0])[labels]
    np.testing.assert_allclose(shown.compressed(), expected[labels < 12])


SQUARES = {
    "a": {
        "type": "Polygon",
        "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4]], [[1, 1], [2, 1], [2, 2], [1, 2]]],
    },
    "b": [(1, 1), (2, 1), (2, 2), (1, 2)],
    "c": {
        "type": "MultiPolygon",
        "coordinates": [[[[5, 0], [6, 1], [6, 0]]], [[[5, 2], [8, 2], [8, 4], [5, 4]]]],
    },
}


class Shape:
    """A geometry, as those of shapely."""

    def __init__(self, geometry):
        self.__geo_interface__ = geometry


class Table:
    """A table of geometries, as those of geopandas."""

    def __init__(self, geometries, index, is_geographic=False):
        self.geometry = pd.Series([Shape(shape) for shape in geometries], index=index)
        self.crs = type("CRS", (), {"is_geographic": is_geographic})


def outlines(named, form):
    """Make polygons of three nodes, however they are given."""
    square = {"type": "Polygon", "coordinates": [named["b"]]}
    features = [named["a"], square, named["c"]]
    if form == "table":
        return Table([features[2], features[0], features[1]], ["c", "a", "b"])
    if form == "table in order":
        return Table(features, [0, 1, 2])
    if form == "sequence":
        return [Shape(shape) for shape in features]
    return {**named, "a": {"type": "Feature", "geometry": named["a"]}, "further": None}


@pytest.mark.parametrize("form", ["dictionary", "sequence", "table", "table in order"])
def test_polygons_of_a_map(form, rng):
    x = np.stack([np.zeros((2, 20)), np.ones((2, 20)), rng.integers(2, size=(2, 20))], axis=-1).astype(
        int
    )
    pc = plot_latent_field(field_draws(x, list("abc")), "x", polygons=outlines(SQUARES, form))
    shown = pc.get_viz("mean", "x")
    np.testing.assert_allclose(shown.get_array(), x.mean(axis=(0, 1)))
    a, b, c = shown.get_paths()
    assert a.contains_point((3, 3))
    assert b.contains_point((1.5, 1.5))
    assert c.contains_point((5.7, 0.2))
    assert c.contains_point((6, 3))
    assert not c.contains_point((6, 1.5))
    target = pc.get_target("x", {"panel": "mean"})
    assert [text.get_text() for text in target.texts] == list("abc")
    np.testing.assert_allclose(target.texts[2].xy, (6.5, 3))
    assert target.get_aspect() == 1.0


def test_holes_are_not_painted_over(rng):
    x = np.stack([np.zeros((2, 20)), np.ones((2, 20)), np.ones((2, 20))], axis=-1).astype(int)
    for inner in (SQUARES["a"]["coordinates"][1], SQUARES["a"]["coordinates"][1][::-1]):
        ring = {"type": "Polygon", "coordinates": [SQUARES["a"]["coordinates"][0], inner]}
        pc = plot_latent_field(
            field_draws(x, list("abc")), "x",
            polygons={**SQUARES, "a": ring, "b": [(9, 9), (9, 10), (10, 9)]},
            panels="mean", visuals={"labels": False, "mean": {"cmap": "gray"}},
        )  # fmt: skip
        target = pc.get_target("x", {"panel": "mean"})
        target.figure.canvas.draw()
        picture = np.asarray(target.figure.canvas.buffer_rgba())
        column, row = target.transData.transform((1.5, 1.5)).astype(int)
        assert picture[-row, column, 0] == 255
        column, row = target.transData.transform((3.0, 3.0)).astype(int)
        assert picture[-row, column, 0] == 0


def test_maps_in_degrees_are_not_squeezed(binary):
    x, places = binary[..., :3], [[(0, 60)], [(2, 60)], [(1, 60)]]
    points = Table([{"type": "Point", "coordinates": at[0]} for at in places], list("abc"), True)
    pc = plot_latent_field(
        field_draws(x, list("abc")), "x", graph=nx.path_graph(list("abc")), pos=points
    )
    assert pc.get_target("x", {"panel": "mean"}).get_aspect() == pytest.approx(2.0)
    np.testing.assert_array_equal(pc.get_viz("mean", "x").get_offsets()[:, 0], [0, 2, 1])
    ring = {"type": "Polygon", "coordinates": [[[0, 59], [1, 60], [1, 61]]]}
    areas = Table([ring] * 3, list("abc"), True)
    pc = plot_latent_field(field_draws(x, list("abc")), "x", polygons=areas)
    assert pc.get_target("x", {"panel": "mean"}).get_aspect() == pytest.approx(2.0)
    twice = Table([ring] * 4, list("abca"))
    with pytest.raises(ValueError, match="polygons has several rows of one name; make one polygon"):
        plot_latent_field(field_draws(x, list("abc")), "x", polygons=twice)


def test_one_row_of_several_is_chosen(rng):
    x = rng.integers(2, size=(1, 20, 2, 6))
    tree = az.from_dict({"posterior": {"x": x}}, dims={"x": ["obs", "node"]})
    with pytest.raises(ValueError, match=r"choose one row, coords=\{'obs': 0\}"):
        plot_latent_field(tree, "x", shape=(2, 3))
    pc = plot_latent_field(tree, "x", shape=(2, 3), coords={"obs": 1})
    shown = np.asarray(pc.get_viz("mean", "x").get_array())
    np.testing.assert_allclose(shown, x[0, :, 1].mean(axis=0).reshape(2, 3))


def test_bad_input_is_named(binary):
    tree = field_draws(binary)
    for options, message in (
        ({}, r"the places of the 12 nodes of x are not known: give shape"),
        ({"shape": (5, 2)}, r"shape=\(5, 2\) does not hold the 12 nodes of x"),
        ({"graph": nx.path_graph(5)}, "x has 12 nodes but the graph has 5"),
        (
            {"shape": (3, 4), "panels": ["map"]},
            "panels must be different ones of 'mean', 'mode', 'entropy'",
        ),
        ({"shape": (3, 4), "coords": {"obs": 0}}, "coords names 'obs', but x has dims"),
        ({"shape": (3, 4), "backend": "bokeh"}, "matplotlib only"),
        ({"graph": nx.path_graph(12), "pos": {0: (0, 0)}}, "pos has no position for node 1"),
        ({"shape": (3, 4), "visuals": {"map": False}}, "visuals has the key 'map'"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_latent_field(tree, "x", **options)
    with pytest.raises(TypeError, match="x is float64; the states of a latent field are integers"):
        plot_latent_field(field_draws(binary.astype(float)), "x", shape=(3, 4))
    with pytest.raises(ValueError, match="x has 1200 states"):
        plot_latent_field(field_draws(np.arange(1200).reshape(2, 50, 12)), "x", shape=(3, 4))


@pytest.mark.parametrize("n_states", [2, 3])
def test_counts_are_drawn_as_draws_are(rng, n_states):
    """Those of `LatentMarginals`, of chains of different lengths."""
    x = rng.integers(n_states, size=(2, 30, 6))
    with pm.Model():
        field = pmrf.Potts("x", 0.5, graph=grid(2, 3), n_states=n_states)
        counts = pmrf.LatentMarginals(field)
    lengths = (30, 20)
    for c, n in enumerate(lengths):
        for s in range(n):
            counts(None, SimpleNamespace(chain=c, draw_idx=s, tuning=False, point={"x": x[c, s]}))
    together = np.concatenate([x[0], x[1, :20]])[None]
    tree = field_draws(together)
    tree["latent"] = xr.DataTree(counts.to_dataset())
    for panel in ("mean", "mode", "entropy"):
        drawn, counted = (
            plot_latent_field(tree, "x", shape=(2, 3), group=group, panels=[panel]).get_viz(panel, "x")
            for group in ("posterior", "latent")
        )
        np.testing.assert_allclose(counted.get_array(), drawn.get_array())
    with pytest.raises(ValueError, match=r"the latent group holds the marginals of 'x': .* not 'mode'"):
        plot_latent_field(tree, "mode", shape=(2, 3), group="latent")


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
@pytest.mark.parametrize("group", ["posterior", "latent"])
def test_a_field_with_missing_cells_is_filled_in(rng, group):
    x = np.ma.masked_array(2 * rng.integers(2, size=(3, 6)) - 1, rng.random((3, 6)) < 0.5)
    x.mask[:, 0], x.mask[:, 1] = True, False
    with pm.Model():
        field = pmrf.Ising("x", 0.4, graph=grid(2, 3), observed=x)
        counts = pmrf.LatentMarginals(field)
        tree = pm.sample(
            20,
            tune=5,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
            callback=counts,
        )
    tree["latent"] = xr.DataTree(counts.to_dataset())
    cells = tree["posterior"]["x_unobserved"].values.reshape(40, -1)
    whole = x.data.astype(float)
    whole[x.mask] = cells.mean(axis=0)
    for row in range(3):
        pc = plot_latent_field(tree, "x", shape=(2, 3), coords={"x_dim_0": row}, group=group)
        np.testing.assert_allclose(pc.get_viz("mean", "x").get_array(), whole[row].reshape(2, 3))
