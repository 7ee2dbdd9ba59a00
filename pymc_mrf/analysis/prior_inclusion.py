"""Prior probability that each entry of a `SpikeAndSlab` is not zero, from the model."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import are_strengths, check_model, errors_of_means
from pymc_mrf.analysis.cone_prior import ConePrior, cone_prior, is_cut
from pymc_mrf.checks import quoted, warn_user

N_DRAWS = 10_000  # standard error of a probability: at most 0.005
MAX_ERROR = 0.1  # standard error of a small probability, relative to it, beyond which a warning says so
SEED = 0
FEWEST = 10  # draws within the cone that are equal, below which their share is a guess


def model_inclusion(model: Any, values: xr.DataArray) -> np.ndarray | None:
    """Prior probability that an entry of a `SpikeAndSlab` is not zero, for all of its posterior draws.

    That is the prior mean of p; a Beta or uniform p is replaced by its mean, and what is random then is
    averaged over `N_DRAWS` draws from the prior. Of the edges of a field of measurements it is the
    probability among positive definite precisions (`cone_prior`).

    Parameters
    ----------
    model : pymc.Model or None
        None stands for the model of the context, if there is one.
    values : xarray.DataArray
        Draws of the variable, its name that in the model.

    Returns
    -------
    array, or None
        (r,), of strengths of edges for each of these; None if there is no model, or that of the context does
        not know: one that is given must.
    """
    import pymc as pm

    given = model is not None
    if not given:
        model = pm.Model.get_context(error_if_none=False)
        if model is None:
            return None
    check_model(model)
    if reason := _why_unknown(model, values.name):
        if given:
            raise ValueError(f"{reason}; give prior_inclusion")
        return None
    if not are_strengths(model[values.name], values):
        _check_entries(model, values)
    if is_cut(model[values.name], model):
        try:
            return _of_draws(cone_prior(model, model[values.name]).inclusion, model, values)
        except ValueError as error:
            if given:
                raise ValueError(f"{error}; give prior_inclusion") from error
            return None
    p = _expected(model[values.name])
    n_draws = N_DRAWS if _reached(p, model) else 1
    drawn = pm.draw(p, draws=n_draws, random_seed=SEED)
    mean = np.mean(drawn, axis=0) if n_draws > 1 else drawn
    if blocks := model[values.name].owner.op.blocks:
        mean = np.repeat(np.broadcast_to(mean, len(blocks)), blocks)
    return _of_draws(np.broadcast_to(mean, model[values.name].owner.op.n), model, values)


def _of_draws(found: np.ndarray, model: Any, values: xr.DataArray) -> np.ndarray:
    """Reduce probabilities (n,) of all entries to those of the edges, if draws have one number for each."""
    if are_strengths(model[values.name], values):
        return found[model[values.name].owner.op.heads]
    return found


def spike_and_slab(model: Any, values: xr.DataArray, remedy: str, *, strengths: bool = False) -> Any:
    """Return the `SpikeAndSlab` of the model whose posterior draws are `values`; `remedy` if it has none.

    If `strengths` may be given, one number for each of its blocks is as good.

    Raises
    ------
    ValueError
        If the model has none of that name and entries, or its prior depends on data.
    """
    if reason := _why_unknown(model, values.name):
        raise ValueError(f"{reason}; {remedy}")
    if not (strengths and are_strengths(model[values.name], values)):
        _check_entries(model, values)
    return model[values.name]


def _why_unknown(model: Any, name: Any) -> str:
    """Why the model tells no prior probability; nothing if it does."""
    from pymc_mrf.distributions.spike_and_slab import SpikeAndSlabRV

    known = [rv for rv in model.free_RVs if isinstance(rv.owner.op, SpikeAndSlabRV)]
    rv = next((rv for rv in known if rv.name == name), None)
    if rv is None:
        names = quoted(other.name for other in known)
        return f"{name} is no free SpikeAndSlab of the model, which has {names}"
    observed = [v.name for v in _reached(_probability(rv), model) if v in model.observed_RVs]
    return f"the prior of {name} depends on observed data, {', '.join(observed)}" if observed else ""


def _check_entries(model: Any, values: xr.DataArray) -> None:
    """Refuse a model of another graph than that of the posterior."""
    rv, entries = model[values.name], values[values.dims[-1]].values.tolist()
    *_, dim = model.named_vars_to_dims.get(rv.name, (None,))
    labels = model.coords.get(dim)
    if rv.owner.op.n != len(entries) or (labels is not None and list(labels) != entries):
        raise ValueError(
            f"the entries of {rv.name} in the model ({rv.owner.op.n}) are not those in the posterior "
            f"({len(entries)}), or have other labels or another order: pass the model that was sampled, "
            "or give prior_inclusion"
        )


def _probability(rv: Any) -> Any:
    """Probabilities (r,) of the entries of a `SpikeAndSlab`, symbolic."""
    return rv.owner.op.shape_and_arguments(rv.owner.inputs)[1]


def _reached(p: Any, model: Any) -> list:
    """Variables of the model on which `p` depends."""
    from pytensor.graph.traversal import ancestors

    found = set(ancestors([p]))
    return [rv for rv in model.basic_RVs if rv in found]


def _expected(rv: Any) -> Any:
    """Probabilities of the entries; in place of a Beta or uniform variable its mean, of any shape."""
    from pytensor.tensor.random.basic import BetaRV, UniformRV

    p = _probability(rv)
    source = _source(p)
    if source.owner is None or not isinstance(source.owner.op, BetaRV | UniformRV):
        return p
    first, second = source.owner.op.dist_params(source.owner)
    beta = isinstance(source.owner.op, BetaRV)
    return first / (first + second) if beta else 0.5 * (first + second)


def _source(p: Any) -> Any:
    """Variable that is `p`, or one number for all of its entries."""
    from pytensor.tensor.basic import Alloc

    from pymc_mrf.distributions.parents import strip_views

    source = strip_views(p)
    if source.owner is not None and isinstance(source.owner.op, Alloc):
        source = strip_views(source.owner.inputs[0])
    return source


def difference_inclusion(model: Any, names: list[str]) -> np.ndarray:
    """Draw the prior probability that vectors of the model differ, entry by entry or block by block.

    Parameters
    ----------
    model : pymc.Model
    names : list of str
        Sums of terms, each entry of a term times a constant factor: those that do not cancel in a difference
        must be `SpikeAndSlab`. One alone differs from zero.

    Returns
    -------
    (n, r) array
        Of r entries, or blocks, which are zero as a whole; of n draws of what the probabilities of the
        `SpikeAndSlab` depend on, 1 if on nothing random; of measurements, of n draws of the prior within the
        cone.

    Raises
    ------
    ValueError
        If the model lacks a vector, or a difference has another form.
    """
    differences = _differences(model, names)
    if any(is_cut(rv, model) for rv in differences):
        present = _present_in_cone(differences, model)
        return present.reshape(-1, present.shape[-1])
    p = [_probability(rv) for rv in differences]
    return -np.expm1(_log_absent(p, model))


def _present_in_cone(differences: list, model: Any) -> np.ndarray:
    """Whether any of several `SpikeAndSlab` within one cone is not zero, (chain, draw, r) of blocks.

    Of one of them its probability given all else, which varies less, and so of entries that the cone does not
    cut, which are independent given that.
    """
    found = _cone_priors(differences, model)
    if len(found) == 1:
        return found[0].presence
    drawn = np.any([one.draws != 0.0 for one in found], axis=0)
    independent = 1.0 - np.prod([1.0 - one.presence for one in found], axis=0)
    return np.where(found[0].is_cut, drawn, independent)


def _cone_priors(differences: list, model: Any) -> list[ConePrior]:
    """Prior within the cone of the blocks of several `SpikeAndSlab`, each of which counts once."""
    heads = differences[0].owner.op.heads
    return [ConePrior(*(of[..., heads] for of in cone_prior(model, rv))) for rv in differences]


def log_prior_equal(model: Any, names: list[str]) -> float:
    """Log of the prior probability that vectors of the model, as of `difference_inclusion`, are equal.

    Exact if their `SpikeAndSlab` have fixed probabilities, or one Beta variable with fixed parameters for all
    entries, as it is or as `group_weights` shares it out. Else the mean of `N_DRAWS` draws, or of
    measurements the share of draws within the cone, of which enough must be equal. Warns if the standard
    error of that mean is more than a tenth of it.
    """
    from scipy.special import betaln, logsumexp

    differences = _differences(model, names)
    if any(is_cut(rv, model) for rv in differences):
        return _log_equal_in_cone(differences, model, names)
    p = [_probability(rv) for rv in differences]
    if (found := _power_of_beta(p, model)) is not None:
        a, b, n = found
        return float(betaln(a, b + n) - betaln(a, b))
    log_equal = _log_absent(p, model).sum(axis=1)
    n = len(log_equal)
    mean = logsumexp(log_equal) - np.log(n)
    error = np.std(np.exp(log_equal - log_equal.max())) / np.exp(mean - log_equal.max()) / np.sqrt(n)
    _tell_error(np.exp(mean), error, n, names)
    return float(mean)


def _log_equal_in_cone(differences: list, model: Any, names: list[str]) -> float:
    """Log of the share of draws within the cone of which all `SpikeAndSlab` are zero.

    Entries that the cone does not cut are zero with their probability in each draw.
    """
    found = _cone_priors(differences, model)
    cut = found[0].is_cut
    equal = ~np.any([one.draws[..., cut].any(axis=-1) for one in found], axis=0)
    if equal.sum() < FEWEST:
        raise ValueError(
            f"the prior probability that {' and '.join(names)} are equal is too small for its simulation: "
            f"{int(equal.sum())} of {equal.size} draws within the cone are. Give prior_equal, or declare "
            "differences with a smaller prior probability"
        )
    log_others = sum(np.log1p(-one.presence[..., ~cut]).sum(axis=-1) for one in found)
    largest = float(np.max(log_others))
    shares = equal * np.exp(log_others - largest)
    mean = float(shares.mean())
    error = float(errors_of_means(shares[..., None])[0]) / mean
    _tell_error(mean * np.exp(largest), error, equal.size, names)
    return float(np.log(mean) + largest)


def _tell_error(mean: float, error: float, n: int, names: list[str]) -> None:
    """Warn of a probability of equality whose relative standard error is large."""
    if error > MAX_ERROR:
        warn_user(
            f"the prior probability that {' and '.join(names)} are equal, {mean:.2g}, is the mean of "
            f"{n} draws, with a standard error of {error:.0%} of it: Bayes factors of equality are as "
            "uncertain; give prior_equal if you know it"
        )


def own_beta(model: Any, rv: Any) -> tuple[float, float] | None:
    """Find the fixed parameters of the Beta variable that is every probability of a `SpikeAndSlab`.

    None if there is none, or anything else of the model depends on it.
    """
    from pytensor.graph.traversal import ancestors

    p = _probability(rv)
    source = _source(p)
    others = [v for v in (*model.basic_RVs, *model.potentials) if v is not rv and v is not source]
    if any(v is source for v in ancestors(others, blockers=[rv])):
        return None
    return _fixed_beta(source)


def _fixed_beta(variable: Any) -> tuple[float, float] | None:
    """Read the fixed parameters of a scalar Beta variable; None if it is none."""
    from pytensor.graph.basic import Constant
    from pytensor.tensor.random.basic import BetaRV

    from pymc_mrf.distributions.parents import strip_views

    if variable.owner is None or not isinstance(variable.owner.op, BetaRV) or variable.type.ndim:
        return None
    parameters = [strip_views(v) for v in variable.owner.op.dist_params(variable.owner)]
    if not all(isinstance(v, Constant) for v in parameters):
        return None
    a, b = (float(v.data) for v in parameters)
    return a, b


def _power_of_beta(probabilities: list, model: Any) -> tuple[float, float, float] | None:
    """Find a, b and n, the probability that all are absent being (1 - q)^n with q ~ Beta(a, b); else None."""
    import pytensor
    import pytensor.tensor as pt

    reached = {rv for p in probabilities for rv in _reached(p, model)}
    if len(reached) != 1:
        return None
    [q] = reached
    if (parameters := _fixed_beta(q)) is None:
        return None
    log_absent = sum(pt.log1p(-p).sum() for p in probabilities)
    at = np.array([0.1, 0.3, 0.6, 0.8])
    function = pytensor.function([q], log_absent, mode="FAST_COMPILE")
    powers = np.array([function(value) for value in at]) / np.log1p(-at)
    if np.ptp(powers) > 1e-9 * powers.max():
        return None
    return *parameters, float(powers.mean())


def _log_absent(probabilities: list, model: Any) -> np.ndarray:
    """Log probability that all of several `SpikeAndSlab` are zero, entry by entry, (n, r)."""
    import pymc as pm

    n_draws = N_DRAWS if any(_reached(p, model) for p in probabilities) else 1
    drawn = pm.draw(probabilities, draws=n_draws, random_seed=SEED)
    return np.sum([np.reshape(np.log1p(-np.asarray(p)), (n_draws, -1)) for p in drawn], axis=0)


def _differences(model: Any, names: list[str]) -> list:
    """Every `SpikeAndSlab` that makes vectors of the model differ."""
    import pytensor
    from pytensor.graph.traversal import ancestors

    missing = [name for name in names if name not in model.named_vars]
    if missing:
        raise ValueError(
            f"the model has no variable {missing[0]!r}: make it a pm.Deterministic, or give prior_inclusion"
        )
    variables = [model[name] for name in names]
    variables += [0.0 * variables[0]] if len(names) == 1 else []
    needed = set(ancestors(variables, blockers=model.free_RVs))
    inputs = [rv for rv in model.free_RVs if rv in needed]
    function = pytensor.function(inputs, variables, mode="FAST_COMPILE", on_unused_input="ignore")
    shapes = model.eval_rv_shapes()
    zeros = [np.zeros(shapes[rv.name]) for rv in inputs]
    if np.ptp(function(*zeros), axis=0).any():
        raise ValueError(f"{' and '.join(names)} differ by constants, so that they are never equal")
    rng, kept = np.random.default_rng(SEED), []
    for k, rv in enumerate(inputs):
        values = np.array(rng.normal(size=zeros[k].shape) * (rng.random(zeros[k].shape) < 0.5))
        values.flat[0] = 1.0
        differs = np.ptp(function(*zeros[:k], values, *zeros[k + 1 :]), axis=0) != 0.0
        if not differs.any():
            continue
        if not np.array_equal(differs, values != 0.0) or _why_unknown(model, rv.name):
            raise ValueError(
                f"the prior probability that {' and '.join(names)} differ is not known, as {rv.name} is no "
                "free SpikeAndSlab whose entries are those of the edges; give prior_inclusion"
            )
        kept.append(rv)
    return kept
