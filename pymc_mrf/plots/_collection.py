"""Figures with one or several plots, and the options of their visuals."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import xarray as xr

# Okabe & Ito (2008), told apart with every colour vision
CATEGORICAL = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")


BACKENDS = ("matplotlib", "bokeh", "plotly", "none")


def require_matplotlib(function: str) -> None:
    """Raise an ImportError that names the extra if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{function} needs matplotlib; install it with pip install "pymc-mrf[plots]"'
        ) from error


def matplotlib_collection(
    data: xr.Dataset, *, function: str, backend: str | None, figsize: tuple[float, float], **kwargs
) -> Any:
    """Return a `PlotCollection` of matplotlib, with one plot for `data` unless `kwargs` ask for more.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If another backend is asked for.
    """
    require_matplotlib(function)
    from arviz_plots import PlotCollection

    if backend not in (None, "matplotlib"):
        raise ValueError(f"{function} draws with matplotlib only; backend must not be {backend!r}")
    figure_kwargs = {"figsize": figsize, "layout": "constrained", **kwargs.pop("figure_kwargs", {})}
    return PlotCollection.wrap(data, backend="matplotlib", figure_kwargs=figure_kwargs, **kwargs)


def any_collection(
    data: xr.Dataset,
    *,
    backend: str | None,
    figsize: tuple[float, float],
    by_chain: bool = False,
    **kwargs,
) -> Any:
    """Return a `PlotCollection` of any backend, by default that of ``rcParams["plot.backend"]``.

    `by_chain` gives every chain a colour.
    """
    from arviz_base import rcParams
    from arviz_plots import PlotCollection

    backend = rcParams["plot.backend"] if backend is None else backend
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}, not {backend!r}")
    if backend != "none":
        try:
            import_module(backend)
        except ImportError as error:
            raise ImportError(
                f'backend="{backend}" needs {backend}, which is not installed; pip install {backend}, or '
                "leave backend out"
            ) from error
    figure_kwargs: dict[str, Any] = {"figsize": figsize} if backend != "none" else {}
    if backend == "matplotlib":
        figure_kwargs["layout"] = "constrained"  # makes room for the legend
    kwargs["figure_kwargs"] = {**figure_kwargs, **kwargs.get("figure_kwargs", {})}
    if by_chain:
        kwargs["aes"] = {"color": ["chain"], **kwargs.get("aes", {})}
        kwargs.setdefault("color", list(CATEGORICAL))
    return PlotCollection.wrap(data, backend=backend, **kwargs)


def literal(name: Any, backend: str = "matplotlib") -> str:
    """Text of a name, in whose dollar signs matplotlib sees no formula."""
    return str(name).replace("$", r"\$") if backend == "matplotlib" else str(name)


def visual_options(visuals: Mapping[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any]:
    """Complete `visuals` by an empty dict per visual; False switches a visual off.

    Raises
    ------
    ValueError
        If `visuals` names something else.
    """
    visuals = {} if visuals is None else visuals
    if not isinstance(visuals, Mapping):
        raise TypeError(
            f"visuals must be a dictionary such as {{{names[0]!r}: {{...}}}} or {{{names[0]!r}: False}}, not "
            f"{visuals!r}"
        )
    unknown = [name for name in visuals if name not in names]
    if unknown:
        raise ValueError(
            f"visuals has the key {unknown[0]!r}; valid keys are {', '.join(map(repr, names))}"
        )
    for name, value in visuals.items():
        if value is not False and not isinstance(value, Mapping):
            raise TypeError(
                f"visuals[{name!r}] must be a dictionary of keyword arguments, or False to leave it out, not "
                f"{value!r}"
            )
    return {name: visuals.get(name, {}) for name in names}


def write_labels(target: Any, words: Mapping[str, str], options: Mapping[str, Any]) -> None:
    """Write "title", "xlabel" and "ylabel" of matplotlib axes, but for what the options leave out."""
    for name, text in words.items():
        if options[name] is not False:
            key = "label" if name == "title" else name
            getattr(target, f"set_{name}")(**{key: text, "fontsize": 10, **options[name]})
