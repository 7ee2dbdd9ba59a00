"""What a posterior says of whole structures: which edges, how many, and which clusterings of nodes."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import edge_draws, errors_of_means, sampled_vector
from pymc_mrf.analysis.cone_prior import cone_prior, is_cut
from pymc_mrf.analysis.groups import rank_labels
from pymc_mrf.analysis.prior_inclusion import N_DRAWS, SEED, spike_and_slab
from pymc_mrf.checks import warn_user, whole_number
from pymc_mrf.kernels.groups.partitions import first_appearance

if TYPE_CHECKING:
    import pandas as pd

MAX_UNMATCHED = 0.5  # share of the draws in structures of one chain alone, beyond which tables warn
N_PARAMETERS = 1000  # draws of random parameters of a prior


def structure_probabilities(
    idata: xr.DataTree, var_name: str, *, n_structures: int = 20, group: str = "posterior"
) -> "pd.DataFrame":
    """Table of the most probable structures: which edges there are, all of them together.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A vector whose exact zeros are absent edges, such as a `SpikeAndSlab`.
    n_structures : int
        Rows of the table at most.
    group : str
        Group of `idata` to read.

    Returns
    -------
    pandas.DataFrame
        A row for each structure, the most probable first, with the columns ``probability`` and
        ``probability_mcse``, the share of draws and its Monte-Carlo error; ``n_edges``; and ``edges``, a
        tuple of their labels. ``attrs["n_visited"]`` is the number of structures in all draws, and
        ``attrs["unmatched"]`` the share of draws whose structure no other chain has (no other draw, if there
        is one chain): about the probability of the structures that were not found.

    Raises
    ------
    TypeError, ValueError
        As in `edge_inclusion`, or if `n_structures` is no positive integer.

    Warns
    -----
    UserWarning
        If ``unmatched`` is above one half: too few draws carry the table.
    """
    values = edge_draws(idata, var_name, group)
    labels = values[values.dims[-1]].values
    rows, table = _whole_states(values.values != 0.0, n_structures, f"structures of {var_name}")
    table["n_edges"] = rows.sum(axis=1)
    table["edges"] = [tuple(labels[row].tolist()) for row in rows]
    return table


def complexity_probabilities(
    idata: xr.DataTree, var_name: str, *, model: Any = None, group: str = "posterior"
) -> "pd.DataFrame":
    """Table of the number of edges: its posterior probabilities, and those of the prior.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        A vector whose exact zeros are absent edges, such as a `SpikeAndSlab`, or the strengths of edges with
        tables of parameters, as of `edge_strength`.
    model : pymc.Model, optional
        Adds the prior, from 10,000 draws of the variable.
    group : str
        Group of `idata` to read.

    Returns
    -------
    pandas.DataFrame
        Indexed by ``n_edges``, all numbers between the least and the largest of a draw, with the columns
        ``probability`` and ``probability_mcse``, and with a model ``prior``.

    Raises
    ------
    TypeError, ValueError
        As in `edge_inclusion`.

    See Also
    --------
    plot_complexity : A picture.
    """
    import pandas as pd

    values = edge_draws(idata, var_name, group, model)
    counts = (values.values != 0.0).sum(axis=-1)
    support = np.arange(counts.min(), counts.max() + 1)
    shares, error = _shares(counts[..., None] == support)
    table = pd.DataFrame(
        {"probability": shares, "probability_mcse": error}, index=pd.Index(support, name="n_edges")
    )
    if model is not None:
        rv = spike_and_slab(model, values, "leave model out", strengths=True)
        prior = _edges_of_prior(rv, model).sum(axis=-1)
        table["prior"] = (prior[:, None] == support).mean(axis=0)
    return table


def clustering_probabilities(
    idata: xr.DataTree,
    var_name: str,
    *,
    model: Any = None,
    n_clusterings: int = 20,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Table of the most probable clusterings of the nodes, each beside a single cluster.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str
        Labels of the nodes, such as an `EdgeCommunities`. Clusterings are the same where the same nodes are
        together.
    model : pymc.Model, optional
        That was sampled; by default that of the context.
    n_clusterings : int
        Rows of the table at most.
    group : str
        Group of `idata` to read.

    Returns
    -------
    pandas.DataFrame
        The most probable first, with the columns ``probability``, ``probability_mcse``, ``n_clusters``,
        ``clusters``, a tuple of tuples of nodes, and ``bayes_factor``: of the clustering against all nodes in
        one, its odds over the prior odds. Infinite if no draw has them in one. ``attrs`` as of
        `structure_probabilities`.

    Raises
    ------
    TypeError, ValueError
        If the variable is no vector of the draws, or no `EdgeCommunities` of the model.

    Warns
    -----
    UserWarning
        As in `structure_probabilities`.

    See Also
    --------
    cluster_evidence : How many clusters, and the evidence for more than one.
    """
    labels = _in_order_of_appearance(sampled_vector(idata, var_name, group))
    rows, table = _whole_states(labels.values, n_clusterings, f"clusterings of {var_name}")
    nodes = labels[labels.dims[-1]].values.tolist()
    table["n_clusters"] = rows.max(axis=1) + 1
    table["clusters"] = [
        tuple(
            tuple(node for node, k in zip(nodes, row, strict=True) if k == cluster)
            for cluster in range(row.max() + 1)
        )
        for row in rows
    ]
    together = float((labels.values == 0).all(axis=-1).mean())
    prior = _prior_of_clusterings(model, var_name, np.vstack([np.zeros_like(rows[:1]), rows]))
    with np.errstate(divide="ignore"):
        table["bayes_factor"] = np.divide(table["probability"], together) / (prior[1:] / prior[0])
    return table


