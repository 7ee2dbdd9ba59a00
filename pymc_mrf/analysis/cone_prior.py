"""The prior of Gaussian fields, cut to positive definite precisions: its draws, and what edges have of it."""

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, dims_of, errors_of_means
from pymc_mrf.analysis.cone_fields import cone_nodes, of_cone, sparse_weights
from pymc_mrf.analysis.cone_moves import ConeMoves, SliceMoves
from pymc_mrf.analysis.measured_part import MeasuredPart
from pymc_mrf.checks import warn_user, whole_number

DRAWS, CHAINS, SEED = 500, 2, 0  # of what is found inside
MOST_DRAWS = 2000
ENOUGH = 0.02
"""Monte-Carlo error of the log odds of an edge at which no more draws are made: that of a posterior of 4,000
independent draws is at least .03."""
WORTH_TELLING = 0.1  # of the same, beyond which a warning says how uncertain Bayes factors are
KEPT = 16  # priors that are remembered

_found: "OrderedDict[str, ConePrior]" = OrderedDict()


class ConePrior(NamedTuple):
    """What is known of the prior of the fields of one `SpikeAndSlab`, within the cone.

    Attributes
    ----------
    presence : (chain, draw, r) array
        Probability of each entry not to be zero, given all others of the draw.
    draws : (chain, draw, r) array
        Of the entries themselves; those of edges that end in an answer are NaN.
    """

    presence: np.ndarray
    draws: np.ndarray

    @property
    def inclusion(self) -> np.ndarray:
        """Prior probabilities (r,) that entries are not zero."""
        return self.presence.mean(axis=(0, 1))

    @property
    def is_cut(self) -> np.ndarray:
        """Whether each entry (r,) is between measurements, and cut to the cone."""
        return ~np.isnan(self.draws).any(axis=(0, 1))

    @property
    def error(self) -> float:
        """Monte-Carlo error of the log odds of these, root mean square over all entries."""
        p = self.inclusion
        of_entries = errors_of_means(self.presence) / (p * (1.0 - p))
        return float(np.sqrt(np.mean(of_entries**2)))


def prior_in_cone(
    model: Any = None, *, draws: int = 2000, chains: int = 2, random_seed: int | None = None
) -> xr.Dataset:
    """Draw edges and diagonals from the prior of the Gaussian fields of a model.

    The prior of a `GaussianMRF` is that of its weights and its diagonal, cut to positive definite precisions:
    an edge has another prior probability than its `SpikeAndSlab` says. Functions that tell Bayes factors find
    these probabilities by themselves, if they are given the model; this is for a look at the prior.

    Parameters
    ----------
    model : pymc.Model, optional
        By default that of the context.
    draws : int
        Of each chain, every fifth of its sweeps over all edges, after half as many.
    chains : int
    random_seed : int, optional

    Returns
    -------
    xarray.Dataset
        With dims ("chain", "draw", ...): each `SpikeAndSlab`, the variables of which the diagonals are made,
        and all others on which these priors depend.

    Raises
    ------
    ValueError
        If the model has no `SpikeAndSlab` of a Gaussian field, or priors of edges or diagonals depend on a
        discrete variable other than an `EdgeCommunities`.

    See Also
    --------
    edge_inclusion : Finds the prior probabilities of edges in the same way.

    Examples
    --------
    >>> prior = pymc_mrf.analysis.prior_in_cone(model, random_seed=1)
    >>> p = (prior["weight"] != 0).mean(("chain", "draw"))
    """
    import pymc as pm

    model = pm.modelcontext(model)
    draws, chains = whole_number(draws, "draws", 1), whole_number(chains, "chains", 1)
    found, _ = _Walk(model).draw(draws, chains, random_seed)
    return xr.Dataset({name: _labelled(model, name, values) for name, values in found.items()})


