"""What the plots that only matplotlib can draw have in common."""

from collections.abc import Mapping
from typing import Any

import xarray as xr


def require_matplotlib(function: str) -> None:
    """Raise an ImportError that names the extra if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{function} needs matplotlib; install it with pip install "pymc-mrf[plots]"'
        ) from error


def matplotlib_collection(
    data: xr.DataArray, *, function: str, backend: str | None, figsize: tuple[float, float], **kwargs
) -> Any:
    """Return a `PlotCollection` with one matplotlib plot for `data`.

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
    return PlotCollection.wrap(
        data.to_dataset(), backend="matplotlib", figure_kwargs=figure_kwargs, **kwargs
    )


def visual_options(visuals: Mapping[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any]:
    """Complete `visuals` by an empty dict per visual; False switches a visual off.

    Raises
    ------
    ValueError
        If `visuals` names something else.
    """
    visuals = {} if visuals is None else visuals
    unknown = [name for name in visuals if name not in names]
    if unknown:
        raise ValueError(
            f"visuals has the key {unknown[0]!r}; valid keys are {', '.join(map(repr, names))}"
        )
    return {name: visuals.get(name, {}) for name in names}