def cluster_evidence(
    idata: xr.DataTree, var_name: str, *, model: Any = None, group: str = "posterior"
) -> "pd.DataFrame":
    """Table of the number of clusters of the nodes, with Bayes factors against a single one.

    Parameters
    ----------
    idata, var_name, model, group
        As in `clustering_probabilities`.

    Returns
    -------
    pandas.DataFrame
        Indexed by ``n_clusters``, 1 to the largest number in a draw and last "more than 1", with the
        columns ``probability`` and ``probability_mcse``; ``prior``, of 1 by the formula of the prior, of
        others from 10,000 draws of it; and ``bayes_factor`` against 1 (Sekulovski et al., 2026): posterior
        odds over prior odds. Infinite where no draw has one cluster, whose probability is then below about
        3 / n, n the number of draws; NaN for a number that no draw of the prior has, and for one that, like
        one cluster, no draw has.

    Raises
    ------
    TypeError, ValueError
        As in `clustering_probabilities`.

    Warns
    -----
    UserWarning
        If no draw has one cluster, or all have.
    """
    import pandas as pd
    import pymc as pm

    labels = _in_order_of_appearance(sampled_vector(idata, var_name, group))
    counts = labels.values.max(axis=-1) + 1
    support = np.arange(1, counts.max() + 1)
    reached = np.concatenate([counts[..., None] == support, counts[..., None] > 1], axis=-1)
    shares, error = _shares(reached)
    if shares[0] in (0.0, 1.0):
        warn_user(
            f"{var_name}: {'all draws have' if shares[0] else 'no draw has'} one cluster, so that the draws "
            "bound the Bayes factor but do not tell it"
        )
    one = _prior_of_clusterings(model, var_name, np.zeros((1, labels.shape[-1]), dtype=np.int64))[0]
    model = pm.modelcontext(model)
    drawn = _prior_draws(model[var_name], model).max(axis=-1) + 1
    prior = np.array([one, *((drawn == k).mean() for k in support[1:]), 1.0 - one])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (shares / shares[0]) / np.where(prior > 0.0, prior / one, np.nan)
    factor[0] = 1.0  # also if no draw has one cluster
    return pd.DataFrame(
        {
            "probability": shares,
            "probability_mcse": error,
            "prior": prior,
            "bayes_factor": factor,
        },
        index=pd.Index([*support.tolist(), "more than 1"], name="n_clusters"),
    )


