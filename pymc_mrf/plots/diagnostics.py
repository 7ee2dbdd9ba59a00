"""How the samplers fared: their statistics over the draws."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import check_tree, names_of
from pymc_mrf.analysis.sampler_statistics import declared_of, sampler_statistics, split_number
from pymc_mrf.checks import quoted
from pymc_mrf.plots._collection import Plot

COLUMNS = 3


def plot_diagnostics(
    dt: xr.DataTree,
    *,
    var_names: str | Sequence[str] | None = None,
    group: str = "sample_stats",
    visuals: Mapping[str, Any] | None = None,
    **pc_kwargs,
) -> Any:
    """Statistics of the package's steps over the draws, one plot each, one colour per chain.

    Acceptance rates, noise and effective size of particles, numbers of groups or present edges: faint
    lines are single draws, bold ones their running means. Bold lines should lie on each other and
    stay level. `diagnose` says what is out of range.

    Parameters
    ----------
    dt : xarray.DataTree
        As returned by `pymc.sample`.
    var_names : str or sequence of str, optional
        Statistics to show, such as "edge_gibbs_accept". By default all of the package's, without step
        sizes and the like that are constant in every chain.
    group : str
        Group of `dt` to read: "sample_stats", or "warmup_sample_stats" if tuning draws were kept.
    visuals : mapping, optional
        Keyword arguments, or False to leave it out, for each of "lines", "means", "title", "xlabel" and
        "legend".
    **pc_kwargs
        Passed to `arviz_plots.PlotCollection.wrap`, such as a `backend`, any that arviz-plots has.

    Returns
    -------
    arviz_plots.PlotCollection

    Raises
    ------
    TypeError, ValueError
        If the group has no statistics of the package's steps, or not those asked for; also for an unknown
        visual.
    """
    from arviz_plots import visuals as azv

    check_tree(dt, "dt")
    parts = ("lines", "means", "title", "xlabel", "legend")
    plot = Plot("plot_diagnostics", parts, visuals, pc_kwargs, any_backend=True)
    data = sampler_statistics(dt, group)
    if var_names is not None:
        chosen = names_of(var_names, "var_names")
        missing = [name for name in chosen if name not in data]
        if missing:
            have = quoted(data.data_vars)
            raise ValueError(f"var_names has {missing[0]!r}; the {group} group has {have}")
        data = data[chosen]
    else:
        data = data[[name for name, values in data.items() if _is_shown(str(name), values)]]
    data = data[[name for name, values in data.items() if not np.isnan(values.values).all()]]
    if not data.data_vars:
        raise ValueError(
            f"the {group} group has no statistics of steps of pymc_mrf: only such steps leave them"
        )
    n_plots = len(data.data_vars)
    columns = min(COLUMNS, n_plots)
    figsize = (4.2 * columns, 2.5 * -(-n_plots // columns) + 0.3)
    plot.open(data, figsize, by_chain=True, cols=["__variable__"], col_wrap=columns)
    window = max(data.sizes["draw"] // 15, 1)
    means = data.rolling(draw=window, center=True, min_periods=max(window // 2, 1)).mean()
    plot.map("lines", azv.line, ignore_aes=frozenset(), alpha=0.25, width=0.7)
    plot.map("means", azv.line, ignore_aes=frozenset(), data=means, width=1.6)
    first = data.isel(chain=0, draw=0).fillna(0.0)
    plot.map("title", _title, data=first, subset_info=True, size=10)
    plot.map("xlabel", azv.labelled_x, data=first, text="draw")
    plot.chain_legend(data.sizes["chain"])
    return plot.pc


def _is_shown(name: str, values: xr.DataArray) -> bool:
    declared = declared_of(name)
    always = declared is not None and declared.statistic.shown == "always"
    return always or bool((values != values.isel(draw=0)).any())


def _title(da: xr.DataArray, target: Any, *, var_name: str, sel: Any, isel: Any, **kwargs) -> Any:
    from arviz_plots import visuals as azv

    declared = declared_of(var_name)
    assert declared is not None
    text = f"{declared.title}{split_number(var_name)[1]}: {declared.statistic.label}"
    return azv.labelled_title(da, target, text=text, **kwargs)
