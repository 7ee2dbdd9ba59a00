"""Draws from the prior of Gaussian fields, cut to positive definite precisions."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, dims_of
from pymc_mrf.checks import whole_number

TINY = 1e-9  # rows, of which a likelihood that is asked for its slopes has some
THIN = 5  # steps for each draw: one costs little without data


def prior_in_cone(
    model: Any = None, *, draws: int = 2000, chains: int = 2, random_seed: int | None = None
) -> xr.Dataset:
    """Draw edges and diagonals from the prior of the Gaussian fields of a model.

    The prior of a `GaussianMRF` is that of its weights and its diagonal, cut to positive definite precisions:
    an edge has another prior probability than its `SpikeAndSlab` says. `EdgeGibbs` draws from it here, as
    from the posterior, but without data.

    Parameters
    ----------
    model : pymc.Model, optional
        By default that of the context.
    draws : int
        Of each chain, every fifth of its steps, after half as many.
    chains : int
    random_seed : int, optional

    Returns
    -------
    xarray.Dataset
        With dims ("chain", "draw", ...): each `SpikeAndSlab`, and the variables of which the diagonals are
        made if these are moved with the edges.

    Raises
    ------
    ValueError
        If the model has no `SpikeAndSlab` of a Gaussian field, or priors of edges or diagonals depend on
        other random variables: give those numbers in a model for this purpose.

    See Also
    --------
    edge_inclusion : Takes prior probabilities, and so do all functions that tell Bayes factors.

    Examples
    --------
    >>> prior = pymc_mrf.prior_in_cone(model, random_seed=1)
    >>> p = (prior["weight"] != 0).mean(("chain", "draw"))
    >>> pymc_mrf.summarize_edges(idata, "weight", graph=graph, prior_inclusion=p.values)

    Of the differences between groups:

    >>> absent = prior["weight_difference_1"] == 0
    >>> pymc_mrf.compare_networks(
    ...     idata, ["weight_a", "weight_b"], graph=graph, prior_equal=float(absent.all("edge").mean())
    ... )
    """
    import pymc as pm

    model = pm.modelcontext(model)
    draws, chains = whole_number(draws, "draws", 1), whole_number(chains, "chains", 1)
    step, names = _step_without_data(model)
    parts = getattr(step, "methods", [step])
    tune = THIN * max(draws // 2, 100)
    seeds = np.random.SeedSequence(random_seed).spawn(chains)
    found: dict[str, list] = {name: [] for name in names}
    for seed in seeds:
        for part, rng in zip(parts, np.random.default_rng(seed).spawn(len(parts)), strict=True):
            part.setup_chain(rng, tune, THIN * draws)
        point, rows = model.initial_point(), []
        for i in range(tune + THIN * draws):
            if i == tune:
                step.stop_tuning()
            point, _ = step.step(point)
            if i >= tune and (i - tune) % THIN == 0:
                rows.append([np.array(point[value]) for value in names.values()])
        for name, values in zip(names, zip(*rows, strict=True), strict=True):
            found[name].append(values)
    return xr.Dataset({name: _labelled(model, name, found[name]) for name in names})


def _step_without_data(model: Any) -> tuple[Any, dict[str, str]]:
    """Make the step of the edges, without data; the values of a point that it moves, by their variables."""
    from pytensor.graph.traversal import ancestors

    from pymc_mrf.distributions.parents import likelihoods_fed
    from pymc_mrf.steps.edges.edge_gibbs import EdgeGibbs
    from pymc_mrf.steps.edges.edge_target import biases_of_fields, is_spike_and_slab

    sparse = [rv for rv in model.free_RVs if is_spike_and_slab(rv) and "gaussian" in likelihoods_fed(rv)]
    mixed = [v for rv in model.free_RVs for v in likelihoods_fed(rv) if v.startswith("mixed-")]
    if not sparse and mixed:
        raise ValueError(
            "the fields of the model are MixedMRF, of which this does not draw: give prior probabilities of "
            "edges as `prior_inclusion`; with one measurement at most they are those of the SpikeAndSlab"
        )
    if not sparse:
        raise ValueError(
            "the model has no SpikeAndSlab that is the weight of a GaussianMRF: other priors are not cut, "
            "and pm.sample_prior_predictive draws from them"
        )
    biases = {bias.rv: None for rv in sparse for bias in biases_of_fields(rv, model).free}
    step = EdgeGibbs([*sparse, *biases], model=model)
    parts = getattr(step, "methods", [step])
    moved = {*sparse, *biases}
    read = [p for part in parts for field in part._fields for p in field._parameters]
    read += [v for rv in moved for v in rv.owner.inputs]
    others = [rv.name for rv in model.free_RVs if rv not in moved and rv in set(ancestors(read))]
    if others:
        raise ValueError(
            f"priors of edges or diagonals depend on {', '.join(others)}, which this does not draw: give "
            "numbers in their place in a model for this purpose"
        )
    for part in parts:
        part._engine.view.n[:], part._engine.view.scatter[:] = TINY, 0.0
        for field in part._fields:
            field.changes = False
    return step, {rv.name: model.rvs_to_values[rv].name for rv in [*sparse, *biases]}


def _labelled(model: Any, name: str, values: list) -> xr.DataArray:
    """Draws (chain, draw, ...) of a variable as a user knows it, with its dims and labels."""
    rv = model[name]
    drawn = np.array(values)
    transform = model.rvs_to_transforms[rv]
    if transform is not None:
        drawn = np.asarray(transform.backward(drawn, *rv.owner.inputs).eval())
    dims, coords = dims_of(model, name, drawn.ndim - 2)
    return xr.DataArray(drawn, dims=(*SAMPLE_DIMS, *dims), coords=coords)