def _whole_states(states: np.ndarray, most: int, what: str) -> tuple[np.ndarray, "pd.DataFrame"]:
    """Commonest rows (m, r) of draws (chain, draw, r), and a table of their probabilities."""
    import pandas as pd

    n_chains, n_draws, r = states.shape
    whole_number(most, f"n_{what.split()[0]}", 1)
    rows, where, counts = np.unique(
        states.reshape(-1, r), axis=0, return_inverse=True, return_counts=True
    )
    where = where.reshape(n_chains, n_draws)
    parts = where if n_chains > 1 else where.T
    alone = np.bincount(np.concatenate([np.unique(part) for part in parts])) == 1
    unmatched = float(counts[alone].sum() / counts.sum())
    order = np.argsort(-counts, kind="stable")[:most]
    shares, error = _shares(where[..., None] == order)
    if unmatched > MAX_UNMATCHED:
        warn_user(
            f"the draws hold {len(rows)} different {what}, and {unmatched:.0%} of them are in one that no "
            f"other {'chain' if n_chains > 1 else 'draw'} has: too few draws carry their probabilities. "
            "Sample more, or read single edges or pairs of nodes, which need fewer"
        )
    table = pd.DataFrame({"probability": shares, "probability_mcse": error})
    table.attrs |= {"n_visited": len(rows), "unmatched": unmatched}
    return rows[order], table


def _shares(indicators: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (m,) of indicators (chain, draw, m), and their Monte-Carlo errors."""
    draws = indicators.astype(np.float64)
    return draws.mean(axis=(0, 1)), errors_of_means(draws)


def _in_order_of_appearance(labels: xr.DataArray) -> xr.DataArray:
    """Relabel clusters 0, 1, ... in the order of their first nodes: equal clusterings, equal vectors."""
    if labels.dtype.kind not in "iub":
        raise TypeError(f"{labels.name} must hold integer labels of the nodes, not {labels.dtype}")
    flat = rank_labels(labels.values).reshape(-1, labels.shape[-1])
    renumbered = np.empty_like(flat)
    first_appearance(flat, renumbered)
    return labels.copy(data=renumbered.astype(np.int64).reshape(labels.shape))


def _prior_of_clusterings(model: Any, var_name: str, labels: np.ndarray) -> np.ndarray:
    """Prior probabilities (m,) of labels (m, d), averaged over parameters of the prior that are random."""
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt
    from pytensor.graph.traversal import ancestors

    from pymc_mrf.distributions.edge_communities import EdgeCommunities, EdgeCommunitiesRV

    model = pm.modelcontext(model)
    rv = model[var_name] if var_name in model.named_vars else None
    if rv is None or rv.owner is None or not isinstance(rv.owner.op, EdgeCommunitiesRV):
        raise ValueError(
            f"{var_name} is no EdgeCommunities of the model, whose prior of clusterings could be compared"
        )
    given = rv.owner.inputs[-2:]  # concentration and rate
    is_random = any(v in model.basic_RVs for v in ancestors(given))
    drawn = pm.draw(given, draws=N_PARAMETERS if is_random else 1, random_seed=SEED)
    concentration, rate, z = pt.dscalar(), pt.dscalar(), pt.lvector()
    log_prior = pm.logp(EdgeCommunities.dist(concentration, rate, shape=labels.shape[1]), z)
    f = pytensor.function([z, concentration, rate], log_prior)
    at = list(zip(*(np.atleast_1d(values) for values in drawn), strict=True))
    return np.array([np.mean([np.exp(f(row, *both)) for both in at]) for row in labels])


def _edges_of_prior(rv: Any, model: Any) -> np.ndarray:
    """Whether edges (n, r) are there in draws from the prior; those of measurements within the cone."""
    of_edges = rv.owner.op.heads
    if not is_cut(rv, model):
        return _prior_draws(rv, model)[:, of_edges] != 0.0
    prior = cone_prior(model, rv)
    drawn, p, cut = prior.draws[..., of_edges], prior.presence[..., of_edges], prior.is_cut[of_edges]
    # those that the cone does not cut are independent given what their probability depends on
    found = np.where(cut, drawn != 0.0, np.random.default_rng(SEED).random(p.shape) < p)
    return found.reshape(-1, found.shape[-1])


def _prior_draws(rv: Any, model: Any) -> np.ndarray:
    """Draws (n, d) of a variable from the prior."""
    import pymc as pm

    with model:
        return np.asarray(pm.draw(rv, draws=N_DRAWS, random_seed=SEED))