def cone_prior(model: Any, rv: Any) -> ConePrior:
    """Find the prior of a `SpikeAndSlab` that is the weight of Gaussian fields, or of a mixed one.

    By simulation with a fixed seed, of as many draws as the log odds of the edges need for an error of
    `ENOUGH`, or `MOST_DRAWS` per chain. All vectors of the fields are drawn together. It is remembered by the
    prior itself, whatever model has it: a model that has been changed, or whose data of the prior have, has
    another one.

    Raises
    ------
    ValueError
        As `prior_in_cone`; or of a mixed field if its fields have other edges.

    Warns
    -----
    UserWarning
        If the Monte-Carlo error remains above `WORTH_TELLING`.
    """
    key = _digest_of_prior(model, rv)
    if key in _found:
        _found.move_to_end(key)
        return _found[key]
    part = MeasuredPart.of(model, rv)
    walk = _Walk(model if part is None else part.model)
    draws = DRAWS
    while True:
        found, presence = walk.draw(draws, CHAINS, SEED)
        results = {name: ConePrior(shares, found[name]) for name, shares in presence.items()}
        # of all vectors, whose draws belong together: some functions ask whether any of several is zero
        error = max(result.error for result in results.values())
        if draws >= MOST_DRAWS or error <= ENOUGH:
            break
        draws *= 2
    if error > WORTH_TELLING:
        warn_user(
            f"the prior probabilities of the edges of {', '.join(results)}, of which the precision must be "
            "positive definite, are those of a simulation, and their log odds have a Monte-Carlo error of "
            f"{error:.2f}: Bayes factors are as uncertain; a narrower slab makes them sure"
        )
    for name, result in results.items():
        own = model[name]
        if part is not None:
            result = ConePrior(*part.spread(*result, found, own))
        _found[_digest_of_prior(model, own)] = result
    while len(_found) > max(KEPT, len(results)):
        _found.popitem(last=False)
    return _found[key]


def _digest_of_prior(model: Any, rv: Any) -> str:
    """Digest of all of which the prior of `rv` within the cone is made: graphs, numbers, Ops, transforms."""
    from pytensor.graph.traversal import ancestors

    from pymc_mrf.distributions.graph_digest import ADDRESS, digest, graph_digest

    nodes = [node for one in sparse_weights(model) for node in cone_nodes(one, model)]
    everything = [rv, *(p for node in nodes for p in of_cone(node))]
    fields = [repr((node.op.graph, getattr(node.op, "columns", None))) for node in nodes]
    found = list(ancestors(everything))
    ops = [
        repr(v.owner.op._props_dict())
        for v in found
        if v.owner is not None and hasattr(v.owner.op, "_props_dict")
    ]
    free = [f"{v.name} {model.rvs_to_transforms[v]!r}" for v in model.free_RVs if v in set(found)]
    return digest(graph_digest(everything), *(ADDRESS.sub("", text) for text in fields + ops + free))


def is_cut(rv: Any, model: Any) -> bool:
    """Whether the precision of a field that `rv` feeds cuts its prior."""
    return bool(cone_nodes(rv, model))


