from contextlib import nullcontext

import arviz as az
import matplotlib
import networkx as nx
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_mrf as pmrf
from pymc_mrf.graph.structure import as_graph
from pymc_mrf.plots.ppc import MISSED, plot_ppc_edges, plot_ppc_magnetisation
from pymc_mrf.plots.ppc_runs import plot_ppc_runs

GRAPH = as_graph(nx.Graph([("a", "b"), ("b", "c"), ("c", "d")]))


def tree_of(predicted, observed):
    groups = {"posterior_predictive": {"x": predicted}, "observed_data": {"x": observed}}
    return az.from_dict(groups)


@pytest.fixture
def checked(rng):
    """40 rows whose nodes a and b always agree, which the predictive draws do not know."""
    predicted = rng.integers(2, size=(2, 100, 40, 4))
    observed = rng.integers(2, size=(40, 4))
    observed[:, 1] = observed[:, 0]
    return tree_of(predicted, observed), predicted, observed


def area_and_centre(histogram):
    """Area of the polygon of a histogram, and the mean of its abscissae."""
    x, y = histogram.get_paths()[0].vertices.T
    cross = x[:-1] * y[1:] - x[1:] * y[:-1]
    area = cross.sum() / 2
    return abs(area), ((x[:-1] + x[1:]) * cross).sum() / (6 * area)


def test_edges_that_the_model_misses(checked, tmp_path):
    tree, predicted, observed = checked
    pc = plot_ppc_edges(tree, "x", graph=GRAPH, ci_prob=0.99, backend="matplotlib")
    [(x, y)] = pc.get_viz("missed_points", "x").get_offsets()
    agree = (predicted[..., 0] == predicted[..., 1]).mean()
    assert (x, y) == (1.0, pytest.approx(agree - 1.0))
    kept = pc.get_viz("points", "x").get_offsets()
    u, v = GRAPH.edges[1:].T
    np.testing.assert_allclose(kept[:, 0], (observed[:, u] == observed[:, v]).mean(axis=0))
    target = pc.get_target("x", {})
    assert target.get_title() == "1 of 3 edges outside their 99 % interval"
    assert "a--b" in [text.get_text().strip() for text in target.texts]
    pc.savefig(tmp_path / "edges.png")  # it can be drawn


@pytest.mark.parametrize("plot", [plot_ppc_edges, plot_ppc_magnetisation])
def test_any_backend(checked, plot):
    graph = {"graph": GRAPH} if plot is plot_ppc_edges else {}
    assert plot(checked[0], "x", backend="none", **graph).backend == "none"


def test_runs_that_the_model_misses(rng, tmp_path):
    """Node b keeps its state for longer than the model knows."""
    with pm.Model() as model:
        observed = rng.integers(2, size=(60, 4))
        observed[:, 1] = np.repeat([0, 1], 30)
        graph = pmrf.graphs.lagged(list("abcd"))
        pmrf.KineticMRF("x", 0.0, 0.0, graph=graph, observed=observed)
    tree = tree_of(rng.integers(2, size=(2, 100, 60, 4)), observed)
    pc = plot_ppc_runs(tree, "x", model=model, state=1, ci_prob=0.99, backend="matplotlib")
    points = pc.get_viz("observed", "longest")
    np.testing.assert_allclose(points.get_offsets()[2], [30, 2])  # the first node is on top
    colours = [matplotlib.colors.to_hex(colour) for colour in points.get_edgecolors()]
    assert [colour == MISSED.lower() for colour in colours] == [False, False, True, False]
    assert pc.get_target("number", {}).get_title() == "number"
    pc.savefig(tmp_path / "runs.png")  # it can be drawn
    arrows = plot_ppc_edges(tree, "x", graph=graph, model=model, ci_prob=0.999, backend="matplotlib")
    missed = arrows.get_viz("missed_points", "x").get_offsets()
    assert missed[:, 0].max() == pytest.approx(58 / 59)  # b->b


