"""How much each node of a network matters, in every draw of its edges."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_mrf.analysis._posterior import SAMPLE_DIMS, sampled_vector, thinned
from pymc_mrf.analysis.edges import edge_values
from pymc_mrf.analysis.intervals import interval_probability, statistics_of, tails
from pymc_mrf.analysis.shortest_paths import path_measures
from pymc_mrf.checks import sequence, whole_number
from pymc_mrf.graph.coordinates import node_labels
from pymc_mrf.graph.lagged import LaggedGraph, as_directed_or_not
from pymc_mrf.graph.structure import PairwiseGraph

if TYPE_CHECKING:
    import pandas as pd

PATHS = "closeness", "betweenness"
BRIDGES = "bridge_strength", "bridge_expected_influence"
ARROW_MEASURES = ("out_strength", "in_strength", "out_expected_influence", "in_expected_influence")
MEASURES = ("strength", "expected_influence", "expected_influence_2", *BRIDGES, *PATHS)


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
    """Measure the importance of each node of a network, from every draw of its weights.

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
        Of the names below; by default all, those of bridges if there are `communities`.
    communities : mapping or str, optional
        Community of each node: a dictionary with an entry per node, or the name of a variable of `idata` with
        a label for each node, such as that of an `EdgeCommunities`, whose draws then count one by one.
    max_draws : int
        Draws are thinned evenly to at most so many in all, for the sake of the measures by paths.
    group : str
        Group of `idata` to read.

    Returns
    -------
    xarray.Dataset
        With dims ("chain", "draw", "node"):

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
        not one of such edges, a measure of bridges lacks `communities`, or these lack a node.

    See Also
    --------
    summarize_nodes : A table of them.
    plot_nodes : A picture.

    Examples
    --------
    >>> pymc_mrf.node_measures(idata, "weight", graph=graph).strength.mean(("chain", "draw"))
    """
    graph = as_directed_or_not(graph)
    names = (var_name,) if isinstance(var_name, str) else tuple(sequence(var_name, "var_name", "names"))
    if len(names) not in (1, 2):
        raise ValueError(f"var_name must be one name, or two whose difference counts, not {names!r}")
    chosen = _chosen(measures, communities, isinstance(graph, LaggedGraph))
    whole_number(max_draws, "max_draws", 1)
    values = [edge_values(idata, name, graph, group) for name in names]
    n_chains, n_draws = values[0].shape[:2]
    kept = thinned(n_chains, n_draws, max_draws)
    labels = _communities(idata, communities, graph, group)
    if labels is not None:
        labels = np.broadcast_to(labels, (n_chains, n_draws, graph.n_nodes))[:, kept]
    if isinstance(graph, LaggedGraph):
        found = [_measured_arrows(w.values[:, kept], graph, chosen) for w in values]
    else:
        found = [_measured(w.values[:, kept], graph, chosen, labels) for w in values]
    of_first, *others = found
    for name in chosen:
        for other in others:
            of_first[name] = of_first[name] - other[name]
    coords = {
        "chain": values[0]["chain"],
        "draw": values[0]["draw"][kept],
        "node": node_labels(graph),
    }
    dims = (*SAMPLE_DIMS, "node")
    return xr.Dataset({name: (dims, of_first[name]) for name in chosen}, coords=coords)


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
        values = sampled_vector(idata, communities, group)
        if values.shape[-1] != graph.n_nodes:
            raise ValueError(
                f"communities={communities!r} has {values.shape[-1]} entries but the graph has "
                f"{graph.n_nodes} nodes"
            )
        return values.values
    if not isinstance(communities, Mapping):
        raise TypeError(
            f"communities must be a dictionary by nodes, or the name of a variable, not {communities!r}"
        )
    missing = [node for node in graph.nodes if node not in communities]
    if missing:
        raise ValueError(f"communities has no entry for node {missing[0]!r}; give one for every node")
    numbers = {label: k for k, label in enumerate(dict.fromkeys(communities.values()))}
    return np.array([numbers[communities[node]] for node in graph.nodes])


def _measured(
    w: np.ndarray, graph: PairwiseGraph, chosen: list[str], labels: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Measures (chain, draw, d) of weights (chain, draw, r), and communities (chain, draw, d) of nodes."""
    shape = (*w.shape[:-1], graph.n_nodes)
    w = w.reshape(-1, graph.n_edges).astype(np.float64)
    u, v = graph.edges.T
    across = None if labels is None else _differ(labels.reshape(len(w), -1), u, v)

    def sums(values: np.ndarray, of_ends: tuple[Any, Any] = (1.0, 1.0)) -> np.ndarray:
        """Sum over the edges of each node, times what its other end has."""
        total = np.zeros((len(w), graph.n_nodes))
        np.add.at(total.T, u, (values * of_ends[1]).T)
        np.add.at(total.T, v, (values * of_ends[0]).T)
        return total

    def second_step() -> np.ndarray:
        first = sums(w)
        return first + sums(w, (first[:, u], first[:, v]))

    ways: dict[str, Callable[[], np.ndarray]] = {
        "strength": lambda: sums(np.abs(w)),
        "expected_influence": lambda: sums(w),
        "expected_influence_2": second_step,
        "bridge_strength": lambda: sums(np.abs(w) * across),
        "bridge_expected_influence": lambda: sums(w * across),
    }
    found = {name: ways[name]() for name in chosen if name in ways}
    if not set(PATHS).isdisjoint(chosen):
        paths = path_measures(np.abs(w), graph.edges, graph.n_nodes)
        found.update(zip(PATHS, paths, strict=True))
    return {name: found[name].reshape(shape) for name in chosen}


