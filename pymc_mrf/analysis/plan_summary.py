"""What a study of simulated tables says of each size: power, evidence of absence, agreement."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pymc_mrf.analysis.edges import evidence_classes
from pymc_mrf.checks import number

if TYPE_CHECKING:
    import pandas as pd


def summarize_plan(study: xr.Dataset, *, bayes_factor: float = 10.0) -> "pd.DataFrame":
    """Table of what can be expected at each number of rows.

    Parameters
    ----------
    study : xarray.Dataset
        As returned by `plan_study`.
    bayes_factor : float
        Above 1: evidence for an edge is a factor above this, evidence against one a factor below its
        inverse, as of `summarize_edges`: of an edge that is present, or absent, in every draw of a fit, what
        the draws vouch for.

    Returns
    -------
    pandas.DataFrame
        One row for each number of rows n. For every column there is another, ``_mcse``, its standard error
        over the replicates. Means over the replicates of

        - ``found``, ``missed``: share of the true edges with evidence for them, and against them.
        - ``refused``, ``false``: share of the absent edges with evidence against them, and for them. Edges
          with neither are undecided.
        - ``weight_correlation``: correlation of posterior means of the weights and true weights.
        - ``strength_correlation``, ``strength_rank_correlation``: that of posterior means of the strength of
          nodes and true strengths, by Pearson and by Spearman.

        NaN where there are no true or no absent edges, or nothing varies; replicates without a fit are left
        out.

    Raises
    ------
    TypeError
        If `study` is not of `plan_study`.
    ValueError
        If `bayes_factor` is not a number above 1.
    """
    import pandas as pd
    from scipy.stats import rankdata

    if not isinstance(study, xr.Dataset) or "true_weight" not in study:
        raise TypeError(f"study must be what plan_study returns, not {type(study).__name__}")
    bound = number(bayes_factor, "bayes_factor", 1.0)
    fitted = np.isfinite(study["seconds"])
    present = study["true_weight"] != 0.0
    evidence = evidence_classes(study, 1.0 / bound, bound)
    is_for, is_against = evidence == "for", evidence == "against"
    strength, true_strength = study["strength"], study["true_strength"]
    ranks = [values.copy(data=rankdata(values, axis=-1)) for values in (strength, true_strength)]
    measures = {
        "found": _share(is_for, present),
        "missed": _share(is_against, present),
        "refused": _share(is_against, ~present),
        "false": _share(is_for, ~present),
        "weight_correlation": _correlation(study["mean"], study["true_weight"], "edge"),
        "strength_correlation": _correlation(strength, true_strength, "node"),
        "strength_rank_correlation": _correlation(ranks[0], ranks[1], "node"),
    }
    table: dict[str, np.ndarray] = {}
    for name, values in measures.items():
        values = values.where(fitted).transpose("n", "replicate")
        count = values.notnull().sum("replicate")
        mean = values.sum("replicate") / count.where(count > 0)
        variance = ((values - mean) ** 2).sum("replicate") / (count - 1).where(count > 1)
        table |= {name: mean.values, f"{name}_mcse": np.sqrt((variance / count).values)}
    return pd.DataFrame(table, index=pd.Index(study["n"].values, name="n"))


def _share(holds: xr.DataArray, among: xr.DataArray) -> xr.DataArray:
    """Share of some of the edges for which something holds; NaN of none."""
    count = among.sum("edge")
    return (holds & among).sum("edge") / count.where(count > 0)


def _correlation(a: xr.DataArray, b: xr.DataArray, dim: str) -> xr.DataArray:
    """Pearson's; NaN where one of both does not vary."""
    varies = [v.std(dim) > 1e-9 * abs(v).max(dim) for v in (a, b)]
    covariance = (a * b).mean(dim) - a.mean(dim) * b.mean(dim)
    return covariance / (a.std(dim) * b.std(dim)).where(varies[0] & varies[1])
