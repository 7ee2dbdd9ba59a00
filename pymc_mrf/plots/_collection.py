"""Figures with one or several plots, the options of their visuals, and matrices as pictures."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.checks import check_option, quoted

# Okabe & Ito (2008), told apart with every colour vision
CATEGORICAL = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")
POINTS = {"color": CATEGORICAL[0], "marker": "o", "markersize": 4, "linestyle": ""}
INTERVALS = {"color": CATEGORICAL[0], "alpha": 0.6, "linewidth": 1.8}

OF_COLLECTION = ("cols", "col_wrap", "figure_kwargs", "aes")  # what `PlotCollection.wrap` takes of users
BACKENDS = ("matplotlib", "bokeh", "plotly", "none")

# orange - grey - purple: told apart with every colour vision, and unlike the usual colours of parties
DIVERGING = ("#7f3b08", "#d98018", "#f0b56a", "#d4d4d4", "#a695cc", "#6a4a9c", "#2d004b")
MAX_TICK_LABELS = 60


def category_palette(n: int) -> list:
    """Colours of n categories: `CATEGORICAL`, or more by hues around the circle, light and dark by turns."""
    from colorsys import hls_to_rgb

    if n <= len(CATEGORICAL):
        return list(CATEGORICAL[:n])
    return [hls_to_rgb(k / n, (0.35, 0.6)[k % 2], 0.75) for k in range(n)]


def literal(name: Any, backend: str = "matplotlib") -> str:
    """Text of a name, in whose dollar signs matplotlib sees no formula."""
    return str(name).replace("$", r"\$") if backend == "matplotlib" else str(name)


def stacked(parts: Mapping[str, xr.DataArray], name: str) -> xr.Dataset:
    """Stack coordinates of points along the dimension "plot_axis" that visuals of ArviZ read."""
    arrays = xr.broadcast(*parts.values())
    together = xr.concat(arrays, dim="plot_axis", coords="minimal", compat="override")
    return together.assign_coords(plot_axis=list(parts)).to_dataset(name=name)


class Plot:
    """A plot in the making: what a user wants of it, and from `open` on its `PlotCollection`.

    `function`: that makes it. `names`: all visuals that it has. `visuals`: of the user: keyword
    arguments for each visual, or False to leave it out. `pc_kwargs`: of the user, for
    `PlotCollection.wrap`, a `backend` among them: matplotlib alone is served, and is the default, unless
    `any_backend`; then the default is ``rcParams["plot.backend"]``.

    Attributes: `pc` (PlotCollection). Raises a TypeError or ValueError if `visuals` is no mapping of
    keyword arguments or names something else, or for another backend; of `open`, if `pc_kwargs` has what
    is no argument. Raises an ImportError if the backend is not installed.
    """

    def __init__(
        self,
        function: str,
        names: Sequence[str],
        visuals: Mapping[str, Any] | None,
        pc_kwargs: Mapping[str, Any],
        *,
        any_backend: bool = False,
    ) -> None:
        self._visuals = _checked_visuals(visuals, names)
        self._function, self.pc_kwargs = function, dict(pc_kwargs)
        backend = self.pc_kwargs.pop("backend", None)
        self.backend = _any_backend(backend) if any_backend else _matplotlib(backend, function)
        self.pc: Any = None

    def open(
        self, data: xr.Dataset, figsize: tuple[float, float], *, by_chain: bool = False, **defaults: Any
    ) -> Any:
        """Make the collection, with one plot for `data` unless options ask for more, and return it.

        `by_chain` gives every chain a colour.
        """
        from arviz_plots import PlotCollection

        options = {**defaults, **self.pc_kwargs}
        figure: dict[str, Any] = {} if self.backend == "none" else {"figsize": figsize}
        if self.backend == "matplotlib":
            figure["layout"] = "constrained"  # makes room for legends
        options["figure_kwargs"] = {**figure, **options.get("figure_kwargs", {})}
        if by_chain:
            options = {"color": list(CATEGORICAL), **options}
            options["aes"] = {"color": ["chain"], **options.get("aes", {})}
        unknown = [name for name in options if name not in {*OF_COLLECTION, *options.get("aes", {})}]
        if unknown:
            raise TypeError(
                f"{self._function} has no argument {quoted(unknown)}: its documentation lists "
                "them; a property, such as color, needs aes to map it"
            )
        self.pc = PlotCollection.wrap(data, backend=self.backend, **options)
        return self.pc

    def shows(self, name: str) -> bool:
        return self._visuals.get(name) is not False

    def style(self, name: str, /, **defaults: Any) -> dict[str, Any]:
        """Keyword arguments of a visual, of which those of the user come before the defaults."""
        return {**defaults, **(self._visuals.get(name) or {})}

    def map(self, name: str, visual: Any, /, *, ignore_aes: Any = "all", **defaults: Any) -> None:
        """Draw a visual in all plots, as `PlotCollection.map` does."""
        if self.shows(name):
            self.pc.map(visual, name, ignore_aes=ignore_aes, **self.style(name, **defaults))

    def write(self, target: Any, **words: str) -> None:
        """Write the visuals "title", "xlabel" and "ylabel" of matplotlib axes."""
        for name, text in words.items():
            if self.shows(name):
                key = "label" if name == "title" else name
                getattr(target, f"set_{name}")(**self.style(name, **{key: text, "fontsize": 10}))

    def legend(self, name: str, figure: Any, handles: list, /, **defaults: Any) -> None:
        """Draw a legend of a matplotlib figure, which becomes as wide as that if its size was not given."""
        drawn = figure.legend(handles=handles, **self.style(name, **defaults))
        width = drawn.get_window_extent().width / figure.dpi
        if "figsize" not in self.pc_kwargs.get("figure_kwargs", {}):
            figure.set_figwidth(max(width, figure.get_figwidth()))

    def colorbar(self, artist: Any, name: str = "colorbar", /, **defaults: Any) -> Any:
        """Draw the colour bar of an artist of matplotlib beside its axes, and return it if there is one."""
        if not self.shows(name):
            return None
        return artist.figure.colorbar(artist, **self.style(name, ax=artist.axes, **defaults))

    def chain_legend(self, n_chains: int) -> None:
        """Draw the visual "legend" of the colours of several chains."""
        if self.shows("legend") and n_chains > 1:
            self.pc.add_legend("chain", **self.style("legend"))


def _checked_visuals(visuals: Any, names: Sequence[str]) -> Mapping[str, Any]:
    visuals = {} if visuals is None else visuals
    if not isinstance(visuals, Mapping):
        raise TypeError(
            f"visuals must be a dictionary such as {{{names[0]!r}: {{...}}}} or {{{names[0]!r}: False}}, not "
            f"{visuals!r}"
        )
    for name, value in visuals.items():
        if name not in names:
            raise ValueError(f"visuals has the key {name!r}; valid keys are {quoted(names)}")
        if value is not False and not isinstance(value, Mapping):
            raise TypeError(
                f"visuals[{name!r}] must be a dictionary of keyword arguments, or False to leave it out, not "
                f"{value!r}"
            )
    return visuals


def _matplotlib(backend: Any, function: str) -> str:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{function} needs matplotlib; install it with pip install "pymc-mrf[plots]"'
        ) from error
    if backend not in (None, "matplotlib"):
        raise ValueError(f"{function} draws with matplotlib only; backend must not be {backend!r}")
    return "matplotlib"


def _any_backend(backend: Any) -> str:
    from arviz_base import rcParams

    backend = rcParams["plot.backend"] if backend is None else backend
    check_option(backend, "backend", BACKENDS)
    if backend != "none":
        try:
            import_module(backend)
        except ImportError as error:
            raise ImportError(
                f'backend="{backend}" needs {backend}, which is not installed; pip install {backend}, or '
                "leave backend out"
            ) from error
    return backend


def diverging_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("orange_purple", DIVERGING)


def draw_matrix(da: xr.DataArray, target: Any, **style: Any) -> Any:
    """Draw a matrix without ticks and frame; cells that are NaN are left out."""
    target.tick_params(length=0)
    target.spines[:].set_visible(False)
    return target.imshow(np.ma.masked_invalid(da.values), **{"interpolation": "nearest", **style})


def tick_style(names: Iterable, n: int) -> dict[str, Any]:
    """Labels of ticks, in letters that suit a matrix of n rows."""
    return {"labels": [literal(name) for name in names], "fontsize": 9 if n <= 30 else 7}