def _measured_arrows(w: np.ndarray, graph: LaggedGraph, chosen: list[str]) -> dict[str, np.ndarray]:
    """Measures (chain, draw, d) of weights (chain, draw, r) of arrows."""
    counts = (graph.lag_of > 0) & (graph.edges[:, 0] != graph.edges[:, 1])
    found = {}
    for name in chosen:
        ends = graph.edges[counts, 0 if name.startswith("out") else 1]
        values = w[..., counts] if name.endswith("influence") else np.abs(w[..., counts])
        found[name] = np.zeros((*w.shape[:-1], graph.n_nodes))
        np.add.at(np.moveaxis(found[name], -1, 0), ends, np.moveaxis(values, -1, 0))
    return found


def _differ(labels: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Whether the ends of each edge are in different communities, (n, r)."""
    return labels[:, u] != labels[:, v]


def summarize_nodes(
    idata: xr.DataTree,
    var_name: str | tuple[str, str],
    *,
    graph: Any,
    measures: Sequence[str] | None = None,
    communities: Mapping[Hashable, Any] | str | None = None,
    max_draws: int = 1000,
    ci_prob: float | None = None,
    ci_kind: str | None = None,
    group: str = "posterior",
) -> "pd.DataFrame":
    """Table of the nodes of a network: how much each matters, and how surely.

    Parameters
    ----------
    idata, var_name, graph, measures, communities, max_draws, group
        As in `node_measures`.
    ci_prob, ci_kind
        Of the interval, as in `arviz.summary`; by default ArviZ's, 0.89 and "eti".

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

    Raises
    ------
    TypeError, ValueError
        As in `node_measures`; also for an interval that ArviZ refuses.

    Examples
    --------
    >>> pymc_mrf.summarize_nodes(idata, "weight", graph=graph).loc["expected_influence"]
    """
    import arviz as az
    import pandas as pd
    from scipy.stats import rankdata

    found = node_measures(
        idata, var_name, graph=graph, measures=measures, communities=communities, max_draws=max_draws,
        group=group,
    )  # fmt: skip
    tables = {}
    for name, values in found.data_vars.items():
        table = statistics_of(values, ci_prob, ci_kind)
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