class _Walk:
    """A chain of all on which the prior of Gaussian fields depends, without data.

    Edges, and diagonals that are free variables, change places with draws from their prior
    (`pymc_mrf.kernels.cone`); `ConjugateHyperparameters` and `CommunityGibbs` move what is theirs, and
    `SliceMoves` all else.

    Parameters
    ----------
    model : pymc.Model

    Raises
    ------
    ValueError
        As `prior_in_cone`.
    """

    def __init__(self, model: Any) -> None:
        from pytensor.graph.traversal import ancestors

        from pymc_mrf.distributions.gaussian_rv import GaussianFieldRV
        from pymc_mrf.steps.common.expressions import PointFunction
        from pymc_mrf.steps.hyper.community_gibbs import CommunityGibbs, communities_of, is_communities
        from pymc_mrf.steps.hyper.conjugate_hyperparameters import (
            ConjugateHyperparameters,
            is_conjugate,
        )

        fed = {rv: cone_nodes(rv, model) for rv in sparse_weights(model)}
        sparse = [rv for rv in fed if all(isinstance(n.op, GaussianFieldRV) for n in fed[rv])]
        if fed and not sparse:
            raise ValueError(
                f"{', '.join(rv.name for rv in fed)}: the weight of a MixedMRF, which prior_in_cone does not "
                "draw; summarize_edges and other functions find the prior probabilities of its edges by "
                "themselves, if they are given the model"
            )
        if not sparse:
            raise ValueError(
                "the model has no SpikeAndSlab that is the weight of a GaussianMRF: other priors are not "
                "cut, and pm.sample_prior_predictive draws from them"
            )
        nodes = list({node: None for rv in sparse for node in fed[rv]})
        diagonals = _free_diagonals(nodes, model)
        needed = set(ancestors([*sparse, *(p for node in nodes for p in of_cone(node))]))
        others = [rv for rv in model.free_RVs if rv in needed and rv not in {*sparse, *diagonals}]
        labels = [rv for rv in others if is_communities(rv)]
        with_labels = [rv for rv in others if rv not in labels and communities_of(rv, model) is not None]
        conjugate = [rv for rv in others if rv not in with_labels and is_conjugate(rv, model)]
        sliced = [rv for rv in others if rv not in {*labels, *with_labels, *conjugate}]
        if discrete := [rv.name for rv in sliced if not rv.dtype.startswith("float")]:
            raise ValueError(
                f"priors of edges or diagonals depend on {', '.join(discrete)}, which is discrete and not "
                "drawn here: give a number in its place in a model for this purpose"
            )
        moved = [rv for rv in model.free_RVs if rv in {*sparse, *diagonals, *others}]
        self._steps: list = []
        if labels:
            made = CommunityGibbs([*labels, *with_labels], model=model)
            self._steps += getattr(made, "methods", [made])
        if conjugate:
            self._steps.append(ConjugateHyperparameters(conjugate, model=model))
        if sliced:
            self._steps.append(SliceMoves(sliced, moved, nodes, model))
        self._cone = ConeMoves(sparse, diagonals, model)
        self._model, self._names = model, [rv.name for rv in moved]
        self._read = PointFunction(list(moved), model)

    def draw(self, draws: int, chains: int, seed: int | None) -> tuple[dict, dict]:
        """Draw (chain, draw, ...) of every variable, and presence (chain, draw, r) of every `SpikeAndSlab`.

        The latter is the probability of each entry not to be zero given all else: its slab is cut to the
        values within the cone, of which the share under the slab is known.
        """
        tune = max(draws // 2, 100)
        found: dict[str, list] = {name: [] for name in self._names}
        presence: dict[str, list] = {name: [] for name in self._cone.names}
        steps = [self._cone, *self._steps]
        for of_chain in np.random.SeedSequence(seed).spawn(chains):
            for step, rng in zip(steps, np.random.default_rng(of_chain).spawn(len(steps)), strict=True):
                step.setup_chain(rng, tune, draws)
            point, rows, shares = self._model.initial_point(), [], []
            for i in range(tune + draws):
                for step in steps:
                    if i == tune:
                        step.stop_tuning()
                    point, _ = step.step(point)
                if i >= tune:
                    rows.append([np.array(value) for value in self._read(point)])
                    shares.append(self._cone.presence)
            for name, values in zip(found, zip(*rows, strict=True), strict=True):
                found[name].append(values)
            for name, values in zip(presence, zip(*shares, strict=True), strict=True):
                presence[name].append(values)
        return (
            {name: np.array(values) for name, values in found.items()},
            {name: np.array(values) for name, values in presence.items()},
        )


def _free_diagonals(nodes: list, model: Any) -> list:
    """Free variables that are the diagonal of fields and nothing else, one number for each node."""
    from pymc_mrf.distributions.parents import field_node
    from pymc_mrf.distributions.symbolic_tables import strip_views
    from pymc_mrf.steps.common.expressions import children

    found: dict[Any, None] = {}
    for node in nodes:
        rv = strip_views(of_cone(node)[1])
        is_own = rv in model.free_RVs and rv.ndim == 1 and rv.owner.op.ndim_supp == 0
        if is_own and all(
            other in nodes and strip_views(of_cone(other)[1]) is rv
            for other in map(field_node, children(rv, model))
        ):
            found[rv] = None
    return list(found)


def _labelled(model: Any, name: str, drawn: np.ndarray) -> xr.DataArray:
    """Draws (chain, draw, ...) of a variable with its dims and labels."""
    dims, coords = dims_of(model, name, drawn.ndim - 2)
    return xr.DataArray(drawn, dims=(*SAMPLE_DIMS, *dims), coords=coords)
