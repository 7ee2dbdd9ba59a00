"""A binary network by L1-penalised regressions and the extended BIC: van Borkulo et al. (2014), "eLasso".

Every node is regressed on its candidate neighbours along a path of penalties of its own, of which the one
with the least extended BIC counts (Foygel & Drton, 2010). Predictors are scaled to one standard deviation, as
glmnet scales them (Friedman, Hastie & Tibshirani, 2010). Not implemented: more than two states.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_mrf.checks import check_option, number, warn_user
from pymc_mrf.estimation.l1 import L1Problem, read_binary

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

N_PENALTIES = 100
LEAST_SHARE = 1e-2, 1e-4  # of the largest penalty, with fewer rows than predictors and otherwise
LEAST_CHANGE = 1e-5  # of the explained share of the deviances: the path ends where all change by less
TOLERANCE = 1e-6
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class SparseNetwork:
    """Network that penalised regressions have found.

    Attributes
    ----------
    edges : pandas.DataFrame
        One row for each candidate edge, indexed by its label as in `summarize_edges`: the nodes ``u`` and
        ``v``; ``weight``, 0 where there is no edge; ``weight_in_u`` and ``weight_in_v``, those in the
        regressions of both nodes, before the rule.
    nodes : pandas.DataFrame
        One row for each node: ``bias``, the intercept of its regression; ``penalty`` and ``ebic`` of the
        regression that counts; ``n_neighbors`` with other weights than 0 in it.
    """

    edges: "pd.DataFrame"
    nodes: "pd.DataFrame"

    def to_networkx(self) -> "nx.Graph":
        """Graph of all nodes, with their ``bias``, and of the edges found, with their ``weight``."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from((node, {"bias": bias}) for node, bias in self.nodes["bias"].items())
        found = self.edges[self.edges["weight"] != 0.0]
        graph.add_weighted_edges_from(found[["u", "v", "weight"]].itertuples(index=False, name=None))
        return graph


def elasso(
    x: Any, graph: Any, *, gamma: float = 0.25, rule: str = "and", family: str = "boltzmann"
) -> SparseNetwork:
    """Find a binary network by L1-penalised regressions whose penalties the extended BIC chooses.

    This is the estimator of the R package IsingFit, for comparison with a posterior. It has no standard
    errors, and an edge that it leaves out may be absent or undecided.

    Parameters
    ----------
    x : (n, d) array_like
        Complete observations in the states of the family, or a table of them; columns follow the node order
        of the graph, those of tables are found by name. Tables may have the codes 1 and 2, and ordered
        categories.
    graph : networkx.Graph or PairwiseGraph
        Candidate edges, `pymc_mrf.graphs.complete` for all.
    gamma : float
        Weight of the number of candidates in the extended BIC, at least 0; 0 is the BIC.
    rule : {"and", "or"}
        Whether both regressions of a pair must use it to make it an edge, or one of them.
    family : {"boltzmann", "ising"}
        With states 0 and 1, or -1 and 1.

    Returns
    -------
    SparseNetwork
        Weights are the means of those in both regressions, penalised as they are and zeros included.

    Raises
    ------
    ValueError
        If an argument is invalid, or fewer than two rows differ from the others in some column.

    Warns
    -----
    UserWarning
        If a regression did not converge at some penalty, or codes from 1 are counted from 0.

    Notes
    -----
    The extended BIC of a node at a penalty is ``-2 l + k log(n) + 2 gamma k log(p)``, l the log-likelihood
    at the penalised estimate, k the number of neighbours with other weights than 0 and p the number of
    candidates, d - 1 in a complete graph. The path has 100 penalties, equally spaced in their logarithms from
    the smallest without any neighbour to 1/10,000 of it (1/100 if n < p), and ends before where it explains
    no more.

    References
    ----------
    van Borkulo, Borsboom, Epskamp, Blanken, Boschloo, Schoevers & Waldorp (2014), A new method for
    constructing networks from binary data, Scientific Reports 4; Foygel & Drton (2010), Extended Bayesian
    information criteria for Gaussian graphical models.

    Examples
    --------
    >>> lasso = pymc_mrf.estimation.elasso(x, graph)
    >>> table = pymc_mrf.summarize_edges(idata, "weight", graph=graph, model=model)
    >>> table.join(lasso.edges["weight"].rename("elasso"))
    """
    gamma = number(gamma, "gamma", 0.0, closed=True)
    check_option(rule, "rule", ("and", "or"))
    indices, graph, kind = read_binary(x, graph, family)
    ones = np.count_nonzero(indices, axis=0)
    rare = np.flatnonzero(np.minimum(ones, len(indices) - ones) < 2)
    if rare.size:
        raise ValueError(
            f"x: all rows, or all but one, have the same state in the column of node "
            f"{graph.nodes[rare[0]]!r} ({rare.size} such columns), which leaves nothing to regress: drop them"
        )
    problem = L1Problem(indices, graph, kind, symmetric=False, ridge=0.0, is_scaled=True)
    return _chosen(problem, graph, len(indices), gamma, rule)