def test_nothing_is_labelled_where_nothing_is_missed(rng):
    x = rng.integers(2, size=(30, 4))
    predicted = np.broadcast_to(x, (2, 10, 30, 4)).copy()
    pc = plot_ppc_edges(tree_of(predicted, x), "x", graph=GRAPH, backend="matplotlib")
    assert "missed_points" not in pc.viz.children
    assert not pc.get_target("x", {}).texts


def test_rows_by_their_magnetisation(checked):
    tree, predicted, observed = checked
    pc = plot_ppc_magnetisation(tree, "x", backend="matplotlib")
    area, centre = area_and_centre(pc.get_viz("observed", "x"))
    assert (area, centre) == (pytest.approx(0.25), pytest.approx(observed.mean()))
    points = pc.get_viz("predictive", "x").get_offsets()
    np.testing.assert_allclose(points[:, 0], np.arange(5) / 4)
    shares = np.bincount(predicted.sum(axis=-1).ravel(), minlength=5) / (200 * 40)
    np.testing.assert_allclose(points[:, 1], shares)


def test_one_row_and_many_nodes(rng):
    """A picture: the distribution of its mean, with a line; -1 and 1 keep their values."""
    predicted = 2 * rng.integers(2, size=(2, 50, 1, 400)) - 1
    observed = 2 * rng.integers(2, size=(1, 400)) - 1
    pc = plot_ppc_magnetisation(tree_of(predicted, observed), "x", backend="matplotlib")
    assert pc.get_viz("observed", "x").get_xdata()[0] == pytest.approx(observed.mean())
    area, centre = area_and_centre(pc.get_viz("predictive", "x"))
    assert area == pytest.approx(14 * 2 / 400)  # bins of 14 counts
    assert centre == pytest.approx(
        predicted.mean(), abs=14 / 400
    )  # values move to the middle of their bin


def test_a_plot_per_state(rng):
    predicted, observed = rng.integers(3, size=(1, 20, 30, 5)), rng.integers(3, size=(30, 5))
    pc = plot_ppc_magnetisation(tree_of(predicted, observed), "x", backend="matplotlib")
    for state in range(3):
        points = pc.get_viz("predictive", "x", state=state).get_offsets()
        shares = np.bincount((predicted == state).sum(axis=-1).ravel(), minlength=6) / 600
        np.testing.assert_allclose(points[:, 1], shares[: len(points)])
        assert pc.get_target("x", {"state": state}).get_title() == f"state {state}"


def test_bad_input_is_named(checked, rng):
    tree = checked[0]
    with pytest.raises(ValueError, match="x has 4 nodes but the graph has 7"):
        plot_ppc_edges(tree, "x", graph=nx.path_graph(7))
    with pytest.raises(ValueError, match="ci_prob must be a number above 0 and below 1, not 89"):
        plot_ppc_edges(tree, "x", graph=GRAPH, ci_prob=89)
    with pytest.raises(ValueError, match="graph has no edges"):
        plot_ppc_edges(tree, "x", graph=nx.empty_graph(4))
    with pytest.raises(ValueError, match="visuals has the key 'bars'"):
        plot_ppc_magnetisation(tree, "x", visuals={"bars": False})
    del tree["posterior_predictive"]
    with pytest.raises(ValueError, match=r"'posterior_predictive'.*pm\.sample_posterior_predictive"):
        plot_ppc_magnetisation(tree, "x")
    floats = tree_of(rng.random((1, 5, 3, 4)), np.zeros((3, 4), dtype=int))
    with pytest.raises(TypeError, match="x of the posterior_predictive group is float64"):
        plot_ppc_edges(floats, "x", graph=GRAPH)


