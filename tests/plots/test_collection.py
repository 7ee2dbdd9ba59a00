"""What all plots share: options of visuals, backends, the collection."""

import numpy as np
import pytest
import xarray as xr

from pymc_mrf.plots._collection import CATEGORICAL, Plot

DATA = xr.Dataset({"a": ("x", [1.0, 2.0]), "b": ("x", [3.0, 4.0])})


def plot_of(visuals=None, **pc_kwargs):
    return Plot("plot_this", ("line", "title", "colorbar", "legend"), visuals, pc_kwargs)


def draw_line(da, target, **style):
    (line,) = target.plot(da.values, **style)
    return line


def test_what_the_user_gives_comes_before_the_defaults():
    plot = plot_of({"line": {"color": "red"}}, col_wrap=1)
    plot.open(DATA, (4.0, 3.0), cols=["__variable__"], col_wrap=2)
    plot.map("line", draw_line, color="blue", linewidth=3.0)
    for name in DATA:
        line = plot.pc.get_viz("line", name)
        assert (line.get_color(), line.get_linewidth()) == ("red", 3.0)
        np.testing.assert_array_equal(line.get_ydata(), DATA[name])
    boxes = [plot.pc.get_target(name, {}).get_position() for name in DATA]
    assert boxes[0].y0 > boxes[1].y1  # in one column
    assert plot.pc.viz["figure"].item().get_size_inches().tolist() == [4.0, 3.0]


def test_visuals_that_are_switched_off_are_not_drawn():
    plot = plot_of({"line": False, "title": False, "colorbar": False})
    plot.open(DATA[["a"]], (2.0, 2.0))
    plot.map("line", draw_line)
    target = plot.pc.get_target("a", {})
    plot.write(target, title="words")
    assert not target.lines and target.get_title() == ""
    assert "line" not in plot.pc.viz.children
    assert plot.colorbar(target.imshow(np.eye(2))) is None
    assert plot.style("line", color="blue") == {"color": "blue"}
    assert plot_of({"colorbar": {"label": "mine"}}).style("colorbar", label="its") == {"label": "mine"}


def test_words_and_colour_bars_have_styles():
    plot = plot_of({"title": {"color": "red"}, "colorbar": {"label": "nats"}})
    plot.open(DATA[["a"]], (2.0, 2.0))
    target = plot.pc.get_target("a", {})
    plot.write(target, title="words")
    assert (target.get_title(), target.title.get_color()) == ("words", "red")
    assert plot.colorbar(target.imshow(np.eye(2)), label="other").ax.get_ylabel() == "nats"


def test_chains_have_colours_and_a_legend_if_there_are_several():
    draws = DATA[["a"]].expand_dims(chain=3)
    plot = plot_of()
    plot.open(draws, (2.0, 2.0), by_chain=True)
    plot.map("line", draw_line, ignore_aes=frozenset())
    lines = [plot.pc.get_viz("line", "a", chain=k) for k in range(3)]
    assert [line.get_color() for line in lines] == list(CATEGORICAL[:3])
    figure = plot.pc.viz["figure"].item()
    plot.chain_legend(1)
    assert not figure.legends
    plot.chain_legend(3)
    assert len(figure.legends) == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"visuals": ["line"]}, TypeError, r"visuals must be a dictionary such as \{'line': .*not \['l"),
        (
            {"visuals": {"bars": {}}},
            ValueError,
            "visuals has the key 'bars'; valid keys are 'line', 'ti",
        ),
        ({"visuals": {"line": True}}, TypeError, r"visuals\['line'\] must be a dictionary .* not True"),
        ({"backend": "bokeh"}, ValueError, "plot_this draws with matplotlib only; backend .* 'bokeh'"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        plot_of(**options)
