"""How much each node of a network matters, in every draw of its edges."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import by_draw, names_of, node_draws, of_nodes, thinned
from pymc_mrf.analysis.cone_draws import warn_of_cone
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.intervals import interval_probability, statistics_of, tails
from pymc_mrf.analysis.known_edges import known_edges
from pymc_mrf.checks import sequence, whole_number
from pymc_mrf.graph.coordinates import node_names
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph

if TYPE_CHECKING:
    import pandas as pd

PATHS = "closeness", "betweenness"
BRIDGES = "bridge_strength", "bridge_expected_influence"
ARROW_MEASURES = ("out_strength", "in_strength", "out_expected_influence", "in_expected_influence")
MEASURES = ("strength", "expected_influence", "expected_influence_2", *BRIDGES, *PATHS)

TIE = 1e-9  # relative difference of lengths that count as equal


def node_measures(
    idata: xr.DataTree,
    var_name: str | tuple[str, str],
    *,
    graph: Any,
    measures: Sequence[str] | None = None,
    communities: Mapping[Hashable, Any] | str | None = None,
    max_draws: int = 1000,
    group: str = "posterior",
) -> xr.Dataset:
    """Measures (chain, draw, node) of `summarize_nodes`, by their names."""
    graph = as_directed_or_not(graph)
    names = names_of(var_name, "var_name")
    if len(names) not in (1, 2):
        raise ValueError(
            f"var_name must be one name, or two whose difference counts, not {tuple(names)!r}"
        )
    chosen = _chosen(measures, communities, isinstance(graph, LaggedGraph))
    whole_number(max_draws, "max_draws", 1)
    warn_of_cone(idata, None, group)
    values = [edge_values(idata, name, graph, group) for name in names]
    n_chains, n_draws = values[0].shape[:2]
    kept = thinned(n_chains, n_draws, max_draws)
    labels = _communities(idata, communities, graph, group)
    if labels is not None:
        labels = np.broadcast_to(labels, (n_chains, n_draws, graph.n_nodes))[:, kept]
    found = [_measured(w.values[:, kept], graph, chosen, labels) for w in values]
    of_first, *others = found
    for name in chosen:
        for other in others:
            of_first[name] = of_first[name] - other[name]
    draws = values[0].isel(draw=kept)
    return xr.Dataset(
        {name: by_draw(draws, of_first[name], name, node=node_names(graph)) for name in chosen}
    )


def _chosen(measures: Any, communities: Any, has_arrows: bool) -> list[str]:
    """Names of the measures that are asked for, in their order."""
    valid, others = (ARROW_MEASURES, MEASURES) if has_arrows else (MEASURES, ARROW_MEASURES)
    if has_arrows and communities is not None:
        raise ValueError(
            "communities are for measures of bridges, which arrows do not have: leave it out"
        )
    if measures is None and has_arrows:
        return list(ARROW_MEASURES)
    if measures is None:
        return [name for name in MEASURES if communities is not None or name not in BRIDGES]
    chosen = sequence(measures, "measures", "names")
    unknown = [name for name in chosen if name not in valid]
    if unknown or not chosen:
        problem = f"names {unknown[0]!r}" if unknown else "is empty"
        if unknown and unknown[0] in others:
            problem += f", which belongs to {'undirected edges' if has_arrows else 'arrows'}"
        raise ValueError(f"measures {problem}; it may name {', '.join(valid)}")
    needing = [name for name in chosen if name in BRIDGES]
    if needing and communities is None:
        raise ValueError(f"measures names {needing[0]}, which needs communities")
    return chosen


def _communities(
    idata: xr.DataTree, communities: Any, graph: PairwiseGraph | LaggedGraph, group: str
) -> np.ndarray | None:
    """Return the community of each node, (d,) or (chain, draw, d); None if there are none."""
    if communities is None:
        return None
    if isinstance(communities, str):
        return node_draws(idata, communities, graph, group, "communities").values
    if not isinstance(communities, Mapping):
        raise TypeError(
            f"communities must be a dictionary by nodes, or the name of a variable, not {communities!r}"
        )
    of_each = of_nodes(communities, graph.nodes, "communities", "entry")
    numbers = {label: k for k, label in enumerate(dict.fromkeys(of_each))}
    return np.array([numbers[label] for label in of_each])


def _measured(
    w: np.ndarray,
    graph: PairwiseGraph | LaggedGraph,
    chosen: list[str],
    labels: np.ndarray | None,
) -> dict[str, np.ndarray]:
    """Measures (chain, draw, d) of weights (chain, draw, r), and communities (chain, draw, d) of nodes."""
    shape = (*w.shape[:-1], graph.n_nodes)
    w, (u, v) = w.reshape(-1, graph.n_edges).astype(np.float64), graph.edges.T
    if isinstance(graph, LaggedGraph):
        w = np.where((graph.lag_of > 0) & (u != v), w, 0.0)

    def sums(values: np.ndarray, *ends: np.ndarray) -> np.ndarray:
        """Sum over the edges of each node, at these ends."""
        total = np.zeros((len(w), graph.n_nodes))
        for end in ends:
            np.add.at(total.T, end, values.T)
        return total

    found = {}
    for name in set(chosen).difference(PATHS):
        values = w if "influence" in name else np.abs(w)
        if name in BRIDGES:
            assert labels is not None
            of_draws = labels.reshape(len(w), -1)
            values = values * (of_draws[:, u] != of_draws[:, v])
        ends = {"out": (u,), "in": (v,)}.get(name.split("_")[0], (u, v))
        found[name] = sums(values, *ends)
        if name == "expected_influence_2":
            first = found[name]
            found[name] = first + sums(w * first[:, v], u) + sums(w * first[:, u], v)
    if not set(PATHS).isdisjoint(chosen):
        paths = path_measures(np.abs(w), graph.edges, graph.n_nodes)
        found.update(zip(PATHS, paths, strict=True))
    return {name: found[name].reshape(shape) for name in chosen}


def summarize_nodes(
    idata: xr.DataTree,
    var_name: str | tuple[str, str] | None = None,
    *,
    graph: Any = None,
    measures: Sequence[str] | None = None,
    communities: Mapping[Hashable, Any] | str | None = None,
    max_draws: int = 1000,
    ci_prob: float | None = None,
    model: Any = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Table of the nodes of a network: how much each matters, and how surely.

    Parameters
    ----------
    idata : xarray.DataTree
        As returned by `pymc.sample`.
    var_name : str, or tuple of two
        A vector with one weight per edge, whose zeros are absent edges. Of two, such as the weights of two
        groups of people, each measure is that of the first less that of the second.
    graph : networkx.Graph, PairwiseGraph, networkx.DiGraph or LaggedGraph
        The candidate edges.
    measures : sequence of str, optional
        Of the names below, computed in every draw; by default all, those of bridges if there are
        `communities`.
    communities : mapping or str, optional
        Community of each node: a dictionary with an entry per node, or the name of a variable of `idata` with
        a label for each node, such as that of an `EdgeCommunities`, whose draws then count one by one.
    max_draws : int
        Draws are thinned evenly to at most so many in all, for the sake of the measures by paths.
    ci_prob : float, optional
        Of the interval, whose kind is ``rcParams["stats.ci_kind"]`` of ArviZ; by default ArviZ's, 0.89.
    model : pymc.Model, optional
        That was sampled, which knows variable and graph.
    group : str
        Group of `idata` to read.

    Returns
    -------
    pandas.DataFrame
        One row for each measure and node, the node of the largest mean first within a measure, with the
        columns

        - ``mean``, ``sd``, the ends of the interval, such as ``eti89_lb`` and ``eti89_ub``, and
          ``mcse_mean``, the Monte-Carlo error of the mean, as `arviz.summary` gives them.
        - ``first``: the probability that no other node has more. Nodes that tie share it.
        - ``rank``, and ``rank_lb`` and ``rank_ub``, an equal-tailed interval of it: 1 for the node that has
          most. Nodes that tie have their mean rank.

        The measures are

        - ``strength``: sum of the absolute weights of a node (Barrat et al., 2004).
        - ``expected_influence``: sum of its weights (Robinaugh et al., 2016).
        - ``expected_influence_2``: the same and that of its neighbours, each times the weight between them.
        - ``bridge_strength``, ``bridge_expected_influence``: the first two over edges to other communities
          (Jones et al., 2021).
        - ``closeness``: inverse of the mean length of the shortest paths to the nodes that can be reached,
          times the share of these (Wasserman & Faust, 1994); an edge is 1 / abs(weight) long (Opsahl
          et al., 2010). 0 for isolated nodes.
        - ``betweenness``: share of the pairs of other nodes whose shortest path passes the node (Freeman,
          1977); of several that are equally short, which share of these.

        If the edges are arrows (`LaggedGraph`), instead

        - ``out_strength``, ``in_strength``: sum of the absolute weights of the arrows that leave a node, or
          reach it, over all lags. Arrows from a node to itself and links within a row do not count.
        - ``out_expected_influence``, ``in_expected_influence``: sum of their weights.

    Raises
    ------
    TypeError, ValueError
        If a variable does not belong to the graph's edges, a name of a measure is unknown, or its measure is
        not one of such edges, a measure of bridges lacks `communities`, or these lack a node. Also for an
        interval that ArviZ refuses.

    See Also
    --------
    plot_nodes : A picture.

    Examples
    --------
    >>> pymc_mrf.summarize_nodes(idata, model=model).loc["expected_influence"]
    """
    import arviz as az
    import pandas as pd
    from scipy.stats import rankdata

    var_name, graph, _ = known_edges("summarize_nodes", model, var_name, graph, None)
    found = node_measures(
        idata, var_name, graph=graph, measures=measures, communities=communities, max_draws=max_draws,
        group=group,
    )  # fmt: skip
    tables = {}
    for name, values in found.data_vars.items():
        table = statistics_of(values, ci_prob)
        table.index = pd.Index(values["node"].values, name="node")
        table["mcse_mean"] = az.mcse(values).values
        ranks = rankdata(-values.values, axis=-1).reshape(-1, values.sizes["node"])
        tops = ranks == ranks.min(axis=1, keepdims=True)
        table["first"] = (tops / tops.sum(axis=1, keepdims=True)).mean(axis=0)
        table["rank"] = ranks.mean(axis=0)
        ends = tails(interval_probability(ci_prob))
        table["rank_lb"], table["rank_ub"] = np.quantile(ranks, ends, axis=0)
        tables[name] = table.sort_values("mean", ascending=False, kind="stable")
    return pd.concat(tables, names=["measure", "node"])