def _chosen(problem: L1Problem, graph: Any, n: int, gamma: float, rule: str) -> SparseNetwork:
    """Follow the paths of all nodes at once and keep of each what has the least extended BIC."""
    import pandas as pd

    node, neighbor = problem.ends.T
    n_candidates = np.bincount(node, minlength=graph.n_nodes)
    # a node without candidates has no neighbours to be counted either
    cost = np.log(n) + 2.0 * gamma * np.log(np.maximum(n_candidates, 1))
    w, beta = np.zeros(len(node)), np.zeros(graph.n_nodes)
    w, beta, gap = problem.minimise(w, beta, np.inf, TOLERANCE, MAX_ITERATIONS)
    largest = np.zeros(graph.n_nodes)
    np.maximum.at(largest, node, np.abs(problem.scores(w, beta)[0]))
    largest = np.maximum(largest, 2.0 * TOLERANCE)
    null = problem.losses(w, beta)[0]
    explained = np.zeros(graph.n_nodes)
    ebic, penalty = np.full(graph.n_nodes, np.inf), np.zeros(graph.n_nodes)
    best_w, best_bias = np.zeros(len(node)), np.zeros(graph.n_nodes)
    best_k = np.zeros(graph.n_nodes, dtype=np.int64)
    worst = gap
    for share in np.geomspace(1.0, LEAST_SHARE[int(n >= n_candidates.max())], N_PENALTIES):
        w, beta, gap = problem.minimise(w, beta, (share * largest)[node], TOLERANCE, MAX_ITERATIONS)
        worst = max(worst, gap)
        losses = problem.losses(w, beta)[0]
        k = np.bincount(node[w != 0.0], minlength=graph.n_nodes)
        found = 2.0 * n * losses + k * cost
        better = found < ebic
        ebic, penalty = np.where(better, found, ebic), np.where(better, share * largest, penalty)
        best_w = np.where(better[node], w, best_w)
        best_bias = np.where(better, problem.biases(w, beta), best_bias)
        best_k = np.where(better, k, best_k)
        before, explained = explained, 1.0 - losses / null
        if share < 1.0 and np.all(explained - before < LEAST_CHANGE * explained):
            break
    if worst > TOLERANCE:
        warn_user(f"elasso: a regression did not converge; a derivative is off by {worst:.2g}")
    in_u, in_v = problem.by_direction(best_w / problem.scale[neighbor]).T
    weight = 0.5 * (in_u + in_v)
    if rule == "and":
        weight[(in_u == 0.0) | (in_v == 0.0)] = 0.0
    ends = {
        end: pd.Series([graph.nodes[i] for i in column], dtype=object)
        for end, column in zip("uv", graph.edges.T, strict=True)
    }
    columns = {**ends, "weight": weight, "weight_in_u": in_u, "weight_in_v": in_v}
    edges = pd.DataFrame(columns).set_axis(pd.Index(graph.edge_labels, name="edge"))
    of_nodes = {"bias": best_bias, "penalty": penalty, "ebic": ebic, "n_neighbors": best_k}
    nodes = pd.DataFrame(of_nodes, index=pd.Index(list(graph.nodes), name="node", tupleize_cols=False))
    return SparseNetwork(edges, nodes)