@pytest.mark.filterwarnings("ignore:Data in x contains missing values")
def test_fields_with_missing_cells(rng):
    """A check of the field by its own name: the cells that were seen, in data and predictive draws."""
    x = np.ma.masked_array(rng.integers(2, size=(50, 4)), rng.random((50, 4)) < 0.2)
    x[:, 1] = x[:, 0]
    x[7], x[8, 3] = np.ma.masked, np.ma.masked
    with pm.Model():
        pmrf.BoltzmannMachine("x", pm.Normal("w"), graph=GRAPH, observed=x)
        tree = pm.sample_prior_predictive(50, random_seed=1)
    options = {"group": "prior_predictive", "backend": "matplotlib"}
    pc = plot_ppc_edges(tree, "x", graph=GRAPH, ci_prob=0.99, **options)
    observed = np.ma.mean(x[:, [0, 1, 2]] == x[:, [1, 2, 3]], axis=0)
    shown = [
        pc.get_viz(name, "x").get_offsets() for name in ("points", "missed_points") if name in pc.viz
    ]
    np.testing.assert_allclose(np.sort(np.concatenate(shown)[:, 0]), np.sort(observed))
    pc = plot_ppc_magnetisation(tree, "x", **options)
    seen = x.mean(axis=1).compressed()
    shares = np.bincount(np.rint(4 * seen).astype(int), minlength=5) / len(seen)
    heights = pc.get_viz("observed", "x").get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(heights.max(), shares.max())
    assert f"bars: {len(seen)} observed rows" in pc.get_target("x", {}).get_title()


def test_edges_that_no_row_tells_of(rng):
    observed, predicted = rng.integers(2, size=(6, 4)) * 1.0, rng.integers(2, size=(1, 20, 6, 4)) * 1.0
    observed[:3, 0] = observed[3:, 1] = predicted[:, :, :3, 0] = predicted[:, :, 3:, 1] = np.nan
    tree = tree_of(predicted, observed)
    pc = plot_ppc_edges(tree, "x", graph=GRAPH, backend="matplotlib")
    assert (
        pc.get_target("x", {}).get_title().endswith("interval; 1 more without a row that has both ends")
    )
    one_edge = nx.Graph([("a", "b")])
    one_edge.add_nodes_from("cd")
    with pytest.raises(ValueError, match="no row of x has both ends of an edge"):
        plot_ppc_edges(tree, "x", graph=as_graph(one_edge), backend="matplotlib")


@pytest.mark.parametrize(
    ("answers", "titles"),
    [
        (["agree", "doubt", "never"], ["state agree", "state doubt", "state never"]),
        ([1, 2, 3], ["state 1", "state 2", "state 3"]),
    ],
)
def test_states_are_called_what_the_table_calls_them(rng, answers, titles):
    observed = rng.integers(3, size=(30, 4))
    table = pd.DataFrame(np.array(answers, dtype=object)[observed], columns=list("abcd")).infer_objects()
    model = pmrf.network_model(table, kind="nominal")
    tree = tree_of(rng.integers(3, size=(1, 20, 30, 4)), observed)
    pc = plot_ppc_magnetisation(tree, "x", model=model, backend="matplotlib")
    assert [pc.get_target("x", {"state": k}).get_title() for k in range(3)] == titles


@pytest.mark.parametrize(
    ("answers", "label", "centre"),
    [(["no", "yes"], "share of nodes in the state yes", 0.0), ([1, 2], "mean state of a row of x", 1.0)],
)
def test_two_states_are_called_what_the_table_calls_them(rng, answers, label, centre):
    observed = rng.integers(2, size=(30, 4))
    table = pd.DataFrame(np.array(answers, dtype=object)[observed], columns=list("abcd")).infer_objects()
    if isinstance(answers[0], str):
        table = table.apply(lambda column: pd.Categorical(column, answers, ordered=True))
    said = pytest.warns(UserWarning, match="counted from 0") if answers[0] == 1 else nullcontext()
    with said:
        model = pmrf.network_model(table)
    pc = plot_ppc_magnetisation(
        tree_of(rng.integers(2, size=(1, 20, 30, 4)), observed), "x", model=model, backend="matplotlib"
    )
    assert area_and_centre(pc.get_viz("observed", "x"))[1] == pytest.approx(centre + observed.mean())
    assert pc.get_target("x", {}).get_xlabel() == label
