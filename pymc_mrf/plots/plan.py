"""What can be expected at each number of rows, as curves."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from pymc_mrf.analysis.plan_summary import summarize_plan
from pymc_mrf.plots._collection import CATEGORICAL, Plot

PANELS = {
    "evidence": {
        "found": "true edges found",
        "refused": "absent edges refused",
        "false": "absent edges found",
        "missed": "true edges refused",
    },
    "agreement": {
        "weight_correlation": "weights",
        "strength_correlation": "strength",
        "strength_rank_correlation": "ranks of strength",
    },
}
LABELS = {"evidence": "share of edges", "agreement": "correlation with the truth"}


def plot_plan(
    study: xr.Dataset,
    *,
    bayes_factor: float = 10.0,
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs: Any,
) -> Any:
    """Draw what a study found at each number of rows, with two standard errors over the replicates.

    Parameters
    ----------
    study, bayes_factor
        As in `summarize_plan`.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "lines" (``Axes.errorbar``), "legend"
        (``Axes.legend``) and "labels" (``Axes.set``).
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        As in `summarize_plan`; also for an unknown backend or visual.
    """
    plot = Plot("plot_plan", ("lines", "legend", "labels"), visuals, pc_kwargs)
    table = summarize_plan(study, bayes_factor=bayes_factor)
    data = xr.Dataset(
        {
            panel: ((f"{panel}_measure", "n"), table[list(names)].to_numpy().T)
            for panel, names in PANELS.items()
        },
        coords={
            "n": table.index,
            **{f"{panel}_measure": list(names) for panel, names in PANELS.items()},
        },
    )
    plot.open(data, (8.5, 3.4), cols=["__variable__"])
    plot.map("lines", _draw_lines, table=table, store_artist=False)
    plot.map("legend", _draw_legend, frameon=False, fontsize=8, store_artist=False)
    plot.map("labels", _draw_labels, store_artist=False)
    return plot.pc


def _draw_lines(da: xr.DataArray, target: Any, table: Any, **style: Any) -> None:
    curves = PANELS[str(da.name)]
    for k, ((name, words), color) in enumerate(zip(curves.items(), CATEGORICAL, strict=False)):
        # side by side where they coincide
        rows = table.index.to_numpy() * 1.03 ** (k - 0.5 * (len(curves) - 1))
        errors = 2.0 * table[f"{name}_mcse"].to_numpy()
        look = {"color": color, "marker": "o", "markersize": 4, "capsize": 2, "label": words, **style}
        target.errorbar(rows, da.sel({da.dims[0]: name}).values, yerr=errors, **look)


def _draw_legend(da: xr.DataArray, target: Any, **style: Any) -> None:
    target.legend(**style)


def _draw_labels(da: xr.DataArray, target: Any, **style: Any) -> None:
    target.set_xscale("log")
    target.set_xticks(da["n"].values, [str(n) for n in da["n"].values], minor=False)
    target.minorticks_off()
    low = 0.0 if da.name == "evidence" else min(0.0, float(da.min()))
    words = {"xlabel": "rows", "ylabel": LABELS[str(da.name)], "ylim": (low - 0.03, 1.03)}
    target.set(**{**words, **style})