def path_measures(sizes: np.ndarray, edges: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute closeness and betweenness of nodes, both (n, d), in networks whose edges are 1 / size long.

    Distances are those of Dijkstra (1959), betweenness follows from them as in Brandes (2001). `sizes` (n, r)
    are at least 0, that of an absent edge 0; `edges` (r, 2) are pairs of the d nodes.
    """
    from scipy.sparse.csgraph import dijkstra

    closeness, betweenness = np.zeros((2, len(sizes), d))
    for s in range(len(sizes)):
        present = sizes[s] > 0.0
        u, v = edges[present].T
        lengths = np.full((d, d), np.inf)
        lengths[u, v] = lengths[v, u] = 1.0 / sizes[s, present]
        distances = dijkstra(np.where(np.isfinite(lengths), lengths, 0.0), directed=False)
        closeness[s] = _closeness(distances)
        betweenness[s] = _betweenness(distances, lengths)
    return closeness, betweenness


def _closeness(distances: np.ndarray) -> np.ndarray:
    """Wasserman & Faust's (1994) closeness (d,), from distances (d, d), infinite between components."""
    d = len(distances)
    reached = np.isfinite(distances)
    total = np.where(reached, distances, 0.0).sum(axis=1)
    n_reached = reached.sum(axis=1) - 1
    with np.errstate(invalid="ignore"):
        return np.where(n_reached > 0, n_reached**2 / (total * max(d - 1, 1)), 0.0)


def _betweenness(distances: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Betweenness (d,), a share of pairs, from distances and lengths of edges (d, d), infinite if absent."""
    d = len(distances)
    result = np.zeros(d)
    if d < 3:
        return result
    order = np.argsort(distances, axis=1)
    n_paths, passing = (
        np.zeros((d, d)),
        np.zeros((d, d)),
    )  # from each source (row) to, and beyond, each node
    sources = np.arange(d)
    n_paths[sources, sources] = 1.0
    with np.errstate(invalid="ignore"):
        # before[s, i, j]: a shortest path from s to j ends in the edge from i
        before = np.isclose(
            distances[:, :, None] + lengths[None], distances[:, None, :], rtol=TIE, atol=0.0
        )
    before &= np.isfinite(lengths)[None] & np.isfinite(distances)[:, None, :]
    before &= distances[:, :, None] < distances[:, None, :]  # also where an edge is shorter than a tie
    for k in range(1, d):  # all sources at once, the nodes of each from near to far
        j = order[:, k]
        n_paths[sources, j] = (n_paths * before[sources, :, j]).sum(axis=1)
    for k in range(d - 1, 0, -1):
        j = order[:, k]
        paths = n_paths[sources, j]
        share = np.divide(1.0 + passing[sources, j], paths, out=np.zeros(d), where=paths > 0.0)
        passing += n_paths * before[sources, :, j] * share[:, None]
    passing[sources, sources] = 0.0
    return passing.sum(axis=0) / ((d - 1) * (d - 2))
