"""What other priors of the edges would find: draws that exist, weighted by the ratio of the priors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import OF_BLOCK, errors_of_means, sampled_vector, values_at_draws
from pymc_mrf.analysis.cone_prior import cone_prior, is_cut
from pymc_mrf.analysis.edges import unseen
from pymc_mrf.analysis.group_differences import chosen_groups, named_groups
from pymc_mrf.analysis.prior_inclusion import own_beta, spike_and_slab
from pymc_mrf.checks import number, numeric_array, warn_user

INCLUSIONS, SCALES = (0.1, 0.25, 0.5, 0.75, 0.9), (0.5, 1.0, 2.0)
MIN_EFFECTIVE = 100  # effective draws below which nothing is told


def prior_sensitivity(
    idata: xr.DataTree,
    var_name: str,
    *,
    between: Sequence | None = None,
    model: Any = None,
    prior_inclusion: Sequence[float] = INCLUSIONS,
    slab_scale: Sequence[float] = SCALES,
    group: str = "posterior",
) -> xr.Dataset:
    """Reweight the draws to other priors of a `SpikeAndSlab`: no new sampling.

    Each draw gets the ratio of the new prior density of the vector to that under which it was sampled, given
    the other variables of the draw. The weights spread with the number of edges, so that priors far from that
    of the model, or networks of hundreds of edges, leave too few draws: nothing is told there.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A free `SpikeAndSlab` of the model; with blocks, as of a `NominalMRF` or `MixedMRF`, each edge counts
        once.
    between : sequence, optional
        Labels of two or more groups of a model in which `var_name` is what all groups have in common, as of
        `network_model` with groups: asked is then whether these differ on an edge, and all differences
        between groups have the new priors.
    model : pymc.Model, optional
        That was sampled; by default that of the context.
    prior_inclusion : sequence of float
        Prior probabilities, the same for all edges, strictly between 0 and 1: of an edge, or of a difference
        between the groups `between`.
    slab_scale : sequence of float
        Positive factors of the scale of the model's slab: 2 for the density of twice a draw from it.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.Dataset
        With the dims "prior_inclusion" and "slab_scale", and for the first four that of the edges:

        - ``inclusion``: probability of each edge under the new prior; ``inclusion_mcse``, its Monte-Carlo
          error, that of the weights included.
        - ``bayes_factor``: its odds over the prior odds; infinite or 0 where all draws have it, or none.
        - ``bayes_factor_bound``: what the draws vouch for there, as in `edge_inclusion`, n being the median
          number of draws that would give ``inclusion_mcse``, at most ``effective_draws``; else NaN.
        - ``effective_share``: (sum of weights)^2 / (n times the sum of their squares), the share of the n
          draws that remains (Kong, 1992).
        - ``effective_draws``: n times that. Below 100 the others are NaN.

    Raises
    ------
    TypeError, ValueError
        If the variable is no `SpikeAndSlab` of the model, or a probability or scale outside its domain, or
        the model has no such groups.

    Warns
    -----
    UserWarning
        If fewer than 100 effective draws remain under some of the priors.

    Notes
    -----
    Effective draws are counted among those that exist: they do not tell of structures that no draw has.
    Sample again where much depends on it.

    Of measurements the prior odds of an edge, or of a difference, under another prior are those within the
    cone of positive definite precisions, by draws from the prior that are reweighted likewise; Bayes factors
    are NaN where fewer than 100 effective ones remain.

    A Beta variable with fixed parameters that is the probability of all edges, and of nothing else, is
    integrated out. Other random probabilities are those of the draws. These vary little about what the edges
    say, so that the few that are far off get most of the weight: few effective draws remain, and the errors
    are themselves uncertain.

    See Also
    --------
    plot_prior_sensitivity : A picture.

    Examples
    --------
    >>> found = pymc_mrf.prior_sensitivity(idata, "weight", model=model)
    >>> found.inclusion.sel(edge="sleep--mood").to_pandas()

    Of differences between groups:

    >>> found = pymc_mrf.prior_sensitivity(idata, "weight", between=["day", "night"], model=model)
    """
    import pymc as pm
    import pytensor.tensor as pt

    inclusions = [
        number(p, "prior_inclusion", 0.0, 1.0) for p in _vector(prior_inclusion, "prior_inclusion")
    ]
    scales = [number(s, "slab_scale", 0.0) for s in _vector(slab_scale, "slab_scale")]
    model = pm.modelcontext(model)
    names, asked = (
        ([var_name], np.ones(1, dtype=bool))
        if between is None
        else _told_apart(idata, var_name, between, model)
    )
    draws = [sampled_vector(idata, name, group) for name in names]
    remedy = "sample again with the other priors, and compare by pymc_mrf.summarize_edges"
    rvs = [spike_and_slab(model, values, remedy) for values in draws]
    betas = [own_beta(model, rv) for rv in rvs]
    old: Any = 0.0
    new: Any = 0.0
    for rv, beta in zip(rvs, betas, strict=True):
        of_old, of_new = _log_densities(rv, scales, beta is None)
        old, new = old + of_old, new + of_new
    densities = pt.concatenate([old[None], new])
    within = None
    if any(is_cut(rv, model) for rv in rvs):
        within = _PriorDraws.of(model, rvs, betas, densities)
    found, _ = values_at_draws(densities, idata, model, group)
    log_density = np.array(list(found))  # (n, 1 + scales)
    of_vectors = [
        (values.values != 0.0).reshape(len(log_density), -1)[:, rv.owner.op.heads]
        for values, rv in zip(draws, rvs, strict=True)
    ]
    r = of_vectors[0].shape[1]
    log_density = _with_beta(log_density, betas, of_vectors)
    present = _of_any(of_vectors, asked)
    shape = len(inclusions), len(scales)
    of_edges = "inclusion", "inclusion_mcse", "bayes_factor", "bayes_factor_bound"
    told = {name: np.full((*shape, r), np.nan) for name in of_edges}
    told |= {name: np.full(shape, np.nan) for name in ("effective_share", "effective_draws")}
    for i, q in enumerate(inclusions):
        edges = _log_structure(of_vectors, q, asked)
        for j in range(len(scales)):
            log_weight = edges + log_density[:, 1 + j] - log_density[:, 0]
            weight = np.exp(log_weight - log_weight.max())
            share = weight.mean() ** 2 / np.mean(weight**2)
            told["effective_share"][i, j] = share
            told["effective_draws"][i, j] = share * len(weight)
            if share * len(weight) < MIN_EFFECTIVE:
                continue
            # not from the share, which rounding keeps from being 1
            total_in, total_out = weight @ present, weight @ ~present
            found = total_in / (total_in + total_out)
            told["inclusion"][i, j] = found
            influence = (weight / weight.mean())[:, None] * (present - found)
            error = errors_of_means(influence.reshape(*draws[0].shape[:2], r))
            told["inclusion_mcse"][i, j] = error
            prior_odds: Any = q / (1.0 - q)
            if within is not None:
                prior_odds = within.odds(q, asked, j)
            with np.errstate(divide="ignore"):
                told["bayes_factor"][i, j] = total_in / total_out / prior_odds
            bound = _bound(found, error, share * len(weight))
            told["bayes_factor_bound"][i, j] = bound / (1.0 - bound) / prior_odds
    dim, labels = _edges_of(draws[0], rvs[0].owner.op)
    dims = "prior_inclusion", "slab_scale", dim
    coords: dict[str, Any] = {"prior_inclusion": inclusions, "slab_scale": scales}
    result = xr.Dataset(
        {name: (dims[: of_name.ndim], of_name) for name, of_name in told.items()},
        coords=coords | ({} if labels is None else {dim: labels}),
        attrs={"variable": var_name},
    )
    _warn(result)
    return result


def _log_densities(rv: Any, scales: list[float], is_given_p: bool) -> tuple[Any, Any]:
    """Log density of a `SpikeAndSlab` sampled, with the structure if `p` is given; of slabs (scales,)."""
    import pytensor.tensor as pt

    _, p, *parameters = rv.owner.op.shape_and_arguments(rv.owner.inputs)
    slab, is_in = rv.owner.op.scalar, pt.neq(rv, 0.0)
    densities = [slab.log_density(rv / s, *parameters) - np.log(s) for s in (1.0, *scales)]
    old, *new = (pt.where(is_in, density, 0.0).sum() for density in densities)
    if is_given_p:
        old = old + pt.where(is_in[rv.owner.op.heads], pt.log(p), pt.log1p(-p)).sum()
    return old, pt.stack(new)


def _told_apart(idata: Any, var_name: str, between: Any, model: Any) -> tuple[list[str], np.ndarray]:
    """Names of all differences between groups, and which of them tell some of these groups apart."""
    from pymc_mrf.distributions.group_weights import CONTRASTS, tell_apart, term_names

    _, labels, _ = named_groups(idata, var_name, model)
    contrasts = np.asarray(model[f"{var_name}{CONTRASTS}"].get_value())
    asked = tell_apart(contrasts, chosen_groups(between, labels))
    return term_names(var_name, contrasts)[1:], asked


def _edges_of(values: xr.DataArray, op: Any) -> tuple[str, Any]:
    """Dimension of the edges and their labels, if the entries of draws have any."""
    dim = str(values.dims[-1])
    labels = values[dim].values if dim in values.coords else None
    if max(op.blocks, default=1) == 1:
        return dim, labels
    own = None if labels is None else [OF_BLOCK.sub("", str(label)) for label in labels[op.heads]]
    return "edge", own


class _PriorDraws(NamedTuple):
    """Draws of the prior within the cone of all vectors of a field, and how likely they were.

    Attributes
    ----------
    present : list of (n, m) arrays
        Presence of the entries between measurements, for each vector.
    cut : (r,) array
        Whether each edge is one of these.
    log_density : (n, 1 + scales) array
        Of the vectors, as in the posterior.
    """

    present: list
    cut: np.ndarray
    log_density: np.ndarray

    @classmethod
    def of(cls, model: Any, rvs: list, betas: list, densities: Any) -> "_PriorDraws":
        """Draw them; answers have no part in it, as their entries are independent of the cone.

        Raises
        ------
        ValueError
            If the prior depends on other random variables than a Beta that is integrated out.
        """
        import pytensor
        from pytensor.graph.replace import graph_replace
        from pytensor.graph.traversal import ancestors

        xs = [rv.type() for rv in rvs]
        of_draw = graph_replace([densities], dict(zip(rvs, xs, strict=True)), strict=False)
        if others := [v.name for v in model.basic_RVs if v in set(ancestors(of_draw))]:
            raise ValueError(
                f"{', '.join(rv.name for rv in rvs)} make the weights of a field of measurements whose "
                f"precision must be positive definite, and their prior depends on {', '.join(others)}. Prior "
                "probabilities under other priors are known there if it has fixed numbers, or a Beta "
                "variable that is the probability of one vector and of nothing else: sample again with the "
                "other priors, and compare by pymc_mrf.summarize_edges or summarize_differences"
            )
        found = [cone_prior(model, rv) for rv in rvs]
        entries, heads = found[0].is_cut, rvs[0].owner.op.heads
        # entries of answers are absent in all draws, so that they change no ratio of densities
        rows = [np.where(entries, one.draws, 0.0).reshape(-1, len(entries)) for one in found]
        f = pytensor.function(xs, of_draw[0])
        log_density = np.array([f(*row) for row in zip(*rows, strict=True)])
        present = [row[:, entries] != 0.0 for row in rows]
        return cls(present, entries[heads], _with_beta(log_density, betas, present))

    def odds(self, q: float, asked: np.ndarray, j: int) -> np.ndarray:
        """Prior odds (r,) under another prior, of draws reweighted to it; NaN if few remain."""
        found = np.full(len(self.cut), q / (1.0 - q))
        log_weight = _log_structure(self.present, q, asked)
        log_weight = log_weight + self.log_density[:, 1 + j] - self.log_density[:, 0]
        weight = np.exp(log_weight - log_weight.max())
        found[self.cut] = np.nan
        if weight.sum() ** 2 / (weight**2).sum() >= MIN_EFFECTIVE:
            present = _of_any(self.present, asked)
            found[self.cut] = (weight @ present) / (weight @ ~present)
        return found


def _of_any(present: list, asked: np.ndarray) -> np.ndarray:
    """Whether any of the vectors that are asked for has an entry (n, r)."""
    return np.any([own for own, is_asked in zip(present, asked, strict=True) if is_asked], axis=0)


def _log_structure(present: list, q: float, asked: np.ndarray) -> np.ndarray:
    """Log probability (n,) of which entries of all vectors are there, any of those asked for with `q`."""
    log_absent = np.log1p(-q) / np.count_nonzero(asked)  # of each of the vectors that are asked for
    n_in, n = sum(own.sum(axis=1) for own in present), sum(own.shape[1] for own in present)
    return n_in * np.log(-np.expm1(log_absent)) + (n - n_in) * log_absent


def _with_beta(log_density: np.ndarray, betas: list, present: list) -> np.ndarray:
    """Log densities (n, 1 + scales), the first of which has the structures of Beta probabilities as well."""
    from scipy.special import betaln

    log_density = log_density.copy()
    for beta, own in zip(betas, present, strict=True):
        if beta is not None:
            (a, b), k = beta, own.sum(axis=1)
            log_density[:, 0] += betaln(a + k, b + own.shape[1] - k) - betaln(a, b)
    return log_density


def _vector(value: Any, name: str) -> np.ndarray:
    array = np.atleast_1d(numeric_array(value, name, "iuf")).astype(np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be a sequence of numbers, not {value!r}")
    return array


def _bound(found: np.ndarray, error: np.ndarray, most: float) -> np.ndarray:
    """Bound at 95 % what probabilities (r,) of 0 and 1 estimate, by the errors of the others; else NaN."""
    variance, moves = found * (1.0 - found), error > 0.0
    n = min([most, *([np.median(variance[moves] / error[moves] ** 2)] if moves.any() else [])])
    by = unseen(n)
    return np.where(found == 0.0, by, np.where(found == 1.0, 1.0 - by, np.nan))


def _warn(result: xr.Dataset) -> None:
    few = result["effective_draws"].values < MIN_EFFECTIVE
    if few.any():
        i, j = np.argwhere(few)[0]
        warn_user(
            f"{result.attrs['variable']}: fewer than {MIN_EFFECTIVE} effective draws remain under "
            f"{int(few.sum())} of {few.size} priors, such as prior_inclusion="
            f"{result['prior_inclusion'].values[i]:g} with slab_scale={result['slab_scale'].values[j]:g} "
            f"({result['effective_draws'].values[i, j]:.0f}): nothing is told of them. Sample more draws, "
            "or the model under such a prior"
        )
